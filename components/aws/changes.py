"""What a changed launch template means for the nodes that run.

A new version reaches instances that start later: an Auto Scaling group keeps those that run until an instance refresh
replaces them (AWS CLI reference, autoscaling start-instance-refresh), and a single instance stays as it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from gpu_fabric.components import changes
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.choices import NodesAs

PARTS: changes.Parts = {
    "user data": ("userData",),
    "image": ("imageId",),
    "size": ("instanceType",),
    "root volume": ("blockDeviceMappings",),
    "network interfaces": ("networkInterfaces",),
    "SSH key": ("keyName",),
    "instance profile": ("iamInstanceProfile",),
    "placement": ("placement",),
    "capacity": ("instanceMarketOptions",),
    "reservation": ("capacityReservationSpecification",),
}


def refresh_command(region: str, fleet: str) -> str:
    """The command that replaces the nodes of a fleet by new ones, all at once: they train together."""
    return (
        f"aws autoscaling start-instance-refresh --region {region} --auto-scaling-group-name {fleet} "
        "--preferences MinHealthyPercentage=0"
    )


def update_message(
    name: str, settings: AwsClusterSettings, template: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> str | None:
    """What an update of the cluster's launch template means for its nodes, or None where a node stays what it is.

    `name` is the cluster's, `template` the template's.
    """
    if settings.nodes_as is NodesAs.FLEET:
        who_keeps = f"The nodes of {name}-fleet keep what they have"
        follow = "To bring running nodes along, which terminates and replaces them: `refresh` of the output `launch`."
    else:
        last = f" … {name}-{settings.nodes - 1:03d}" if settings.nodes > 1 else ""
        who_keeps = f"Of the nodes, {name}-000{last} keep what they have where they exist"
        follow = "`updates: replace` replaces them, and ends what runs on them."
    return changes.kept_message(
        template,
        changes.changed_parts(PARTS, old, new),
        pattern="the launch template",
        who_keeps=who_keeps,
        follow=follow,
    )


def say_before_update(name: str, settings: AwsClusterSettings) -> pulumi.ResourceHookBinding:
    """Says `update_message` at preview, and again before the update itself, of the cluster's launch template."""

    def message(arguments: pulumi.ResourceHookArgs) -> str | None:
        old, new = arguments.old_inputs or {}, arguments.new_inputs or {}
        return update_message(name, settings, arguments.name, old, new)

    return changes.say_before_update(f"{name}-node", message)
