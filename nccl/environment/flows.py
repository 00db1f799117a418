"""How many TCP flows one connection of NCCL has across a private link: a function of the link's bandwidth alone.

Enough that the link is full where each flow carries what it is counted on to carry, and no more: a small link has few
packets in flight (50 Mb/s over 2 ms: 9), and flows beyond these only queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

FLOW_LIMIT_GBPS: Final = 5.0
"""Of one flow that leaves a cluster placement group on AWS. EC2 User Guide, ec2-instance-network-bandwidth.html."""

SEGMENT_BYTES: Final = 1360
"""Payload of a packet of 1400 bytes, which is what ExpressRoute carries whole."""

LOSS: Final = 1e-5
RTT_MS: Final = 5.0
"""What a flow is counted at: one packet in 100 000 lost, over the longest link that `rttLimitMs` lets pass unasked.
Assumptions of this library, on the careful side: no loss rate of such a link is published."""

SPREAD: Final = 2
"""Flows are put on the paths of a link by a hash and NCCL waits for the slowest, so twice as many are opened."""

FEWEST: Final = 2
"""One for each of two circuits' ports."""

MOST_FLOWS: Final = 64
MOST_THREADS: Final = 16
"""NCCL_SOCKET_NTHREADS × NCCL_NSOCKS_PERTHREAD, and the first alone (MAX_SOCKETS, MAX_THREADS). NVIDIA/nccl
src/transport/net_socket.cc 2.30.7."""

SOCKETS_PER_THREAD: Final = 8
"""What NCCL chooses itself for AWS's network card. The same file."""

LARGEST_MBPS: Final = 10_000
"""The most that a circuit through a provider carries: counted with where nobody says the bandwidth. azure docs,
expressroute/expressroute-faqs.md."""


def mathis_gbps(rtt_ms: float, loss: float, segment_bytes: int = SEGMENT_BYTES) -> float:
    """What one flow carries at this loss: MSS/RTT * 1.22 / sqrt(loss). Mathis and others, ACM CCR 27(3), 1997."""
    return 8 * segment_bytes / (rtt_ms * 1e-3) * 1.22 / math.sqrt(loss) / 1e9


@dataclass(frozen=True)
class Flows:
    """The two settings of one connection, equal on both sides: the receiver's win."""

    threads: int
    """NCCL_SOCKET_NTHREADS."""
    sockets: int
    """NCCL_NSOCKS_PERTHREAD."""

    @property
    def total(self) -> int:
        """TCP flows."""
        return self.threads * self.sockets


def flows_needed(link_mbps: float) -> int:
    """TCP flows that fill a link where nothing is lost and each has a path of its own; at least one."""
    return max(1, math.ceil(link_mbps / 1000 / FLOW_LIMIT_GBPS))


def flows_of(link_mbps: float) -> Flows:
    """The settings for a link of so many 10^6 bit/s.

    The number is a power of two, so that threads and NCCL's chunks divide evenly over the sockets. Raises ValueError
    for a bandwidth that is not above 0 or has no end.
    """
    if not 0 < link_mbps < math.inf:
        raise ValueError(f"a link of {link_mbps:g} Mb/s cannot be")
    counted = min(FLOW_LIMIT_GBPS, mathis_gbps(RTT_MS, LOSS))
    wanted = SPREAD * math.ceil(link_mbps / 1000 / counted)
    total = min(MOST_FLOWS, max(FEWEST, 2 ** math.ceil(math.log2(wanted))))
    sockets = min(total, SOCKETS_PER_THREAD)
    return Flows(total // sockets, sockets)
