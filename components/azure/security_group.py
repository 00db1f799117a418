"""The network security group of the nodes.

Creates: one network security group with its rules inline. All traffic between the nodes of the subnet is allowed,
SSH from Bastion's subnet where there is one, and nothing else comes in: without the last rule Azure's own rule
AllowVnetInBound would let in every network that is peered or connected. What goes out is left to Azure's own rules.
InfiniBand does not pass a network security group.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_azure_native import network

from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.component import child

#: Before every rule of Azure's own (65000 and above). azure docs, virtual-network/network-security-groups-overview.md.
_LAST = 4096


def _inbound(
    name: str, priority: int, access: str, source: str, to: str, ports: str, protocol: str, about: str
) -> network.SecurityRuleArgs:
    return network.SecurityRuleArgs(
        name=name,
        priority=priority,
        direction=network.SecurityRuleDirection.INBOUND,
        access=access,
        protocol=protocol,
        source_address_prefix=source,
        source_port_range="*",
        destination_address_prefix=to,
        destination_port_range=ports,
        description=about,
    )


class AzureFabricSecurityGroup(pulumi.ComponentResource):
    """All traffic within the nodes' subnet, nothing from outside."""

    group_id: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        resource_group_name: pulumi.Input[str],
        location: str,
        subnet_cidr: str,
        bastion_cidr: str | None = None,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`subnet_cidr` is the block of the nodes' subnet, `bastion_cidr` that of Bastion's."""
        super().__init__("gpu-fabric:index:AzureFabricSecurityGroup", name, None, opts)
        rules = [
            _inbound(
                "within-the-subnet",
                100,
                network.SecurityRuleAccess.ALLOW,
                subnet_cidr,
                subnet_cidr,
                "*",
                network.SecurityRuleProtocol.ASTERISK,
                "Everything between the nodes of the cluster",
            )
        ]
        if bastion_cidr is not None:
            rules.append(
                _inbound(
                    "ssh-from-bastion",
                    110,
                    network.SecurityRuleAccess.ALLOW,
                    bastion_cidr,
                    subnet_cidr,
                    "22",
                    network.SecurityRuleProtocol.TCP,
                    "SSH from Bastion",
                )
            )
        rules.append(
            _inbound(
                "nothing-else",
                _LAST,
                network.SecurityRuleAccess.DENY,
                "*",
                "*",
                "*",
                network.SecurityRuleProtocol.ASTERISK,
                "Also from peered and connected networks",
            )
        )
        group = network.NetworkSecurityGroup(
            f"{name}-fabric",
            resource_group_name=resource_group_name,
            location=location,
            security_rules=rules,
            tags=tags(extra_tags or {}),
            opts=child(self),
        )
        self.group_id = group.id
        self.register_outputs({"group_id": self.group_id})
