"""The AWS rows agree with EC2's own description, but for the differences that are listed with their reason."""

from __future__ import annotations

from pathlib import Path

from tests.nccl import catalog_fidelity as fidelity

PAGE = Path(__file__).parents[2] / "docs" / "fidelity-catalog.md"


def test_every_difference_from_the_description_of_ec2_is_listed_with_its_values() -> None:
    found = dict(fidelity.differences())
    listed = {place: (conflict.ours, conflict.ec2) for place, conflict in fidelity.CONFLICTS.items()}
    assert found == listed


def test_every_row_is_compared_or_known_to_be_missing_from_the_record() -> None:
    missing = set(fidelity.aws_sizes()) - set(fidelity.ec2_descriptions())
    assert missing == set(fidelity.NOT_RECORDED)


def test_the_page_of_differences_is_the_one_the_table_gives() -> None:
    assert PAGE.read_text(encoding="utf-8") == fidelity.page(), (
        "write it anew: python -m tests.nccl.catalog_fidelity > docs/fidelity-catalog.md"
    )
