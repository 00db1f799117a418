"""The link's end on AWS.

Creates: Direct Connect gateway · for `awsGateway: virtualPrivate` a virtual private gateway, its association and the
propagation of its routes · for `transit` a transit gateway, unless adopted, its attachment, its association and a route
in each table · a rule that lets the other side's nodes in · for `routeIsolation` a network ACL of the nodes' subnet ·
for each connection its confirmation and a virtual interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.security_group import ALL_PROTOCOLS
from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.component import child
from gpu_fabric.components.interconnect.addresses import LinkPlan
from gpu_fabric.components.interconnect.limits import PRIVATE_BLOCKS
from gpu_fabric.components.interconnect.partner import AwsPort
from gpu_fabric.components.interconnect.settings import AwsGateway, InterconnectSettings


@dataclass(frozen=True)
class AwsEnd:
    """The network on AWS's side."""

    vpc_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    vpc_cidr: pulumi.Input[str]
    nodes_cidr: str
    route_table_ids: Sequence[pulumi.Input[str]]
    security_group_id: pulumi.Input[str] | None
    """Of the nodes, where it is ours to change."""
    region: str


class AwsLinkEnd(pulumi.ComponentResource):
    """Gateways and routes, and with `connect` the virtual interfaces."""

    direct_connect_gateway_id: pulumi.Output[str]
    direct_connect_gateway_arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        settings: InterconnectSettings,
        end: AwsEnd,
        *,
        other_nodes: str,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`other_nodes` is the block of the nodes' subnet on the other side."""
        super().__init__("gpu-fabric:index:AwsLinkEnd", name, None, opts)
        self._name, self._settings, self._end, self._tags = name, settings, end, extra_tags or {}
        gateway = aws.directconnect.Gateway(
            f"{name}-direct-connect",
            amazon_side_asn=str(settings.asns.amazon),
            tags=tags(f"{name}-direct-connect", self._tags),
            # Private and transit interfaces exclude each other on one gateway, and so do their associations: what the
            # other kind left goes first.
            opts=child(self, replacement_trigger=settings.aws_gateway.value, delete_before_replace=True),
        )
        self._gateway = gateway
        if settings.aws_gateway is AwsGateway.TRANSIT:
            self._association = self._transit(gateway, other_nodes)
        else:
            self._association = self._virtual_private(gateway)
        if end.security_group_id is not None:
            aws.vpc.SecurityGroupIngressRule(
                f"{name}-from-azure",
                security_group_id=end.security_group_id,
                cidr_ipv4=other_nodes,
                ip_protocol=ALL_PROTOCOLS,
                description="The nodes of the other cloud",
                opts=child(self),
            )
        if settings.route_isolation:
            self._isolate(other_nodes)
        self.direct_connect_gateway_id, self.direct_connect_gateway_arn = gateway.id, gateway.arn
        self.register_outputs({"direct_connect_gateway_id": gateway.id})

    def _tagged(self, role: str) -> dict[str, str]:
        return tags(f"{self._name}-{role}", self._tags)

    def _virtual_private(self, gateway: aws.directconnect.Gateway) -> aws.directconnect.GatewayAssociation:
        name, end = self._name, self._end
        private = aws.ec2.VpnGateway(
            f"{name}-private",
            vpc_id=end.vpc_id,
            amazon_side_asn=str(self._settings.asns.gateway),
            tags=self._tagged("private"),
            # A VPC has one, and is not deleted while it is attached.
            opts=child(self, replace_on_changes=["vpcId"], delete_before_replace=True),
        )
        for number, table in enumerate(end.route_table_ids):
            aws.ec2.VpnGatewayRoutePropagation(
                f"{name}-routes-{number}", vpn_gateway_id=private.id, route_table_id=table, opts=child(self)
            )
        return aws.directconnect.GatewayAssociation(
            f"{name}-association",
            dx_gateway_id=gateway.id,
            associated_gateway_id=private.id,
            # A filter: a block that is narrower than the VPC's would announce nothing at all.
            allowed_prefixes=[end.vpc_cidr],
            opts=child(self, delete_before_replace=True),
        )

    def _transit(
        self, gateway: aws.directconnect.Gateway, other_nodes: str
    ) -> aws.directconnect.GatewayAssociation:
        name, end = self._name, self._end
        transit_id = self._settings.aws_transit_gateway_id
        if transit_id is None:
            transit_id = aws.ec2transitgateway.TransitGateway(
                f"{name}-transit",
                amazon_side_asn=self._settings.asns.gateway,
                description="GPU fabric: the way to the other cloud",
                tags=self._tagged("transit"),
                # Its ASN cannot change under a Direct Connect gateway.
                opts=child(self, replace_on_changes=["amazonSideAsn"]),
            ).id
        attachment = aws.ec2transitgateway.VpcAttachment(
            f"{name}-transit",
            transit_gateway_id=transit_id,
            vpc_id=end.vpc_id,
            subnet_ids=[end.subnet_id],
            tags=self._tagged("transit"),
            opts=child(self),
        )
        for number, table in enumerate(end.route_table_ids):
            aws.ec2.Route(
                f"{name}-routes-{number}",
                route_table_id=table,
                destination_cidr_block=other_nodes,
                transit_gateway_id=transit_id,
                opts=child(self, depends_on=[attachment]),
            )
        return aws.directconnect.GatewayAssociation(
            f"{name}-association",
            dx_gateway_id=gateway.id,
            associated_gateway_id=transit_id,
            # Without any, the association comes up and announces nothing.
            allowed_prefixes=[end.nodes_cidr],
            opts=child(self, delete_before_replace=True),
        )

    def _isolate(self, other_nodes: str) -> None:
        """The nodes' subnet talks to its own VPC, to the other side's nodes and to the internet, to no other private
        network: a VPN, a peering or another gateway cannot carry stage traffic."""
        end = self._end
        allowed, everywhere = [end.vpc_cidr, other_nodes], "0.0.0.0/0"
        rules = [
            *((block, "allow") for block in allowed),
            *((str(block), "deny") for block in PRIVATE_BLOCKS),
            (everywhere, "allow"),
        ]
        entries: list[Any] = [
            {
                "rule_no": 100 + 10 * number,
                "action": action,
                "protocol": ALL_PROTOCOLS,
                "from_port": 0,
                "to_port": 0,
                "cidr_block": block,
            }
            for number, (block, action) in enumerate(rules)
        ]
        aws.ec2.NetworkAcl(
            f"{self._name}-isolation",
            vpc_id=end.vpc_id,
            subnet_ids=[end.subnet_id],
            ingress=entries,
            egress=entries,
            tags=self._tagged("isolation"),
            opts=child(self),
        )

    def connect(
        self,
        ports: Sequence[AwsPort],
        links: LinkPlan,
        asns: Sequence[pulumi.Input[int]],
        bgp_key: pulumi.Input[str] | None,
    ) -> list[pulumi.Output[str]]:
        """A virtual interface on each connection; their BGP keys, secrets."""
        return [
            self._interface(number, port, links, asn, bgp_key)
            for number, (port, asn) in enumerate(zip(ports, asns, strict=True))
        ]

    def _interface(
        self,
        number: int,
        port: AwsPort,
        links: LinkPlan,
        asn: pulumi.Input[int],
        bgp_key: pulumi.Input[str] | None,
    ) -> pulumi.Output[str]:
        name, settings, on_link = self._name, self._settings, links.aws[number]
        if port.interface_id is not None:
            return self._accepted(number, port.interface_id)
        connection_id = port.connection_id
        if port.accept:
            # A hosted connection is ordered until its owner confirms it, and carries no interface before.
            connection_id = aws.directconnect.ConnectionConfirmation(
                f"{name}-accept-{number}", connection_id=connection_id, opts=child(self)
            ).connection_id
        arguments: dict[str, Any] = {
            "connection_id": connection_id,
            "vlan": port.vlan,
            "dx_gateway_id": self._gateway.id,
            "address_family": "ipv4",
            "amazon_address": on_link.first,
            "customer_address": on_link.second,
            # As text: the provider takes all 32 bits there.
            "bgp_asn_long": pulumi.Output.from_input(asn).apply(str),
            "bgp_auth_key": bgp_key,
            "mtu": settings.mtu,
            "tags": self._tagged(f"interface-{number}"),
        }
        kind = (
            aws.directconnect.TransitVirtualInterface
            if settings.aws_gateway is AwsGateway.TRANSIT
            else aws.directconnect.PrivateVirtualInterface
        )
        interface = kind(
            f"{name}-interface-{number}",
            **arguments,
            opts=child(
                self,
                depends_on=[self._association],
                # AWS makes a key where none is given, and returns it.
                additional_secret_outputs=["bgpAuthKey"],
                # Whoever takes the key out wants another.
                replacement_trigger="AWS's key" if bgp_key is None else "a key",
                # A hosted connection has room for one.
                delete_before_replace=True,
            ),
        )
        return pulumi.Output.secret(interface.bgp_auth_key)

    def _accepted(self, number: int, interface_id: pulumi.Input[str]) -> pulumi.Output[str]:
        """The acceptance of a virtual interface that the partner made; its key is the partner's."""
        kind = (
            aws.directconnect.HostedTransitVirtualInterfaceAcceptor
            if self._settings.aws_gateway is AwsGateway.TRANSIT
            else aws.directconnect.HostedPrivateVirtualInterfaceAccepter
        )
        kind(
            f"{self._name}-interface-{number}",
            virtual_interface_id=interface_id,
            dx_gateway_id=self._gateway.id,
            tags=self._tagged(f"interface-{number}"),
            opts=child(self, depends_on=[self._association], delete_before_replace=True),
        )
        return pulumi.Output.secret("")
