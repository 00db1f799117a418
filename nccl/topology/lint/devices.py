"""Checks of what the elements say: CPUs, PCI devices, links, ports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.nccl.text import without_suffix
from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.lint.file import File, Found, has_pci, is_invented, is_published
from gpu_fabric.nccl.topology.meant import meant
from gpu_fabric.nccl.topology.syntax import Attribute, Element

HOST_BRIDGE = re.compile(r"(?!ffff)[0-9a-f]{4}:00:00\.0")


def _write(element: Element, name: str) -> str:
    """The remedy for a misread attribute; empty where its meaning is not plain."""
    right = meant(element.tag, name, element.get(name) or "")
    return f'Write `{name}="{right}"`.' if right is not None else ""


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
            yield Found("topology-arch-unknown", cpu.line, repr(arch[:40]), _write(cpu, "arch"))
        if vendor is not None and arch in (None, "x86_64") and vendor not in values.X86_VENDORS:
            yield Found("topology-vendor-unknown", cpu.line, repr(vendor[:40]))
        affinity = cpu.attribute("affinity")
        if affinity is not None and not values.is_affinity(affinity.value):
            yield _affinity(cpu, affinity)


def _affinity(cpu: Element, affinity: Attribute) -> Found:
    text = affinity.value
    read = values.cpu_list(values.affinity_as_read(text))
    pinned = f"{text[:60]!r} pins to {'no CPU' if read == 'none' else f'CPUs {read}'}"
    remedy = _write(cpu, "affinity")
    cpus = values.affinity_ranges(text)
    if cpus is None:
        return Found("topology-affinity-words", affinity.line, pinned, remedy)
    remedy = (
        f"{without_suffix(remedy, '.')} for CPUs {values.cpu_list(cpus)}, or leave affinity out: NCCL reads it from "
        "the node."
    )
    return Found("topology-affinity-ranges", affinity.line, pinned, remedy)


def check_bus_ids(file: File) -> Iterator[Found]:
    seen: dict[str, int] = {}
    for pci in file.of("pci"):
        busid = pci.get("busid")
        if busid is None:
            yield Found("topology-busid-missing", pci.line)
            continue
        if not values.BUS_ID.fullmatch(busid):
            yield Found("topology-busid-spelling", pci.line, repr(busid[:40]), _write(pci, "busid"))
        if busid in seen:
            yield Found("topology-busid-duplicate", pci.line, f"{busid[:40]}, as on line {seen[busid]}")
        seen.setdefault(busid, pci.line)


def check_pci_attributes(file: File) -> Iterator[Found]:
    for pci in file.of("pci"):
        pci_class, speed, width = (pci.attribute(name) for name in ("class", "link_speed", "link_width"))
        if pci_class is not None and values.device_kind(pci_class.value) is None:
            yield Found("topology-class-unknown", pci_class.line, repr(pci_class.value[:40]))
        if speed is not None and values.link_generation(speed.value) is None:
            yield Found(
                "topology-link-speed-unknown", speed.line, repr(speed.value[:40]), _write(pci, "link_speed")
            )
        if width is not None and values.read_integer(width.value) == 0:
            yield Found("topology-link-width", width.line, repr(width.value[:40]), _write(pci, "link_width"))


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
        if HOST_BRIDGE.fullmatch(busid):
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
