"""What the standard library of Python 3.8 to 3.10 lacks of what this program uses, put there before the rest is read.

Python 3.8 is that of Ubuntu 20.04, 3.9 that of Amazon Linux 2023, 3.10 that of Ubuntu 22.04. Only the one file that
`zipapp` makes asks for this, and only there: it is the whole process. What no module can put there (a method of
`str`, `match`, `with (…)`) the part of `nccl` that travels does without; tests hold that.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import importlib.resources
import itertools
import pkgutil
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_MISSING = object()


class StrEnum(str, enum.Enum):
    """enum.StrEnum of Python 3.11."""

    __str__ = str.__str__
    __format__ = str.__format__

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> str:
        return name.lower()


def cache(function: Callable[..., Any]) -> Callable[..., Any]:
    """functools.cache of Python 3.9."""
    return functools.lru_cache(maxsize=None)(function)


def pairwise(iterable: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """itertools.pairwise of Python 3.10."""
    first, second = itertools.tee(iterable)
    next(second, None)
    return zip(first, second)


def strict_zip(plain: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """zip with `strict`, of Python 3.10."""

    def zipped(*iterables: Iterable[Any], strict: bool = False) -> Iterator[Any]:
        return _all_as_long(iterables) if strict else plain(*iterables)

    return zipped


def _all_as_long(iterables: tuple[Iterable[Any], ...]) -> Iterator[tuple[Any, ...]]:
    for row in itertools.zip_longest(*iterables, fillvalue=_MISSING):
        if any(value is _MISSING for value in row):
            raise ValueError("zip(): the arguments are not of one length")
        yield row


def keyword_dataclass(plain: Callable[..., Any]) -> Callable[..., Any]:
    """dataclasses.dataclass with `kw_only`, of Python 3.10: fields without a default may come after others."""

    def dataclass(cls: Any = None, *, kw_only: bool = False, **options: Any) -> Any:
        if not kw_only:
            return plain(cls, **options)

        def made(kind: Any) -> Any:
            kind.__init__ = _by_keyword
            return plain(init=False, **options)(kind)

        return made if cls is None else made(cls)

    return dataclass


def _by_keyword(self: Any, **given: Any) -> None:
    for field in dataclasses.fields(self):
        if field.name in given:
            value = given.pop(field.name)
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            value = field.default
        if value is dataclasses.MISSING:
            raise TypeError(f"{type(self).__name__}: {field.name} is missing")
        # A frozen object takes its values so.
        object.__setattr__(self, field.name, value)
    if given:
        raise TypeError(f"{type(self).__name__} has no {', '.join(given)}")
    if hasattr(self, "__post_init__"):
        self.__post_init__()


class PackageFile:
    """A file beside a package's modules, as importlib.resources.files of Python 3.9 gives it."""

    def __init__(self, package: str, name: str = "") -> None:
        self._package, self._name = package, name

    def joinpath(self, name: str) -> PackageFile:
        return PackageFile(self._package, name)

    def read_bytes(self) -> bytes:
        try:
            data = pkgutil.get_data(self._package, self._name)
        except OSError:
            data = None
        if data is None:
            raise FileNotFoundError(self._name)
        return data

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def is_file(self) -> bool:
        try:
            self.read_bytes()
        except FileNotFoundError:
            return False
        return True


def install(backport: str) -> None:
    """Put there what this Python lacks. `backport` is where `tomllib`, of Python 3.11, lies."""
    if sys.version_info < (3, 11):
        sys.path.append(backport)
        _set(enum, "StrEnum", StrEnum)
    if sys.version_info < (3, 10):
        _set(itertools, "pairwise", pairwise)
        _set(typing, "TypeAlias", object)
        _set(builtins, "zip", strict_zip(zip))
        _set(dataclasses, "dataclass", keyword_dataclass(dataclasses.dataclass))
    if sys.version_info < (3, 9):
        _set(functools, "cache", cache)
        _set(importlib.resources, "files", PackageFile)


def _set(module: Any, name: str, value: Any) -> None:
    setattr(module, name, value)
