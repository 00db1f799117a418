"""NCCL's own files: `KEY=VALUE` a line, `#` in column 0, nothing trimmed. NVIDIA/nccl src/misc/param.cc 2.30.7."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Misreading, Source, concerns_us

LIMIT: Final = 1023
_EXPORT: Final = re.compile(r"\s*export\s+")
_FIRST_WORD: Final = re.compile(r"^[#\s]*(?:export\s+)?([^=\s]*).*$")
_TRAILING_COMMENT: Final = re.compile(r"\s+#.*$")


def read_conf(path: str, text: str, *, first_line: int = 1, format_: Format = Format.CONF) -> Source:
    """Read a file as NCCL does, and say where a person meant something else.

    A file not called after NCCL (`site.conf`) may be another program's too: of it only lines that concern us count.
    """
    ours_alone = "nccl" in PurePath(path).name.lower() or format_ is not Format.CONF
    assignments: list[Assignment] = []
    misreadings: list[Misreading] = []
    for offset, raw in enumerate(text.split("\n")):
        line = first_line + offset
        if raw.startswith("#") or not raw.strip():
            continue
        if not ours_alone and not concerns_us(_FIRST_WORD.sub(r"\1", raw)):
            continue
        if "=" not in raw:
            misreadings.append(
                Misreading(
                    "env-conf-no-value",
                    line,
                    f"NCCL skips the line {raw.strip()!r}: it has no `=`.",
                    "Write KEY=VALUE, or begin the line with #.",
                )
            )
            continue
        if raw.lstrip().startswith("#"):
            misreadings.append(
                Misreading(
                    "env-conf-comment",
                    line,
                    "A comment begins in column 0 only; NCCL takes this line for a variable named "
                    f"{raw.split('=', 1)[0]!r}.",
                    "Begin the line with #.",
                    raw.lstrip(),
                )
            )
            continue
        name, value, faults = _mend(raw)
        # Several faults of one line are mended together: each carries the same whole line.
        misreadings += [
            replace(fault, line=line, mended=f"{name}={value}", names=(name,)) for fault in faults
        ]
        if len(name) > LIMIT or len(value) > LIMIT:
            part, size = ("name", len(name)) if len(name) > LIMIT else ("value", len(value))
            misreadings.append(
                Misreading(
                    "env-conf-too-long",
                    line,
                    f"The {part} of {name[:40]} has {size} characters; NCCL cuts it at {LIMIT}.",
                    "Shorten it, for example with prefixes in a list or a shorter path.",
                    names=(name,),
                )
            )
        assignments.append(Assignment(name, value, path, line, format_, alone=True))
    return Source(path, format_, text, tuple(assignments), tuple(misreadings))


def _mend(raw: str) -> tuple[str, str, list[Misreading]]:
    """The name and value that were meant, and the faults that hide them; their line and mending are filled in later."""
    faults: list[Misreading] = []

    def fault(code: str, what: str, remedy: str) -> None:
        faults.append(Misreading(code, 0, what, remedy))

    line = raw
    if line.endswith("\r"):
        line = line[:-1]
        faults.append(
            Misreading(
                "env-conf-line-end",
                0,
                "The line ends in CR LF; NCCL up to 2.29.7 keeps the CR as the last character of the value, "
                "2.30.4 and later take it off.",
                "Save the file with LF line ends.",
                until="2.30.4",
                source="seen in nvidia-nccl-cu12 2.23.4, 2.27.7, 2.28.9, 2.29.7, 2.30.4 and 2.30.7 (PyPI)",
            )
        )
    exported = _EXPORT.match(line)
    if exported:
        line = line[exported.end() :]
        fault(
            "env-conf-export",
            "NCCL's files are no shell: `export` becomes part of the variable's name, so nothing is set.",
            "Write KEY=VALUE without export.",
        )
    name, value = line.split("=", 1)
    comment = _TRAILING_COMMENT.search(value)
    if comment:
        value = value[: comment.start()]
        fault(
            "env-conf-comment",
            f"NCCL keeps {comment[0].strip()!r} as part of the value of {name.strip()}.",
            "Put the comment on a line of its own that begins with #.",
        )
    if name != name.strip() or value != value.strip():
        fault(
            "env-conf-spaces",
            f"NCCL trims nothing: the spaces around {name.strip()} or its value become part of them.",
            "Write KEY=VALUE without spaces.",
        )
        name, value = name.strip(), value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        fault(
            "env-conf-quotes",
            f"NCCL keeps the quotes as part of the value of {name}.",
            "Write the value without quotes.",
        )
        value = value[1:-1]
    return name, value, faults
