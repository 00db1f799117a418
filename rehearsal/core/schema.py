"""The properties a resource type has, and whether a set of inputs fits them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from .errors import Problem
from .values import join, plain

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Wording:
    """How a vendor's provider says that an input does not fit. Each takes the path first."""

    missing: Callable[[str, str], str]
    """(path, name)"""
    unknown: Callable[[str, str, str], str]
    """(path, name, hint)"""
    mismatch: Callable[[str, str, Any], str]
    """(path, wanted type as a word of the schema, value)"""
    converts: bool = True
    """Whether the provider turns numbers into text and the reverse, where that can be done."""


_ENGINE_KEYS = ("id", "urn", "version", "pluginDownloadURL")


@dataclass(frozen=True)
class TypeSchema:
    """The inputs and outputs of one resource type, as words of :mod:`.sdk_schema`."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @cached_property
    def computed(self) -> frozenset[str]:
        """Outputs that no program gives: only the cloud knows them."""
        return frozenset(self.outputs) - frozenset(self.inputs)

    @cached_property
    def filled(self) -> frozenset[str]:
        """Inputs that a program may leave out and that always have a value afterwards."""
        return frozenset(
            name
            for name, word in self.inputs.items()
            if not word.endswith("!") and self.outputs.get(name, "").endswith("!")
        )


@dataclass(frozen=True)
class Schema:
    """A cloud's ``schema.json``."""

    package: str
    version: str
    config: Mapping[str, str]
    types: Mapping[str, TypeSchema]
    objects: Mapping[str, Mapping[str, str]]
    functions: Mapping[str, Mapping[str, list[str]]]

    def problems(
        self, inputs: Mapping[str, Any], specs: Mapping[str, str], wording: Wording | None = None
    ) -> Iterator[Problem]:
        """Everything in ``inputs`` that does not fit: unknown names, missing ones, values of another type.

        Unknown values fit everywhere. The engine's and the provider's own names (``__defaults``) are passed over.
        """
        given = {
            key: plain(value)
            for key, value in inputs.items()
            if key not in _ENGINE_KEYS and not key.startswith("__")
        }
        yield from self._object(given, specs, "", wording or BRIDGED)

    def _object(
        self, given: Mapping[str, Any], specs: Mapping[str, str], path: str, wording: Wording
    ) -> Iterator[Problem]:
        for name, value in sorted(given.items()):
            where = join(path, name)
            if name not in specs:
                yield Problem(where, wording.unknown(where, name, _hint(name, specs)))
            elif value is not None:
                yield from self._value(value, specs[name].rstrip("!"), where, wording)
        for name, word in specs.items():
            if word.endswith("!") and given.get(name) is None:
                where = join(path, name)
                yield Problem(where, wording.missing(where, name))

    def _value(self, value: Any, word: str, path: str, wording: Wording) -> Iterator[Problem]:
        if word == "any" or not isinstance(value, str | int | float | bool | list | dict):
            return
        if word.startswith("@"):
            if isinstance(value, dict):
                yield from self._object(value, self.objects[word[1:]], path, wording)
            else:
                yield Problem(path, wording.mismatch(path, word, value))
        elif word.startswith("["):
            if isinstance(value, list):
                for index, item in enumerate(value):
                    yield from self._value(item, word[1:-1], f"{path}[{index}]", wording)
            else:
                yield Problem(path, wording.mismatch(path, word, value))
        elif word.startswith("{"):
            if isinstance(value, dict):
                for key, item in value.items():
                    yield from self._value(item, word[1:-1], join(path, key), wording)
            else:
                yield Problem(path, wording.mismatch(path, word, value))
        elif not (_fits(value, word) if wording.converts else _is(value, word)):
            yield Problem(path, wording.mismatch(path, word, value))


def _fits(value: Any, word: str) -> bool:
    """Whether a scalar has the type, with the conversions the vendors' providers make.

    They turn numbers and booleans into text, and text into numbers and booleans where it reads as one.
    """
    if word == "string":
        return isinstance(value, str | int | float | bool)
    if isinstance(value, bool):
        return word == "boolean"
    if isinstance(value, str):
        if word == "boolean":
            return value in ("true", "false")
        try:
            number = float(value)
        except ValueError:
            return False
        return word == "number" or number.is_integer()
    return isinstance(value, _KINDS[word])


def _is(value: Any, word: str) -> bool:
    """Whether a scalar has the type as it stands."""
    if word == "integer":
        return not isinstance(value, bool) and isinstance(value, int | float) and float(value).is_integer()
    return isinstance(value, _KINDS[word]) and isinstance(value, bool) == (word == "boolean")


def kind_of(value: Any) -> str:
    """A value's type with its article, for a message."""
    words = {dict: "a map", list: "a list", bool: "a boolean", str: "a string"}
    return words.get(type(value), "a number")


def _bridged_mismatch(path: str, word: str, value: Any) -> str:
    kinds = {"@": "an object", "[": "a list", "{": "a map"}
    wanted = kinds.get(word[0]) or f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
    shown = f" ({value!r})" if isinstance(value, int | float | str | bool) else ""
    return f"expected {wanted}, got {kind_of(value)}{shown}"


def _hint(name: str, specs: Mapping[str, str]) -> str:
    close = get_close_matches(name, specs, n=1)
    return f'did you mean "{close[0]}"?' if close else f"known here: {', '.join(sorted(specs))}"


BRIDGED = Wording(
    missing=lambda path, name: (
        f'Missing required argument. The argument "{name}" is required, but no definition was found.'
    ),
    unknown=lambda path, name, hint: (
        f'Unsupported argument. An argument named "{name}" is not expected here; {hint}'
    ),
    mismatch=_bridged_mismatch,
)
"""The words of pulumi-terraform-bridge (pkg/tfbridge/provider.go)."""


def load(path: Path) -> Schema:
    """Read a ``schema.json``."""
    document = json.loads(path.read_text())
    return Schema(
        package=document["package"],
        version=document["version"],
        config=document["config"],
        types={
            token: TypeSchema(each["inputs"], each["outputs"]) for token, each in document["types"].items()
        },
        objects=document["objects"],
        functions=document["functions"],
    )
