"""Proximity placement groups and availability sets: what keeps machines together, and what keeps them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call, Function, Lookup
from ..core.store import Transaction
from . import kinds
from .arm import Target, check_zones, find, find_group, link, not_found, users
from .errors import CONFLICT, not_allowed, resource_group_not_found, rule
from .machine import proximity_group, sizes
from .resource import arm_type, at

PROXIMITY_DOCS = "compute docs virtual-machines/co-location.md"
MOST_FAULT_DOMAINS = 3
"""compute docs virtual-machines/availability-set-overview.md: up to three; some regions have two, which the
simulation does not tell apart."""
MOST_UPDATE_DOMAINS = 20
"""Same page."""
MOST_MACHINES = 200
"""compute docs virtual-machines/setup-infiniband.md: machines of one availability set."""
DEFAULT_UPDATE_DOMAINS = 5


# Proximity placement groups


def put_group(call: Call, target: Target) -> dict[str, Any]:
    inputs, zones = call.inputs, call.inputs.get("zones") or []
    type = inputs.get("proximityPlacementGroupType", "Standard")
    if type != "Standard":
        raise not_allowed(type, "proximityPlacementGroupType", ("Standard",))
    intended = at(inputs, "intent.vmSizes", [])
    for name in intended:
        if name.lower() not in sizes():
            raise Refusal("InvalidParameter", "The value of parameter intent.vmSizes is invalid.")
    if len(zones) > 1:
        raise rule(
            f"Proximity placement group {target.name} can be in one zone only, not in {', '.join(zones)}.",
            PROXIMITY_DOCS,
        )
    if zones and not intended:
        raise rule(
            f"Proximity placement group {target.name} has a zone and no intent: a zone can be given only together "
            f"with intent.vmSizes.",
            PROXIMITY_DOCS,
        )
    check_zones(zones, target.location, target.id)
    if call.old:
        if zones != list(call.old.get("zones") or []):
            raise rule(
                f"The zone of proximity placement group {target.name} cannot be changed.",
                PROXIMITY_DOCS,
                code="OperationNotAllowed",
                status=CONFLICT,
            )
        members = users(call.tx, target.id)
        if members and intended != at(call.old, "intent.vmSizes", []):
            raise rule(
                f"The intent of proximity placement group {target.name} can be changed only with its machines "
                f"deallocated: {', '.join(members)}.",
                PROXIMITY_DOCS,
                code="OperationNotAllowed",
                status=CONFLICT,
            )
    return {"proximityPlacementGroupType": type}


_MEMBERS = {
    "availabilitySets": kinds.AVAILABILITY_SET,
    "virtualMachines": kinds.VIRTUAL_MACHINE,
    "virtualMachineScaleSets": kinds.SCALE_SET,
}


def show_group(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    members = users(tx, id)
    return {
        name: [{"id": each} for each in members if each.split("/")[-2] == kind.path[0]]
        for name, kind in _MEMBERS.items()
    }


def remove_group(call: Call, target: Target) -> None:
    members = users(call.tx, target.id)
    if members:
        raise rule(
            f"Proximity placement group {target.name} cannot be deleted while it has resources: "
            f"{', '.join(members)}.",
            PROXIMITY_DOCS,
            code="OperationNotAllowed",
            status=CONFLICT,
        )


def look_up_group(lookup: Lookup) -> dict[str, Any]:
    args, kind = lookup.args, kinds.PROXIMITY_GROUP
    group = find_group(lookup.tx, args["resourceGroupName"])
    if group is None:
        raise resource_group_not_found(args["resourceGroupName"])
    name = args["proximityPlacementGroupName"]
    found = find(lookup.tx, kind, f"{group['id']}/providers/{kind.namespace}/{kind.path[0]}/{name}")
    if found is None:
        raise not_found(kind, name, args["resourceGroupName"])
    return {**found, **show_group(lookup.tx, found["id"], found)}


# Availability sets


def put_set(call: Call, target: Target) -> dict[str, Any]:
    inputs = call.inputs
    sku = at(inputs, "sku.name", "Classic")
    if sku not in ("Classic", "Aligned"):
        raise not_allowed(sku, "sku.name", ("Classic", "Aligned"))
    faults = inputs.get("platformFaultDomainCount", MOST_FAULT_DOMAINS)
    if not 1 <= faults <= MOST_FAULT_DOMAINS:
        raise Refusal(
            "InvalidParameter",
            f"The specified fault domain count {faults} must fall in the range 1 to {MOST_FAULT_DOMAINS}.",
        )
    updates = inputs.get("platformUpdateDomainCount", DEFAULT_UPDATE_DOMAINS)
    if not 1 <= updates <= MOST_UPDATE_DOMAINS:
        raise Refusal(
            "InvalidParameter",
            f"The specified update domain count {updates} must fall in the range 1 to {MOST_UPDATE_DOMAINS}.",
        )
    if call.old and at(call.old, "sku.name") == "Aligned" and sku == "Classic":
        raise Refusal(
            "OperationNotAllowed",
            "Changing availability set SKU from 'Aligned' to 'Classic' is not allowed.",
            status=CONFLICT,
        )
    for name, value in (("platformFaultDomainCount", faults), ("platformUpdateDomainCount", updates)):
        if call.old and value != call.old[name] and users(call.tx, target.id):
            raise Refusal(
                "PropertyChangeNotAllowed", f"Changing property '{name}' is not allowed.", status=CONFLICT
            )
    group = proximity_group(call.tx, inputs.get("proximityPlacementGroup"), target, None, None)
    link(call.tx, target.id, [(group["id"], "proximityPlacementGroup")] if group else [])
    return {
        "platformFaultDomainCount": faults,
        "platformUpdateDomainCount": updates,
        "sku": {**(inputs.get("sku") or {}), "name": sku},
    }


def show_set(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    return {"virtualMachines": [{"id": each} for each in users(tx, id, "availabilitySet")], "statuses": []}


def remove_set(call: Call, target: Target) -> None:
    if users(call.tx, target.id, "availabilitySet"):
        raise Refusal(
            "OperationNotAllowed",
            f"Availability Set '{target.name}' cannot be deleted. Before deleting an Availability Set please ensure "
            f"that it does not contain any VM.",
            status=CONFLICT,
        )


TYPES = (
    arm_type(
        kinds.PROXIMITY_GROUP,
        "proximity placement group",
        put_group,
        remove=remove_group,
        show=show_group,
        defaults={"proximityPlacementGroupType": "Standard"},
    ),
    arm_type(
        kinds.AVAILABILITY_SET,
        "availability set",
        put_set,
        remove=remove_set,
        show=show_set,
        filled=frozenset({"virtualMachines"}),
    ),
)
FUNCTIONS = (Function("azure-native:compute:getProximityPlacementGroup", look_up_group),)
