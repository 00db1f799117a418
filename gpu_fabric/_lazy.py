"""Names of a package that are loaded when they are first used.

Reading a stack file needs no cloud SDK, and a cluster on one cloud not the SDK of the other; each takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__` for names that stand in `modules` with the module that defines them."""

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return attribute
