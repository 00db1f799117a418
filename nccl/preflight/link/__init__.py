"""Prove the link to the other cloud from both of its ends: round trip, loss, path MTU each way, TCP throughput.

`serve` runs on a node of one cloud and `probe` on a node of the other, as any user, over one TCP and one UDP port.
The server answers only who knows its token, and sends only to the address that asked. Linux.

A path that swallows large packets without a word (a black hole) is told from one that says so: probes carry DF and
ignore what the kernel has learnt (IP_PMTUDISC_PROBE), and the socket's error queue says whether "fragmentation
needed" came back. Sources: RFC 4821; ip(7), IP_MTU_DISCOVER and IP_RECVERR.
"""

from gpu_fabric.nccl.preflight.link.datagrams import LARGEST, SMALLEST, search_mtu
from gpu_fabric.nccl.preflight.link.measure import Demand, LinkMeasure, PathMtu, percentile
from gpu_fabric.nccl.preflight.link.probe import probe
from gpu_fabric.nccl.preflight.link.server import serve
from gpu_fabric.nccl.preflight.link.verdict import check_link
from gpu_fabric.nccl.preflight.link.words import LONGEST, PORT, LinkError, RefusedError

__all__ = [
    "LARGEST",
    "LONGEST",
    "PORT",
    "SMALLEST",
    "Demand",
    "LinkError",
    "LinkMeasure",
    "PathMtu",
    "RefusedError",
    "check_link",
    "percentile",
    "probe",
    "search_mtu",
    "serve",
]
