"""Checks against the PCI layout that is published for a size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gpu_fabric.nccl.hardware.models import PciIds, PciPlace
from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.catalog import from_catalog
from gpu_fabric.nccl.topology.lint.file import (
    File,
    Found,
    devices,
    has_pci,
    kind_of,
)
from gpu_fabric.nccl.topology.subset import gpus_of_subset, subset
from gpu_fabric.nccl.topology.syntax import Element


def check_layout_known(file: File) -> Iterator[Found]:
    if file.size is not None and file.size.pci is None:
        yield Found("topology-layout-unknown", file.root.line, file.size.name)


def check_devices(file: File) -> Iterator[Found]:
    if file.size is None or file.layout is None:
        return
    published = devices(file.layout)
    expected = _expected(file)
    present: set[str] = set()
    for pci in file.of("pci"):
        busid = pci.get("busid") or ""
        if busid in published:
            present.add(busid)
        elif not has_pci(pci):
            yield Found("topology-busid-unpublished", pci.line, f"{busid[:40]} on {file.size.name}")
    for kind, plural in (("gpu", "GPUs"), ("nic", "NICs")):
        of_kind = [busid for busid, place in published.items() if place.kind == kind and busid in expected]
        missing = [busid for busid in of_kind if busid not in present]
        if missing:
            some = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
            yield Found(
                "topology-devices-missing",
                file.root.line,
                f"it has {len(of_kind) - len(missing)} of {len(of_kind)} {plural} of {file.size.name} and lacks {some}",
            )


def _expected(file: File) -> frozenset[str]:
    """Bus ids that the file should have: all of the size's, or those of the GPUs that a subset's name gives."""
    assert file.size is not None
    topology = from_catalog(file.size)
    gpus = gpus_of_subset(file.root.get("name"))
    if topology is None or any(gpu >= file.size.gpu.count for gpu in gpus):
        gpus = ()
    if topology is not None and gpus:
        topology = subset(topology, gpus)
    return frozenset(pci.busid for _, _, pci in topology.devices()) if topology is not None else frozenset()


def check_device_places(file: File) -> Iterator[Found]:
    if file.size is None or file.layout is None:
        return
    published = devices(file.layout)
    # Where the devices of a published switch hang in the file, those on another NUMA node not counted.
    homes: dict[tuple[str, ...], Counter[str]] = {}
    placed: list[tuple[Element, PciPlace, str]] = []
    for pci in file.of("pci"):
        place = published.get(pci.get("busid") or "")
        if place is None or pci.parent is None:
            continue
        numaid = values.read_integer(_cpu_of(pci).get("numaid") or "")
        if numaid != place.numa:
            detail = f"{pci.get('busid')} is on NUMA node {place.numa}, not {numaid}"
            yield Found("topology-device-moved", pci.line, detail)
        else:
            home = pci.parent.get("busid") or "its CPU"
            homes.setdefault(place.switches, Counter())[home] += 1
            placed.append((pci, place, home))
    for pci, place, home in placed:
        usual = homes[place.switches].most_common(1)[0][0]
        if home != usual:
            detail = f"{pci.get('busid')} shares a switch with what hangs below {usual[:40]}, not {home[:40]}"
            yield Found("topology-device-moved", pci.line, detail)


def _cpu_of(pci: Element) -> Element:
    element = pci
    while element.tag != "cpu" and element.parent is not None:
        element = element.parent
    return element


def check_masks(file: File) -> Iterator[Found]:
    for cpu, right in masks_of_other_nodes(file):
        affinity = cpu.attribute("affinity")
        assert affinity is not None
        written = values.cpu_list(values.affinity_as_read(affinity.value))
        yield Found(
            "topology-affinity-of-another-node",
            affinity.line,
            f"numaid {cpu.get('numaid')} has CPUs {written}, and its devices are near others",
            f'Write `affinity="{right}"`, CPUs {values.cpu_list(values.affinity_as_read(right))}.',
        )


def masks_of_other_nodes(file: File) -> Iterator[tuple[Element, str]]:
    """(cpu, right mask) of every `cpu` whose mask is that of another NUMA node than its devices'."""
    if file.layout is None:
        return
    published = devices(file.layout)
    masks = {node.numa: node.affinity for node in file.layout.numa_nodes if node.affinity is not None}
    below: dict[int, Counter[int]] = {}
    for pci in file.of("pci"):
        place = published.get(pci.get("busid") or "")
        if place is not None:
            below.setdefault(id(_cpu_of(pci)), Counter())[place.numa] += 1
    for cpu in file.of("cpu"):
        affinity = cpu.get("affinity")
        if affinity is None or id(cpu) not in below or not values.is_affinity(affinity):
            continue
        numa = below[id(cpu)].most_common(1)[0][0]
        written = values.affinity_as_read(affinity)
        others = (mask for node, mask in masks.items() if node != numa)
        if numa in masks and any(values.affinity_as_read(mask) == written for mask in others):
            yield cpu, masks[numa]


def check_device_ids(file: File) -> Iterator[Found]:
    if file.size is None or file.layout is None:
        return
    known: Mapping[str, PciIds | None] = {"gpu": file.layout.gpu_ids, "nic": file.layout.nic_ids}
    for pci in file.of("pci"):
        ids = known.get(kind_of(pci) or "")
        written = pci.get("vendor"), pci.get("device")
        if ids is None or None in written:
            continue
        numbers = tuple(values.read_hexadecimal(text or "") for text in written)
        if numbers != (values.read_hexadecimal(ids.vendor), values.read_hexadecimal(ids.device)):
            detail = f"{written[0]}, {written[1]}"[:60]
            yield Found(
                "topology-device-id", pci.line, f"{detail}; {file.size.name} has {ids.vendor}, {ids.device}"
            )


def check_net_speeds(file: File) -> Iterator[Found]:
    if file.size is None or not file.size.fabric_port_gbps:
        return
    for net in (element for element in file.document.elements if element.tag == "net"):
        speed = net.attribute("speed")
        expected = round(file.size.fabric_port_gbps * 1000)
        if speed is not None and values.read_integer(speed.value) != expected:
            yield Found(
                "topology-net-speed",
                speed.line,
                f"{speed.value[:40]}; a port of {file.size.name} has {expected} Mb/s",
            )
