"""The one error of the topology functions."""

from __future__ import annotations


class TopologyError(ValueError):
    """A text that is no topology file to NCCL, or a topology that cannot be written as one."""

    def __init__(self, what: str, *, line: int | None = None, remedy: str = "") -> None:
        self.what = what
        self.line = line
        self.remedy = remedy
        place = f"line {line}: " if line is not None else ""
        super().__init__(f"{place}{what}{f' {remedy}' if remedy else ''}")
