"""Azure's published limits and rules that the checks use: each with its source; read 2026-11-29.

"compute docs" is MicrosoftDocs/azure-compute-docs, folder articles; "azure docs" is MicrosoftDocs/azure-docs.
"""

from __future__ import annotations

from ipaddress import IPv4Network

SCALE_SET_NODES = 100
"""Nodes of one scale set with a single placement group, for a size whose row does not say. compute docs,
virtual-machines/setup-infiniband.md (2026-09)."""

AVAILABILITY_SET_NODES = 200
"""VMs of one availability set. The same page."""

RDMA_NETWORK = IPv4Network("172.16.0.0/16")
"""Owned by Azure's RDMA network on every node. The same page."""

UNUSABLE_BLOCKS = {
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("255.255.255.255/32"): "broadcast",
    IPv4Network("127.0.0.0/8"): "loopback",
    IPv4Network("169.254.0.0/16"): "link-local",
    IPv4Network("168.63.129.16/32"): "Azure's own DNS and agent",
}
"""What a virtual network cannot hold. azure docs, virtual-network/virtual-networks-faq.md."""

SUBNET_PREFIXES = range(2, 30)
"""A subnet is /2 to /29. The same page."""

BASTION_SUBNET = "AzureBastionSubnet"
BASTION_PREFIX = 26
"""Bastion's subnet has this name and at least this size. azure docs, bastion/configuration-settings.md."""

ZONES = ("1", "2", "3")
"""Logical zones of a region. azure docs, reliability/availability-zones-overview.md."""

SCALE_SET_FAULT_DOMAINS = (1, 2, 3, 5)
"""1 spreads as far as possible; 2, 3 and 5 are Uniform's fixed counts. compute docs,
virtual-machine-scale-sets/virtual-machine-scale-sets-manage-fault-domains.md."""

AVAILABILITY_SET_FAULT_DOMAINS = (1, 2, 3)
"""compute docs, virtual-machines/availability-set-overview.md; some regions have 2."""

OS_DISK_GIB = 4_095
"""The largest OS disk. compute docs, virtual-machines/managed-disks-overview.md."""

MINIMUM_RSA_BITS = 2_048
"""Microsoft.Compute 2024-11-01: SshPublicKey.keyData (RSA of this length), SshEncryptionTypes (Ed25519 too)."""

# fmt: off
RESERVED_USER_NAMES = frozenset({
    "administrator", "admin", "user", "user1", "test", "user2", "test1", "user3", "admin1", "1", "123", "a", "actuser",
    "adm", "admin2", "aspnet", "backup", "console", "david", "guest", "john", "owner", "root", "server", "sql",
    "support", "support_388945a0", "sys", "test2", "test3", "user4", "user5",
})
# fmt: on
"""Microsoft.Compute 2024-11-01, OSProfile.adminUsername."""

TAG_NAME_FORBIDS = frozenset("<>%&\\?/")
"""azure docs, azure-resource-manager/management/tag-resources.md."""

SIZES_WITHOUT_TRUSTED_LAUNCH = frozenset({"Standard_ND96asr_v4", "Standard_ND96amsr_A100_v4"})
"""compute docs, virtual-machines/trusted-launch.md: the ND family has it, these two series do not yet."""

DEFAULT_IMAGE = "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901"
"""Azure/azhpc-images, release of 2026-08-06: NVIDIA driver 580.173.02, CUDA 13.0, NCCL 2.30.4, DOCA-OFED. Whether a
region's marketplace still has this version is unverified: a preview makes no look-up."""

READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
"""The built-in role Reader. azure docs, role-based-access-control/built-in-roles.md."""

TAG_CONTRIBUTOR = "4a9ae827-6dc8-4573-8ac7-8239d42aa03f"
"""The built-in role Tag Contributor, the same page: it writes tags of the scope and may do nothing else to it. That
instances of a scale set carry tags: azure docs, azure-resource-manager/management/tag-support.md."""
