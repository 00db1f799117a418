"""Arguments that clusters on any cloud share. One type a name: they all become one module of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict


class NcclArgs(TypedDict, total=False):
    environment: Mapping[str, str]
    """Variables of yours; they win."""
    topology: str
    """`default`, `active` or `installed`."""


class BootstrapArgs(TypedDict, total=False):
    after: Sequence[str]
    """Shell commands that run on the node after ours."""
