"""Lists of nodes as launchers write them: plain lines, Open MPI's hostfile, Slurm's hostlist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

MOST_NODES: Final = 100_000
"""More than any cluster has: a longer list is a slip of the pen, and would fill the memory."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]*")
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_SETTING: Final = re.compile(r"[A-Za-z_-]+=\S*")


class NodeListError(ValueError):
    """The text is no list of nodes; the message says every reason and what to write."""


def nodes_of(text: str) -> list[str]:
    """Names in order, each once: a hostfile's lines (`host slots=8`, `#` comments) or Slurm's `n[1-4,7],m1`.

    Raises `NodeListError` with every line that is none.
    """
    found: list[str] = []
    wrong: list[str] = []
    lines = text.lstrip("\ufeff").splitlines()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        where = f"line {number}: " if len(lines) > 1 else ""
        if not all(_SETTING.fullmatch(word) for word in words[1:]):
            wrong.append(f"{where}{line.strip()!r}: one name a line, or several with commas between")
            continue
        try:
            found += expand(words[0]) if words else []
        except NodeListError as error:
            wrong.append(f"{where}{error}")
        if len(found) > MOST_NODES:
            wrong.append(f"more than {MOST_NODES:,} nodes")
            break
    if wrong:
        raise NodeListError("; ".join(wrong))
    # `host:8` of mpirun and MPICH; more colons are an IPv6 address.
    return list(dict.fromkeys(re.sub(r"^([^:]+):[0-9]+$", r"\1", name) for name in found))


def expand(text: str) -> list[str]:
    """`a[1-3,07],r[1-2]n[1-2]` → a1 a2 a3 a07 r1n1 r1n2 r2n1 r2n2, as `scontrol show hostnames` does.

    Raises `NodeListError`.
    """
    names: list[str] = []
    for entry in _entries(text):
        parts = [*_parts(entry)]
        count = 1
        for part in parts:
            count *= len(part)
        if len(names) + count > MOST_NODES:
            raise NodeListError(f"{entry!r}: more than {MOST_NODES:,} nodes")
        names += map("".join, product(*parts))
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    if wrong:
        raise NodeListError(f"{wrong[0]!r} is no name of a node")
    return names


def _entries(text: str) -> Iterator[str]:
    """The text between commas that stand outside of brackets."""
    for entry in re.split(r",(?![^\[\]]*\])", text):
        if entry:
            yield entry


def _parts(entry: str) -> Iterator[Sequence[str]]:
    """What each part of an entry may be: plain text, or the numbers in brackets."""
    for piece in re.split(r"(\[[^\[\]]*\])", entry):
        if piece.startswith("[") and piece.endswith("]"):
            yield [*_numbers(piece[1:-1], entry)]
        elif "[" in piece or "]" in piece:
            raise NodeListError(f"{entry!r}: a bracket is not closed")
        elif piece:
            yield [piece]


def _numbers(text: str, entry: str) -> Iterator[str]:
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece)
        if match is None:
            raise NodeListError(f"{entry!r}: {piece!r} is no number and no range such as 1-4")
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first):
            raise NodeListError(f"{entry!r}: the range {piece} runs backwards")
        if int(last) - int(first) >= MOST_NODES:
            raise NodeListError(f"{entry!r}: more than {MOST_NODES:,} nodes")
        yield from (f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1))
