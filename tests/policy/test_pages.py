"""docs/policy.md says what the rules say."""

from __future__ import annotations

from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.pages import page
from tests.simulated import ROOT


def test_the_page_is_written_from_the_rules() -> None:
    assert (ROOT / "docs" / "policy.md").read_text() == page()


def test_every_address_in_a_message_leads_to_a_heading() -> None:
    headings = {line.removeprefix("## ") for line in page().splitlines() if line.startswith("## ")}
    assert {rule.address for rule in RULES} <= {f"docs/policy.md#{heading}" for heading in headings}
