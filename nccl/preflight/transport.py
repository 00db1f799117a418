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
from gpu_fabric.nccl.preflight.result import Result, failed, passed, unknown

_INFO: Final = re.compile(r"(\S+?):\d+:\d+ \[\d+\] NCCL (?:INFO|WARN) (.*)")
_VIA: Final = re.compile(r"via NET/(AWS Libfabric|Libfabric|[A-Za-z]+)[^/]*/\d+(/GDRDMA)?")
_USING: Final = re.compile(r"Using network (AWS Libfabric|Libfabric|\S+)")
_PROVIDER: Final = re.compile(r"NET/OFI Selected [Pp]rovider is (\S+?)(?:,| |$)")

#: Words of the log → the fabric that they stand for.
NETWORKS: Final[Mapping[str, Fabric]] = {
    "AWS Libfabric": Fabric.EFA,
    "Libfabric": Fabric.EFA,
    "OFI": Fabric.EFA,
    "IB": Fabric.INFINIBAND,
    "IBext": Fabric.INFINIBAND,
    "IBext_v": Fabric.INFINIBAND,
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
        r"Unable to create step|More processors requested|not enough slots|There are not enough slots",
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
class Transport:
    """What the log says of each host: network → number of lines, and lines with GPUDirect RDMA."""

    networks: Mapping[str, Mapping[Fabric, int]]
    gpudirect: Mapping[str, int]
    providers: Mapping[str, str]
    """Host → libfabric provider."""

    @property
    def hosts(self) -> list[str]:
        return sorted({*self.networks, *self.providers})


def read_transport(log: str) -> Transport:
    networks: dict[str, Counter[Fabric]] = defaultdict(Counter)
    gpudirect: Counter[str] = Counter()
    providers: dict[str, str] = {}
    for line in log.splitlines():
        match = _INFO.search(line)
        if match is None:
            continue
        host, text = match.groups()
        if found := _PROVIDER.search(text):
            # `efa;ofi_rxr` in old releases
            providers[host] = found[1].partition(";")[0]
        for found in (_VIA.search(text), _USING.search(text)):
            if found is None:
                continue
            name = re.sub(r"\d+$", "", found[1])
            fabric = NETWORKS.get(name)
            if fabric is not None:
                networks[host][fabric] += 1
            if found.re is _VIA and found[2]:
                gpudirect[host] += 1
    return Transport({host: dict(counts) for host, counts in networks.items()}, dict(gpudirect), providers)


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

    `sockets_between`: two clouds, where one communicator is meant to use sockets.
    """
    seen = read_transport(log)
    everyone = list(hosts) or seen.hosts
    how = "Run with NCCL_DEBUG=INFO and without NCCL_DEBUG_SUBSYS, and keep the log."
    sockets = [host for host, counts in seen.networks.items() if Fabric.SOCKETS in counts]
    if fabric is not Fabric.SOCKETS and sockets and not sockets_between:
        yield failed(
            "fabric-used",
            f"NET/Socket on {', '.join(sorted(sockets))}: NCCL fell back to TCP",
            "Start the job with gpu-fabric-entrypoint, which stops instead; `gpu-fabric-preflight node` says why.",
        )
        return
    without = [host for host in everyone if fabric not in seen.networks.get(host, {})]
    if not everyone or without:
        what = f"no line for {', '.join(without)}" if everyone else "the log has no line of NCCL's"
        yield unknown("fabric-used", f"{what}: which network carried the traffic is not proved", how)
        return
    if fabric is Fabric.EFA:
        others = {host: provider for host, provider in seen.providers.items() if provider != "efa"}
        if others:
            what = ", ".join(f"{host}: {provider}" for host, provider in sorted(others.items()))
            yield failed(
                "fabric-used",
                f"libfabric's provider is not efa ({what})",
                "Unset FI_PROVIDER; check fi_info -p efa.",
            )
            return
        if not seen.providers:
            yield unknown("fabric-used", "no line `Selected provider is efa`", how)
            return
    yield passed("fabric-used", f"{fabric.value} on {len(everyone)} hosts")
    if gpudirect:
        missing = [host for host in everyone if not seen.gpudirect.get(host)]
        if missing:
            remedy = "Load peer memory (nvidia_peermem, on EFA efa_nv_peermem); unset NCCL_NET_GDR_LEVEL."
            yield failed(
                "gpudirect-used", f"no /GDRDMA on {', '.join(missing)}: copies through host memory", remedy
            )
        else:
            yield passed("gpudirect-used", f"GDRDMA on {len(everyone)} hosts")
