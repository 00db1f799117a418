"""docs/stack-file.md says what the settings say."""

from __future__ import annotations

from pathlib import Path

from gpu_fabric.components.reference import render

PAGE = Path(__file__).parents[2] / "docs" / "stack-file.md"


def test_the_page_is_the_one_that_the_settings_render() -> None:
    assert PAGE.read_text() == render(), "run: python -m gpu_fabric.components.reference > docs/stack-file.md"


def test_every_key_says_what_it_means() -> None:
    silent = [row for row in render().splitlines() if row.startswith("| `") and row.endswith("|  |")]
    assert silent == []
