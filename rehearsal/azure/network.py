"""Virtual networks and subnets, in both ways a program can write subnets: inside the network or beside it.

A subnet is one object whichever way it was written. A network's PUT without ``subnets`` leaves them as they are:
pulumi-azure-native sends the existing ones along (provider/pkg/provider/crud/crud.go,
MaintainSubResourcePropertiesIfNotSet), and Azure itself keeps them since API version 2023-11-01
(techcommunity.microsoft.com ba-p/4067952). A PUT with ``subnets`` makes the list true: a subnet that is not in it is
deleted, also one that the same program wrote beside the network (pulumi-azure-native#611).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call, Function, Lookup
from ..core.store import Transaction
from . import kinds
from .addresses import network, subnet_networks
from .arm import Target, etag, find, find_group, forget, link, not_found, reference, users
from .errors import network_missing, resource_group_not_found, rule
from .resource import arm_type

LONGEST_PREFIX = 29
"""The smallest subnet (azure-docs virtual-networks-faq.md: "/29 … and the largest is /2")."""
SMALLEST_BASTION = 26
"""azure-docs bastion/configuration-settings.md: AzureBastionSubnet is /26 or larger."""
BASTION_SUBNET, GATEWAY_SUBNET = "AzureBastionSubnet", "GatewaySubnet"


# Virtual networks


def put_network(call: Call, target: Target) -> dict[str, Any]:
    tx, prefixes = call.tx, (call.inputs.get("addressSpace") or {}).get("addressPrefixes") or []
    if not prefixes:
        raise network_missing("addressSpace.addressPrefixes")
    space = [network(prefix, target.id) for prefix in prefixes]
    for index, one in enumerate(space):
        if any(one.overlaps(other) for other in space[:index]):
            raise rule(
                f"Address prefix {one} of virtual network '{target.name}' overlaps another of its prefixes.",
                "azure-docs virtual-networks-faq.md",
            )
    wanted = call.inputs.get("subnets")
    existing = dict(tx.find(kinds.SUBNET.token, parentId=target.id))
    if wanted is not None:
        names = [str(each.get("name") or "") for each in wanted]
        if len({name.casefold() for name in names}) < len(names) or "" in names:
            raise rule(
                f"Every subnet inside virtual network '{target.name}' needs a name of its own.",
                "Microsoft.Network 2024-05-01, Subnet.name",
            )
        kept = {name.casefold() for name in names}
        for id, subnet in existing.items():
            if subnet["name"].casefold() not in kept:
                _remove_subnet(tx, id, subnet["name"])
        for body in wanted:
            _put_inline(tx, target, space, body)
    for _, subnet in tx.find(kinds.SUBNET.token, parentId=target.id):
        _check_inside(subnet_networks(subnet), space, subnet["name"], target.name)
    return {"enableDdosProtection": call.inputs.get("enableDdosProtection", False)}


def _put_inline(tx: Transaction, vnet: Target, space: list[IPv4Network], body: Mapping[str, Any]) -> None:
    id = f"{vnet.id}/subnets/{body['name']}"
    old = find(tx, kinds.SUBNET, id) or {}
    target = Target(str(old.get("id", id)), body["name"], kinds.SUBNET, vnet.location, vnet.id)
    outputs = _put_subnet(tx, target, vnet.name, space, body, old)
    tx.put(
        kinds.SUBNET.token,
        target.id,
        {
            **old,
            **{key: value for key, value in body.items() if value is not None},
            **outputs,
            "id": target.id,
            "name": target.name,
            "type": kinds.SUBNET.type,
            "etag": etag(tx),
            "provisioningState": "Succeeded",
        },
    )


def show_network(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    names = {"parentId", "virtualNetworkName", "resourceGroupName"}
    return {
        "flowLogs": [],
        "subnets": [
            {
                key: value
                for key, value in {**subnet, **show_subnet(tx, own, subnet)}.items()
                if key not in names
            }
            for own, subnet in tx.find(kinds.SUBNET.token, parentId=id)
        ],
    }


def remove_network(call: Call, target: Target) -> None:
    for id, subnet in call.tx.find(kinds.SUBNET.token, parentId=target.id):
        _remove_subnet(call.tx, id, subnet["name"])


# Subnets


def put_subnet(call: Call, target: Target) -> dict[str, Any]:
    vnet = call.tx.need(kinds.VIRTUAL_NETWORK.token, target.parent)
    space = [IPv4Network(prefix) for prefix in vnet["addressSpace"]["addressPrefixes"]]
    located = Target(target.id, target.name, target.kind, vnet["location"], target.parent)
    return _put_subnet(call.tx, located, vnet["name"], space, call.inputs, call.old)


def _put_subnet(
    tx: Transaction,
    target: Target,
    vnet_name: str,
    space: list[IPv4Network],
    body: Mapping[str, Any],
    old: Mapping[str, Any],
) -> dict[str, Any]:
    prefixes = body.get("addressPrefixes") or ([body["addressPrefix"]] if body.get("addressPrefix") else [])
    if not prefixes:
        raise rule(
            f"Subnet '{target.name}' has neither addressPrefix nor addressPrefixes.",
            "Microsoft.Network 2024-05-01, SubnetPropertiesFormat",
        )
    ranges = [network(prefix, target.id) for prefix in prefixes]
    _check_inside(ranges, space, target.name, vnet_name)
    for range_ in ranges:
        if range_.prefixlen > LONGEST_PREFIX:
            raise Refusal(
                "NetcfgInvalidSubnet",
                f"Subnet '{target.name}' is not valid in virtual network '{vnet_name}'.",
            )
    for id, other in tx.find(kinds.SUBNET.token, parentId=target.parent):
        if id != target.id and any(a.overlaps(b) for a in ranges for b in subnet_networks(other)):
            raise Refusal(
                "NetcfgSubnetRangesOverlap",
                f"Subnet '{target.name}' is not valid because its IP address range overlaps with that of an "
                f"existing subnet in virtual network '{vnet_name}'.",
            )
    if target.name == BASTION_SUBNET and all(each.prefixlen > SMALLEST_BASTION for each in ranges):
        raise rule(
            f"{BASTION_SUBNET} {ranges[0]} is smaller than /{SMALLEST_BASTION}.",
            "azure-docs bastion/configuration-settings.md",
        )
    if target.name == GATEWAY_SUBNET and body.get("networkSecurityGroup"):
        raise rule(
            f"A network security group cannot be associated with {GATEWAY_SUBNET}.",
            "azure-docs expressroute/expressroute-about-virtual-network-gateways.md",
        )
    if old:
        _check_change(tx, target, body, old, ranges)
    group = reference(tx, kinds.SECURITY_GROUP, body.get("networkSecurityGroup"), target)
    gateway = reference(tx, kinds.NAT_GATEWAY, body.get("natGateway"), target)
    table = reference(tx, kinds.ROUTE_TABLE, body.get("routeTable"), target)
    if gateway is not None:
        _check_gateway(tx, gateway["id"], target)
    link(
        tx,
        target.id,
        [
            (found["id"], how)
            for found, how in (
                (group, "networkSecurityGroup"),
                (gateway, "natGateway"),
                (table, "routeTable"),
            )
            if found
        ],
    )
    return {"parentId": target.parent, "name": target.name, "type": kinds.SUBNET.type}


def _check_inside(ranges: list[IPv4Network], space: list[IPv4Network], name: str, vnet: str) -> None:
    if not all(any(each.subnet_of(prefix) for prefix in space) for each in ranges):
        raise Refusal(
            "NetcfgSubnetRangeOutsideVnet",
            f"Subnet '{name}' is not valid because its IP address range is outside the IP address range of virtual "
            f"network '{vnet}'.",
        )


def _check_change(
    tx: Transaction,
    target: Target,
    body: Mapping[str, Any],
    old: Mapping[str, Any],
    ranges: list[IPv4Network],
) -> None:
    held = [IPv4Address(each) for each in tx.select(kinds.IP_CONFIGURATION, "address", subnetId=target.id)]
    for before in subnet_networks(old):
        if any(each in before and not any(each in range_ for range_ in ranges) for each in held):
            raise Refusal(
                "InUsePrefixCannotBeDeleted",
                f"IpPrefix {before} on Subnet {target.name} has active allocations and cannot be deleted.",
            )
    wanted = body.get("defaultOutboundAccess")
    if wanted is not None and wanted != old.get("defaultOutboundAccess", True):
        raise rule(
            f"defaultOutboundAccess of subnet '{target.name}' cannot be changed: it is set when the subnet is made.",
            "Microsoft.Network 2024-05-01, SubnetPropertiesFormat.defaultOutboundAccess",
        )


def _check_gateway(tx: Transaction, gateway_id: str, target: Target) -> None:
    for subnet in users(tx, gateway_id, "natGateway"):
        if subnet.rsplit("/", 2)[0] != target.parent:
            raise rule(
                f"NAT gateway {gateway_id} serves subnet {subnet}; it cannot serve subnet {target.id} of another "
                f"virtual network as well.",
                "azure-docs nat-gateway/nat-gateway-resource.md",
            )


def show_subnet(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    holders = [held for held, _ in tx.find(kinds.IP_CONFIGURATION, subnetId=id)]
    return {
        "ipConfigurations": [{"id": each} for each in holders],
        "ipConfigurationProfiles": [],
        "privateEndpoints": [],
        "purpose": "",
        "resourceNavigationLinks": [],
        "serviceAssociationLinks": [],
    }


def remove_subnet(call: Call, target: Target) -> None:
    _check_unused(call.tx, target.id, target.name)


def _remove_subnet(tx: Transaction, id: str, name: str) -> None:
    _check_unused(tx, id, name)
    forget(tx, id)
    tx.remove(kinds.SUBNET.token, id)


def _check_unused(tx: Transaction, id: str, name: str) -> None:
    holder = next((held for held, _ in tx.find(kinds.IP_CONFIGURATION, subnetId=id)), None)
    holder = holder or next(iter(users(tx, id)), None)
    if holder:
        raise Refusal(
            "InUseSubnetCannotBeDeleted",
            f"Subnet {name} is in use by {holder} and cannot be deleted. In order to delete the subnet, delete all "
            f"the resources within the subnet. See aka.ms/deletesubnet.",
        )


# Look-ups


def look_up_network(lookup: Lookup) -> dict[str, Any]:
    args, tx = lookup.args, lookup.tx
    group = find_group(tx, args["resourceGroupName"])
    if group is None:
        raise resource_group_not_found(args["resourceGroupName"])
    kind = kinds.VIRTUAL_NETWORK
    found = find(
        tx, kind, f"{group['id']}/providers/{kind.namespace}/{kind.path[0]}/{args['virtualNetworkName']}"
    )
    if found is None:
        raise not_found(kind, args["virtualNetworkName"], args["resourceGroupName"])
    return {**found, **show_network(tx, found["id"], found)}


def look_up_subnet(lookup: Lookup) -> dict[str, Any]:
    args = lookup.args
    vnet = look_up_network(lookup)
    found = find(lookup.tx, kinds.SUBNET, f"{vnet['id']}/subnets/{args['subnetName']}")
    if found is None:
        raise Refusal(
            "NotFound", f"Resource {vnet['id']}/subnets/{args['subnetName']} not found.", status=404
        )
    return {**found, **show_subnet(lookup.tx, found["id"], found)}


TYPES = (
    arm_type(
        kinds.VIRTUAL_NETWORK,
        "virtual network",
        put_network,
        remove=remove_network,
        show=show_network,
        forced=frozenset({"location"}),
        filled=frozenset({"subnets", "virtualNetworkPeerings"}),
        unknown_within={"subnets": frozenset({"id", "etag", "provisioningState"})},
    ),
    arm_type(kinds.SUBNET, "subnet", put_subnet, remove=remove_subnet, show=show_subnet),
)
FUNCTIONS = (
    Function("azure-native:network:getVirtualNetwork", look_up_network),
    Function("azure-native:network:getSubnet", look_up_subnet),
)
