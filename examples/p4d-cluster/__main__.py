"""Four p4d.24xlarge in one subnet of one zone, close together, each with its four EFA interfaces.

Makes a VPC with a private and a small public subnet, a NAT gateway, a security group, a role, a cluster placement
group, a launch template and one Auto Scaling group of four nodes. Costs about 89 USD an hour: destroy it when done.
"""

import pulumi

from gpu_fabric.components.aws import AwsGpuCluster

cluster = AwsGpuCluster(
    "p4d",
    {
        "zone": "us-east-1a",
        "instance_type": "p4d.24xlarge",
        "nodes": 4,
        "network": {"cidr": "10.100.0.0/16", "subnet_cidr": "10.100.1.0/24"},
        "root_volume": {"size_gib": 1000, "iops": 16000, "throughput_mibps": 1000},
        "tags": {"role": "distributed-training"},
    },
)

pulumi.export("fabric", cluster.fabric)
pulumi.export("launch", cluster.launch)
pulumi.export("runs", cluster.runs)
