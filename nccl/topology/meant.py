"""What a person meant by a value that NCCL misreads, where that is plain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpu_fabric.nccl.text import without_suffix
from gpu_fabric.nccl.topology import values

_SPEED_NUMBER = re.compile(r"\d+(\.\d)?")
_WIDTH = re.compile(r"[xX×]([1-9]\d?)")
_BUS_ID = re.compile(r"(?:([0-9a-f]+):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-f]+)")
_ARCHITECTURES: Mapping[str, str] = {
    "aarch64": "arm64",
    "amd64": "x86_64",
    "ppc64le": "ppc64",
    "x86-64": "x86_64",
}
_SPEEDS: Mapping[str, str] = {
    "2.5": "2.5 GT/s",
    "5": "5.0 GT/s PCIe",
    "8": "8.0 GT/s PCIe",
    "16": "16.0 GT/s PCIe",
    "32": "32.0 GT/s PCIe",
    "64": "64.0 GT/s PCIe",
}
_GENERATIONS: Mapping[str, str] = dict(
    zip(("gen1", "gen2", "gen3", "gen4", "gen5", "gen6"), _SPEEDS.values(), strict=True)
)


def meant(tag: str, attribute: str, text: str) -> str | None:
    """The value that NCCL reads as what `text` means; None where `text` is right already or its meaning not plain."""
    rule = _RULES.get((tag, attribute))
    return rule(text[: values.LONGEST]) if rule is not None else None


def _arch(text: str) -> str | None:
    return _ARCHITECTURES.get(text.lower())


def _affinity(text: str) -> str | None:
    if values.is_affinity(text):
        return None
    cpus = values.affinity_ranges(text)
    if cpus is not None:
        return values.affinity_mask(cpus)
    digits = _HEXADECIMAL.fullmatch(text.lower())
    if digits is None:
        return None
    mask = int(digits.group(1), 16)
    return values.affinity_mask(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def _bus_id(text: str) -> str | None:
    match = _BUS_ID.fullmatch(text.strip().lower())
    if match is None:
        return None
    domain = (match.group(1) or "").lstrip("0")
    normal = f"{domain:0>4}:{match.group(2)}"
    return normal if len(domain) <= 4 and normal != text else None


def _link_speed(text: str) -> str | None:
    if values.link_generation(text) is not None:
        return None
    named = _GENERATIONS.get(re.sub(r"[^a-z0-9]|pcie|eration", "", text.lower()))
    number = _SPEED_NUMBER.match(text)
    return named or _SPEEDS.get(without_suffix(number.group(), ".0") if number else "")


def _link_width(text: str) -> str | None:
    match = _WIDTH.fullmatch(text)
    return match.group(1) if match else None


_RULES: Mapping[tuple[str, str], Callable[[str], str | None]] = {
    ("cpu", "arch"): _arch,
    ("cpu", "affinity"): _affinity,
    ("pci", "busid"): _bus_id,
    ("pci", "link_speed"): _link_speed,
    ("pci", "link_width"): _link_width,
}
