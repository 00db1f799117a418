"""An encrypted disk."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "encrypted-disks-node",
    instance_type="p5.48xlarge",
    block_device_mappings=[
        {"device_name": "/dev/sda1", "ebs": {"volume_type": "gp3", "volume_size": 1000, "encrypted": "true"}}
    ],
)
