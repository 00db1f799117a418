"""Errors of the planner. Each message says where, what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class PlanningError(ValueError):
    """Input that cannot be planned. `problems` has one line a problem; all of one input come together."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class UnknownNameError(PlanningError):
    """A name that no table has."""


def unknown_name(kind: str, name: str, known: Sequence[str], *, where: str = "") -> UnknownNameError:
    """The error for `name`, with the nearest known name and the list."""
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    prefix = f"{where}: " if where else ""
    return UnknownNameError([f"{prefix}unknown {kind} {name!r}: {hint}known: {', '.join(known)}"])
