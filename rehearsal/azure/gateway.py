"""ExpressRoute gateways of virtual networks, and their connections to circuits.

A gateway takes long: the ``delay`` switch makes the operation slow, and the ``quota`` switch
``expressRouteGatewaySeconds`` says how long the gateway is ``Updating``. A program that allows less (customTimeouts)
keeps a half-made gateway, which becomes ready by itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.resource import Call, Function, Lookup
from ..core.store import Transaction
from . import kinds
from .addresses import free, hold, subnet_networks
from .arm import Target, find, link, look_up, reference, users
from .errors import CONFLICT, network_missing, network_word, reference_not_found, rule
from .express_route import PRIVATE, authorization_key, location_named, state_of
from .network import GATEWAY_SUBNET
from .resource import arm_type, at, require_range

LONGEST_PREFIX, LONGEST_PREFIX_SIXTEEN = 27, 26
"""The smallest GatewaySubnet, and the smallest for sixteen circuits (same page)."""
_GATEWAYS = "azure-docs expressroute-about-virtual-network-gateways.md"
_FASTPATH = "azure-docs about-fastpath.md"
FASTPATH_UNITS = 10
"""Scale units from which ErGwScale has FastPath."""
UNITS = (1, 40)
DEFAULT_SECONDS = 0


@dataclass(frozen=True)
class Sku:
    """One size of gateway: Mb/s and packets a second (a unit's, for ErGwScale), circuits, whether FastPath is there."""

    megabits: int
    packets: int
    circuits: int
    fastpath: bool
    changes_to: tuple[str, ...] = ()
    """What it can become in place."""


SKUS: Mapping[str, Sku] = {
    "ErGw1AZ": Sku(1000, 100_000, 4, False, ("ErGw2AZ", "ErGw3AZ")),
    "ErGw2AZ": Sku(2000, 200_000, 8, False, ("ErGw1AZ", "ErGw3AZ")),
    "ErGw3AZ": Sku(10000, 1_000_000, 16, True),
    "Standard": Sku(1000, 100_000, 4, False, ("HighPerformance", "UltraPerformance")),
    "HighPerformance": Sku(2000, 200_000, 8, False, ("Standard", "UltraPerformance")),
    "UltraPerformance": Sku(10000, 1_000_000, 16, True),
    "ErGwScale": Sku(1000, 100_000, 16, True),
}
"""azure-docs expressroute-about-virtual-network-gateways.md; unverified are the circuits of ErGwScale, and whether a
plain PUT takes ErGw1AZ, 2AZ or 3AZ to it, which scalable-gateway.md has the portal and PowerShell do."""
WITHOUT_SCALE = ("westus2", "southcentralus", "eastus2", "westeurope", "southeastasia", "japaneast")
"""Locations without ErGwScale in November 2025 (same page); there are others."""
AREAS: Mapping[str, tuple[str, ...]] = {
    "North America": (
        "eastus",
        "eastus2",
        "centralus",
        "northcentralus",
        "southcentralus",
        "westcentralus",
        "westus",
        "westus2",
        "westus3",
        "canadacentral",
        "canadaeast",
        "mexicocentral",
    ),
    "Europe": (
        "northeurope",
        "westeurope",
        "uksouth",
        "ukwest",
        "francecentral",
        "francesouth",
        "germanywestcentral",
        "germanynorth",
        "italynorth",
        "norwayeast",
        "norwaywest",
        "polandcentral",
        "spaincentral",
        "swedencentral",
        "switzerlandnorth",
        "switzerlandwest",
    ),
    "Japan": ("japaneast", "japanwest"),
    "Asia Pacific": ("eastasia", "southeastasia"),
    "Australia": ("australiaeast", "australiasoutheast", "australiacentral", "australiacentral2"),
}
"""Geopolitical areas of regions (azure-docs expressroute-locations.md)."""


# Gateways


def put_gateway(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    if inputs.get("gatewayType") != "ExpressRoute":
        raise rule(
            f"gatewayType {inputs.get('gatewayType')}: the simulation knows gateways of type ExpressRoute.",
            _GATEWAYS,
        )
    name = at(inputs, "sku.name")
    if name not in SKUS:
        raise network_word(name, "sku.name", tuple(SKUS))
    if at(inputs, "sku.tier", name) != name:
        raise rule(f"sku.tier {at(inputs, 'sku.tier')} is not sku.name {name}.", _GATEWAYS)
    _check_units(inputs, name, target)
    if call.old:
        _check_sku_change(call, target, name)
        return {"sku": {"name": name, "tier": name, "capacity": units(inputs)}}
    configuration, subnet = _placed(call, target)
    id = f"{target.id}/ipConfigurations/{configuration['name']}"
    hold(tx, target.id, [(id, subnet["id"], free(tx, subnet, 1)[0])])
    address = reference(tx, kinds.PUBLIC_IP_ADDRESS, configuration.get("publicIPAddress"), target)
    link(tx, target.id, [(address["id"], "publicIPAddress")] if address else [])
    outputs = {
        "activeActive": inputs.get("activeActive", False),
        "enableBgp": inputs.get("enableBgp", False),
        "enablePrivateIpAddress": inputs.get("enablePrivateIpAddress", False),
        "inboundDnsForwardingEndpoint": "",
        "ipConfigurations": [{**configuration, "id": id, "privateIPAllocationMethod": "Dynamic"}],
        "sku": {"name": name, "tier": name, "capacity": units(inputs)},
        "subnetId": subnet["id"],
    }
    seconds = call.faults.limit("expressRouteGatewaySeconds", DEFAULT_SECONDS)
    if call.timeout and seconds > call.timeout:
        call.reasons.append(
            f"creating {target.id}: context deadline exceeded: its provisioningState is Updating [the wording is the "
            f"simulation's]"
        )
        outputs |= {"readyAt": time.time() + seconds, "provisioningState": "Updating"}
    return outputs


def units(properties: Mapping[str, Any]) -> int:
    """Scale units that the gateway has at least; 2 for one of a fixed size, as Azure answers."""
    return int(at(properties, "autoScaleConfiguration.bounds.min", 2))


def _check_units(inputs: Mapping[str, Any], name: str, target: Target) -> None:
    bounds = at(inputs, "autoScaleConfiguration.bounds")
    if name != "ErGwScale":
        if bounds is not None:
            raise rule(
                f"autoScaleConfiguration belongs to ErGwScale; gateway {target.name} is {name}.", _GATEWAYS
            )
        return
    if target.location in WITHOUT_SCALE:
        raise rule(f"ErGwScale is not offered in {target.location}.", _GATEWAYS)
    given = bounds or {}
    for word in ("min", "max"):
        value = given.get(word)
        if value is None:
            raise network_missing(f"autoScaleConfiguration.bounds.{word}")
        require_range(value, *UNITS, f"autoScaleConfiguration.bounds.{word}", _GATEWAYS)
    if given["min"] > given["max"]:
        raise rule(
            f"autoScaleConfiguration.bounds.min {given['min']:g} is more than max {given['max']:g}.",
            _GATEWAYS,
        )


def _check_sku_change(call: Call, target: Target, name: str) -> None:
    before = call.old["sku"]["name"]
    if name not in (before, *SKUS[before].changes_to):
        ways = " or ".join(SKUS[before].changes_to) or "no other size"
        raise rule(f"Gateway {target.name} cannot change from {before} to {name}, only to {ways}.", _GATEWAYS)


def _placed(call: Call, target: Target) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The one ip configuration, and its subnet."""
    tx, configurations = call.tx, call.inputs.get("ipConfigurations") or []
    if len(configurations) != 1:
        raise rule(
            f"ExpressRoute gateway {target.name} needs one ipConfiguration, not {len(configurations)}.",
            _GATEWAYS,
        )
    (configuration,) = configurations
    subnet = reference(
        tx, kinds.SUBNET, configuration.get("subnet"), Target(target.id, target.name, target.kind)
    )
    if subnet is None:
        raise network_missing("ipConfigurations.subnet")
    if subnet["name"] != GATEWAY_SUBNET:
        raise rule(
            f"Gateway {target.name} must lie in a subnet named {GATEWAY_SUBNET}, not {subnet['name']}.",
            _GATEWAYS,
        )
    vnet = tx.need(kinds.VIRTUAL_NETWORK.token, subnet["parentId"])
    if vnet["location"] != target.location:
        raise reference_not_found(subnet["id"], target.id)
    shortest = min(each.prefixlen for each in subnet_networks(subnet))
    if shortest > LONGEST_PREFIX:
        raise rule(f"{GATEWAY_SUBNET} /{shortest} is smaller than /{LONGEST_PREFIX}.", _GATEWAYS)
    there = next((each for each in tx.find(kinds.GATEWAY.token, subnetId=subnet["id"])), None)
    if there is not None:
        raise rule(f"{GATEWAY_SUBNET} has ExpressRoute gateway {there[0]} already.", _GATEWAYS)
    _check_routes(tx, subnet)
    return configuration, subnet


def _check_routes(tx: Transaction, subnet: Mapping[str, Any]) -> None:
    table = find(tx, kinds.ROUTE_TABLE, (subnet.get("routeTable") or {}).get("id") or "")
    if table is None:
        return
    if table.get("disableBgpRoutePropagation"):
        raise rule(
            f"Route table {table['name']} of {GATEWAY_SUBNET} must not disable BGP route propagation.",
            _GATEWAYS,
        )
    if any(
        each["addressPrefix"] == "0.0.0.0/0" for _, each in tx.find(kinds.ROUTE.token, parentId=table["id"])
    ):
        raise rule(
            f"Route table {table['name']} of {GATEWAY_SUBNET} must not have a route to 0.0.0.0/0.", _GATEWAYS
        )


def show_gateway(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    ready = stored.get("readyAt", 0) <= time.time()
    return {"provisioningState": "Succeeded" if ready else "Updating"}


def remove_gateway(call: Call, target: Target) -> None:
    used = users(call.tx, target.id, "virtualNetworkGateway1")
    if used:
        raise rule(
            f"Virtual network gateway {target.id} is in use by {', '.join(used)} and cannot be deleted.",
            _GATEWAYS,
            status=CONFLICT,
        )


# Connections


def put_connection(call: Call, target: Target) -> dict[str, Any]:
    tx, inputs = call.tx, call.inputs
    if inputs.get("connectionType") != "ExpressRoute":
        raise rule(
            f"connectionType {inputs.get('connectionType')}: the simulation knows connections of type ExpressRoute.",
            _GATEWAYS,
        )
    gateway = reference(tx, kinds.GATEWAY, inputs.get("virtualNetworkGateway1"), target)
    circuit = reference(tx, kinds.CIRCUIT, inputs.get("peer"), Target(target.id, target.name, target.kind))
    if gateway is None or circuit is None:
        raise network_missing("virtualNetworkGateway1.id" if gateway is None else "peer.id")
    if show_gateway(tx, gateway["id"], gateway)["provisioningState"] != "Succeeded":
        raise rule(
            f"Virtual network gateway {gateway['name']} is Updating.",
            _GATEWAYS,
            code="AnotherOperationInProgress",
            status=429,
        )
    require_range(
        inputs.get("routingWeight"), 0, 32000, "routingWeight", "azure-docs expressroute-optimize-routing.md"
    )
    _check_circuit(tx, circuit)
    _check_reach(circuit, gateway)
    _check_fastpath(inputs, circuit, gateway)
    links = [(gateway["id"], "virtualNetworkGateway1"), (circuit["id"], "peer")]
    links += [(each, "authorization") for each in _authorization(tx, inputs, circuit, target)]
    if not call.old:
        _check_count(tx, gateway, circuit)
    link(tx, target.id, links)
    return {
        "egressBytesTransferred": 0,
        "ingressBytesTransferred": 0,
        "tunnelConnectionStatus": [],
        "routingWeight": inputs.get("routingWeight", 0),
        "expressRouteGatewayBypass": inputs.get("expressRouteGatewayBypass", False),
        "enableBgp": inputs.get("enableBgp", False),
    }


def _check_circuit(tx: Transaction, circuit: Mapping[str, Any]) -> None:
    state = state_of(circuit)
    if state != "Provisioned":
        raise rule(
            f"Circuit {circuit['name']} is {state}: a connection needs one that the connectivity provider has "
            f"provisioned.",
            "azure-docs expressroute-howto-linkvnet-arm.md",
        )
    if not tx.find(kinds.PEERING.token, parentId=circuit["id"]):
        raise rule(
            f"Circuit {circuit['name']} has no {PRIVATE}: a connection needs it.",
            "azure-docs expressroute-howto-linkvnet-arm.md",
        )


def _check_reach(circuit: Mapping[str, Any], gateway: Mapping[str, Any]) -> None:
    """Which regions a circuit's tier reaches."""
    tier, where = circuit["sku"]["tier"], at(circuit, "serviceProviderProperties.peeringLocation")
    found = location_named(where)
    if found is None or tier == "Premium":
        return
    known, (area, _, local) = found
    region = gateway["location"]
    if tier == "Local" and region not in local:
        raise rule(
            f"A Local circuit at {known} reaches {', '.join(local)}, not {region}.",
            "azure-docs expressroute-locations-providers.md",
        )
    if region not in AREAS.get(area, ()):
        raise rule(
            f"A {tier} circuit at {known} reaches the regions of {area}; {region} needs Premium.",
            "azure-docs expressroute-locations.md",
        )


def _check_fastpath(
    inputs: Mapping[str, Any], circuit: Mapping[str, Any], gateway: Mapping[str, Any]
) -> None:
    if not inputs.get("expressRouteGatewayBypass"):
        return
    name = gateway["sku"]["name"]
    if not SKUS[name].fastpath or (name == "ErGwScale" and units(gateway) < FASTPATH_UNITS):
        have = f"{name} with {units(gateway)} units" if name == "ErGwScale" else name
        raise rule(
            f"FastPath needs UltraPerformance, ErGw3AZ, or ErGwScale with {FASTPATH_UNITS} units; gateway "
            f"{gateway['name']} is {have}.",
            _FASTPATH,
        )


def _check_count(tx: Transaction, gateway: Mapping[str, Any], circuit: Mapping[str, Any]) -> None:
    there = users(tx, gateway["id"], "virtualNetworkGateway1")
    if set(there) & set(users(tx, circuit["id"], "peer")):
        raise rule(
            f"Gateway {gateway['name']} and circuit {circuit['name']} are connected already.",
            "azure-docs expressroute-howto-linkvnet-arm.md",
            status=CONFLICT,
        )
    most = SKUS[gateway["sku"]["name"]].circuits
    if len(there) >= most:
        raise rule(
            f"Gateway {gateway['name']} of {gateway['sku']['name']} has {most} circuits already.", _GATEWAYS
        )


def _authorization(
    tx: Transaction, inputs: Mapping[str, Any], circuit: Mapping[str, Any], target: Target
) -> list[str]:
    """The authorization whose key is given, as a list of none or one; a refusal where the key fits none."""
    key = inputs.get("authorizationKey")
    if not key:
        return []
    for id, each in tx.find(kinds.AUTHORIZATION.token, parentId=circuit["id"]):
        if authorization_key(each) == key:
            used = [user for user in users(tx, id, "authorization") if user != target.id]
            if used:
                raise rule(
                    f"The authorization key of connection {target.name} is in use by {used[0]}.",
                    "azure-docs expressroute-howto-linkvnet-arm.md",
                )
            return [id]
    raise rule(
        f"The authorization key of connection {target.name} is none of circuit {circuit['name']}.",
        "azure-docs expressroute-howto-linkvnet-arm.md",
    )


def show_connection(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    circuit = find(tx, kinds.CIRCUIT, (stored.get("peer") or {}).get("id") or "")
    up = (
        circuit is not None
        and state_of(circuit) == "Provisioned"
        and bool(tx.find(kinds.PEERING.token, parentId=circuit["id"]))
    )
    return {"connectionStatus": "Connected" if up else "NotConnected"}


# Look-ups


def look_up_gateway(lookup: Lookup) -> dict[str, Any]:
    found = look_up(lookup.tx, kinds.GATEWAY, lookup.args)
    return {**found, **show_gateway(lookup.tx, found["id"], found)}


def look_up_connection(lookup: Lookup) -> dict[str, Any]:
    found = look_up(lookup.tx, kinds.CONNECTION, lookup.args)
    return {**found, **show_connection(lookup.tx, found["id"], found)}


_KEYS = frozenset({"authorizationKey", "sharedKey"})
TYPES = (
    arm_type(
        kinds.GATEWAY,
        "virtual network gateway",
        put_gateway,
        remove=remove_gateway,
        show=show_gateway,
        filled=frozenset({"natRules"}),
    ),
    arm_type(
        kinds.CONNECTION,
        "virtual network gateway connection",
        put_connection,
        show=show_connection,
        hidden=_KEYS,
        secrets=_KEYS,
    ),
)
FUNCTIONS = (
    Function("azure-native:network:getVirtualNetworkGateway", look_up_gateway),
    Function("azure-native:network:getVirtualNetworkGatewayConnection", look_up_connection),
)
