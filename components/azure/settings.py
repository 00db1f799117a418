"""What a user says about an Azure GPU cluster: the shape, its defaults and their limits. The rules are in `checks`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import pulumi
from pydantic import BeforeValidator, Field

from gpu_fabric.components.azure.ssh_keys import public_key_problem
from gpu_fabric.components.choices import Bootstrap, Nccl, NodesAs, PlacementKind, Updates
from gpu_fabric.components.other_cloud import OtherCloudLink
from gpu_fabric.components.settings import Identifier, Number, Settings, Switch, Text, WholeNumber


class Internet(StrEnum):
    """How private nodes reach the outside."""

    NAT = "nat"
    """A NAT gateway on their subnet."""
    NONE = "none"
    """Not at all."""


class Eviction(StrEnum):
    """What becomes of a spot node that Azure takes back."""

    DEALLOCATE = "deallocate"
    """It stops; its disk stays, is paid for, and counts against the quota."""
    DELETE = "delete"


class OsDiskType(StrEnum):
    """Managed disks that can hold an operating system; Ultra Disk and Premium SSD v2 cannot."""

    PREMIUM = "Premium_LRS"
    PREMIUM_ZONE_REDUNDANT = "Premium_ZRS"
    STANDARD_SSD = "StandardSSD_LRS"
    STANDARD_SSD_ZONE_REDUNDANT = "StandardSSD_ZRS"
    STANDARD_HDD = "Standard_LRS"


class OnDemand(Settings):
    kind: Literal["onDemand"] = "onDemand"


class Spot(Settings):
    kind: Literal["spot"]
    max_price: Annotated[Number, Field(gt=0)] | None = None
    """USD an hour and node. Without it: up to the on-demand price, and no eviction because of the price."""
    eviction: Eviction = Eviction.DEALLOCATE
    """What becomes of a node that Azure takes back."""


def _not_reserved(value: Any) -> Any:
    if isinstance(value, dict) and value.get("kind") in ("reservation", "capacityBlock"):
        # compute docs, virtual-machines/capacity-reservation-overview.md (2026-02).
        raise ValueError(
            "Azure has no capacity reservation for ND sizes, and none for a scale set with a single placement group, "
            "a proximity group, an availability set or spot; set `kind: onDemand` or `kind: spot`, and ask Azure for "
            "quota"
        )
    return value


Capacity = Annotated[
    Annotated[OnDemand | Spot, Field(discriminator="kind")],
    BeforeValidator(_not_reserved),
]


class Placement(Settings):
    group: PlacementKind | None = None
    """A proximity placement group; `none` by default, `adopt` where an id is given. It gives no InfiniBand."""
    id: Identifier | None = None
    """The existing proximity placement group to adopt, by its resource id."""
    intent_sizes: tuple[Text, ...] = ()
    """For a new group: the VM sizes that its datacenter must have; ours is among them."""


class Network(Settings):
    """Create a network (`cidr`, `subnetCidr`, `internet`, `bastion`) or adopt a subnet (`subnetId`, `subnetCidr`)."""

    cidr: Text | None = None
    """Block of the new virtual network; 10.200.0.0/16 by default. Not in 172.16.0.0/16: the RDMA network owns it."""
    subnet_cidr: Text | None = None
    """Block of the nodes' subnet; of an adopted subnet: its block, so that traffic inside it can be allowed."""
    bastion_subnet_cidr: Text | None = None
    """Block of Bastion's subnet, /26 or larger."""
    internet: Internet | None = None
    """`nat` by default."""
    bastion: Switch = False
    """An Azure Bastion, through which a person reaches the nodes from outside."""
    subnet_id: Identifier | None = None
    """The resource id of an existing subnet."""
    security_group_id: Identifier | None = None
    """An existing network security group, used instead of a new one."""

    @property
    def adopted(self) -> bool:
        return self.subnet_id is not None


class Image(Settings):
    urn: Text | None = None
    """A marketplace image, publisher:offer:sku:version; the version `latest` floats."""
    id: Identifier | None = None
    """The resource id of an image of yours (Compute Gallery or managed image)."""


class RootVolume(Settings):
    """The OS disk of every node."""

    size_gib: Annotated[WholeNumber, Field(ge=30)] = 1024
    """GiB, at most 4095."""
    type: OsDiskType = OsDiskType.PREMIUM
    """The kind of managed disk."""
    disk_encryption_set_id: Identifier | None = None
    """A disk encryption set with a key of yours. Without it: a key of Azure's."""


def _public_key_or_later(value: Any) -> Any:
    if isinstance(value, pulumi.Output):
        return value
    if not isinstance(value, str):
        raise ValueError("this is not text; give the line of a .pub file in quotes")  # noqa: TRY004 (pydantic's)
    wrong = public_key_problem(value)
    if wrong is not None:
        raise ValueError(wrong)
    return value.strip()


class Access(Settings):
    admin_username: Text = "azureuser"
    """The account that the SSH key opens."""
    ssh_public_key: Annotated[Any, BeforeValidator(_public_key_or_later)] | None = None
    """An SSH public key in OpenSSH's format, Ed25519 or RSA. Without it a pair is made, its private half a secret."""
    identity_id: Identifier | None = None
    """A user-assigned identity for the nodes, used instead of a system-assigned one."""
    find_peers: Switch = False
    """Let a fleet's nodes read their own scale set: an identity with the role Reader. Needs the right to assign it."""


class Security(Settings):
    trusted_launch: Switch | None = None
    """Trusted launch; by default on where Azure documents it for the size."""
    secure_boot: Switch = False
    """Secure Boot, with trusted launch. Ubuntu loads a CUDA driver under it only after extra steps."""
    vtpm: Switch = True
    """A virtual TPM, with trusted launch."""
    encryption_at_host: Switch = True
    """Encrypt temporary disks and caches too. The subscription needs the feature EncryptionAtHost."""


class AzureClusterSettings(Settings):
    location: Text | None = None
    """The region, such as eastus; by default azure-native:location."""
    zone: Text | None = None
    """One availability zone, "1" to "3". Without it Azure chooses."""
    vm_size: Text = Field(
        description="a VM size with InfiniBand, such as Standard_ND96isr_H100_v5",
        examples=["Standard_ND96isr_H100_v5"],
    )
    nodes: Annotated[WholeNumber, Field(ge=1, description="the number of nodes, at least 1", examples=[1])]
    nodes_as: NodesAs = NodesAs.FLEET
    """One scale set, or one VM a node in an availability set with addresses known to the program."""
    updates: Updates = Updates.KEEP
    """What a new image, custom data or size does to running nodes: nothing, or replace them."""
    capacity: Capacity = OnDemand()
    placement: Placement = Placement()
    network: Network = Network()
    image: Image = Image()
    root_volume: RootVolume = RootVolume()
    access: Access = Access()
    security: Security = Security()
    fault_domains: Annotated[WholeNumber, Field(ge=1)] = 1
    """Fault domains of the scale set or availability set; 1 keeps the nodes together."""
    granted_nodes: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Nodes in one scale set or availability set that Azure's support granted you, where it is more than usual."""
    resource_group: Identifier | None = None
    """The name of an existing resource group. Without it a new one is made."""
    nccl: Nccl = Nccl()
    bootstrap: Bootstrap = Bootstrap()
    other_cloud: OtherCloudLink | None = None
    """The link to the other cloud's nodes, where `fabric.interconnect` does not make it."""
    tags: dict[str, Text] = Field(default_factory=dict)
    """On everything that carries tags."""

    @property
    def placement_kind(self) -> PlacementKind:
        """What the user chose, or `adopt` where an id is given, or none: the scale set alone shares InfiniBand."""
        if self.placement.group is not None:
            return self.placement.group
        return PlacementKind.NONE if self.placement.id is None else PlacementKind.ADOPT
