"""What is demanded of a link, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_fabric.nccl.preflight.link.datagrams import LARGEST


@dataclass(frozen=True)
class Demand:
    """What the stack file expects of the link."""

    rtt_ms: float = 5.0
    """Median round trip that is still fine."""
    mtu: int = 1400
    """What the routes to the other cloud promise."""
    bandwidth_mbps: float | None = None
    flows: int = 8
    loss: float = 0.001
    throughput_share: float = 0.8
    """Of `bandwidth_mbps`, that the planned flows together must reach."""


@dataclass
class PathMtu:
    """One direction."""

    largest: int | None
    """Largest IP packet that arrived; None where not even the smallest did."""
    route: int | None
    """What the sender's kernel believes it may send: the route's MTU; None where it does not say."""
    told: int | None
    """What "fragmentation needed" said, where any came back."""
    device: int | None = None
    """The sender's own interface takes no more than this."""

    @property
    def silent(self) -> bool:
        """Larger packets vanish, and nobody says so."""
        limit = self.device or LARGEST
        return self.largest is not None and self.largest < limit and self.told is None


@dataclass
class LinkMeasure:
    rtt_ms: list[float] = field(default_factory=list)
    sent: int = 0
    forward: PathMtu | None = None
    back: PathMtu | None = None
    mbps_up: float | None = None
    mbps_down: float | None = None
    mute_up: int = 0
    """Flows of which nothing is known: no connection, or no word of what arrived."""
    mute_down: int = 0
    stalled_up: bool = False
    stalled_down: bool = False

    @property
    def loss(self) -> float:
        return 1 - len(self.rtt_ms) / self.sent if self.sent else 1.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least that share of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
