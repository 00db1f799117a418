"""How the Megaport provider says no: a summary and a detail (internal/provider/vxc_resource.go)."""

from __future__ import annotations

from ..core.errors import Refusal
from ..core.resource import ResourceType


def refusal_text(type: ResourceType | None, operation: str, label: str, refusal: Refusal) -> str:
    """``Error Deleting VXC: Could not delete VXC, unexpected error: …``"""
    return f"{refusal.code}: {refusal.message}"


def rule(title: str, message: str, source: str, *, verb: str = "Creating") -> Refusal:
    """A refusal whose rule is known and whose sentence is not."""
    return Refusal(
        f"Error {verb} {title}",
        f"Could not {verb.lower().removesuffix('ing')}e {title}, unexpected error: {message} [rule: {source}; the "
        f"wording is the simulation's]",
    )
