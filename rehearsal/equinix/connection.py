"""Connections of a cloud router: to AWS by account id, to Azure by service key.

States are those that the provider waits for (terraform-provider-equinix internal/resources/fabric/connection/
resource.go at 087abf56): a connection to AWS is ``PENDING`` with the provider's status ``PENDING_APPROVAL`` until the
customer accepts the hosted connection there. A program that puts the account's keys into ``additionalInfo`` has it
accepted at once; they are in Pulumi's state then, and not in the simulated clouds' database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import partner
from ..aws import kinds as aws_kinds
from ..core.errors import ProviderError, Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from .cloud_router import change_log, find_router, new_uuid
from .errors import rule
from .kinds import CONNECTION, PROTOCOL
from .metros import AZURE_METROS, METROS
from .service_profile import AWS, AZURE, PROFILES

BANDWIDTHS = (10, 50, 200, 500, 1000, 2000, 5000, 10000, 25000, 50000)
"""Mb/s (Equinix Fabric documentation, bandwidth tiers)."""
LAB_MOST = 10
"""Mb/s of a connection of a LAB router (an older API page: unverified)."""
NAME_BELOW = 24
TYPES_OF_A_SIDE = {"CLOUD_ROUTER": "IP_VC"}
KEYS = ("accessKey", "secretKey")
_API = "Fabric v4 API, connections"
_FIRST_VLAN = 300


def create(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    name = str(inputs["name"])
    if not 0 < len(name) < NAME_BELOW:
        # Code and sentence as somebody saw them (POST /fabric/v4/connections).
        raise Refusal(
            "EQ-3142539", "connection name length should be greater than 0 and less than 24 character"
        )
    if inputs["bandwidth"] not in BANDWIDTHS:
        raise rule(
            f"Bandwidth {inputs['bandwidth']:g} is none of {', '.join(map(str, BANDWIDTHS))} Mb/s.",
            "Equinix Fabric documentation, bandwidth tiers",
        )
    router = _a_side(tx, inputs)
    z_side = (inputs["zSide"] or {}).get("accessPoint") or {}
    _refuse_nested_keys(inputs)
    profile = PROFILES.get((z_side.get("profile") or {}).get("uuid") or "")
    if z_side.get("type") != "SP" or profile is None:
        raise rule(
            "The Z side needs type SP and the profile of a service: look one up with getServiceProfiles.",
            _API,
        )
    uuid = new_uuid(tx, "connection", "9")
    reach = _to_aws if profile == AWS else _to_azure
    made = reach(call, uuid, router, z_side)
    return Made(
        uuid,
        {
            "uuid": uuid,
            "href": f"https://api.equinix.com/fabric/v4/connections/{uuid}",
            "direction": "OUTGOING",
            "isRemote": False,
            "changeLog": change_log(),
            "account": router.get("account") or {"accountNumber": 0},
            "order": inputs.get("order") or {},
            "project": inputs.get("project") or router.get("project") or {},
            "routerUuid": router["uuid"],
            "profileName": profile,
            **made,
            **_status(tx, {**made, "profileName": profile}),
        },
    )


def _a_side(tx: Transaction, inputs: Mapping[str, Any]) -> dict[str, Any]:
    point = (inputs["aSide"] or {}).get("accessPoint") or {}
    uuid = (point.get("router") or {}).get("uuid")
    if point.get("type") != "CLOUD_ROUTER" or not uuid:
        raise ProviderError(
            "the simulated Equinix knows connections of an A side of type CLOUD_ROUTER with a router"
        )
    if inputs["type"] != TYPES_OF_A_SIDE[point["type"]]:
        raise rule(f"A connection of a cloud router has type IP_VC, not {inputs['type']}.", _API)
    router = find_router(tx, uuid)
    if router["package"]["code"] == "LAB" and inputs["bandwidth"] > LAB_MOST:
        raise rule(
            f"A LAB router has connections of up to {LAB_MOST} Mb/s, not {inputs['bandwidth']:g}.",
            "Equinix API page, cloud router packages, older: unverified",
        )
    return router


def _refuse_nested_keys(inputs: Mapping[str, Any]) -> None:
    if any((inputs[side] or {}).get("additionalInfo") for side in ("aSide", "zSide")):
        raise ProviderError(
            "the simulated Equinix takes additionalInfo of the connection, not of its sides: nothing of it may come "
            "into the database"
        )


# AWS


def _to_aws(call: Call, uuid: str, router: Mapping[str, Any], z_side: Mapping[str, Any]) -> dict[str, Any]:
    account, metro_code = str(z_side.get("authenticationKey") or ""), _metro(z_side)
    if not (account.isdigit() and len(account) == 12):
        raise rule("The Z side's authenticationKey is not the 12 digits of an AWS account.", _API)
    metro = METROS[metro_code]
    if z_side.get("sellerRegion") != metro.aws_region:
        raise rule(
            f"sellerRegion {z_side.get('sellerRegion')} is not offered in metro {metro_code}; {metro.aws_region} is.",
            _API,
        )
    given = {each.get("key"): each.get("value") for each in call.inputs.get("additionalInfo") or []}
    vlan = _FIRST_VLAN + call.tx.next("vlan") % 3000
    megabits = int(call.inputs["bandwidth"])
    try:
        id = partner.order_hosted_connection(
            call.tx,
            name=str(call.inputs["name"]),
            region=metro.aws_region,
            location=metro.aws_location,
            bandwidth=f"{megabits}Mbps" if megabits < 1000 else f"{megabits // 1000}Gbps",
            vlan=vlan,
            partner="Equinix, Inc.",
            accepted=all(given.get(key) for key in KEYS),
            faults=call.faults,
        )
    except partner.Impossible as problem:
        raise rule(f"{problem}.", _API) from None
    _record(call.tx, uuid, router, partner.AWS, id, "")
    link = {"type": "DOT1Q", "vlanTag": vlan}
    return {
        "providerConnectionId": id,
        "zSide": {
            "accessPoint": {**z_side, "providerConnectionId": id, "linkProtocol": link},
        },
    }


def _metro(z_side: Mapping[str, Any]) -> str:
    code = (z_side.get("location") or {}).get("metroCode")
    if code not in METROS:
        raise rule(
            f"Metro {code} of the Z side is not known. The simulation knows {', '.join(METROS)}.", _API
        )
    return str(code)


# Azure


def _to_azure(call: Call, uuid: str, router: Mapping[str, Any], z_side: Mapping[str, Any]) -> dict[str, Any]:
    tx, key = call.tx, str(z_side.get("authenticationKey") or "")
    if z_side.get("peeringType") != "PRIVATE":
        raise rule(
            f"peeringType {z_side.get('peeringType')}: the simulation knows connections to Azure of type PRIVATE.",
            _API,
        )
    redundancy, port = _redundancy(call)
    metro_code = (z_side.get("location") or {}).get("metroCode")
    circuit = partner.find_circuit(tx, key)
    if circuit is not None and metro_code is not None:
        where = str((circuit.get("serviceProviderProperties") or {}).get("peeringLocation", ""))
        if AZURE_METROS.get(where.casefold()) != metro_code:
            raise rule(f"The service key's circuit is at {where}, not in metro {metro_code}.", _API)
    try:
        id = partner.provision_circuit(
            tx,
            key,
            partner="Equinix",
            megabits=call.inputs["bandwidth"],
            port=port,
            by=uuid,
            faults=call.faults,
        )
    except partner.Impossible as problem:
        raise rule(f"{problem}.", _API) from None
    _record(tx, uuid, router, partner.AZURE, id, port)
    return {"circuitId": id, "port": port, "redundancy": redundancy}


def _redundancy(call: Call) -> tuple[dict[str, str] | None, partner.Port]:
    """The connection's redundancy and the port of the circuit that it takes."""
    given = call.inputs.get("redundancy")
    if not given:
        return None, "primary"
    priority, group = given.get("priority"), given.get("group")
    if priority not in ("PRIMARY", "SECONDARY"):
        raise rule(f"redundancy.priority {priority} is neither PRIMARY nor SECONDARY.", _API)
    if priority == "PRIMARY":
        return {"priority": priority, "group": group or new_uuid(call.tx, "redundancyGroup", "b")}, "primary"
    first = [
        each
        for _, each in call.tx.find(CONNECTION)
        if (each.get("redundancy") or {}).get("priority") == "PRIMARY"
        and each["redundancy"].get("group") == group
    ]
    if not group or not first:
        # terraform-provider-equinix#487
        raise rule(
            "A SECONDARY connection carries the redundancy.group of its PRIMARY connection"
            + (f"; {group} is none." if group else "; there is none."),
            "terraform-provider-equinix#487",
        )
    return {"priority": priority, "group": str(group)}, "secondary"


# Both


def _record(
    tx: Transaction, uuid: str, router: Mapping[str, Any], cloud: str, target: str, port: str
) -> None:
    tx.put(
        partner.CROSS_CONNECT,
        uuid,
        {
            "kind": CONNECTION,
            "cloud": cloud,
            "target": target,
            "port": port,
            "router": router["uuid"],
            "routerAsn": router["equinixAsn"],
        },
    )


def _status(tx: Transaction, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The connection's state, which follows from what the customer does in AWS."""
    if stored["profileName"] == AZURE:
        return {
            "state": "ACTIVE",
            "operation": {"equinixStatus": "PROVISIONED", "providerStatus": "AVAILABLE"},
        }
    from ..aws.direct_connect import state_of

    there = tx.beside(partner.AWS).get(aws_kinds.DX_CONNECTION, stored["providerConnectionId"])
    if there is not None and state_of(there) == "ordering":
        return {
            "state": "PENDING",
            "operation": {"equinixStatus": "PROVISIONED", "providerStatus": "PENDING_APPROVAL"},
        }
    return {
        "state": "ACTIVE",
        "operation": {"equinixStatus": "PROVISIONED", "providerStatus": "PROVISIONED"},
    }


def read(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(CONNECTION, call.id)
    if stored is None:
        return None
    return {
        **stored,
        **_status(call.tx, stored),
        "additionalInfo": call.old.get("additionalInfo"),
    }


def update(call: Call) -> dict[str, Any]:
    for name in ("aSide", "zSide", "redundancy", "type", "project"):
        if call.inputs.get(name) != call.old_inputs.get(name):
            raise rule(f"The Fabric API changes name and bandwidth of a connection, not {name}.", _API)
    if len(str(call.inputs["name"])) >= NAME_BELOW:
        raise Refusal(
            "EQ-3142539", "connection name length should be greater than 0 and less than 24 character"
        )
    if call.changed("bandwidth"):
        raise rule(
            "The bandwidth of a connection to a cloud cannot change: the cloud's side is ordered with it.",
            "Equinix Fabric API v3, update-bandwidth-or-speed-of-connection, of AWS; it takes some of Azure",
        )
    # The provider's answer has what the clouds added to the sides.
    return {name: call.old[name] for name in ("zSide", "redundancy") if call.old.get(name) is not None}


def delete(call: Call) -> None:
    tx = call.tx
    try:
        if call.old["profileName"] == AWS:
            partner.withdraw_hosted_connection(tx, call.old["providerConnectionId"])
        else:
            partner.release_circuit(tx, call.old["circuitId"], by=call.id, faults=call.faults)
    except partner.Impossible as problem:
        raise rule(f"{problem}.", _API, status=409) from None
    tx.remove(partner.CROSS_CONNECT, call.id)
    tx.remove_all(partner.ROUTER_SESSION, parentId=call.id)
    tx.remove_all(PROTOCOL, connectionUuid=call.id)


def look_up(lookup: Lookup) -> dict[str, Any]:
    found = lookup.tx.get(CONNECTION, lookup.args["uuid"])
    if found is None:
        raise rule(f"Connection {lookup.args['uuid']} does not exist.", _API, status=404)
    return {**found, **_status(lookup.tx, found)}


TYPES = (
    ResourceType(
        token=CONNECTION,
        title="Fabric Connection",
        create=create,
        read=read,
        update=update,
        delete=delete,
        autoname="name",
        name_limit=NAME_BELOW - 1,
        secrets=frozenset({"additionalInfo"}),
        absent=frozenset({"redundancy"}),
        unknown_within={
            "redundancy": frozenset({"group"}),
            "zSide.accessPoint": frozenset({"providerConnectionId", "linkProtocol"}),
        },
        replaces_source="terraform-provider-equinix fabric connection resource.go at 087abf56: nothing is ForceNew; "
        "updates are of name, bandwidth and AWS keys",
    ),
)
FUNCTIONS = (Function("equinix:fabric/getConnection:getConnection", look_up),)
