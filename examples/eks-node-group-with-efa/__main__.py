"""Two p5.48xlarge in an EKS managed node group, from our launch template, with all their EFA interfaces.

The first half stands for a cluster that exists already; in a program of your own it is a stack reference or plain ids.
Costs about 110 USD an hour: destroy it when done.
"""

import json

import pulumi
import pulumi_aws as aws

from gpu_fabric import AwsEksNodeTemplate


def role(name: str, service: str, *policies: str) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """A role that a service takes, and its policies: what needs the role waits for them."""
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
    made = aws.iam.Role(
        name, assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    )
    return made, [
        aws.iam.RolePolicyAttachment(policy, role=made.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}")
        for policy in policies
    ]


# The cluster: a private subnet in each of two zones, which EKS asks for, and a NAT gateway, by which nodes join.
vpc = aws.ec2.Vpc("platform", cidr_block="10.50.0.0/16", enable_dns_hostnames=True)
gateway = aws.ec2.InternetGateway("platform", vpc_id=vpc.id)
public = aws.ec2.Subnet("public", vpc_id=vpc.id, cidr_block="10.50.0.0/28", availability_zone="us-east-1a")
outside = aws.ec2.RouteTable(
    "public", vpc_id=vpc.id, routes=[{"cidr_block": "0.0.0.0/0", "gateway_id": gateway.id}]
)
aws.ec2.RouteTableAssociation("public", route_table_id=outside.id, subnet_id=public.id)
address = aws.ec2.Eip("nat", domain="vpc", opts=pulumi.ResourceOptions(depends_on=[gateway]))
nat = aws.ec2.NatGateway("nat", allocation_id=address.id, subnet_id=public.id)
private = aws.ec2.RouteTable(
    "private", vpc_id=vpc.id, routes=[{"cidr_block": "0.0.0.0/0", "nat_gateway_id": nat.id}]
)
subnets, ways_out = {}, []
for number, zone in enumerate(("us-east-1a", "us-east-1b"), 1):
    subnets[zone] = aws.ec2.Subnet(
        zone, vpc_id=vpc.id, cidr_block=f"10.50.{number * 16}.0/20", availability_zone=zone
    )
    ways_out.append(
        aws.ec2.RouteTableAssociation(zone, route_table_id=private.id, subnet_id=subnets[zone].id)
    )
control, may_control = role("control", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
cluster = aws.eks.Cluster(
    "platform",
    version="1.34",
    role_arn=control.arn,
    vpc_config={
        "subnet_ids": [subnet.id for subnet in subnets.values()],
        "endpoint_private_access": True,
        "endpoint_public_access": False,
    },
    opts=pulumi.ResourceOptions(depends_on=may_control),
)

# What is ours: the launch template, with its security group and its placement group.
template = AwsEksNodeTemplate(
    "train",
    {
        "instance_type": "p5.48xlarge",
        "vpc_id": vpc.id,
        "cluster_security_group_id": cluster.vpc_config.cluster_security_group_id,
        # Pods, images and logs lie on the local NVMe disks.
        "root_volume": {"size_gib": 200, "iops": 3000, "throughput_mibps": 125},
    },
)

node, may_join = role(
    "node",
    "ec2.amazonaws.com",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEKS_CNI_Policy",
    "AmazonSSMManagedInstanceCore",
)
group = aws.eks.NodeGroup(
    "train",
    cluster_name=cluster.name,
    node_role_arn=node.arn,
    # EFA works inside one zone.
    subnet_ids=[subnets["us-east-1a"].id],
    scaling_config={"min_size": 2, "desired_size": 2, "max_size": 2},
    ami_type=template.ami_type,
    capacity_type=template.capacity_type,
    launch_template={"id": template.launch_template_id, "version": template.launch_template_version},
    opts=pulumi.ResourceOptions(depends_on=[template, *may_join, *ways_out]),
)

pulumi.export("fabric", template.fabric)
pulumi.export("cluster", cluster.name)
pulumi.export("nodeGroup", group.node_group_name)
