"""The comment's text: its size, what is cut, and the words for what is not known."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pulumi.runtime.rpc import UNKNOWN

from gpu_fabric.pull_request.changes import table
from gpu_fabric.pull_request.comment import LIMIT, comment
from gpu_fabric.pull_request.runs import Outcome, Request

REQUEST = Request(Path(), Path(), "dev", "main", policy=Path("policy"))


def outcome(**changes: Any) -> Outcome:
    given: dict[str, Any] = {
        "exit_code": 0,
        "preview": "",
        "changes": {"steps": [], "changeSummary": {"same": 3}},
        "base_note": "main (0123456)",
        "plan": None,
        "base_plan": None,
        "report": "# Fabric report: dev\n\nNothing to say.\n",
    }
    return Outcome(**{**given, **changes})


def plan(**values: float) -> dict[str, Any]:
    return {
        "summary": {name.replace("_", " "): {"value": value, "unit": "s"} for name, value in values.items()}
    }


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=3_000), st.integers(min_value=2_000, max_value=LIMIT))
def test_a_comment_never_exceeds_the_limit_and_closes_what_it_opens(lines: int, limit: int) -> None:
    long = outcome(report="# Fabric report: dev\n\n" + "a line of the report\n" * lines)
    text = comment(REQUEST, long, full_report="https://example.com/run", limit=limit)
    assert len(text) <= limit
    assert text.count("<details") == text.count("</details>")
    assert text.count("```") % 2 == 0


def test_two_projects_of_one_repository_have_comments_of_their_own() -> None:
    inner = Request(Path(), Path("examples/p4d-cluster"), "dev", "main")
    assert comment(inner, outcome()).startswith(
        "<!-- gpu-fabric: examples/p4d-cluster dev -->\n\n## Fabric report: "
    )
    assert comment(REQUEST, outcome()).startswith("<!-- gpu-fabric: dev -->\n")


def test_what_does_not_fit_is_said_to_be_cut_with_the_address_of_the_rest() -> None:
    long = outcome(report="# Fabric report: dev\n\n" + "a line of the report\n" * 5_000)
    text = comment(REQUEST, long, full_report="https://example.com/run")
    assert "… cut; the rest is in [the full report](https://example.com/run)." in text


def test_a_delta_is_a_share_of_the_base_and_unknown_where_one_side_is() -> None:
    text = comment(REQUEST, outcome(base_plan=plan(step_time=200, a_step=10), plan=plan(step_time=150)))
    assert "| step time | 200.00 s | 150.00 s | -25.0% |" in text
    assert "| a step | 10.00 s | unknown | unknown |" in text


def test_without_training_the_comment_says_that_nothing_is_predicted() -> None:
    assert "No prediction: the stack file has no `training`, or nothing fits." in comment(REQUEST, outcome())


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({}, False),
        ({"findings": {"findings": [], "counts": {"error": 0, "warning": 3}}}, False),
        ({"findings": {"findings": [], "counts": {"error": 1}}}, True),
        ({"exit_code": 1}, True),
    ],
)
def test_a_report_fails_by_its_preview_its_mandatory_policies_and_its_lint_errors(
    changes: dict[str, Any], failed: bool
) -> None:
    assert outcome(**changes).failed is failed


def test_what_failed_is_open_and_the_rest_is_folded() -> None:
    error = {"level": "error", "path": "a.sh", "line": 1, "what": "w", "remedy": "r", "code": "c"}
    text = comment(REQUEST, outcome(findings={"findings": [error], "counts": {"error": 1}}))
    assert "<details open><summary>Lint</summary>" in text
    assert "<details><summary>Fabric report</summary>" in text


def section_titles(text: str) -> list[str]:
    return re.findall(r"<summary>(.*?)</summary>", text)


LONG: dict[str, Any] = {
    "preview": "Policies:\n    - [mandatory]  a  (x)\n" + "      a line\n" * 10_000 + "\n",
    "report": "# Report\n\n" + "| a | b |\n" * 50_000,
    "findings": {
        "counts": {"error": 1_000},
        "findings": [
            {"level": "error", "path": "a.sh", "line": n, "what": "w" * 100, "remedy": "r", "code": "c"}
            for n in range(1_000)
        ],
    },
    "lint_failure": "x\n" * 40_000,
    "base_failure": "y\n" * 40_000,
}


@given(st.sets(st.sampled_from(sorted(LONG))), st.integers(min_value=4_000, max_value=LIMIT))
@settings(max_examples=25, deadline=None)
def test_a_long_section_takes_the_room_of_no_other(long: set[str], limit: int) -> None:
    short = {
        "preview": "Policies:\n    - [mandatory]  a  (x)\n\n",
        "report": "# Report\n\nshort\n",
        "findings": {"counts": {"error": 1}, "findings": LONG["findings"]["findings"][:1]},
        "lint_failure": "x",
        "base_failure": "y",
    }
    given_ = {name: (LONG if name in long else short)[name] for name in short}
    text = comment(REQUEST, outcome(**given_), full_report="https://example.com/run", limit=limit)
    assert len(text) <= limit
    assert section_titles(text) == [
        "Policies",
        "The lint failed",
        "Lint",
        "Changes against main (0123456)",
        "Why the base cannot be deployed",
        "Fabric report",
    ]
    assert text.count("… cut; the rest is in [the full report](https://example.com/run).") == len(long)
    assert text.count("<details") == text.count("</details>")
    assert text.count("```") % 2 == 0


def test_a_picture_that_is_too_large_is_left_out_and_named() -> None:
    picture = "## Picture\n\n```mermaid\nflowchart LR\n" + "a" * LIMIT + "\n```\n\nrest"
    text = comment(REQUEST, outcome(report=f"# Report\n\n{picture}"))
    assert len(text) <= LIMIT
    assert "The picture is too large for a comment; it is in the full report of this run." in text


def test_what_the_lint_could_not_read_fails_the_report_and_is_said() -> None:
    unread = outcome(lint_failure="error: a.sh: no such file")
    text = comment(REQUEST, unread)
    assert unread.failed
    assert "| lint | **failed** |  |" in text
    assert "<details open><summary>The lint failed</summary>\n\n```\nerror: a.sh: no such file\n```" in text


def test_an_engine_that_was_never_reached_is_quoted() -> None:
    text = comment(
        REQUEST, outcome(exit_code=2, changes={}, preview="error: Pulumi.dev.yaml: line 3: no YAML")
    )
    assert (
        "<summary>The preview failed</summary>\n\n```\nerror: Pulumi.dev.yaml: line 3: no YAML\n```" in text
    )
    silent = comment(REQUEST, outcome(exit_code=9, changes={}))
    assert "The engine ended with code 9 and said nothing." in silent


def test_a_tick_of_policies_is_not_shown_where_the_program_did_not_run_to_its_end() -> None:
    said = "Diagnostics:\n  error: boom\n\nPolicies:\n    ✅ gpu-fabric@v0.1.0\n\n"
    text = comment(REQUEST, outcome(exit_code=255, changes={}, preview=said))
    assert "boom" in text
    assert "✅" not in text


def test_a_stack_without_a_fabric_is_told_so_where_the_prediction_would_stand() -> None:
    text = comment(
        REQUEST, outcome(report="error: Pulumi.dev.yaml: config has no mapping 'gpu-fabric:fabric'")
    )
    assert "No prediction: Pulumi.dev.yaml: config has no mapping 'gpu-fabric:fabric'" in text
    assert "Fabric report" not in section_titles(text)


#: Markup and mentions in every place where somebody else's words stand.
HOSTILE = "a\\|</details><img src=x>|`b` *c* [d](http://e) @team #1 <!-- x -->\n| e"


@pytest.mark.parametrize(
    "text",
    [
        table({"steps": [{"op": "create", "urn": f"urn:pulumi:dev::p::a:b/c:D::{HOSTILE}"}]}),
        table(
            {
                "steps": [
                    {
                        "op": "update",
                        "urn": "urn:pulumi:dev::p::a:b/c:D::r",
                        "detailedDiff": {"tag": {}},
                        "oldState": {"inputs": {"tag": "x"}},
                        "newState": {"inputs": {"tag": HOSTILE}},
                    }
                ]
            }
        ),
        comment(
            REQUEST,
            outcome(
                findings={
                    "counts": {"error": 1},
                    "findings": [
                        {
                            "level": "error",
                            "path": "a.sh",
                            "line": 1,
                            "what": HOSTILE,
                            "remedy": HOSTILE,
                            "code": "c",
                        }
                    ],
                }
            ),
        ),
    ],
)
def test_somebody_else_s_words_are_neither_markup_nor_mentions(text: str) -> None:
    shown = MarkdownIt("commonmark").enable("table").render(text)
    assert "<img" not in shown
    assert shown.count("<a ") == 0
    assert "<em>" not in shown
    assert "&lt;/details&gt;" in shown
    assert not re.search(r"[@#](?=team|1)", shown)
    for line in text.splitlines():
        if line.startswith("| ") and "check" not in text:
            assert len(re.findall(r"(?<!\\)\|", line)) == 5, line


def test_the_base_s_name_stands_in_a_title_as_it_is() -> None:
    text = comment(REQUEST, outcome(base_note="HEAD~1 <b> @team (0123456)"))
    assert "Changes against HEAD~1 &lt;b&gt; @\u200bteam (0123456)" in section_titles(text)


def step(op: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "urn": "urn:pulumi:dev::p::a$aws:ec2/vpc:Vpc::ours", **more}


def change(old: dict[str, Any], new: dict[str, Any], *paths: str) -> str:
    """What the table's last row says about a resource whose inputs went from `old` to `new`."""
    inputs = {"oldState": {"inputs": old}, "newState": {"inputs": new}}
    update = step("update", detailedDiff={path: {} for path in paths}, **inputs)
    return table({"steps": [update]}).splitlines()[-1].split(" | ", 3)[-1].removesuffix(" |")


def packed(script: str) -> str:
    return base64.b64encode(gzip.compress(script.encode())).decode()


def test_a_packed_start_up_script_is_compared_line_by_line() -> None:
    old = "#!/bin/sh\nset -eu\nip link set dev ens32 mtu 9001\n"
    said = change(
        {"userData": packed(old)}, {"userData": packed(old.replace("9001", "1500") + "date\n")}, "userData"
    )
    assert said == (
        "`userData`: user data: `ip link set dev ens32 mtu 9001` → `ip link set dev ens32 mtu 1500`, "
        "user data: added `date`"
    )


def test_a_start_up_script_that_is_not_known_yet_or_cannot_be_unpacked_is_no_error() -> None:
    assert change({"userData": "a"}, {"userData": UNKNOWN}, "userData") == (
        "`userData`: a script → known after deployment"
    )
    broken = base64.b64encode(gzip.compress(b"x" * 99)[:12]).decode()
    assert change({"userData": broken}, {"userData": "b"}, "userData") == "`userData`: a script → a script"


def test_what_changes_alike_in_every_entry_of_a_list_is_said_once_with_how_often() -> None:
    def nics(kind: str) -> dict[str, Any]:
        return {"nics": [{"type": kind, "card": card} for card in range(3)]}

    said = change(nics("efa-only"), nics("efa"), *(f"nics[{n}].type" for n in range(3)))
    assert said == "`nics[*].type`: efa-only → efa (3 times)"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step("same")], "Nothing changes."),
        ([step("create")], "| create | ours | aws:ec2:Vpc |  |"),
        (
            [
                step(
                    "replace",
                    detailedDiff={"cidrBlock": {}},
                    oldState={"inputs": {"cidrBlock": "10.0.0.0/16"}},
                    newState={"inputs": {"cidrBlock": "10.1.0.0/16"}},
                )
            ],
            "| **replace** | ours | aws:ec2:Vpc | `cidrBlock`: 10.0.0.0/16 → 10.1.0.0/16 |",
        ),
    ],
)
def test_a_change_is_a_row_with_the_old_and_the_new_value(steps: list, expected: str) -> None:
    assert table({"steps": steps}).splitlines()[-1] == expected


ADVISES = "        - [advisory]  image-pinned  (aws:ec2:LaunchTemplate: node)\n          It floats.\n"
CANNOT = (
    "        - [advisory]  drivers  (pulumi:pulumi:Stack: dev)\n"
    "          can't run policy 'drivers' from policy pack 'gpu-fabric': unknown, so not passed: the image\n"
)


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ("", "| policies | passed | 0 mandatory, 0 advisory, 0 undecided |"),
        (ADVISES, "| policies | passed | 0 mandatory, 1 advisory, 0 undecided |"),
        (
            ADVISES + CANNOT,
            "| policies | passed, not all looked at | 0 mandatory, 1 advisory, 1 undecided |",
        ),
    ],
)
def test_a_rule_that_could_not_look_is_told_from_one_that_advises(said: str, row: str) -> None:
    assert row in comment(REQUEST, outcome(preview=f"Policies:\n{said}\n\n"))


def test_policies_that_were_left_out_are_not_said_to_pass() -> None:
    without = Request(Path(), Path(), "dev", "main")
    assert "| policies | not asked |  |" in comment(without, outcome())


@pytest.mark.parametrize(
    ("path", "inputs"),
    [
        ('tags["kubernetes.io/x"]', {"tags": {"kubernetes.io/x": "%s"}}),
        ('tags["a \\"b\\" [0]"].c', {"tags": {'a "b" [0]': {"c": "%s"}}}),
        ('list[1]["a.b"]', {"list": [{}, {"a.b": "%s"}]}),
    ],
)
def test_a_value_behind_a_key_with_dots_or_quotes_is_found(path: str, inputs: dict[str, Any]) -> None:
    old, new = (json.loads(json.dumps(inputs).replace("%s", value)) for value in ("before", "after"))
    step = {
        "op": "update",
        "urn": "urn:pulumi:dev::p::a:b:C::r",
        "detailedDiff": {path: {}},
        "oldState": {"inputs": old},
        "newState": {"inputs": new},
    }
    assert ": before → after |" in table({"steps": [step]})


def test_a_lint_that_knew_no_size_says_so_beside_its_result() -> None:
    findings = {"counts": {"error": 0, "warning": 0}, "findings": []}
    known = comment(REQUEST, outcome(findings=findings, linted_for=("p5.48xlarge",)))
    assert "| lint | passed | 0 error, 0 warning |" in known
    assert (
        "| lint | passed | 0 error, 0 warning, for no size: only what holds on every one was looked at |"
        in comment(REQUEST, outcome(findings=findings))
    )
