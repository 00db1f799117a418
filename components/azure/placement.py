"""The proximity placement group: one datacenter for whatever is in it. It gives no InfiniBand.

Creates: one proximity placement group, or nothing. Nodes share InfiniBand because they are in one scale set with a
single placement group, or in one availability set; docs/azure.md explains the two.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_azure_native import compute

from gpu_fabric.components.azure.settings import Placement
from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.choices import PlacementKind
from gpu_fabric.components.component import child


class AzurePlacement(pulumi.ComponentResource):
    """A proximity placement group: created, adopted, or none."""

    group_id: pulumi.Output[str] | None

    def __init__(
        self,
        name: str,
        kind: PlacementKind,
        placement: Placement,
        *,
        resource_group_name: pulumi.Input[str],
        location: str,
        zone: str | None = None,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`zone` is that of the nodes; Azure takes one together with intent sizes only."""
        super().__init__("gpu-fabric:index:AzurePlacement", name, None, opts)
        self.group_id = None
        if kind is PlacementKind.CREATE:
            group = compute.ProximityPlacementGroup(
                f"{name}-near",
                resource_group_name=resource_group_name,
                location=location,
                proximity_placement_group_type=compute.ProximityPlacementGroupType.STANDARD,
                intent=compute.ProximityPlacementGroupPropertiesIntentArgs(
                    vm_sizes=list(placement.intent_sizes)
                )
                if placement.intent_sizes
                else None,
                zones=None if zone is None else [zone],
                tags=tags(extra_tags or {}),
                # compute docs, virtual-machines/co-location.md: the zone cannot be changed.
                opts=child(self, replace_on_changes=["zones"]),
            )
            self.group_id = group.id
        elif placement.id is not None:
            self.group_id = pulumi.Output.from_input(placement.id)
        self.register_outputs({"group_id": self.group_id})
