"""Dockerfiles: `ENV NAME=value …`, the old `ENV NAME value`, and what CMD, ENTRYPOINT and RUN set that lasts."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import Final

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Source, concerns_us
from gpu_fabric.nccl.lint.sources.shell import read_shell

_INSTRUCTION: Final = re.compile(r"\s*ENV\s+(.*)", re.IGNORECASE | re.DOTALL)
_COMMAND: Final = re.compile(r"\s*(CMD|ENTRYPOINT|RUN)\s+(.*)", re.IGNORECASE | re.DOTALL)
_WRITES_CONF: Final = re.compile(r"(?:>|\btee\b[^|;&\n]*?)\s*['\"]?[^\s'\"|;&]+\.conf\b")
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
        command = _COMMAND.match("\n".join(parts))
        # What RUN exports ends with it; what it writes into a file stays.
        if command and (command[1].upper() != "RUN" or _WRITES_CONF.search(command[2])):
            inner = read_shell(path, _script(command[2]), first_line=start + 1, depth=1)
            found += [replace(entry, format=Format.DOCKERFILE, alone=False) for entry in inner.assignments]
    return Source(path, Format.DOCKERFILE, text, tuple(found))


def _script(body: str) -> str:
    """The command of CMD, ENTRYPOINT or RUN as a script; its JSON form as one line."""
    try:
        words = json.loads(body.replace("\\\n", "\n"))
    except (ValueError, RecursionError):
        return body
    return shlex.join(map(str, words)) if isinstance(words, list) else body


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
