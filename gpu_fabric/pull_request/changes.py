"""What a preview would change, as one table: a row a resource, old and new value of what a person can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pulumi.runtime.rpc import UNKNOWN

_LONGEST_VALUE = 48
_MOST_PATHS = 6
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
#: Operations that a person need not see: nothing changes, or the other half of a replacement says it.
_SILENT = ("same", "read", "create-replacement", "delete-replaced")


def table(preview: Mapping[str, Any]) -> str:
    """The rows of a preview's JSON (`pulumi preview --json`); a word where there is nothing."""
    rows = [_row(step) for step in preview.get("steps", []) if step.get("op") not in _SILENT]
    if not rows:
        return "Nothing changes."
    return "\n".join(["| change | resource | type | what |", "|---|---|---|---|", *rows])


def totals(preview: Mapping[str, Any]) -> str:
    """`2 to update, 31 unchanged`."""
    counts = preview.get("changeSummary", {})
    return ", ".join(
        f"{number} unchanged" if op == "same" else f"{number} to {op}"
        for op, number in sorted(counts.items())
    )


def _row(step: Mapping[str, Any]) -> str:
    _, _, types, name = step["urn"].split("::", 3)
    op = "**replace**" if step["op"] == "replace" else step["op"]
    return f"| {op} | {name} | {types.rpartition('$')[2]} | {_what(step)} |"


def _what(step: Mapping[str, Any]) -> str:
    if step["op"] not in ("update", "replace"):
        return ""
    old = (step.get("oldState") or {}).get("inputs", {})
    new = (step.get("newState") or {}).get("inputs", {})
    paths = sorted(step.get("detailedDiff") or step.get("diffReasons") or ())
    said = [f"`{path}`: {_value(_at(old, path))} → {_value(_at(new, path))}" for path in paths[:_MOST_PATHS]]
    if len(paths) > _MOST_PATHS:
        said.append(f"and {len(paths) - _MOST_PATHS} more")
    return "; ".join(said).replace("|", "\\|").replace("\n", " ")


def _at(value: Any, path: str) -> Any:
    for name, index in _STEPS.findall(path):
        if isinstance(value, Mapping) and name:
            value = value.get(name)
        elif isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    return value


def _value(value: Any) -> str:
    if value is None:
        return "not set"
    if value == UNKNOWN:
        return "known after deployment"
    if isinstance(value, Mapping | list):
        return f"{len(value)} entries"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text[:_LONGEST_VALUE]}…" if len(text) > _LONGEST_VALUE else text
