"""What is legal and worth knowing before it happens: said at preview, never refused."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.aws.settings import (
    AwsClusterSettings,
    Capacity,
    CapacityBlock,
    Reservation,
    Spot,
)
from gpu_fabric.components.aws.template import ImageReference
from gpu_fabric.components.choices import NodesAs, PlacementKind, Updates
from gpu_fabric.nccl.hardware import InterfaceLayout, NodeSize
from gpu_fabric.nccl.paths import STATE_TAG


def notes(settings: AwsClusterSettings, size: NodeSize, image: ImageReference) -> Iterator[str]:
    """One sentence or two each, in the order of the settings."""
    if image.floats:
        yield (
            f"image: {image.name} floats. Nodes that start later may get a newer image than those that run. Pin it "
            "with `image.amiId`, or with a parameter of your own and a version at its end (`ssmParameter: /mine:42`)."
        )
    if settings.image.ami_id is None and settings.image.ssm_parameter is None:
        yield (
            f"image: the root device of this image is taken to be {settings.image.root_device} (unverified: a preview "
            "makes no look-up). If it is another, EC2 adds a second volume; set `image.rootDevice`."
        )
    if settings.updates is Updates.REPLACE:
        what = "the fleet" if settings.nodes_as is NodesAs.FLEET else "every instance"
        yield (
            f"updates: replace. A change of image, user data, volume or interfaces terminates and replaces the nodes "
            f"of {what}; training on them ends. `updates: keep` leaves running nodes alone."
        )
    yield from capacity_notes(settings.capacity, settings.placement_kind)
    if settings.network.adopted and not settings.network.verify:
        yield (
            f"network: it is not checked that the adopted subnet has free addresses, or is in {settings.zone}; "
            "`network.verify: true` looks its zone up at preview, with a login."
        )
    if settings.network.security_group_ids:
        yield (
            "network: it is not checked that an adopted security group allows all traffic to and from itself; EFA "
            "needs both rules, by the group's id."
        )
    if settings.bootstrap.state_tag and settings.access.instance_profile_name is not None:
        yield (
            "bootstrap: `stateTag` needs ec2:CreateTags, and an instance profile of yours gets no policy from us; "
            f"allow it for the key {STATE_TAG}, or the nodes write no tag."
        )
    if settings.interfaces is InterfaceLayout.MAXIMUM_IP_BANDWIDTH:
        yield (
            "interfaces: with several addresses in one subnet a node needs a route table and a rule for each "
            "interface; AWS's GPU images set them up, other images may not."
        )
    for statement in size.unverified:
        yield f"{size.name}: unverified: {statement}"


def capacity_notes(capacity: Capacity, placement: PlacementKind) -> Iterator[str]:
    """What the kind of capacity means for the nodes, and for where they stand."""
    if placement is PlacementKind.CREATE and isinstance(capacity, Reservation):
        yield (
            "placement: a reservation made outside this new placement group may be refused with "
            "InsufficientInstanceCapacity although it is free. Adopt the group that the reservation was made in."
        )
    if placement is PlacementKind.NONE and not isinstance(capacity, Reservation | CapacityBlock):
        yield (
            "placement: without a cluster placement group the nodes share a zone and nothing more; EFA works, with "
            "longer paths between nodes."
        )
    if isinstance(capacity, Spot):
        yield "capacity: spot nodes are terminated two minutes after a notice; write checkpoints accordingly."
    if isinstance(capacity, CapacityBlock):
        yield (
            "capacity: a block terminates its nodes 30 minutes before it ends, and starts none before it begins or "
            "above its size."
        )
