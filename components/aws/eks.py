"""The launch template of an EKS managed node group: nodes with their whole fabric in a cluster that exists already.

Creates: fabric security group · cluster placement group, unless adopted or none · launch template. The node group, its
role and its subnet are the caller's.

What EKS forbids in such a template is left out: subnet, instance profile, spot options (EKS User Guide,
launch-templates.html). EKS chooses the image by the node group's `ami_type`, and adds its part to the user data. It
does not add the cluster's security group where a template has groups, so that group stands beside ours.
"""

from __future__ import annotations

from typing import Any

import pulumi

from gpu_fabric.components.aws.eks_settings import (
    AwsEksNodeTemplateArgs,
    AwsEksNodeTemplateSettings,
    problems_of,
)
from gpu_fabric.components.aws.notes import capacity_notes
from gpu_fabric.components.aws.placement import AwsPlacement
from gpu_fabric.components.aws.security_group import AwsFabricSecurityGroup
from gpu_fabric.components.aws.template import AwsNodeTemplate
from gpu_fabric.components.component import child, settings_from_arguments
from gpu_fabric.components.node_files import node_files
from gpu_fabric.components.surroundings import Surroundings
from gpu_fabric.nccl.hardware.interfaces import (
    addresses_per_node,
    efa_gbps_per_node,
    efa_interfaces_per_node,
)

#: The image that has the drivers, by the catalog's word for the processor (EKS API Reference, CreateNodegroup).
_AMI_TYPES = {"x86_64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"}
#: EKS API Reference, CreateNodegroup, capacityType; a reservation is of on-demand capacity.
_CAPACITY_TYPES = {
    "onDemand": "ON_DEMAND",
    "reservation": "ON_DEMAND",
    "spot": "SPOT",
    "capacityBlock": "CAPACITY_BLOCK",
}


class AwsEksNodeTemplate(pulumi.ComponentResource):
    """How one node of a managed node group is made.

    A node whose setup fails does not join the cluster: EKS then reports NodeCreationFailure, and the reason is on the
    node's console.
    """

    launch_template_id: pulumi.Output[str]
    launch_template_version: pulumi.Output[str]
    """The number, not `$Latest`: only a change of the number is a change of the node group."""
    ami_type: pulumi.Output[str]
    """The node group's: EKS's image with the drivers."""
    capacity_type: pulumi.Output[str]
    """The node group's: ON_DEMAND, SPOT or CAPACITY_BLOCK."""
    security_group_ids: pulumi.Output[list[str]]
    placement_group_name: pulumi.Output[str | None]
    fabric: pulumi.Output[dict[str, Any]]
    """Interfaces and Gb/s of one node."""

    def __init__(
        self,
        name: str,
        args: AwsEksNodeTemplateArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Raises InvalidInputError with every problem of `args` before anything is declared."""
        around = Surroundings()
        settings = settings_from_arguments(
            AwsEksNodeTemplateSettings,
            args,
            f"AwsEksNodeTemplate {name!r}",
            lambda read: [*problems_of(read, around)],
        )
        super().__init__("gpu-fabric:index:AwsEksNodeTemplate", name, None, opts)
        cluster, more = settings.of_a_cluster(), settings.tags
        size = around.sizes[settings.instance_type]
        group = AwsFabricSecurityGroup(name, vpc_id=settings.vpc_id, extra_tags=more, opts=child(self))
        groups = [group.group_id, settings.cluster_security_group_id]
        placement = AwsPlacement(
            name, cluster.placement_kind, settings.placement.name, extra_tags=more, opts=child(self)
        )
        files = node_files(size, **settings.additions())
        template = AwsNodeTemplate(
            name,
            cluster,
            size=size,
            image=None,
            subnet_id=None,
            security_group_ids=groups,
            instance_profile_name=None,
            placement_group_name=placement.group_name,
            user_data=files.encoded,
            extra_tags=more,
            opts=child(self),
        )
        unverified = [f"{size.name}: unverified: {statement}" for statement in size.unverified]
        for note in [
            *capacity_notes(settings.capacity, cluster.placement_kind),
            *files.notes,
            *unverified,
        ]:
            pulumi.log.warn(note, resource=self)
        later = pulumi.Output.from_input
        self.launch_template_id = template.template_id
        self.launch_template_version = template.latest_version.apply(str)
        self.ami_type = later(_AMI_TYPES[size.cpu_arch])
        self.capacity_type = later(_CAPACITY_TYPES[settings.capacity.kind])
        self.security_group_ids = pulumi.Output.all(*groups)
        self.placement_group_name = later(placement.group_name)
        self.fabric = later(
            {
                "gpusPerNode": size.gpu.count,
                "efaInterfacesPerNode": efa_interfaces_per_node(size, settings.interfaces),
                "addressesPerNode": addresses_per_node(size, settings.interfaces),
                "efaGbpsPerNode": efa_gbps_per_node(size, settings.interfaces),
            }
        )
        self.register_outputs(
            {output: getattr(self, output) for output in AwsEksNodeTemplate.__annotations__}
        )
