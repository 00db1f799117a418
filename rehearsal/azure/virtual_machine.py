"""Virtual machines, one resource each, and their extensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .arm import Target, check_zones, find, forget, guid, link, now, reference, targets, users
from .errors import CONFLICT, missing, reference_not_found, refusal_text, rule, unchangeable
from .machine import (
    IDENTITY_UNKNOWNS,
    Machine,
    Size,
    allocated,
    check,
    check_offered,
    identity_outputs,
    proximity_group,
)
from .placement import MOST_MACHINES
from .resource import arm_type, at, changed_from

_FIXED = (
    "osProfile.adminUsername",
    "osProfile.computerName",
    "osProfile.customData",
    "osProfile.linuxConfiguration.disablePasswordAuthentication",
    "osProfile.linuxConfiguration.ssh.publicKeys",
    "storageProfile.imageReference",
    "storageProfile.osDisk.createOption",
    "storageProfile.osDisk.name",
    "priority",
    "zones",
    "platformFaultDomain",
)
"""What no update changes (public answers of the API: "Changing property 'osProfile.customData' is not allowed.";
terraform-provider-azurerm linux_virtual_machine_resource.go, ForceNew)."""
_WORDS = {"storageProfile.imageReference": "imageReference", "storageProfile.osDisk.name": "osDisk.name"}


def put(call: Call, target: Target) -> dict[str, Any]:
    inputs, tx = call.inputs, call.tx
    if call.old:
        for path in changed_from(call, *_FIXED):
            raise unchangeable(_WORDS.get(path, path.removeprefix("osProfile.linuxConfiguration.")))
        _check_placement_change(call)
    name = at(inputs, "hardwareProfile.vmSize")
    if name is None:
        raise missing("hardwareProfile.vmSize")
    size = check(_machine(name, target, inputs), target)
    check_zones(inputs.get("zones"), target.location, target.id)
    interfaces = _interfaces(call, target, size)
    available = reference(tx, kinds.AVAILABILITY_SET, inputs.get("availabilitySet"), target)
    group = proximity_group(tx, inputs.get("proximityPlacementGroup"), target, size, inputs.get("zones"))
    if available is not None:
        _check_set(call, target, available, group)
    new = not call.old
    if new or at(call.old, "provisioningState") != "Succeeded":
        check_offered(call, size, target.location)
    state = "Succeeded"
    if new or at(call.old, "provisioningState") != "Succeeded":
        _, failure = allocated(call, size, target.location, 1, group is not None)
        if failure is not None:
            call.reasons.append(refusal_text(None, "create", "", failure))
            state = "Failed"
    storage, disks = _disks(call, target)
    link(
        tx,
        target.id,
        [
            *((each, "networkInterface") for each in interfaces),
            *((each, "disk") for each in disks),
            *([(available["id"], "availabilitySet")] if available else []),
            *([(group["id"], "proximityPlacementGroup")] if group else []),
        ],
    )
    identity = identity_outputs(call, target, at(call.old, "identity.principalId") or guid(tx, "principal"))
    return {
        "provisioningState": state,
        "hardwareProfile": {**inputs["hardwareProfile"], "vmSize": size.name},
        "storageProfile": storage,
        **({"identity": identity} if identity else {}),
    }


def _machine(size: str, target: Target, inputs: Mapping[str, Any]) -> Machine:
    return Machine(
        size=size,
        os=inputs.get("osProfile") or {},
        storage=inputs.get("storageProfile") or {},
        security=inputs.get("securityProfile") or {},
        priority=inputs.get("priority") or "Regular",
        eviction=inputs.get("evictionPolicy"),
        user_data=inputs.get("userData"),
        capacity_reservation=inputs.get("capacityReservation"),
        max_price=at(inputs, "billingProfile.maxPrice"),
    )


def _check_placement_change(call: Call) -> None:
    for name in ("availabilitySet", "proximityPlacementGroup"):
        before, after = (at(each, f"{name}.id", "") for each in (call.old, call.inputs))
        if before.casefold() != after.casefold():
            raise unchangeable(f"{name}.id")


def _interfaces(call: Call, target: Target, size: Size) -> list[str]:
    wanted = at(call.inputs, "networkProfile.networkInterfaces", [])
    if not wanted:
        raise missing("networkProfile")
    if len(wanted) > size.interfaces:
        raise rule(
            f"Size {size.name} takes {size.interfaces} network interfaces, not {len(wanted)}.",
            "compute docs virtual-machines/sizes",
        )
    if len(wanted) > 1 and sum(bool(each.get("primary")) for each in wanted) != 1:
        raise rule(
            f"One of the {len(wanted)} network interfaces has to be the primary.",
            "Microsoft.Compute 2024-11-01, NetworkInterfaceReferenceProperties.primary",
        )
    found = []
    for each in wanted:
        interface = reference(call.tx, kinds.NETWORK_INTERFACE, each, target)
        if interface is None:
            raise missing("networkInterfaces.id")
        other = next(
            (user for user in users(call.tx, interface["id"], "networkInterface") if user != target.id), None
        )
        if other:
            raise Refusal("NicInUse", f"Network Interface {interface['id']} is used by existing VM {other}.")
        found.append(str(interface["id"]))
    return found


def _check_set(
    call: Call, target: Target, available: Mapping[str, Any], group: Mapping[str, Any] | None
) -> None:
    inputs, tx = call.inputs, call.tx
    if at(available, "sku.name") != "Aligned":
        raise Refusal(
            "BadRequest",
            "Addition of a VM with managed disks to non-managed Availability Set or addition of a VM with blob based "
            "disks to managed Availability Set is not supported. Please create an Availability Set with 'managed' "
            "property set in order to add a VM with managed disks to it.",
        )
    if inputs.get("priority") in ("Spot", "Low"):
        raise rule(
            f"Virtual machine {target.name} of priority Spot cannot be in an availability set.",
            "compute docs virtual-machines/spot-vms.md",
            code="OperationNotAllowed",
            status=CONFLICT,
        )
    if inputs.get("zones"):
        raise rule(
            f"Virtual machine {target.name} in zone {inputs['zones'][0]} cannot be in an availability set.",
            "compute docs virtual-machines/availability-set-overview.md",
        )
    if (inputs.get("capacityReservation") or {}).get("capacityReservationGroup"):
        raise rule(
            "A machine in an availability set cannot use a capacity reservation group.",
            "compute docs virtual-machines/capacity-reservation-overview.md",
        )
    members = [each for each in users(tx, available["id"], "availabilitySet") if each != target.id]
    if len(members) >= MOST_MACHINES:
        raise rule(
            f"Availability set {available['name']} has {len(members)} machines; more than {MOST_MACHINES} it cannot "
            f"have.",
            "compute docs virtual-machines/setup-infiniband.md",
            code="OperationNotAllowed",
            status=CONFLICT,
        )
    set_group = next(iter(targets(tx, available["id"], "proximityPlacementGroup")), None)
    own_group = group["id"] if group else None
    if own_group is not None and own_group != set_group:
        raise rule(
            f"Virtual machine {target.name} is in proximity placement group {own_group}; its availability set is in "
            f"{set_group or 'none'}.",
            "compute docs virtual-machines/co-location.md",
        )


# Disks


def _disks(call: Call, target: Target) -> tuple[dict[str, Any], list[str]]:
    """The storage profile as Azure answers it, and the ids of the disks the machine holds."""
    storage = call.inputs.get("storageProfile") or {}
    if call.old:
        os_disk = {**call.old["storageProfile"]["osDisk"], **storage.get("osDisk", {})}
        os_disk["managedDisk"] = {
            **(storage.get("osDisk", {}).get("managedDisk") or {}),
            **call.old["storageProfile"]["osDisk"]["managedDisk"],
        }
    else:
        os_disk = _os_disk(call, target, storage.get("osDisk") or {})
    data = [_data_disk(call, target, each) for each in storage.get("dataDisks") or []]
    held = [os_disk["managedDisk"]["id"], *(each["managedDisk"]["id"] for each in data)]
    return {**storage, "osDisk": os_disk, "dataDisks": data}, held


def _os_disk(call: Call, target: Target, wanted: Mapping[str, Any]) -> dict[str, Any]:
    name = wanted.get("name") or f"{target.name}_OsDisk_1_{guid(call.tx, 'osDisk').replace('-', '')}"
    managed = wanted.get("managedDisk") or {}
    disk = _made_disk(call, target, str(name), wanted, "FromImage")
    return {
        **wanted,
        "name": name,
        "deleteOption": wanted.get("deleteOption", "Detach"),
        "managedDisk": {**managed, "id": disk},
    }


def _data_disk(call: Call, target: Target, wanted: Mapping[str, Any]) -> dict[str, Any]:
    managed = wanted.get("managedDisk") or {}
    if wanted.get("createOption") == "Attach":
        disk = reference(call.tx, kinds.DISK, managed, target)
        if disk is None:
            raise missing("dataDisk.managedDisk.id")
        other = next((each for each in users(call.tx, disk["id"], "disk") if each != target.id), None)
        if other:
            raise Refusal(
                "ConflictingUserInput",
                f"Disk '{disk['name']}' cannot be attached as the disk is already owned by VM '{other}'.",
                status=CONFLICT,
            )
        return {**wanted, "name": disk["name"], "managedDisk": {**managed, "id": disk["id"]}}
    name = str(wanted.get("name") or f"{target.name}_disk{wanted.get('lun', 0) + 2}")
    existing = find(call.tx, kinds.DISK, _disk_id(target, name))
    id = existing["id"] if existing else _made_disk(call, target, name, wanted, "Empty")
    return {**wanted, "name": name, "managedDisk": {**managed, "id": id}}


def _disk_id(target: Target, name: str) -> str:
    return f"{target.id.rpartition('/virtualMachines/')[0]}/disks/{name}"


def _made_disk(call: Call, target: Target, name: str, wanted: Mapping[str, Any], option: str) -> str:
    """The id of a disk that Compute makes along with the machine."""
    id = _disk_id(target, name)
    if find(call.tx, kinds.DISK, id) is not None:
        raise Refusal("InvalidParameter", f"A disk named '{name}' already exists.")
    type = at(wanted, "managedDisk.storageAccountType", "Standard_LRS")
    call.tx.put(
        kinds.DISK.token,
        id,
        {
            "id": id,
            "name": name,
            "type": kinds.DISK.type,
            "location": target.location,
            "creationData": {"createOption": option},
            "diskSizeGB": wanted.get("diskSizeGB"),
            "sku": {"name": type, "tier": type.partition("_")[0]},
            "provisioningState": "Succeeded",
            "timeCreated": now(),
            "uniqueId": guid(call.tx, "unique"),
        },
    )
    return id


def show(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    extensions = [each for each, _ in tx.find(kinds.EXTENSION.token, parentId=id)]
    return {"resources": [{"id": each} for each in extensions]}


def remove(call: Call, target: Target) -> None:
    """Disks and interfaces stay, unless their deleteOption is Delete; extensions go."""
    tx, storage = call.tx, call.old.get("storageProfile") or {}
    tx.remove_all(kinds.EXTENSION.token, parentId=target.id)
    for each in (storage.get("osDisk") or {}, *(storage.get("dataDisks") or [])):
        if each.get("deleteOption") == "Delete":
            forget(tx, each["managedDisk"]["id"])
            tx.remove(kinds.DISK.token, each["managedDisk"]["id"])
    for each in at(call.old, "networkProfile.networkInterfaces", []):
        if each.get("deleteOption") == "Delete":
            interface = find(tx, kinds.NETWORK_INTERFACE, each["id"])
            if interface:
                forget(tx, interface["id"])
                tx.remove(kinds.NETWORK_INTERFACE.token, interface["id"])


# Extensions


def put_extension(call: Call, target: Target) -> dict[str, Any]:
    inputs = call.inputs
    for name in ("publisher", "type", "typeHandlerVersion"):
        if not inputs.get(name):
            raise missing(name)
    handler = f"{inputs['publisher']}.{inputs['type']}"
    for id, other in call.tx.find(kinds.EXTENSION.token, parentId=target.parent):
        if id != target.id and f"{other['publisher']}.{other['type']}".lower() == handler.lower():
            raise Refusal(
                "BadRequest",
                f"Multiple VMExtensions per handler not supported for OS type 'Linux'. VMExtension '{target.name}' "
                f"with handler '{handler}' already added or specified in input.",
            )
    machine = call.tx.need(kinds.VIRTUAL_MACHINE.token, target.parent)
    if machine["location"] != target.location:
        raise reference_not_found(target.parent, target.id)
    return {"parentId": target.parent}


TYPES = (
    arm_type(
        kinds.VIRTUAL_MACHINE,
        "virtual machine",
        put,
        remove=remove,
        show=show,
        hidden=frozenset({"osProfile.customData", "osProfile.adminPassword", "userData"}),
        unknown_within={"identity": IDENTITY_UNKNOWNS},
    ),
    arm_type(
        kinds.EXTENSION, "virtual machine extension", put_extension, hidden=frozenset({"protectedSettings"})
    ),
)
