"""Which network a run really used, proved from NCCL's own log (NCCL_DEBUG=INFO), host by host.

Only what the log says counts: no line is no proof. Sources: NVIDIA/nccl src/transport/net.cc (`via NET/…`),
src/plugin/net.cc (`Using network …`); aws-ofi-nccl src/nccl_ofi_net.cpp (`Selected provider is …`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpu_fabric.nccl.hardware.models import Fabric
from gpu_fabric.nccl.preflight.log import split
from gpu_fabric.nccl.preflight.result import Result, counted, failed, passed, some, unknown

_VIA: Final = re.compile(r"via NET/(AWS Libfabric|[^/\s(]+)/\d+(?:\(\d+\))?(/GDRDMA)?")
"""Network, device, the rank that forwards in parentheses (PXN), GPUDirect RDMA."""
_USING: Final = re.compile(r"Using network (AWS Libfabric|\S+)")
_PROVIDER: Final = re.compile(r"NET/OFI Selected [Pp]rovider is (\S+?)(?:,| |$)")

#: Words of the log, without the plugin's version (IBext_v8) → the fabric that they stand for.
NETWORKS: Final[Mapping[str, Fabric]] = {
    "AWS Libfabric": Fabric.EFA,
    "Libfabric": Fabric.EFA,
    "OFI": Fabric.EFA,
    "IB": Fabric.INFINIBAND,
    "IBext": Fabric.INFINIBAND,
    "Socket": Fabric.SOCKETS,
}


@dataclass(frozen=True)
class Hint:
    """Words in a log of a run that failed, and what they mean."""

    words: str
    means: str
    do: str
    source: str


HINTS: Final = (
    Hint(
        r"More processors requested|There are not enough slots",
        "the launcher has fewer slots than the run has ranks",
        "Give the job whole nodes (sbatch --exclusive), or the hostfile slots=GPUs",
        "Slurm, sbatch(1); Open MPI, mpirun(1)",
    ),
    Hint(
        r"handshake failed|Error: 4126|unreachable remote|EHOSTUNREACH|Unable to insert remote address",
        "EFA packets do not reach the peer",
        "Let the security group's ingress and egress name the group itself, all protocols",
        "awsome-distributed-training#546; gardener-extension-provider-aws#1832; aws-ofi-nccl#663",
    ),
    Hint(
        r"Call to ibv_modify_qp failed|Got completion .*error 12|transport retry counter exceeded",
        "the InfiniBand peer does not answer",
        "Compare the partition keys of both nodes, then the port's error counters",
        "NVIDIA/nccl-tests#36",
    ),
    Hint(
        r"Call to connect .*(timed out|refused)|connect to .* failed|no route to host|No route to host",
        "the ranks' first connection does not reach the peer",
        "Check the chosen interface (NCCL_SOCKET_IFNAME) and the security group",
        "verl#726; NCCL#519",
    ),
    Hint(
        r"Driver/library version mismatch|system not yet initialized|CUDA failure 802",
        "the driver or fabricmanager is not ready on a node",
        "Restart nvidia-fabricmanager; its version must be the driver's",
        "azhpc-images#86, #334",
    ),
    Hint(
        r"Cannot allocate memory|ibv_reg_mr.* failed|ENOMEM",
        "memory cannot be registered",
        "Raise memlock to unlimited where the job is started",
        "awsome-distributed-training, health check",
    ),
    Hint(
        r"uncorrectable (NVLink|ECC)|Xid|CUDA error: (unspecified launch failure|an illegal)",
        "a GPU failed",
        "Run gpu-fabric-preflight node on the hosts of this run",
        "NVIDIA, XID Errors",
    ),
)


@dataclass(frozen=True)
class Connections:
    """Of one host over a fast fabric, by whether GPUDirect RDMA carries them."""

    gpudirect: int = 0
    copied: int = 0


@dataclass(frozen=True)
class Transport:
    """What the log says of each host."""

    networks: Mapping[str, Mapping[Fabric, int]]
    """Host → fabric → number of lines."""
    others: Mapping[str, str]
    """Host → a network that we do not know."""
    connections: Mapping[str, Connections]
    providers: Mapping[str, str]
    """Host → libfabric provider."""

    @property
    def hosts(self) -> list[str]:
        return sorted({*self.networks, *self.others, *self.providers})


def read_transport(log: str) -> Transport:
    networks: dict[str, Counter[Fabric]] = defaultdict(Counter)
    connections: dict[str, Counter[bool]] = defaultdict(Counter)
    providers: dict[str, str] = {}
    others: dict[str, str] = {}
    for message in split(log).messages:
        if found := _PROVIDER.search(message.text):
            # `efa;ofi_rxr` in old releases
            providers[message.host] = found[1].partition(";")[0]
        for found in (_VIA.search(message.text), _USING.search(message.text)):
            if found is None:
                continue
            fabric = NETWORKS.get(re.sub(r"(_v)?\d+$", "", found[1]))
            if fabric is None:
                others[message.host] = found[1]
                continue
            networks[message.host][fabric] += 1
            if found.re is _VIA and fabric is not Fabric.SOCKETS:
                connections[message.host][found[2] is not None] += 1
    return Transport(
        {host: dict(counts) for host, counts in networks.items()},
        others,
        {host: Connections(counts[True], counts[False]) for host, counts in connections.items()},
        providers,
    )


def hints(log: str) -> Iterator[Hint]:
    """What the log's words mean, each once."""
    return (hint for hint in HINTS if re.search(hint.words, log))


def check_transport(
    log: str,
    fabric: Fabric,
    hosts: Sequence[str] = (),
    *,
    gpudirect: bool | None = True,
    sockets_between: bool = False,
) -> Iterator[Result]:
    """Whether every host used the fabric and never sockets. `hosts` are those that took part, as the run names them.

    `sockets_between`: two clouds, where one communicator is meant to use sockets; each host also has a fast fabric,
    which is its own cloud's.
    """
    seen = read_transport(log)
    everyone = list(hosts) or seen.hosts
    how = "Run with NCCL_DEBUG=INFO and without NCCL_DEBUG_SUBSYS, and keep the log."
    fast = {Fabric.EFA, Fabric.INFINIBAND} if sockets_between else {fabric}
    used = {host: {*seen.networks.get(host, {})} for host in {*everyone, *seen.networks}}
    fallen = [
        host
        for host, found in sorted(used.items())
        if Fabric.SOCKETS in found - fast and not (sockets_between and found & fast)
    ]
    if fallen:
        remedy = "Start the job with gpu-fabric-entrypoint, which stops instead; `gpu-fabric-preflight node` says why."
        yield failed("fabric-used", f"NET/Socket on {some(fallen)}: NCCL fell back to TCP", remedy)
        return
    without = [host for host in everyone if not used[host] & fast]
    if not everyone or without:
        said = [f"{host} (NET/{seen.others[host]})" if host in seen.others else host for host in without]
        what = f"no line for {some(said)}" if everyone else "the log has no line of NCCL's"
        yield unknown("fabric-used", f"{what}: which network carried the traffic is not proved", how)
        return
    on_efa = [host for host in everyone if Fabric.EFA in used[host]]
    others = [
        f"{host}: {seen.providers[host]}" for host in on_efa if seen.providers.get(host, "efa") != "efa"
    ]
    if others:
        what = f"libfabric's provider is not efa ({some(others)})"
        yield failed("fabric-used", what, "Unset FI_PROVIDER; check fi_info -p efa.")
        return
    mute = [host for host in on_efa if host not in seen.providers]
    if mute:
        yield unknown("fabric-used", f"no line `Selected provider is efa` of {some(mute)}", how)
        return
    names = sorted({found.value for host in everyone for found in used[host] & fast})
    yield passed("fabric-used", f"{' and '.join(names)} on {counted(len(everyone), 'host')}")
    if gpudirect:
        yield _gpudirect({host: seen.connections.get(host, Connections()) for host in everyone}, how)


def _gpudirect(hosts: Mapping[str, Connections], how: str) -> Result:
    """Every connection of every host has it: one card that copies through host memory slows all ranks."""
    check = "gpudirect-used"
    copying = [
        host
        if not found.gpudirect
        else f"{host} ({found.copied} of {found.copied + found.gpudirect} connections)"
        for host, found in hosts.items()
        if found.copied
    ]
    if copying:
        remedy = "Load peer memory (nvidia_peermem, on EFA efa_nv_peermem); unset NCCL_NET_GDR_LEVEL."
        return failed(check, f"no /GDRDMA on {some(copying)}: copies through host memory", remedy)
    silent = [host for host, found in hosts.items() if not found.gpudirect]
    if silent:
        return unknown(check, f"no connection of {some(silent)} is in the log", how)
    return passed(check, f"GDRDMA on {counted(len(hosts), 'host')}")
