"""The shape of a widely copied module: a resource for every network interface of every node.

Four interfaces and one instance a node, in one subnet; with the network card index that the original lacks.
"""

import pulumi
import pulumi_aws as aws

NODES = pulumi.Config().require_int("nodes")
INTERFACES = 4

vpc = aws.ec2.Vpc("vpc", cidr_block="10.100.0.0/16", enable_dns_hostnames=True)
subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.100.64.0/18", availability_zone="us-east-1a")
group = aws.ec2.PlacementGroup("group", strategy="cluster")
security = aws.ec2.SecurityGroup(
    "security",
    vpc_id=vpc.id,
    ingress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}],
    egress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["0.0.0.0/0"], "self": True}],
)
for node in range(NODES):
    interfaces = [
        aws.ec2.NetworkInterface(
            f"node-{node}-nic-{card}",
            subnet_id=subnet.id,
            security_groups=[security.id],
            interface_type="efa",
            tags={"node": str(node), "index": str(card)},
        )
        for card in range(INTERFACES)
    ]
    aws.ec2.Instance(
        f"node-{node}",
        instance_type="p4d.24xlarge",
        ami="ami-0123456789abcdef0",
        placement_group=group.id,
        network_interfaces=[
            {
                "network_interface_id": interface.id,
                "device_index": min(card, 1),
                "network_card_index": card,
            }
            for card, interface in enumerate(interfaces)
        ],
        root_block_device={"volume_size": 1000, "volume_type": "gp3", "iops": 16000, "throughput": 1000},
        tags={"node": str(node), "role": "distributed-training"},
    )
