"""Every name that begins with NCCL_: read by the library, gone, deprecated, later, mistaken, or somebody else's."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final

NAMES_VERSION: Final = "2.30.7"
"""The release whose names `known_names` lists."""


@cache
def known_names() -> frozenset[str]:
    """The 245 names that the library core of NCCL 2.30.7 reads."""
    text = files(__package__).joinpath(f"nccl-{NAMES_VERSION}.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.split() if line.startswith("NCCL_"))


@cache
def lifecycle() -> Mapping[str, Any]:
    """The tables of `lifecycle.toml`."""
    return tomllib.loads(files(__package__).joinpath("lifecycle.toml").read_text(encoding="utf-8"))


@cache
def first_seen() -> Mapping[str, tuple[str, str]]:
    """Name → the first release that was seen with it, and the last that was seen without (`first_seen.toml`)."""
    rows = tomllib.loads(files(__package__).joinpath("first_seen.toml").read_text(encoding="utf-8"))["seen"]
    return {name: (row["first"], row["absent"]) for row in rows for name in row["names"]}


def belongs_to_others(name: str) -> bool:
    """Whether a name that begins with NCCL_ is read by another program than NCCL."""
    others = lifecycle()["others"]
    return name in others["names"] or name in others["renamed"] or name.startswith(tuple(others["prefixes"]))


def nearest_name(name: str) -> str | None:
    """The known name that was probably meant: a published mistake, other case, or a small difference in spelling."""
    upper = name.upper()
    mistaken = lifecycle()["mistaken"].get(upper)
    if mistaken:
        return mistaken
    if upper in known_names():
        return upper
    near = get_close_matches(upper, sorted(known_names()), n=1, cutoff=0.82)
    return near[0] if near else None
