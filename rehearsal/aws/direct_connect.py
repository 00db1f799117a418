"""Direct Connect's physical side: connections, accepting a hosted one, link aggregation groups, locations.

A dedicated connection is ordered here and stays ``requested`` until somebody plugs the cable in: the command
``provision`` of the rehearsal does that. A hosted connection is made by a partner (``rehearsal/equinix``,
``rehearsal/megaport``) in this account; it is ``ordering`` until it is accepted, then ``pending`` and ``available``.
States are those of the Direct Connect API Reference, Connection.connectionState.

``quota`` switches: ``hostedConnectionPendingSeconds`` is how long a hosted connection stays ``pending`` after a partner
accepted it for the customer (0 where nothing is said; pulumi-aws itself waits, so its own acceptance ends
``available``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ..core.errors import Problem, ProviderError, Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from ..core.values import is_unknown
from . import kinds
from .account import ACCOUNT, arn, configured_region, new_id, region_of
from .errors import DX, rule

CONFIRMATION = "aws:directconnect/connectionConfirmation:ConnectionConfirmation"
ASSOCIATION = "aws:directconnect/connectionAssociation:ConnectionAssociation"

DEDICATED = ("1Gbps", "10Gbps", "100Gbps", "400Gbps")
HOSTED = (
    "50Mbps",
    "100Mbps",
    "200Mbps",
    "300Mbps",
    "400Mbps",
    "500Mbps",
    "1Gbps",
    "2Gbps",
    "5Gbps",
    "10Gbps",
    "25Gbps",
)
"""pulumi-aws 7.51.1, directconnect.Connection.bandwidth and HostedConnection.bandwidth, in the order of size."""
MOST_LINKS = {"1Gbps": 4, "10Gbps": 4, "100Gbps": 2, "400Gbps": 2}
"""Links of one group by speed (Direct Connect User Guide, lags.html)."""
LOCATIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "EqDC2": ("Equinix DC1 - DC6, DC10, DC12, Ashburn, VA", ("us-east-1",)),
    "EqSe2-EQ": ("Equinix SE2, Seattle, WA", ("us-west-2",)),
    "EqCH2": ("Equinix CH1 - CH4, Chicago, IL", ("us-east-2",)),
    "EqSV5": ("Equinix SV1, SV5, San Jose, CA", ("us-west-1",)),
    "EqDB3": ("Equinix DB3, Dublin", ("eu-west-1",)),
    "EqFA5": ("Equinix FR5, Frankfurt", ("eu-central-1",)),
    "EqLD5": ("Equinix LD4 - LD6, London", ("eu-west-2",)),
    "EqTY2": ("Equinix TY2, Tokyo", ("ap-northeast-1",)),
    "EqSG2": ("Equinix SG2, Singapore", ("ap-southeast-1",)),
    "EqSY3": ("Equinix SY3, Sydney", ("ap-southeast-2",)),
}
"""Codes that the simulation knows, their names, and the regions that list them. EqDC2 is in terraform-provider-aws's
and moto's fixtures; the others are from memory, unverified: with an account, getLocations is the authority."""

_UNVERIFIED = "Direct Connect API Reference"


def devices(location: str) -> str:
    """A router's name at the location: ``EqDC2-simulated``."""
    return f"{location}-simulated"


def state_of(connection: Mapping[str, Any]) -> str:
    """The connection's state now: a pending one becomes available by itself."""
    state = str(connection["state"])
    if state == "pending" and connection.get("availableAt") and connection["availableAt"] <= time.time():
        return "available"
    return state


def find_connection(tx: Transaction, id: str) -> dict[str, Any]:
    """The connection, or Direct Connect's refusal."""
    found = tx.get(kinds.DX_CONNECTION, id)
    if found is None or state_of(found) in ("deleted", "rejected"):
        raise rule(f"Connection ID {id} does not exist.", _UNVERIFIED)
    return found


def need_available(tx: Transaction, id: str) -> dict[str, Any]:
    """The connection, or the refusal of a virtual interface on one that is not up yet.

    terraform-provider-equinix#26 and #37, terraform-provider-aws#28006: the sentence is AWS's. One that is ``down``
    takes interfaces: unverified.
    """
    found = find_connection(tx, id)
    if state_of(found) not in ("available", "down"):
        raise Refusal(DX, "The specified Connection ID is not available")
    return found


# Connections


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    words = " ".join(f'"{each}"' for each in allowed)
    return f"expected {name} to be one of [{words}], got {value}"


def check_bandwidth(property: str, name: str) -> Any:
    """The check of a bandwidth: the provider takes every speed there is."""
    allowed = tuple(dict.fromkeys((*HOSTED, *DEDICATED)))

    def check(call: Call) -> Iterator[Problem]:
        value = call.inputs.get(property)
        if value is not None and not is_unknown(value) and value not in allowed:
            yield Problem(property, _one_of(name, value, allowed))

    return check


def check_location(location: str, region: str) -> None:
    """Refuse a place that does not serve the region."""
    known = LOCATIONS.get(location)
    if known is None or region not in known[1]:
        here = (
            ", ".join(sorted(code for code, (_, served) in LOCATIONS.items() if region in served)) or "none"
        )
        raise rule(
            f"Location {location} is not one of region {region}. The simulation knows {here} there.",
            "Direct Connect API Reference, DescribeLocations",
        )


def described(
    tx: Transaction, id: str, region: str, location: str, *, state: str, partner: str = "", vlan: int = 0
) -> dict[str, Any]:
    """What Direct Connect answers of a new connection."""
    return {
        "arn": arn("directconnect", region, f"dxcon/{id}"),
        "awsDevice": devices(location),
        "hasLogicalRedundancy": "unknown",
        "jumboFrameCapable": True,
        "macsecCapable": False,
        "ownerAccountId": ACCOUNT,
        "partnerName": partner,
        "portEncryptionStatus": "",
        "prefixPoolSizeIpv4": 1000,
        "prefixPoolSizeIpv6": 1000,
        "prefixPoolUnallocatedCountIpv4": 1000,
        "prefixPoolUnallocatedCountIpv6": 1000,
        "rateLimiterStatuses": [],
        "state": state,
        "vlanId": vlan,
    }


def new_connection_id(tx: Transaction) -> str:
    """``dxcon-0`` and seven hexadecimal digits."""
    return new_id(tx, "dxcon", 8)


def create_connection(call: Call) -> Made:
    inputs, region = call.inputs, region_of(call)
    if inputs["bandwidth"] not in DEDICATED:
        raise rule(
            f"Bandwidth {inputs['bandwidth']} is not one of a dedicated connection ({', '.join(DEDICATED)}): "
            f"a partner makes the smaller ones.",
            "Direct Connect User Guide, dedicated_connection.html",
        )
    check_location(inputs["location"], region)
    id = new_connection_id(call.tx)
    outputs = described(call.tx, id, region, inputs["location"], state="requested")
    return Made(
        id,
        {
            **outputs,
            "encryptionMode": inputs.get("encryptionMode", "no_encrypt"),
            "macsecCapable": bool(inputs.get("requestMacsec")),
            "providerName": inputs.get("providerName", ""),
        },
    )


def read_connection(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(kinds.DX_CONNECTION, call.id)
    if stored is None or stored["state"] == "deleted":
        return None
    return {**stored, "state": state_of(stored)}


def interfaces_on(tx: Transaction, connection_id: str) -> list[tuple[str, dict[str, Any]]]:
    """The virtual interfaces on a connection, those that wait for acceptance included."""
    return [
        (id, each)
        for kind in (kinds.PRIVATE_VIF, kinds.TRANSIT_VIF, kinds.HOSTED_VIF)
        for id, each in tx.find(kind, connectionId=connection_id)
    ]


def delete_connection(call: Call) -> None:
    if call.old.get("skipDestroy"):
        return
    used = [id for id, _ in interfaces_on(call.tx, call.id)]
    if used:
        raise rule(
            f"Connection {call.id} has virtual interfaces and cannot be deleted: {', '.join(used)}.",
            "Direct Connect API Reference, DeleteConnection",
        )
    if call.tx.find(ASSOCIATION, connectionId=call.id):
        raise rule(
            f"Connection {call.id} is a member of a link aggregation group.",
            "Direct Connect API Reference, DeleteConnection",
        )


CONNECTION = ResourceType(
    token=kinds.DX_CONNECTION,
    title="Direct Connect Connection",
    service="Direct Connect",
    calls={"create": "CreateConnection", "update": "UpdateConnection", "delete": "DeleteConnection"},
    create=create_connection,
    read=read_connection,
    delete=delete_connection,
    check=check_bandwidth("bandwidth", "bandwidth"),
    autoname="name",
    defaults={"requestMacsec": False, "skipDestroy": False},
    replaces=frozenset({"bandwidth", "location", "name", "providerName", "region", "requestMacsec"}),
    replaces_source="terraform-provider-aws service/directconnect/connection.go at 48f9dbe4, ForceNew; from memory, "
    "unverified",
)


# Accepting a hosted connection


def create_confirmation(call: Call) -> Made:
    tx, id = call.tx, call.inputs["connectionId"]
    found = find_connection(tx, id)
    state = state_of(found)
    if state != "ordering":
        # aws-sdk-go#2717: the sentence is AWS's.
        raise Refusal(DX, f"ConfirmConnection failed. {id} is in state {state}")
    if found.get("linkState") == "down":
        # terraform-provider-aws#26565: the other side has not come up, and the provider waits for available only.
        tx.patch(kinds.DX_CONNECTION, id, state="down")
        call.reasons.append(
            f"waiting for Direct Connection Connection ({id}) confirm: unexpected state 'down', wanted target "
            f"'available'. last error: %!s(<nil>)"
        )
        return Made(id)
    tx.patch(kinds.DX_CONNECTION, id, state="available")
    return Made(id)


def read_confirmation(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(CONFIRMATION, call.id)
    connection = call.tx.get(kinds.DX_CONNECTION, call.id)
    if stored is None or connection is None or connection["state"] in ("deleted", "rejected"):
        return None
    return stored


CONFIRMATION_TYPE = ResourceType(
    token=CONFIRMATION,
    title="Direct Connect Connection Confirmation",
    service="Direct Connect",
    calls={"create": "ConfirmConnection"},
    doing={"create": "confirming Direct Connection Connection"},
    create=create_confirmation,
    read=read_confirmation,
    replaces=frozenset({"connectionId", "region"}),
    replaces_source="terraform-provider-aws service/directconnect/connection_confirmation.go at b878e83c, ForceNew. "
    "Deleting it leaves the connection as it is (same file)",
)


# Link aggregation groups


def create_lag(call: Call) -> Made:
    inputs, region = call.inputs, region_of(call)
    if inputs["connectionsBandwidth"] not in MOST_LINKS:
        raise rule(
            f"A link aggregation group has links of {', '.join(MOST_LINKS)}, not of {inputs['connectionsBandwidth']}.",
            "Direct Connect User Guide, lags.html",
        )
    check_location(inputs["location"], region)
    id = new_id(call.tx, "dxlag", 8)
    if inputs.get("connectionId"):
        find_connection(call.tx, inputs["connectionId"])
    return Made(
        id,
        {
            "arn": arn("directconnect", region, f"dxlag/{id}"),
            "hasLogicalRedundancy": "unknown",
            "jumboFrameCapable": True,
            "ownerAccountId": ACCOUNT,
            "providerName": inputs.get("providerName", ""),
            "rateLimiterStatuses": [],
        },
    )


def delete_lag(call: Call) -> None:
    members = [each["connectionId"] for _, each in call.tx.find(ASSOCIATION, lagId=call.id)]
    if members and not call.old.get("forceDestroy"):
        raise rule(
            f"LAG {call.id} has connections and cannot be deleted: {', '.join(members)}.",
            "Direct Connect API Reference, DeleteLag",
        )


LAG = ResourceType(
    token=kinds.DX_LAG,
    title="Direct Connect LAG",
    service="Direct Connect",
    calls={"create": "CreateLag", "update": "UpdateLag", "delete": "DeleteLag"},
    create=create_lag,
    delete=delete_lag,
    check=check_bandwidth("connectionsBandwidth", "connections_bandwidth"),
    autoname="name",
    defaults={"forceDestroy": False},
    replaces=frozenset({"connectionId", "connectionsBandwidth", "location", "providerName", "region"}),
    replaces_source="terraform-provider-aws service/directconnect/lag.go at 7348a903, ForceNew; from memory, "
    "unverified",
)


def create_association(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    connection, lag = find_connection(tx, inputs["connectionId"]), tx.get(kinds.DX_LAG, inputs["lagId"])
    if lag is None:
        raise rule(f"LAG ID {inputs['lagId']} does not exist.", _UNVERIFIED)
    speed = lag["connectionsBandwidth"]
    if connection["bandwidth"] != speed or connection["location"] != lag["location"]:
        raise rule(
            f"Connection {inputs['connectionId']} ({connection['bandwidth']} at {connection['location']}) does not fit "
            f"LAG {inputs['lagId']} ({speed} at {lag['location']}).",
            "Direct Connect User Guide, lags.html",
        )
    if tx.count(ASSOCIATION, lagId=inputs["lagId"]) >= MOST_LINKS[speed]:
        raise rule(
            f"LAG {inputs['lagId']} has {MOST_LINKS[speed]} connections of {speed} already.",
            "Direct Connect User Guide, lags.html",
        )
    return Made(inputs["connectionId"])


ASSOCIATION_TYPE = ResourceType(
    token=ASSOCIATION,
    title="Direct Connect Connection Association",
    service="Direct Connect",
    calls={"create": "AssociateConnectionWithLag", "delete": "DisassociateConnectionFromLag"},
    create=create_association,
    replaces=frozenset({"connectionId", "lagId", "region"}),
    replaces_source="terraform-provider-aws service/directconnect/connection_association.go at bd734e78, ForceNew",
)


# Look-ups


def look_up_connection(lookup: Lookup) -> dict[str, Any]:
    region = lookup.args.get("region") or configured_region(lookup.config)
    found = [
        (id, each)
        for id, each in lookup.tx.find(kinds.DX_CONNECTION, name=lookup.args["name"])
        if each.get("region") == region and each["state"] not in ("deleted", "rejected")
    ]
    if len(found) != 1:
        what = "no matching" if not found else "multiple"
        raise ProviderError(
            f"reading Direct Connect Connection ({lookup.args['name']}): {what} Direct Connect Connection found"
        )
    id, each = found[0]
    return {**each, "id": id, "state": state_of(each), "tags": each.get("tags") or {}}


def look_up_location(lookup: Lookup) -> dict[str, Any]:
    region, code = lookup.args.get("region") or configured_region(lookup.config), lookup.args["locationCode"]
    if code not in LOCATIONS or region not in LOCATIONS[code][1]:
        raise ProviderError("no matching Direct Connect Location found")
    speeds = [each.replace("Gbps", "G") for each in DEDICATED]
    return {
        "id": code,
        "locationCode": code,
        "locationName": LOCATIONS[code][0],
        "region": region,
        "availablePortSpeeds": speeds,
        "availableMacsecPortSpeeds": speeds[1:],
        "availableProviders": ["Equinix, Inc.", "Megaport"],
    }


def look_up_locations(lookup: Lookup) -> dict[str, Any]:
    region = lookup.args.get("region") or configured_region(lookup.config)
    return {
        "id": region,
        "region": region,
        "locationCodes": sorted(code for code, (_, served) in LOCATIONS.items() if region in served),
    }


TYPES = (CONNECTION, CONFIRMATION_TYPE, LAG, ASSOCIATION_TYPE)
FUNCTIONS = (
    Function("aws:directconnect/getConnection:getConnection", look_up_connection),
    Function("aws:directconnect/getLocation:getLocation", look_up_location),
    Function("aws:directconnect/getLocations:getLocations", look_up_locations),
)
