"""Two p5.48xlarge in a network, a security group, a placement group and a role that exist already.

The first half stands for what another team made; in a program of your own it is a stack reference or plain ids. The
cluster makes a launch template and one Auto Scaling group of two nodes and nothing else. Costs about 110 USD an hour:
destroy it when done.
"""

import json

import pulumi
import pulumi_aws as aws

from gpu_fabric import AwsGpuCluster

vpc = aws.ec2.Vpc("platform", cidr_block="10.9.0.0/16", enable_dns_hostnames=True)
subnet = aws.ec2.Subnet("platform", vpc_id=vpc.id, cidr_block="10.9.1.0/24", availability_zone="us-east-1a")
group = aws.ec2.SecurityGroup("platform", vpc_id=vpc.id, description="All traffic between GPU nodes")
for direction, rule in (("in", aws.vpc.SecurityGroupIngressRule), ("out", aws.vpc.SecurityGroupEgressRule)):
    rule(
        f"platform-{direction}",
        security_group_id=group.id,
        # EFA passes only where a rule in each direction names the group itself.
        referenced_security_group_id=group.id,
        ip_protocol="-1",
    )
placement = aws.ec2.PlacementGroup("platform", strategy="cluster")
may_assume = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
    ],
}
role = aws.iam.Role("platform", assume_role_policy=json.dumps(may_assume))
profile = aws.iam.InstanceProfile("platform", role=role.name)

cluster = AwsGpuCluster(
    "train",
    {
        "zone": "us-east-1a",
        "instance_type": "p5.48xlarge",
        "nodes": 2,
        "network": {
            "vpc_id": vpc.id,
            "subnet_id": subnet.id,
            "subnet_cidr": "10.9.1.0/24",
            "security_group_ids": [group.id],
        },
        "placement": {"group": "adopt", "name": placement.name},
        "access": {"instance_profile_name": profile.name},
    },
)

pulumi.export("fabric", cluster.fabric)
pulumi.export("launch", cluster.launch)
