"""The whole fabric of a stack: composes the clusters of its clouds.

Creates: an `AwsGpuCluster` where the stack file has `aws`.
"""

from __future__ import annotations

from typing import Any

import pulumi

from gpu_fabric.components.aws.cluster import AwsGpuCluster
from gpu_fabric.components.component import child
from gpu_fabric.components.config import FabricSettings


class GpuFabric(pulumi.ComponentResource):
    """What a stack file describes."""

    aws: AwsGpuCluster | None

    def __init__(
        self, name: str, settings: FabricSettings, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu-fabric:index:GpuFabric", name, None, opts)
        self.aws = None
        if settings.aws is not None:
            self.aws = AwsGpuCluster.from_settings(
                f"{name}-aws", settings.aws, settings.around_aws, opts=child(self)
            )
        self.register_outputs({})

    def exports(self) -> dict[str, Any]:
        """What a person wants to see after `up`, by cloud."""
        return {} if self.aws is None else {"aws": _summary(self.aws)}


def _summary(cluster: AwsGpuCluster) -> dict[str, Any]:
    return {
        "fabric": cluster.fabric,
        "fleet": cluster.fleet_name,
        "instances": cluster.instance_ids,
        "privateAddresses": cluster.private_addresses,
        "launch": cluster.launch,
        "runs": cluster.runs,
        "network": {"vpcId": cluster.vpc_id, "subnetId": cluster.subnet_id},
    }
