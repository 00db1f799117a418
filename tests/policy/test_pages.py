"""docs/policy.md says what the rules say."""

from __future__ import annotations

import pytest

from gpu_fabric.policy.kinds import KINDS
from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.pages import main, page
from tests.simulated import ROOT


def test_the_page_is_written_from_the_rules() -> None:
    assert (ROOT / "docs" / "policy.md").read_text() == page()


def test_every_address_in_a_message_leads_to_a_heading() -> None:
    headings = {line.removeprefix("## ") for line in page().splitlines() if line.startswith("## ")}
    assert {rule.address for rule in RULES} <= {f"docs/policy.md#{heading}" for heading in headings}


def test_the_section_of_a_rule_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drivers"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("## drivers\n")
    assert printed.rstrip() in page()
    assert main(["drivrs"]) == 2
    assert capsys.readouterr().err.startswith("no rule is called drivrs; there are placement, drivers,")


def test_every_type_that_describes_machines_is_named() -> None:
    for type_ in KINDS:
        assert f"`{type_.partition(':')[0].replace('-', '_')}." in page()
        assert type_.rpartition(":")[2] in page()
