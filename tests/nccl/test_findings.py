"""Findings: order, renderings and the exit code that a pipeline sees."""

from __future__ import annotations

import json

import pytest

from gpu_fabric.nccl.findings import Finding, Level, exit_code, ordered, summary, to_json, to_sarif, to_text

ERROR = Finding("env-removed", Level.ERROR, "run.sh", 7, "It is gone.", "Delete the line.", "NVIDIA/nccl 2.4")
WARNING = Finding(
    "env-slow", Level.WARNING, "run.sh", 3, "It is slow.", "Leave it unset.", "NVIDIA/nccl 2.24"
)
NOTE = Finding(
    "env-default", Level.NOTE, "a.conf", None, "It is the default.", "Drop it.", "NVIDIA/nccl 2.24"
)


def test_findings_are_ordered_by_file_then_line_and_each_appears_once() -> None:
    assert ordered([ERROR, WARNING, NOTE, ERROR]) == [NOTE, WARNING, ERROR]


def test_on_one_line_the_worst_finding_comes_first() -> None:
    mild = Finding("a-note", Level.NOTE, "run.sh", 7, "Mild.", "Nothing.", "none")
    assert ordered([mild, ERROR]) == [ERROR, mild]


@pytest.mark.parametrize(
    ("findings", "strict", "expected"),
    [
        ([], False, 0),
        ([], True, 0),
        ([NOTE], True, 0),
        ([NOTE, WARNING], False, 0),
        ([WARNING], True, 1),
        ([ERROR], False, 1),
        ([NOTE, WARNING, ERROR], False, 1),
    ],
)
def test_the_exit_code_is_one_for_errors_and_for_warnings_only_when_strict(
    findings: list[Finding], strict: bool, expected: int
) -> None:
    assert exit_code(findings, strict=strict) == expected


def test_the_text_names_place_remedy_and_source_and_ends_with_the_count() -> None:
    assert to_text([ERROR, NOTE]) == (
        "a.conf: note: It is the default. [env-default]\n"
        "    do: Drop it.\n"
        "    source: NVIDIA/nccl 2.24\n"
        "run.sh:7: error: It is gone. [env-removed]\n"
        "    do: Delete the line.\n"
        "    source: NVIDIA/nccl 2.4\n"
        "1 error, 0 warnings, 1 note\n"
    )


def test_the_summary_uses_the_singular_for_one() -> None:
    assert summary([WARNING]) == "0 errors, 1 warning, 0 notes"


def test_json_carries_every_field_and_the_counts() -> None:
    document = json.loads(to_json([ERROR, WARNING]))
    assert document["counts"] == {"error": 1, "warning": 1, "note": 0}
    assert document["findings"][1] == {
        "code": "env-removed",
        "level": "error",
        "path": "run.sh",
        "line": 7,
        "what": "It is gone.",
        "remedy": "Delete the line.",
        "source": "NVIDIA/nccl 2.4",
    }


def test_a_path_becomes_a_uri_in_sarif() -> None:
    spaced = Finding("env-slow", Level.WARNING, "my jobs/run.sh", 1, "Slow.", "Wait.", "none")
    log = json.loads(to_sarif([spaced]))
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "my%20jobs/run.sh"}


def test_sarif_points_each_result_at_its_rule_and_line() -> None:
    log = json.loads(
        to_sarif([ERROR, NOTE], tool_version="0.1.0", rules={"env-removed": "A removed variable"})
    )
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "gpu-fabric"
    rules = run["tool"]["driver"]["rules"]
    assert rules == [
        {"id": "env-default"},
        {"id": "env-removed", "shortDescription": {"text": "A removed variable"}},
    ]
    note, error = run["results"]
    assert [rules[result["ruleIndex"]]["id"] for result in (note, error)] == ["env-default", "env-removed"]
    assert error["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "run.sh"},
        "region": {"startLine": 7},
    }
    assert "region" not in note["locations"][0]["physicalLocation"], (
        "no line is known for a whole-file finding"
    )
    assert error["level"] == "error"
