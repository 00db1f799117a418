"""The output of a run, taken apart again: launchers' labels off, NCCL's messages out of the lines of nccl-tests.

All ranks write to one stream, and NCCL writes into the middle of a line of nccl-tests, which prints the first columns
of a row before it measures and the others after. Sources: NVIDIA/nccl src/debug.cc 2.30.7 (`host:pid:tid [device] NCCL
INFO`, `host` cut at its first dot); nccl-tests src/util.cu (writeBenchmarkLinePreamble, writeBenchmarkLineBody).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Names have bounds (253 characters: RFC 1035), so that no line, however long, takes more than its length in time.
_DATE: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_LABEL: Final = re.compile(
    rf"""
      \s*\d+:\ ?(?!\d)                                                     # srun --label
    | \[\d+\]\ (?!NCCL)                                                    # Hydra and Intel MPI, -prepend-rank
    | \[pod/[^\]\s]+\]\ ?                                                   # kubectl logs --prefix
    | \[?{_DATE}\]?\s                                                        # kubectl logs --timestamps, ts
    | [A-Z][a-z]{{2}}\ [ \d]\d\ \d\d:\d\d:\d\d\ \S+\ \S+?(?:\[\d+\])?:\ ?      # syslog, journalctl
    | [a-z0-9][a-z0-9.]{{0,253}}-[a-z0-9.-]{{0,253}}(?:\ [a-z0-9-]{{1,63}})?\ (?:\|\ )?   # stern: POD [CONTAINER]
      (?=\#|\s*\d+\s+\d+\s+[a-z]|[-\s\d.e+/NA]*$|NCCL\ version|\S+?:\d+:\d+\ )
    """,
    re.VERBOSE,
)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_HEAD: Final = re.compile(
    r"([A-Za-z0-9_.-]{1,253}):\d+:\d+ (?:\[-?\d+\] )?(?:\S+ ){0,2}?NCCL (?:INFO|WARN|TRACE|CALL|ABORT)\b ?"
)
_ON_HOST: Final = re.compile(r"#\s{1,9}Rank\s+\d+.{0,253}? on\s+(\S.{0,253}?) device")


@dataclass(frozen=True)
class Piece:
    """Text that is not NCCL's."""

    text: str
    ended: bool
    """False where a message of NCCL's cuts the line short; the next piece goes on with it."""


@dataclass(frozen=True)
class Message:
    host: str
    text: str


@dataclass(frozen=True)
class Log:
    pieces: tuple[Piece, ...]
    messages: tuple[Message, ...]
    """NCCL's own, in their order."""


def split(text: str) -> Log:
    """Never raises for the content."""
    lines = [_unlabelled(line) for line in _by_rank(text.lstrip("\ufeff")).splitlines()]
    known = _hosts(lines)
    pieces: list[Piece] = []
    messages: list[Message] = []
    for line in lines:
        heads = [*_heads(line)]
        if not heads:
            pieces.append(Piece(line, ended=True))
            continue
        hosts = [_host(head[1], known) for head in heads]
        starts = [head.end(1) - len(host) for head, host in zip(heads, hosts, strict=True)]
        if line[: starts[0]].strip():
            pieces.append(Piece(line[: starts[0]], ended=False))
        ends = [*starts[1:], len(line)]
        messages += [
            Message(host, line[head.end() : end]) for head, host, end in zip(heads, hosts, ends, strict=True)
        ]
    return Log(tuple(pieces), tuple(messages))


_TAG: Final = re.compile(
    r"(\[[^\[\]\s@]{1,253}@\d+,\d+\](?:\[[^\[\]\s]{1,253}\])?(?:<std(?:out|err)>)?: |\[\d+,\d+\](?:<std(?:out|err)>)?:)"
)
"""Open MPI 4 (--tag-output): `[1,0]<stdout>:`; Open MPI 5 (--output tag): `[prterun-host-7@1,0]<stdout>: `."""


def _by_rank(text: str) -> str:
    """What each rank wrote, rank after rank: Open MPI puts a tag before each piece, also in the middle of a line."""
    before, *pieces = _TAG.split(text)
    streams: dict[str, list[str]] = {"": [before]}
    for tag, piece in zip(pieces[::2], pieces[1::2], strict=True):
        streams.setdefault(tag, []).append(piece)
    return "\n".join("".join(stream) for stream in streams.values())


def _unlabelled(line: str) -> str:
    line = _COLOUR.sub("", line)
    while match := _LABEL.match(line):
        line = line[match.end() :]
    return line


def _heads(line: str) -> Iterator[re.Match[str]]:
    return _HEAD.finditer(line) if " NCCL " in line else iter(())


def _hosts(lines: list[str]) -> frozenset[str]:
    """Names of hosts that stand free: where nccl-tests lists its ranks, else where several messages begin with them."""
    listed = {match[1] for line in lines if (match := _ON_HOST.search(line))}
    if listed:
        return frozenset(listed)
    begun = Counter(head[1] for line in lines for head in _heads(line) if head.start() == 0)
    return frozenset(host for host, count in begun.items() if count > 1)


def _host(word: str, known: frozenset[str]) -> str:
    """The host at the end of a word that may begin with the end of a number: `-1ip-10-0-0-1` is ip-10-0-0-1."""
    if word in known:
        return word
    return max((host for host in known if word.endswith(host)), key=len, default=word)
