"""How Equinix Fabric says no."""

from __future__ import annotations

from ..core.errors import Refusal
from ..core.resource import ResourceType

_VERBS = {"create": "creating", "update": "updating", "delete": "deleting", "read": "reading"}
UNPUBLISHED = "EQ-SIMULATED"
"""Stands where the code of a refusal is not published."""


def refusal_text(type: ResourceType | None, operation: str, label: str, refusal: Refusal) -> str:
    """``creating Fabric Connection: 400 Bad Request: EQ-3142539: …``"""
    doing = f"{_VERBS.get(operation, operation)} {type.title if type else 'Fabric'}"
    status = {400: "400 Bad Request", 404: "404 Not Found", 409: "409 Conflict"}[refusal.status]
    return f"{doing}: {status}: {refusal.code}: {refusal.message}"


def rule(message: str, source: str, *, status: int = 400) -> Refusal:
    """A refusal whose rule is known and whose code and sentence are not."""
    return Refusal(UNPUBLISHED, f"{message} [rule: {source}; the wording is the simulation's]", status=status)
