"""The arguments of `AzureGpuCluster`, as Python and other languages write them.

The same shape as `fabric.azure` in a stack file, with keys in snake_case. What shapes the plan is plain; what only
names something that exists may be an output of another resource.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from gpu_fabric.components.arguments import BootstrapArgs, NcclArgs, OtherCloudArgs


class AzureCapacityArgs(TypedDict):
    kind: str
    """`onDemand` (default) or `spot`. Azure has no capacity reservation for ND sizes."""
    max_price: NotRequired[float]
    """Spot only: USD an hour and node."""
    eviction: NotRequired[str]
    """Spot only: `deallocate` (default) or `delete`."""


class AzurePlacementArgs(TypedDict, total=False):
    group: str
    """`none` (default), `create` or `adopt` a proximity placement group."""
    id: pulumi.Input[str]
    """Resource id of the group to adopt."""
    intent_sizes: Sequence[str]
    """VM sizes that the new group's datacenter must have."""


class AzureNetworkArgs(TypedDict, total=False):
    cidr: str
    """Block of the new virtual network; 10.200.0.0/16."""
    subnet_cidr: str
    """Block of the nodes' subnet; for an adopted subnet: its block."""
    bastion_subnet_cidr: str
    """Block of Bastion's subnet, /26 or larger."""
    internet: str
    """`nat` (default) or `none`."""
    bastion: bool
    """Make an Azure Bastion."""
    subnet_id: pulumi.Input[str]
    """Adopt this subnet."""
    security_group_id: pulumi.Input[str]
    """Adopt this network security group."""


class AzureImageArgs(TypedDict, total=False):
    urn: str
    """A marketplace image, publisher:offer:sku:version."""
    id: pulumi.Input[str]
    """Resource id of an image of yours."""


class AzureRootVolumeArgs(TypedDict, total=False):
    size_gib: int
    """1024."""
    type: str
    """`Premium_LRS` (default), `Premium_ZRS`, `StandardSSD_LRS`, `StandardSSD_ZRS` or `Standard_LRS`."""
    disk_encryption_set_id: pulumi.Input[str]
    """Resource id of a disk encryption set; the platform's own keys by default."""


class AzureAccessArgs(TypedDict, total=False):
    admin_username: str
    """azureuser."""
    ssh_public_key: pulumi.Input[str]
    """Without it a pair is made."""
    identity_id: pulumi.Input[str]
    """Adopt this user-assigned identity."""
    find_peers: bool
    """Let a fleet's nodes read their own scale set; false."""


class AzureSecurityArgs(TypedDict, total=False):
    trusted_launch: bool
    """On where Azure documents it for the size."""
    secure_boot: bool
    """False: Ubuntu loads a CUDA driver under it only after extra steps."""
    vtpm: bool
    """True, with trusted launch."""
    encryption_at_host: bool
    """True; the subscription needs the feature."""


class AzureGpuClusterArgs(TypedDict):
    vm_size: str
    """A VM size with InfiniBand, such as Standard_ND96isr_H100_v5."""
    nodes: int
    """How many nodes, at least 1."""
    location: NotRequired[str]
    """The region; azure-native:location by default."""
    zone: NotRequired[str]
    """One availability zone, "1" to "3"."""
    nodes_as: NotRequired[str]
    """`fleet` (default) or `instances`."""
    updates: NotRequired[str]
    """What a new image, custom data or size does to running nodes: `keep` (default) or `replace`."""
    capacity: NotRequired[AzureCapacityArgs]
    """How the capacity is bought: on demand or spot."""
    placement: NotRequired[AzurePlacementArgs]
    """A proximity placement group; it gives no InfiniBand."""
    network: NotRequired[AzureNetworkArgs]
    """A new virtual network, or an adopted one."""
    image: NotRequired[AzureImageArgs]
    """The nodes' image; by default Azure's HPC image."""
    root_volume: NotRequired[AzureRootVolumeArgs]
    """The nodes' first disk."""
    access: NotRequired[AzureAccessArgs]
    """Who gets onto the nodes, and what the nodes may do."""
    security: NotRequired[AzureSecurityArgs]
    """Trusted launch and encryption at host."""
    fault_domains: NotRequired[int]
    """1."""
    granted_nodes: NotRequired[int]
    """What Azure's support granted beyond 100 nodes in one scale set."""
    resource_group: NotRequired[pulumi.Input[str]]
    """Adopt this resource group, by name."""
    nccl: NotRequired[NcclArgs]
    """What NCCL is told on the nodes."""
    bootstrap: NotRequired[BootstrapArgs]
    """What a node's start does beside ours."""
    other_cloud: NotRequired[OtherCloudArgs]
    """The private link to nodes on the other cloud, which another component or program makes."""
    tags: NotRequired[Mapping[str, str]]
    """On everything that carries tags."""
