"""The resource types, each with its place in Resource Manager's paths and the API version the SDK speaks.

The versions are those of pulumi_azure_native 3.29.0 ("Uses Azure REST API version …" in its documentation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NETWORK_API, COMPUTE_API, DISK_API = "2024-05-01", "2024-11-01", "2024-03-02"


@dataclass(frozen=True)
class Kind:
    """One type. ``path`` and ``names`` pair up: the segments of the id and the inputs that hold the names."""

    token: str
    namespace: str
    path: tuple[str, ...]
    names: tuple[str, ...]
    api: str
    location: Literal["create", "update", "none"] = "update"
    """Whether the resource has a location, and whether its specification lets an update change it: ``create`` is
    Compute's TrackedResource (x-ms-mutability read, create; azure-mgmt-compute 39.0.0, TrackedResource.location),
    ``update`` is Network's Resource, which says nothing."""
    fills: frozenset[str] = frozenset()
    """Outputs that the service makes for every resource of the type."""
    naming: Literal["random", "copy", "uuid"] = "random"
    """pulumi-azure-native provider/pkg/resources/resources.go, AutoName: a suffix for a resource of its own, a copy
    of the program's name for a child."""

    @property
    def type(self) -> str:
        """``Microsoft.Network/virtualNetworks/subnets``."""
        return "/".join((self.namespace, *self.path))

    @property
    def name_input(self) -> str:
        return self.names[-1]


_NETWORK = frozenset({"etag", "provisioningState", "resourceGuid"})
_CHILD = frozenset({"etag", "provisioningState"})


def _network(name: str, segment: str, name_input: str, fills: frozenset[str] = _NETWORK) -> Kind:
    return Kind(
        f"azure-native:network:{name}",
        "Microsoft.Network",
        (segment,),
        (name_input,),
        NETWORK_API,
        fills=fills,
    )


def _child(name: str, path: tuple[str, str], names: tuple[str, str]) -> Kind:
    return Kind(
        f"azure-native:network:{name}",
        "Microsoft.Network",
        path,
        names,
        NETWORK_API,
        location="none",
        fills=_CHILD,
        naming="copy",
    )


def _compute(name: str, segment: str, name_input: str, *fills: str, api: str = COMPUTE_API) -> Kind:
    return Kind(
        f"azure-native:compute:{name}",
        "Microsoft.Compute",
        (segment,),
        (name_input,),
        api,
        location="create",
        fills=frozenset({"systemData", *fills}),
    )


RESOURCE_GROUP = Kind(
    "azure-native:resources:ResourceGroup",
    "Microsoft.Resources",
    ("resourceGroups",),
    ("resourceGroupName",),
    "2024-03-01",
    location="create",
)
VIRTUAL_NETWORK = _network("VirtualNetwork", "virtualNetworks", "virtualNetworkName")
SUBNET = Kind(
    "azure-native:network:Subnet",
    "Microsoft.Network",
    ("virtualNetworks", "subnets"),
    ("virtualNetworkName", "subnetName"),
    NETWORK_API,
    location="none",
    fills=_CHILD,
    naming="copy",
)
SECURITY_GROUP = _network("NetworkSecurityGroup", "networkSecurityGroups", "networkSecurityGroupName")
SECURITY_RULE = Kind(
    "azure-native:network:SecurityRule",
    "Microsoft.Network",
    ("networkSecurityGroups", "securityRules"),
    ("networkSecurityGroupName", "securityRuleName"),
    NETWORK_API,
    location="none",
    fills=_CHILD,
    naming="copy",
)
NAT_GATEWAY = _network("NatGateway", "natGateways", "natGatewayName")
PUBLIC_IP_PREFIX = _network("PublicIPPrefix", "publicIPPrefixes", "publicIpPrefixName")
PUBLIC_IP_ADDRESS = _network("PublicIPAddress", "publicIPAddresses", "publicIpAddressName")
BASTION = _network("BastionHost", "bastionHosts", "bastionHostName", _CHILD)
ROUTE_TABLE = _network("RouteTable", "routeTables", "routeTableName")
ROUTE = _child("Route", ("routeTables", "routes"), ("routeTableName", "routeName"))
CIRCUIT = _network("ExpressRouteCircuit", "expressRouteCircuits", "circuitName", _CHILD)
PEERING = _child(
    "ExpressRouteCircuitPeering", ("expressRouteCircuits", "peerings"), ("circuitName", "peeringName")
)
AUTHORIZATION = _child(
    "ExpressRouteCircuitAuthorization",
    ("expressRouteCircuits", "authorizations"),
    ("circuitName", "authorizationName"),
)
EXPRESS_ROUTE_PORT = _network("ExpressRoutePort", "expressRoutePorts", "expressRoutePortName")
GATEWAY = _network("VirtualNetworkGateway", "virtualNetworkGateways", "virtualNetworkGatewayName")
CONNECTION = _network("VirtualNetworkGatewayConnection", "connections", "virtualNetworkGatewayConnectionName")
NETWORK_INTERFACE = _network("NetworkInterface", "networkInterfaces", "networkInterfaceName")
PROXIMITY_GROUP = _compute(
    "ProximityPlacementGroup", "proximityPlacementGroups", "proximityPlacementGroupName"
)
AVAILABILITY_SET = _compute("AvailabilitySet", "availabilitySets", "availabilitySetName")
SCALE_SET = _compute(
    "VirtualMachineScaleSet",
    "virtualMachineScaleSets",
    "vmScaleSetName",
    "etag",
    "provisioningState",
    "timeCreated",
    "uniqueId",
)
VIRTUAL_MACHINE = _compute(
    "VirtualMachine", "virtualMachines", "vmName", "etag", "provisioningState", "timeCreated", "vmId"
)
EXTENSION = Kind(
    "azure-native:compute:VirtualMachineExtension",
    "Microsoft.Compute",
    ("virtualMachines", "extensions"),
    ("vmName", "vmExtensionName"),
    COMPUTE_API,
    location="create",
    fills=frozenset({"systemData", "provisioningState"}),
    naming="copy",
)
DISK = _compute("Disk", "disks", "diskName", "provisioningState", "timeCreated", "uniqueId", api=DISK_API)
IDENTITY = Kind(
    "azure-native:managedidentity:UserAssignedIdentity",
    "Microsoft.ManagedIdentity",
    ("userAssignedIdentities",),
    ("resourceName",),
    "2023-01-31",
    location="create",
    fills=frozenset({"systemData"}),
)
ROLE_ASSIGNMENT = Kind(
    "azure-native:authorization:RoleAssignment",
    "Microsoft.Authorization",
    ("roleAssignments",),
    ("roleAssignmentName",),
    "2022-04-01",
    location="none",
    naming="uuid",
)

KINDS = {
    each.token: each
    for each in (
        RESOURCE_GROUP,
        VIRTUAL_NETWORK,
        SUBNET,
        SECURITY_GROUP,
        SECURITY_RULE,
        NAT_GATEWAY,
        PUBLIC_IP_PREFIX,
        PUBLIC_IP_ADDRESS,
        BASTION,
        ROUTE_TABLE,
        ROUTE,
        CIRCUIT,
        PEERING,
        AUTHORIZATION,
        EXPRESS_ROUTE_PORT,
        GATEWAY,
        CONNECTION,
        NETWORK_INTERFACE,
        PROXIMITY_GROUP,
        AVAILABILITY_SET,
        SCALE_SET,
        VIRTUAL_MACHINE,
        EXTENSION,
        DISK,
        IDENTITY,
        ROLE_ASSIGNMENT,
    )
}

INSTANCE = "virtualMachineScaleSets/virtualMachines"
"""A scale set's machine: no resource of the program's, but there."""
IP_CONFIGURATION = "ipConfigurations"
"""An address in a subnet, held by a network interface, a scale set's machine or a Bastion."""
LINK = "link"
"""One resource's reference to another."""
