"""Managed disks, made by the program or by a machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .arm import Target, check_zones, users
from .errors import CONFLICT, missing, not_allowed, rule
from .machine import DISK_TYPES
from .resource import arm_type, at

_OPTIONS = (
    "Empty",
    "Attach",
    "FromImage",
    "Import",
    "Copy",
    "Restore",
    "Upload",
    "CopyStart",
    "ImportSecure",
    "UploadPreparedSecure",
    "CopyFromSanSnapshot",
)


def put(call: Call, target: Target) -> dict[str, Any]:
    inputs = call.inputs
    option = at(inputs, "creationData.createOption")
    if option not in _OPTIONS:
        raise not_allowed(option, "creationData.createOption", _OPTIONS)
    size = inputs.get("diskSizeGB")
    if option == "Empty" and size is None:
        raise missing("disk.diskSizeGB")
    type = at(inputs, "sku.name", "Standard_LRS")
    if type not in DISK_TYPES:
        raise Refusal("InvalidAccountType", f"The AccountType {type} is invalid.")
    check_zones(inputs.get("zones"), target.location, target.id)
    if call.old and size is not None and size < call.old.get("diskSizeGB", 0):
        raise rule(
            f"Disk {target.name} cannot be made smaller, from {call.old['diskSizeGB']} to {size} GB.",
            "compute docs virtual-machines/expand-disks.md",
            code="OperationNotAllowed",
            status=CONFLICT,
        )
    outputs: dict[str, Any] = {"sku": {"name": type, "tier": type.partition("_")[0]}}
    if size is not None:
        outputs["diskSizeBytes"] = size * 2**30
    return outputs


def show(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    machine = next(iter(users(tx, id, "disk")), None)
    return {
        "managedBy": machine or "",
        "managedByExtended": [],
        "shareInfo": [],
        "diskState": "Attached" if machine else "Unattached",
    }


def remove(call: Call, target: Target) -> None:
    machine = next(iter(users(call.tx, target.id, "disk")), None)
    if machine:
        raise Refusal(
            "OperationNotAllowed", f"Disk {target.name} is attached to VM {machine}.", status=CONFLICT
        )


TYPES = (arm_type(kinds.DISK, "managed disk", put, remove=remove, show=show),)
