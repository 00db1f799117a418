"""Every place where the Azure SDK's models and our requests disagree, with the reason why the request stays as it is.

A test fails when the judge says something that is not listed, and when something listed is no longer said.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.fidelity.azure import matrix


class Difference(NamedTuple):
    parts: tuple[str, ...]
    """Parts of the matrix in which it shows."""
    where: str
    says: str
    reason: str


EVERY_PART = (*matrix.PARTS,)
_SIZES = (*matrix.sizes(),)
_OF_A_FLEET = (*_SIZES, "surroundings of fleet", "changes to fleet")
_OF_INSTANCES = (*_SIZES, "surroundings of instances", "changes to instances")
_SCALE_SET_DISK = "VirtualMachineScaleSet properties.virtualMachineProfile.storageProfile.osDisk.diskSizeGB"
_MACHINE_DISK = "VirtualMachine properties.storageProfile.osDisk.diskSizeGB"
_DISK_REASON = (
    "The sentence is older than the disks: an OS disk holds 4,095 GiB (azure-compute-docs, "
    "virtual-machines/managed-disks-overview.md), and our checks hold it to that."
)


def _size_unknown(size: str) -> Difference:
    plain = size == matrix.PLAIN_SIZE
    return Difference(
        (size, *(_OF_INSTANCES[len(_SIZES) :] if plain else ())),
        "VirtualMachine properties.hardwareProfile.vmSize",
        f"{size!r} is not one of the 166 values of VirtualMachineSizeTypes",
        "The enumeration is old and open: the property's documentation calls it deprecated and names the List calls "
        "for the sizes there are. A scale set's size is plain text to the same model.",
    )


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        EVERY_PART,
        "ResourceGroup path",
        "'resourceGroups' stands in the resource's id where the service's path has 'resourcegroups'",
        "The specification's own spelling. Names are to be compared without regard to case (azure docs, "
        "azure-resource-manager/management/resource-name-rules.md).",
    ),
    *map(_size_unknown, _SIZES),
    *(
        Difference(parts, where, f"{size} is more than 1023 (the property's documentation)", _DISK_REASON)
        for where, of_all, changes in (
            (_SCALE_SET_DISK, _OF_A_FLEET, "changes to fleet"),
            (_MACHINE_DISK, _OF_INSTANCES, "changes to instances"),
        )
        for size, parts in ((1024, of_all), (4095, (changes,)))
    ),
    Difference(
        ("changes to fleet",),
        "VirtualMachineScaleSet properties.singlePlacementGroup",
        "300 nodes, at most 100 (the property's documentation)",
        "Azure's support raises it to 300 (azure-compute-docs, virtual-machines/setup-infiniband.md). Our checks "
        "refuse more than 100 unless `grantedNodes` says what was granted.",
    ),
)


class OtherVersion(NamedTuple):
    """A type that is judged by the model of another API version than the provider's."""

    provider: str
    judged: str
    reason: str


OTHER_VERSIONS: dict[str, OtherVersion] = {
    "azure-native:resources:ResourceGroup": OtherVersion(
        "2024-03-01",
        "2024-07-01",
        "The SDK's releases skip the provider's version; this one is the nearest. A resource group's body is its "
        "location and tags.",
    ),
}


def listed(part: str) -> set[tuple[str, str]]:
    """(where, says) of the differences that are expected in a part."""
    return {(one.where, one.says) for one in DIFFERENCES if part in one.parts}
