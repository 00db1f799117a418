"""The same nodes as `hand_written`, with our component."""

import pulumi

from gpu_fabric.components.aws import AwsGpuCluster

config = pulumi.Config()
AwsGpuCluster(
    "bench",
    {
        "zone": "us-east-1a",
        "instance_type": "p4d.24xlarge",
        "nodes": config.require_int("nodes"),
        "nodes_as": config.require("nodesAs"),
        "image": {"ami_id": "ami-0123456789abcdef0"},
    },
)
