"""Nodes in one subnet and one cluster placement group."""

import pulumi_aws as aws

group = aws.ec2.PlacementGroup("placement-group", strategy="cluster")
template = aws.ec2.LaunchTemplate(
    "placement-node", instance_type="p4d.24xlarge", placement={"group_name": group.name}
)
aws.autoscaling.Group(
    "placement-fleet",
    min_size=8,
    max_size=8,
    vpc_zone_identifiers=["subnet-0123456789abcdef0"],
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
)
