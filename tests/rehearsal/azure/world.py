"""A resource group, a network and a subnet, and short ways to ask for machines in it."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from typing import Any

import pytest

from ..small_engine import Failed, Resource, SmallEngine

SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000"
GROUP = "azure-native:resources:ResourceGroup"
NETWORK = "azure-native:network:VirtualNetwork"
SUBNET = "azure-native:network:Subnet"
SECURITY_GROUP = "azure-native:network:NetworkSecurityGroup"
SECURITY_RULE = "azure-native:network:SecurityRule"
NAT = "azure-native:network:NatGateway"
PREFIX = "azure-native:network:PublicIPPrefix"
ADDRESS = "azure-native:network:PublicIPAddress"
BASTION = "azure-native:network:BastionHost"
INTERFACE = "azure-native:network:NetworkInterface"
PROXIMITY = "azure-native:compute:ProximityPlacementGroup"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
AVAILABILITY = "azure-native:compute:AvailabilitySet"
MACHINE = "azure-native:compute:VirtualMachine"
EXTENSION = "azure-native:compute:VirtualMachineExtension"
DISK = "azure-native:compute:Disk"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
ROLE = "azure-native:authorization:RoleAssignment"

H100, H200, A100 = "Standard_ND96isr_H100_v5", "Standard_ND96isr_H200_v5", "Standard_ND96asr_v4"


def public_key(bits: int = 2048) -> str:
    """A line of the shape of an RSA public key; nobody has its private half."""
    fields = [b"ssh-rsa", b"\x01\x00\x01", b"\x00" + b"\xff" * (bits // 8)]
    blob = b"".join(len(field).to_bytes(4) + field for field in fields)
    return f"ssh-rsa {base64.b64encode(blob).decode()} test"


KEY = public_key()
IMAGE = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "22.04.2026070100"}


def os_profile(name: str, **more: Any) -> dict[str, Any]:
    return {
        name: "node",
        "adminUsername": "azureuser",
        "linuxConfiguration": {
            "disablePasswordAuthentication": True,
            "ssh": {"publicKeys": [{"path": "/home/azureuser/.ssh/authorized_keys", "keyData": KEY}]},
        },
        **more,
    }


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``change`` laid over it, object by object; None takes a property away."""
    result = copy.deepcopy(dict(base))
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(result.get(name), Mapping):
            result[name] = merged(result[name], value)
        else:
            result[name] = value
    return result


class World:
    """Shorthands over a stack that has one network."""

    def __init__(self, engine: SmallEngine) -> None:
        self.engine = engine
        self.group = engine.up(GROUP, "rg", resourceGroupName="fabric")
        self.network = self.up(NETWORK, "net", addressSpace={"addressPrefixes": ["10.0.0.0/16"]})
        self.subnet = self.up(
            SUBNET, "gpu", virtualNetworkName=self.network["name"], addressPrefix="10.0.0.0/24"
        )

    def up(self, token: str, name: str, inputs: dict[str, Any] | None = None, /, **more: Any) -> Resource:
        """As the engine's, in the resource group."""
        return self.engine.up(token, name, {"resourceGroupName": "fabric", **(inputs or {}), **more})

    def refused(self, token: str, name: str, inputs: dict[str, Any] | None = None, /, **more: Any) -> str:
        """The text with which the cloud refuses the resource; nothing of it is left in the cloud."""
        before = self.engine.store.dump()
        with pytest.raises(Failed) as failed:
            self.up(token, name, inputs, **more)
        assert failed.value.partial in (None, ())
        assert self.engine.store.dump() == before
        return failed.value.text

    def scale_set(self, **change: Any) -> dict[str, Any]:
        """The inputs of a scale set of two H100 nodes as the field lays them out, with changes laid over them."""
        return merged(
            {
                "orchestrationMode": "Uniform",
                "singlePlacementGroup": True,
                "overprovision": False,
                "platformFaultDomainCount": 1,
                "upgradePolicy": {"mode": "Manual"},
                "sku": {"name": H100, "tier": "Standard", "capacity": 2},
                "virtualMachineProfile": {
                    "osProfile": os_profile("computerNamePrefix"),
                    "storageProfile": {
                        "imageReference": IMAGE,
                        "osDisk": {
                            "createOption": "FromImage",
                            "diskSizeGB": 256,
                            "managedDisk": {"storageAccountType": "Premium_LRS"},
                        },
                    },
                    "networkProfile": {
                        "networkInterfaceConfigurations": [
                            {
                                "name": "eth0",
                                "primary": True,
                                "enableAcceleratedNetworking": True,
                                "ipConfigurations": [{"name": "primary", "subnet": {"id": self.subnet.id}}],
                            }
                        ]
                    },
                },
            },
            change,
        )

    def interface(self, name: str, **change: Any) -> Resource:
        configuration = {"name": "primary", "subnet": {"id": self.subnet.id}}
        return self.up(INTERFACE, name, merged({"ipConfigurations": [configuration]}, change))

    def machine(self, interface: Resource, **change: Any) -> dict[str, Any]:
        """The inputs of one H100 node with the interface."""
        return merged(
            {
                "hardwareProfile": {"vmSize": H100},
                "osProfile": os_profile("computerName"),
                "storageProfile": {
                    "imageReference": IMAGE,
                    "osDisk": {
                        "createOption": "FromImage",
                        "deleteOption": "Delete",
                        "managedDisk": {"storageAccountType": "Premium_LRS"},
                    },
                },
                "networkProfile": {"networkInterfaces": [{"id": interface.id, "primary": True}]},
            },
            change,
        )

    def instance(self, scale_set: Resource, number: int) -> dict[str, Any]:
        """One machine of a scale set."""
        return self.engine.invoke(
            "azure-native:compute:getVirtualMachineScaleSetVM",
            resourceGroupName="fabric",
            vmScaleSetName=scale_set["name"],
            instanceId=str(number),
        )
