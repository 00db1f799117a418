"""What of a tag's name each cloud refuses."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.azure.limits import TAG_NAME_FORBIDS
from gpu_fabric.components.problems import Problem

_REMEDY = "choose another key"


def refused_by_aws(key: str) -> Iterator[Problem]:
    if key.lower().startswith("aws:"):
        yield Problem(("tags", key), "the prefix `aws:` is reserved by AWS", _REMEDY)


def refused_by_azure(key: str) -> Iterator[Problem]:
    forbidden = sorted(TAG_NAME_FORBIDS & set(key))
    if forbidden:
        yield Problem(("tags", key), f"Azure refuses {' '.join(forbidden)} in a tag's name", _REMEDY)
