"""Ids, names and computed properties that Azure Resource Manager would give, for a recording."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

SUBSCRIPTION = "00000000-0000-0000-0000-00000000abcd"
PRINCIPAL = "00000000-0000-0000-0000-0000000000aa"
SERVICE_KEY = "the service key of the circuit"
#: Made for the tests; the private half of what a simulated `tls:PrivateKey` returns is this text alone.
GENERATED_PRIVATE_KEY = "the generated private key"

#: Pulumi's type → (provider namespace and collection, key of the name in the inputs).
TYPES: Mapping[str, tuple[str, str]] = {
    "azure-native:compute:AvailabilitySet": ("Microsoft.Compute/availabilitySets", "availabilitySetName"),
    "azure-native:compute:ProximityPlacementGroup": (
        "Microsoft.Compute/proximityPlacementGroups",
        "proximityPlacementGroupName",
    ),
    "azure-native:compute:VirtualMachine": ("Microsoft.Compute/virtualMachines", "vmName"),
    "azure-native:compute:VirtualMachineScaleSet": (
        "Microsoft.Compute/virtualMachineScaleSets",
        "vmScaleSetName",
    ),
    "azure-native:managedidentity:UserAssignedIdentity": (
        "Microsoft.ManagedIdentity/userAssignedIdentities",
        "resourceName",
    ),
    "azure-native:network:BastionHost": ("Microsoft.Network/bastionHosts", "bastionHostName"),
    "azure-native:network:ExpressRouteCircuit": ("Microsoft.Network/expressRouteCircuits", "circuitName"),
    "azure-native:network:NatGateway": ("Microsoft.Network/natGateways", "natGatewayName"),
    "azure-native:network:NetworkInterface": ("Microsoft.Network/networkInterfaces", "networkInterfaceName"),
    "azure-native:network:NetworkSecurityGroup": (
        "Microsoft.Network/networkSecurityGroups",
        "networkSecurityGroupName",
    ),
    "azure-native:network:PublicIPAddress": ("Microsoft.Network/publicIPAddresses", "publicIpAddressName"),
    "azure-native:network:VirtualNetworkGateway": (
        "Microsoft.Network/virtualNetworkGateways",
        "virtualNetworkGatewayName",
    ),
    "azure-native:network:VirtualNetworkGatewayConnection": (
        "Microsoft.Network/connections",
        "virtualNetworkGatewayConnectionName",
    ),
    "azure-native:network:VirtualNetwork": ("Microsoft.Network/virtualNetworks", "virtualNetworkName"),
}


def _digits(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def answer(type_: str, name: str, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The id of a resource and its outputs, inputs included."""
    if type_ == "tls:index/privateKey:PrivateKey":
        public = f"ssh-rsa {_digits(name)} \n"
        return _digits(name), {
            **inputs,
            "publicKeyOpenssh": public,
            "privateKeyOpenssh": GENERATED_PRIVATE_KEY,
        }
    root = f"/subscriptions/{SUBSCRIPTION}"
    if type_ == "azure-native:resources:ResourceGroup":
        own_name = inputs.get("resourceGroupName") or f"{name}{_digits(name)}"
        return f"{root}/resourceGroups/{own_name}", {**inputs, "name": own_name}
    if type_ == "azure-native:authorization:RoleAssignment":
        return f"{inputs['scope']}/providers/Microsoft.Authorization/roleAssignments/{_digits(name)}", dict(
            inputs
        )
    group = f"{root}/resourceGroups/{inputs['resourceGroupName']}/providers"
    if type_ == "azure-native:network:Subnet":
        own_name = inputs.get("subnetName") or f"{name}{_digits(name)}"
        place = f"{group}/Microsoft.Network/virtualNetworks/{inputs['virtualNetworkName']}/subnets"
        return f"{place}/{own_name}", {**inputs, "name": own_name}
    if type_ == "azure-native:network:ExpressRouteCircuitPeering":
        place = f"{group}/Microsoft.Network/expressRouteCircuits/{inputs['circuitName']}/peerings"
        return f"{place}/{inputs['peeringName']}", {**inputs, "name": inputs["peeringName"]}
    collection, key = TYPES[type_]
    own_name = inputs.get(key) or f"{name}{_digits(name)}"
    return f"{group}/{collection}/{own_name}", {**inputs, "name": own_name, **_computed(type_, name, inputs)}


def _computed(type_: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    if type_ == "azure-native:managedidentity:UserAssignedIdentity":
        return {"principalId": PRINCIPAL, "clientId": PRINCIPAL}
    if type_ == "azure-native:network:ExpressRouteCircuit":
        return {"serviceKey": SERVICE_KEY, "serviceProviderProvisioningState": "NotProvisioned"}
    if type_ == "azure-native:network:NetworkInterface":
        number = int(name.rpartition("-")[2])
        (configuration,) = inputs["ipConfigurations"]
        dynamic = {"privateIPAddress": f"10.9.0.{4 + number}"}
        return {"ipConfigurations": [{**dynamic, **configuration}]}
    identity = inputs.get("identity")
    if identity and identity["type"] == "SystemAssigned":
        return {"identity": {**identity, "principalId": PRINCIPAL, "tenantId": PRINCIPAL}}
    if identity and identity["type"] == "UserAssigned":
        # A list of ids goes in, a map by id comes out.
        return {
            "identity": {
                **identity,
                "userAssignedIdentities": {key: {} for key in identity["userAssignedIdentities"]},
            }
        }
    return {}
