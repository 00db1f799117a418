"""The keys and commands that the pages on migration and day 2 name are there."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from gpu_fabric.cli import group
from gpu_fabric.components.stack_schema import schema
from tests.simulated import ROOT

KEYS = {
    key for definition in json.loads(schema())["$defs"].values() for key in definition.get("properties", {})
}


@pytest.mark.parametrize("page", ["migration.md", "operations.md"])
def test_every_key_of_the_stack_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    cells = [
        row.split("|")[2] for row in text.splitlines() if row.startswith("| ") and page == "migration.md"
    ]
    named = re.findall(
        r"`([a-z][A-Za-z]*(?:\.[a-z][A-Za-z]*)*)(?::[^`]*)?`", "\n".join(cells) if cells else text
    )
    wrong = {
        name
        for name in named
        for key in name.split(".")
        if re.search(r"[A-Z]|\.", name) and key not in KEYS and not name.startswith("launch.")
    }
    assert wrong == set()


def test_the_commands_of_the_migration_page_run() -> None:
    guide = ROOT / "tests" / "data" / "guide"
    files = [str(guide / "entrypoint.sh"), str(guide / "nccl-topo-p5.xml")]
    linted = CliRunner().invoke(group, ["lint", *files, "--for", "p4d.24xlarge"])
    assert linted.exit_code == 1
    assert "error" in linted.output
    explained = CliRunner().invoke(group, ["environment", "p4d.24xlarge", "--explain"])
    assert explained.exit_code == 0, explained.output
