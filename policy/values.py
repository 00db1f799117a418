"""Properties of a resource as plain values, with a mark in place of what a preview cannot know."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pulumi_policy.proxy import UnknownValueError

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Unknown:
    """A value that cannot be read: another resource's creation decides it, or it has a shape that no provider takes."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown()


#: Providers nest far less; what lies deeper is not read.
_DEEPEST = 100


def plain(value: Any, depth: int = 0) -> Any:
    """`value` without pulumi-policy's proxies, which raise at the first unknown value that is touched."""
    if depth > _DEEPEST:
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _entry(value, key, depth) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_entry(value, index, depth) for index in range(len(value))]
    return value


def _entry(holder: Any, key: Any, depth: int) -> Any:
    try:
        return plain(holder[key], depth + 1)
    except UnknownValueError:
        return UNKNOWN


def at(value: Any, path: str) -> list[Any]:
    """Every value at a dotted path, in which `*` stands for each entry of a list.

    What is not there is left out. UNKNOWN stands for what is not known yet and for what has another shape than the
    path: neither can be read. An empty path is the value itself.
    """
    found = [value]
    for step in path.split(".") if path else ():
        found = [inner for each in found for inner in _step(each, step)]
    return [each for each in found if each is not None]


def _step(value: Any, step: str) -> list[Any]:
    if value is None:
        return []
    if step == "*" and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    if step != "*" and isinstance(value, Mapping):
        return [value.get(step)]
    return [UNKNOWN]


def look(value: Any, *path: str) -> Any:
    """The one value at `path`: None where there is none, UNKNOWN where it or something above it cannot be read."""
    return next(iter(at(value, ".".join(path))), None)


def first(value: Any, paths: Sequence[str]) -> Any:
    """The value at the first path that leads to one that is not empty; None where none does."""
    return next((each for path in paths for each in at(value, path) if each != ""), None)


def text(value: Any) -> Any:
    """A text, None for none (or an empty one), or UNKNOWN for anything else."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else UNKNOWN


def number(value: Any) -> Any:
    """A whole number, None for none, or UNKNOWN. Pulumi carries every number as a float, and some as text."""
    if value is None:
        return None
    if isinstance(value, str | int | float):
        try:
            return int(value)
        except (ValueError, OverflowError):
            pass
    return UNKNOWN


def truth(value: Any) -> Any:
    """True, False (also for none) or UNKNOWN. The AWS provider writes some booleans as text."""
    if value is None or isinstance(value, bool):
        return value is True
    if isinstance(value, str) and value.lower() in ("true", "false", ""):
        return value.lower() == "true"
    return UNKNOWN


def any_of(answers: Iterable[Any]) -> Any:
    """True where one is, else UNKNOWN where one is, else False."""
    given = list(answers)
    return True if True in given else UNKNOWN if UNKNOWN in given else False


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
