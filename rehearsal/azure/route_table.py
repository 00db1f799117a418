"""Route tables and their routes, in both ways a program can write routes: inside the table or beside it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any

from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .addresses import network
from .arm import Target, etag, find, sub_resources, users
from .errors import in_use, network_missing, network_word, rule
from .resource import arm_type

NEXT_HOPS = ("VirtualNetworkGateway", "VnetLocal", "Internet", "VirtualAppliance", "None")
"""Microsoft.Network 2024-05-01, RouteNextHopType."""
_DOCS = "azure-docs virtual-network/virtual-networks-udr-overview.md"


def put_table(call: Call, target: Target) -> dict[str, Any]:
    tx, wanted = call.tx, call.inputs.get("routes")
    if wanted is not None:
        names = [str(each.get("name") or "") for each in wanted]
        if "" in names or len({name.casefold() for name in names}) < len(names):
            raise rule(
                f"Every route inside route table '{target.name}' needs a name of its own.",
                "Microsoft.Network 2024-05-01, Route.name",
            )
        kept = {name.casefold() for name in names}
        for id, route in tx.find(kinds.ROUTE.token, parentId=target.id):
            if route["name"].casefold() not in kept:
                tx.remove(kinds.ROUTE.token, id)
        for body in wanted:
            _put_inline(tx, target, body)
    return {"disableBgpRoutePropagation": call.inputs.get("disableBgpRoutePropagation", False)}


def _put_inline(tx: Transaction, table: Target, body: Mapping[str, Any]) -> None:
    id = f"{table.id}/routes/{body['name']}"
    old = find(tx, kinds.ROUTE, id) or {}
    id = str(old.get("id", id))
    outputs = _checked(tx, id, str(body["name"]), table.id, body)
    tx.put(
        kinds.ROUTE.token,
        id,
        {**old, **body, **outputs, "id": id, "etag": etag(tx), "provisioningState": "Succeeded"},
    )


def put_route(call: Call, target: Target) -> dict[str, Any]:
    return _checked(call.tx, target.id, target.name, target.parent, call.inputs)


def _checked(tx: Transaction, id: str, name: str, table: str, body: Mapping[str, Any]) -> dict[str, Any]:
    prefix, hop, address = (body.get(key) for key in ("addressPrefix", "nextHopType", "nextHopIpAddress"))
    if not prefix:
        raise network_missing(f"routes.{name}.addressPrefix")
    if "/" in prefix:
        # Without a length it is the name of a service's ranges.
        network(prefix, id)
    if hop not in NEXT_HOPS:
        raise network_word(hop, "nextHopType", NEXT_HOPS)
    if (hop == "VirtualAppliance") != bool(address):
        raise rule(
            f"Route {name} has next hop {hop}: nextHopIpAddress belongs to VirtualAppliance, and only to it.",
            _DOCS,
        )
    if address:
        try:
            IPv4Address(address)
        except ValueError:
            raise rule(f"Next hop address {address} of route {name} is no IPv4 address.", _DOCS) from None
    for other, route in tx.find(kinds.ROUTE.token, parentId=table):
        if other != id and route["addressPrefix"] == prefix:
            raise rule(f"Route {route['name']} of the same table has address prefix {prefix} already.", _DOCS)
    return {"parentId": table, "name": name, "hasBgpOverride": False}


def show_table(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    hidden = {"parentId", "routeTableName", "resourceGroupName", "routeName"}
    return {
        "routes": [
            {key: value for key, value in route.items() if key not in hidden}
            for _, route in tx.find(kinds.ROUTE.token, parentId=id)
        ],
        "subnets": sub_resources(users(tx, id, "routeTable")),
    }


def remove_table(call: Call, target: Target) -> None:
    holders = users(call.tx, target.id, "routeTable")
    if holders:
        raise in_use(
            "InUseRouteTableCannotBeDeleted",
            "Route table",
            target.id,
            holders,
            f"Take it from the subnets first. [rule: {_DOCS}; the wording is the simulation's]",
        )
    call.tx.remove_all(kinds.ROUTE.token, parentId=target.id)


TYPES = (
    arm_type(
        kinds.ROUTE_TABLE,
        "route table",
        put_table,
        remove=remove_table,
        show=show_table,
        filled=frozenset({"routes"}),
    ),
    arm_type(kinds.ROUTE, "route", put_route),
)
