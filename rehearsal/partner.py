"""What happens between the clouds: a partner's work in its customers' accounts, and what somebody does by hand.

A partner's connection to AWS makes a hosted connection in the AWS account, ``ordering`` until the customer accepts it.
A partner's connection with a service key provisions the ExpressRoute circuit of that key. A partner keeps two kinds of
object that :mod:`.sessions` reads: a cross-connect for each such connection, and the BGP sessions of its routers.

``quota`` switches: ``circuitProvisioningSeconds`` and ``circuitDeprovisioningSeconds`` say how long a circuit is in
between (0 where nothing is said), ``hostedConnectionPendingSeconds`` how long a connection that the partner accepted
for the customer is ``pending``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from .aws import kinds as aws_kinds
from .azure import kinds as azure_kinds
from .core.faults import Faults
from .core.store import Transaction

AWS, AZURE = "aws", "azure-native"
PARTNERS = ("equinix", "megaport")
CROSS_CONNECT = "crossConnect"
"""``{"kind", "cloud", "target", "port", "router", "routerAsn"}`` under the id of the partner's connection; ``kind`` is
that connection's own."""
ROUTER_SESSION = "routerSession"
"""``{"parentId" (the connection), "localAddress", "peerAddress", "peerAsn", "keyFingerprint", "bfd"}``."""
Port = Literal["primary", "secondary"]
MANUAL = "manual"


class Impossible(Exception):  # noqa: N818 (a partner words its own refusal)
    """The customer's cloud does not let the partner do it. The message says why."""


# AWS


def order_hosted_connection(
    tx: Transaction,
    *,
    name: str,
    region: str,
    location: str,
    bandwidth: str,
    vlan: int,
    partner: str,
    accepted: bool,
    faults: Faults,
    id: str = "",
) -> str:
    """Make a hosted connection in the AWS account, under ``id`` if one is given, and return its id.

    ``accepted`` is for a partner that has the customer's keys: the connection is then ``pending``, not ``ordering``.
    """
    from .aws import direct_connect

    aws = tx.beside(AWS)
    if bandwidth not in direct_connect.HOSTED:
        raise Impossible(
            f"AWS has no hosted connection of {bandwidth}; there are {', '.join(direct_connect.HOSTED)}"
        )
    id = id or direct_connect.new_connection_id(aws)
    properties = {
        **direct_connect.described(
            aws, id, region, location, state="pending" if accepted else "ordering", partner=partner, vlan=vlan
        ),
        "id": id,
        "name": name,
        "region": region,
        "location": location,
        "bandwidth": bandwidth,
        "encryptionMode": "no_encrypt",
        "providerName": partner,
        "hosted": True,
        "tags": {},
        "tagsAll": {},
    }
    if accepted:
        properties["availableAt"] = time.time() + faults.limit("hostedConnectionPendingSeconds", 0)
    aws.put(aws_kinds.DX_CONNECTION, id, properties)
    return id


def withdraw_hosted_connection(tx: Transaction, id: str) -> None:
    """Take a hosted connection away again; it has to be free of virtual interfaces."""
    from .aws.direct_connect import interfaces_on

    aws = tx.beside(AWS)
    used = [each for each, _ in interfaces_on(aws, id)]
    if used:
        raise Impossible(f"AWS connection {id} has virtual interface {', '.join(used)}: delete it first")
    aws.remove(aws_kinds.DX_CONNECTION, id)


# Azure


def find_circuit(tx: Transaction, key: str) -> dict[str, Any] | None:
    """The circuit with the service key."""
    return next((each for _, each in tx.beside(AZURE).find(azure_kinds.CIRCUIT.token, serviceKey=key)), None)


def provision_circuit(
    tx: Transaction, service_key: str, *, partner: str, megabits: float, port: Port, by: str, faults: Faults
) -> str:
    """Provision one port of the circuit with the service key, and return the circuit's id."""
    from .azure.express_route import state_of

    circuit = find_circuit(tx, service_key)
    if circuit is None:
        raise Impossible(
            f"no ExpressRoute circuit has the service key {service_key}: a circuit's serviceKey is wanted, not an "
            f"authorization's key"
        )
    asked = circuit.get("serviceProviderProperties") or {}
    if str(asked.get("serviceProviderName", "")).casefold() != partner.casefold():
        raise Impossible(
            f"circuit {circuit['name']} was ordered from {asked.get('serviceProviderName') or 'nobody'}, not from "
            f"{partner}"
        )
    if megabits > asked["bandwidthInMbps"]:
        raise Impossible(
            f"circuit {circuit['name']} has {asked['bandwidthInMbps']:g} Mb/s; {megabits:g} were asked for"
        )
    state = state_of(circuit)
    if state == "Deprovisioning":
        raise Impossible(f"circuit {circuit['name']} is Deprovisioning: wait until it is NotProvisioned")
    ports = dict(circuit.get("ports") or {})
    if port in ports:
        raise Impossible(f"the {port} port of circuit {circuit['name']} is taken by {ports[port]}")
    ports[port] = by
    _set_ports(tx, circuit, ports, faults)
    return str(circuit["id"])


def release_circuit(tx: Transaction, circuit_id: str, *, by: str, faults: Faults) -> None:
    """Let go of the circuit's port; the last one deprovisions the circuit. Peerings have to be gone before that."""
    azure = tx.beside(AZURE)
    circuit = azure.get(azure_kinds.CIRCUIT.token, circuit_id)
    if circuit is None:
        return
    ports = {port: owner for port, owner in (circuit.get("ports") or {}).items() if owner != by}
    peerings = azure.find(azure_kinds.PEERING.token, parentId=circuit_id)
    if not ports and peerings:
        raise Impossible(
            f"circuit {circuit['name']} has peering {peerings[0][1]['name']}: delete it in Azure first, then wait"
        )
    _set_ports(tx, circuit, ports, faults)


def _set_ports(tx: Transaction, circuit: Mapping[str, Any], ports: Mapping[str, str], faults: Faults) -> None:
    was = bool(circuit.get("ports"))
    changes: dict[str, Any] = {"ports": dict(ports)}
    if bool(ports) != was:
        name = "circuitProvisioningSeconds" if ports else "circuitDeprovisioningSeconds"
        changes |= {
            "serviceProviderProvisioningState": "Provisioning" if ports else "Deprovisioning",
            "settledAt": time.time() + faults.limit(name, 0),
        }
        if changes["settledAt"] <= time.time():
            changes["serviceProviderProvisioningState"] = "Provisioned" if ports else "NotProvisioned"
    tx.beside(AZURE).patch(azure_kinds.CIRCUIT.token, str(circuit["id"]), **changes)


# By hand


def provision(tx: Transaction, what: str, undo: bool) -> str:
    """Do what a provider's engineer does after a human ordered it, or undo it. Returns a sentence of what happened.

    ``what`` is a circuit's service key, name or id, or the id of a Direct Connect connection. Raises
    :class:`Impossible` where there is no such thing or it is in no state for it.
    """
    if what.startswith("dxcon-"):
        return _provision_connection(tx, what, undo)
    return _provision_circuit(tx, what, undo)


def _provision_connection(tx: Transaction, id: str, undo: bool) -> str:
    aws = tx.beside(AWS)
    found = aws.get(aws_kinds.DX_CONNECTION, id)
    if found is None:
        raise Impossible(f"no Direct Connect connection {id}")
    before = found["state"]
    if before == "ordering":
        raise Impossible(f"{id} is ordering: its owner has to accept it (ConnectionConfirmation)")
    after = "down" if undo else "available"
    aws.patch(aws_kinds.DX_CONNECTION, id, state=after)
    return f"{id}: was {before}, is {after}"


def _provision_circuit(tx: Transaction, what: str, undo: bool) -> str:
    azure = tx.beside(AZURE)
    found = [
        each
        for id, each in azure.find(azure_kinds.CIRCUIT.token)
        if what.casefold() in (id.casefold(), each["name"].casefold(), each["serviceKey"].casefold())
    ]
    if len(found) != 1:
        raise Impossible(
            f"{what}: {'several circuits have' if found else 'no circuit has'} that service key, name or id"
        )
    (circuit,) = found
    before = circuit["serviceProviderProvisioningState"]
    owners = {each for each in (circuit.get("ports") or {}).values() if each != MANUAL}
    if owners:
        raise Impossible(f"circuit {circuit['name']} is in the hands of {', '.join(sorted(owners))}")
    if undo:
        release_circuit(tx, circuit["id"], by=MANUAL, faults=Faults())
    else:
        _set_ports(tx, circuit, {"primary": MANUAL, "secondary": MANUAL}, Faults())
    after = azure.need(azure_kinds.CIRCUIT.token, circuit["id"])["serviceProviderProvisioningState"]
    return f"circuit {circuit['name']}: was {before}, is {after}"


def expire(tx: Transaction, what: str) -> str:
    """Let an order that nobody accepted run out: it goes in AWS, and the partner takes its line back.

    Raises :class:`Impossible` where nothing of that id waits.
    """
    aws = tx.beside(AWS)
    for kind, waiting in ((aws_kinds.DX_CONNECTION, "ordering"), (aws_kinds.HOSTED_VIF, "confirming")):
        found = aws.get(kind, what)
        if found is None:
            continue
        if found["state"] != waiting:
            raise Impossible(f"{what} is {found['state']}: only what is {waiting} can run out")
        aws.remove(kind, what)
        lines = [_take_back(tx.beside(name), what) for name in PARTNERS]
        return f"{what}: was {waiting}, is gone{''.join(lines)}"
    raise Impossible(f"no hosted connection or virtual interface {what}")


def _take_back(own: Transaction, target: str) -> str:
    """Remove the partner's line to the target. Says so, with a comma before it."""
    said = ""
    for id, line in own.find(CROSS_CONNECT, target=target):
        own.remove(line["kind"], id)
        own.remove(CROSS_CONNECT, id)
        own.remove_all(ROUTER_SESSION, parentId=id)
        said += f", and so is {own.cloud} {id}"
    return said
