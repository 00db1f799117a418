"""An environment as data: what is set and why, and what is left out and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.nccl.environment.situation import Situation
from gpu_fabric.nccl.findings import Finding


class Origin(StrEnum):
    """Who asked for a variable."""

    RULE = "rule"
    PRESET = "preset"
    OVERRIDE = "override"


@dataclass(frozen=True)
class Variable:
    """One variable that a node gets."""

    name: str
    value: str
    why: str
    since: str | None
    """First NCCL release that reads the name; None for variables of other libraries and unknown ones."""
    also_set_by: tuple[str, ...]
    """`who: value` for each other setter whose value ours replaces."""
    source: str
    origin: Origin = Origin.RULE
    process_only: bool = False
    """Read before or outside NCCL: must be in the process's environment, NCCL's files come too late."""


@dataclass(frozen=True)
class LeftOut:
    """Variables that people set and we leave alone."""

    names: tuple[str, ...]
    why: str
    source: str
    set_by: tuple[str, ...] = ()
    """`NAME, who: value` where the plugin or the image does it."""


@dataclass(frozen=True)
class Environment:
    """The variables of one node, in the order in which they are written."""

    size: str
    situation: Situation
    variables: tuple[Variable, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()
    """What a person should know and no variable says."""
    preset: str | None = None
    findings: tuple[Finding, ...] = ()
    """What lint says about the overrides or the preset; empty for our own rules."""

    def __getitem__(self, name: str) -> str:
        """The value of a variable; KeyError if it is not set."""
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    @property
    def values(self) -> dict[str, str]:
        """Name → value, in order."""
        return {variable.name: variable.value for variable in self.variables}
