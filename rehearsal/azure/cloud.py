"""The simulated Azure as one piece: what it knows, and the manners of pulumi-azure-native."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.resource import Call, Cloud
from . import (
    disk,
    express_route,
    gateway,
    identity,
    interface,
    kinds,
    network,
    placement,
    public_ip,
    resource_group,
    route_table,
    scale_set,
    security_group,
    virtual_machine,
)
from .arm import SUBSCRIPTION
from .errors import refusal_text
from .provider import WORDING, complete, deletes_first

_SUBJECTS = (
    resource_group,
    route_table,
    network,
    security_group,
    public_ip,
    interface,
    placement,
    scale_set,
    virtual_machine,
    disk,
    identity,
    express_route,
    gateway,
)


def common_outputs(call: Call) -> dict[str, Any]:
    """What a preview can tell of every resource: the API version the provider speaks."""
    return {"azureApiVersion": kinds.KINDS[call.type.token].api}


CLOUD = Cloud(
    name="azure-native",
    folder=Path(__file__).parent,
    types=tuple(each for subject in _SUBJECTS for each in subject.TYPES),
    functions=tuple(each for subject in _SUBJECTS for each in getattr(subject, "FUNCTIONS", ())),
    notice=f"simulated azure-native: no account is touched (every id carries the subscription {SUBSCRIPTION})",
    refusal=refusal_text,
    common_outputs=common_outputs,
    bridged=False,
    complete=complete,
    stable=frozenset({"name", "location"}),
    deletes_first=deletes_first,
    wording=WORDING,
    # Microsoft.Compute's words (azure-docs azure-resource-manager/management/request-limits-and-throttling.md);
    # azcore tries three times again.
    throttling=(
        "TooManyRequests",
        "The request is being throttled as the limit has been reached for operation type - Write. For more "
        "information, see - https://aka.ms/srpthrottlinglimits",
    ),
    throttling_status=429,
    retries=lambda config: 3,
    # azcore's retry policy takes a lost answer like a 5xx, and Resource Manager's PUT and DELETE are idempotent.
    repeatable=True,
    remember={
        kinds.INSTANCE: "machine of a scale set",
        kinds.IP_CONFIGURATION: "address in a subnet",
        kinds.LINK: "reference",
    },
)
