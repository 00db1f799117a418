"""A GPU cluster on Azure: nodes in one InfiniBand partition, in a private subnet.

Creates, each unless adopted: resource group · network · network security group · proximity placement group (by choice)
· SSH key pair · identity with a role (by choice) · nodes. See the modules of those names for the resources of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_azure_native import resources

from gpu_fabric.components.azure.access import AzureNodeAccess
from gpu_fabric.components.azure.arguments import AzureGpuClusterArgs
from gpu_fabric.components.azure.changes import refresh_command
from gpu_fabric.components.azure.checks import (
    address_plan,
    location_of,
    node_additions,
    other_cloud_of,
    problems_of,
)
from gpu_fabric.components.azure.image import image_reference
from gpu_fabric.components.azure.network import AzureNetwork
from gpu_fabric.components.azure.nodes import AzureNodes
from gpu_fabric.components.azure.notes import notes
from gpu_fabric.components.azure.placement import AzurePlacement
from gpu_fabric.components.azure.security_group import AzureFabricSecurityGroup
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.choices import NodesAs
from gpu_fabric.components.component import child, settings_from_arguments
from gpu_fabric.components.declared import DeclaredCluster, remember
from gpu_fabric.components.node_files import node_files
from gpu_fabric.components.other_cloud import notes as notes_of_other_cloud
from gpu_fabric.components.subnets import as_block
from gpu_fabric.components.surroundings import Surroundings
from gpu_fabric.nccl.hardware import Cloud


class AzureGpuCluster(pulumi.ComponentResource):
    """Nodes of one size with their whole fabric, ready for NCCL.

    Every output that is about addresses of single nodes is there with `nodes_as: instances` only; a fleet's members
    are known to the cloud, and `launch` says how to ask it.
    """

    resource_group_name: pulumi.Output[str]
    virtual_network_id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    placement_group_id: pulumi.Output[str | None]
    fleet_name: pulumi.Output[str | None]
    instance_ids: pulumi.Output[list[str] | None]
    private_addresses: pulumi.Output[list[str] | None]
    principal_id: pulumi.Output[Any]
    """Of a fleet's identity; None where the identity is the user's."""
    ssh_private_key: pulumi.Output[str | None]
    """A secret; None where the public key was given."""
    fabric: pulumi.Output[dict[str, Any]]
    """Ports and Gb/s of one node and of the cluster."""
    launch: pulumi.Output[dict[str, str]]
    """Commands: list the nodes, run something on one, make a hostfile, bring running nodes up to date."""
    runs: pulumi.Output[dict[str, str]]
    """What a node runs: size, image, files."""

    def __init__(
        self,
        name: str,
        args: AzureGpuClusterArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Raises InvalidInputError with every problem of `args` before anything is declared."""
        location = pulumi.Config("azure-native").get("location")
        self._build(name, args, Surroundings(region=location), opts)

    @classmethod
    def from_settings(
        cls,
        name: str,
        settings: AzureClusterSettings,
        around: Surroundings,
        opts: pulumi.ResourceOptions | None = None,
    ) -> AzureGpuCluster:
        """The same from settings that were read already, and with sizes of the user's own."""
        cluster = cls.__new__(cls)
        cluster._build(name, settings, around, opts)
        return cluster

    def _build(
        self,
        name: str,
        given: Mapping[str, Any] | AzureClusterSettings,
        around: Surroundings,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        settings = settings_from_arguments(
            AzureClusterSettings, given, f"AzureGpuCluster {name!r}", lambda read: problems_of(read, around)
        )
        super().__init__("gpu-fabric:index:AzureGpuCluster", name, None, opts)
        size = around.sizes[settings.vm_size]
        # Always said, though a resource group has one: without it the provider asks Azure at preview.
        location = location_of(settings, around) or ""
        more = settings.tags
        other_cloud = other_cloud_of(settings, around)
        plan = None if settings.network.adopted else address_plan(settings)[0]
        if settings.resource_group is None:
            group = resources.ResourceGroup(name, location=location, tags=tags(more), opts=child(self))
            group_name: pulumi.Input[str] = group.name
        else:
            group_name = settings.resource_group
        place: dict[str, Any] = {"resource_group_name": group_name, "location": location}
        security_group_id: pulumi.Input[str]
        if settings.network.security_group_id is not None:
            security_group_id = settings.network.security_group_id
        else:
            # An adopted subnet without a security group of the user's has its block given: a check sees to it.
            block = str(plan.private) if plan is not None else settings.network.subnet_cidr or ""
            security_group_id = AzureFabricSecurityGroup(
                name,
                **place,
                subnet_cidr=block,
                bastion_cidr=None if plan is None or plan.bastion is None else str(plan.bastion),
                other_cloud=other_cloud,
                extra_tags=more,
                opts=child(self),
            ).group_id
        network = AzureNetwork(
            name,
            settings.network,
            **place,
            plan=plan,
            security_group_id=security_group_id,
            extra_tags=more,
            opts=child(self),
        )
        placement = AzurePlacement(
            name,
            settings.placement_kind,
            settings.placement,
            **place,
            zone=settings.zone,
            extra_tags=more,
            opts=child(self),
        )
        access = AzureNodeAccess(
            name,
            settings.access,
            **place,
            tags_itself=settings.bootstrap.state_tag,
            extra_tags=more,
            opts=child(self),
        )
        files = node_files(size, **node_additions(settings, around))
        nodes = AzureNodes(
            name,
            settings,
            size=size,
            **place,
            subnet_id=network.subnet_id,
            # A new subnet has the group itself.
            security_group_id=security_group_id if settings.network.adopted else None,
            placement_group_id=placement.group_id,
            own_subnet=None if plan is None else plan.private,
            access=access,
            custom_data=pulumi.Output.secret(files.encoded) if around.secret else files.encoded,
            ready_when=network.way_out,
            ground=network.ground,
            extra_tags=more,
            opts=child(self),
        )
        image = image_reference(settings)
        link = notes_of_other_cloud(settings.other_cloud, cloud=Cloud.AZURE, region=location)
        for note in [*notes(settings, size, image, name), *link, *files.notes_for(secret=around.secret)]:
            pulumi.log.warn(note, resource=self)
        later = pulumi.Output.from_input
        self.resource_group_name = later(group_name)
        self.virtual_network_id, self.subnet_id = network.virtual_network_id, network.subnet_id
        # Not an output: what joins this network to another asks it for its parts.
        self.network = network
        adopted = settings.network.subnet_id
        remember(
            DeclaredCluster(
                f"AzureGpuCluster {name!r}",
                Cloud.AZURE,
                location,
                plan.private if plan is not None else as_block(settings.network.subnet_cidr),
                (
                    network.virtual_network_id,
                    adopted.rpartition("/subnets/")[0] if isinstance(adopted, str) else None,
                ),
                other_cloud,
                own_group=settings.network.security_group_id is None,
            )
        )
        self.security_group_id = later(security_group_id)
        self.placement_group_id = later(placement.group_id)
        self.fleet_name = later(nodes.fleet_name)
        self.instance_ids = later(nodes.instance_ids)
        self.private_addresses = later(nodes.private_addresses)
        self.principal_id = later(nodes.principal_id)
        self.ssh_private_key = later(access.private_key)
        self.fabric = later(
            {
                "nodes": settings.nodes,
                "gpusPerNode": size.gpu.count,
                "infinibandPortsPerNode": size.fabric_ports,
                "addressesPerNode": 1,
                "infinibandGbpsPerNode": size.fabric_gbps,
            }
        )
        self.launch = pulumi.Output.all(
            **_launch(settings, nodes, group_name, network.bastion_name, size.gpu.count)
        )
        self.runs = pulumi.Output.all(
            size=size.name, image=later(image.id or image.name), userDataBytes=str(len(files.data))
        )
        outputs = (
            "resource_group_name virtual_network_id subnet_id security_group_id placement_group_id fleet_name "
            "instance_ids private_addresses principal_id ssh_private_key fabric launch runs"
        )
        self.register_outputs({key: getattr(self, key) for key in outputs.split()})


#: Older releases of the Azure CLI spell the key with a small `p`.
_ADDRESS = "ipConfigurations[0].privateIPAddress || ipConfigurations[0].privateIpAddress"


def _launch(
    settings: AzureClusterSettings,
    nodes: AzureNodes,
    group_name: pulumi.Input[str],
    bastion_name: pulumi.Output[str] | None,
    slots: int,
) -> dict[str, pulumi.Input[str]]:
    """Commands that a person can paste: they ask the cloud for the nodes that live now."""
    joined = pulumi.Output.concat
    script = "--command-id RunShellScript --scripts 'COMMAND'"
    to_hostfile = f" | sort -V | sed 's/$/ slots={slots}/' > hostfile"
    if settings.nodes_as is NodesAs.FLEET and nodes.fleet_name is not None:
        ask = joined(
            "az vmss nic list --resource-group ",
            group_name,
            " --vmss-name ",
            nodes.fleet_name,
            " --output tsv",
        )
        commands: dict[str, pulumi.Input[str]] = {
            "nodes": joined(ask, f' --query "[].[virtualMachine.id, {_ADDRESS}]"'),
            "hostfile": joined(ask, f' --query "[].[{_ADDRESS}]"', to_hostfile),
            "run": joined(
                "az vmss run-command invoke --resource-group ",
                group_name,
                " --name ",
                nodes.fleet_name,
                f" --instance-id <number at the end of an id from `nodes`> {script}",
            ),
            "refresh": pulumi.Output.all(group_name, nodes.fleet_name).apply(
                lambda names: refresh_command(names[0], names[1])
            ),
        }
    else:
        ids = pulumi.Output.from_input(nodes.instance_ids).apply(lambda found: " ".join(found or []))
        addresses = pulumi.Output.from_input(nodes.private_addresses).apply(
            lambda found: " ".join(filter(None, found or []))
        )
        commands = {
            "nodes": joined("az vm list-ip-addresses --output table --ids ", ids),
            "hostfile": joined(f"printf '%s slots={slots}\\n' ", addresses, " > hostfile"),
            "run": f"az vm run-command invoke --ids <id from `nodes`> {script}",
        }
    if bastion_name is not None:
        commands["session"] = joined(
            "az network bastion ssh --resource-group ",
            group_name,
            " --name ",
            bastion_name,
            f" --auth-type ssh-key --username {settings.access.admin_username} --ssh-key <private key file> "
            "--target-resource-id <id from `nodes`>",
        )
    else:
        commands["session"] = (
            f"ssh {settings.access.admin_username}@<address from `nodes`>   # from a machine that reaches the subnet"
        )
    return commands
