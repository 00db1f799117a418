"""What a check found, in three states; unknown never counts as a pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

EXIT_PASS, EXIT_FAIL, EXIT_UNKNOWN, EXIT_USAGE = 0, 1, 2, 64


class State(StrEnum):
    PASS = "pass"
    WARN = "warn"
    """Good enough to run, and worth a look."""
    UNKNOWN = "unknown"
    """Could not be found out."""
    FAIL = "fail"


@dataclass(frozen=True)
class Result:
    check: str
    state: State
    what: str
    """What was found, with its numbers."""
    remedy: str = ""
    """What to do; empty for a pass."""
    source: str = ""


@dataclass(frozen=True)
class Report:
    """The results of one subject, in the order in which they were found."""

    subject: str
    results: tuple[Result, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    """What was read besides: versions, names, figures."""

    def of(self, state: State) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.state is state)

    @property
    def state(self) -> State:
        """The worst: fail, then unknown, then warn. Nothing checked is unknown."""
        if not self.results:
            return State.UNKNOWN
        order = [State.FAIL, State.UNKNOWN, State.WARN, State.PASS]
        return min((result.state for result in self.results), key=order.index)

    @property
    def exit_code(self) -> int:
        return {State.FAIL: EXIT_FAIL, State.UNKNOWN: EXIT_UNKNOWN}.get(self.state, EXIT_PASS)


def passed(check: str, what: str, source: str = "") -> Result:
    return Result(check, State.PASS, what, "", source)


def failed(check: str, what: str, remedy: str, source: str = "") -> Result:
    return Result(check, State.FAIL, what, remedy, source)


def unknown(check: str, what: str, remedy: str, source: str = "") -> Result:
    return Result(check, State.UNKNOWN, what, remedy, source)


def warned(check: str, what: str, remedy: str, source: str = "") -> Result:
    return Result(check, State.WARN, what, remedy, source)


def some(names: Sequence[str], most: int = 8) -> str:
    """The names of a list, or its first ones and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def counted(count: int, what: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def summary(report: Report) -> str:
    """`node-1: FAIL: 2 fail, 1 unknown, 20 pass`."""
    counts = ", ".join(
        f"{len(report.of(state))} {state.value}" for state in reversed(State) if report.of(state)
    )
    return f"{report.subject}: {report.state.value.upper()}: {counts or 'nothing was checked'}"


def to_text(report: Report) -> str:
    """A table for people: one line a check, then what to do about those that did not pass."""
    width = max((len(result.check) for result in report.results), default=0)
    lines = [f"{result.state.value:<8}{result.check:<{width}}  {result.what}" for result in report.results]
    open_ = [result for result in report.results if result.state is not State.PASS]
    if open_:
        lines.append("")
    for result in open_:
        lines.append(f"{result.check}: {result.remedy}")
        if result.source:
            lines.append(f"    source: {result.source}")
    versions = versions_of(report)
    return "\n".join([*lines, *(["", versions] if versions else []), "", summary(report)]) + "\n"


def versions_of(report: Report) -> str:
    """`Versions: driver 580.95.05, efa 1.50.0`; empty where none were read."""
    found = report.facts.get("versions") or {}
    return "Versions: " + ", ".join(f"{name} {version}" for name, version in found.items()) if found else ""


def to_dict(report: Report) -> dict[str, Any]:
    return {
        "subject": report.subject,
        "state": report.state.value,
        "results": [asdict(result) for result in report.results],
        "facts": report.facts,
    }


def to_json(report: Report) -> str:
    return json.dumps(to_dict(report), indent=2, ensure_ascii=False) + "\n"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; `|` in a cell is escaped."""
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [headings, ["---"] * len(headings), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def to_markdown(report: Report) -> str:
    rows = [(result.state.value, result.check, result.what, result.remedy) for result in report.results]
    table = markdown_table(("state", "check", "what was found", "what to do"), rows)
    versions = versions_of(report)
    return f"# {summary(report)}\n\n{table}" + (f"\n{versions}\n" if versions else "")
