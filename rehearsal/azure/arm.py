"""Resource Manager: the subscription that does not exist, ids, locations, references between resources."""

from __future__ import annotations

import hashlib
import tomllib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .errors import NOT_FOUND, parent_not_found, reference_not_found, resource_group_not_found
from .kinds import Kind

SUBSCRIPTION = TENANT = "00000000-0000-0000-0000-000000000000"
"""No real subscription or directory has this id: whatever carries it was made here."""
ZONES = ("1", "2", "3")


@dataclass(frozen=True)
class Target:
    """The resource that a call is about: its id in Resource Manager's casing, and what it lies in."""

    id: str
    name: str
    kind: Kind
    location: str = ""
    parent: str = ""
    """The parent resource's id, for a child."""


def guid(tx: Transaction, what: str) -> str:
    """A new id. The same history gives the same ids."""
    number = tx.next(f"guid/{what}")
    return str(uuid.UUID(bytes=hashlib.sha256(f"{what}/{number}".encode()).digest()[:16], version=4))


def etag(tx: Transaction) -> str:
    return f'W/"{guid(tx, "etag")}"'


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


# Locations


def normal(location: str) -> str:
    """``West US 2`` and ``WestUS2`` are ``westus2`` (pulumi-azure-native diff.go, normalizedLocation)."""
    return location.replace(" ", "").lower()


@cache
def _locations() -> dict[str, tuple[str, ...]]:
    table = tomllib.loads((Path(__file__).parent / "locations.toml").read_text())
    regional: dict[str, tuple[str, ...]] = dict.fromkeys(table["regional"], ())
    return {**regional, **dict.fromkeys(table["zonal"], ZONES)}


def locations() -> list[str]:
    """Every location this simulation knows."""
    return sorted(_locations())


def check_location(location: str, kind: Kind) -> None:
    """Refuse a place that is not one of Azure's."""
    if location not in _locations():
        raise Refusal(
            "LocationNotAvailableForResourceType",
            f"The provided location '{location}' is not available for resource type '{kind.type}'. List of "
            f"available regions for the resource type is '{','.join(locations())}'.",
        )


def check_zones(zones: Any, location: str, id: str) -> None:
    """Refuse zones that the location has not."""
    known = _locations().get(location, ())
    wrong = [zone for zone in zones or [] if zone not in known]
    if wrong:
        raise Refusal(
            "AvailabilityZoneNotSupported",
            f"The zone(s) '{','.join(wrong)}' for resource '{id}' is not supported. The supported zones for "
            f"location '{location}' are '{','.join(known)}'",
        )


# Ids


def group_id(name: str) -> str:
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}"


def find_group(tx: Transaction, name: str) -> dict[str, Any] | None:
    """The resource group of that name, in any casing."""
    return find(tx, kinds.RESOURCE_GROUP, group_id(name))


def find(tx: Transaction, kind: Kind, id: str) -> dict[str, Any] | None:
    """The resource with the id: Resource Manager's ids mean the same in any casing."""
    exact = tx.get(kind.token, id)
    if exact is not None:
        return exact
    folded = id.casefold()
    return next((each for other, each in tx.find(kind.token) if other.casefold() == folded), None)


def locate(call: Call, kind: Kind) -> Target:
    """Where the call's resource lies, or Resource Manager's refusal where its group or parent is not there."""
    inputs, tx = call.inputs, call.tx
    name = str(inputs[kind.name_input])
    if kind is kinds.RESOURCE_GROUP:
        return Target(group_id(name), name, kind, normal(inputs["location"]))
    if kind is kinds.ROLE_ASSIGNMENT:
        scope = "/" + inputs["scope"].strip("/")
        return Target(f"{scope}/providers/{kind.type}/{name}", name, kind)
    group = find_group(tx, inputs["resourceGroupName"])
    if group is None:
        raise resource_group_not_found(inputs["resourceGroupName"])
    base = f"{group['id']}/providers/{kind.namespace}"
    parent = ""
    if len(kind.path) == 2:
        parent = f"{base}/{kind.path[0]}/{inputs[kind.names[0]]}"
        found = find(tx, PARENTS[kind.token], parent)
        if found is None:
            raise parent_not_found(f"{kind.path[0]}/{kind.path[1]}", parent)
        parent = str(found["id"])
        return Target(
            f"{parent}/{kind.path[1]}/{name}", name, kind, normal(inputs.get("location") or ""), parent
        )
    return Target(f"{base}/{kind.path[0]}/{name}", name, kind, normal(inputs.get("location") or ""))


PARENTS = {
    kinds.SUBNET.token: kinds.VIRTUAL_NETWORK,
    kinds.SECURITY_RULE.token: kinds.SECURITY_GROUP,
    kinds.EXTENSION.token: kinds.VIRTUAL_MACHINE,
    kinds.ROUTE.token: kinds.ROUTE_TABLE,
    kinds.PEERING.token: kinds.CIRCUIT,
    kinds.AUTHORIZATION.token: kinds.CIRCUIT,
}
"""The kind of a child's parent."""


def not_found(kind: Kind, name: str, group: str) -> Refusal:
    """Resource Manager's answer to a look-up of something that is not there."""
    return Refusal(
        "ResourceNotFound",
        f"The Resource '{kind.type}/{name}' under resource group '{group}' was not found. For more details "
        f"please go to https://aka.ms/ARMResourceNotFoundFix",
        status=NOT_FOUND,
    )


def look_up(tx: Transaction, kind: Kind, args: Mapping[str, Any]) -> dict[str, Any]:
    """What a look-up finds by the names in its arguments; Resource Manager's answer where there is nothing."""
    group = find_group(tx, args["resourceGroupName"])
    if group is None:
        raise resource_group_not_found(args["resourceGroupName"])
    names = [str(args[name]) for name in kind.names]
    tail = "/".join(f"{segment}/{name}" for segment, name in zip(kind.path, names, strict=True))
    found = find(tx, kind, f"{group['id']}/providers/{kind.namespace}/{tail}")
    if found is None:
        raise not_found(kind, "/".join(names), args["resourceGroupName"])
    return found


# References


def reference(tx: Transaction, kind: Kind, sub_resource: Any, by: Target) -> dict[str, Any] | None:
    """The resource that ``{"id": …}`` names; None where nothing is named; a refusal where it is not there.

    A resource with a location has to be in the one of ``by``.
    """
    id = (sub_resource or {}).get("id")
    if not id:
        return None
    found = find(tx, kind, id)
    if found is None or (by.location and "location" in found and found["location"] != by.location):
        raise reference_not_found(id, by.id)
    return found


def link(tx: Transaction, owner: str, targets: Iterable[tuple[str, str]]) -> None:
    """Record that ``owner`` refers to the targets, (id, how) each, and to no others."""
    tx.remove_all(kinds.LINK, parentId=owner)
    tx.put_many(
        kinds.LINK,
        [
            (f"{owner} -> {target} ({how})", {"parentId": owner, "name": target, "how": how})
            for target, how in dict.fromkeys(targets)
        ],
    )


def users(tx: Transaction, target: str, how: str | None = None) -> list[str]:
    """The ids of the resources that refer to ``target``, oldest first."""
    return [
        each["parentId"] for _, each in tx.find(kinds.LINK, name=target) if how is None or each["how"] == how
    ]


def targets(tx: Transaction, owner: str, how: str) -> list[str]:
    """The ids that ``owner`` refers to in that way."""
    return [each["name"] for _, each in tx.find(kinds.LINK, parentId=owner) if each["how"] == how]


def forget(tx: Transaction, owner: str) -> None:
    """Drop the references and addresses that the resource held."""
    tx.remove_all(kinds.LINK, parentId=owner)
    tx.remove_all(kinds.IP_CONFIGURATION, parentId=owner)


def sub_resources(ids: Iterable[str]) -> list[Mapping[str, str]]:
    return [{"id": id} for id in ids]
