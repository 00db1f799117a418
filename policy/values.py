"""Properties of a resource as plain values, with a mark in place of what a preview cannot know."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from pulumi_policy.proxy import UnknownValueError

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Unknown:
    """A value that another resource's creation decides."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown()


def plain(value: Any) -> Any:
    """`value` without pulumi-policy's proxies, which raise at the first unknown value that is touched."""
    if isinstance(value, Mapping):
        return {key: _entry(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_entry(value, index) for index in range(len(value))]
    return value


def _entry(holder: Any, key: Any) -> Any:
    try:
        return plain(holder[key])
    except UnknownValueError:
        return UNKNOWN


def look(value: Any, *path: str) -> Any:
    """The value at `path`: None where there is none, UNKNOWN where it or something above it is."""
    for key in path:
        if value is UNKNOWN:
            return UNKNOWN
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def items(value: Any) -> list[Any]:
    """The entries of a list; none for anything else. Ask `is UNKNOWN` first."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def truth(value: Any) -> Any:
    """True, False or UNKNOWN. The AWS provider writes some booleans as text."""
    if value is UNKNOWN:
        return UNKNOWN
    return value is True or (isinstance(value, str) and value.lower() == "true")


def network(text: Any) -> Network | None:
    """An address block; None for what is none (a service tag, an unknown value)."""
    if not isinstance(text, str):
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def overlap(one: Network, other: Network) -> bool:
    """Whether two blocks share addresses; blocks of different IP versions never do."""
    return one.version == other.version and one.overlaps(other)
