"""What NCCL will see between each GPU and each NIC: the path type, the hops and their bandwidth.

Follows NVIDIA/nccl 2.30.7, src/graph/paths.cc and topo.cc. Only the PCI tree and the links between CPUs count here:
NCCL adds NVLink itself, and with it may reach a far NIC through the GPU beside it (PXN), which a topology file
that leaves `gpu` out cannot show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from gpu_fabric.nccl.topology.errors import TopologyError
from gpu_fabric.nccl.topology.model import Cpu, Pci, Topology
from gpu_fabric.nccl.topology.values import read_hexadecimal, socket_gigabytes_per_second


class PathType(IntEnum):
    """NCCL's path types over PCI, nearest first. GPUDirect RDMA is used up to PXB by default on PCI hosts."""

    PIX = 4
    """At most one PCI switch."""
    PXB = 5
    """Several PCI switches, and no CPU."""
    PHB = 8
    """Through the host bridge of one CPU."""
    SYS = 9
    """Through the link between CPUs."""


@dataclass(frozen=True)
class Hop:
    """One link of a path."""

    source: str
    target: str
    gigabytes_per_second: float | None
    """As NCCL reckons it; None where the file leaves out what CPU it is."""


@dataclass(frozen=True)
class Path:
    """The way from a GPU to a NIC."""

    gpu: str
    """Bus id."""
    nic: str
    """Bus id."""
    type: PathType
    hops: tuple[Hop, ...]

    @property
    def gigabytes_per_second(self) -> float | None:
        """The narrowest hop, GB/s a direction; None where a hop is unknown."""
        known = [hop.gigabytes_per_second for hop in self.hops if hop.gigabytes_per_second is not None]
        return min(known) if len(known) == len(self.hops) else None


@dataclass(frozen=True)
class _Place:
    cpu: Cpu
    above: tuple[Pci, ...]
    """Switches from the CPU down, those that NCCL flattens left out."""
    device: Pci


def all_paths(topology: Topology) -> tuple[Path, ...]:
    """The path from every GPU to every NIC, in the order of the file."""
    places = [*_places(topology)]
    gpus = [place for place in places if place.device.kind == "gpu"]
    nics = [place for place in places if place.device.kind == "nic"]
    return tuple(_path(gpu, nic) for gpu in gpus for nic in nics)


def path_between(topology: Topology, gpu: str, nic: str) -> Path:
    """The path between these two bus ids; `TopologyError` where the topology lacks one."""
    places = {place.device.busid: place for place in _places(topology)}
    for busid in (gpu, nic):
        if busid not in places:
            raise TopologyError(f"no device has bus id {busid}.", remedy=f"Known are {', '.join(places)}.")
    return _path(places[gpu], places[nic])


def nearest_nics(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Bus id of each GPU → bus ids of the NICs at the least distance from it."""
    nearest: dict[str, tuple[str, ...]] = {pci.busid: () for pci in topology.gpus()}
    best: dict[str, PathType] = {}
    for path in all_paths(topology):
        if path.gpu not in best or path.type < best[path.gpu]:
            best[path.gpu], nearest[path.gpu] = path.type, ()
        if path.type == best[path.gpu]:
            nearest[path.gpu] += (path.nic,)
    return nearest


def _places(topology: Topology) -> Iterator[_Place]:
    for cpu, above, device in topology.devices():
        yield _Place(cpu, _without_flattened(above), device)


def _without_flattened(above: tuple[Pci, ...]) -> tuple[Pci, ...]:
    """Broadcom switches show two levels where one sustains full rate; NCCL merges the lower into the upper."""
    kept: list[Pci] = []
    fused = False
    for switch in above:
        upper = kept[-1] if kept and not fused else None
        fused = upper is not None and _is_two_level(upper, switch)
        if not fused:
            kept.append(switch)
    return tuple(kept)


def _is_two_level(upper: Pci, lower: Pci) -> bool:
    generation = _broadcom_generation(upper, level=0)
    return generation is not None and generation == _broadcom_generation(lower, level=1)


def _broadcom_generation(switch: Pci, level: int) -> int | None:
    """PCI Express generation of a Broadcom switch in base mode, from its four ids (`getBcmGen` of topo.cc)."""
    fields = (switch.vendor, switch.device, switch.subsystem_vendor, switch.subsystem_device)
    vendor, device, subvendor, subdevice = (read_hexadecimal(text or "") for text in fields)
    if vendor != 0x1000:
        return None
    if (device, subvendor) == (0xC010, 0x1000) and subdevice & 0xF000 == 0xA000:
        return 4
    if (device, subvendor) == (0xC030, 0x1000) and subdevice & 0xF000 == level * 0x1000:
        return 5
    return None


def _path(gpu: _Place, nic: _Place) -> Path:
    shared = 0
    if gpu.cpu is nic.cpu:
        for ours, theirs in zip(gpu.above, nic.above, strict=False):
            if ours.busid != theirs.busid:
                break
            shared += 1
    up = [gpu.device, *reversed(gpu.above[shared:])]
    down = [*nic.above[shared:], nic.device]
    top = gpu.above[shared - 1].busid if shared else _cpu_name(gpu.cpu)
    hops = [*_climb(up, top)]
    if gpu.cpu is not nic.cpu:
        gbps = socket_gigabytes_per_second(gpu.cpu.arch, gpu.cpu.vendor, gpu.cpu.familyid, gpu.cpu.modelid)
        hops.append(Hop(_cpu_name(gpu.cpu), _cpu_name(nic.cpu), gbps))
        top = _cpu_name(nic.cpu)
    hops.extend(Hop(h.target, h.source, h.gigabytes_per_second) for h in reversed([*_climb(down[::-1], top)]))
    switches = len(up) - 1 + len(down) - 1
    if gpu.cpu is not nic.cpu:
        kind = PathType.SYS
    elif not shared:
        kind = PathType.PHB
    else:
        kind = PathType.PXB if switches else PathType.PIX
    return Path(gpu.device.busid, nic.device.busid, kind, tuple(hops))


def _climb(devices: list[Pci], top: str) -> Iterator[Hop]:
    """The uplinks from the first device through the others to `top`."""
    names = [*(device.busid for device in devices[1:]), top]
    for device, above in zip(devices, names, strict=True):
        yield Hop(device.busid, above, device.uplink_gigabytes_per_second)


def _cpu_name(cpu: Cpu) -> str:
    return f"CPU {cpu.numaid}"
