"""What NCCL makes of an attribute's text: numbers, link speeds, PCI classes, CPU masks, and the bandwidths it assumes.

Source of every table and rule: NVIDIA/nccl 2.30.7 (5067397c), src/graph/xml.cc, xml.h, topo.cc and topo.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_INTEGER: Final = re.compile(r"\s*([+-]?)(0[xX](?=[0-9a-fA-F])[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?")
_HEXADECIMAL: Final = re.compile(r"\s*(?:0[xX](?=[0-9a-fA-F]))?([0-9a-fA-F]+)")
_WORD: Final = re.compile(r"[0-9a-fA-F]{1,8}")
_RANGES: Final = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_WORD_BITS: Final = 32
_LONG_MAX: Final = 2**63 - 1
#: Characters of the longest value; NCCL rejects longer ones, and what lies beyond is not looked at.
LONGEST: Final = 253

BUS_ID: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""The one spelling of a bus id that can equal what NVML and sysfs report."""

#: Beginnings of `link_speed` that NCCL knows, and the PCI Express generation each means.
LINK_SPEEDS: Final[Mapping[str, int]] = {
    "2.5 GT/s": 1,
    "5 GT/s": 2,
    "5.0 GT/s PCIe": 2,
    "8 GT/s": 3,
    "8.0 GT/s PCIe": 3,
    "16 GT/s": 4,
    "16.0 GT/s PCIe": 4,
    "32 GT/s": 5,
    "32.0 GT/s PCIe": 5,
    "64.0 GT/s PCIe": 6,
}
#: What every other spelling counts as.
FALLBACK_GENERATION: Final = 3
#: NCCL's figure for one lane of a generation, in units of 1/80 GB/s.
LANE_EIGHTIETHS: Final[Mapping[int, int]] = {1: 15, 2: 30, 3: 60, 4: 120, 5: 240, 6: 480}
FALLBACK_WIDTH: Final = 16

#: Beginnings of `class` that NCCL knows, and the kind of device each means.
CLASSES: Final[Mapping[str, str]] = {
    "0x060400": "switch",
    "0x080100": "switch",
    "0x068000": "nvswitch",
    "0x03": "gpu",
    "0x02": "nic",
}

ARCHITECTURES: Final = ("x86_64", "arm64", "ppc64")
X86_VENDORS: Final = ("GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  ")

#: GB/s between two sockets: by architecture, or on x86_64 by vendor.
_ARCH_SOCKET_GBPS: Final[Mapping[str, float]] = {"arm64": 6, "ppc64": 32}
_AMD_SOCKET_GBPS: Final = 16
#: Intel family 6: GB/s between sockets from the first model number on, newest first.
_INTEL_SOCKET_GBPS: Final = ((0xCF, 40), (0x8F, 22), (0x55, 10), (0, 6))


def read_integer(text: str) -> int:
    """C's `strtol(text, NULL, 0)`: the number at the beginning, in its own base; 0 where there is none."""
    match = _INTEGER.match(text[:LONGEST])
    if match is None:
        return 0
    sign, digits = match.groups()
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") else 10
    number = int(digits, base)
    return -min(number, _LONG_MAX + 1) if sign == "-" else min(number, _LONG_MAX)


def is_whole_integer(text: str) -> bool:
    """Whether `read_integer` reads all of the text."""
    match = _INTEGER.fullmatch(text)
    return match is not None


def link_generation(speed: str) -> int | None:
    """PCI Express generation of a `link_speed`; None for a spelling that NCCL does not know."""
    return next((gen for beginning, gen in LINK_SPEEDS.items() if speed.startswith(beginning)), None)


def link_width(text: str) -> int:
    """Lanes of a `link_width`; 0, empty and text (`x16`) all count as 16."""
    return read_integer(text) or FALLBACK_WIDTH


def link_gigabytes_per_second(speed: str, width: str | int) -> float:
    """GB/s of a device's uplink as NCCL reckons it: width 16 gives 12, 24, 48, 96 for generations 3 to 6."""
    generation = link_generation(speed) or FALLBACK_GENERATION
    lanes = link_width(str(width))
    return lanes * LANE_EIGHTIETHS[generation] / 80


def device_kind(pci_class: str | None) -> str | None:
    """`switch`, `nvswitch`, `gpu` or `nic` of a `class`; None where NCCL does not know it and takes a switch."""
    return next((kind for start, kind in CLASSES.items() if (pci_class or "").startswith(start)), None)


def socket_gigabytes_per_second(
    arch: str | None, vendor: str | None = None, family: int | None = None, model: int | None = None
) -> float | None:
    """GB/s between the sockets of such CPUs; None where the attributes do not say what they are."""
    if arch is not None and arch in _ARCH_SOCKET_GBPS:
        return _ARCH_SOCKET_GBPS[arch]
    if arch != "x86_64" or vendor is None:
        return None
    if vendor == "AuthenticAMD":
        return _AMD_SOCKET_GBPS
    if vendor == "GenuineIntel" and model is not None:
        return next(gbps for first, gbps in _INTEL_SOCKET_GBPS if (model if family == 6 else 0) >= first)
    return None


def affinity_as_read(text: str) -> frozenset[int]:
    """The CPUs that NCCL takes from an `affinity`, right or wrong: hexadecimal words, most significant first."""
    mask = 0
    for word in text[:LONGEST].split(","):
        match = _HEXADECIMAL.match(word)
        mask = mask << _WORD_BITS | (int(match.group(1), 16) if match else 0) & 0xFFFFFFFF
    return frozenset(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def is_affinity(text: str) -> bool:
    """Whether the text is what `affinity` must be: words of up to 8 hexadecimal digits with commas between."""
    return all(_WORD.fullmatch(word) for word in text.split(","))


def affinity_ranges(text: str) -> frozenset[int] | None:
    """The CPUs of a list such as `0-23,48-71`; None if the text is not one, or names CPUs beyond 4095."""
    if len(text) > LONGEST or not _RANGES.fullmatch(text):
        return None
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if len(first) > 4 or len(last) > 4:
            return None
        cpus.update(range(int(first), min(int(last or first), 4095) + 1))
    return frozenset(cpus)


def affinity_mask(cpus: Iterable[int], words: int = 1) -> str:
    """The mask of these CPUs in NCCL's spelling, at least `words` words long."""
    mask = sum(1 << cpu for cpu in set(cpus))
    count = max(words, -(-mask.bit_length() // _WORD_BITS), 1)
    return ",".join(f"{mask >> _WORD_BITS * place & 0xFFFFFFFF:08x}" for place in reversed(range(count)))


def cpu_list(cpus: Iterable[int]) -> str:
    """CPUs as a person writes them: `0-23,48-71`; `none` for no CPU."""
    runs: list[tuple[int, int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], cpu)
        else:
            runs.append((cpu, cpu))
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs) or "none"


def read_decimal(text: str) -> float:
    """C's `strtof`: the decimal number at the beginning of the text; 0 where there is none."""
    match = _DECIMAL.match(text[:LONGEST])
    return float(match.group()) if match else 0.0


def read_hexadecimal(text: str) -> int:
    """C's `strtol(text, NULL, 16)`: the hexadecimal number at the beginning; 0 where there is none."""
    match = _HEXADECIMAL.match(text[:LONGEST])
    return int(match.group(1), 16) if match else 0


def is_whole_decimal(text: str) -> bool:
    """Whether `read_decimal` reads all of the text."""
    return _DECIMAL.fullmatch(text) is not None
