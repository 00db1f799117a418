"""Routing protocols of a connection: DIRECT, the router's own address, and then BGP.

A BGP key goes to the engine as a secret; the database has a fingerprint of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

from .. import partner
from ..core.fingerprint import fingerprint
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from .cloud_router import change_log, find_router, new_uuid
from .errors import rule
from .kinds import CONNECTION, PROTOCOL

DIRECT, BGP = "DIRECT", "BGP"
_API = "Fabric v4 API, routingProtocols"


def _others(tx: Transaction, connection: str, type: str) -> list[dict[str, Any]]:
    return [each for _, each in tx.find(PROTOCOL, connectionUuid=connection) if each.get("type") == type]


def create(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    connection = tx.get(CONNECTION, inputs["connectionUuid"])
    if connection is None:
        raise rule(f"Connection {inputs['connectionUuid']} does not exist.", _API, status=404)
    type = inputs.get("type")
    if type not in (DIRECT, BGP):
        raise rule(f"Routing protocol type {type} is neither {DIRECT} nor {BGP}.", _API)
    if _others(tx, inputs["connectionUuid"], type):
        raise rule(
            f"Connection {inputs['connectionUuid']} has a {type} routing protocol already.", _API, status=409
        )
    asn = int(find_router(tx, connection["routerUuid"])["equinixAsn"])
    uuid = new_uuid(tx, "routingProtocol", "a")
    checked = _direct(inputs) if type == DIRECT else _bgp(tx, inputs, uuid, asn)
    return Made(
        uuid,
        {
            "uuid": uuid,
            "href": f"https://api.equinix.com/fabric/v4/connections/{inputs['connectionUuid']}/routingProtocols/{uuid}",
            "state": "PROVISIONED",
            "equinixAsn": asn,
            "changeLogs": [change_log()],
            "changes": [],
            "operations": [],
            "name": inputs.get("name", ""),
            "description": inputs.get("description", ""),
            **checked,
        },
    )


def _direct(inputs: Mapping[str, Any]) -> dict[str, Any]:
    text = (inputs.get("directIpv4") or {}).get("equinixIfaceIp")
    try:
        interface = IPv4Interface(text or "")
    except ValueError:
        interface = None
    if interface is None or "/" not in str(text) or interface.network.prefixlen == 32:
        raise rule(
            f"directIpv4.equinixIfaceIp {text} is no address with its prefix length, as 192.168.15.17/30.",
            _API,
        )
    return {}


def _bgp(tx: Transaction, inputs: Mapping[str, Any], uuid: str, asn: int) -> dict[str, Any]:
    connection = inputs["connectionUuid"]
    direct = _others(tx, connection, DIRECT)
    if not direct:
        raise rule(f"Connection {connection} has no {DIRECT} routing protocol: make it before {BGP}.", _API)
    own = IPv4Interface(direct[0]["directIpv4"]["equinixIfaceIp"])
    peer = (inputs.get("bgpIpv4") or {}).get("customerPeerIp")
    try:
        address = IPv4Address(str(peer))
    except ValueError:
        raise rule(f"bgpIpv4.customerPeerIp {peer} is no IPv4 address.", _API) from None
    if address not in own.network or address == own.ip:
        raise rule(f"bgpIpv4.customerPeerIp {peer} is not the other end of {own}.", _API)
    customer = inputs.get("customerAsn")
    if not customer:
        raise rule("customerAsn is missing.", _API)
    if int(customer) == asn:
        raise rule(f"customerAsn {customer:g} is the router's own ASN.", _API)
    tx.put(
        partner.ROUTER_SESSION,
        uuid,
        {
            "parentId": connection,
            "localAddress": str(own.ip),
            "peerAddress": str(address),
            "peerAsn": int(customer),
            "keyFingerprint": fingerprint(inputs.get("bgpAuthKey")),
            "bfd": bool((inputs.get("bfd") or {}).get("enabled")),
        },
    )
    return {
        "bgpIpv4": {"enabled": True, **inputs["bgpIpv4"], "equinixPeerIp": str(own.ip)},
        "bfd": inputs.get("bfd") or {"enabled": False, "interval": "100"},
        "asOverrideEnabled": inputs.get("asOverrideEnabled", False),
    }


def read(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(PROTOCOL, call.id)
    return stored and {**stored, "bgpAuthKey": call.old.get("bgpAuthKey")}


def update(call: Call) -> dict[str, Any]:
    inputs, tx = call.inputs, call.tx
    if inputs["connectionUuid"] != call.old["connectionUuid"] or inputs.get("type") != call.old["type"]:
        raise rule("Connection and type of a routing protocol cannot change.", _API)
    if call.old["type"] == DIRECT:
        if call.changed("directIpv4") and _others(tx, call.old["connectionUuid"], BGP):
            raise rule("The router's address cannot change under a BGP routing protocol.", _API, status=409)
        return _direct(inputs)
    return _bgp(tx, inputs, call.id, int(call.old["equinixAsn"]))


def delete(call: Call) -> None:
    if call.old.get("type") == DIRECT and _others(call.tx, call.old["connectionUuid"], BGP):
        raise rule(
            f"Connection {call.old['connectionUuid']} has a {BGP} routing protocol: delete it before {DIRECT}.",
            _API,
            status=409,
        )
    call.tx.remove(partner.ROUTER_SESSION, call.id)


TYPES = (
    ResourceType(
        token=PROTOCOL,
        title="Fabric Routing Protocol",
        create=create,
        read=read,
        update=update,
        delete=delete,
        secrets=frozenset({"bgpAuthKey"}),
        absent=frozenset(
            {
                "asOverrideEnabled",
                "bfd",
                "bgpAuthKey",
                "bgpIpv4",
                "bgpIpv6",
                "customerAsn",
                "directIpv4",
                "directIpv6",
            }
        ),
        unknown_within={"bgpIpv4": frozenset({"equinixPeerIp", "enabled"})},
        replaces_source="terraform-provider-equinix fabric routing_protocol: nothing is ForceNew; from memory, "
        "unverified",
    ),
)
