"""What became of the last update, as the local backend keeps it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gpu_fabric.engine.history import checkpoint_in, failed_in


def _updates(folder: Path, *results: str) -> Path:
    for number, result in enumerate(results):
        name = f"dev-179600000000000000{number}.history.json"
        (folder / name).write_text(json.dumps({"kind": "update", "result": result}))
        # Beside each the backend keeps the state, and attributes of both.
        (folder / f"{name}.attrs").write_text("{}")
        (folder / name.replace("history", "checkpoint")).write_text(json.dumps({"result": "failed"}))
    return folder


@pytest.mark.parametrize(
    ("results", "failed"),
    [(("failed",), True), (("succeeded", "failed"), True), (("failed", "succeeded"), False), ((), False)],
)
def test_the_newest_update_decides(tmp_path: Path, results: tuple[str, ...], failed: bool) -> None:
    assert failed_in(_updates(tmp_path, *results)) is failed


def test_a_stack_that_never_had_one_did_not_fail(tmp_path: Path) -> None:
    assert failed_in(tmp_path / "absent") is False


def test_what_a_killed_run_left_half_written_says_nothing(tmp_path: Path) -> None:
    (_updates(tmp_path, "failed") / "dev-1796000000000000009.history.json").write_text('{"kind": "upd')
    assert failed_in(tmp_path) is False


def test_a_stacks_state_is_read_packed_or_not_and_is_empty_where_it_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text('{"version": 3}')
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(b'{"version": 4}'))
    (tmp_path / "cut.json").write_text('{"vers')
    found = [checkpoint_in(tmp_path, name) for name in ("plain", "packed", "cut", "none")]
    assert found == [{"version": 3}, {"version": 4}, {}, {}]
