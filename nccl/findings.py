"""What a check found: one frozen record a finding, and its renderings as text, JSON and SARIF.

Used by the environment lint, by the topology lint and by the command line. A finding says where, what happens
and what to write instead; several are reported at once, in the order in which a person reads the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


class Level(StrEnum):
    """How much a finding costs. The values are SARIF's own result levels."""

    ERROR = "error"
    """Breaks, or is silently ignored on the path that matters."""
    WARNING = "warning"
    """Works, but slower or fragile."""
    NOTE = "note"
    """Does nothing, or is worth knowing."""

    @property
    def severity(self) -> int:
        """0 for an error, 1 for a warning, 2 for a note: sorts the worst first."""
        return list(Level).index(self)


@dataclass(frozen=True)
class Finding:
    """One thing a check found.

    `code` is stable (`env-removed`, `topology-class-missing`): people search for it. `path` is the
    file as the user named it, `line` counts from 1 and is None where the finding is about the whole file.
    `what` says what happens, `remedy` what to write instead, `source` where that is written down.
    """

    code: str
    level: Level
    path: str
    line: int | None
    what: str
    remedy: str
    source: str

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """By file, then line (whole-file findings first), then the worst first."""
        return (self.path, self.line or 0, self.level.severity, self.code, self.what)

    @property
    def place(self) -> str:
        """`path:line`, which editors and terminals turn into a link; `path` alone without a line."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Every different finding once, in reading order."""
    return sorted(set(findings), key=lambda finding: finding.sort_key)


def count_levels(findings: Iterable[Finding]) -> dict[Level, int]:
    """How many findings there are of each level, zeros included."""
    counts = dict.fromkeys(Level, 0)
    for finding in findings:
        counts[finding.level] += 1
    return counts


def summary(findings: Iterable[Finding]) -> str:
    """One line: `2 errors, 1 warning, 0 notes`."""
    return ", ".join(
        f"{count} {level.value}{'' if count == 1 else 's'}" for level, count in count_levels(findings).items()
    )


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> int:
    """0 for clean or notes and warnings only, 1 for an error; with `strict` a warning also gives 1."""
    counts = count_levels(findings)
    return int(counts[Level.ERROR] > 0 or (strict and counts[Level.WARNING] > 0))


def to_text(findings: Iterable[Finding]) -> str:
    """A block a finding: place, level and code, then what happens, what to do, and the source.

    Ends with the summary line. No colour: the command line adds that.
    """
    found = ordered(findings)
    blocks = [
        f"{finding.place}: {finding.level.value}: {finding.what} [{finding.code}]\n"
        f"    do: {finding.remedy}\n"
        f"    source: {finding.source}\n"
        for finding in found
    ]
    return "".join([*blocks, summary(found), "\n"])


def to_dicts(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings as plain values, in reading order."""
    return [asdict(finding) for finding in ordered(findings)]


def to_json(findings: Iterable[Finding]) -> str:
    """`{"findings": [...], "counts": {"error": n, ...}}`, two-space indent, ending in a line feed."""
    found = ordered(findings)
    document = {
        "findings": to_dicts(found),
        "counts": {level.value: count for level, count in count_levels(found).items()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_sarif(
    findings: Iterable[Finding],
    *,
    tool: str = "gpu-fabric",
    tool_version: str | None = None,
    rules: Mapping[str, str] | None = None,
) -> str:
    """SARIF 2.1.0 for code scanning services.

    `rules` maps a code to its one-line description; codes that occur without one are listed by name alone.
    Source: OASIS SARIF 2.1.0 errata 01, sections 3.13 (log), 3.18 (tool), 3.27 (result).
    """
    found = ordered(findings)
    descriptions = dict(rules or {})
    codes = sorted({finding.code for finding in found})
    driver: dict[str, Any] = {
        "name": tool,
        "rules": [_sarif_rule(code, descriptions.get(code)) for code in codes],
    }
    if tool_version is not None:
        driver["version"] = tool_version
    log = {
        "$schema": SARIF_SCHEMA,
        "version": SARIF_VERSION,
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, codes) for finding in found],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _sarif_rule(code: str, description: str | None) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code}
    if description is not None:
        rule["shortDescription"] = {"text": description}
    return rule


def _sarif_result(finding: Finding, codes: Sequence[str]) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path.replace("\\", "/"))}}
    if finding.line is not None:
        location["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.level.value,
        "message": {"text": f"{finding.what} {finding.remedy}"},
        "locations": [{"physicalLocation": location}],
        "properties": {"remedy": finding.remedy, "source": finding.source},
    }
