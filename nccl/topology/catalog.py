"""The topology of a size, from the PCI layout in its catalog row."""

from __future__ import annotations

from dataclasses import asdict

from gpu_fabric.nccl.hardware.models import NodeSize, NumaNode, PciIds, PciLayout, PciSwitch, PciUplink
from gpu_fabric.nccl.topology.model import Cpu, Pci, Topology


def from_catalog(size: NodeSize) -> Topology | None:
    """The node's CPUs, switches, GPUs and fabric NICs; None where no layout of the size is known.

    GPUs and NICs are plain PCI devices: NCCL adds `gpu` and `net` itself, from NVML and from its network plugin.
    """
    return None if size.pci is None else _topology(size.name, size.pci)


def _topology(name: str, layout: PciLayout) -> Topology:
    cpus = tuple(
        Cpu(
            numaid=node.numa,
            affinity=node.affinity,
            arch=layout.cpu.arch,
            vendor=layout.cpu.vendor,
            familyid=layout.cpu.family,
            modelid=layout.cpu.model,
            pcis=_below(node, layout),
        )
        for node in layout.numa_nodes
    )
    return Topology(name=name, cpus=cpus)


def _below(holder: NumaNode | PciSwitch, layout: PciLayout) -> tuple[Pci, ...]:
    switches = (
        _device(switch.busid, layout.switch_class, layout.switch_ids, layout, _below(switch, layout))
        for switch in holder.switches
    )
    gpus = (_device(busid, layout.gpu_class, layout.gpu_ids, layout) for busid in holder.gpus)
    nics = (_device(busid, layout.nic_class, layout.nic_ids, layout) for busid in holder.nics)
    return (*switches, *gpus, *nics)


def _device(
    busid: str, pci_class: str, ids: PciIds | None, layout: PciLayout, pcis: tuple[Pci, ...] = ()
) -> Pci:
    known = asdict(ids) if ids is not None else {}
    link = layout.links.get(busid, PciUplink(layout.link_speed, layout.link_width))
    return Pci(
        busid=busid, pci_class=pci_class, **known, link_speed=link.speed, link_width=link.width, pcis=pcis
    )
