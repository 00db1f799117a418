"""Nodes in two subnets and no placement group."""

import pulumi_aws as aws

template = aws.ec2.LaunchTemplate("placement-node", instance_type="p4d.24xlarge")
aws.autoscaling.Group(
    "placement-fleet",
    min_size=8,
    max_size=8,
    vpc_zone_identifiers=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
)
