"""Dockerfiles: `ENV NAME=value …`, continued lines, and the old `ENV NAME value`."""

from __future__ import annotations

import re
from typing import Final

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Source, concerns_us

_INSTRUCTION: Final = re.compile(r"\s*ENV\s+(.*)", re.IGNORECASE | re.DOTALL)
_PAIR: Final = re.compile(
    r"""([A-Za-z_][A-Za-z0-9_]*)=("(?:\\.|[^"\\])*"|'[^']*'|(?:\\.|[^\s\\])*)""", re.DOTALL
)
_OLD: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+(\S.*)", re.DOTALL)


def read_dockerfile(path: str, text: str) -> Source:
    """The variables of every ENV instruction, each with the line that it stands on."""
    found: list[Assignment] = []
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        start = index
        parts = [lines[index].rstrip("\r")]
        # Comment lines may stand between continued lines; they do not end the instruction.
        while index + 1 < len(lines) and (
            parts[-1].rstrip().endswith("\\") or (len(parts) > 1 and parts[-1].lstrip().startswith("#"))
        ):
            index += 1
            parts.append(lines[index].rstrip("\r"))
        index += 1
        kept = [part.rstrip()[:-1] if part.rstrip().endswith("\\") else part for part in parts]
        kept = ["" if part.lstrip().startswith("#") else part for part in kept]
        instruction = _INSTRUCTION.match("\n".join(kept))
        if instruction:
            found += _pairs(path, instruction, start + 1, one_line=len(parts) == 1)
    return Source(path, Format.DOCKERFILE, text, tuple(found))


def _pairs(path: str, instruction: re.Match[str], line: int, *, one_line: bool) -> list[Assignment]:
    body = instruction[1]
    pairs = list(_PAIR.finditer(body))
    if not pairs or not _PAIR.match(body.lstrip()):
        old = _OLD.fullmatch(body.strip())
        if old is None or not concerns_us(old[1]):
            return []
        value = None if "$" in old[2] else old[2].strip()
        return [Assignment(old[1], value, path, line, Format.DOCKERFILE, alone=one_line)]
    found = []
    for pair in pairs:
        if not concerns_us(pair[1]):
            continue
        at = line + instruction.string.count("\n", 0, instruction.start(1) + pair.start())
        found.append(
            Assignment(
                pair[1], _value(pair[2]), path, at, Format.DOCKERFILE, alone=one_line and len(pairs) == 1
            )
        )
    return found


def _value(written: str) -> str | None:
    if "$" in written and not written.startswith("'"):
        return None
    if len(written) > 1 and written[0] == written[-1] and written[0] in "'\"":
        written = written[1:-1]
    return re.sub(r"\\(.)", r"\1", written)
