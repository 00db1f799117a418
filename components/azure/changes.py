"""What a changed scale set means for the nodes that run: said by name at preview and before an update.

Azure changes the model of a scale set with the upgrade policy Manual and leaves its instances alone
(MicrosoftDocs/azure-compute-docs, virtual-machine-scale-sets/virtual-machine-scale-sets-upgrade-policy.md, 2026-05).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

#: What a person calls it → its place in the scale set's inputs.
PARTS: Mapping[str, tuple[str, ...]] = {
    "custom data": ("virtualMachineProfile", "osProfile", "customData"),
    "SSH key": ("virtualMachineProfile", "osProfile", "linuxConfiguration"),
    "image": ("virtualMachineProfile", "storageProfile", "imageReference"),
    "OS disk": ("virtualMachineProfile", "storageProfile", "osDisk"),
    "size": ("sku", "name"),
    "network interface": ("virtualMachineProfile", "networkProfile"),
    "security settings": ("virtualMachineProfile", "securityProfile"),
}


def _at(inputs: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        inputs = inputs.get(key) if isinstance(inputs, Mapping) else None
    return inputs


def changed_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Names of the parts of a node that differ between two inputs of a scale set."""
    return [part for part, place in PARTS.items() if _at(old, place) != _at(new, place)]


def refresh_command(resource_group: str, scale_set: str) -> str:
    """The commands that bring running nodes to the scale set's model; they rebuild every OS disk."""
    where = f"--resource-group {resource_group} --name {scale_set}"
    return f"az vmss update-instances {where} --instance-ids '*' && az vmss reimage {where}"


def update_message(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], *, resource_group: str, scale_set: str
) -> str | None:
    """What an update of the scale set means for its nodes, or None where it does not touch what a node is made of."""
    parts = changed_parts(old, new)
    if not parts:
        return None
    *most, last = parts
    what = f"{', '.join(most)} and {last}" if most else last
    count = int(_at(old, ("sku", "capacity")) or 0)
    keep = "node of {} keeps what it has" if count == 1 else "nodes of {} keep what they have"
    return (
        f"{name}: {what} will change in the scale set's model. The {count} {keep.format(scale_set)}; nodes that start "
        "later get the new. To bring running nodes along, which rebuilds their OS disks and ends what runs on them: "
        f"{refresh_command(resource_group, scale_set)}"
    )


def say_before_update(name: str) -> pulumi.ResourceHookBinding:
    """Says `update_message` at preview, and again before the update itself, of the scale set with this unique name."""

    def say(arguments: pulumi.ResourceHookArgs) -> None:
        old, new = arguments.old_inputs or {}, arguments.new_inputs or {}
        message = update_message(
            arguments.name,
            old,
            new,
            resource_group=str(old.get("resourceGroupName", "")),
            scale_set=str((arguments.old_outputs or {}).get("name") or old.get("vmScaleSetName", "")),
        )
        if message is not None:
            pulumi.log.warn(message)

    # A message must not be able to fail an update.
    options = pulumi.ResourceHookOptions(on_dry_run=True, ignore_errors=True)
    hook = pulumi.ResourceHook(f"{name}: what an update does to its nodes", say, options)
    return pulumi.ResourceHookBinding(before_update=[hook])
