"""From live nodes to a running job: who is there, in which order ranks go, and the files and commands to start it."""

from gpu_fabric.nccl.launch.commands import (
    Job,
    Launch,
    LaunchInputError,
    Parallelism,
    deepspeed,
    megatron,
    torchrun,
)
from gpu_fabric.nccl.launch.formats import FORMATS, render
from gpu_fabric.nccl.launch.nodes import LaunchNode, read_nodes
from gpu_fabric.nccl.launch.order import in_network_order, with_layers, with_torsets

__all__ = [
    "FORMATS",
    "Job",
    "Launch",
    "LaunchInputError",
    "LaunchNode",
    "Parallelism",
    "deepspeed",
    "in_network_order",
    "megatron",
    "read_nodes",
    "render",
    "torchrun",
    "with_layers",
    "with_torsets",
]
