"""What differs between two packed start-up scripts (user data, custom data), line by line."""

from __future__ import annotations

import json
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import zip_longest

from pulumi.runtime.rpc import UNKNOWN

from gpu_fabric.policy.user_data import UnreadableError, parts
from gpu_fabric.pull_request.hidden import SECRET, names_a_secret, shown_lines
from gpu_fabric.pull_request.markdown import code, inline

_LONGEST_LINE = 100
#: Characters that are shown before the first one that differs.
_LINE_BEFORE = 32


def changed_lines(old: str, new: str) -> list[str]:
    """The lines that differ inside two start-up scripts, without their secrets; nothing where one cannot be unpacked
    or is not known yet."""
    if UNKNOWN in (old, new):
        return []
    try:
        before, after = (
            [(part.path, *line) for part in parts(raw) for line in _lines_of(part.path, part.text)]
            for raw in (old, new)
        )
    except UnreadableError:
        return []
    said = []
    # Compared with their secrets, so that a changed one is a change.
    for kind, at, to, new_at, new_to in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        pairs = zip_longest(
            *([(path, shown) for path, _, shown in side] for side in (before[at:to], after[new_at:new_to]))
        )
        said += [_line(was, now) for was, now in pairs]
    return said


def _lines_of(path: str, text: str) -> list[tuple[str, str]]:
    """The lines that say something, as they are and as they are shown; of JSON one value a line, so that a change in it
    is a line."""
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    lines = text.splitlines()
    shown = [SECRET] * len(lines) if names_a_secret(path) else shown_lines(text)
    return [
        (line.strip().rstrip(","), said.strip().rstrip(","))
        for line, said in zip(lines, shown, strict=True)
        if any(map(str.isalnum, line))
    ]


def _line(was: tuple[str, str] | None, now: tuple[str, str] | None) -> str:
    """One line of a script before and after, from where the two part."""
    if was is None or now is None or was[0] != now[0]:
        kinds = [(word, side) for word, side in (("removed", was), ("added", now)) if side is not None]
        return ", ".join(f"{inline(side[0])}: {word} {_code(side[1])}" for word, side in kinds)
    if was[1] == now[1]:
        return f"{inline(now[0])}: {_code(was[1])}, where only the secret differs"
    same = _same(was[1], now[1])
    start = max(0, same - _LINE_BEFORE)
    while 0 < start < same and was[1][start].isalnum():
        start += 1
    old, new = was[1][start:], now[1][start:]
    end = min(_same(old[::-1], new[::-1]), min(len(old), len(new)) - _LINE_BEFORE)
    old, new = (text[: len(text) - max(0, end)] for text in (old, new))
    lead = "…" if start else ""
    return f"{inline(now[0])}: {_code(lead + old)} → {_code(lead + new)}"


def _same(one: str, other: str) -> int:
    """How many characters are the same from the start."""
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def _code(text: str) -> str:
    return code(shortened(text, _LONGEST_LINE))


def shortened(text: str, longest: int) -> str:
    return f"{text[:longest]}…" if len(text) > longest else text
