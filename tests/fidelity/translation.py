"""From a provider's properties to another API's parameters, by table. Nothing is dropped without a written reason.

A table gives each property of a resource type a `To` (where it goes) or a `Nowhere` (why it is not sent). A property
that no table has raises `UntranslatedError`, so that a new one cannot pass unseen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.components.recorder import Declared


class UntranslatedError(Exception):
    """A resource type or property that no table has."""


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class To:
    """A property's place in a target."""

    path: str = ""
    """Dotted, a list's place in brackets (`IpPermissions[0].FromPort`); empty: the property's own name, capitalised;
    a dot alone: the converted object's members become members of the target."""
    convert: Callable[[Any], Any] = same
    target: str = ""
    """Name of the target that takes it; empty: the resource's first."""


@dataclass(frozen=True)
class Nowhere:
    """A property that is not sent when the resource is created."""

    reason: str


Table = Mapping[str, To | Nowhere | tuple[To, ...]]

#: The property's own name with a capital, value as it is.
SAME = To()


@dataclass(frozen=True)
class Target:
    """One request, or one resource of another system."""

    fixed: Callable[[Declared], Mapping[str, Any]] = lambda _: {}
    """What is sent beside the properties."""
    always: bool = True
    """False: sent only where a property goes into it."""


@dataclass(frozen=True)
class Resource:
    """How a resource type is translated."""

    targets: Mapping[str, Target]
    properties: Table = field(default_factory=dict)


@dataclass(frozen=True)
class Translated:
    """The parameters of one target."""

    target: str
    parameters: dict[str, Any]
    source: Declared


_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _put(into: Any, path: str, value: Any) -> None:
    if path == ".":
        into.update(value)
        return
    steps = [int(index) if index else key for key, index in _STEP.findall(path)]
    inside = into
    for step, following in pairwise([*steps, None]):
        if isinstance(step, int):
            inside.extend([None] * (step + 1 - len(inside)))
        if following is None:
            inside[step] = value
        else:
            empty: Any = [] if isinstance(following, int) else {}
            found = inside[step] if isinstance(step, int) else inside.get(step)
            inside[step] = empty if found is None else found
            inside = inside[step]


def _place(name: str, to: To) -> str:
    return to.path or name[0].upper() + name[1:]


def structure(table: Table) -> Callable[[Any], dict[str, Any]]:
    """A conversion of one nested object by its own table."""

    def convert(value: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, inner in value.items():
            rule = table.get(name)
            if rule is None:
                raise UntranslatedError(name)
            for to in _places(rule):
                _put(result, _place(name, to), _converted(name, to, inner))
        return result

    return convert


def structures(table: Table) -> Callable[[Any], list[dict[str, Any]]]:
    """A conversion of a list of nested objects by their table."""
    one = structure(table)
    return lambda values: [one(value) for value in values]


def _places(rule: To | Nowhere | tuple[To, ...]) -> Iterable[To]:
    if isinstance(rule, Nowhere):
        return ()
    return rule if isinstance(rule, tuple) else (rule,)


def _converted(name: str, to: To, value: Any) -> Any:
    try:
        return to.convert(value)
    except UntranslatedError as error:
        raise UntranslatedError(f"{name}.{error}") from None


def translate(
    declared: Declared, resources: Mapping[str, Resource | Callable[[Declared], Resource]]
) -> list[Translated]:
    """Every target of one resource, in the order of its table. Raises UntranslatedError."""
    found = resources.get(declared.type)
    if found is None:
        raise UntranslatedError(declared.type)
    resource = found if isinstance(found, Resource) else found(declared)
    first = next(iter(resource.targets), "")
    filled: dict[str, dict[str, Any]] = {}
    for name, value in declared.inputs.items():
        rule = resource.properties.get(name)
        if rule is None:
            raise UntranslatedError(f"{declared.type}.{name}")
        for to in _places(rule):
            try:
                converted = _converted(name, to, value)
            except UntranslatedError as error:
                raise UntranslatedError(f"{declared.type}.{error}") from None
            _put(filled.setdefault(to.target or first, {}), _place(name, to), converted)
    result = []
    for target, how in resource.targets.items():
        if how.always or target in filled:
            parameters = filled.get(target, {})
            for path, value in how.fixed(declared).items():
                _put(parameters, path, value)
            result.append(Translated(target, parameters, declared))
    return result


def flag(value: bool | str) -> bool:
    """The provider writes a boolean that may be unset as the text `true` or `false`."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}[value]


def key_values(value: Mapping[str, str]) -> list[dict[str, str]]:
    """A map of tags as the list that the cloud's APIs take, in the order of the keys."""
    return [{"Key": key, "Value": value[key]} for key in sorted(value)]


def nowhere(resources: Mapping[str, Resource | Callable[[Declared], Resource]]) -> dict[str, str]:
    """`type.property` → why it is not sent, of every table that is the same for all resources of its type."""
    return {
        f"{type_}.{name}": rule.reason
        for type_, resource in resources.items()
        if isinstance(resource, Resource)
        for name, rule in resource.properties.items()
        if isinstance(rule, Nowhere)
    }
