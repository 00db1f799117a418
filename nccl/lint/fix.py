"""Write the mended text: only changes that are certain, and only on lines that hold nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis
from gpu_fabric.nccl.lint.sources import Assignment, Format
from gpu_fabric.nccl.lint.sources.detect import BYTE_ORDER_MARK
from gpu_fabric.nccl.text import without_prefix, without_suffix

_SHELLS: Final = frozenset({Format.SHELL, Format.SLURM})
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:^=,+-]*")
# What a change takes precedence over, when several are proposed for one assignment.
_ORDER: Final = (Change.FILE, Change.DELETE, Change.LINE, Change.EXPORT, Change.VALUE, Change.NAME)


def mend(text: str, diagnoses: Iterable[Diagnosis]) -> str:
    """The text with the fixes of these diagnoses. A line that cannot be changed with certainty stays."""
    diagnoses = list(diagnoses)
    if any(diagnosis.fix and diagnosis.fix.change is Change.FILE for diagnosis in diagnoses):
        text = without_suffix(without_prefix(text, BYTE_ORDER_MARK).replace("\r\n", "\n"), "\r")
    lines = text.split("\n")
    # A line that is written anew is right for what else is changed in it.
    chosen: dict[tuple[bool, int, str], Diagnosis] = {}
    for diagnosis in diagnoses:
        if diagnosis.fix is None or diagnosis.assignment is None:
            continue
        anew = diagnosis.fix.change is Change.LINE
        key = (not anew, diagnosis.assignment.line, diagnosis.assignment.name)
        if key not in chosen or _rank(diagnosis) < _rank(chosen[key]):
            chosen[key] = diagnosis
    removed: set[int] = set()
    for _, diagnosis in sorted(chosen.items(), key=lambda item: item[0][0]):
        _apply(lines, diagnosis, removed)
    return "\n".join(line for index, line in enumerate(lines) if index not in removed)


def _rank(diagnosis: Diagnosis) -> tuple[int, int]:
    fix = diagnosis.fix
    return (_ORDER.index(fix.change) if fix else len(_ORDER), diagnosis.finding.level.severity)


def _apply(lines: list[str], diagnosis: Diagnosis, removed: set[int]) -> None:
    fix, assignment = diagnosis.fix, diagnosis.assignment
    if fix is None or assignment is None or not 0 < assignment.line <= len(lines):
        return
    first = assignment.line - 1
    line = lines[first]
    if fix.change is Change.DELETE and assignment.alone:
        _delete(lines, assignment, diagnosis.finding.code, removed)
    elif fix.change is Change.EXPORT:
        lines[first] = f"{_indent(line)}export {line.lstrip()}"
    elif fix.change is Change.LINE:
        lines[first] = fix.text
    elif fix.change is Change.VALUE and assignment.value is not None:
        _replace_value(lines, assignment, fix.text)
    elif fix.change is Change.NAME:
        name = rf"(?<![A-Za-z0-9_]){re.escape(assignment.name)}(?![A-Za-z0-9_])"
        lines[first] = re.sub(name, fix.text, line)


def _delete(lines: list[str], assignment: Assignment, code: str, removed: set[int]) -> None:
    first = assignment.line - 1
    if assignment.format in _SHELLS:
        # A `then` or `do` must not end up empty, so the line becomes the command that does nothing.
        written = without_prefix(lines[first].strip(), "export").strip()
        lines[first] = f"{_indent(lines[first])}: # gpu-fabric lint took out {written} ({code})"
        return
    removed.update(range(first, assignment.end))


def _replace_value(lines: list[str], assignment: Assignment, new: str) -> None:
    """Change the value where it stands once, in any quotes, after the name."""
    old = re.escape(assignment.value or "")
    separator = r"\s*[=:\s]\s*" if assignment.format in (Format.KUBERNETES, Format.DOCKERFILE) else "="
    for index in range(assignment.line - 1, min(assignment.end, len(lines))):
        for before in (rf"(?<![A-Za-z0-9_]){re.escape(assignment.name)}{separator}", r"^\s*value:\s*"):
            pattern = re.compile(rf"({before})(['\"]?){old}\2(?=$|[\s,;\"'}})])")
            if len(pattern.findall(lines[index])) == 1:
                match = pattern.search(lines[index])
                if match is not None:
                    quote = match[2] if _PLAIN.fullmatch(new) else "'"
                    line = lines[index]
                    lines[index] = (
                        f"{line[: match.start()]}{match[1]}{quote}{new}{quote}{line[match.end() :]}"
                    )
                return


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
