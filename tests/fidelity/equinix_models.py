"""Requests to Equinix Fabric, judged by the pydantic models of Equinix's own SDK for Python.

The provider's properties have the API's names, so a request is the resource's inputs without what stands in the path
(equinix/terraform-provider-equinix, internal/resources/fabric). The models (`equinix.services.fabricv4`, made from the
API's specification) say types, enumerations, lengths, bounds and what is required; a property that a model does not
know is kept apart by it, and counted as unknown here.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from equinix.services.fabricv4 import models
from pydantic import BaseModel, ValidationError

from tests.components.recorder import Declared
from tests.fidelity.compared import lost

#: Type → model of the body.
BODIES: Mapping[str, type[Any]] = {
    "equinix:fabric/cloudRouter:CloudRouter": models.CloudRouterPostRequest,
    "equinix:fabric/connection:Connection": models.ConnectionPostRequest,
    "equinix:fabric/routingProtocol:RoutingProtocol": models.RoutingProtocolBase,
}
IN_THE_PATH = frozenset({"connectionUuid"})
GIVEN_BY_EQUINIX = frozenset({"uuid", "group"})
"""Ids that Equinix gives; a recording has texts of its own in their place."""


def body_of(declared: Declared) -> dict[str, Any]:
    """The body of the request that creates the resource."""
    return {name: _plain(name, value) for name, value in declared.inputs.items() if name not in IN_THE_PATH}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {inner: _plain(inner, one) for inner, one in value.items()}
    if isinstance(value, list):
        return [_plain(name, one) for one in value]
    if name in GIVEN_BY_EQUINIX:
        return str(uuid.UUID(bytes=hashlib.sha256(str(value).encode()).digest()[:16], version=4))
    return value


def problems(type_: str, body: Mapping[str, Any]) -> list[str]:
    """Everything that the SDK's models hold against a body."""
    model = BODIES[type_]
    try:
        read = model.from_dict(dict(body))
    except (ValidationError, ValueError) as wrong:
        return [" ".join(str(wrong).split())]
    assert read is not None
    # What is one of several kinds is read into the kind that takes it.
    read = getattr(read, "actual_instance", None) or read
    sent = read.to_dict()
    return [
        *(f"{where}: is unknown" for where in _unknown(read, "")),
        *(f"{where}: {says}" for where, says in lost(body, sent)),
    ]


def _unknown(read: Any, where: str) -> Iterator[str]:
    if isinstance(read, list):
        for one in read:
            yield from _unknown(one, where)
    if not isinstance(read, BaseModel):
        return
    inner = getattr(read, "actual_instance", None)
    if inner is not None:
        yield from _unknown(inner, where)
        return
    # The generator keeps apart what the specification calls read-only too, such as the uuid by which a router is named
    # in Equinix's own examples.
    known = {field.alias or name for name, field in type(read).model_fields.items()}
    for name in set(getattr(read, "additional_properties", None) or {}) - known:
        yield f"{where}.{name}".lstrip(".")
    for name, field in type(read).model_fields.items():
        if name != "additional_properties":
            yield from _unknown(getattr(read, name), f"{where}.{field.alias or name}".lstrip("."))
