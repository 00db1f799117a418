"""The constants of the collectives model, with the basis of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpu_fabric.planning.gpus import GpuModel
from gpu_fabric.planning.tables import read_toml, with_inheritance


@dataclass(frozen=True)
class Transport:
    """How a network between nodes behaves under NCCL. Latencies in µs; shares are of the group's line rate."""

    net_hop_ll128_us: float
    """One hop between nodes with a low-latency protocol, all channels busy."""
    net_hop_simple_us: float
    """The same with Simple, in a collective that reduces."""
    net_hop_simple_gather_us: float
    """The same in an all-gather or reduce-scatter ring, which fills and drains once for each."""
    ring_simple_share: float
    """Rate at which a ring step's chunk leaves, once started."""
    ring_simple_cap: float
    """What a ring sustains at most."""
    ring_ll128_reduce_cap: float
    """What a reducing ring sustains with LL128."""
    tree_ll128_share: float
    tree_simple_share: float
    """NVLS tree, and the plain tree of GPUs without NVLink SHARP."""
    alltoall_share: float
    alltoall_us: float
    alltoall_rank_us: float
    """Per rank of the group: one message each."""
    basis: str
    nic_cap_gbs: float | None = None
    """10^9 byte/s that one NIC carries at most, whatever its rate."""


@dataclass(frozen=True)
class NvLink:
    """How GPUs of one node behave under NCCL. Shares are of one GPU's rate, one direction."""

    nvls_us: float
    nvls_cap: float
    """busbw of an 8-GPU all-reduce by NVLink SHARP; above 1 because the switch reduces."""
    ring_share: float
    ring_hop_us: float
    basis: str
    pcie_gbs: float = 0.0


@dataclass(frozen=True)
class Protocol:
    """What the vendors state about NCCL's protocols."""

    ll_share: float
    ll128_share: float
    nvlink_hop_us: Mapping[str, float]
    launch_us: float
    gather_simple_from_bytes: int
    source: str


@dataclass(frozen=True)
class Constants:
    protocol: Protocol
    transport: Mapping[str, Transport]
    nvlink: Mapping[str, NvLink]

    def nvlink_of(self, gpu: GpuModel) -> NvLink:
        return self.nvlink[gpu.name if gpu.nvlink_gbs else "none"]


@cache
def load_constants() -> Constants:
    """`data/collective_constants.toml`, inheritance resolved."""
    document = read_toml("collective_constants.toml")
    return Constants(
        protocol=Protocol(**document["protocol"]),
        transport={
            name: Transport(**with_inheritance(document["transport"], name)) for name in document["transport"]
        },
        nvlink={name: NvLink(**with_inheritance(document["nvlink"], name)) for name in document["nvlink"]},
    )
