"""What a changed scale set means for the nodes that run.

Azure changes the model of a scale set with the upgrade policy Manual and leaves its instances alone
(MicrosoftDocs/azure-compute-docs, virtual-machine-scale-sets/virtual-machine-scale-sets-upgrade-policy.md, 2026-05).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from gpu_fabric.components import changes

PARTS: changes.Parts = {
    "custom data": ("virtualMachineProfile", "osProfile", "customData"),
    "SSH key": ("virtualMachineProfile", "osProfile", "linuxConfiguration"),
    "image": ("virtualMachineProfile", "storageProfile", "imageReference"),
    "OS disk": ("virtualMachineProfile", "storageProfile", "osDisk"),
    "size": ("sku", "name"),
    "network interface": ("virtualMachineProfile", "networkProfile"),
    "security settings": ("virtualMachineProfile", "securityProfile"),
}


def refresh_command(resource_group: str, scale_set: str) -> str:
    """The commands that bring running nodes to the scale set's model; they rebuild every OS disk."""
    where = f"--resource-group {resource_group} --name {scale_set}"
    return f"az vmss update-instances {where} --instance-ids '*' && az vmss reimage {where}"


def update_message(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], *, resource_group: str, scale_set: str
) -> str | None:
    """What an update of the scale set means for its nodes, or None where it does not touch what a node is made of."""
    count = int(changes.at(old, ("sku", "capacity")) or 0)
    keep = "node of {} keeps what it has" if count == 1 else "nodes of {} keep what they have"
    return changes.kept_message(
        name,
        changes.changed_parts(PARTS, old, new),
        pattern="the scale set's model",
        who_keeps=f"The {count} {keep.format(scale_set)}",
        follow="To bring running nodes along, which rebuilds their OS disks and ends what runs on them: "
        + refresh_command(resource_group, scale_set),
    )


def say_before_update(name: str) -> pulumi.ResourceHookBinding:
    """Says `update_message` at preview, and again before the update itself, of the scale set with this unique name."""

    def message(arguments: pulumi.ResourceHookArgs) -> str | None:
        old = arguments.old_inputs or {}
        return update_message(
            arguments.name,
            old,
            arguments.new_inputs or {},
            resource_group=str(old.get("resourceGroupName", "")),
            scale_set=str((arguments.old_outputs or {}).get("name") or old.get("vmScaleSetName", "")),
        )

    return changes.say_before_update(name, message)
