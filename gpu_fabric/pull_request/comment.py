"""The report as one Markdown comment, below the size that GitHub takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_fabric.pull_request.changes import table, totals
from gpu_fabric.pull_request.hidden import without_forms
from gpu_fabric.pull_request.runs import Outcome, Request

LIMIT = 65_536
"""Characters of a comment on GitHub (pulumi/actions#482)."""

#: Rows of the summary that a reviewer weighs first, in this order; the key stands before the first comma.
_DELTAS = (
    "step time",
    "MFU",
    "tokens",
    "GPU wait",
    "an hour of training",
    "a month of training (730 h)",
    "a step",
)


def marker(title: str) -> str:
    """By this line the comment of a project's stack is found again."""
    return f"<!-- gpu-fabric: {title} -->"


def comment(request: Request, outcome: Outcome, *, full_report: str = "", limit: int = LIMIT) -> str:
    """At most `limit` characters; what does not fit is cut, and the text says so with `full_report`'s address."""
    link = f"[the full report]({full_report})" if full_report else "the full report of this run"
    head = "\n\n".join(
        filter(
            None,
            [
                marker(request.title),
                f"## Fabric report: {request.title}",
                _verdicts(outcome),
                _deltas(outcome),
                _picture(outcome.report),
                f"**Drift.** {outcome.drift}",
            ],
        )
    )
    sections = [
        ("Policies", _fence(without_forms(_policies(outcome.preview))), bool(_policies(outcome.preview))),
        ("Lint", without_forms(_findings(outcome.findings)), bool(outcome.findings.get("findings"))),
        (f"Changes against {without_forms(outcome.base_note)}", table(outcome.changes), outcome.ran),
        ("The preview failed", _fence(without_forms(_failure(outcome.preview))), not outcome.ran),
        ("Fabric report", without_forms(_details(outcome.report)), bool(outcome.report)),
    ]
    text = head
    foot = f"\n\nMore in {link}.\n" if full_report else "\n"
    opened_titles = {"The preview failed"}
    opened_titles |= {"Policies"} if outcome.violations["mandatory"] else set()
    opened_titles |= {"Lint"} if outcome.lint_errors else set()
    for title, body, there in sections:
        if not there:
            continue
        opened = " open" if title in opened_titles or title.startswith("Changes") else ""
        block = f"\n\n<details{opened}><summary>{title}</summary>\n\n{body}\n\n</details>"
        room = limit - len(text) - len(foot)
        text += block if len(block) <= room else _cut(title, body, room, link)
    return text + foot


def _cut(title: str, body: str, room: int, link: str) -> str:
    """The start of a section, with its fence closed; nothing where not even that fits."""
    note = f"\n… cut; the rest is in {link}.\n\n</details>"
    start = f"\n\n<details><summary>{title}</summary>\n\n"
    left = room - len(start) - len(note) - len("\n```\n")
    if left < 200:
        return ""
    kept = body[:left].rpartition("\n")[0]
    closing = "\n```\n" if kept.count("```") % 2 else "\n"
    return start + kept + closing + note


def _verdicts(outcome: Outcome) -> str:
    mandatory, advisory = outcome.violations["mandatory"], outcome.violations["advisory"]
    counts = outcome.findings.get("counts", {})
    rows = [
        ("preview", "passed" if outcome.ran else "**failed**", totals(outcome.changes)),
        (
            "policies",
            "not reached" if not outcome.ran else "**failed**" if mandatory else "passed",
            f"{mandatory} mandatory, {advisory} advisory",
        ),
        (
            "lint",
            "**failed**" if outcome.lint_errors else "passed" if counts else "no file to read",
            ", ".join(f"{number} {level}" for level, number in counts.items()),
        ),
    ]
    lines = ["| check | result | |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def _rows(plan: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    summary = (plan or {}).get("summary", {})
    return {name.partition(",")[0]: row for name, row in summary.items() if not name.startswith("all-reduce")}


def _deltas(outcome: Outcome) -> str:
    now, before = _rows(outcome.plan), _rows(outcome.base_plan)
    lines = ["| predicted | base | this branch | change |", "|---|---:|---:|---:|"]
    for name in _DELTAS:
        if name in now or name in before:
            old, new = before.get(name), now.get(name)
            lines.append(f"| {name} | {_value(old)} | {_value(new)} | {_change(old, new)} |")
    if len(lines) == 2:
        return "No prediction: the stack file has no `training`, or nothing fits."
    return "\n".join(lines)


def _value(row: Mapping[str, Any] | None) -> str:
    if row is None or not isinstance(row.get("value"), int | float):
        return "unknown"
    value = row["value"]
    if row.get("unit") == "share":
        return f"{value:.1%}"
    digits = ",.0f" if abs(value) >= 1_000 else ",.2f"
    return f"{value:{digits}} {row.get('unit', '')}".rstrip()


def _change(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    old, new = (None if row is None else row.get("value") for row in (before, now))
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return "unknown"
    if new == old:
        return "none"
    return f"{new - old:+,.0f}" if old == 0 else f"{(new - old) / abs(old):+.1%}"


def _picture(report: str) -> str:
    found = re.search(r"^## Picture\n\n(```mermaid\n.*?```)", report, flags=re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def _details(report: str) -> str:
    """The report without its title and without the picture that stands above."""
    without = re.sub(r"^## Picture\n\n```mermaid\n.*?```\n*", "", report, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\A# .*\n+", "", without)


def _policies(preview: str) -> str:
    found = re.search(r"^Policies:\n(.*?)(?:\n\n|\Z)", preview, flags=re.MULTILINE | re.DOTALL)
    # Where the pack lies on the machine that ran is no news.
    return re.sub(r" \(local: .*?\)$", "", found[1], flags=re.MULTILINE).rstrip() if found else ""


def _failure(preview: str) -> str:
    """What the engine said from its diagnostics on, where the program did not run to its end."""
    return preview[preview.find("Diagnostics:") :].strip()


def _fence(text: str, language: str = "") -> str:
    return f"```{language}\n{text.replace('```', '` ` `')}\n```"


def _findings(findings: Mapping[str, Any]) -> str:
    lines = [
        f"- **{one['level']}** `{one['path']}{':' + str(one['line']) if one['line'] else ''}` {one['what']} "
        f"{one['remedy']} `[{one['code']}]`"
        for one in findings.get("findings", [])
    ]
    return "\n".join(lines)
