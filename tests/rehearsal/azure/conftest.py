"""A simulated Azure for each test, empty at first."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..small_engine import SmallEngine
from . import link
from . import world as w
from .world import World


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallEngine:
    """The simulated Azure; resources that name no location lie in eastus."""
    monkeypatch.delenv("GPU_FABRIC_REHEARSAL_FAULTS", raising=False)
    return SmallEngine("azure-native", tmp_path / "clouds.db", location="eastus")


@pytest.fixture
def world(azure: SmallEngine) -> World:
    """The simulated Azure with a resource group, a virtual network 10.0.0.0/16 and a subnet 10.0.0.0/24 in it."""
    return World(azure)


@pytest.fixture
def everything(world: World) -> World:
    """One of each type, in an order in which they can be made."""
    up = world.up
    rule = {
        "access": "Allow",
        "direction": "Inbound",
        "protocol": "*",
        "priority": 100,
        "sourceAddressPrefix": "10.0.0.0/24",
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRange": "*",
    }
    group = up(w.SECURITY_GROUP, "security")
    up(w.SECURITY_RULE, "self", rule, networkSecurityGroupName=group["name"])
    prefix = up(w.PREFIX, "out", sku={"name": "Standard"}, prefixLength=31)
    gateway = up(w.NAT, "nat", sku={"name": "Standard"}, publicIpPrefixes=[{"id": prefix.id}])
    up(
        w.SUBNET,
        "private",
        virtualNetworkName=world.network["name"],
        addressPrefix="10.0.1.0/24",
        defaultOutboundAccess=False,
        natGateway={"id": gateway.id},
        networkSecurityGroup={"id": group.id},
    )
    door = up(
        w.SUBNET, "AzureBastionSubnet", virtualNetworkName=world.network["name"], addressPrefix="10.0.2.0/26"
    )
    address = up(w.ADDRESS, "door", sku={"name": "Standard"}, publicIPAllocationMethod="Static")
    up(
        w.BASTION,
        "bastion",
        ipConfigurations=[{"name": "door", "subnet": {"id": door.id}, "publicIPAddress": {"id": address.id}}],
    )
    table = up(link.TABLE, "table", routeTableName="table")
    up(
        link.ROUTE,
        "route",
        routeTableName=table["name"],
        addressPrefix="10.9.0.0/16",
        nextHopType="VirtualNetworkGateway",
    )
    # A circuit on a port of one's own is provisioned at once: nothing changes behind the program's back.
    port = up(link.PORT, "direct", link.port(10))
    circuit = up(link.CIRCUIT, "link", link.direct(port, 10, circuitName="link"))
    up(link.PEERING, "peering", link.peering())
    up(link.AUTHORIZATION, "grant", circuitName=circuit["name"])
    there = up(link.GATEWAY, "gw", link.gateway(link.gateway_subnet(world)))
    up(link.CONNECTION, "to-aws", link.connection(there, circuit))
    near = up(w.PROXIMITY, "near", intent={"vmSizes": [w.H100]}, zones=["1"])
    identity = up(w.IDENTITY, "who")
    up(
        w.SCALE_SET,
        "set",
        world.scale_set(
            proximityPlacementGroup={"id": near.id},
            zones=["1"],
            identity={"type": "SystemAssigned, UserAssigned", "userAssignedIdentities": [identity.id]},
        ),
    )
    apart = up(w.AVAILABILITY, "apart", sku={"name": "Aligned"})
    machine = up(
        w.MACHINE, "machine", world.machine(world.interface("nic"), availabilitySet={"id": apart.id})
    )
    up(
        w.EXTENSION,
        "monitor",
        vmName=machine["name"],
        publisher="Microsoft.Azure.Monitor",
        type="AzureMonitorLinuxAgent",
        typeHandlerVersion="1.0",
    )
    up(w.DISK, "scratch", creationData={"createOption": "Empty"}, diskSizeGB=64)
    role = f"{w.SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"
    world.engine.up(
        w.ROLE, "reader", scope=world.group.id, principalId=identity["principalId"], roleDefinitionId=role
    )
    return world
