"""The catalog without pydantic: the same rows, for programs on a node that have the standard library alone.

The rows are trusted here; `catalog` checks them, and a test holds that both readers give the same.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from gpu_fabric.nccl.hardware.models import Cloud, NodeSize

Row = TypeVar("Row")


def build(kind: type[Row], values: Mapping[str, Any]) -> Row:
    """A frozen model of the catalog from plain values; KeyError and TypeError where they are of another shape."""
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in values.items()})


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _value(next(argument for argument in arguments if argument is not type(None)), value)
    if origin is tuple:
        return tuple(_value(arguments[0], item) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        return {key: _value(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value)
    return float(value) if hint is float else value


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
