"""The provider's resources as requests of Azure Resource Manager: what stands in the path, and what in the body.

The SDK lays a resource's `properties` flat beside its name and tags; the request has them where the service's model
has them. A place that is wrong here is an unknown property to the judge, so that the tables are judged too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.components.recorder import Declared
from tests.fidelity.translation import Resource, Table, Target, To, structure, structures, translate

#: Provider type → why nothing of it is sent to Azure.
NOT_SENT: Mapping[str, str] = {
    "tls:index/privateKey:PrivateKey": (
        "The key pair is made where the deployment runs. Its public half is sent with the nodes."
    ),
}


@dataclass(frozen=True)
class Request:
    """The request that creates one resource."""

    path: dict[str, str]
    """The parameters of the path, in the spelling of the Azure SDK for Python."""
    body: dict[str, Any]
    source: Declared


def _as_they_are(*names: str) -> Table:
    return {name: To(name) for name in names}


def _properties(*names: str) -> Table:
    return {name: To(f"properties.{name}") for name in names}


def _own_name(parameter: str) -> Callable[[Declared], Mapping[str, Any]]:
    return lambda declared: {parameter: declared.id.rpartition("/")[2]}


def _in_subscription(parameter: str) -> Callable[[Declared], Mapping[str, Any]]:
    return lambda declared: {
        parameter: declared.id.rpartition("/")[2],
        "subscription_id": declared.id.split("/")[2],
    }


def _in_group(parameter: str, *tables: Table, **nested: To) -> Resource:
    """A resource with a location and tags in a resource group. `parameter` is the path's name for its own name."""
    table: dict[str, Any] = {
        "resourceGroupName": To("resource_group_name", target="path"),
        **_as_they_are("location", "tags"),
        **nested,
    }
    for more in tables:
        table |= more
    return Resource({"body": Target(), "path": Target(_in_subscription(parameter))}, table)


def _at(path: str, table: Table) -> To:
    return To(path, structure(table))


def _all_at(path: str, table: Table) -> To:
    return To(path, structures(table))


def _each_empty(ids: list[str]) -> dict[str, dict[str, Any]]:
    """The SDK takes a list of identities, the service a map with an empty object for each."""
    return {id_: {} for id_ in ids}


_ID: Table = _as_they_are("id")


def _reference(path: str) -> To:
    return _at(path, _ID)


_IDENTITY = _at(
    "identity",
    {**_as_they_are("type"), "userAssignedIdentities": To("userAssignedIdentities", _each_empty)},
)

_LINUX: Table = {
    **_as_they_are("disablePasswordAuthentication", "provisionVMAgent"),
    "ssh": _at("ssh", {"publicKeys": _all_at("publicKeys", _as_they_are("keyData", "path"))}),
}
_SECURITY: Table = {
    **_as_they_are("encryptionAtHost", "securityType"),
    "uefiSettings": _at("uefiSettings", _as_they_are("secureBootEnabled", "vTpmEnabled")),
}
_DIAGNOSTICS: Table = {"bootDiagnostics": _at("bootDiagnostics", _as_they_are("enabled"))}
_IMAGE: Table = _as_they_are("id", "offer", "publisher", "sku", "version")
_DISK: Table = {
    **_as_they_are("caching", "createOption", "deleteOption", "diskSizeGB"),
    "managedDisk": _at(
        "managedDisk",
        {**_as_they_are("storageAccountType"), "diskEncryptionSet": _reference("diskEncryptionSet")},
    ),
}
_STORAGE: Table = {"imageReference": _at("imageReference", _IMAGE), "osDisk": _at("osDisk", _DISK)}

_SCALE_SET_INTERFACE: Table = {
    **_as_they_are("name"),
    **_properties("enableAcceleratedNetworking", "primary"),
    "ipConfigurations": _all_at(
        "properties.ipConfigurations",
        {
            **_as_they_are("name"),
            **_properties("primary", "privateIPAddressVersion"),
            "subnet": _reference("properties.subnet"),
        },
    ),
    "networkSecurityGroup": _reference("properties.networkSecurityGroup"),
}
_SCALE_SET_MACHINE: Table = {
    **_as_they_are("evictionPolicy", "priority"),
    "billingProfile": _at("billingProfile", _as_they_are("maxPrice")),
    "diagnosticsProfile": _at("diagnosticsProfile", _DIAGNOSTICS),
    "networkProfile": _at(
        "networkProfile",
        {
            "networkInterfaceConfigurations": _all_at("networkInterfaceConfigurations", _SCALE_SET_INTERFACE),
        },
    ),
    "osProfile": _at(
        "osProfile",
        {
            **_as_they_are("adminUsername", "computerNamePrefix", "customData"),
            "linuxConfiguration": _at("linuxConfiguration", _LINUX),
        },
    ),
    "securityProfile": _at("securityProfile", _SECURITY),
    "storageProfile": _at("storageProfile", _STORAGE),
}

#: A subnet inside an interface: the SDK's own defaults of a subnet go along with its id.
_NESTED_SUBNET: Table = {
    **_as_they_are("id"),
    **_properties("privateEndpointNetworkPolicies", "privateLinkServiceNetworkPolicies"),
}

RESOURCES: Mapping[str, Resource] = {
    "azure-native:authorization:RoleAssignment": Resource(
        {"body": Target(), "path": Target(_own_name("role_assignment_name"))},
        {
            "scope": To("scope", target="path"),
            **_properties("principalId", "principalType", "roleDefinitionId"),
        },
    ),
    "azure-native:compute:AvailabilitySet": _in_group(
        "availability_set_name",
        _properties("platformFaultDomainCount", "platformUpdateDomainCount"),
        proximityPlacementGroup=_reference("properties.proximityPlacementGroup"),
        sku=_at("sku", _as_they_are("name")),
    ),
    "azure-native:compute:ProximityPlacementGroup": _in_group(
        "proximity_placement_group_name",
        _as_they_are("zones"),
        _properties("proximityPlacementGroupType"),
        intent=_at("properties.intent", _as_they_are("vmSizes")),
    ),
    "azure-native:compute:VirtualMachine": _in_group(
        "vm_name",
        availabilitySet=_reference("properties.availabilitySet"),
        diagnosticsProfile=_at("properties.diagnosticsProfile", _DIAGNOSTICS),
        hardwareProfile=_at("properties.hardwareProfile", _as_they_are("vmSize")),
        identity=_IDENTITY,
        networkProfile=_at(
            "properties.networkProfile",
            {
                "networkInterfaces": _all_at(
                    "networkInterfaces", {**_as_they_are("id"), **_properties("primary")}
                )
            },
        ),
        osProfile=_at(
            "properties.osProfile",
            {
                **_as_they_are("adminUsername", "computerName", "customData"),
                "linuxConfiguration": _at("linuxConfiguration", _LINUX),
            },
        ),
        securityProfile=_at("properties.securityProfile", _SECURITY),
        storageProfile=_at("properties.storageProfile", _STORAGE),
    ),
    "azure-native:compute:VirtualMachineScaleSet": _in_group(
        "vm_scale_set_name",
        _as_they_are("zones"),
        _properties("orchestrationMode", "overprovision", "platformFaultDomainCount", "singlePlacementGroup"),
        identity=_IDENTITY,
        proximityPlacementGroup=_reference("properties.proximityPlacementGroup"),
        scaleInPolicy=_at("properties.scaleInPolicy", _as_they_are("rules")),
        sku=_at("sku", _as_they_are("capacity", "name", "tier")),
        upgradePolicy=_at("properties.upgradePolicy", _as_they_are("mode")),
        virtualMachineProfile=_at("properties.virtualMachineProfile", _SCALE_SET_MACHINE),
    ),
    "azure-native:managedidentity:UserAssignedIdentity": _in_group("resource_name"),
    "azure-native:network:BastionHost": _in_group(
        "bastion_host_name",
        _properties(
            "disableCopyPaste",
            "enableFileCopy",
            "enableIpConnect",
            "enableKerberos",
            "enablePrivateOnlyBastion",
            "enableSessionRecording",
            "enableShareableLink",
            "enableTunneling",
        ),
        ipConfigurations=_all_at(
            "properties.ipConfigurations",
            {
                **_as_they_are("name"),
                "publicIPAddress": _reference("properties.publicIPAddress"),
                "subnet": _reference("properties.subnet"),
            },
        ),
        sku=_at("sku", _as_they_are("name")),
    ),
    "azure-native:network:ExpressRouteCircuit": _in_group(
        "circuit_name",
        circuitName=To("circuit_name", target="path"),
        serviceProviderProperties=_at(
            "properties.serviceProviderProperties",
            _as_they_are("bandwidthInMbps", "peeringLocation", "serviceProviderName"),
        ),
        sku=_at("sku", _as_they_are("family", "name", "tier")),
    ),
    "azure-native:network:ExpressRouteCircuitPeering": Resource(
        {"body": Target(), "path": Target(_in_subscription("peering_name"))},
        {
            "resourceGroupName": To("resource_group_name", target="path"),
            "circuitName": To("circuit_name", target="path"),
            "peeringName": To("peering_name", target="path"),
            **_properties(
                "peerASN",
                "peeringType",
                "primaryPeerAddressPrefix",
                "secondaryPeerAddressPrefix",
                "sharedKey",
                "vlanId",
            ),
        },
    ),
    "azure-native:network:NatGateway": _in_group(
        "nat_gateway_name",
        publicIpAddresses=_all_at("properties.publicIpAddresses", _ID),
        sku=_at("sku", _as_they_are("name")),
    ),
    "azure-native:network:NetworkInterface": _in_group(
        "network_interface_name",
        _properties("enableAcceleratedNetworking"),
        ipConfigurations=_all_at(
            "properties.ipConfigurations",
            {
                **_as_they_are("name"),
                **_properties("primary", "privateIPAddress", "privateIPAllocationMethod"),
                "subnet": _at("properties.subnet", _NESTED_SUBNET),
            },
        ),
        networkSecurityGroup=_reference("properties.networkSecurityGroup"),
    ),
    "azure-native:network:NetworkSecurityGroup": _in_group(
        "network_security_group_name",
        securityRules=_all_at(
            "properties.securityRules",
            {
                **_as_they_are("name"),
                **_properties(
                    "access",
                    "description",
                    "destinationAddressPrefix",
                    "destinationPortRange",
                    "direction",
                    "priority",
                    "protocol",
                    "sourceAddressPrefix",
                    "sourcePortRange",
                ),
            },
        ),
    ),
    "azure-native:network:PublicIPAddress": _in_group(
        "public_ip_address_name",
        _as_they_are("zones"),
        _properties("publicIPAddressVersion", "publicIPAllocationMethod"),
        publicIpAddressName=To("public_ip_address_name", target="path"),
        sku=_at("sku", _as_they_are("name")),
    ),
    "azure-native:network:Subnet": Resource(
        {"body": Target(), "path": Target(_in_subscription("subnet_name"))},
        {
            "resourceGroupName": To("resource_group_name", target="path"),
            "subnetName": To("subnet_name", target="path"),
            "virtualNetworkName": To("virtual_network_name", target="path"),
            **_properties(
                "addressPrefix",
                "defaultOutboundAccess",
                "privateEndpointNetworkPolicies",
                "privateLinkServiceNetworkPolicies",
            ),
            "natGateway": _reference("properties.natGateway"),
            "networkSecurityGroup": _reference("properties.networkSecurityGroup"),
        },
    ),
    "azure-native:network:VirtualNetwork": _in_group(
        "virtual_network_name",
        _properties("enableDdosProtection", "enableVmProtection"),
        addressSpace=_at("properties.addressSpace", _as_they_are("addressPrefixes")),
    ),
    "azure-native:network:VirtualNetworkGateway": _in_group(
        "virtual_network_gateway_name",
        _properties("gatewayType"),
        autoScaleConfiguration=_at(
            "properties.autoScaleConfiguration", {"bounds": _at("bounds", _as_they_are("max", "min"))}
        ),
        ipConfigurations=_all_at(
            "properties.ipConfigurations",
            {
                **_as_they_are("name"),
                **_properties("privateIPAllocationMethod"),
                "publicIPAddress": _reference("properties.publicIPAddress"),
                "subnet": _reference("properties.subnet"),
            },
        ),
        sku=_at("properties.sku", _as_they_are("name", "tier")),
        virtualNetworkGatewayName=To("virtual_network_gateway_name", target="path"),
    ),
    "azure-native:network:VirtualNetworkGatewayConnection": _in_group(
        "virtual_network_gateway_connection_name",
        _properties("connectionType", "expressRouteGatewayBypass"),
        peer=_reference("properties.peer"),
        virtualNetworkGateway1=_reference("properties.virtualNetworkGateway1"),
        virtualNetworkGatewayConnectionName=To("virtual_network_gateway_connection_name", target="path"),
    ),
    "azure-native:resources:ResourceGroup": Resource(
        {"body": Target(), "path": Target(_in_subscription("resource_group_name"))},
        {**_as_they_are("location", "tags"), "resourceGroupName": To("resource_group_name", target="path")},
    ),
}


def request_of(declared: Declared) -> Request | None:
    """The request that creates the resource; None where nothing is sent. Raises UntranslatedError."""
    if declared.type in NOT_SENT:
        return None
    parts = {one.target: one.parameters for one in translate(declared, RESOURCES)}
    return Request(parts["path"], parts["body"], declared)
