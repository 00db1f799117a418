"""A topology as frozen models, in NCCL's own terms: what a topology file says of one node.

The fields are the attributes that NCCL knows (NVIDIA/nccl 2.30.7, src/graph/xml.cc and topo.cc), under their own
names unless a comment says otherwise. None means that the file leaves the attribute out, and that NCCL fills it
in from the host or takes its default. Attributes that NCCL does not know have no place here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeAlias

from gpu_fabric.nccl.topology.values import device_kind, link_gigabytes_per_second


def _named(name: str) -> Any:
    """A field whose attribute has another name in the file."""
    return field(default=None, metadata={"attribute": name})


@dataclass(frozen=True, kw_only=True)
class NvLink:
    """Links of one GPU to one far end."""

    target: str | None = None
    """Bus id of the far end."""
    count: int | None = None
    tclass: str | None = None
    """PCI class of the far end."""


@dataclass(frozen=True, kw_only=True)
class C2c:
    """A chip-to-chip link between a GPU and its CPU."""

    bw: int | None = None
    """MB/s."""
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class PciLink:
    """A link between two PCI switches beside the tree."""

    target: str | None = None
    """Bus id of the far end."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """What NCCL knows of the GPU inside its PCI device."""

    dev: int | None = None
    """NVML index."""
    sm: int | None = None
    """Compute capability without the dot."""
    rank: int | None = None
    gdr: int | None = None
    mlopart: int | None = None
    nvlinks: tuple[NvLink, ...] = ()
    c2cs: tuple[C2c, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Net:
    """One port of the network plugin."""

    name: str | None = None
    """The plugin's device name; NCCL matches by it."""
    dev: int | None = None
    speed: int | None = None
    """Mb/s."""
    port: int | None = None
    latency: float | None = None
    """Microseconds."""
    guid: str | None = None
    maxconn: int | None = None
    gdr: int | None = None
    coll: int | None = None
    net: int | None = None
    gin: int | None = None
    rma: int | None = None
    rail: int | None = None
    plane: int | None = None


@dataclass(frozen=True, kw_only=True)
class Nic:
    """The wrapper that holds the ports of one NIC."""

    nets: tuple[Net, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pci:
    """A PCI device: a switch, a GPU or a NIC, told apart by its class."""

    busid: str
    """Twelve lower-case characters, `dddd:bb:dd.f`."""
    pci_class: str | None = _named("class")
    vendor: str | None = None
    device: str | None = None
    subsystem_vendor: str | None = None
    subsystem_device: str | None = None
    link_speed: str | None = None
    link_width: int | None = None
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()
    pcilinks: tuple[PciLink, ...] = ()
    pcis: tuple[Pci, ...] = ()

    @property
    def kind(self) -> str:
        """`gpu`, `nic`, `nvswitch` or `switch`; without a class, by what the device holds."""
        if self.pci_class is not None:
            return device_kind(self.pci_class) or "switch"
        return "gpu" if self.gpus else "nic" if self.nics else "switch"

    @property
    def uplink_gigabytes_per_second(self) -> float:
        """What NCCL takes for the link to the device above, GB/s."""
        width = "" if self.link_width is None else self.link_width
        return link_gigabytes_per_second(self.link_speed or "", width)


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """One NUMA node."""

    numaid: int
    affinity: str | None = None
    """Comma-separated 32-bit hexadecimal words, most significant first."""
    arch: str | None = None
    vendor: str | None = None
    familyid: int | None = None
    modelid: int | None = None
    host_hash: str | None = None
    nics: tuple[Nic, ...] = ()
    pcis: tuple[Pci, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Topology:
    """One node: the `system` element of a file."""

    name: str | None = None
    cpus: tuple[Cpu, ...] = ()

    def devices(self) -> Iterator[tuple[Cpu, tuple[Pci, ...], Pci]]:
        """(CPU, switches from the CPU down, device) of every PCI device, switches included, in reading order."""
        for cpu in self.cpus:
            stack: list[tuple[tuple[Pci, ...], Pci]] = [((), pci) for pci in reversed(cpu.pcis)]
            while stack:
                above, pci = stack.pop()
                yield cpu, above, pci
                stack.extend(((*above, pci), child) for child in reversed(pci.pcis))

    def gpus(self) -> tuple[Pci, ...]:
        """The GPUs in reading order."""
        return tuple(pci for _, _, pci in self.devices() if pci.kind == "gpu")

    def nics(self) -> tuple[Pci, ...]:
        """The NICs that are PCI devices, in reading order."""
        return tuple(pci for _, _, pci in self.devices() if pci.kind == "nic")


# Text, because Python 3.8 and 3.9 cannot evaluate it.
Node: TypeAlias = "Topology | Cpu | Pci | Gpu | Nic | Net | NvLink | C2c | PciLink"

#: Element name → its model; the fields of type tuple hold the children, under the element's name and an `s`.
ELEMENTS: dict[str, type[Node]] = {
    "system": Topology,
    "cpu": Cpu,
    "pci": Pci,
    "gpu": Gpu,
    "nic": Nic,
    "net": Net,
    "nvlink": NvLink,
    "c2c": C2c,
    "pcilink": PciLink,
}


@cache
def attribute_fields(model: type[Node]) -> dict[str, str]:
    """Attribute name → field name, in the order in which attributes are written."""
    return {
        f.metadata.get("attribute", f.name): f.name
        for f in fields(model)
        if not (f.name.endswith("s") and f.name[:-1] in ELEMENTS)
    }


@cache
def child_fields(model: type[Node]) -> dict[str, str]:
    """Element name → name of the field that holds such children, in the order in which they are written."""
    return {f.name[:-1]: f.name for f in fields(model) if f.name.endswith("s") and f.name[:-1] in ELEMENTS}
