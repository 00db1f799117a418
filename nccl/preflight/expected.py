"""The bus bandwidth to expect of a size, a collective and a number of nodes: from the user, the table, or a planner."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

GIB: Final = 2**30

Planner: TypeAlias = "Callable[[str, str, int, int], float | None]"
"""(size, collective, nodes, bytes) → GB/s, or None."""


@dataclass(frozen=True)
class Expected:
    """GB/s, and where that comes from. Below `warn` it is worth a look, below `fail` something is broken."""

    busbw: float
    warn: float
    fail: float
    source: str


@cache
def _table() -> dict[str, Any]:
    text = files("gpu_fabric.nccl.preflight").joinpath("expected_busbw.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def measured() -> Mapping[tuple[str, str, int], Mapping[int, tuple[float, str]]]:
    """(size, collective, nodes) → bytes → (GB/s, source key)."""
    found: dict[tuple[str, str, int], dict[int, tuple[float, str]]] = {}
    for row in _table()["rows"]:
        size, collective, source = row["of"]
        for nodes, gib, busbw in row["values"]:
            found.setdefault((size, collective, nodes), {})[int(gib * GIB)] = (busbw, source)
    return found


@cache
def _predicted() -> Mapping[str, Any]:
    """What the planner predicted when the zipapp was made; empty elsewhere, where the planner itself is asked."""
    file = files("gpu_fabric.nccl.preflight").joinpath("predicted.json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def predicted(size: str, collective: str, nodes: int, bytes: int) -> float | None:
    """What the planner predicted, read with the care of the table: the lower of two neighbours; None outside."""
    known: Mapping[str, Mapping[str, float]] = _predicted().get(size, {}).get(collective, {})
    counts = sorted(map(int, known))
    below, above = (
        [count for count in counts if count <= nodes],
        [count for count in counts if count >= nodes],
    )
    if not below or not above:
        return None
    found = []
    for count in {below[-1], above[0]}:
        row = known[str(count)]
        sizes = [int(size) for size in row if int(size) <= bytes]
        found.append(row[str(max(sizes))] if sizes else None)
    usable = [value for value in found if value is not None]
    return min(usable) if len(usable) == len(found) else None


def thresholds() -> tuple[float, float]:
    """Shares of the expected value below which is warned and failed."""
    found = _table()["thresholds"]
    return found["warn"], found["fail"]


def expected(
    size: str,
    collective: str,
    nodes: int,
    bytes: int,
    *,
    given: float | None = None,
    warn: float | None = None,
    fail: float | None = None,
    planner: Planner | None = None,
) -> Expected | None:
    """`given` GB/s wins, then the table, then the planner; None where nobody knows.

    `warn` and `fail` are shares of the expected value. A size between two measured ones takes the lower's value,
    because bus bandwidth rises with the size; a number of nodes between two takes the smaller of both.
    """
    shares = thresholds()
    warn, fail = shares[0] if warn is None else warn, shares[1] if fail is None else fail

    def of(busbw: float, source: str) -> Expected:
        return Expected(busbw, busbw * warn, busbw * fail, source)

    if given is not None:
        return of(given, "given")
    found = _from_table(size, collective, nodes, bytes)
    if found is not None:
        return of(*found)
    for ask in (planner, predicted):
        guess = ask(size, collective, nodes, bytes) if ask is not None else None
        if guess is not None:
            return of(guess, "predicted by gpu_fabric.planning from published measurements")
    return None


def _from_table(size: str, collective: str, nodes: int, bytes: int) -> tuple[float, str] | None:
    name = _table()["same_as"].get(size, size)
    known = sorted(
        count for (row, kind, count) in measured() if (row, kind) == (name, collective) and count > 1
    )
    if nodes > 1:
        below = [count for count in known if count <= nodes]
        above = [count for count in known if count >= nodes]
        if not below or not above:
            return None
        counts = {below[-1], above[0]}
        # Two nodes alone reach more than their network cards carry, so they say nothing about more.
        if 2 in counts and nodes > 2:
            counts = {above[0]}
    else:
        counts = {1}
    found = [_at(measured().get((name, collective, count), {}), bytes) for count in counts]
    usable = [entry for entry in found if entry is not None]
    if len(usable) < len(counts):
        return None
    busbw, source = min(usable)
    note = "" if name == size else f", measured on {name}"
    return busbw, f"{_table()['sources'][source]}{note}"


def _at(row: Mapping[int, tuple[float, str]], bytes: int) -> tuple[float, str] | None:
    sizes = [size for size in row if size <= bytes]
    return row[max(sizes)] if sizes else None
