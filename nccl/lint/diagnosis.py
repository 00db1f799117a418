"""A finding together with the variables it is about and the change that would mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.nccl.findings import Finding, Level
from gpu_fabric.nccl.lint.sources import Assignment


class Change(StrEnum):
    DELETE = "delete"
    """Take the assignment out."""
    VALUE = "value"
    """Give it another value."""
    NAME = "name"
    """Give the variable another name."""
    LINE = "line"
    """Write the whole line anew."""
    FILE = "file"
    """Take the byte order mark and every CR at the end of a line out of the file."""
    EXPORT = "export"
    """Put `export` in front."""


@dataclass(frozen=True)
class Fix:
    change: Change
    text: str = ""


@dataclass(frozen=True)
class Diagnosis:
    finding: Finding
    names: tuple[str, ...] = ()
    assignment: Assignment | None = None
    fix: Fix | None = None


def about(
    assignment: Assignment,
    code: str,
    level: Level,
    what: str,
    remedy: str,
    source: str,
    *,
    fix: Fix | None = None,
    more: tuple[str, ...] = (),
) -> Diagnosis:
    """A diagnosis of one assignment; `more` are the other variables that it concerns."""
    finding = Finding(code, level, assignment.path, assignment.line, what, remedy, source)
    return Diagnosis(finding, (assignment.name, *more), assignment, fix)
