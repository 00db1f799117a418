"""A GPU cluster on AWS: nodes with every EFA interface, in one zone, close together.

Creates, each unless adopted: network · fabric security group · node access · cluster placement group · launch
template · nodes. See the modules of those names for the resources of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from gpu_fabric.components.aws.access import AwsNodeAccess
from gpu_fabric.components.aws.arguments import AwsGpuClusterArgs
from gpu_fabric.components.aws.changes import refresh_command, say_before_update
from gpu_fabric.components.aws.checks import address_plan, node_additions, other_cloud_of, problems_of
from gpu_fabric.components.aws.limits import ROLE_NAME_CHARACTERS
from gpu_fabric.components.aws.network import AwsNetwork
from gpu_fabric.components.aws.nodes import AwsNodes
from gpu_fabric.components.aws.notes import notes
from gpu_fabric.components.aws.placement import AwsPlacement
from gpu_fabric.components.aws.regions import region_of
from gpu_fabric.components.aws.security_group import AwsFabricSecurityGroup
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.aws.template import AwsNodeTemplate, image_reference
from gpu_fabric.components.choices import NodesAs, Updates
from gpu_fabric.components.component import child, has_own_provider, settings_from_arguments
from gpu_fabric.components.declared import DeclaredCluster, remember
from gpu_fabric.components.node_files import node_files
from gpu_fabric.components.other_cloud import notes as notes_of_other_cloud
from gpu_fabric.components.problems import Problem
from gpu_fabric.components.subnets import as_block
from gpu_fabric.components.surroundings import Surroundings
from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.nccl.hardware.interfaces import (
    addresses_per_node,
    efa_gbps_per_node,
    efa_interfaces_per_node,
)

#: What a role's name has beside the cluster's: `-node`, and a hyphen with seven digits (Pulumi, "Auto-naming").
_ROLE_SUFFIX = len("-node") + len("-1234567")


def _name_problems(name: str) -> list[Problem]:
    most = ROLE_NAME_CHARACTERS - _ROLE_SUFFIX
    if len(name) <= most:
        return []
    what = f"the cluster's name has {len(name)} characters, and IAM takes no role name above {ROLE_NAME_CHARACTERS}"
    return [Problem(("name",), what, f"give a name of at most {most}")]


class AwsGpuCluster(pulumi.ComponentResource):
    """Nodes of one size with their whole fabric, ready for NCCL.

    Every output that is about addresses of single nodes is there with `nodes_as: instances` only; a fleet's members
    are known to the cloud, and `launch` says how to ask it.
    """

    vpc_id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    security_group_ids: pulumi.Output[list[str]]
    placement_group_name: pulumi.Output[str | None]
    launch_template_id: pulumi.Output[str]
    fleet_name: pulumi.Output[str | None]
    instance_ids: pulumi.Output[list[str] | None]
    private_addresses: pulumi.Output[list[str] | None]
    role_name: pulumi.Output[str | None]
    fabric: pulumi.Output[dict[str, Any]]
    """Interfaces and Gb/s of one node and of the cluster."""
    launch: pulumi.Output[dict[str, str]]
    """Commands: list the nodes, open a session, make a hostfile; for a fleet, replace its nodes by new ones."""
    runs: pulumi.Output[dict[str, str]]
    """What a node runs: size, image, template version, files."""

    def __init__(
        self,
        name: str,
        args: AwsGpuClusterArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Raises InvalidInputError with every problem of `args` before anything is declared."""
        # A provider of the program's own has a region of its own, which may be known after deployment only.
        region = None if has_own_provider("aws", opts) else pulumi.Config("aws").get("region")
        self._build(name, args, Surroundings(region=region), opts)

    @classmethod
    def from_settings(
        cls,
        name: str,
        settings: AwsClusterSettings,
        around: Surroundings,
        opts: pulumi.ResourceOptions | None = None,
    ) -> AwsGpuCluster:
        """The same from settings that were read already, and with sizes of the user's own."""
        cluster = cls.__new__(cls)
        cluster._build(name, settings, around, opts)
        return cluster

    def _build(
        self,
        name: str,
        given: Mapping[str, Any] | AwsClusterSettings,
        around: Surroundings,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        settings = settings_from_arguments(
            AwsClusterSettings,
            given,
            f"AwsGpuCluster {name!r}",
            lambda read: [*_name_problems(name), *problems_of(read, around)],
        )
        super().__init__("gpu-fabric:index:AwsGpuCluster", name, None, opts)
        size = around.sizes[settings.instance_type]
        # A valid zone names its region.
        region = region_of(settings.zone) or ""
        more = settings.tags
        plan = None if settings.network.adopted else address_plan(settings, around)[0]
        network = AwsNetwork(
            name,
            settings.network,
            zone=settings.zone,
            region=region,
            plan=plan,
            extra_tags=more,
            opts=child(self),
        )
        ready_when = list(network.way_out)
        if settings.network.security_group_ids:
            group_ids = list(settings.network.security_group_ids)
        else:
            group = AwsFabricSecurityGroup(name, vpc_id=network.vpc_id, extra_tags=more, opts=child(self))
            group_ids = [group.group_id]
            ready_when += group.rules
        access = AwsNodeAccess(
            name,
            settings.access,
            region=region,
            tags_itself=settings.bootstrap.state_tag,
            extra_tags=more,
            opts=child(self),
        )
        ready_when += access.policies
        placement = AwsPlacement(
            name, settings.placement_kind, settings.placement.name, extra_tags=more, opts=child(self)
        )
        files = node_files(size, **node_additions(settings, around))
        image = image_reference(settings, size)
        template = AwsNodeTemplate(
            name,
            settings,
            size=size,
            image=image,
            subnet_id=network.subnet_id,
            security_group_ids=group_ids,
            instance_profile_name=access.instance_profile_name,
            placement_group_name=placement.group_name,
            user_data=pulumi.Output.secret(files.encoded) if around.secret else files.encoded,
            hooks=say_before_update(name, settings) if settings.updates is Updates.KEEP else None,
            extra_tags=more,
            opts=child(self),
        )
        nodes = AwsNodes(
            name,
            settings,
            template=template,
            subnet_id=network.subnet_id,
            ready_when=ready_when,
            ground=network.ground,
            extra_tags=more,
            opts=child(self),
        )
        link = notes_of_other_cloud(settings.other_cloud, cloud=Cloud.AWS, region=region)
        for note in [*notes(settings, size, image), *link, *files.notes_for(secret=around.secret)]:
            pulumi.log.warn(note, resource=self)
        later = pulumi.Output.from_input
        self.vpc_id, self.subnet_id = network.vpc_id, network.subnet_id
        # Not an output: what joins this network to another asks it for its parts.
        self.network = network
        remember(
            DeclaredCluster(
                f"AwsGpuCluster {name!r}",
                Cloud.AWS,
                region,
                plan.private if plan is not None else as_block(settings.network.subnet_cidr),
                (network.subnet_id, settings.network.subnet_id),
                other_cloud_of(settings, around),
                own_group=not settings.network.security_group_ids,
            )
        )
        self.security_group_ids = pulumi.Output.all(*group_ids)
        self.placement_group_name = later(placement.group_name)
        self.launch_template_id = template.template_id
        self.fleet_name = later(nodes.fleet_name)
        self.instance_ids = later(nodes.instance_ids)
        self.private_addresses = later(nodes.private_addresses)
        self.role_name = later(access.role_name)
        efa = efa_interfaces_per_node(size, settings.interfaces)
        gbps = efa_gbps_per_node(size, settings.interfaces)
        self.fabric = later(
            {
                "nodes": settings.nodes,
                "gpusPerNode": size.gpu.count,
                "efaInterfacesPerNode": efa,
                "addressesPerNode": addresses_per_node(size, settings.interfaces),
                "efaGbpsPerNode": gbps,
            }
        )
        self.launch = pulumi.Output.all(**_launch(settings, nodes, region, size.gpu.count))
        self.runs = pulumi.Output.all(
            size=size.name,
            image=image.name,
            launchTemplate=pulumi.Output.concat(
                template.template_id, " version ", template.latest_version.apply(str)
            ),
            userDataBytes=str(len(files.data)),
        )
        outputs = (
            "vpc_id subnet_id security_group_ids placement_group_name launch_template_id fleet_name instance_ids "
            "private_addresses role_name fabric launch runs"
        )
        self.register_outputs({output: getattr(self, output) for output in outputs.split()})


def _launch(
    settings: AwsClusterSettings, nodes: AwsNodes, region: str, slots: int
) -> dict[str, pulumi.Input[str]]:
    """Commands that a person can paste: they ask the cloud for the nodes that live now."""
    if settings.nodes_as is NodesAs.FLEET and nodes.fleet_name is not None:
        chosen = pulumi.Output.concat("Name=tag:aws:autoscaling:groupName,Values=", nodes.fleet_name)
    else:
        ids = pulumi.Output.from_input(nodes.instance_ids).apply(lambda found: ",".join(found or []))
        chosen = pulumi.Output.concat("Name=instance-id,Values=", ids)
    ask = pulumi.Output.concat(
        f"aws ec2 describe-instances --region {region} --filters Name=instance-state-name,Values=running ",
        chosen,
    )
    reservations = "--query 'Reservations[].Instances[].{}' --output text"
    commands: dict[str, pulumi.Input[str]] = {
        "nodes": pulumi.Output.concat(ask, " ", reservations.format("[InstanceId,PrivateIpAddress]")),
        "session": f"aws ssm start-session --region {region} --target <instance id from `nodes`>",
        "hostfile": pulumi.Output.concat(
            ask,
            " ",
            reservations.format("[PrivateIpAddress]"),
            f" | sort -V | sed 's/$/ slots={slots}/' > hostfile",
        ),
    }
    if settings.nodes_as is NodesAs.FLEET and nodes.fleet_name is not None:
        commands["refresh"] = nodes.fleet_name.apply(lambda fleet: refresh_command(region, fleet))
    return commands
