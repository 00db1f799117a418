"""The catalog of GPU node sizes: one row a size in `aws.toml` and `azure.toml`, each with source and date."""

from gpu_fabric.nccl.hardware.catalog import UnknownSizeError, get_size, load_sizes
from gpu_fabric.nccl.hardware.models import (
    Cloud,
    CpuModel,
    Fabric,
    Gpu,
    Interface,
    InterfaceLayout,
    InterfaceType,
    NodeSize,
    NumaNode,
    PciDevice,
    PciLayout,
    PciSwitch,
)

__all__ = [
    "Cloud",
    "CpuModel",
    "Fabric",
    "Gpu",
    "Interface",
    "InterfaceLayout",
    "InterfaceType",
    "NodeSize",
    "NumaNode",
    "PciDevice",
    "PciLayout",
    "PciSwitch",
    "UnknownSizeError",
    "get_size",
    "load_sizes",
]
