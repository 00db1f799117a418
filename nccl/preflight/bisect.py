"""Find the nodes that slow a cluster down, in O(log n) rounds of runs on disjoint groups at the same time.

1. Each node alone: what fails here is inside the node (a GPU, NVLink, PCIe).
2. Pairs, all at once. Nodes of a pair that passes are good.
3. Each node of a pair that failed, with a good node: it fails again, so it is the culprit; or it passes, and the
   fault lies between the two that failed together.
4. Where no pair fails, halves: the smallest group that still fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

# Text, because Python 3.8 cannot evaluate it.
Group: TypeAlias = "tuple[str, ...]"
Round: TypeAlias = "Callable[[Sequence[Group]], Sequence[bool]]"
"""Runs disjoint groups at the same time; whether each passed."""


class Suspect(StrEnum):
    INSIDE = "inside the node: a GPU, NVLink, PCIe or the driver"
    NETWORK = "the node's way to the network: a network card, its cable or port, or its settings"
    LAUNCHER = "the launcher does not start there"
    BETWEEN = "between these nodes: a switch, a link, or their security groups"
    TOGETHER = (
        "only these nodes together: a link that all of them load, or the algorithm chosen for this many"
    )
    EVERYTHING = (
        "all of them alike: how the run is started, the settings, the image, or the fabric as a whole"
    )


@dataclass(frozen=True)
class Culprit:
    nodes: Group
    suspect: Suspect


@dataclass(frozen=True)
class Step:
    """One round: what it was for, and which group passed."""

    why: str
    groups: tuple[tuple[Group, bool], ...]


@dataclass
class Search:
    culprits: list[Culprit] = field(default_factory=list)
    rounds: list[Step] = field(default_factory=list)
    good: list[str] = field(default_factory=list)


def find_culprits(nodes: Sequence[str], run: Round, *, alone: bool = True) -> Search:
    """`nodes` failed together; who is it. `alone` tries each node by itself first (for nodes of several GPUs)."""
    search = Search()

    def play(why: str, groups: Sequence[Group]) -> list[bool]:
        results = list(run(groups))
        search.rounds.append(Step(why, tuple(zip(groups, results, strict=True))))
        return results

    rest = list(nodes)
    if alone:
        inside = [
            node
            for node, ok in zip(rest, play("each node alone", [(node,) for node in rest]), strict=True)
            if not ok
        ]
        if len(inside) == len(rest) > 1:
            search.culprits.append(Culprit(tuple(rest), Suspect.EVERYTHING))
            return search
        search.culprits += [Culprit((node,), Suspect.INSIDE) for node in inside]
        rest = [node for node in rest if node not in inside]
    if len(rest) < 2:
        search.good = rest
        return search
    failing = _pairs(search, rest, play)
    if failing is None:
        return search
    _against_good(search, failing, play)
    if not search.culprits:
        _halves(search, tuple(rest), play)
    return search


Play: TypeAlias = "Callable[[str, Sequence[Group]], list[bool]]"


def _pairs(search: Search, rest: list[str], play: Play) -> list[Group] | None:
    """Pairs that failed, and the odd one out; None where no pair at all passes, in several arrangements."""
    order = list(rest)
    # Each arrangement is a new chance that two good nodes meet. Three let all pairs of four nodes meet, and of an odd
    # number all neighbours around the circle, of which two are good wherever most nodes are.
    for attempt in range(1 if len(rest) < 3 else max(3, (len(rest) - 1).bit_length())):
        pairs = [(order[at], order[at + 1]) for at in range(0, len(order) - 1, 2)]
        results = play("pairs" if attempt == 0 else "other pairs, because none passed", pairs)
        good = [node for pair, ok in zip(pairs, results, strict=True) if ok for node in pair]
        if good:
            search.good += good
            failing: list[Group] = [pair for pair, ok in zip(pairs, results, strict=True) if not ok]
            if attempt:
                # What failed in an earlier arrangement says nothing now: each node is tried by itself.
                failing = [(node,) for pair in failing for node in pair]
            return [*failing, *([(order[-1],)] if len(order) % 2 else [])]
        # An odd number turns as a whole, so that each sits out once; else the first would be in every arrangement.
        order = [*order[1:], order[0]] if len(order) % 2 else [order[0], *order[2:], order[1]]
    search.culprits.append(Culprit(tuple(rest), Suspect.EVERYTHING if len(rest) > 2 else Suspect.BETWEEN))
    return None


def _against_good(search: Search, failing: list[Group], play: Play) -> None:
    waiting = [node for group in failing for node in group]
    bad: set[str] = set()
    while waiting:
        # A node that has proved good can stand against another in the next round.
        batch, waiting = waiting[: len(search.good)], waiting[len(search.good) :]
        pairs = list(zip(batch, search.good, strict=False))
        for (node, _), ok in zip(pairs, play("suspects, each with a good node", pairs), strict=True):
            if ok:
                search.good.append(node)
            else:
                bad.add(node)
    search.culprits += [
        Culprit((node,), Suspect.NETWORK) for group in failing for node in group if node in bad
    ]
    between = [group for group in failing if len(group) == 2 and not bad & set(group)]
    search.culprits += [Culprit(group, Suspect.BETWEEN) for group in between]


def _halves(search: Search, group: Group, play: Play) -> None:
    """The smallest part that fails by itself."""
    open_ = [group]
    while open_:
        wide = [part for part in open_ if len(part) > 2]
        halves = [(part[: len(part) // 2], part[len(part) // 2 :]) for part in wide]
        flat = [half for pair in halves for half in pair]
        results = dict(zip(flat, play("halves", flat), strict=True)) if flat else {}
        open_ = [part for part in open_ if len(part) <= 2]
        search.culprits += [Culprit(part, Suspect.TOGETHER) for part in open_]
        open_ = []
        for part, pair in zip(wide, halves, strict=True):
            bad = [half for half in pair if not results[half]]
            open_ += bad
            if not bad:
                search.culprits.append(Culprit(part, Suspect.TOGETHER))
