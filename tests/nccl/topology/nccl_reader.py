"""A strict model of how NCCL reads a topology file: the tests' own, which shares no code with the package.

Written from NCCL's published source (NVIDIA/nccl 2.30.7: src/graph/xml.cc, xml.h, topo.cc, topo.h, paths.cc). It does
what a job does that has nothing but the file, or the file and a sysfs: reads character by character, rejects
what NCCL rejects, takes what NCCL takes for an unknown spelling, and builds the graph.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_STR_LEN = 255
MAX_ATTRIBUTES = 16
MAX_NODES = 256
CHILDREN = {
    "": {"system"},
    "system": {"cpu"},
    "cpu": {"pci", "nic"},
    "pci": {"pci", "gpu", "nic", "pcilink"},
    "nic": {"net"},
    "gpu": {"nvlink", "c2c"},
    "net": set(),
    "nvlink": set(),
    "c2c": set(),
    "pcilink": set(),
}
SPEEDS = [
    ("2.5 GT/s", 15),
    ("5 GT/s", 30),
    ("8 GT/s", 60),
    ("16 GT/s", 120),
    ("32 GT/s", 240),
    ("5.0 GT/s PCIe", 30),
    ("8.0 GT/s PCIe", 60),
    ("16.0 GT/s PCIe", 120),
    ("32.0 GT/s PCIe", 240),
    ("64.0 GT/s PCIe", 480),
]
KINDS = [("0x060400", "PCI"), ("0x080100", "PCI"), ("0x068000", "NVS"), ("0x03", "GPU"), ("0x02", "NIC")]
VENDORS = {"GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  "}


class RejectedError(Exception):
    """NCCL's initialisation returns an error."""


class CrashError(Exception):
    """NCCL writes beyond a table."""


@dataclass
class XmlNode:
    name: str
    attributes: list[tuple[str, str]] = field(default_factory=list)
    children: list[XmlNode] = field(default_factory=list)
    single: bool = False
    closing: bool = False

    def get(self, key: str) -> str | None:
        for name, value in self.attributes:
            if name == key:
                return value
        return None

    def need(self, key: str) -> str:
        value = self.get(key)
        if value is None:
            raise RejectedError(f"ncclInternalError: attribute {key} of {self.name} not found")
        return value


class Parser:
    """One character after another, as `xmlGetChar` gives them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kept = 0
        self.last = ""

    def char(self) -> str:
        if self.at >= len(self.text):
            raise RejectedError("unexpected end of file")
        self.at += 1
        return self.text[self.at - 1]

    def value(self) -> str:
        quote = self.char()
        if quote not in "\"'":
            raise RejectedError("expected a quote")
        out = ""
        while (c := self.char()) != quote:
            out += c
            if len(out) >= MAX_STR_LEN - 1:
                raise RejectedError("value too long")
        self.last = self.char()
        return out

    def token(self, *, with_value: bool) -> tuple[str, str]:
        out = ""
        while True:
            c = self.char()
            if c == "=":
                if not with_value:
                    raise RejectedError(f"unexpected value with name {out}")
                return c_string(out), c_string(self.value())
            if c in " >/\n\r":
                self.last = c
                return c_string(out), ""
            out += c
            if len(out) >= MAX_STR_LEN - 1:
                raise RejectedError("name too long")

    def comment(self, name: str) -> None:
        end = ("..." + name[3:] + self.last)[-3:]
        while end != "-->":
            end = (end + self.char())[-3:]

    def node(self) -> XmlNode | None:
        while True:
            c = " "
            while c in " \n\r":
                if self.at >= len(self.text):
                    return None
                c = self.char()
            if c != "<":
                raise RejectedError(f"expecting '<', got {c!r}")
            name, _ = self.token(with_value=False)
            if name.startswith("!--"):
                self.comment(name)
                continue
            break
        if name == "" and self.last == "/":
            name, _ = self.token(with_value=False)
            if self.last != ">":
                raise RejectedError(f"trailing {self.last!r} in closing tag {name}")
            return XmlNode(name, closing=True)
        node = XmlNode(name)
        while self.last == " ":
            attribute = self.token(with_value=True)
            if len(node.attributes) < MAX_ATTRIBUTES:
                node.attributes.append(attribute)
        if self.last == "/":
            node.single = True
            self.token(with_value=False)
        if self.last != ">":
            raise RejectedError(f"expected >, got {self.last!r}")
        return node

    def load(self, head: XmlNode | None, allowed: set[str], *, kept_head: bool = True) -> list[XmlNode]:
        """Everything up to the closing tag of `head`; what is not allowed is dropped with all below it.

        NCCL reads an element that it drops, and all below it, into one and the same slot of its table. So there it
        compares the name of a closing tag with itself.
        """
        if head is not None and head.single:
            return []
        kept: list[XmlNode] = []
        while True:
            if self.kept == MAX_NODES:
                raise RejectedError(f"limited to {MAX_NODES} nodes")
            node = self.node()
            if node is None:
                if head is None:
                    return kept
                raise RejectedError(f"unterminated {head.name}")
            if head is not None and node.closing:
                if kept_head and node.name != head.name:
                    raise RejectedError(f"mismatch: {head.name} / {node.name}")
                return kept
            if node.name not in allowed:
                self.load(node, set(), kept_head=False)
                continue
            if node.name == "system" and strtol(node.need("version")) != 1:
                raise RejectedError("ncclInvalidUsage: wrong version")
            self.kept += 1
            kept.append(node)
            node.children = [] if node.closing else self.load(node, CHILDREN[node.name])


def c_string(text: str) -> str:
    return text.split("\0", maxsplit=1)[0]


_LIBC = ctypes.CDLL(None)
_LIBC.strtol.restype = ctypes.c_long
_LIBC.strtol.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]


def strtol(text: str, base: int = 0) -> int:
    """C's `strtol` itself."""
    return _LIBC.strtol(text.encode(), None, base)


def cpuset(affinity: str) -> set[int]:
    mask = 0
    for word in affinity.split(","):
        mask = (mask << 32) | (strtol(word, 16) & 0xFFFFFFFF)
    return {cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1}


def bandwidth(speed: str, width: str) -> float:
    """GB/s; an unknown spelling counts as generation 3, no width as 16."""
    eightieths = next((value for beginning, value in SPEEDS if speed.startswith(beginning)), 60)
    return (strtol(width) or 16) * eightieths / 80


@dataclass
class Device:
    busid: str
    kind: str
    cpu: Cpu
    above: tuple[str, ...]
    """Bus ids of the switches from the CPU down."""
    gigabytes: float
    nets: list[XmlNode] = field(default_factory=list)


@dataclass
class Cpu:
    numaid: int
    cpus: set[int]
    arch: str
    vendor: str


@dataclass
class Graph:
    """What NCCL builds from the file."""

    name: str | None = None
    cpus: list[Cpu] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)

    def of(self, kind: str) -> list[Device]:
        return [device for device in self.devices if device.kind == kind]

    def path(self, a: Device, b: Device) -> str:
        """PIX, PXB, PHB or SYS."""
        if a.cpu is not b.cpu:
            return "SYS"
        shared = 0
        while shared < min(len(a.above), len(b.above)) and a.above[shared] == b.above[shared]:
            shared += 1
        if shared == 0:
            return "PHB"
        return "PIX" if len(a.above) == len(b.above) == shared else "PXB"


def read(text: str, sysfs: Mapping[str, Mapping[str, str]] | None = None) -> Graph | None:
    """The graph NCCL builds; None where the file silently contributes nothing.

    `sysfs` gives the attributes of the bus ids that the machine has; a class found there wins over the file's.
    """
    roots = Parser(text).load(None, {"system"})
    if not roots:
        return None
    graph = Graph(roots[0].get("name"))
    for cpu in roots[0].children:
        graph.cpus.append(_cpu(cpu))
        for pci in (child for child in cpu.children if child.name == "pci"):
            graph.devices.extend(_pci(pci, graph.cpus[-1], (), sysfs or {}))
    return graph


def _cpu(node: XmlNode) -> Cpu:
    if len(node.attributes) >= MAX_ATTRIBUTES:
        raise CrashError("NCCL appends host_hash to a full table")
    numaid = strtol(node.need("numaid"))
    affinity = node.get("affinity") or ""
    arch = node.need("arch")
    vendor = ""
    if arch == "x86_64":
        vendor = node.need("vendor")
        if vendor in ("GenuineIntel", "CentaurHauls", "  Shanghai  "):
            node.need("familyid")
            node.need("modelid")
    return Cpu(numaid, cpuset(affinity), arch, vendor if vendor in VENDORS else "unknown")


def _pci(
    node: XmlNode, cpu: Cpu, above: tuple[str, ...], sysfs: Mapping[str, Mapping[str, str]]
) -> Iterator[Device]:
    busid = node.need("busid")
    known = sysfs.get(busid, {})
    pci_class = known.get("class") or node.need("class")
    kind = next((kind for beginning, kind in KINDS if pci_class.startswith(beginning)), "PCI")
    speed = node.get("link_speed") or known.get("link_speed")
    width = node.get("link_width") or known.get("link_width")
    if speed is None or width is None:
        speed, width = node.need("link_speed"), node.need("link_width")
    device = Device(busid, kind, cpu, above, bandwidth(speed, width))
    for child in node.children:
        # A GPU without rank is skipped.
        if child.name == "gpu" and child.get("rank") is not None:
            for key in ("dev", "sm", "gdr"):
                child.need(key)
            for link in child.children:
                link.need("count")
                if link.name == "c2c":
                    link.need("bw")
        if child.name == "nic":
            for net in child.children:
                if len(net.attributes) >= MAX_ATTRIBUTES:
                    raise CrashError("NCCL appends keep to a full table")
                device.nets.append(net)
    yield device
    for child in (child for child in node.children if child.name == "pci"):
        yield from _pci(child, cpu, (*above, busid), sysfs)
