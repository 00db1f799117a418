"""The launch template: everything that makes a machine a node of the fabric.

Creates: one launch template. It can also start nodes that something else owns, such as an EKS managed node group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.aws.settings import AwsClusterSettings, Capacity, CapacityBlock, Reservation, Spot
from gpu_fabric.components.aws.tags import tags
from gpu_fabric.components.choices import NodesAs
from gpu_fabric.components.component import child
from gpu_fabric.nccl.hardware import Interface, NodeSize
from gpu_fabric.nccl.hardware.interfaces import interfaces

#: AWS Deep Learning Base AMI with EFA, the NCCL plugin and the open kernel modules, Ubuntu 22.04. The name floats:
#: its value changes with every release (Deep Learning AMI release notes; read 2026-11-29).
DEFAULT_IMAGE_PARAMETER = (
    "/aws/service/deeplearning/ami/{arch}/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
)


@dataclass(frozen=True)
class ImageReference:
    image_id: pulumi.Input[str]
    """An AMI id, or `resolve:ssm:NAME`, which EC2 looks up at every launch."""
    name: str
    """What a person calls it."""
    floats: bool
    """Whether nodes that start later may get another image."""


def image_reference(settings: AwsClusterSettings, size: NodeSize) -> ImageReference:
    """The image of the nodes, without a look-up at plan time."""
    image = settings.image
    if image.ami_id is not None:
        name = image.ami_id if isinstance(image.ami_id, str) else "an AMI known after deployment"
        return ImageReference(image.ami_id, name, floats=False)
    parameter = image.ssm_parameter or DEFAULT_IMAGE_PARAMETER.format(arch=size.cpu_arch)
    # A version is a number; a label, which stands in the same place, can be moved to another image (Systems Manager
    # User Guide, "Working with parameter labels").
    pinned = parameter.rpartition(":")[2].isdecimal()
    return ImageReference(f"resolve:ssm:{parameter}", parameter, floats=not pinned)


def interface_arguments(
    layout: Sequence[Interface],
    security_group_ids: Sequence[pulumi.Input[str]],
    subnet_id: pulumi.Input[str] | None,
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    """One block an interface. `subnet_id` is left out where the owner of the nodes chooses the subnet."""
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=interface.network_card,
            device_index=interface.device,
            interface_type=interface.type.value,
            security_groups=security_group_ids,
            subnet_id=subnet_id,
            delete_on_termination="true",
            # EC2 refuses a public address on a node with several interfaces; an EFA-only interface refuses the key.
            associate_public_ip_address="false" if interface.has_address else None,
            description=f"card {interface.network_card} device {interface.device} {interface.type.value}",
        )
        for interface in layout
    ]


def _market_options(capacity: Capacity) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    match capacity:
        case CapacityBlock():
            return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
        case Spot(max_price=price):
            return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(
                market_type="spot",
                spot_options=aws.ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(
                    # An Auto Scaling group takes one-time requests only.
                    spot_instance_type="one-time",
                    instance_interruption_behavior="terminate",
                    max_price=None if price is None else f"{price:g}",
                ),
            )
    return None


def _reservation(
    capacity: Capacity,
) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    if not isinstance(capacity, CapacityBlock | Reservation):
        return None
    target = aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=capacity.reservation_id
    )
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=target)


class AwsNodeTemplate(pulumi.ComponentResource):
    """How one node of the cluster is made."""

    template_id: pulumi.Output[str]
    latest_version: pulumi.Output[int]

    def __init__(
        self,
        name: str,
        settings: AwsClusterSettings,
        *,
        size: NodeSize,
        image: ImageReference | None,
        subnet_id: pulumi.Input[str] | None,
        security_group_ids: Sequence[pulumi.Input[str]],
        instance_profile_name: pulumi.Input[str] | None,
        placement_group_name: pulumi.Input[str] | None,
        user_data: pulumi.Input[str],
        hooks: pulumi.ResourceHookBinding | None = None,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`user_data` is base64 text of at most 16,384 raw bytes. `hooks`: what is said before an update.

        `image`, `subnet_id` and `instance_profile_name` are None where the owner of the nodes chooses them.
        """
        super().__init__("gpu-fabric:index:AwsNodeTemplate", name, None, opts)
        volume = settings.root_volume
        node_tags = tags(f"{name}-node", extra_tags or {})
        template = aws.ec2.LaunchTemplate(
            f"{name}-node",
            instance_type=size.name,
            image_id=None if image is None else image.image_id,
            key_name=settings.access.key_name,
            user_data=user_data,
            update_default_version=True,
            ebs_optimized="true",
            iam_instance_profile=None
            if instance_profile_name is None
            else aws.ec2.LaunchTemplateIamInstanceProfileArgs(name=instance_profile_name),
            network_interfaces=interface_arguments(
                interfaces(size, settings.interfaces),
                security_group_ids,
                # A group of nodes brings its own subnet; a single instance finds it here, beside its interfaces.
                subnet_id if settings.nodes_as is NodesAs.INSTANCES else None,
            ),
            placement=None
            if placement_group_name is None
            else aws.ec2.LaunchTemplatePlacementArgs(group_name=placement_group_name),
            instance_market_options=_market_options(settings.capacity),
            capacity_reservation_specification=_reservation(settings.capacity),
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled",
                http_tokens="required",
                # One more hop for a process in a container.
                http_put_response_hop_limit=2,
                instance_metadata_tags="enabled",
            ),
            block_device_mappings=[
                aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
                    device_name=settings.image.root_device,
                    ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                        volume_type="gp3",
                        volume_size=volume.size_gib,
                        iops=volume.iops,
                        throughput=volume.throughput_mibps,
                        encrypted="true",
                        kms_key_id=volume.kms_key_id,
                        delete_on_termination="true",
                    ),
                )
            ],
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=node_tags)
                for kind in ("instance", "volume", "network-interface")
            ],
            tags=node_tags,
            opts=child(self, hooks=hooks),
        )
        self.template_id, self.latest_version = template.id, template.latest_version
        self.register_outputs({"template_id": self.template_id, "latest_version": self.latest_version})
