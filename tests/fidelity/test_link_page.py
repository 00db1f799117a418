"""The link's part of docs/fidelity.md says what the tests know."""

from __future__ import annotations

from tests.fidelity import link_page
from tests.fidelity.markdown import PAGE


def test_the_page_says_who_judges_the_requests_of_the_link() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == link_page.with_link_part(text), "write it anew: python -m tests.fidelity.link_page"
