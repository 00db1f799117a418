"""How the AWS provider words a refusal.

The text is that of terraform-provider-aws v6 with the AWS SDK for Go v2: what it was doing, the operation, the HTTP
status, the request id, the API's code and sentence. Only the request id gives the simulation away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import ResourceType

_VERBS = {
    "create": "creating",
    "update": "updating",
    "delete": "deleting",
    "read": "reading",
    "invoke": "reading",
}

_MODELLED = frozenset(
    {
        "DirectConnectClientException",
        "InvalidParameterException",
        "InvalidRequestException",
        "ResourceInUseException",
        "ResourceNotFoundException",
    }
)
"""Codes that the AWS SDK for Go has a type for, Direct Connect's and EKS's: they are printed without "api error"
(terraform-provider-aws#43499)."""


def refusal_text(type: ResourceType | None, operation: str, label: str, refusal: Refusal) -> str:
    """``creating EC2 Subnet: operation error EC2: CreateSubnet, … api error InvalidSubnet.Conflict: …``"""
    kind = "" if refusal.code in _MODELLED else "api error "
    api = (
        f"https response error StatusCode: {refusal.status}, RequestID: simulated, "
        f"{kind}{refusal.code}: {refusal.message}"
    )
    if type is None:
        return f"{refusal.doing}: {api}" if refusal.doing else api
    target = f"{type.title} ({label})" if label and operation != "create" else type.title
    doing = refusal.doing or type.doing.get(operation, "").format(id=label) or f"{_VERBS[operation]} {target}"
    call = refusal.call or type.calls.get(operation) or f"{operation.title()}{type.token.rpartition(':')[2]}"
    return f"{doing}: operation error {type.service or 'EC2'}: {call}, {api}"


def not_found(what: str, id: str, code: str) -> Refusal:
    """EC2's refusal of an id that names nothing."""
    return Refusal(code, f"The {what} '{id}' does not exist")


def need(tx: Any, kind: str, id: str, what: str, code: str) -> Mapping[str, Any]:
    """The object with the id, or EC2's refusal."""
    found = tx.get(kind, id)
    if found is None:
        raise not_found(what, id, code)
    return found


DX = "DirectConnectClientException"
"""The one code that Direct Connect has for a wrong request (API Reference, CommonErrors)."""


def rule(message: str, source: str, *, code: str = DX) -> Refusal:
    """A refusal whose rule is published and whose sentence is not: the message names the rule's source."""
    return Refusal(code, f"{message} [rule: {source}; the wording is the simulation's]")
