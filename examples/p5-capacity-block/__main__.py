"""p5.48xlarge nodes in a capacity block that was bought before.

The block brings its own placement, so there is no placement group. The nodes never fall back to on-demand. Makes the
same network, security group and role as p4d-cluster, one launch template and one Auto Scaling group. What the block
costs was paid when it was bought.
"""

import pulumi

from gpu_fabric.components.aws import AwsGpuCluster

config = pulumi.Config()

cluster = AwsGpuCluster(
    "p5",
    {
        "zone": config.require("zone"),
        "instance_type": "p5.48xlarge",
        "nodes": config.require_int("nodes"),
        "capacity": {"kind": "capacityBlock", "reservation_id": config.require("reservation")},
    },
)

pulumi.export("fabric", cluster.fabric)
pulumi.export("launch", cluster.launch)
pulumi.export("runs", cluster.runs)
