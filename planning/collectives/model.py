"""Time and bus bandwidth of a collective, from its algorithm, its protocol and the hardware's limits.

A ring passes every chunk over each link once a loop (twice for an all-reduce): a loop costs its hops' latency plus
the bytes at the rate at which chunks leave, and never less than the bytes at the rate that the ring sustains. A tree
pays two hops a level. All-to-all pays one message a rank, and the bytes that leave the node at the NIC's rate. Which
of them runs is AWS's tuner's choice where it makes one, otherwise the fastest by this model, as NCCL does by its own.

Sources of the structure: NVIDIA/nccl src/graph/tuning.cc; aws-ofi-nccl src/tuner/nccl_ofi_model.cpp. The constants
and their basis: `constants.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpu_fabric.planning.collectives.constants import Constants, NvLink, Transport, load_constants
from gpu_fabric.planning.collectives.definitions import Collective, busbw_factor
from gpu_fabric.planning.collectives.platform import Platform
from gpu_fabric.planning.collectives.tuner import aws_choice

US = 1e-6
GB = 1e9


@dataclass(frozen=True)
class Group:
    """The ranks of one communicator: `ranks_per_node` GPUs on each of `nodes` equal nodes.

    A group with fewer ranks than the node has GPUs gets its share of the NICs: its sisters use the rest.
    """

    platform: Platform
    nodes: int
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    @property
    def line_gbs(self) -> float:
        """10^9 byte/s a direction that the group may use of each node's network."""
        return self.platform.node_gbs * self.ranks_per_node / self.platform.gpus


@dataclass(frozen=True)
class Prediction:
    """One collective of one size. Times in seconds, bandwidths in 10^9 byte/s."""

    collective: Collective
    size: float
    group: Group
    seconds: float
    algorithm: str
    limit: str
    """What holds the bandwidth down, in words."""
    above_line: str = ""
    """Why busbw may exceed the network's line rate; empty where it may not."""

    @property
    def algbw_gbs(self) -> float:
        return self.size / self.seconds / GB if self.seconds else math.inf

    @property
    def busbw_gbs(self) -> float:
        return self.algbw_gbs * busbw_factor(self.collective, self.group.ranks)


@dataclass(frozen=True)
class _Cost:
    seconds: float
    limit: str
    above_line: str = ""


def _network_rate(group: Group, transport: Transport, share: float) -> float:
    """10^9 byte/s of the group's network at `share` of line rate, within what its NICs carry."""
    rate = share * group.line_gbs
    if transport.nic_cap_gbs is not None:
        rate = min(
            rate, transport.nic_cap_gbs * group.platform.nics * group.ranks_per_node / group.platform.gpus
        )
    return rate


def _nvlink_gbs(group: Group, nvlink: NvLink) -> float:
    return nvlink.ring_share * group.platform.gpu.nvlink_gbs or nvlink.pcie_gbs


def _ring(collective: Collective, size: float, group: Group, c: Constants, protocol: str) -> _Cost:
    transport = c.transport[group.platform.transport]
    nvlink = c.nvlink_of(group.platform.gpu)
    loops = 2 if collective is Collective.ALL_REDUCE else 1
    moved = size * (group.ranks - 1) / group.ranks
    hop = c.protocol.nvlink_hop_us[protocol]
    inside = (nvlink.ring_hop_us if protocol == "simple" else hop) if group.nodes == 1 else hop
    wire = {"ll": c.protocol.ll_share, "ll128": c.protocol.ll128_share, "simple": 1.0}[protocol]
    local = wire * _nvlink_gbs(group, nvlink) if group.ranks_per_node > 1 else math.inf
    if group.nodes == 1:
        latency = (group.ranks - 1) * inside
        return _Cost(
            c.protocol.launch_us * US + loops * (latency * US + moved / (local * GB)),
            "NVLink" if group.platform.gpu.nvlink_gbs else "PCIe",
        )
    if protocol != "simple":
        net_hop = transport.net_hop_ll128_us
    else:
        net_hop = transport.net_hop_simple_us if loops == 2 else transport.net_hop_simple_gather_us
    latency = group.nodes * net_hop + (group.ranks - group.nodes) * inside
    if protocol == "simple":
        leaving, cap = transport.ring_simple_share, transport.ring_simple_cap
    else:
        leaving = wire * (transport.ring_simple_cap if transport.nic_cap_gbs else 1.0)
        cap = min(leaving, transport.ring_ll128_reduce_cap) if loops == 2 else leaving
    leaving_rate = min(local, _network_rate(group, transport, leaving))
    cap_rate = min(local, _network_rate(group, transport, cap))
    loop = max(latency * US + moved / (leaving_rate * GB), moved / (cap_rate * GB))
    bound = "NVLink ring" if cap_rate == local else "network line rate"
    latency_bound = latency * US > loop / 2
    return _Cost(
        c.protocol.launch_us * US + loops * loop,
        f"latency of {group.nodes} network hops" if latency_bound else bound,
    )


def _two_node_factor(group: Group) -> float:
    """A tree over two nodes sends each byte once a direction; the busbw definition counts 2 (n-1)/n."""
    return 2 * (group.ranks - 1) / group.ranks if group.nodes == 2 else 1.0


TWO_NODE_REASON = "over two nodes a tree sends each byte once, and busbw counts it 2 (n-1)/n times"
NVLS_REASON = "the NVLink switch reduces: each GPU sends its buffer once, and busbw counts it 2 (n-1)/n times"


def _tree(collective: Collective, size: float, group: Group, c: Constants, protocol: str) -> _Cost:
    transport = c.transport[group.platform.transport]
    nvlink = c.nvlink_of(group.platform.gpu)
    levels = math.log2(group.nodes) if group.nodes > 1 else 0.0
    share, net_hop = {
        "ll": (
            transport.tree_ll128_share * c.protocol.ll_share / c.protocol.ll128_share,
            transport.net_hop_ll128_us,
        ),
        "ll128": (transport.tree_ll128_share, transport.net_hop_ll128_us),
        "simple": (transport.tree_simple_share, transport.net_hop_simple_us),
    }[protocol]
    hops = 2 * (group.ranks_per_node - 1) * c.protocol.nvlink_hop_us[protocol]
    rate = _network_rate(group, transport, share) * _two_node_factor(group)
    if group.ranks_per_node > 1:
        rate = min(rate, _nvlink_gbs(group, nvlink))
    moved = 2 * size * (group.ranks - 1) / group.ranks
    seconds = (c.protocol.launch_us + 2 * levels * net_hop + hops) * US + moved / (rate * GB)
    return _Cost(seconds, "network line rate", TWO_NODE_REASON if group.nodes == 2 else "")


def _nvls_gbs(group: Group, nvlink: NvLink) -> float:
    """busbw of NVLink SHARP; between 4 GPUs (no gain over a ring) and 8 it grows with the GPUs (ST-net)."""
    gpu = group.platform.gpu
    gain = min(1.0, max(0.0, (group.ranks_per_node - 4) / 4))
    return gpu.nvlink_gbs * (nvlink.ring_share + (nvlink.nvls_cap - nvlink.ring_share) * gain)


def _nvls(collective: Collective, size: float, group: Group, c: Constants, protocol: str) -> _Cost:
    nvlink = c.nvlink_of(group.platform.gpu)
    moved = 2 * size * (group.ranks - 1) / group.ranks
    seconds = nvlink.nvls_us * US + moved / (_nvls_gbs(group, nvlink) * GB)
    return _Cost(seconds, "NVLink switch", NVLS_REASON)


def _nvls_tree(collective: Collective, size: float, group: Group, c: Constants, protocol: str) -> _Cost:
    transport = c.transport[group.platform.transport]
    nvlink = c.nvlink_of(group.platform.gpu)
    network = _network_rate(group, transport, transport.tree_simple_share) * _two_node_factor(group)
    local = _nvls_gbs(group, nvlink)
    moved = 2 * size * (group.ranks - 1) / group.ranks
    latency = nvlink.nvls_us + 2 * math.log2(group.nodes) * transport.net_hop_simple_us
    return _Cost(
        latency * US + moved / (min(network, local) * GB),
        "NVLink switch" if local < network else "network line rate",
        TWO_NODE_REASON if group.nodes == 2 else "",
    )


SMALL_INSIDE_NODE = 4 << 20
"""Bytes up to which NCCL's low-latency protocols are tried inside a node."""
MINIMUM_NVLS_RANKS = 4
"""Fewer GPUs gain nothing from NVLink SHARP (ST-net: 363 GB/s with 4 H200, a ring's rate)."""

_Cost_of = Callable[[Collective, float, Group, Constants, str], _Cost]
_ALGORITHMS: Mapping[str, _Cost_of] = {"ring": _ring, "tree": _tree, "nvls": _nvls, "nvlstree": _nvls_tree}


def _candidates(collective: Collective, size: float, group: Group, c: Constants) -> tuple[str, ...]:
    """What NCCL would consider, as `algorithm-protocol`."""
    gpu = group.platform.gpu
    if collective is not Collective.ALL_REDUCE:
        if group.nodes > 1 and c.transport[group.platform.transport].nic_cap_gbs is not None:
            return ("ring-ll", "ring-simple")
        if group.nodes > 1:
            chunk = size / group.ranks
            return (
                ("ring-simple",)
                if chunk >= c.protocol.gather_simple_from_bytes
                else ("ring-ll", "ring-ll128")
            )
        return ("ring-ll", "ring-ll128", "ring-simple")
    if group.nodes == 1:
        # LL128 over NVLink is for small messages: above, its flags cost more than they save.
        small = ("ring-ll", "ring-ll128") if size <= SMALL_INSIDE_NODE else ()
        return (
            *small,
            "nvls-simple" if gpu.nvls and group.ranks_per_node >= MINIMUM_NVLS_RANKS else "ring-simple",
        )
    if c.transport[group.platform.transport].nic_cap_gbs is not None:
        return ("ring-ll", "ring-simple")  # NCCL needs GPUDirect for LL128 between nodes
    tree = "nvlstree-simple" if gpu.nvls and group.ranks_per_node >= MINIMUM_NVLS_RANKS else "tree-simple"
    return ("tree-ll", "tree-ll128", tree, "ring-ll128", "ring-simple")


def _cost(name: str, collective: Collective, size: float, group: Group, c: Constants) -> _Cost:
    algorithm, protocol = name.split("-")
    return _ALGORITHMS[algorithm](collective, size, group, c, protocol)


def _all_to_all(size: float, group: Group, c: Constants) -> _Cost:
    transport = c.transport[group.platform.transport]
    nvlink = c.nvlink_of(group.platform.gpu)
    per_rank = size / group.ranks
    local = per_rank * (group.ranks_per_node - 1) / (_nvlink_gbs(group, nvlink) * GB)
    if group.nodes == 1:
        return _Cost(c.protocol.launch_us * US + local, "NVLink")
    rail = _network_rate(group, transport, transport.alltoall_share) / group.ranks_per_node
    remote = per_rank * (group.ranks - group.ranks_per_node) / (rail * GB)
    messages = (transport.alltoall_us + transport.alltoall_rank_us * group.ranks) * US
    return _Cost(
        messages + max(local, remote),
        "NICs of a node" if remote >= local else "NVLink",
        "the part that stays inside a node does not use the network" if group.nodes > 1 else "",
    )


def _send_receive(size: float, group: Group, c: Constants) -> _Cost:
    transport = c.transport[group.platform.transport]
    nvlink = c.nvlink_of(group.platform.gpu)
    if group.nodes == 1:
        return _Cost(c.protocol.launch_us * US + size / (_nvlink_gbs(group, nvlink) * GB), "NVLink")
    rail = _network_rate(group, transport, transport.ring_simple_cap) / group.ranks_per_node
    hop = min(transport.net_hop_ll128_us, transport.net_hop_simple_us)
    return _Cost((c.protocol.launch_us + hop) * US + size / (rail * GB), "NIC of a GPU")


def predict(
    collective: Collective,
    size: float,
    group: Group,
    *,
    algorithm: str | None = None,
    constants: Constants | None = None,
) -> Prediction:
    """Time of one collective of `size` bytes (nccl-tests' size of that collective).

    `algorithm` forces a choice such as `ring-simple`; otherwise the tuner's, else the fastest. One rank costs nothing.
    """
    c = constants or load_constants()
    if group.ranks < 2 or size <= 0:
        return Prediction(collective, size, group, 0.0, "none", "nothing to move")
    if collective is Collective.ALL_TO_ALL:
        name, cost = "pairwise", _all_to_all(size, group, c)
    elif collective is Collective.SEND_RECEIVE:
        name, cost = "pairwise", _send_receive(size, group, c)
    else:
        name = algorithm or aws_choice(collective, size, group.platform, group.nodes, group.ranks_per_node)
        if name is None:
            costs = {
                option: _cost(option, collective, size, group, c)
                for option in _candidates(collective, size, group, c)
            }
            name = min(costs, key=lambda option: costs[option].seconds)
            cost = costs[name]
        else:
            cost = _cost(name, collective, size, group, c)
    return Prediction(collective, size, group, cost.seconds, name, cost.limit, cost.above_line)


def with_transport(constants: Constants, name: str, **changes: float) -> Constants:
    """Constants with some values of one transport replaced: for fitting, and for a user's own measurements."""
    changed = replace(constants.transport[name], **changes)
    return replace(constants, transport={**constants.transport, name: changed})


def with_nvlink(constants: Constants, name: str, **changes: float) -> Constants:
    """Constants with some values of one NVLink generation replaced."""
    return replace(constants, nvlink={**constants.nvlink, name: replace(constants.nvlink[name], **changes)})
