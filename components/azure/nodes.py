"""The nodes themselves: a fleet (one scale set at any count), or one virtual machine a node.

Creates: one Uniform scale set with a single placement group; or one availability set, and for each node one network
interface and one virtual machine. Either way the nodes are in one InfiniBand partition.

A new image, custom data or size reaches nodes that start later. It reaches running ones only with `updates: replace`,
which ends what runs on them, or by hand with the command of `AzureGpuCluster.launch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

import pulumi
from pulumi_azure_native import compute, network

from gpu_fabric.components.azure.access import AzureNodeAccess
from gpu_fabric.components.azure.addresses import node_address
from gpu_fabric.components.azure.changes import say_before_update
from gpu_fabric.components.azure.checks import partition_limit, trusted_launch
from gpu_fabric.components.azure.image import image_reference
from gpu_fabric.components.azure.settings import AzureClusterSettings, Eviction, Spot
from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.choices import NodesAs, Updates, written_by_node
from gpu_fabric.components.component import child
from gpu_fabric.nccl.hardware import NodeSize

#: Azure refuses to change them on a scale set that exists, or only while no instance runs. compute docs,
#: virtual-machine-scale-sets/virtual-machine-scale-sets-upgrade-scale-set.md ("Create-time properties") and
#: proximity-placement-groups.md; Microsoft.Compute 2024-11-01 (adminUsername, priority).
FIXED_IN_A_SCALE_SET = (
    "orchestrationMode",
    "platformFaultDomainCount",
    "proximityPlacementGroup",
    "singlePlacementGroup",
    "virtualMachineProfile.evictionPolicy",
    "virtualMachineProfile.osProfile.adminUsername",
    "virtualMachineProfile.osProfile.computerNamePrefix",
    "virtualMachineProfile.priority",
    "virtualMachineProfile.storageProfile.osDisk.managedDisk.storageAccountType",
    "zones",
)
#: What a node is made of. Azure changes none of it on a running VM without a restart, and most of it not at all (error
#: PropertyChangeNotAllowed: pulumi/pulumi-azure-native#1117, pulumi/pulumi-azure-nextgen#164).
MADE_OF = ("hardwareProfile", "osProfile", "securityProfile", "storageProfile")
FIXED_IN_A_MACHINE = ("availabilitySet", "priority", "evictionPolicy")
FIXED_IN_AN_AVAILABILITY_SET = (
    "platformFaultDomainCount",
    "platformUpdateDomainCount",
    "proximityPlacementGroup",
    "sku",
)
#: Linux computer names are longer, a scale set's prefix is not: Microsoft.Compute 2024-11-01, computerNamePrefix.
_PREFIX_LENGTH = 9


def computer_prefix(name: str) -> str:
    """The beginning of the nodes' host names, from the cluster's name; Azure adds six characters in a scale set."""
    letters = "".join(character if character.isalnum() else "-" for character in name.lower())
    return letters[:_PREFIX_LENGTH].strip("-") or "node"


class AzureNodes(pulumi.ComponentResource):
    """The nodes of one cluster."""

    fleet_name: pulumi.Output[str] | None
    """The scale set; None with `instances`."""
    instance_ids: pulumi.Output[list[str]] | None
    """In order of the nodes' numbers; None with a fleet, whose members the cloud knows."""
    private_addresses: pulumi.Output[list[str]] | None
    principal_id: pulumi.Output[Any] | None
    """Of a fleet's identity; None where the identity is the user's."""

    def __init__(
        self,
        name: str,
        settings: AzureClusterSettings,
        *,
        size: NodeSize,
        resource_group_name: pulumi.Input[str],
        location: str,
        subnet_id: pulumi.Input[str],
        security_group_id: pulumi.Input[str] | None,
        placement_group_id: pulumi.Input[str] | None,
        own_subnet: IPv4Network | None,
        access: AzureNodeAccess,
        custom_data: pulumi.Input[str],
        ready_when: Sequence[pulumi.Resource] = (),
        ground: Sequence[pulumi.Resource] = (),
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`custom_data` is base64 text of at most 65,535 raw bytes.

        `security_group_id` goes on each interface; leave it out where the subnet has it. `own_subnet` is the block of
        a subnet that holds these nodes alone: the nodes of `instances` get its addresses in order, so that they are
        known before deployment. `ready_when`: what must exist before the first node starts. `ground`: what the nodes
        stand on (the network's resources): they are replaced together with it.
        """
        super().__init__("gpu-fabric:index:AzureNodes", name, None, opts)
        self._name, self._settings, self._size, self._access = name, settings, size, access
        self._common: dict[str, Any] = {
            "resource_group_name": resource_group_name,
            "location": location,
            "tags": tags(extra_tags or {}),
        }
        self._subnet_id, self._security_group_id = subnet_id, security_group_id
        self._ground = list(ground)
        self._near = None if placement_group_id is None else compute.SubResourceArgs(id=placement_group_id)
        self._own_subnet, self._custom_data = own_subnet, custom_data
        self.fleet_name = self.instance_ids = self.private_addresses = self.principal_id = None
        if settings.nodes_as is NodesAs.FLEET:
            self._create_fleet(ready_when)
        else:
            self._create_instances(ready_when)
        self.register_outputs(
            {
                "fleet_name": self.fleet_name,
                "instance_ids": self.instance_ids,
                "private_addresses": self.private_addresses,
            }
        )

    def _create_fleet(self, ready_when: Sequence[pulumi.Resource]) -> None:
        settings, size = self._settings, self._size
        replace = settings.updates is Updates.REPLACE
        scale_set = compute.VirtualMachineScaleSet(
            f"{self._name}-fleet",
            **self._common,
            sku=compute.SkuArgs(name=size.name, tier="Standard", capacity=settings.nodes),
            # The CLI's default is Flexible, which shares no InfiniBand.
            orchestration_mode=compute.OrchestrationMode.UNIFORM,
            single_placement_group=True
            if size.single_placement_group is None
            else size.single_placement_group,
            # Surplus nodes would be started, counted against the quota, and deleted again.
            overprovision=False,
            platform_fault_domain_count=settings.fault_domains,
            upgrade_policy=compute.UpgradePolicyArgs(mode=compute.UpgradeMode.MANUAL),
            # Fewer nodes: the ones that came last go.
            scale_in_policy=compute.ScaleInPolicyArgs(
                rules=[compute.VirtualMachineScaleSetScaleInRules.NEWEST_VM]
            ),
            proximity_placement_group=self._near,
            zones=None if settings.zone is None else [settings.zone],
            identity=self._access.scale_set_identity(),
            virtual_machine_profile=compute.VirtualMachineScaleSetVMProfileArgs(
                os_profile=compute.VirtualMachineScaleSetOSProfileArgs(
                    computer_name_prefix=computer_prefix(self._name),
                    admin_username=settings.access.admin_username,
                    custom_data=self._custom_data,
                    linux_configuration=self._linux(),
                ),
                storage_profile=compute.VirtualMachineScaleSetStorageProfileArgs(
                    image_reference=self._image(),
                    os_disk=compute.VirtualMachineScaleSetOSDiskArgs(
                        create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
                        caching=compute.CachingTypes.READ_WRITE,
                        disk_size_gb=settings.root_volume.size_gib,
                        managed_disk=compute.VirtualMachineScaleSetManagedDiskParametersArgs(**self._disk()),
                    ),
                ),
                network_profile=compute.VirtualMachineScaleSetNetworkProfileArgs(
                    network_interface_configurations=[self._scale_set_interface()]
                ),
                security_profile=self._security(),
                diagnostics_profile=self._diagnostics(),
                **self._spot(),
            ),
            opts=child(
                self,
                depends_on=list(ready_when),
                replace_on_changes=[*FIXED_IN_A_SCALE_SET]
                + (["sku.name", "virtualMachineProfile"] if replace else []),
                replace_with=self._ground,
                # The old nodes must give their quota and capacity to the new ones.
                delete_before_replace=True,
                hooks=None if replace else say_before_update(f"{self._name}-fleet"),
            ),
        )
        self.fleet_name = scale_set.name
        self._access.assign_roles(scale_set, self._name)
        self.principal_id = self._access.principal_id or scale_set.identity.apply(
            lambda identity: identity.principal_id if identity else None
        )

    def _scale_set_interface(self) -> compute.VirtualMachineScaleSetNetworkConfigurationArgs:
        group = self._security_group_id
        return compute.VirtualMachineScaleSetNetworkConfigurationArgs(
            name="ethernet",
            primary=True,
            enable_accelerated_networking=True,
            network_security_group=None if group is None else compute.SubResourceArgs(id=group),
            ip_configurations=[
                compute.VirtualMachineScaleSetIPConfigurationArgs(
                    name="private",
                    primary=True,
                    private_ip_address_version=compute.IPVersion.I_PV4,
                    subnet=compute.ApiEntityReferenceArgs(id=self._subnet_id),
                )
            ],
        )

    def _create_instances(self, ready_when: Sequence[pulumi.Resource]) -> None:
        settings = self._settings
        availability_set = compute.AvailabilitySet(
            f"{self._name}-nodes",
            **self._common,
            # Managed disks.
            sku=compute.SkuArgs(name="Aligned"),
            platform_fault_domain_count=settings.fault_domains,
            # All nodes run one job: maintenance once for all is better than in turn.
            platform_update_domain_count=1,
            proximity_placement_group=self._near,
            opts=child(self, replace_on_changes=[*FIXED_IN_AN_AVAILABILITY_SET], delete_before_replace=True),
        )
        machines: list[compute.VirtualMachine] = []
        addresses: list[pulumi.Output[Any]] = []
        for number in range(settings.nodes):
            interface, address = self._interface(number, ready_when)
            addresses.append(address)
            machines.append(self._machine(number, availability_set, interface))
            self._access.assign_roles(machines[-1], f"{self._name}-{number:03d}")
        self.instance_ids = pulumi.Output.all(*[machine.id for machine in machines])
        self.private_addresses = pulumi.Output.all(*addresses)

    def _interface(
        self, number: int, ready_when: Sequence[pulumi.Resource]
    ) -> tuple[network.NetworkInterface, pulumi.Output[Any]]:
        """The interface of a node, and its address."""
        group = self._security_group_id
        planned = None
        if self._own_subnet is not None:
            planned = node_address(self._own_subnet, number, partition_limit(self._settings, self._size))
        how = network.IPAllocationMethod.DYNAMIC if planned is None else network.IPAllocationMethod.STATIC
        interface = network.NetworkInterface(
            f"{self._name}-{number:03d}",
            **self._common,
            enable_accelerated_networking=True,
            network_security_group=None if group is None else network.NetworkSecurityGroupArgs(id=group),
            ip_configurations=[
                network.NetworkInterfaceIPConfigurationArgs(
                    name="private",
                    primary=True,
                    private_ip_allocation_method=how,
                    private_ip_address=planned,
                    subnet=network.SubnetArgs(id=self._subnet_id),
                )
            ],
            opts=child(
                self,
                depends_on=list(ready_when),
                replace_with=self._ground,
                delete_before_replace=False,
            ),
        )
        if planned is not None:
            return interface, pulumi.Output.from_input(planned)
        return interface, interface.ip_configurations.apply(_first_address)

    def _machine(
        self, number: int, availability_set: compute.AvailabilitySet, interface: network.NetworkInterface
    ) -> compute.VirtualMachine:
        settings = self._settings
        keep = settings.updates is Updates.KEEP
        common: dict[str, Any] = {
            **self._common,
            "tags": {**self._common["tags"], "gpu-fabric:node": str(number)},
        }
        return compute.VirtualMachine(
            f"{self._name}-{number:03d}",
            **common,
            hardware_profile=compute.HardwareProfileArgs(vm_size=self._size.name),
            availability_set=compute.SubResourceArgs(id=availability_set.id),
            identity=self._access.machine_identity(),
            os_profile=compute.OSProfileArgs(
                computer_name=f"{computer_prefix(self._name)}-{number:03d}",
                admin_username=settings.access.admin_username,
                custom_data=self._custom_data,
                linux_configuration=self._linux(),
            ),
            storage_profile=compute.StorageProfileArgs(
                image_reference=self._image(),
                os_disk=compute.OSDiskArgs(
                    create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
                    caching=compute.CachingTypes.READ_WRITE,
                    # Azure's default leaves the disk, and its bill, behind.
                    delete_option=compute.DiskDeleteOptionTypes.DELETE,
                    disk_size_gb=settings.root_volume.size_gib,
                    managed_disk=compute.ManagedDiskParametersArgs(**self._disk()),
                ),
            ),
            network_profile=compute.NetworkProfileArgs(
                network_interfaces=[compute.NetworkInterfaceReferenceArgs(id=interface.id, primary=True)]
            ),
            security_profile=self._security(),
            diagnostics_profile=self._diagnostics(),
            opts=child(
                self,
                ignore_changes=([*MADE_OF] if keep else []) + written_by_node(settings.bootstrap),
                replace_on_changes=[*FIXED_IN_A_MACHINE] + ([] if keep else [*MADE_OF]),
                replace_with=[interface],
                # The old machine must give up its interface and its capacity.
                delete_before_replace=True,
            ),
        )

    def _linux(self) -> compute.LinuxConfigurationArgs:
        user = self._settings.access.admin_username
        return compute.LinuxConfigurationArgs(
            disable_password_authentication=True,
            provision_vm_agent=True,
            ssh=compute.SshConfigurationArgs(
                public_keys=[
                    compute.SshPublicKeyArgs(
                        path=f"/home/{user}/.ssh/authorized_keys", key_data=self._access.public_key
                    )
                ]
            ),
        )

    def _image(self) -> compute.ImageReferenceArgs:
        image = image_reference(self._settings)
        return (
            compute.ImageReferenceArgs(id=image.id)
            if image.marketplace is None
            else compute.ImageReferenceArgs(**image.marketplace)
        )

    def _disk(self) -> dict[str, Any]:
        volume = self._settings.root_volume
        key = volume.disk_encryption_set_id
        encryption = None if key is None else compute.DiskEncryptionSetParametersArgs(id=key)
        return {"storage_account_type": volume.type.value, "disk_encryption_set": encryption}

    def _security(self) -> compute.SecurityProfileArgs:
        security = self._settings.security
        if not trusted_launch(self._settings):
            return compute.SecurityProfileArgs(encryption_at_host=security.encryption_at_host)
        return compute.SecurityProfileArgs(
            encryption_at_host=security.encryption_at_host,
            security_type=compute.SecurityTypes.TRUSTED_LAUNCH,
            uefi_settings=compute.UefiSettingsArgs(
                secure_boot_enabled=security.secure_boot, v_tpm_enabled=security.vtpm
            ),
        )

    def _diagnostics(self) -> compute.DiagnosticsProfileArgs:
        # The serial console, in Azure's own storage: the last way into a node that does not boot.
        return compute.DiagnosticsProfileArgs(boot_diagnostics=compute.BootDiagnosticsArgs(enabled=True))

    def _spot(self) -> dict[str, Any]:
        capacity = self._settings.capacity
        if not isinstance(capacity, Spot):
            return {}
        policies = compute.VirtualMachineEvictionPolicyTypes
        deallocate = capacity.eviction is Eviction.DEALLOCATE
        return {
            "priority": compute.VirtualMachinePriorityTypes.SPOT,
            "eviction_policy": policies.DEALLOCATE if deallocate else policies.DELETE,
            # -1: the on-demand price is the limit, and no node goes because of the price.
            "billing_profile": compute.BillingProfileArgs(
                max_price=-1 if capacity.max_price is None else capacity.max_price
            ),
        }


def _first_address(configurations: Sequence[Any] | None) -> str | None:
    return configurations[0].private_ip_address if configurations else None
