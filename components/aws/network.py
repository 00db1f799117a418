"""One private subnet in exactly one zone, and the nodes' way out.

Creates, for `internet: nat`: VPC · private subnet · small public subnet · internet gateway · Elastic IP · NAT gateway ·
one route table, default route and association for each subnet.
Creates, for `internet: endpoints`: VPC · private subnet · route table and association · security group for the
endpoints with one rule · one VPC endpoint for each service.
In both the VPC's default security group is emptied, so that nothing can use it by mistake.
Creates nothing for an adopted network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.addresses import AddressPlan
from gpu_fabric.components.aws.endpoints import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from gpu_fabric.components.aws.settings import Network
from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.component import child
from gpu_fabric.components.lookups import looked_up


class AwsNetwork(pulumi.ComponentResource):
    """The network of one cluster: created from an address plan, or adopted."""

    vpc_id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    route_table_id: pulumi.Output[str] | None
    """Of the nodes' subnet; None for an adopted network."""
    way_out: list[pulumi.Resource]
    """What must exist before a node can reach the outside; nodes depend on it."""
    ground: list[pulumi.Resource]
    """What the nodes stand on: where one of these is replaced, its nodes are, and go before it."""

    def __init__(
        self,
        name: str,
        network: Network,
        *,
        zone: str,
        region: str,
        plan: AddressPlan | None,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`plan` is given for a network to create, and None for one to adopt; `zone` is the zone of all nodes."""
        super().__init__("gpu-fabric:index:AwsNetwork", name, None, opts)
        self._name, self._zone, self._region = name, zone, region
        self._tags = extra_tags or {}
        self.way_out, self.ground = [], []
        self.route_table_id = None
        if plan is None:
            self._adopt(network)
        else:
            self._create(plan)
        self.register_outputs({"vpc_id": self.vpc_id, "subnet_id": self.subnet_id})

    def _tagged(self, role: str) -> dict[str, str]:
        return tags(f"{self._name}-{role}", self._tags)

    def _adopt(self, network: Network) -> None:
        vpc_id: Any = network.vpc_id
        subnet_id: Any = network.subnet_id
        self.vpc_id = pulumi.Output.from_input(vpc_id)
        self.subnet_id = self._verified(subnet_id) if network.verify else pulumi.Output.from_input(subnet_id)

    def _verified(self, subnet_id: pulumi.Input[str]) -> pulumi.Output[str]:
        zone, opts = self._zone, pulumi.InvokeOptions(parent=self)

        def in_zone(subnet_id: str) -> str:
            found = looked_up(
                lambda: aws.ec2.get_subnet(id=subnet_id, opts=opts).availability_zone,
                where="network.subnetId",
                what=subnet_id,
                remedy="give a subnet of this account and region, or leave out `verify`",
            )
            if found != zone:
                raise pulumi.RunError(
                    f"network.subnetId: {subnet_id} is in {found}, and the nodes are to be in {zone}; give a subnet "
                    f"of {zone}, or set `zone` to {found}"
                )
            return subnet_id

        return pulumi.Output.from_input(subnet_id).apply(in_zone)

    def _create(self, plan: AddressPlan) -> None:
        name = self._name
        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=str(plan.vpc),
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self._tagged("vpc"),
            # A new VPC may have the old one's block, and what is in the old one has to leave it either way.
            opts=child(self, delete_before_replace=True),
        )
        aws.ec2.DefaultSecurityGroup(
            f"{name}-unused", vpc_id=vpc.id, tags=self._tagged("unused"), opts=child(self)
        )
        private = aws.ec2.Subnet(
            f"{name}-private",
            vpc_id=vpc.id,
            availability_zone=self._zone,
            cidr_block=str(plan.private),
            # A node has several interfaces, and EC2 gives none of such a node a public address.
            map_public_ip_on_launch=False,
            tags=self._tagged("private"),
            # The same block cannot be in two subnets of a VPC at once, which a change of the zone would need.
            opts=child(self, delete_before_replace=True),
        )
        table = self._route_table("private", vpc, private)
        self.route_table_id = table.id
        if plan.public is None:
            self._create_endpoints(vpc, private, table)
        else:
            self._create_nat(vpc, table, str(plan.public))
        self.ground = [vpc, private]
        self.vpc_id, self.subnet_id = vpc.id, private.id

    def _route_table(self, role: str, vpc: aws.ec2.Vpc, subnet: aws.ec2.Subnet) -> aws.ec2.RouteTable:
        table = aws.ec2.RouteTable(
            f"{self._name}-{role}", vpc_id=vpc.id, tags=self._tagged(role), opts=child(self)
        )
        association = aws.ec2.RouteTableAssociation(
            f"{self._name}-{role}", route_table_id=table.id, subnet_id=subnet.id, opts=child(self)
        )
        self.way_out.append(association)
        return table

    def _create_nat(self, vpc: aws.ec2.Vpc, private_table: aws.ec2.RouteTable, block: str) -> None:
        name = self._name
        gateway = aws.ec2.InternetGateway(
            f"{name}-internet",
            vpc_id=vpc.id,
            tags=self._tagged("internet"),
            # Its provider would move it to the new VPC, which EC2 refuses while the old one has public addresses.
            opts=child(self, replace_on_changes=["vpcId"], delete_before_replace=True),
        )
        public = aws.ec2.Subnet(
            f"{name}-public",
            vpc_id=vpc.id,
            availability_zone=self._zone,
            cidr_block=block,
            map_public_ip_on_launch=False,
            tags=self._tagged("public"),
            opts=child(self, delete_before_replace=True),
        )
        table = self._route_table("public", vpc, public)
        aws.ec2.Route(
            f"{name}-public-default",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.id,
            opts=child(self),
        )
        address = aws.ec2.Eip(
            f"{name}-nat", domain="vpc", tags=self._tagged("nat"), opts=child(self, depends_on=[gateway])
        )
        nat = aws.ec2.NatGateway(
            f"{name}-nat",
            allocation_id=address.id,
            subnet_id=public.id,
            tags=self._tagged("nat"),
            opts=child(self, depends_on=[gateway]),
        )
        route = aws.ec2.Route(
            f"{name}-private-default",
            route_table_id=private_table.id,
            destination_cidr_block="0.0.0.0/0",
            nat_gateway_id=nat.id,
            opts=child(self),
        )
        self.way_out.append(route)

    def _create_endpoints(self, vpc: aws.ec2.Vpc, private: aws.ec2.Subnet, table: aws.ec2.RouteTable) -> None:
        name = self._name
        group = aws.ec2.SecurityGroup(
            f"{name}-endpoints",
            vpc_id=vpc.id,
            description="HTTPS from the VPC to its endpoints",
            tags=self._tagged("endpoints"),
            opts=child(self),
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-endpoints-https",
            security_group_id=group.id,
            cidr_ipv4=vpc.cidr_block,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            description="HTTPS from the VPC",
            opts=child(self),
        )
        for service in INTERFACE_ENDPOINTS:
            endpoint = aws.ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=vpc.id,
                service_name=f"com.amazonaws.{self._region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=[private.id],
                security_group_ids=[group.id],
                private_dns_enabled=True,
                tags=self._tagged(service),
                opts=child(self),
            )
            self.way_out.append(endpoint)
        for service in GATEWAY_ENDPOINTS:
            endpoint = aws.ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=vpc.id,
                service_name=f"com.amazonaws.{self._region}.{service}",
                vpc_endpoint_type="Gateway",
                route_table_ids=[table.id],
                tags=self._tagged(service),
                opts=child(self),
            )
            self.way_out.append(endpoint)
