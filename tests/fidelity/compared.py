"""What a third party made of a request, compared with what was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def lost(sent: Any, read: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """(place, difference) where what was read lacks what was sent, or differs from it; list places are left out."""
    if isinstance(sent, Mapping):
        for name, value in sent.items():
            inside = f"{where}.{name}" if where else name
            if not isinstance(read, Mapping) or name not in read:
                yield inside, "is missing"
            else:
                yield from lost(value, read[name], inside)
    elif isinstance(sent, list):
        if not isinstance(read, list) or len(read) != len(sent):
            found = len(read) if isinstance(read, list) else "no"
            yield where, f"has {found} items instead of {len(sent)}"
        else:
            for one, other in zip(sent, read, strict=True):
                yield from lost(one, other, where)
    elif sent != read:
        yield where, f"is {read!r} instead of {sent!r}"
