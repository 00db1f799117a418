"""What a machine's description must be, the same for a scale set's model and for a virtual machine.

The sentences are Compute's own (MicrosoftDocs virtual-machines/error-messages.md, "Understand common error messages
when you manage virtual machines in Azure") unless the message says otherwise.
"""

from __future__ import annotations

import base64
import binascii
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ..core.errors import ProviderError, Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .arm import TENANT, Target, find, reference
from .errors import CONFLICT, NOT_FOUND, invalid, missing, not_allowed, reference_not_found, rule
from .resource import at
from .ssh import is_public_key

MOST_CUSTOM_DATA = 87380
"""Characters of base64: 65535 bytes (Microsoft.Compute 2024-11-01, OSProfile.customData)."""
FORBIDDEN_USERS = frozenset(
    [
        "1",
        "123",
        "a",
        "actuser",
        "adm",
        "admin",
        "admin1",
        "admin2",
        "administrator",
        "aspnet",
        "backup",
        "console",
        "david",
        "guest",
        "john",
        "owner",
        "root",
        "server",
        "sql",
        "support",
        "support_388945a0",
        "sys",
        "test",
        "test1",
        "test2",
        "test3",
        "user",
        "user1",
        "user2",
        "user3",
        "user4",
        "user5",
        "video",
    ]
)
"""compute docs virtual-machines/linux/faq.yml, "What are the username requirements"."""
PRIORITIES = ("Regular", "Low", "Spot")
EVICTIONS = ("Deallocate", "Delete")
SECURITY_TYPES = ("Standard", "TrustedLaunch", "ConfidentialVM")
DISK_TYPES = (
    "Standard_LRS",
    "Premium_LRS",
    "StandardSSD_LRS",
    "UltraSSD_LRS",
    "Premium_ZRS",
    "StandardSSD_ZRS",
    "PremiumV2_LRS",
)
CACHING = ("None", "ReadOnly", "ReadWrite")
IDENTITY_UNKNOWNS = frozenset({"principalId", "tenantId", "userAssignedIdentities!"})
"""What a preview does not know of an identity, new or not: an update recomputes it in the provider's eyes. Identities
are given as a list of ids and answered as a map."""
_SHORTAGES = {
    "AllocationFailed": "Allocation failed. We do not have sufficient capacity for the requested VM size in this "
    "region. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance",
    "OverconstrainedAllocationRequest": "Allocation failed. VM(s) with the following constraints cannot be "
    "allocated, because the condition is too restrictive. Please remove some constraints and try again. Constraints "
    "applied are: VM Size{placement}.",
    "SkuNotAvailable": "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: "
    "{size}' is currently not available in location '{location}'. Please try another size or deploy to a different "
    "location or different zone. See https://aka.ms/azureskunotavailable for details.",
}
"""Refusals for want of machines; sentences as in AKS's and Terraform's public reports of them."""


@dataclass(frozen=True)
class Size:
    """One row of ``sizes.toml``."""

    name: str
    generations: tuple[str, ...]
    interfaces: int
    temporary_gib: int
    infiniband: bool = False
    trusted_launch: bool = True
    capacity_reservation: bool = True
    spot: bool = True
    vertical_connect: bool = False


@cache
def sizes() -> dict[str, Size]:
    """Every size, by its name in lower case: Azure takes any casing."""
    table = tomllib.loads((Path(__file__).parent / "sizes.toml").read_text())
    return {
        name.lower(): Size(name=name, generations=tuple(row.pop("generations")), **row)
        for name, row in table.items()
    }


@cache
def _images() -> list[dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "images.toml").read_text())["image"]


@dataclass(frozen=True)
class Machine:
    """A machine's description: the parts that a scale set and a virtual machine share."""

    size: str
    os: Mapping[str, Any]
    storage: Mapping[str, Any]
    security: Mapping[str, Any]
    priority: str = "Regular"
    eviction: str | None = None
    user_data: str | None = None
    capacity_reservation: Mapping[str, Any] | None = None
    max_price: Any = None
    name_input: str = "computerName"


def check(machine: Machine, target: Target) -> Size:
    """Refuse a description that Compute refuses; the size where it does not."""
    size = sizes().get(machine.size.lower())
    if size is None:
        raise Refusal(
            "InvalidParameter",
            f"The value {machine.size} provided for the VM size is not valid. The valid sizes in the current region "
            f"are: {', '.join(each.name for each in sizes().values())}.",
        )
    _check_os(machine)
    _check_storage(machine, size)
    _check_security(machine, size)
    _check_priority(machine, size)
    if (machine.capacity_reservation or {}).get("capacityReservationGroup") and not size.capacity_reservation:
        raise rule(
            f"Size {size.name} cannot be deployed into a capacity reservation group.",
            "compute docs virtual-machines/capacity-reservation-overview.md",
        )
    return size


def _check_os(machine: Machine) -> None:
    os = machine.os
    if not os:
        raise missing("osProfile")
    for name in (machine.name_input, "adminUsername"):
        if not os.get(name):
            raise missing(f"osProfile.{name}")
    user = str(os["adminUsername"])
    if user.lower() in FORBIDDEN_USERS:
        raise Refusal("InvalidParameter", "The Admin Username specified is not allowed.")
    if os.get("customData") is not None:
        _check_base64(os["customData"])
    if machine.user_data is not None:
        _check_base64(machine.user_data, "User data")
    linux = os.get("linuxConfiguration") or {}
    keys = at(linux, "ssh.publicKeys", [])
    password = os.get("adminPassword")
    if not keys and (linux.get("disablePasswordAuthentication") or not password):
        raise Refusal(
            "InvalidParameter",
            "Authentication using either SSH or by user name and password must be enabled in Linux profile.",
        )
    home = f"/home/{user}/.ssh/authorized_keys"
    for key in keys:
        if key.get("path") != home:
            raise Refusal(
                "InvalidParameter",
                f"Destination path for Ssh public keys is currently limited to its default value {home}  due to a "
                f"known issue in Linux provisioning agent.",
            )
        if not is_public_key(key.get("keyData")):
            raise invalid("linuxConfiguration.ssh.publicKeys.keyData")


def _check_base64(text: Any, what: str = "Custom data") -> None:
    try:
        base64.b64decode(str(text), validate=True)
        fits = len(str(text)) <= MOST_CUSTOM_DATA
    except binascii.Error:
        fits = False
    if not fits:
        raise Refusal(
            "InvalidParameter",
            f"{what} in OSProfile must be in Base64 encoding and with a maximum length of {MOST_CUSTOM_DATA} "
            f"characters.",
        )


def _check_storage(machine: Machine, size: Size) -> None:
    disk = machine.storage.get("osDisk") or {}
    image = machine.storage.get("imageReference")
    if disk.get("createOption") not in ("FromImage", "Attach"):
        raise not_allowed(disk.get("createOption"), "osDisk.createOption", ("FromImage", "Attach"))
    if disk["createOption"] == "FromImage":
        if not image:
            raise missing("imageReference")
        _check_image(image)
        generation = image_generation(image)
        if generation is not None and generation not in size.generations:
            number = generation[1:]
            raise Refusal(
                "BadRequest",
                f"The selected VM size '{size.name}' cannot boot Hypervisor Generation '{number}'. If this was a "
                f"Create operation please check that the Hypervisor Generation of the Image matches the Hypervisor "
                f"Generation of the selected VM Size. If this was an Update operation please select a Hypervisor "
                f"Generation '{number}' VM Size.",
            )
    for name, value, allowed in (
        ("osDisk.managedDisk.storageAccountType", at(disk, "managedDisk.storageAccountType"), DISK_TYPES),
        ("osDisk.caching", disk.get("caching"), CACHING),
    ):
        if value is not None and value not in allowed:
            raise not_allowed(value, name, allowed)
    if (disk.get("diffDiskSettings") or {}).get("option") == "Local":
        _check_ephemeral(disk, size)
    luns = [each.get("lun") for each in machine.storage.get("dataDisks") or []]
    for lun in luns:
        if luns.count(lun) > 1:
            raise Refusal("InvalidParameter", f"A disk at LUN {lun} already exists.")


def _check_image(image: Mapping[str, Any]) -> None:
    if image.get("id") or image.get("sharedGalleryImageId") or image.get("communityGalleryImageId"):
        return
    for name in ("publisher", "offer", "sku", "version"):
        if not image.get(name):
            raise missing(f"imageReference.{name}")
    version = str(image["version"])
    if version != "latest" and not all(part.isdigit() for part in version.split(".")):
        names = ":".join(str(image[name]) for name in ("publisher", "offer", "sku", "version"))
        raise Refusal(
            "PlatformImageNotFound",
            f"The platform image '{names}' is not available. Verify that all fields in the storage profile are "
            f"correct. For more details about storage profile information, please refer to "
            f"https://aka.ms/storageprofile",
            status=NOT_FOUND,
        )


def image_generation(image: Mapping[str, Any]) -> str | None:
    """``V1`` or ``V2``; None for an image this simulation knows nothing of."""
    names = {key: str(image.get(key) or "").lower() for key in ("publisher", "offer", "sku")}
    return next(
        (
            row["generation"]
            for row in _images()
            if all(fnmatchcase(value, row[key]) for key, value in names.items())
        ),
        None,
    )


def _check_ephemeral(disk: Mapping[str, Any], size: Size) -> None:
    source = "compute docs virtual-machines/ephemeral-os-disks.md"
    if disk.get("caching") != "ReadOnly":
        raise rule(f"An ephemeral OS disk needs caching ReadOnly, not {disk.get('caching')}.", source)
    wanted = disk.get("diskSizeGB")
    placement = disk["diffDiskSettings"].get("placement")
    if placement == "ResourceDisk" and wanted is not None and wanted > size.temporary_gib:
        raise Refusal(
            "NotSupported",
            f"OS disk of Ephemeral VM with size greater than {size.temporary_gib} GB is not allowed for VM size "
            f"{size.name} when the DiffDiskPlacement is ResourceDisk.",
        )


def _check_security(machine: Machine, size: Size) -> None:
    type = machine.security.get("securityType")
    source = "compute docs virtual-machines/trusted-launch.md"
    if type is not None and type not in SECURITY_TYPES:
        raise not_allowed(type, "securityProfile.securityType", SECURITY_TYPES)
    if machine.security.get("uefiSettings") and type not in ("TrustedLaunch", "ConfidentialVM"):
        raise rule(
            "securityProfile.uefiSettings needs securityType TrustedLaunch or ConfidentialVM.",
            "Microsoft.Compute 2024-11-01, SecurityProfile.securityType",
        )
    if type == "TrustedLaunch":
        image = machine.storage.get("imageReference") or {}
        if image_generation(image) == "V1":
            raise Refusal(
                "BadRequest",
                "Use of TrustedLaunch setting is not supported for the provided image. Please select Trusted Launch "
                "Supported Gen2 OS Image. For more information, see https://aka.ms/TrustedLaunch-FAQ.",
            )
        if not size.trusted_launch:
            raise rule(f"Size {size.name} does not support securityType TrustedLaunch.", source)
    if type == "ConfidentialVM":
        raise rule(
            f"Size {size.name} does not support securityType ConfidentialVM.",
            "compute docs confidential-computing/virtual-machine-options.md",
        )


def _check_priority(machine: Machine, size: Size) -> None:
    source = "compute docs virtual-machines/spot-vms.md"
    if machine.priority not in PRIORITIES:
        raise not_allowed(machine.priority, "priority", PRIORITIES)
    if machine.eviction is not None and machine.eviction not in EVICTIONS:
        raise not_allowed(machine.eviction, "evictionPolicy", EVICTIONS)
    spot = machine.priority in ("Spot", "Low")
    if not spot and (machine.eviction is not None or machine.max_price is not None):
        raise rule("evictionPolicy and billingProfile.maxPrice are for priority Spot only.", source)
    if spot and not size.spot:
        raise rule(f"Size {size.name} is not offered as Spot.", source)
    if spot and (machine.capacity_reservation or {}).get("capacityReservationGroup"):
        raise rule(
            "A Spot machine cannot use a capacity reservation group.",
            "compute docs virtual-machines/capacity-reservation-overview.md",
        )


# Placement and capacity


def proximity_group(
    tx: Transaction, sub_resource: Any, target: Target, size: Size | None, zones: Any
) -> dict[str, Any] | None:
    """The proximity placement group, if any; a refusal where the machine does not fit into it."""
    group = reference(tx, kinds.PROXIMITY_GROUP, sub_resource, target)
    if group is None:
        return None
    source = "compute docs virtual-machines/co-location.md"
    intended = [each.lower() for each in at(group, "intent.vmSizes", [])]
    if intended and size is not None and size.name.lower() not in intended:
        raise rule(
            f"Size {size.name} is not among the intended sizes of proximity placement group {group['id']}: "
            f"{', '.join(at(group, 'intent.vmSizes'))}.",
            source,
        )
    zone = list(group.get("zones") or [])
    if zone and list(zones or []) != zone:
        raise rule(
            f"Resource {target.id} is in zones {', '.join(zones or []) or 'none'}; proximity placement group "
            f"{group['id']} is in zone {zone[0]}.",
            source,
        )
    return group


def check_offered(call: Call, size: Size, location: str) -> None:
    """Refuse a size that the place does not offer: a switch, since the documentation has no list."""
    short = call.faults.shortage(size.name, location)
    if short is None:
        return
    if short.code not in ("", *_SHORTAGES):
        raise ProviderError(
            f"{call.faults.source}: capacity: {short.code!r} is none of Azure's words for it here: "
            f"{', '.join(_SHORTAGES)}"
        )
    if short.code == "SkuNotAvailable" and running(call.tx, size.name, location) >= short.available:
        raise _shortage(short.code, size, location)


def allocated(call: Call, size: Size, location: str, wanted: int, placed: bool) -> tuple[int, Refusal | None]:
    """How many more machines the place gives, and the failure if that is fewer than wanted."""
    short = call.faults.shortage(size.name, location)
    if short is None:
        return wanted, None
    given = max(0, min(wanted, short.available - running(call.tx, size.name, location)))
    if given == wanted:
        return wanted, None
    # An allocation is one request: it succeeds for all of the machines or for none.
    return 0, _shortage(short.code or "AllocationFailed", size, location, placed)


def _shortage(code: str, size: Size, location: str, placed: bool = False) -> Refusal:
    text = _SHORTAGES[code].format(
        size=size.name, location=location, placement=", Proximity Placement Group" if placed else ""
    )
    return Refusal(code, text, status=CONFLICT)


def running(tx: Transaction, size: str, location: str) -> int:
    """How many machines of a size there are in a location."""
    instances = sum(
        each["size"] == size and each["location"] == location for _, each in tx.find(kinds.INSTANCE)
    )
    machines = sum(
        at(each, "hardwareProfile.vmSize") == size
        and each["location"] == location
        and each["provisioningState"] == "Succeeded"
        for _, each in tx.find(kinds.VIRTUAL_MACHINE.token)
    )
    return instances + machines


def identity_outputs(call: Call, target: Target, guid: str) -> dict[str, Any] | None:
    """The identity with the principal that the directory made for it; None where there is none.

    ``guid`` is the principal of a system-assigned identity, kept while there is one.
    """
    identity = call.inputs.get("identity")
    if not identity or identity.get("type") in (None, "None"):
        return None
    types = str(identity["type"]).replace(" ", "").split(",")
    if not set(types) <= {"SystemAssigned", "UserAssigned"}:
        raise not_allowed(
            identity["type"],
            "identity.type",
            ("SystemAssigned", "UserAssigned", "SystemAssigned, UserAssigned", "None"),
        )
    outputs: dict[str, Any] = {"type": identity["type"]}
    if "SystemAssigned" in types:
        outputs |= {"principalId": guid, "tenantId": TENANT}
    if "UserAssigned" in types:
        given = identity.get("userAssignedIdentities") or []
        if not given:
            raise missing("identity.userAssignedIdentities")
        outputs["userAssignedIdentities"] = {}
        for id in given:
            found = find(call.tx, kinds.IDENTITY, id)
            if found is None:
                raise reference_not_found(id, target.id)
            outputs["userAssignedIdentities"][id] = {
                "principalId": found["principalId"],
                "clientId": found["clientId"],
            }
    return outputs
