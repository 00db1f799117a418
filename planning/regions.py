"""Latency between the clouds' regions: estimates from distance, until a preflight measures them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpu_fabric.planning.tables import read_toml


@dataclass(frozen=True)
class RegionPair:
    """Round-trip time in ms, as an estimated range."""

    aws: str
    azure: str
    low_ms: float
    high_ms: float

    @property
    def rtt_ms(self) -> float:
        """The end of the range that a plan should count with."""
        return self.high_ms

    @property
    def basis(self) -> str:
        return f"estimated from distance, {self.low_ms:g} to {self.high_ms:g} ms; not measured"


@cache
def region_pairs() -> tuple[RegionPair, ...]:
    rows = read_toml("region_pairs.toml")["pair"]
    return tuple(RegionPair(row["aws"], row["azure"], *row["rtt_ms"]) for row in rows)


def region_pair(aws: str | None, azure: str | None) -> RegionPair | None:
    """The estimate for two regions; None when the table lacks them."""
    return next((pair for pair in region_pairs() if (pair.aws, pair.azure) == (aws, azure)), None)


def closest_partner(aws: str | None) -> RegionPair | None:
    """The Azure region with the lowest estimated latency to an AWS region."""
    near = [pair for pair in region_pairs() if pair.aws == aws]
    return min(near, key=lambda pair: pair.rtt_ms, default=None)
