"""What differs between two topologies, as trees: devices that are missing or moved, attributes that changed.

Devices are matched by bus id. An invented switch (`ffff:ff:0N.0`), and a switch whose bus id only one side has, is
matched by what hangs below it: NCCL cares for the shape alone (NVIDIA/nccl issue 1843).

What NCCL finds itself on the host is no difference where one side leaves it out: a dump of NCCL_TOPO_DUMP_FILE has it
and a file need not. Nor is what tells one machine or one run from another: names, host hashes, ranks, GUIDs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.nccl.topology.model import (
    Cpu,
    Gpu,
    Net,
    Nic,
    Node,
    Pci,
    Topology,
    attribute_fields,
    child_fields,
)

_FOUND_BY_NCCL: Mapping[type[Node], frozenset[str]] = {
    Pci: frozenset({"vendor", "device", "subsystem_vendor", "subsystem_device"}),
    Cpu: frozenset({"arch", "vendor", "familyid", "modelid"}),
}
"""Attributes that NCCL fills in and no path depends on. `affinity` and the link are not among them: what a file says
of those is the reason to have it."""

_OF_THE_MACHINE: Mapping[type[Node], frozenset[str]] = {
    Topology: frozenset({"name"}),
    Cpu: frozenset({"host_hash"}),
    Gpu: frozenset({"rank"}),
    Net: frozenset({"guid"}),
}


class Change(StrEnum):
    MISSING = "missing"
    """Only the first topology has it."""
    ADDED = "added"
    """Only the second topology has it."""
    MOVED = "moved"
    CHANGED = "changed"


@dataclass(frozen=True)
class Difference:
    """One difference between a first and a second topology."""

    change: Change
    what: str
    """What it is about: `CPU 0`, `GPU 0000:53:00.0`, `net mlx5_ib0 of NIC 0101:00:00.0`."""
    attribute: str | None = None
    first: str | None = None
    second: str | None = None

    def __str__(self) -> str:
        if self.change is Change.MOVED:
            return f"{self.what} moved from {self.first} to {self.second}"
        if self.change is Change.CHANGED:
            return f"{self.what}: {self.attribute} is {_shown(self.first)} and {_shown(self.second)}"
        side = "first" if self.change is Change.MISSING else "second"
        return f"{self.what} is in the {side} topology alone"


@dataclass(frozen=True)
class _Entry:
    """One node of a tree with where it hangs."""

    name: str
    parent: str
    """Key of the node above; empty for the root."""
    node: Node


def compare(first: Topology, second: Topology) -> tuple[Difference, ...]:
    """Every difference, in the order of the first topology, then what only the second has."""
    ours, theirs = _entries(first, _switch_names(first, second)), _entries(second, {})
    return (*_from_first(ours, theirs), *_only_second(ours, theirs))


def _from_first(ours: Mapping[str, _Entry], theirs: Mapping[str, _Entry]) -> Iterator[Difference]:
    for key, entry in ours.items():
        other = theirs.get(key)
        if other is None:
            if _stands_alone(entry, theirs):
                yield Difference(Change.MISSING, entry.name)
            continue
        if entry.parent != other.parent:
            above = ours[entry.parent].name, theirs[other.parent].name
            yield Difference(Change.MOVED, entry.name, None, *above)
        yield from _attributes(entry, other)


def _only_second(ours: Mapping[str, _Entry], theirs: Mapping[str, _Entry]) -> Iterator[Difference]:
    for key, entry in theirs.items():
        if key not in ours and _stands_alone(entry, ours):
            yield Difference(Change.ADDED, entry.name)


def _stands_alone(entry: _Entry, others: Mapping[str, _Entry]) -> bool:
    """Whether to name it: CPUs and PCI devices always; what is inside a device only if both sides list such things."""
    return isinstance(entry.node, Cpu | Pci) or any(
        other.parent == entry.parent and type(other.node) is type(entry.node) for other in others.values()
    )


def _attributes(entry: _Entry, other: _Entry) -> Iterator[Difference]:
    for attribute, field in attribute_fields(type(entry.node)).items():
        values = getattr(entry.node, field), getattr(other.node, field)
        found = attribute in _FOUND_BY_NCCL.get(type(entry.node), ()) and None in values
        of_machine = attribute in _OF_THE_MACHINE.get(type(entry.node), ())
        if attribute == "busid" or values[0] == values[1] or found or of_machine:
            continue
        shown = (None if value is None else str(value) for value in values)
        yield Difference(Change.CHANGED, entry.name, attribute, *shown)


def _entries(topology: Topology, names: Mapping[str, str]) -> dict[str, _Entry]:
    """Key → entry of every node; `names` gives a switch the bus id of its match in the other topology."""
    found: dict[str, _Entry] = {}

    def add(node: Node, key: str, name: str, parent: str) -> None:
        # Twice the same key (a duplicate bus id): told apart by the count, so that neither hides the other.
        unique = key
        while unique in found:
            unique += "'"
        found[unique] = _Entry(name, parent, node)
        for field in child_fields(type(node)).values():
            for index, child in enumerate(getattr(node, field)):
                add(child, *_identity(child, index, unique, name, names), unique)

    add(topology, "system", "the system", "")
    return found


def _identity(
    node: Node, index: int, parent: str, parent_name: str, names: Mapping[str, str]
) -> tuple[str, str]:
    """(key that the same node has in another topology, name for a person)."""
    match node:
        case Cpu():
            return f"cpu {node.numaid}", f"CPU {node.numaid}"
        case Pci():
            kinds = {"gpu": "GPU", "nic": "NIC", "switch": "switch", "nvswitch": "NVSwitch"}
            busid = names.get(node.busid, node.busid)
            return f"pci {busid}", f"{kinds[node.kind]} {node.busid}"
        case Gpu():
            return f"{parent} gpu", f"gpu of {parent_name}"
        case Nic():
            return f"{parent} nic {index}", f"nic {index} of {parent_name}"
        case Net():
            known = node.name if node.name is not None else f"{node.dev if node.dev is not None else index}"
            return f"{parent} net {known}", f"net {known} of {parent_name}"
        case _:
            kind = type(node).__name__.lower()
            target = getattr(node, "target", None) or index
            return f"{parent} {kind} {target}", f"{kind} {target} of {parent_name}"


def _switch_names(first: Topology, second: Topology) -> dict[str, str]:
    """Bus ids of the first topology's switches → those of the second's with the same GPUs and NICs below."""
    ours, theirs = _switches(first), _switches(second)
    by_shape = {shape: busid for busid, shape in theirs.items()}
    names = {}
    for busid, shape in ours.items():
        match = busid if theirs.get(busid) == shape else by_shape.get(shape, busid)
        # Invented ids say nothing; a real switch is another one only if neither side knows the other's id.
        invented = busid.startswith("ffff:") and match.startswith("ffff:")
        if invented or (busid not in theirs and match not in ours):
            names[busid] = match
    return names


def _switches(topology: Topology) -> dict[str, tuple[frozenset[str], int]]:
    """Bus id → (GPUs and NICs below, switches below), for every switch that has any device below."""
    shapes = {}
    for _, _, pci in topology.devices():
        below = [device for child in pci.pcis for device in _with_all_below(child)]
        devices = frozenset(device.busid for device in below if device.kind in ("gpu", "nic"))
        if devices:
            shapes[pci.busid] = (devices, len(below) - len(devices))
    return shapes


def _with_all_below(pci: Pci) -> Iterator[Pci]:
    stack = [pci]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(top.pcis)


def _shown(value: str | None) -> str:
    return "left out" if value is None else value
