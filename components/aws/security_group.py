"""The security group that EFA needs.

Creates: security group · ingress from itself · egress to itself · egress to anywhere over IP.

EFA traffic is not IP, so a rule by address block does not match it: it passes only where a rule in each direction
names the group itself (EC2 User Guide, "Get started with EFA and MPI"; awslabs/awsome-distributed-ai#546).
Nothing comes in from outside the group.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.component import child

ALL_PROTOCOLS = "-1"


class AwsFabricSecurityGroup(pulumi.ComponentResource):
    """All traffic between the nodes of one cluster, and their way out."""

    group_id: pulumi.Output[str]
    rules: list[pulumi.Resource]
    """The rules; nodes depend on them, so that none starts before EFA is allowed."""

    def __init__(
        self,
        name: str,
        *,
        vpc_id: pulumi.Input[str],
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:index:AwsFabricSecurityGroup", name, None, opts)
        group = aws.ec2.SecurityGroup(
            f"{name}-fabric",
            vpc_id=vpc_id,
            description="GPU fabric: all traffic between the nodes of one cluster",
            tags=tags(f"{name}-fabric", extra_tags or {}),
            opts=child(self),
        )
        self.rules = [
            aws.vpc.SecurityGroupIngressRule(
                f"{name}-from-itself",
                security_group_id=group.id,
                referenced_security_group_id=group.id,
                ip_protocol=ALL_PROTOCOLS,
                description="EFA and everything else from the nodes of the cluster",
                opts=child(self),
            ),
            aws.vpc.SecurityGroupEgressRule(
                f"{name}-to-itself",
                security_group_id=group.id,
                referenced_security_group_id=group.id,
                ip_protocol=ALL_PROTOCOLS,
                description="EFA to the nodes of the cluster: no address block matches it",
                opts=child(self),
            ),
            aws.vpc.SecurityGroupEgressRule(
                f"{name}-out",
                security_group_id=group.id,
                cidr_ipv4="0.0.0.0/0",
                ip_protocol=ALL_PROTOCOLS,
                description="IP to anywhere",
                opts=child(self),
            ),
        ]
        self.group_id = group.id
        self.register_outputs({"group_id": self.group_id})
