"""`benchmarks/planning_fit.py`: what it prints is what the model does."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpu_fabric.planning.accuracy import accuracy_toml

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "planning_fit.py"


@pytest.fixture(scope="module")
def main():
    return runpy.run_path(str(SCRIPT))["main"]


def test_the_tables_have_both_parts_the_left_out_rows_and_the_guide(main):
    ran = CliRunner().invoke(main, [])
    assert ran.exit_code == 0, ran.output
    for words in (
        "busbw, all platforms",
        "step time, error by software stack",
        "published rows that are not used",
        "the guide's benchmark table",
        "p6-b200.48xlarge",
        "two-node",
    ):
        assert words in ran.output


def test_the_errors_it_prints_for_the_reports_are_those_of_today(main):
    ran = CliRunner().invoke(main, ["--accuracy"])
    assert (ran.exit_code, ran.output) == (0, accuracy_toml())
