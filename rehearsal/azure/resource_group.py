"""Resource groups: what everything else lies in, and what takes everything in it along when it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem
from ..core.resource import Call, Function, Lookup
from . import kinds
from .arm import Target, find_group
from .errors import resource_group_not_found
from .resource import arm_type

_PATTERN = r"^[-\w\._\(\)]+$"
_LONGEST = 90


def check(call: Call) -> Iterator[Problem]:
    """The constraints of the path's parameter (Microsoft.Resources 2024-03-01): pattern and length."""
    name = call.inputs.get("resourceGroupName")
    if not isinstance(name, str):
        return
    if len(name) > _LONGEST:
        yield Problem(
            "resourceGroupName",
            f"'resourceGroupName' is too long ({len(name)}): at most {_LONGEST} characters allowed",
        )
    if not re.match(_PATTERN, name) or name.endswith("."):
        yield Problem("resourceGroupName", f"'resourceGroupName' does not match expression '{_PATTERN}'")


def put(call: Call, target: Target) -> dict[str, Any]:
    return {"properties": {"provisioningState": "Succeeded"}}


def remove(call: Call, target: Target) -> None:
    """Everything in the group goes with it, whoever made it."""
    inside = f"{call.id}/".casefold()
    everything = (*kinds.KINDS, kinds.INSTANCE, kinds.IP_CONFIGURATION, kinds.LINK)
    for kind in everything:
        for id, _ in call.tx.find(kind):
            if id.casefold().startswith(inside):
                call.tx.remove(kind, id)


def look_up(lookup: Lookup) -> dict[str, Any]:
    found = find_group(lookup.tx, lookup.args["resourceGroupName"])
    if found is None:
        raise resource_group_not_found(lookup.args["resourceGroupName"])
    return found


RESOURCE_GROUP = arm_type(kinds.RESOURCE_GROUP, "resource group", put, remove=remove, check=check)

TYPES = (RESOURCE_GROUP,)
FUNCTIONS = (Function("azure-native:resources:getResourceGroup", look_up),)
