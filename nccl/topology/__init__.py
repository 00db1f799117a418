"""Topology files for NCCL: write, read, check, compare, cut down and draw them."""

from gpu_fabric.nccl.topology.catalog import from_catalog
from gpu_fabric.nccl.topology.errors import TopologyError
from gpu_fabric.nccl.topology.model import C2c, Cpu, Gpu, Net, Nic, NvLink, Pci, PciLink, Topology
from gpu_fabric.nccl.topology.read import parse, parse_file
from gpu_fabric.nccl.topology.write import to_xml

__all__ = [
    "C2c",
    "Cpu",
    "Gpu",
    "Net",
    "Nic",
    "NvLink",
    "Pci",
    "PciLink",
    "Topology",
    "TopologyError",
    "from_catalog",
    "parse",
    "parse_file",
    "to_xml",
]
