"""What changes between two sets of inputs, and whether that takes a new object.

As the vendors' providers do it, new inputs are compared with what is there: an input that is given for the first
time with the value the object has anyway changes nothing, and neither does leaving out one that the cloud fills in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .resource import ResourceType
from .schema import TypeSchema
from .values import UNKNOWN, join, plain

Kind = Literal["add", "delete", "update"]
_INDEX = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class Change:
    """One property that differs. ``path`` as ``ingress[0].fromPort``."""

    path: str
    kind: Kind
    replaces: bool

    @property
    def top(self) -> str:
        return re.split(r"[.\[]", self.path, maxsplit=1)[0]


def changes(
    type: ResourceType,
    schema: TypeSchema,
    old: Mapping[str, Any],
    old_inputs: Mapping[str, Any],
    news: Mapping[str, Any],
    bridged: bool = True,
) -> list[Change]:
    """The changes from what is there (``old``, asked for as ``old_inputs``) to ``news``.

    All three may hold secrets; ``news`` may hold unknowns, which count as changed. A provider without the bridge
    looks at inputs only; what is there decides no more than whether an input given for the first time replaces.
    """
    old, old_inputs, news = plain(old), plain(old_inputs), plain(news)
    replacing = type.replaces | frozenset(type.replaces_when(old, news))
    if bridged:
        return [
            Change(path, kind, _covered(path, replacing))
            for path, kind in _changes(type, schema, old, old_inputs, news)
        ]
    return [
        Change(path, kind, _covered(path, replacing) and not (kind == "add" and old.get(path) == news[path]))
        for path, kind in _input_changes(type, old_inputs, news)
    ]


def _input_changes(
    type: ResourceType, old_inputs: Mapping[str, Any], news: Mapping[str, Any]
) -> Iterator[tuple[str, Kind]]:
    """As pulumi-azure-native provider/pkg/provider/diff.go, objectDiff and calculateChangesAndReplacements."""
    for name in sorted(set(old_inputs) | set(news)):
        before, after = old_inputs.get(name), news.get(name)
        if name.startswith("__") or (before is None and after is None):
            continue
        if before is None:
            if after is UNKNOWN or after != type.defaults.get(name):
                yield name, "add"
        elif after is None:
            yield name, "delete"
        else:
            yield from _compare(type, name, before, after)


def applied(given: Any, before: Any, now: Any) -> Any:
    """An input, with the difference between two states of the cloud applied to it and nothing else of them.

    As pulumi-azure-native provider/pkg/provider/diff.go, applyValueDiff: what the cloud fills in stays out of the
    inputs, what changed behind the program's back goes in.
    """
    if isinstance(given, Mapping) and isinstance(before, Mapping) and isinstance(now, Mapping):
        result = dict(given)
        for name in set(before) | set(now):
            if before.get(name) == now.get(name):
                continue
            if now.get(name) is None:
                result.pop(name, None)
            else:
                result[name] = applied(given.get(name), before.get(name), now[name])
        return result
    if isinstance(given, list) and isinstance(before, list) and isinstance(now, list):
        known = min(len(given), len(before))
        return [
            item if index >= known else applied(given[index], before[index], item)
            for index, item in enumerate(now)
        ]
    return given if before == now else now


def _changes(
    type: ResourceType,
    schema: TypeSchema,
    old: Mapping[str, Any],
    old_inputs: Mapping[str, Any],
    news: Mapping[str, Any],
) -> Iterator[tuple[str, Kind]]:
    for name in sorted(set(old_inputs) | set(news)):
        if name.startswith("__"):
            continue
        before, after = old_inputs.get(name), news.get(name)
        if after is None:
            if before is None:
                continue
            after = type.defaults.get(name)
            if after is None and (name in type.filled or name in schema.filled):
                continue
            if after is None:
                if not _empty(before):
                    yield name, "delete"
                continue
        if before is not None:
            yield from _compare(type, name, before, after)
            continue
        there = old.get(name)
        if there is not None and not (_empty(there) and not _empty(after)):
            yield from _compare(type, name, _asked_of(there, after), after)
        elif not _empty(after):
            yield name, "add"


def _asked_of(there: Any, asked: Any) -> Any:
    """Of what is there, the part that is asked for: the rest is the cloud's own filling in."""
    if isinstance(there, Mapping) and isinstance(asked, Mapping):
        return {key: _asked_of(there[key], value) for key, value in asked.items() if key in there}
    if isinstance(there, list) and isinstance(asked, list) and len(there) == len(asked):
        return [_asked_of(one, other) for one, other in zip(there, asked, strict=True)]
    return there


def _empty(value: Any) -> bool:
    """The vendors' providers make no difference between absent and an empty list, map or text."""
    return value is not UNKNOWN and value in (None, [], {}, "")


def _compare(type: ResourceType, path: str, before: Any, after: Any) -> Iterator[tuple[str, Kind]]:
    rule = _INDEX.sub("", path)
    if before is UNKNOWN or after is UNKNOWN:
        if before is not after:
            yield path, "update"
        return
    if rule in type.same and not _contains_unknown(after):
        if not type.same[rule](before, after):
            yield path, "update"
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(set(before) | set(after)):
            one, other = before.get(key), after.get(key)
            where = join(path, key)
            if _empty(one) and _empty(other):
                continue
            if key not in before or one is None:
                yield where, "add"
            elif key not in after or other is None:
                yield where, "delete"
            else:
                yield from _compare(type, where, one, other)
    elif isinstance(before, list) and isinstance(after, list):
        if rule in type.unordered:
            before, after = _aligned(before, after)
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _compare(type, f"{path}[{index}]", one, other)
        for index in range(len(before), len(after)):
            yield f"{path}[{index}]", "add"
        for index in range(len(after), len(before)):
            yield f"{path}[{index}]", "delete"
    elif not _same_scalar(before, after):
        yield path, "update"


def _aligned(before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both lists with their common items first, so that only what really differs is left to compare."""
    rest = list(after)
    common, gone = [], []
    for item in before:
        match = next((index for index, other in enumerate(rest) if _same_set_item(item, other)), None)
        if match is None:
            gone.append(item)
        else:
            common.append(rest.pop(match))
    return common + gone, common + rest


def _same_set_item(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(
            (_empty(one.get(key)) and _empty(other.get(key))) or _same_set_item(one.get(key), other.get(key))
            for key in set(one) | set(other)
        )
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(_key, one)) == sorted(map(_key, other))
    return one is other or (one is not UNKNOWN and other is not UNKNOWN and _same_scalar(one, other))


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _same_scalar(before: Any, after: Any) -> bool:
    """Equal, or equal as text: the providers turn ``true`` and ``1`` into text where the type is text."""
    if before == after and isinstance(before, bool) == isinstance(after, bool):
        return True
    return (
        isinstance(before, str | int | float)
        and isinstance(after, str | int | float)
        and _text(before) == _text(after)
    )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _contains_unknown(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_contains_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(_contains_unknown(item) for item in value)
    return value is UNKNOWN


def _covered(path: str, rules: frozenset[str]) -> bool:
    """Whether the path, or one it lies inside, is among the rules."""
    parts = _INDEX.sub("", path).split(".")
    return any(".".join(parts[: length + 1]) in rules for length in range(len(parts)))
