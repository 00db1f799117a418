"""What the user says of an adopted VPC, held against the VPC where a look-up is asked for (`aws.network.verify`)."""

from __future__ import annotations

from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.lookups import looked_up


def verified_block(vpc_id: pulumi.Input[str], block: str, parent: pulumi.Resource) -> pulumi.Output[str]:
    """`block`, where it covers a block of the VPC: any other lets a virtual private gateway announce nothing.

    Raises RunError during the plan. Needs a login.
    """

    def covering(vpc_id: str) -> str:
        found = looked_up(
            lambda: aws.ec2.get_vpc(id=vpc_id, opts=pulumi.InvokeOptions(parent=parent)),
            where="interconnect.awsVpcCidr",
            what=vpc_id,
            remedy="give a VPC of this account and region, or leave out `aws.network.verify`",
        )
        blocks = sorted({found.cidr_block, *(one.cidr_block for one in found.cidr_block_associations or [])})
        if not any(IPv4Network(one).subnet_of(IPv4Network(block)) for one in blocks):
            raise pulumi.RunError(
                f"interconnect.awsVpcCidr: {block} covers no block of {vpc_id}, which has {', '.join(blocks)}: nothing "
                "of it would be announced; give the block that holds the nodes' subnet"
            )
        return block

    return pulumi.Output.from_input(vpc_id).apply(covering)
