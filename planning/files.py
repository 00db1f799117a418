"""Read a file that a user names: text, and no more of it than such a file has."""

from __future__ import annotations

from pathlib import Path

from gpu_fabric.planning.errors import PlanningError

MOST_BYTES = 16 << 20
"""Refreshed prices of many regions are some megabytes; a larger file is something else."""


def text_of(path: Path, what: str) -> str:
    """The text of `path`, which should be `what` ("a stack file"). Raises `PlanningError`."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlanningError([f"{path}: cannot be read ({error.strerror}); give {what}"]) from None
    if len(content) > MOST_BYTES:
        raise PlanningError([f"{path}: is larger than {MOST_BYTES >> 20} MiB; give {what}"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanningError(
            [f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); give {what}"]
        ) from None
