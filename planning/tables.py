"""Read the package's data files: one cached reader each for TOML and CSV."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_toml(name: str) -> Mapping[str, Any]:
    """`planning/data/<name>` as a mapping. The caller must not change it."""
    return tomllib.loads(files("gpu_fabric.planning").joinpath("data", name).read_text(encoding="utf-8"))


@cache
def read_csv(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of `planning/data/<name>`, each by column name."""
    text = files("gpu_fabric.planning").joinpath("data", name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def with_inheritance(rows: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Row `name`, with what it does not say taken from the row that its `inherit` names."""
    row = dict(rows[name])
    parent = row.pop("inherit", None)
    return row if parent is None else {**with_inheritance(rows, parent), **row}
