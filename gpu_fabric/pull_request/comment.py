"""The report as one Markdown comment, below the size that GitHub takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpu_fabric.pull_request.changes import table, totals
from gpu_fabric.pull_request.hidden import without_forms
from gpu_fabric.pull_request.markdown import code, fence, inline, summary
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

_POLICIES = re.compile(r"^Policies:\n(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class _Section:
    """A part of the comment that can be folded, and cut where it is long."""

    title: str
    body: str
    opened: bool = False

    def text(self) -> str:
        return f"{self._start}{self.body}\n\n</details>"

    def cut(self, room: int, link: str) -> str:
        """At most `room` characters; the title stands, what is left of the body is closed, and the cut is said."""
        note = f"… cut; the rest is in {link}.\n\n</details>"
        kept = self.body[: max(0, room - len(self._start) - len(note) - _CLOSING)].rpartition("\n")[0]
        lines = ["```"] if kept.count("```") % 2 else []
        # Folds of the body's own. One that was cut inside its tag is none.
        lines += ["</details>"] * (kept.count("<details") - kept.count("</details>"))
        closing = "".join(f"\n{line}" for line in lines)
        if len(closing) > _CLOSING - len("\n\n\n"):
            kept, closing = "", ""
        return f"{self._start}{kept}{closing}\n\n{note}"

    @property
    def _start(self) -> str:
        opened = " open" if self.opened else ""
        return f"\n\n<details{opened}><summary>{summary(self.title)}</summary>\n\n"


#: Room for what closes a body that is cut.
_CLOSING = 60


def marker(title: str) -> str:
    """By this line the comment of a project's stack is found again."""
    return f"<!-- gpu-fabric: {title.replace('>', '&gt;')} -->"


def comment(request: Request, outcome: Outcome, *, full_report: str = "", limit: int = LIMIT) -> str:
    """At most `limit` characters; what does not fit is cut, and the text says so with `full_report`'s address."""
    link = f"[the full report]({full_report})" if full_report else "the full report of this run"
    foot = f"\n\nMore in {link}.\n" if full_report else "\n"
    title = [marker(request.title), f"## Fabric report: {inline(request.title)}"]
    if outcome.removed:
        return "\n\n".join([*title, _removal(outcome)]) + foot
    picture = _picture(outcome.report)
    if len(picture) > limit // 3:
        picture = f"The picture is too large for a comment; it is in {link}."
    parts = [*title, _verdicts(request, outcome), _deltas(outcome), picture, f"**Drift.** {outcome.drift}"]
    head = "\n\n".join(filter(None, parts))
    return head + _fitted(_sections(outcome), limit - len(head) - len(foot), link) + foot


def _removal(outcome: Outcome) -> str:
    return (
        f"This branch removes the stack: {code(outcome.removed)} is on {inline(outcome.base_note)} and not here. "
        "What was deployed stays deployed, and costs, until somebody runs `pulumi destroy` with the file."
    )


def _sections(outcome: Outcome) -> list[_Section]:
    """What there is to say, in its order."""
    policies, failure = _policies(outcome.preview) if outcome.ran else "", ""
    if not outcome.ran or (outcome.policies_failed and not outcome.violations["mandatory"]):
        failure = (
            _failure(outcome.preview) or f"The engine ended with code {outcome.exit_code} and said nothing."
        )
    words = "The policies could not be asked" if outcome.ran else "The preview failed"
    found = bool(outcome.findings.get("findings"))
    # A report that is an error has its reason where the prediction would stand.
    report = "" if _no_report(outcome) else _details(outcome.report)
    sections = [
        (_Section("Policies", fence(policies), outcome.violations["mandatory"] > 0), policies),
        (_Section(words, fence(failure), opened=True), failure),
        (_Section("The lint failed", fence(outcome.lint_failure), opened=True), outcome.lint_failure),
        (_Section("Lint", _findings(outcome.findings), outcome.lint_errors > 0), found),
        (
            _Section(f"Changes against {outcome.base_note}", table(outcome.changes), opened=True),
            outcome.ran,
        ),
        (
            _Section("Why the base cannot be deployed", fence(_failure(outcome.base_failure))),
            outcome.base_failure,
        ),
        (_Section("Fabric report", report), report),
    ]
    return [
        replace(section, title=without_forms(section.title), body=without_forms(section.body))
        for section, there in sections
        if there
    ]


def _fitted(sections: Sequence[_Section], room: int, link: str) -> str:
    """The sections in at most `room` characters: short ones whole, long ones in equal shares of what that leaves."""
    whole = [section.text() for section in sections]
    shares: dict[int, int] = {}
    for done, at in enumerate(sorted(range(len(whole)), key=lambda at: len(whole[at]))):
        shares[at] = min(len(whole[at]), max(0, room) // (len(whole) - done))
        room -= shares[at]
    return "".join(
        text if len(text) <= shares[at] else sections[at].cut(shares[at], link)
        for at, text in enumerate(whole)
    )


def _verdicts(request: Request, outcome: Outcome) -> str:
    violations = outcome.violations
    counts = outcome.findings.get("counts", {})
    passed = "passed, not all looked at" if violations["undecided"] else "passed"
    policies = "**failed**" if outcome.policies_failed else passed
    if request.policy is None:
        policies = "not asked"
    asked = (
        request.policy is not None
        and outcome.ran
        and (violations["mandatory"] or not outcome.policies_failed)
    )
    lint_failed = outcome.lint_errors or outcome.lint_failure
    unknown = (
        ["for no size: only what holds on every one was looked at"]
        if counts and not outcome.linted_for
        else []
    )
    rows = [
        ("preview", "passed" if outcome.ran else "**failed**", totals(outcome.changes)),
        (
            "policies",
            policies if outcome.ran else "not reached",
            ", ".join(f"{number} {level}" for level, number in violations.items()) if asked else "",
        ),
        (
            "lint",
            "**failed**" if lint_failed else "passed" if counts else "no file to read",
            ", ".join([*(f"{number} {level}" for level, number in counts.items()), *unknown]),
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
        why = _no_report(outcome)
        if why:
            return f"No prediction: {inline(without_forms(why))}"
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
    found = _POLICIES.search(preview)
    # Where the pack lies on the machine that ran is no news.
    return re.sub(r" \(local: .*?\)$", "", found[1], flags=re.MULTILINE).rstrip() if found else ""


def _failure(preview: str) -> str:
    """What the engine said from its diagnostics on; all of it where it ended before there were any."""
    # The tick of a pack that was asked about a part says nothing about the rest.
    said = _POLICIES.sub("", preview)
    return _words(said[max(0, said.find("Diagnostics:")) :])


def _words(said: str) -> str:
    """What the engine said, without the line that every simulated run begins with."""
    return re.sub(r"^simulated clouds answer this run.*\n?", "", said, flags=re.MULTILINE).strip()


def _no_report(outcome: Outcome) -> str:
    """Why there is no fabric report; empty where there is one."""
    first = outcome.report.partition("\n")[0]
    return first.removeprefix("error: ") if outcome.plan is None and first.startswith("error: ") else ""


def _findings(findings: Mapping[str, Any]) -> str:
    lines = [
        f"- **{one['level']}** {code(_place(one))} {inline(one['what'])} {inline(one['remedy'])} "
        + code(f"[{one['code']}]")
        for one in findings.get("findings", [])
    ]
    return "\n".join(lines)


def _place(finding: Mapping[str, Any]) -> str:
    return f"{finding['path']}:{finding['line']}" if finding["line"] else finding["path"]
