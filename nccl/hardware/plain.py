"""The catalog without pydantic: the same rows, for programs on a node that have the standard library alone.

The rows are trusted here; `catalog` checks them, and a test holds that both readers give the same.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from gpu_fabric.nccl.hardware import models
from gpu_fabric.nccl.hardware.models import Cloud, NodeSize

Row = TypeVar("Row")


def build(kind: type[Row], values: Mapping[str, Any]) -> Row:
    """A frozen model of the catalog from plain values; KeyError and TypeError where they are of another shape."""
    return kind(**{name: _value(_annotations(kind)[name], value) for name, value in values.items()})


@cache
def _annotations(kind: type[Any]) -> Mapping[str, ast.expr]:
    """Field → annotation as it is written: Python 3.8 cannot evaluate `int | None` or `tuple[str, ...]`."""
    return {field.name: ast.parse(str(field.type), mode="eval").body for field in fields(kind)}


def _value(annotation: ast.expr, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(annotation, ast.BinOp):  # `X | None`
        return _value(annotation.left, value)
    if isinstance(annotation, ast.Subscript):
        return _collection(annotation, value)
    assert isinstance(annotation, ast.Name)
    kind = getattr(models, annotation.id, None)
    if is_dataclass(kind) and isinstance(kind, type):
        return build(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return float(value) if annotation.id == "float" else value


def _collection(annotation: ast.Subscript, value: Any) -> Any:
    """`tuple[X, ...]` or `Mapping[str, X]`."""
    # Python 3.8 wraps what stands in the brackets once more.
    inside: Any = getattr(annotation.slice, "value", annotation.slice)
    first, second = inside.elts
    if isinstance(annotation.value, ast.Name) and annotation.value.id == "tuple":
        return tuple(_value(first, item) for item in value)
    return {key: _value(second, item) for key, item in value.items()}


@cache
def plain_sizes() -> Mapping[str, NodeSize]:
    """Every size of the catalog by name."""
    sizes: dict[str, NodeSize] = {}
    for cloud in Cloud:
        text = files("gpu_fabric.nccl.hardware").joinpath(f"{cloud.value}.toml").read_text(encoding="utf-8")
        document = tomllib.loads(text)
        for name, own in document["sizes"].items():
            row = {**document["defaults"], **own, "name": name, "cloud": cloud.value}
            override = row.pop("pci_override", {})
            if "pci" in row:
                row["pci"] = {**document["pci_layouts"][row["pci"]], **override}
            sizes[name] = build(NodeSize, row)
    return sizes
