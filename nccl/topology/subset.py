"""Cut a topology down to some of its GPUs and the NICs that serve them, for a job that uses part of a node."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from gpu_fabric.nccl.topology.errors import TopologyError
from gpu_fabric.nccl.topology.model import Pci, Topology
from gpu_fabric.nccl.topology.paths import nearest_nics


def gpu_order(topology: Topology) -> tuple[str, ...]:
    """Bus ids of the GPUs by index: as NVML and `CUDA_DEVICE_ORDER=PCI_BUS_ID` number them, by bus id."""
    return tuple(sorted(pci.busid for pci in topology.gpus()))


def subset(topology: Topology, gpus: Sequence[int | str]) -> Topology:
    """The topology with these GPUs (indexes or bus ids) and, for each, the NICs nearest to it.

    CPUs and switches that hold none of them are left out. The name says which GPUs are left, so that the lint of the
    file expects no others. `TopologyError` for a GPU that the topology lacks.
    """
    order = gpu_order(topology)
    chosen = {_busid(gpu, order) for gpu in gpus}
    if not chosen:
        raise TopologyError("a subset needs at least one GPU.", remedy=f"The node has {_range(order)}.")
    nearest = nearest_nics(topology)
    kept = chosen.union(*(nearest[gpu] for gpu in chosen))
    cpus = (replace(cpu, pcis=_cut(cpu.pcis, kept)) for cpu in topology.cpus)
    name = topology.name
    if len(chosen) < len(order):
        indexes = ",".join(str(order.index(busid)) for busid in sorted(chosen))
        name = f"{name or 'node'}{_MARK}{indexes}"
    return replace(topology, name=name, cpus=tuple(cpu for cpu in cpus if cpu.pcis))


_MARK = ", only GPUs "


def gpus_of_subset(name: str | None) -> tuple[int, ...]:
    """The indexes that `subset` wrote into a topology's name; none where it is no subset's."""
    match = re.search(rf"{_MARK}(\d{{1,3}}(?:,\d{{1,3}})*)$", name or "")
    return tuple(int(index) for index in match[1].split(",")) if match else ()


def _busid(gpu: int | str, order: Sequence[str]) -> str:
    if isinstance(gpu, str):
        if gpu in order:
            return gpu
        raise TopologyError(f"no GPU has bus id {gpu!r}.", remedy=f"The node has {', '.join(order)}.")
    if 0 <= gpu < len(order):
        return order[gpu]
    raise TopologyError(f"there is no GPU {gpu}.", remedy=f"The node has {_range(order)}.")


def _range(order: Sequence[str]) -> str:
    return f"GPUs 0 to {len(order) - 1}" if order else "no GPU"


def _cut(pcis: Sequence[Pci], kept: Collection[str]) -> tuple[Pci, ...]:
    cut = (replace(pci, pcis=_cut(pci.pcis, kept)) for pci in pcis)
    return tuple(pci for pci in cut if pci.busid in kept or pci.pcis)
