"""Checks of what the elements say: CPUs, PCI devices, links, ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.lint.file import (
    File,
    Found,
    has_pci,
    is_invented,
    is_published,
)

_SPEED_NUMBER = re.compile(r"\d+(\.\d)?")
_SHORT_BUS_ID = re.compile(r"(?:([0-9a-f]+):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_HOST_BRIDGE = re.compile(r"(?!ffff)[0-9a-f]{4}:00:00\.0")
_MEANT_ARCH: Mapping[str, str] = {
    "aarch64": "arm64",
    "amd64": "x86_64",
    "ppc64le": "ppc64",
    "x86-64": "x86_64",
}
_GENERATION_SPEEDS: Mapping[str, str] = {
    "2.5": "2.5 GT/s",
    "5": "5.0 GT/s PCIe",
    "8": "8.0 GT/s PCIe",
    "16": "16.0 GT/s PCIe",
    "32": "32.0 GT/s PCIe",
    "64": "64.0 GT/s PCIe",
}
_GENERATION_NAMES: Mapping[str, str] = dict(
    zip(("gen1", "gen2", "gen3", "gen4", "gen5", "gen6"), _GENERATION_SPEEDS.values(), strict=True)
)


def check_cpus(file: File) -> Iterator[Found]:
    seen: dict[int, int] = {}
    for cpu in file.of("cpu"):
        numaid = cpu.get("numaid")
        if numaid is None:
            yield Found("topology-numaid-missing", cpu.line)
        else:
            number = values.read_integer(numaid)
            if number in seen:
                yield Found("topology-numaid-duplicate", cpu.line, f"{number}, as on line {seen[number]}")
            seen.setdefault(number, cpu.line)
        if cpu.get("familyid") is not None and cpu.get("modelid") is None:
            yield Found("topology-model-missing", cpu.line)
        arch, vendor = cpu.get("arch"), cpu.get("vendor")
        if arch is not None and arch not in values.ARCHITECTURES:
            meant = _MEANT_ARCH.get(arch.lower())
            yield Found(
                "topology-arch-unknown",
                cpu.line,
                repr(arch[:40]),
                f'Write `arch="{meant}"`.' if meant else "",
            )
        if vendor is not None and arch in (None, "x86_64") and vendor not in values.X86_VENDORS:
            yield Found("topology-vendor-unknown", cpu.line, repr(vendor[:40]))
        affinity = cpu.attribute("affinity")
        if affinity is not None and not values.is_affinity(affinity.value):
            yield _affinity(affinity.value, affinity.line)


def _affinity(text: str, line: int) -> Found:
    read = values.cpu_list(values.affinity_as_read(text))
    pinned = f"{text[:60]!r} pins to {'no CPU' if read == 'none' else f'CPUs {read}'}"
    meant = values.affinity_ranges(text)
    if meant is not None:
        mask = values.affinity_mask(meant)
        return Found(
            "topology-affinity-ranges",
            line,
            pinned,
            f'Write `affinity="{mask}"` for CPUs {values.cpu_list(meant)}, or leave affinity out: NCCL reads it from '
            "the node.",
        )
    digits = text.lower().removeprefix("0x")
    remedy = ""
    if digits and all(c in "0123456789abcdef" for c in digits) and len(digits) <= values.LONGEST:
        mask = int(digits, 16)
        cpus = (cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
        remedy = f'Write `affinity="{values.affinity_mask(cpus)}"`.'
    return Found("topology-affinity-words", line, pinned, remedy)


def check_bus_ids(file: File) -> Iterator[Found]:
    seen: dict[str, int] = {}
    for pci in file.of("pci"):
        busid = pci.get("busid")
        if busid is None:
            yield Found("topology-busid-missing", pci.line)
            continue
        if not values.BUS_ID.fullmatch(busid):
            yield Found("topology-busid-spelling", pci.line, repr(busid[:40]), _meant_bus_id(busid))
        if busid in seen:
            yield Found("topology-busid-duplicate", pci.line, f"{busid[:40]}, as on line {seen[busid]}")
        seen.setdefault(busid, pci.line)


def normal_bus_id(busid: str) -> str | None:
    """The bus id in NCCL's spelling, where what was meant is plain: lower case, four digits of domain."""
    match = _SHORT_BUS_ID.fullmatch(busid.strip().lower())
    if match is None:
        return None
    domain = (match.group(1) or "").lstrip("0")
    return f"{domain:0>4}:{match.group(2)}" if len(domain) <= 4 else None


def _meant_bus_id(busid: str) -> str:
    normal = normal_bus_id(busid)
    return f'Write `busid="{normal}"`.' if normal else ""


def check_pci_attributes(file: File) -> Iterator[Found]:
    for pci in file.of("pci"):
        pci_class, speed, width = (pci.attribute(name) for name in ("class", "link_speed", "link_width"))
        if pci_class is not None and values.device_kind(pci_class.value) is None:
            yield Found("topology-class-unknown", pci_class.line, repr(pci_class.value[:40]))
        if speed is not None and values.link_generation(speed.value) is None:
            meant = _meant_speed(speed.value)
            yield Found(
                "topology-link-speed-unknown",
                speed.line,
                repr(speed.value[:40]),
                f'Write `link_speed="{meant}"`.' if meant else "",
            )
        if width is not None and values.read_integer(width.value) == 0:
            digits = re.fullmatch(r"[xX](\d{1,2})", width.value)
            yield Found(
                "topology-link-width",
                width.line,
                repr(width.value[:40]),
                f'Write `link_width="{digits.group(1)}"`.' if digits else "",
            )


def _meant_speed(text: str) -> str | None:
    named = _GENERATION_NAMES.get(re.sub(r"[^a-z0-9]|pcie|eration", "", text.lower()))
    number = _SPEED_NUMBER.match(text)
    return named or _GENERATION_SPEEDS.get(number.group().removesuffix(".0") if number else "")


def check_switches(file: File) -> Iterator[Found]:
    for pci in file.of("pci"):
        if not has_pci(pci):
            continue
        busid = (pci.get("busid") or "without busid")[:40]
        if pci.attribute("class") is None and not is_published(file, pci):
            when = "whatever the node" if is_invented(pci) else "unless the node has a device of this bus id"
            yield Found("topology-class-missing", pci.line, f"{busid}, {when}")
        if is_invented(pci) and (pci.attribute("link_speed") is None or pci.attribute("link_width") is None):
            yield Found("topology-link-missing", pci.line, busid)
        if _HOST_BRIDGE.fullmatch(busid):
            yield Found("topology-host-bridge", pci.line, busid)


def check_links(file: File) -> Iterator[Found]:
    for nvlink in file.of("nvlink"):
        if nvlink.get("count") is None:
            yield Found("topology-nvlink-incomplete", nvlink.line, "count")
        if (nvlink.get("tclass") or "").startswith("0x03") and nvlink.get("target") is None:
            yield Found("topology-nvlink-incomplete", nvlink.line, "target, the bus id of the other GPU")
    for c2c in file.of("c2c"):
        if c2c.get("bw") is None or c2c.get("count") is None:
            yield Found("topology-c2c-incomplete", c2c.line)


def check_nets(file: File) -> Iterator[Found]:
    for net in file.of("net"):
        name = f"net {net.get('name') or net.get('dev') or 'without name'}"[:60]
        for attribute in ("gdr", "name", "dev"):
            if net.get(attribute) is None:
                yield Found(f"topology-net-{attribute}-missing", net.line, name)
