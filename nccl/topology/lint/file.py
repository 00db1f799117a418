"""A topology file as the checks see it: what was written, what NCCL keeps of it, and the layout to hold it to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.nccl.hardware.models import NodeSize, PciLayout, PciPlace
from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.syntax import Document, Element


@dataclass(frozen=True)
class Found:
    """A rule that applies at one place."""

    code: str
    line: int | None
    detail: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class File:
    """The file as the checks see it."""

    document: Document
    root: Element
    kept: list[Element]
    """What NCCL keeps, in reading order."""
    size: NodeSize | None
    layout: PciLayout | None
    """The published layout: that of `size`, or one that the bus ids give away."""

    def of(self, *tags: str) -> Iterator[Element]:
        """The kept elements of these names."""
        return (element for element in self.kept if element.tag in tags)


@cache
def devices(layout: PciLayout) -> dict[str, PciPlace]:
    """Bus id → place of every GPU and NIC."""
    return {place.busid: place for place in layout.places() if place.kind != "switch"}


@cache
def bus_ids(layout: PciLayout) -> frozenset[str]:
    """Bus ids of every switch, GPU and NIC."""
    return frozenset(place.busid for place in layout.places())


def layout_of(kept: Iterable[Element], size: NodeSize | None) -> PciLayout | None:
    """The layout to hold the file to; without a size, the one that has most of the file's devices."""
    if size is not None:
        return size.pci
    leaves = {e.get("busid") for e in kept if e.tag == "pci" and not has_pci(e)}
    best: PciLayout | None = None
    most = len(leaves) / 2
    for known in load_sizes().values():
        if known.pci is not None:
            shared = len(leaves & devices(known.pci).keys())
            if shared > most:
                best, most = known.pci, shared
    return best


def is_invented(pci: Element) -> bool:
    """Whether no node can have the switch: the vendors' files give such switches the domain ffff."""
    return (pci.get("busid") or "").startswith("ffff:")


def is_published(file: File, pci: Element) -> bool:
    """Whether a known layout has the device as a real one, so that sysfs has it too."""
    return file.layout is not None and not is_invented(pci) and pci.get("busid") in bus_ids(file.layout)


def has_pci(element: Element) -> bool:
    """Whether other PCI devices hang below, which makes it a switch."""
    return any(child.tag == "pci" for child in element.children)


def kind_of(pci: Element) -> str | None:
    """`gpu`, `nic` or `switch` by class, else by what the device holds; None where neither says."""
    pci_class = pci.get("class")
    if pci_class is not None:
        return values.device_kind(pci_class) or "switch"
    tags = {child.tag for child in pci.children}
    return "switch" if "pci" in tags else "gpu" if "gpu" in tags else "nic" if tags & {"nic", "net"} else None
