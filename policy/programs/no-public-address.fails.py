"""A public address for every node."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "no-public-address-node",
    instance_type="p5.48xlarge",
    network_interfaces=[{"device_index": 0, "interface_type": "efa", "associate_public_ip_address": "true"}],
)
