"""Sizes that the catalog lacks, described in the stack file with the catalog's fields in camelCase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_camel, to_snake

from gpu_fabric.components.problems import Path, Problem
from gpu_fabric.nccl.hardware import Cloud, NodeSize, load_sizes
from gpu_fabric.nccl.hardware.catalog import SizeRowError, size_from_row


def _in_snake_case(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {to_snake(str(key)): _in_snake_case(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_in_snake_case(item) for item in value]
    return value


def read_sizes(given: Any, path: Path) -> tuple[Mapping[str, NodeSize], list[Problem]]:
    """The catalog with the user's sizes in front of it, and what is wrong with those.

    `given` maps a size's name to its row with one more key, `cloud` (`aws` or `azure`).
    """
    sizes, problems = dict(load_sizes()), list[Problem]()
    if not isinstance(given, Mapping):
        return sizes, [Problem(path, "is not a map", "write each size as `name: {cloud: …, vcpus: …, …}`")]
    for name, row in given.items():
        here = (*path, str(name))
        if not isinstance(row, Mapping):
            problems.append(Problem(here, "is not a map", "give the fields of a catalog row"))
            continue
        fields = {"source": "stack file", "date": "given by the user", **_in_snake_case(row)}
        cloud = fields.pop("cloud", None)
        if not isinstance(cloud, str) or cloud not in set(Cloud):
            problems.append(Problem((*here, "cloud"), f"{cloud!r} is not a cloud", "give `aws` or `azure`"))
            continue
        try:
            sizes[str(name)] = size_from_row(str(name), Cloud(cloud), fields)
        except SizeRowError as refused:
            for where, what in refused.problems:
                place = tuple(to_camel(part) for part in where.split(".") if part)
                problems.append(
                    Problem((*here, *place), what, "docs/sizes.md explains the fields of a catalog row")
                )
    return sizes, problems
