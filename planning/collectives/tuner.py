"""Which algorithm and protocol AWS's NCCL tuner picks; None where it leaves the choice to NCCL.

Source: aws-ofi-nccl src/tuner/nccl_ofi_regions.cpp, as `data/tuner.toml`. The tuner stays out of groups of two
nodes and less, and of layouts that it has no regions for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from gpu_fabric.planning.collectives.definitions import Collective
from gpu_fabric.planning.collectives.platform import Platform
from gpu_fabric.planning.tables import read_toml

Picks = Sequence[Sequence[Any]]
"""(algorithm-protocol, ceiling in bytes) in order of size; the last ceiling is 0: none."""


@cache
def _table(efa: str | None, gpu: str) -> Mapping[str, Any] | None:
    rows = (row for row in read_toml("tuner.toml")["tuner"] if row["efa"] == efa and gpu in row["gpus"])
    return next(rows, None)


def _ceiling(picks: Picks, name: str) -> float | None:
    """The last ceiling of `name` in this row of picks."""
    ceilings = [ceiling for pick, ceiling in picks if pick == name]
    return None if not ceilings else (ceilings[-1] or math.inf)


def _scaled(ranks: float, low: int, at_low: float, high: int, at_high: float) -> float:
    """A straight line on a log-log scale through (low, at_low) and (high, at_high)."""
    slope = math.log(at_high / at_low) / math.log(high / low)
    return at_low * (ranks / low) ** slope


def _pick_between(size: float, ranks: int, rows: Mapping[int, Picks]) -> str:
    counts = sorted(rows)
    if ranks in rows:
        return next(pick for pick, ceiling in rows[ranks] if not ceiling or size <= ceiling)
    low, high = next(
        ((a, b) for a, b in pairwise(counts) if a < ranks < b),
        (counts[-2], counts[-1]) if ranks > counts[-1] else (counts[0], counts[1]),
    )
    nearest = low if ranks < math.sqrt(low * high) or ranks < counts[0] else high
    other = high if nearest == low else low
    for pick, ceiling in rows[nearest]:
        if not ceiling:
            return pick
        opposite = _ceiling(rows[other], pick)
        bound = ceiling
        if opposite is not None and math.isfinite(opposite) and ranks >= counts[0]:
            bound = _scaled(ranks, nearest, ceiling, other, opposite)
        if size <= bound:
            return pick
    raise AssertionError("the last ceiling of a row is 0")


def aws_choice(
    collective: Collective, size: float, platform: Platform, nodes: int, ranks_per_node: int
) -> str | None:
    """`ring-ll128` and the like, or None: NCCL's own choice holds."""
    table = _table(platform.efa, platform.gpu.name)
    if table is None or nodes <= 2 or ranks_per_node != platform.gpus or collective.value not in table:
        return None
    rows = {int(ranks): picks for ranks, picks in table[collective.value].items()}
    return _pick_between(size, nodes * ranks_per_node, rows)
