"""The nodes themselves: a fleet (one resource at any count) or one resource a node.

Creates: one Auto Scaling group, or one EC2 instance for each node.

A new version of the launch template reaches nodes that start later. It reaches running ones only with
`updates: replace`, which ends what runs on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.settings import AwsClusterSettings, CapacityBlock, Reservation
from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.aws.template import AwsNodeTemplate
from gpu_fabric.components.choices import NodesAs, Updates, written_by_node
from gpu_fabric.components.component import child


def _reserved_only(
    settings: AwsClusterSettings,
) -> aws.autoscaling.GroupCapacityReservationSpecificationArgs | None:
    if not isinstance(settings.capacity, CapacityBlock | Reservation):
        return None
    return aws.autoscaling.GroupCapacityReservationSpecificationArgs(
        # Never falls back to on-demand (EC2 Auto Scaling User Guide, "Use Capacity Reservations").
        capacity_reservation_preference="capacity-reservations-only",
        capacity_reservation_target=aws.autoscaling.GroupCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_ids=[settings.capacity.reservation_id]
        ),
    )


def _refresh(settings: AwsClusterSettings) -> aws.autoscaling.GroupInstanceRefreshArgs | None:
    if settings.updates is Updates.KEEP:
        return None
    return aws.autoscaling.GroupInstanceRefreshArgs(
        strategy="Rolling",
        # The nodes train together, so one that waits for its turn does nothing: replace them all at once.
        preferences=aws.autoscaling.GroupInstanceRefreshPreferencesArgs(min_healthy_percentage=0),
    )


class AwsNodes(pulumi.ComponentResource):
    """The nodes of one cluster."""

    fleet_name: pulumi.Output[str] | None
    """The Auto Scaling group; None with `instances`."""
    instance_ids: pulumi.Output[list[str]] | None
    """In order of the nodes' numbers; None with a fleet, whose members the cloud knows."""
    private_addresses: pulumi.Output[list[str]] | None

    def __init__(
        self,
        name: str,
        settings: AwsClusterSettings,
        *,
        template: AwsNodeTemplate,
        subnet_id: pulumi.Input[str],
        ready_when: Sequence[pulumi.Resource] = (),
        ground: Sequence[pulumi.Resource] = (),
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`ready_when`: what must exist before the first node starts (security group rules, the way out).

        `ground`: what the nodes stand on (the network's resources): they are replaced together with it.
        """
        super().__init__("gpu-fabric:index:AwsNodes", name, None, opts)
        self.fleet_name = self.instance_ids = self.private_addresses = None
        self._ground = list(ground)
        if settings.nodes_as is NodesAs.FLEET:
            self._create_fleet(name, settings, template, subnet_id, ready_when, extra_tags or {})
        else:
            self._create_instances(name, settings, template, ready_when, extra_tags or {})
        self.register_outputs(
            {
                "fleet_name": self.fleet_name,
                "instance_ids": self.instance_ids,
                "private_addresses": self.private_addresses,
            }
        )

    def _create_fleet(
        self,
        name: str,
        settings: AwsClusterSettings,
        template: AwsNodeTemplate,
        subnet_id: pulumi.Input[str],
        ready_when: Sequence[pulumi.Resource],
        extra_tags: Mapping[str, str],
    ) -> None:
        group = aws.autoscaling.Group(
            f"{name}-fleet",
            min_size=settings.nodes,
            max_size=settings.nodes,
            desired_capacity=settings.nodes,
            vpc_zone_identifiers=[subnet_id],
            launch_template=aws.autoscaling.GroupLaunchTemplateArgs(
                id=template.template_id,
                # The number, not `$Latest`: only a change of the number is a change of the group.
                version=template.latest_version.apply(str),
            ),
            capacity_reservation_specification=_reserved_only(settings),
            instance_refresh=_refresh(settings),
            health_check_type="EC2",
            # Fewer nodes: the ones that came last go, so that the ranks of the others stay.
            termination_policies=["NewestInstance"],
            tags=[
                aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=False)
                for key, value in tags(f"{name}-fleet", extra_tags).items()
            ],
            # In another subnet the nodes that run would stay behind: the group goes and comes with its subnet.
            opts=child(
                self,
                depends_on=list(ready_when),
                replace_on_changes=["vpcZoneIdentifiers"],
                replace_with=self._ground,
                delete_before_replace=True,
            ),
        )
        self.fleet_name = group.name

    def _create_instances(
        self,
        name: str,
        settings: AwsClusterSettings,
        template: AwsNodeTemplate,
        ready_when: Sequence[pulumi.Resource],
        extra_tags: Mapping[str, str],
    ) -> None:
        keep = settings.updates is Updates.KEEP
        options = child(
            self,
            depends_on=list(ready_when),
            ignore_changes=(["launchTemplate"] if keep else []) + written_by_node(settings.bootstrap),
            replace_on_changes=None if keep else ["launchTemplate"],
            replace_with=self._ground,
            # The old node must give its place in the reservation or the placement group to the new one.
            delete_before_replace=True,
        )
        nodes = [
            aws.ec2.Instance(
                f"{name}-{number:03d}",
                launch_template=aws.ec2.InstanceLaunchTemplateArgs(
                    id=template.template_id, version=template.latest_version.apply(str)
                ),
                tags=tags(f"{name}-{number:03d}", extra_tags, **{"gpu-fabric:node": str(number)}),
                opts=options,
            )
            for number in range(settings.nodes)
        ]
        self.instance_ids = pulumi.Output.all(*[node.id for node in nodes])
        self.private_addresses = pulumi.Output.all(*[node.private_ip for node in nodes])
