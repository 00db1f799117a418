"""The cluster placement group: nodes close together, with the full bisection bandwidth between them.

Creates: one placement group with strategy `cluster`, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.choices import PlacementKind
from gpu_fabric.components.component import child


class AwsPlacement(pulumi.ComponentResource):
    """A cluster placement group: created, adopted, or none."""

    group_name: pulumi.Output[str] | None

    def __init__(
        self,
        name: str,
        kind: PlacementKind,
        adopted_name: pulumi.Input[str] | None,
        *,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:index:AwsPlacement", name, None, opts)
        self.group_name = None
        if kind is PlacementKind.CREATE:
            group = aws.ec2.PlacementGroup(
                f"{name}-cluster",
                strategy=aws.ec2.PlacementStrategy.CLUSTER,
                tags=tags(f"{name}-cluster", extra_tags or {}),
                opts=child(self),
            )
            self.group_name = group.name
        elif adopted_name is not None:
            self.group_name = pulumi.Output.from_input(adopted_name)
        self.register_outputs({"group_name": self.group_name})
