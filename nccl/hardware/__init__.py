"""The catalog of GPU node sizes: one row a size in `aws.toml` and `azure.toml`, each with source and date."""

from gpu_fabric.nccl.hardware.catalog import (
    SizeRowError,
    UnknownSizeError,
    get_size,
    load_sizes,
    size_from_row,
)
from gpu_fabric.nccl.hardware.interfaces import (
    InterfaceLayoutError,
    addresses_per_node,
    efa_gbps_per_node,
    efa_interfaces_per_node,
    interfaces,
    ip_gbps_per_node,
    possible_layouts,
)
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
    PciIds,
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
    "InterfaceLayoutError",
    "InterfaceType",
    "NodeSize",
    "NumaNode",
    "PciIds",
    "PciLayout",
    "PciSwitch",
    "SizeRowError",
    "UnknownSizeError",
    "addresses_per_node",
    "efa_gbps_per_node",
    "efa_interfaces_per_node",
    "get_size",
    "interfaces",
    "ip_gbps_per_node",
    "load_sizes",
    "possible_layouts",
    "size_from_row",
]
