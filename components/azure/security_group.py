"""The network security group of the nodes.

Creates: one network security group with its rules inline. All traffic between the nodes of the subnet is allowed,
all traffic from the other cloud's nodes where there is a link to them, SSH from Bastion's subnet where there is one,
and nothing else comes in: without the last rule Azure's own rule AllowVnetInBound would let in every network that is
peered or connected. What goes out is left to Azure's own rules; with route isolation it goes to the subnet, to the
other cloud's nodes and to no other private network. InfiniBand does not pass a network security group.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_azure_native import network

from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.component import child
from gpu_fabric.components.surroundings import OtherCloud

#: Before every rule of Azure's own (65000 and above). azure docs, virtual-network/network-security-groups-overview.md.
_LAST = 4096
#: RFC 1918.
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")


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


def _from_other_cloud(other: OtherCloud, subnet_cidr: str) -> list[network.SecurityRuleArgs]:
    """What lets the other cloud's nodes in, and with isolation keeps ours from every other private network."""
    rules = [
        _inbound(
            f"from-the-other-cloud-{number}",
            120 + number,
            network.SecurityRuleAccess.ALLOW,
            prefix,
            subnet_cidr,
            "*",
            network.SecurityRuleProtocol.ASTERISK,
            "The nodes of the other cloud",
        )
        for number, prefix in enumerate(other.routes.prefixes)
    ]
    if other.isolated:
        allow, deny = network.SecurityRuleAccess.ALLOW, network.SecurityRuleAccess.DENY
        ways = [*((prefix, allow) for prefix in (subnet_cidr, *other.routes.prefixes))]
        ways += [(block, deny) for block in _PRIVATE]
        rules += [
            network.SecurityRuleArgs(
                name=f"isolation-{number}",
                priority=200 + number,
                direction=network.SecurityRuleDirection.OUTBOUND,
                access=access,
                protocol=network.SecurityRuleProtocol.ASTERISK,
                source_address_prefix=subnet_cidr,
                source_port_range="*",
                destination_address_prefix=block,
                destination_port_range="*",
                description="Stage traffic takes the link and no other private way",
            )
            for number, (block, access) in enumerate(ways)
        ]
    return rules


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
        other_cloud: OtherCloud | None = None,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`subnet_cidr` is the block of the nodes' subnet, `bastion_cidr` that of Bastion's, `other_cloud` the link."""
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
        if other_cloud is not None:
            rules += _from_other_cloud(other_cloud, subnet_cidr)
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
