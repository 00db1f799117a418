"""A private link's Azure side: a circuit, what the provider does to it, and a gateway."""

from __future__ import annotations

from typing import Any

from ..small_engine import Resource
from .world import SUBNET, World, merged

CIRCUIT = "azure-native:network:ExpressRouteCircuit"
PEERING = "azure-native:network:ExpressRouteCircuitPeering"
AUTHORIZATION = "azure-native:network:ExpressRouteCircuitAuthorization"
PORT = "azure-native:network:ExpressRoutePort"
GATEWAY = "azure-native:network:VirtualNetworkGateway"
CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"
TABLE = "azure-native:network:RouteTable"
ROUTE = "azure-native:network:Route"
PRIVATE = "AzurePrivatePeering"


def marked(message: str, source: str, code: str = "BadRequest", status: int = 400) -> str:
    """The text of a refusal whose words are the simulation's."""
    return f'Status={status} Code="{code}" Message="{message} [rule: {source}; the wording is the simulation\'s]"'


def circuit(**change: Any) -> dict[str, Any]:
    """The inputs of a circuit of 10 Gb/s at Equinix in Washington, with changes laid over them."""
    return merged(
        {
            "circuitName": "link",
            "sku": {"name": "Standard_MeteredData", "tier": "Standard", "family": "MeteredData"},
            "serviceProviderProperties": {
                "serviceProviderName": "Equinix",
                "peeringLocation": "Washington DC",
                "bandwidthInMbps": 10000,
            },
        },
        change,
    )


def peering(**change: Any) -> dict[str, Any]:
    """The inputs of the circuit's private peering."""
    return merged(
        {
            "circuitName": "link",
            "peeringName": PRIVATE,
            "peeringType": PRIVATE,
            "peerASN": 65010,
            "primaryPeerAddressPrefix": "192.168.15.16/30",
            "secondaryPeerAddressPrefix": "192.168.15.20/30",
            "vlanId": 200,
        },
        change,
    )


def set_state(world: World, circuit: Resource, state: str) -> None:
    """What the provider does: the circuit's state from outside of the program."""
    with world.engine.store.transaction("azure-native") as tx:
        tx.patch(CIRCUIT, circuit.id, serviceProviderProvisioningState=state)


def gateway_subnet(world: World, prefix: str = "10.0.255.0/27", **more: Any) -> Resource:
    return world.up(
        SUBNET,
        "GatewaySubnet",
        virtualNetworkName=world.network["name"],
        addressPrefix=prefix,
        **more,
    )


def gateway(subnet: Resource, sku: str = "ErGw3AZ", **change: Any) -> dict[str, Any]:
    """The inputs of an ExpressRoute gateway."""
    return merged(
        {
            "virtualNetworkGatewayName": "gw",
            "gatewayType": "ExpressRoute",
            "sku": {"name": sku, "tier": sku},
            "ipConfigurations": [{"name": "default", "subnet": {"id": subnet.id}}],
        },
        change,
    )


def connection(gateway: Resource, circuit: Resource, **change: Any) -> dict[str, Any]:
    return merged(
        {
            "virtualNetworkGatewayConnectionName": "to-aws",
            "connectionType": "ExpressRoute",
            "virtualNetworkGateway1": {"id": gateway.id},
            "peer": {"id": circuit.id},
        },
        change,
    )


def linked(world: World, sku: str = "ErGw3AZ", **change: Any) -> tuple[Resource, Resource]:
    """A provisioned circuit with its peering, and a gateway."""
    made = world.up(CIRCUIT, "link", circuit(**change))
    set_state(world, made, "Provisioned")
    world.up(PEERING, "peering", peering())
    return world.up(GATEWAY, "gw", gateway(gateway_subnet(world), sku)), made


def port(speed: int) -> dict[str, Any]:
    """The inputs of an ExpressRoute Direct port."""
    return {
        "expressRoutePortName": "direct",
        "bandwidthInGbps": speed,
        "encapsulation": "Dot1Q",
        "peeringLocation": "Equinix-Ashburn-DC2",
    }


def direct(port: Resource, gigabits: int, **change: Any) -> dict[str, Any]:
    """The inputs of a circuit on that port: it is provisioned at once."""
    return merged(
        {
            "circuitName": "direct",
            "sku": {"name": "Standard_MeteredData", "tier": "Standard", "family": "MeteredData"},
            "expressRoutePort": {"id": port.id},
            "bandwidthInGbps": gigabits,
        },
        change,
    )
