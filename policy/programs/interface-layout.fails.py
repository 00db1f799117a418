"""Four EFA interfaces without a network card index: all on card 0."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "interface-layout-node",
    instance_type="p4d.24xlarge",
    network_interfaces=[{"device_index": device, "interface_type": "efa"} for device in range(4)],
)
