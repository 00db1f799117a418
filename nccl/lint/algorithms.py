"""The grammar of NCCL_ALGO and NCCL_PROTO, and which algorithms a value leaves.

Up to 2.23 a comma-separated list, `^` in front inverts it. Since 2.24 `list;function:list;…`, each list with its own
`^`, and an unknown word is an error at initialisation. Source: NCCL user guide, env.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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

    def leaves_out(self, word: str) -> bool:
        """Whether the selection for every function (or for allreduce) excludes an algorithm or protocol."""
        return any(
            (word in selection.words) == selection.inverted
            for selection in self.selections
            if selection.function in (None, "allreduce")
        )

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
        words = tuple(word.lower() for word in listed.removeprefix("^").split(","))
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
