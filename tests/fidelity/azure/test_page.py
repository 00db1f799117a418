"""The Azure part of docs/fidelity.md says what the tests know."""

from __future__ import annotations

import pytest

from tests.fidelity.azure import page
from tests.fidelity.azure.differences import DIFFERENCES, EVERY_PART
from tests.fidelity.markdown import PAGE


def test_the_page_lists_the_differences_and_tables_of_the_tests() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page.with_azure_part(text), "write it anew: python -m tests.fidelity.azure.page"


def test_every_difference_shows_in_a_part_that_is_judged_and_is_listed_once() -> None:
    assert {part for one in DIFFERENCES for part in one.parts} <= set(EVERY_PART)
    places = [(one.where, one.says) for one in DIFFERENCES]
    assert len(places) == len(set(places))
    assert all(one.reason.endswith(".") for one in DIFFERENCES)


def test_a_page_without_the_marks_is_not_written_over() -> None:
    with pytest.raises(ValueError, match=r"fidelity\.md: the Azure part stands between the lines"):
        page.with_azure_part("# Another page\n")
