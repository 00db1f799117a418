"""Time and bus bandwidth of NCCL collectives, predicted from the hardware and fitted to published measurements."""

from gpu_fabric.planning.collectives.definitions import Collective, busbw_factor, ring_bytes_per_node
from gpu_fabric.planning.collectives.model import Group, Prediction, predict
from gpu_fabric.planning.collectives.platform import Platform, named_platform, platform_of

__all__ = [
    "Collective",
    "Group",
    "Platform",
    "Prediction",
    "busbw_factor",
    "named_platform",
    "platform_of",
    "predict",
    "ring_bytes_per_node",
]
