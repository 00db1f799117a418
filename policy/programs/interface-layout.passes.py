"""One EFA interface on each of the four cards."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "interface-layout-node",
    instance_type="p4d.24xlarge",
    network_interfaces=[
        {"network_card_index": card, "device_index": min(card, 1), "interface_type": "efa"}
        for card in range(4)
    ],
)
