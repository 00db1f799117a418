"""Network interfaces: a machine's addresses in a subnet."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .addresses import check_address, free, hold, taken
from .arm import Target, etag, link, reference, users
from .errors import network_missing, network_word, rule
from .resource import arm_type


def put(call: Call, target: Target) -> dict[str, Any]:
    inputs, tx = call.inputs, call.tx
    configurations = inputs.get("ipConfigurations") or []
    if not configurations:
        raise network_missing("ipConfigurations")
    group = reference(tx, kinds.SECURITY_GROUP, inputs.get("networkSecurityGroup"), target)
    links = [(group["id"], "networkSecurityGroup")] if group else []
    held_before = dict(tx.find(kinds.IP_CONFIGURATION, parentId=target.id))
    tx.remove_all(kinds.IP_CONFIGURATION, parentId=target.id)
    primaries = [each for each in configurations if each.get("primary")]
    answered, vnets = [], set()
    for index, configuration in enumerate(configurations):
        id = f"{target.id}/ipConfigurations/{configuration['name']}"
        subnet = reference(tx, kinds.SUBNET, configuration.get("subnet"), target)
        if subnet is None:
            raise network_missing("ipConfigurations.subnet")
        reference(tx, kinds.VIRTUAL_NETWORK, {"id": subnet["parentId"]}, target)
        vnets.add(subnet["parentId"])
        address = _address(tx, configuration, subnet, id, held_before.get(id))
        hold(tx, target.id, [(id, subnet["id"], address)])
        public = reference(tx, kinds.PUBLIC_IP_ADDRESS, configuration.get("publicIPAddress"), target)
        if public:
            other = next((each for each in users(tx, public["id"]) if each != target.id), None)
            if other:
                raise Refusal(
                    "PublicIPAddressInUse",
                    f"Resource {id} is referencing public IP address {public['id']} that is already allocated to "
                    f"resource {other}.",
                )
            links.append((public["id"], "publicIPAddress"))
        answered.append(
            {
                "privateIPAddressVersion": "IPv4",
                "privateIPAllocationMethod": "Dynamic",
                **configuration,
                "id": id,
                "type": f"{kinds.NETWORK_INTERFACE.type}/ipConfigurations",
                "etag": etag(tx),
                "primary": bool(configuration.get("primary", not primaries and index == 0)),
                "privateIPAddress": address,
                "provisioningState": "Succeeded",
            }
        )
    if len(vnets) > 1:
        raise rule(
            f"The ip configurations of network interface {target.name} lie in {len(vnets)} virtual networks.",
            "azure-docs virtual-network/ip-services/virtual-network-network-interface-addresses.md",
        )
    # A machine's hold on this interface is the machine's own reference: it stays.
    link(tx, target.id, links)
    return {
        "ipConfigurations": answered,
        "enableAcceleratedNetworking": inputs.get("enableAcceleratedNetworking", False),
        "enableIPForwarding": inputs.get("enableIPForwarding", False),
        "disableTcpStateTracking": inputs.get("disableTcpStateTracking", False),
        "nicType": "Standard",
        "defaultOutboundConnectivityEnabled": False,
        "vnetEncryptionSupported": False,
        "dnsSettings": {"appliedDnsServers": [], "dnsServers": [], **(inputs.get("dnsSettings") or {})},
    }


def _address(
    tx: Transaction,
    configuration: Mapping[str, Any],
    subnet: Mapping[str, Any],
    id: str,
    held: Mapping[str, Any] | None,
) -> str:
    method = configuration.get("privateIPAllocationMethod", "Dynamic")
    if method not in ("Static", "Dynamic"):
        raise network_word(method, "privateIPAllocationMethod", ("Static", "Dynamic"))
    wanted = configuration.get("privateIPAddress")
    if method == "Static":
        if not wanted:
            raise network_missing("ipConfigurations.privateIPAddress")
        check_address(tx, subnet, wanted, id)
        return str(wanted)
    if (
        held is not None
        and held["subnetId"] == subnet["id"]
        and held["address"] not in taken(tx, subnet["id"])
    ):
        return str(held["address"])
    return free(tx, subnet, 1)[0]


def show(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    machine = next(iter(users(tx, id, "networkInterface")), None)
    digest = hashlib.sha256(id.encode()).hexdigest().upper()
    return {
        # Azure fills it in when a machine takes the interface; the first byte is that of a locally given address.
        "macAddress": "-".join(["02", *(digest[at : at + 2] for at in range(0, 10, 2))]) if machine else "",
        "virtualMachine": {"id": machine} if machine else None,
        "primary": bool(machine),
        "hostedWorkloads": [],
        "tapConfigurations": [],
    }


def remove(call: Call, target: Target) -> None:
    machine = next(iter(users(call.tx, target.id, "networkInterface")), None)
    if machine:
        raise Refusal(
            "NicInUse",
            f"Network Interface {target.id} is used by existing resource {machine}. In order to delete the network "
            f"interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.",
        )


TYPES = (
    arm_type(
        kinds.NETWORK_INTERFACE,
        "network interface",
        put,
        remove=remove,
        show=show,
        unknown_within={
            "ipConfigurations": frozenset({"id", "etag", "privateIPAddress", "provisioningState", "type"})
        },
    ),
)
