"""The grammar of NCCL_ALGO and NCCL_PROTO, and which algorithms a value leaves.

Up to 2.23 a comma-separated list, `^` in front inverts it. Since 2.24 `list;function:list;…`, each list with its own
`^`, and an unknown word is an error at initialisation. Source: NCCL user guide, env.html.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpu_fabric.nccl.environment.situation import Situation
from gpu_fabric.nccl.hardware.models import Fabric
from gpu_fabric.nccl.text import without_prefix
from gpu_fabric.nccl.versions import Version, parse_version

PROTOCOLS: Final = ("ll", "ll128", "simple")
ALGORITHMS_SINCE: Final = {
    "ring": "2.5",
    "tree": "2.5",
    "collnetdirect": "2.14",
    "collnetchain": "2.14",
    "nvls": "2.17",
    "nvlstree": "2.18",
    "pat": "2.23",
}
FUNCTIONS: Final = (
    "broadcast",
    "reduce",
    "allgather",
    "reducescatter",
    "allreduce",
    "sendrecv",
    "send",
    "recv",
    "alltoall",
    "gather",
    "scatter",
    "allgatherv",
)
SERVES: Final[Mapping[str, tuple[str, ...]]] = {
    "AllReduce": ("ring", "tree", "collnetdirect", "collnetchain", "nvls", "nvlstree"),
    "AllGather": ("ring", "collnetdirect", "nvls", "pat"),
    "ReduceScatter": ("ring", "collnetdirect", "nvls", "pat"),
    "Broadcast": ("ring",),
    "Reduce": ("ring",),
}
"""Which algorithms NCCL has for each collective. Source: NVIDIA/nccl src/graph/tuning.cc 2.30.7."""

SPELLED: Final[Mapping[str, str]] = {
    "ring": "Ring",
    "tree": "Tree",
    "collnetdirect": "CollNetDirect",
    "collnetchain": "CollNetChain",
    "nvls": "NVLS",
    "nvlstree": "NVLSTree",
    "pat": "PAT",
}
_NEW_GRAMMAR: Final = Version(2, 24)


@dataclass(frozen=True)
class Selection:
    """What a value selects for one function; `function` None is every function not named elsewhere."""

    function: str | None
    words: tuple[str, ...]
    inverted: bool


@dataclass(frozen=True)
class Parsed:
    selections: tuple[Selection, ...]
    problem: str | None = None
    """Why NCCL refuses the value."""

    def leaves(self, function: str, word: str) -> bool:
        """Whether a collective keeps an algorithm or protocol; of several lists that name it the last one counts."""
        lists = [entry for entry in self.selections if entry.function in (None, function.lower())]
        return not lists or (word in lists[-1].words) != lists[-1].inverted

    def names(self, word: str) -> bool:
        """Whether a word is asked for by name."""
        return any(word in selection.words and not selection.inverted for selection in self.selections)


def parse_selection(value: str, known: tuple[str, ...], nccl: Version | None) -> Parsed:
    """Read a value of NCCL_ALGO or NCCL_PROTO, whose words are `known`."""
    selections: list[Selection] = []
    problem = None
    newer = nccl is None or nccl >= _NEW_GRAMMAR
    sections = value.split(";") if newer else [value]
    for index, section in enumerate(sections):
        function, colon, listed = section.partition(":")
        if not colon:
            function, listed = "", section
            if index > 0:
                problem = problem or (
                    f"{section.strip()!r} has no function before it; only the first list may stand without one"
                )
        elif not newer:
            problem = f"{section!r}: functions are known since 2.24"
        elif function.lower() not in FUNCTIONS:
            problem = problem or f"{function!r} is no collective"
        inverted = listed.startswith("^")
        # NCCL reads the words with strtok, which skips empty ones.
        words = tuple(word.lower() for word in without_prefix(listed, "^").split(",") if word)
        for word in words:
            if word not in known:
                problem = problem or f"{word!r} is none of {', '.join(known)}"
        selections.append(Selection(function.lower() or None, words, inverted))
    return Parsed(tuple(selections), problem)


def known_algorithms(nccl: Version | None) -> tuple[str, ...]:
    """The algorithms that a release has."""
    return tuple(
        name for name, since in ALGORITHMS_SINCE.items() if nccl is None or nccl >= parse_version(since)
    )


@dataclass(frozen=True)
class Effect:
    """What a value of NCCL_ALGO takes from each collective, among the algorithms that could run on the platform."""

    left: Mapping[str, tuple[str, ...]]
    """Collective → algorithms that it keeps."""
    lost: Mapping[str, tuple[str, ...]]
    """Collective → algorithms that it had without the value; only collectives that lose some."""

    @property
    def stranded(self) -> tuple[str, ...]:
        """Collectives that keep none: since 2.24 each of their calls fails."""
        return tuple(function for function, words in self.left.items() if not words)


def effect_of(value: str, situation: Situation) -> Effect | None:
    """What a value of NCCL_ALGO does; None where this NCCL refuses the value or does not know a word of it.

    NVLS and NVLSTree count where the GPUs have NVLink SHARP, or nothing is known of them; CollNet where the fabric can
    have SHARP in its switches, or nothing is known of it. Up to 2.23 only AllReduce can lose Ring
    (NVIDIA/nccl src/graph/tuning.cc 2.23.4: "Never disable ring for non-allreduce operations").
    """
    parsed = parse_selection(value, tuple(ALGORITHMS_SINCE), situation.nccl)
    if parsed.problem is not None:
        return None
    possible = {name for name in known_algorithms(situation.nccl) if _is_possible(name, situation)}
    newer = situation.nccl is None or situation.nccl >= _NEW_GRAMMAR
    left: dict[str, tuple[str, ...]] = {}
    lost: dict[str, tuple[str, ...]] = {}
    for function, serves in SERVES.items():
        had = tuple(word for word in serves if word in possible)
        keeps_ring = not newer and function != "AllReduce"
        left[function] = tuple(
            word for word in had if parsed.leaves(function, word) or (keeps_ring and word == "ring")
        )
        gone = tuple(word for word in had if word not in left[function])
        if gone:
            lost[function] = gone
    return Effect(left, lost)


def _is_possible(name: str, situation: Situation) -> bool:
    if name in ("nvls", "nvlstree"):
        return situation.nvlink_sharp is not False
    if name in ("collnetdirect", "collnetchain"):
        return situation.fabric in (None, Fabric.INFINIBAND)
    return True


def takes(lost: Mapping[str, tuple[str, ...]]) -> str:
    """`NVLS and NVLSTree from AllReduce; NVLS from AllGather and ReduceScatter`: what a value takes, from whom."""
    by_words: dict[tuple[str, ...], list[str]] = {}
    for function, words in lost.items():
        by_words.setdefault(words, []).append(function)
    return "; ".join(
        f"{listed([SPELLED[word] for word in words])} from {listed(functions)}"
        for words, functions in by_words.items()
    )


def listed(words: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
