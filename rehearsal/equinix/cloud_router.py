"""Fabric Cloud Routers."""

from __future__ import annotations

from typing import Any

from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from .errors import rule
from .kinds import CONNECTION, ROUTER
from .metros import METROS

PACKAGES = ("LAB", "BASIC", "STANDARD", "ADVANCED", "PREMIUM")
"""Fabric v4 API, CloudRouterPackage; PREMIUM is unverified."""
TYPE = "XF_ROUTER"
_API = "Fabric v4 API, routers"


def new_uuid(tx: Transaction, what: str, digit: str) -> str:
    """A new id. The same history gives the same ids; the digit tells the kind."""
    return f"00000000-0000-4000-{digit}000-{tx.next(what):012d}"


def change_log(what: str = "fabric") -> dict[str, str]:
    return {"createdBy": what, "createdDateTime": "2026-01-01T00:00:00Z"}


def find_router(tx: Transaction, uuid: str) -> dict[str, Any]:
    found = tx.get(ROUTER, uuid)
    if found is None:
        raise rule(f"Cloud router {uuid} does not exist.", _API, status=404)
    return found


def connections_of(tx: Transaction, uuid: str) -> list[str]:
    return [id for id, each in tx.find(CONNECTION) if each.get("routerUuid") == uuid]


def create(call: Call) -> Made:
    inputs = call.inputs
    if inputs["type"] != TYPE:
        raise rule(f"Router type {inputs['type']} is not {TYPE}.", _API)
    code = inputs["package"]["code"]
    if code not in PACKAGES:
        raise rule(f"Router package {code} is none of {', '.join(PACKAGES)}.", _API)
    metro = METROS.get(inputs["location"].get("metroCode") or "")
    if metro is None:
        raise rule(
            f"Metro {inputs['location'].get('metroCode')} is not known. The simulation knows {', '.join(METROS)}.",
            _API,
        )
    uuid = new_uuid(call.tx, "router", "8")
    return Made(
        uuid,
        {
            "uuid": uuid,
            "href": f"https://api.equinix.com/fabric/v4/routers/{uuid}",
            "state": "PROVISIONED",
            "equinixAsn": metro.asn,
            "connectionsCount": 0,
            "changeLogs": [change_log()],
            "account": inputs.get("account") or {"accountNumber": 0},
            "marketplaceSubscription": inputs.get("marketplaceSubscription") or {},
            "order": inputs.get("order") or {},
        },
    )


def read(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(ROUTER, call.id)
    return stored and {**stored, "connectionsCount": len(connections_of(call.tx, call.id))}


def update(call: Call) -> dict[str, Any]:
    for name in ("location", "type", "project"):
        if call.changed(name):
            raise rule(f"The {name} of cloud router {call.id} cannot change.", _API)
    return {}


def delete(call: Call) -> None:
    used = connections_of(call.tx, call.id)
    if used:
        raise rule(
            f"Cloud router {call.id} has connections and cannot be deleted: {', '.join(used)}.",
            _API,
            status=409,
        )


def look_up(lookup: Lookup) -> dict[str, Any]:
    found = find_router(lookup.tx, lookup.args["uuid"])
    plural = {name: f"{name}s" for name in ("account", "location", "order", "package", "project")}
    return {
        **found,
        **{many: [found[one]] for one, many in plural.items() if one in found},
        "connectionsCount": len(connections_of(lookup.tx, found["uuid"])),
        "marketplaceSubscriptions": [],
    }


TYPES = (
    ResourceType(
        token=ROUTER,
        title="Fabric Cloud Router",
        create=create,
        read=read,
        update=update,
        delete=delete,
        autoname="name",
        replaces_source="terraform-provider-equinix fabric cloud_router: nothing is ForceNew; from memory, unverified",
    ),
)
FUNCTIONS = (Function("equinix:fabric/getCloudRouter:getCloudRouter", look_up),)
