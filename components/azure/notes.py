"""What is legal and worth knowing before it happens: said at preview, never refused."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.azure.image import ImageReference
from gpu_fabric.components.azure.limits import DEFAULT_IMAGE, SCALE_SET_NODES
from gpu_fabric.components.azure.settings import AzureClusterSettings, Eviction, Image, Internet, Spot
from gpu_fabric.components.choices import NodesAs, PlacementKind, Updates
from gpu_fabric.nccl.hardware import NodeSize

_ASSIGNMENT = (
    "{}: the role assignment of `{}` needs the right to assign roles (Owner, or User Access Administrator)."
)


def notes(settings: AzureClusterSettings, size: NodeSize, image: ImageReference, name: str) -> Iterator[str]:
    """One sentence or two each, in the order of the settings. `name` is the cluster's, from which nodes are named."""
    if image.floats:
        yield (
            f"image: {image.name} floats. Nodes that start later may get a newer image than those that run. Pin it "
            f"with a version at its end, such as {DEFAULT_IMAGE}."
        )
    elif settings.image == Image():
        yield (
            f"image: {image.name}; whether your region's marketplace still has this version is unverified (a preview "
            "makes no look-up). `az vm image list --publisher microsoft-dsvm --offer ubuntu-hpc --all` lists them; "
            "set `image.urn`."
        )
    if image.id is not None:
        yield (
            "image: with an image of your own the InfiniBand devices are not taken to be named mlx5_ib, unless its id "
            "says ubuntu-hpc; set `nccl.environment.NCCL_IB_HCA` where the Ethernet device is a Mellanox one too."
        )
    yield from _updates(settings, name)
    if settings.placement_kind is not PlacementKind.NONE:
        yield (
            "placement: a proximity group asks for one datacenter and gives no InfiniBand; the scale set or "
            "availability set does. Around a single set it adds a constraint that can fail with "
            "OverconstrainedAllocationRequest."
        )
    if settings.placement_kind is PlacementKind.ADOPT and settings.zone is not None:
        yield f"placement: it is not checked that the adopted proximity group is in zone {settings.zone}."
    if isinstance(settings.capacity, Spot):
        kept = settings.capacity.eviction is Eviction.DEALLOCATE
        then = (
            "stopped, its disk stays and is paid for"
            if kept
            else "deleted, and the scale set has one node less"
        )
        yield f"capacity: an evicted spot node is {then}, 30 seconds after a notice; write checkpoints accordingly."
    if settings.network.adopted:
        yield (
            "network: it is not checked that the adopted subnet is in this location, has free addresses, a way out, "
            "and default outbound access off."
        )
    if settings.network.security_group_id is not None:
        yield (
            "network: it is not checked that the adopted security group allows all traffic between the nodes; sockets "
            "need it, InfiniBand does not."
        )
    if settings.network.internet is Internet.NONE:
        yield "network: without a way out the nodes reach no package repository, and no image that a job pulls."
    if settings.fault_domains != 1:
        yield (
            f"faultDomains: {settings.fault_domains} spread the nodes; a Microsoft HPC engineer recommends 1 for nodes "
            "that share InfiniBand (jingchaozhang.github.io/VMSS-Uniform-Settings-for-GPU-HPC). Whether it is needed "
            "is unverified."
        )
    if settings.granted_nodes is not None and settings.granted_nodes > (
        size.scale_set_nodes or SCALE_SET_NODES
    ):
        yield f"grantedNodes: {settings.granted_nodes} is taken as what Azure's support granted; it is not checked."
    if settings.security.encryption_at_host:
        yield (
            "security: encryption at host needs `az feature register --namespace Microsoft.Compute --name "
            f"EncryptionAtHost` once a subscription. That {size.name} has it is unverified: no size page says so; "
            "`security.encryptionAtHost: false` does without (disks stay encrypted at rest)."
        )
    if settings.security.secure_boot:
        yield (
            "security: with Secure Boot, Ubuntu loads a CUDA driver only after extra steps "
            "(MicrosoftDocs/azure-compute-docs, trusted-launch.md); whether the image's drivers load is unverified."
        )
    if settings.access.find_peers:
        yield _ASSIGNMENT.format("access", "findPeers")
    if settings.bootstrap.state_tag and settings.access.identity_id is not None:
        yield (
            "bootstrap: `stateTag` gives an identity of yours no role; give it Tag Contributor for the nodes, or they "
            "write no tag."
        )
    elif settings.bootstrap.state_tag:
        yield (
            f"{_ASSIGNMENT.format('bootstrap', 'stateTag')} Azure cannot limit Tag Contributor to one tag: a node may "
            "change every tag of the nodes' own resource. That an instance of a scale set takes the tag this way is "
            "unverified."
        )
    for statement in size.unverified:
        yield f"{size.name}: unverified: {statement}"


def _updates(settings: AzureClusterSettings, name: str) -> Iterator[str]:
    fleet = settings.nodes_as is NodesAs.FLEET
    if settings.updates is Updates.REPLACE:
        what = (
            f"the scale set {name}-fleet and all its nodes" if fleet else "the virtual machine of every node"
        )
        yield (
            f"updates: replace. A change of image, custom data, size, disk or key deletes {what} and makes them anew; "
            "training on them ends, and their capacity may be gone. `updates: keep` leaves running nodes alone."
        )
    elif not fleet:
        last = f" … {name}-{settings.nodes - 1:03d}" if settings.nodes > 1 else ""
        yield (
            f"updates: keep. A change of image, custom data, size, disk or key does nothing to {name}-000{last} where "
            "they exist, only to nodes made later; `updates: replace` replaces them."
        )
