"""Resource ids of what a cluster adopts: whether each names a thing of the right kind.

An id is /subscriptions/S/resourceGroups/G/providers/NAMESPACE/TYPE/NAME, with TYPE/NAME again for a part of it (Azure
Resource Manager, "resourceId"). Names in it are compared without regard to case, as ARM does. An id that another
resource gives, which is known after deployment, is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.problems import Path, Problem


@dataclass(frozen=True)
class Kind:
    """A kind of thing that has a resource id."""

    what: str
    namespace: str
    types: tuple[str, ...]
    """From the outermost: a subnet is `virtualNetworks`, `subnets`."""
    ask: str
    """The command of Azure's CLI that knows it."""

    @property
    def shape(self) -> str:
        return "/subscriptions/…/" + "/".join(f"{type_}/…" for type_ in self.types)

    @property
    def pattern(self) -> re.Pattern[str]:
        """Of a whole id."""
        inside = "".join(rf"/{type_}/[^/]+" for type_ in self.types)
        whole = rf"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/{re.escape(self.namespace)}{inside}"
        return re.compile(whole, re.IGNORECASE)

    def matches(self, id_: str) -> bool:
        return self.pattern.fullmatch(id_) is not None


VIRTUAL_NETWORK = Kind("a virtual network", "Microsoft.Network", ("virtualNetworks",), "az network vnet show")
CIRCUIT = Kind(
    "an ExpressRoute circuit",
    "Microsoft.Network",
    ("expressRouteCircuits",),
    "az network express-route show",
)
SUBNET = Kind("a subnet", "Microsoft.Network", ("virtualNetworks", "subnets"), "az network vnet subnet show")
SECURITY_GROUP = Kind(
    "a network security group", "Microsoft.Network", ("networkSecurityGroups",), "az network nsg show"
)
PROXIMITY_GROUP = Kind(
    "a proximity placement group", "Microsoft.Compute", ("proximityPlacementGroups",), "az ppg show"
)
IDENTITY = Kind(
    "a user-assigned identity",
    "Microsoft.ManagedIdentity",
    ("userAssignedIdentities",),
    "az identity show",
)
DISK_ENCRYPTION_SET = Kind(
    "a disk encryption set", "Microsoft.Compute", ("diskEncryptionSets",), "az disk-encryption-set show"
)

_ADOPTED: tuple[tuple[tuple[str, str], Kind], ...] = (
    (("network", "subnet_id"), SUBNET),
    (("network", "security_group_id"), SECURITY_GROUP),
    (("placement", "id"), PROXIMITY_GROUP),
    (("access", "identity_id"), IDENTITY),
    (("root_volume", "disk_encryption_set_id"), DISK_ENCRYPTION_SET),
)

#: 1 to 90 letters, digits, `_`, `-`, `.` and parentheses, not ending in a period (Azure, "Naming rules and
#: restrictions for Azure resources", Microsoft.Resources).
_RESOURCE_GROUP = re.compile(r"[\w().-]{0,89}[\w()-]")
_SHOWN = 120


def id_problem(where: Path, given: Any, kind: Kind) -> Iterator[Problem]:
    """An id that does not name a thing of this kind."""
    if isinstance(given, str) and not kind.matches(given):
        shown = given if len(given) <= _SHOWN else f"{given[:_SHOWN]}…"
        yield Problem(
            where,
            f"{shown!r} is not the resource id of {kind.what}",
            f"give {kind.shape} (`{kind.ask} --query id`)",
        )


def adopted_ids(settings: AzureClusterSettings) -> Iterator[Problem]:
    """What is wrong with the ids and names of the things that the cluster is to adopt."""
    for where, kind in _ADOPTED:
        yield from id_problem(where, getattr(getattr(settings, where[0]), where[1]), kind)
    group = settings.resource_group
    if isinstance(group, str) and not _RESOURCE_GROUP.fullmatch(group):
        yield Problem(
            ("resource_group",),
            f"{group[:_SHOWN]!r} is not the name of a resource group",
            "give its name alone: 1 to 90 letters, digits, `_`, `-`, `.` and parentheses, not ending in a period "
            "(`az group list --query [].name`)",
        )
