"""What a preview would change, as one table: a row a resource, old and new value of what a person can read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pulumi.runtime.rpc import UNKNOWN

from gpu_fabric.pull_request.hidden import SECRET, names_a_secret, without_forms
from gpu_fabric.pull_request.markdown import code, inline
from gpu_fabric.pull_request.start_up import changed_lines, shortened

_LONGEST_VALUE = 48
_MOST_LINES = 8
_MOST_PATHS = 8
_MOST_KINDS = 3
#: Properties that hold a packed start-up script, by the last word of their path.
_PACKED = ("userData", "userDataBase64", "customData")
_INDEX = re.compile(r"\[\d+\]")
#: A path of the engine's: `a.b[0]["key.with.dots"]` (pulumi/pulumi sdk/go/common/resource, ParsePropertyPath).
_STEPS = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')
#: Operations that a person need not see: nothing changes, or the other half of a replacement says it.
_SILENT = ("same", "read", "refresh", "create-replacement", "delete-replaced")


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
    # As the engine's own display has it: `aws:ec2:Vpc` for `aws:ec2/vpc:Vpc`.
    kind = re.sub(r"/\w+:", ":", types.rpartition("$")[2])
    cells = (op, inline(name), inline(kind), _what(step))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _what(step: Mapping[str, Any]) -> str:
    if step["op"] not in ("update", "replace"):
        return ""
    old = (step.get("oldState") or {}).get("inputs", {})
    new = (step.get("newState") or {}).get("inputs", {})
    paths = sorted(step.get("detailedDiff") or step.get("diffReasons") or ())
    # One line for what changes alike in every entry of a list, such as a node's interfaces; what stands alone first.
    alike: dict[str, list[str]] = {}
    for path in sorted(paths, key=lambda path: "[" in path):
        alike.setdefault(_INDEX.sub("[*]", path), []).append(path)
    said = [
        f"{code(name)}: {_alike([_both(path, _at(old, path), _at(new, path)) for path in together])}"
        if len(together) > 1
        else f"{code(together[0])}: {_both(together[0], _at(old, together[0]), _at(new, together[0]))}"
        for name, together in alike.items()
    ]
    if len(said) > _MOST_PATHS:
        said[_MOST_PATHS:] = [f"and {len(said) - _MOST_PATHS} more"]
    return "; ".join(said)


def _alike(changes: Sequence[str]) -> str:
    """Changes of one property in many entries: each kind with how often, or how many where they all differ."""
    counted = Counter(changes)
    if len(counted) > _MOST_KINDS:
        return f"{len(changes)} changes"
    return ", ".join(
        f"{change} ({number} times)" if number > 1 else change for change, number in counted.items()
    )


def _both(path: str, old: Any, new: Any) -> str:
    if path.rpartition(".")[2] not in _PACKED:
        named = names_a_secret(".".join(part for step in _STEPS.findall(path) for part in step if part))
        return f"{_value(old, secret=named)} → {_value(new, secret=named)}"
    if isinstance(old, str) and isinstance(new, str):
        lines = changed_lines(old, new)
        if lines:
            more = f", and {len(lines) - _MOST_LINES} lines more" if len(lines) > _MOST_LINES else ""
            return ", ".join(lines[:_MOST_LINES]) + more
    return f"{_script(old)} → {_script(new)}"


def _script(value: Any) -> str:
    """A start-up script as a whole: nobody reads what is packed, and its first characters may be a secret."""
    return "a script" if isinstance(value, str) and value not in (UNKNOWN, SECRET) else _value(value)


def _at(value: Any, path: str) -> Any:
    for quoted, index, plain in _STEPS.findall(path):
        name = re.sub(r"\\(.)", r"\1", quoted) or plain
        if isinstance(value, Mapping) and name:
            value = value.get(name)
        elif isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    return value


def _value(value: Any, *, secret: bool = False) -> str:
    """In a few characters; a `secret` is text of a property that is named as one."""
    if value is None:
        return "not set"
    if value == UNKNOWN:
        return "known after deployment"
    if isinstance(value, Mapping | list):
        return f"{len(value)} entries"
    if secret and isinstance(value, str):
        return SECRET
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return inline(shortened(without_forms(text), _LONGEST_VALUE))
