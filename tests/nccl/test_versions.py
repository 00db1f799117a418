"""Versions of NCCL and the plugin, as people write them, and the ranges that rules name."""

from __future__ import annotations

import pytest

from gpu_fabric.nccl.versions import Version, in_range, parse_version


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.30.7", Version(2, 30, 7)),
        ("2.30", Version(2, 30, 0)),
        ("v1.21.1-aws", Version(1, 21, 1)),
        ("2.30.7-1+cuda12.8", Version(2, 30, 7)),
        (" 2.30.7", Version(2, 30, 7)),
    ],
)
def test_a_version_is_read_as_people_write_it(text: str, expected: Version) -> None:
    assert parse_version(text) == expected


@pytest.mark.parametrize("text", ["", "2", "latest", "2.x", "2.30.7.1", "1" * 30 + ".2"])
def test_what_is_no_version_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version such as"):
        parse_version(text)


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        (">=2.23", True),
        (">2.23", False),
        ("<=2.23.0", True),
        ("<2.23", False),
        ("==2.23", True),
        (">=2.21,<2.24", True),
        (">=2.21,<2.23", False),
    ],
)
def test_a_range_holds_when_every_bound_does(bounds: str, holds: bool) -> None:
    assert in_range(Version(2, 23), bounds) is holds


def test_numbers_are_compared_as_numbers() -> None:
    assert parse_version("2.9.9") < parse_version("2.23")


def test_a_bound_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a bound such as"):
        in_range(Version(2, 23), "2.23")
