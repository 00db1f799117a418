"""Public addresses and prefixes, NAT gateways and Bastion: the ways out of and into a virtual network.

Addresses come from the ranges that RFC 5737 keeps for documentation: no real host has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .addresses import free, hold
from .arm import Target, check_zones, link, reference, sub_resources, users
from .errors import in_use, network_missing, network_word, rule
from .network import BASTION_SUBNET
from .resource import arm_type, at, changed_from, require_range

ADDRESSES = IPv4Network("203.0.113.0/24")
"""RFC 5737, TEST-NET-3: single addresses."""
PREFIXES = IPv4Network("198.51.100.0/24")
"""RFC 5737, TEST-NET-2: prefixes."""
PREFIX_LENGTHS = (28, 31)
"""azure-docs ip-services/public-ip-address-prefix.md: IPv4 prefix sizes."""
IDLE_MINUTES = (4, 120)
"""azure-docs nat-gateway/nat-gateway-resource.md."""
MOST_GATEWAY_ADDRESSES = 16
"""Same page: public addresses of one NAT gateway."""
_SKUS = ("Standard", "StandardV2")
_NAT_DOCS = "azure-docs nat-gateway/nat-gateway-resource.md"


# Addresses


def put_address(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    sku = at(inputs, "sku.name", "Basic")
    if sku == "Basic":
        # Basic addresses were retired on 2025-09-30: a subscription may have none.
        raise Refusal(
            "IPv4BasicSkuPublicIpCountLimitReached",
            "Cannot create more than 0 IPv4 Basic SKU public IP addresses for this subscription in this region.",
        )
    if sku not in _SKUS:
        raise network_word(sku, "sku.name", ("Basic", *_SKUS))
    allocation = inputs.get("publicIPAllocationMethod", "Static" if call.old else None)
    if allocation != "Static":
        raise rule(
            f"Public IP address {target.name} of SKU {sku} must have publicIPAllocationMethod Static.",
            "azure-docs ip-services/public-ip-addresses.md",
        )
    check_zones(inputs.get("zones"), target.location, target.id)
    if call.old and changed_from(call, "zones"):
        raise rule(
            f"Resource {target.id} has an existing availability zone constraint and it cannot be changed.",
            "azure-docs ip-services/public-ip-addresses.md",
        )
    prefix = reference(tx, kinds.PUBLIC_IP_PREFIX, inputs.get("publicIPPrefix"), target)
    if call.old:
        return {}
    if prefix is not None:
        link(tx, target.id, [(prefix["id"], "publicIPPrefix")])
        used = {
            each["ipAddress"] for _, each in tx.find(kinds.PUBLIC_IP_ADDRESS.token) if each.get("ipAddress")
        }
        free_one = next((each for each in IPv4Network(prefix["ipPrefix"]) if str(each) not in used), None)
        if free_one is None:
            raise rule(
                f"Public IP prefix {prefix['id']} has no free address.",
                "azure-docs ip-services/public-ip-address-prefix.md",
            )
        return {"ipAddress": str(free_one)}
    number = tx.next("publicIPAddress")
    return {"ipAddress": str(IPv4Address(int(ADDRESSES.network_address) + 1 + (number - 1) % 254))}


def show_address(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    user = next(iter(users(tx, id, "publicIPAddress")), None)
    return {"ipConfiguration": {"id": user} if user else None}


def remove_address(call: Call, target: Target) -> None:
    user = next(iter(users(call.tx, target.id)), None)
    if user:
        raise Refusal(
            "PublicIPAddressCannotBeDeleted",
            f"Public IP address {target.id} can not be deleted since it is still allocated to resource {user}. In "
            f"order to delete the public IP, disassociate/detach the Public IP address from the resource.  To learn "
            f"how to do this, see aka.ms/deletepublicip.",
        )


# Prefixes


def put_prefix(call: Call, target: Target) -> dict[str, Any]:
    length = call.inputs.get("prefixLength")
    if length is None:
        raise network_missing("prefixLength")
    source = "azure-docs ip-services/public-ip-address-prefix.md"
    require_range(length, *PREFIX_LENGTHS, "prefixLength", source)
    check_zones(call.inputs.get("zones"), target.location, target.id)
    if call.old:
        if length != call.old["prefixLength"]:
            raise rule(
                f"prefixLength of {target.id} cannot be changed from {call.old['prefixLength']} to {length}.",
                source,
            )
        return {}
    size = 2 ** (32 - length)
    after = call.tx.next("publicIPPrefix", 2 ** (32 - PREFIX_LENGTHS[0]))
    start = int(PREFIXES.network_address) + (after - 2 ** (32 - PREFIX_LENGTHS[0])) % PREFIXES.num_addresses
    return {"ipPrefix": f"{IPv4Address(start - start % size)}/{length}"}


def show_prefix(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    return {"publicIPAddresses": sub_resources(users(tx, id, "publicIPPrefix"))}


def remove_prefix(call: Call, target: Target) -> None:
    holders = users(call.tx, target.id)
    if holders:
        raise rule(
            f"Public IP prefix {target.id} cannot be deleted since it is still allocated to {', '.join(holders)}.",
            "azure-docs ip-services/manage-public-ip-address-prefix.md",
        )


# NAT gateways


def put_gateway(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    sku = at(inputs, "sku.name")
    if sku not in _SKUS:
        raise network_word(sku, "sku.name", _SKUS)
    zones = inputs.get("zones") or []
    check_zones(zones, target.location, target.id)
    if sku == "Standard" and len(zones) > 1:
        raise rule(
            f"NAT gateway {target.name} of SKU Standard can be in one zone, not in {', '.join(zones)}.",
            _NAT_DOCS,
        )
    require_range(inputs.get("idleTimeoutInMinutes"), *IDLE_MINUTES, "idleTimeoutInMinutes", _NAT_DOCS)
    used: list[tuple[str, str]] = []
    count = 0
    for name, kind in (
        ("publicIpAddresses", kinds.PUBLIC_IP_ADDRESS),
        ("publicIpPrefixes", kinds.PUBLIC_IP_PREFIX),
    ):
        for each in inputs.get(name) or []:
            found = reference(tx, kind, each, target)
            if found is None:
                raise network_missing(f"{name}.id")
            other = next((user for user in users(tx, found["id"]) if user != target.id), None)
            if other and kind is kinds.PUBLIC_IP_ADDRESS:
                raise rule(f"Resource {found['id']} is used by {other} already.", _NAT_DOCS)
            used.append((found["id"], "natGateway"))
            count += 1 if kind is kinds.PUBLIC_IP_ADDRESS else 2 ** (32 - found["prefixLength"])
    if count > MOST_GATEWAY_ADDRESSES:
        raise rule(
            f"NAT gateway {target.name} would have {count} public addresses, more than {MOST_GATEWAY_ADDRESSES}.",
            _NAT_DOCS,
        )
    link(tx, target.id, used)
    return {"idleTimeoutInMinutes": inputs.get("idleTimeoutInMinutes", IDLE_MINUTES[0])}


def show_gateway(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    return {"subnets": sub_resources(users(tx, id, "natGateway"))}


def remove_gateway(call: Call, target: Target) -> None:
    holders = users(call.tx, target.id, "natGateway")
    if holders:
        raise in_use(
            "InUseNatGatewayCannotBeDeleted",
            "Nat gateway",
            target.id,
            holders,
            f"Take it from the subnets first. [rule: {_NAT_DOCS}; the wording is the simulation's]",
        )


# Bastion


def put_bastion(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    docs = "azure-docs bastion/configuration-settings.md"
    sku = at(inputs, "sku.name", "Standard")
    if sku not in ("Basic", "Standard", "Developer", "Premium"):
        raise network_word(sku, "sku.name", ("Basic", "Standard", "Developer", "Premium"))
    require_range(inputs.get("scaleUnits"), 2, 50, "scaleUnits", docs)
    if sku == "Developer":
        network = reference(tx, kinds.VIRTUAL_NETWORK, inputs.get("virtualNetwork"), target)
        if network is None:
            raise network_missing("virtualNetwork")
        link(tx, target.id, [(network["id"], "virtualNetwork")])
        return {"dnsName": _dns_name(call, target)}
    configurations = inputs.get("ipConfigurations") or []
    if len(configurations) != 1:
        raise rule(
            f"Bastion {target.name} needs one ipConfiguration, not {len(configurations)}.",
            docs,
        )
    (configuration,) = configurations
    subnet = reference(tx, kinds.SUBNET, configuration.get("subnet"), target)
    address = reference(tx, kinds.PUBLIC_IP_ADDRESS, configuration.get("publicIPAddress"), target)
    if subnet is None or subnet["name"] != BASTION_SUBNET:
        raise rule(f"Bastion {target.name} must lie in a subnet named {BASTION_SUBNET}.", docs)
    if address is None and not inputs.get("enablePrivateOnlyBastion"):
        raise network_missing("ipConfigurations.publicIPAddress")
    id = f"{target.id}/bastionHostIpConfigurations/{configuration['name']}"
    if not call.old:
        hold(tx, target.id, [(id, subnet["id"], free(tx, subnet, 1)[0])])
    link(tx, target.id, [(address["id"], "publicIPAddress")] if address else [])
    return {
        "dnsName": _dns_name(call, target),
        "scaleUnits": inputs.get("scaleUnits", 2),
        "sku": {"name": sku},
    }


def _dns_name(call: Call, target: Target) -> str:
    return call.old.get("dnsName") or f"bst-{call.tx.next('bastion'):08x}.bastion.azure.com"


TYPES = (
    arm_type(
        kinds.PUBLIC_IP_ADDRESS,
        "public IP address",
        put_address,
        remove=remove_address,
        show=show_address,
        forced=frozenset({"location", "publicIPAddressVersion", "publicIPPrefix", "sku"}),
        defaults={"idleTimeoutInMinutes": 4, "publicIPAddressVersion": "IPv4"},
    ),
    arm_type(
        kinds.PUBLIC_IP_PREFIX,
        "public IP prefix",
        put_prefix,
        remove=remove_prefix,
        show=show_prefix,
        defaults={"publicIPAddressVersion": "IPv4"},
    ),
    arm_type(kinds.NAT_GATEWAY, "NAT gateway", put_gateway, remove=remove_gateway, show=show_gateway),
    arm_type(kinds.BASTION, "Bastion host", put_bastion),
)
