"""Policy documents: JSON, equal whatever the order of keys and single-item lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem
from ..core.values import is_unknown


def parse(text: Any) -> Any:
    """The document, or None if it is none."""
    if isinstance(text, dict):
        return text
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        items = [_plain(item) for item in value]
        return (
            items[0] if len(items) == 1 else sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
        )
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def same_document(one: Any, other: Any) -> bool:
    """Whether two policy documents say the same (hashicorp/awspolicyequivalence compares like this)."""
    if one == other:
        return True
    first, second = parse(one), parse(other)
    return first is not None and second is not None and _plain(first) == _plain(second)


def document_problem(text: Any, path: str) -> Iterator[Problem]:
    """What the provider says of a document that is no JSON."""
    if text is None or is_unknown(text):
        return
    if parse(text) is None:
        yield Problem(path, f'"{path}" contains an invalid JSON policy: not a JSON object')
    elif not isinstance(parse(text), dict):
        yield Problem(
            path,
            f'"{path}" contains an invalid JSON policy: contains a JSON-encoded string, not a JSON-encoded object',
        )
