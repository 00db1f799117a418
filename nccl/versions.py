"""Versions of NCCL and of its plugin, and the ranges in which a statement about them holds."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_VERSION: Final = re.compile(r"\s*v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?![.\d])")
_BOUND: Final = re.compile(r"(>=|<=|>|<|==)\s*(.+)")
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}


@dataclass(frozen=True, order=True)
class Version:
    """Major, minor, patch; a missing patch is 0. Build suffixes (`-1`, `-aws`) do not count."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse_version(text: str) -> Version:
    """`2.30.7`, `2.30`, `v1.21.1-aws` and the like; ValueError names the text otherwise."""
    match = _VERSION.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version such as 2.30.7")
    major, minor, patch = match.groups()
    return Version(int(major), int(minor), int(patch or 0))


def in_range(version: Version, bounds: str) -> bool:
    """Whether every bound of a comma-separated list holds: `in_range(v, ">=2.23,<2.30")`."""
    for bound in bounds.split(","):
        match = _BOUND.fullmatch(bound.strip())
        if match is None:
            raise ValueError(f"{bound!r} is not a bound such as >=2.23")
        if not _COMPARE[match[1]](version, parse_version(match[2])):
            return False
    return True
