"""What `AzureGpuCluster` declares: the resources, their properties, what depends on what, and what is left out."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pulumi
import pytest

from gpu_fabric.components.azure.addresses import node_address
from gpu_fabric.components.azure.limits import READER
from gpu_fabric.components.azure.nodes import computer_prefix
from gpu_fabric.components.problems import InvalidInputError
from tests.components import arm
from tests.components.recorder import Declared, Recording, record, record_azure_cluster

GOOD: dict[str, Any] = {"vm_size": "Standard_ND96isr_H100_v5", "nodes": 4}
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
INTERFACE = "azure-native:network:NetworkInterface"
AVAILABILITY_SET = "azure-native:compute:AvailabilitySet"
PROXIMITY_GROUP = "azure-native:compute:ProximityPlacementGroup"
SUBNET = "azure-native:network:Subnet"
SECURITY_GROUP = "azure-native:network:NetworkSecurityGroup"
ROLE = "azure-native:authorization:RoleAssignment"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
KEY_PAIR = "tls:index/privateKey:PrivateKey"
THEIR_SUBNET = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/theirs/subnets/nodes"
)
THEIR_SECURITY_GROUP = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/theirs"
)
THEIR_IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
)
THEIR_KEY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/theirs"
THEIR_PROXIMITY_GROUP = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/proximityPlacementGroups/theirs"
)
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBmcKEkaJ2Tn0YkaRSGVnwx7PYrnvYoWJQL1SEkL5mIh"
ROOT = Path(__file__).parents[2]


def cluster(**changes: Any) -> Recording:
    """The recording of a good cluster after `changes`; the same for the same changes, so made once."""
    return _recorded(json.dumps({**GOOD, **changes}))


@cache
def _recorded(arguments: str) -> Recording:
    return record_azure_cluster(json.loads(arguments))


def scale_set(**changes: Any) -> dict[str, Any]:
    return dict(cluster(**changes).one(SCALE_SET).inputs)


def profile(**changes: Any) -> dict[str, Any]:
    return scale_set(**changes)["virtualMachineProfile"]


def parent(recording: Recording, child: Declared) -> Declared:
    (found,) = [resource for resource in recording.resources if resource.urn == child.parent]
    return found


def test_a_fleet_is_one_uniform_scale_set_in_one_partition() -> None:
    fleet = scale_set()
    assert fleet["orchestrationMode"] == "Uniform"
    assert fleet["singlePlacementGroup"] is True
    assert fleet["overprovision"] is False
    assert fleet["platformFaultDomainCount"] == 1
    assert fleet["upgradePolicy"] == {"mode": "Manual"}
    assert fleet["sku"] == {"name": "Standard_ND96isr_H100_v5", "tier": "Standard", "capacity": 4}
    assert fleet["scaleInPolicy"] == {"rules": ["NewestVM"]}
    assert "zones" not in fleet
    assert "proximityPlacementGroup" not in fleet
    assert "additionalCapabilities" not in fleet


@pytest.mark.parametrize("nodes", [1, 4, 100])
def test_a_fleet_is_the_same_few_resources_at_any_node_count(nodes: int) -> None:
    most = {"network": {"bastion": True}, "placement": _in_zone_1(), "access": {"find_peers": True}}
    declared = cluster(nodes=nodes, zone="1", **most).custom
    assert len(declared) == 14
    assert len(cluster(nodes=nodes).custom) == 8
    assert sum(resource.type.startswith("azure-native:") for resource in declared) <= 30


def _in_zone_1() -> dict[str, Any]:
    return {"group": "create", "intent_sizes": [GOOD["vm_size"]]}


def test_every_resource_says_its_location_although_its_group_has_one() -> None:
    recording = cluster(network={"bastion": True}, placement={"group": "create"})
    without = {"Subnet", "PrivateKey"}
    located = {
        resource.type.rpartition(":")[2]: resource.inputs.get("location") for resource in recording.custom
    }
    assert {name for name, location in located.items() if location is None} == without
    assert {location for name, location in located.items() if name not in without} == {"eastus"}


def test_the_region_is_written_as_azure_gives_it_back() -> None:
    assert scale_set(location="West US 3")["location"] == "westus3"


def test_the_subnet_is_private_and_its_way_out_is_a_nat_gateway() -> None:
    recording = cluster()
    subnet = recording.one(SUBNET)
    nat = recording.one("azure-native:network:NatGateway")
    assert subnet.inputs["defaultOutboundAccess"] is False
    assert subnet.inputs["addressPrefix"] == "10.200.16.0/20"
    assert subnet.inputs["natGateway"] == {"id": nat.id}
    assert subnet.inputs["networkSecurityGroup"] == {"id": recording.one(SECURITY_GROUP).id}
    address = recording.one("azure-native:network:PublicIPAddress")
    assert nat.inputs["publicIpAddresses"] == [{"id": address.id}]
    assert address.inputs["sku"] == {"name": "Standard"}
    assert address.inputs["publicIPAllocationMethod"] == "Static"
    assert subnet.urn in recording.one(SCALE_SET).depends_on


def test_the_virtual_network_names_no_subnet_of_its_own() -> None:
    network = cluster().one("azure-native:network:VirtualNetwork")
    assert "subnets" not in network.inputs
    assert network.inputs["addressSpace"] == {"addressPrefixes": ["10.200.0.0/16"]}


def test_without_internet_there_is_neither_nat_nor_public_address() -> None:
    recording = cluster(network={"internet": "none"})
    assert recording.of_type("azure-native:network:NatGateway") == []
    assert recording.of_type("azure-native:network:PublicIPAddress") == []
    assert "natGateway" not in recording.one(SUBNET).inputs


def test_no_node_has_a_public_address() -> None:
    for changes in ({}, {"nodes_as": "instances"}):
        recording = cluster(**changes)
        text = str(
            [resource.inputs for resource in recording.custom if resource.type in (SCALE_SET, INTERFACE)]
        )
        assert "publicIp" not in text
        assert "publicIP" not in text


def test_the_security_group_lets_in_the_subnet_and_nothing_else() -> None:
    rules = cluster().one(SECURITY_GROUP).inputs["securityRules"]
    assert [
        (
            rule["name"],
            rule["priority"],
            rule["access"],
            rule["sourceAddressPrefix"],
            rule["destinationAddressPrefix"],
        )
        for rule in rules
    ] == [
        ("within-the-subnet", 100, "Allow", "10.200.16.0/20", "10.200.16.0/20"),
        ("nothing-else", 4096, "Deny", "*", "*"),
    ]
    assert {rule["direction"] for rule in rules} == {"Inbound"}


def test_a_bastion_has_a_subnet_of_the_name_that_azure_wants_and_only_ssh_comes_from_it() -> None:
    recording = cluster(network={"bastion": True})
    private, bastion = recording.of_type(SUBNET)
    assert bastion.inputs["subnetName"] == "AzureBastionSubnet"
    assert bastion.inputs["addressPrefix"] == "10.200.0.0/26"
    assert private.urn in bastion.depends_on
    (ssh,) = [
        rule
        for rule in recording.one(SECURITY_GROUP).inputs["securityRules"]
        if rule["name"] == "ssh-from-bastion"
    ]
    assert (ssh["sourceAddressPrefix"], ssh["destinationPortRange"], ssh["protocol"]) == (
        "10.200.0.0/26",
        "22",
        "Tcp",
    )
    host = recording.one("azure-native:network:BastionHost")
    assert host.inputs["enableTunneling"] is True
    assert host.inputs["sku"] == {"name": "Standard"}
    assert (
        f"az network bastion ssh --resource-group {_group(recording)} --name {host.id.rpartition('/')[2]}"
        in (recording.outputs["launch"]["session"])
    )


def _group(recording: Recording) -> str:
    return recording.one("azure-native:resources:ResourceGroup").id.rpartition("/")[2]


def test_a_node_has_one_interface_with_accelerated_networking() -> None:
    (interface,) = profile()["networkProfile"]["networkInterfaceConfigurations"]
    assert interface["enableAcceleratedNetworking"] is True
    assert interface["primary"] is True
    assert len(interface["ipConfigurations"]) == 1
    # The new subnet has the security group.
    assert "networkSecurityGroup" not in interface


def test_the_image_is_pinned_by_default_and_a_floating_one_is_said() -> None:
    assert profile()["storageProfile"]["imageReference"] == {
        "publisher": "microsoft-dsvm",
        "offer": "ubuntu-hpc",
        "sku": "2404",
        "version": "24.04.2026072901",
    }
    floating = cluster(image={"urn": "microsoft-dsvm:ubuntu-hpc:2204:latest"})
    reference = floating.one(SCALE_SET).inputs["virtualMachineProfile"]["storageProfile"]["imageReference"]
    assert reference["version"] == "latest"
    said = [text for _, text in floating.messages if text.startswith("image:")]
    assert said == [
        "image: microsoft-dsvm:ubuntu-hpc:2204:latest floats. Nodes that start later may get a newer image than those "
        "that run. Pin it with a version at its end, such as microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901."
    ]


def test_an_image_of_the_users_own_leaves_the_devices_names_alone() -> None:
    recording = cluster(image={"id": "/subscriptions/s/galleries/mine"})
    inputs = recording.one(SCALE_SET).inputs["virtualMachineProfile"]
    assert inputs["storageProfile"]["imageReference"] == {"id": "/subscriptions/s/galleries/mine"}
    assert "NCCL_IB_HCA=mlx5_ib" not in _custom_data(inputs)
    assert "NCCL_IB_HCA=mlx5_ib" in _custom_data(profile())
    assert any("not taken to be named mlx5_ib" in text for _, text in recording.messages)


def _custom_data(virtual_machine_profile: dict[str, Any]) -> str:
    return gzip.decompress(base64.b64decode(virtual_machine_profile["osProfile"]["customData"])).decode()


def test_the_custom_data_is_cloud_config_within_the_limit() -> None:
    encoded = profile()["osProfile"]["customData"]
    assert len(base64.b64decode(encoded)) <= 65_535
    assert _custom_data(profile()).startswith("#cloud-config\n")


def test_the_os_disk_has_size_type_and_the_users_key() -> None:
    disk = profile()["storageProfile"]["osDisk"]
    assert (disk["diskSizeGB"], disk["managedDisk"]["storageAccountType"]) == (1024, "Premium_LRS")
    assert disk["createOption"] == "FromImage"
    own = profile(
        root_volume={
            "size_gib": 256,
            "type": "StandardSSD_LRS",
            "disk_encryption_set_id": THEIR_KEY,
        }
    )["storageProfile"]["osDisk"]
    assert own["diskSizeGB"] == 256
    assert own["managedDisk"] == {
        "storageAccountType": "StandardSSD_LRS",
        "diskEncryptionSet": {"id": THEIR_KEY},
    }


@pytest.mark.parametrize(
    ("changes", "security"),
    [
        (
            {},
            {
                "encryptionAtHost": True,
                "securityType": "TrustedLaunch",
                "uefiSettings": {"secureBootEnabled": False, "vTpmEnabled": True},
            },
        ),
        # compute docs, trusted-launch.md: not for ND A100 v4.
        ({"vm_size": "Standard_ND96asr_v4"}, {"encryptionAtHost": True}),
        ({"security": {"trusted_launch": False, "encryption_at_host": False}}, {"encryptionAtHost": False}),
        (
            {"security": {"secure_boot": True, "vtpm": False}},
            {
                "encryptionAtHost": True,
                "securityType": "TrustedLaunch",
                "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": False},
            },
        ),
    ],
)
def test_trusted_launch_is_on_where_azure_documents_it(
    changes: dict[str, Any], security: dict[str, Any]
) -> None:
    assert profile(**changes)["securityProfile"] == security
    assert (
        cluster(**changes, nodes_as="instances", nodes=1).one(MACHINE).inputs["securityProfile"] == security
    )


@pytest.mark.parametrize(
    ("capacity", "declared"),
    [
        ({"kind": "onDemand"}, (None, None, None)),
        ({"kind": "spot"}, ("Spot", "Deallocate", {"maxPrice": -1})),
        ({"kind": "spot", "eviction": "delete", "max_price": 30.5}, ("Spot", "Delete", {"maxPrice": 30.5})),
    ],
)
def test_spot_says_what_becomes_of_a_node(capacity: dict[str, Any], declared: tuple[Any, ...]) -> None:
    found = profile(capacity=capacity)
    assert (found.get("priority"), found.get("evictionPolicy"), found.get("billingProfile")) == declared


def test_a_key_pair_is_made_where_none_is_given_and_its_private_half_is_a_secret() -> None:
    secret: list[bool] = []

    def program() -> dict[str, Any]:
        from gpu_fabric.components.azure import AzureGpuCluster

        made = AzureGpuCluster("train", {"vm_size": "Standard_ND96isr_H100_v5", "nodes": 1})

        async def look() -> None:
            secret.append(await made.ssh_private_key.is_secret())

        return {"key": made.ssh_private_key, "looked": pulumi.Output.from_input(look())}

    recording = record(program, config={"azure-native:location": "eastus"})
    assert secret == [True]
    assert recording.outputs["key"] == arm.GENERATED_PRIVATE_KEY
    assert recording.one(KEY_PAIR).inputs == {"algorithm": "RSA", "rsaBits": 4096}
    declared = str([resource.inputs for resource in recording.custom])
    assert arm.GENERATED_PRIVATE_KEY not in declared
    assert not any(arm.GENERATED_PRIVATE_KEY in text for _, text in recording.messages)


def test_a_given_key_is_used_and_none_is_made() -> None:
    recording = cluster(access={"ssh_public_key": f"{PUBLIC_KEY} me@here\n", "admin_username": "ops"})
    assert recording.of_type(KEY_PAIR) == []
    assert recording.outputs["ssh_private_key"] is None
    linux = recording.one(SCALE_SET).inputs["virtualMachineProfile"]["osProfile"]["linuxConfiguration"]
    assert linux["ssh"] == {
        "publicKeys": [{"path": "/home/ops/.ssh/authorized_keys", "keyData": f"{PUBLIC_KEY} me@here"}]
    }


@pytest.mark.parametrize("nodes_as", ["fleet", "instances"])
def test_there_is_never_a_password(nodes_as: str) -> None:
    recording = cluster(nodes_as=nodes_as, nodes=1)
    nodes = recording.one(SCALE_SET if nodes_as == "fleet" else MACHINE).inputs
    profile_ = nodes.get("virtualMachineProfile", nodes)["osProfile"]
    assert profile_["linuxConfiguration"]["disablePasswordAuthentication"] is True
    assert "adminPassword" not in profile_


def test_a_node_has_an_identity_of_its_own_that_may_do_nothing() -> None:
    for changes, type_ in (({}, SCALE_SET), ({"nodes_as": "instances", "nodes": 1}, MACHINE)):
        recording = cluster(**changes)
        assert recording.one(type_).inputs["identity"] == {"type": "SystemAssigned"}
        assert recording.of_type(ROLE) == []
        assert recording.of_type(IDENTITY) == []
    assert cluster().outputs["principal_id"] == arm.PRINCIPAL


def test_nodes_that_may_find_their_peers_read_their_own_scale_set_and_nothing_more() -> None:
    recording = cluster(access={"find_peers": True})
    fleet, role, identity = recording.one(SCALE_SET), recording.one(ROLE), recording.one(IDENTITY)
    assert fleet.inputs["identity"] == {"type": "UserAssigned", "userAssignedIdentities": [identity.id]}
    assert role.inputs["scope"] == fleet.id
    assert role.inputs["principalId"] == arm.PRINCIPAL
    assert role.inputs["principalType"] == "ServicePrincipal"
    assert role.inputs["roleDefinitionId"] == (
        f"/subscriptions/{arm.SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{READER}"
    )
    assert recording.outputs["principal_id"] == arm.PRINCIPAL
    assert any("needs the right to assign roles" in text for _, text in recording.messages)


def test_an_identity_of_the_users_is_used() -> None:
    theirs = cluster(access={"identity_id": THEIR_IDENTITY})
    assert theirs.of_type(ROLE) == []
    assert theirs.one(SCALE_SET).inputs["identity"] == {
        "type": "UserAssigned",
        "userAssignedIdentities": [THEIR_IDENTITY],
    }


def test_a_proximity_group_is_made_only_when_asked_for_and_said_to_give_no_infiniband() -> None:
    assert cluster().of_type(PROXIMITY_GROUP) == []
    recording = cluster(zone="2", placement=_in_zone_1())
    group = recording.one(PROXIMITY_GROUP)
    assert group.inputs["intent"] == {"vmSizes": ["Standard_ND96isr_H100_v5"]}
    assert group.inputs["zones"] == ["2"]
    fleet = recording.one(SCALE_SET)
    assert fleet.inputs["proximityPlacementGroup"] == {"id": group.id}
    assert fleet.inputs["zones"] == ["2"]
    assert any("gives no InfiniBand" in text for _, text in recording.messages)
    assert recording.outputs["placement_group_id"] == group.id


def test_an_adopted_proximity_group_is_used() -> None:
    recording = cluster(placement={"id": THEIR_PROXIMITY_GROUP})
    assert recording.of_type(PROXIMITY_GROUP) == []
    assert recording.one(SCALE_SET).inputs["proximityPlacementGroup"] == {"id": THEIR_PROXIMITY_GROUP}


def test_an_adopted_subnet_stays_as_it_is_and_the_interfaces_get_the_security_group() -> None:
    recording = cluster(
        resource_group="theirs", network={"subnet_id": THEIR_SUBNET, "subnet_cidr": "10.9.0.0/24"}
    )
    assert {resource.type for resource in recording.custom} == {KEY_PAIR, SECURITY_GROUP, SCALE_SET}
    (interface,) = recording.one(SCALE_SET).inputs["virtualMachineProfile"]["networkProfile"][
        "networkInterfaceConfigurations"
    ]
    assert interface["networkSecurityGroup"] == {"id": recording.one(SECURITY_GROUP).id}
    assert interface["ipConfigurations"][0]["subnet"] == {"id": THEIR_SUBNET}
    assert recording.outputs["virtual_network_id"] == THEIR_SUBNET.rpartition("/subnets/")[0]
    assert recording.outputs["resource_group_name"] == "theirs"
    assert any("not checked that the adopted subnet" in text for _, text in recording.messages)


def test_an_adopted_security_group_is_used_instead_of_a_new_one() -> None:
    recording = cluster(network={"security_group_id": THEIR_SECURITY_GROUP})
    assert recording.of_type(SECURITY_GROUP) == []
    assert recording.one(SUBNET).inputs["networkSecurityGroup"] == {"id": THEIR_SECURITY_GROUP}


def test_instances_share_one_availability_set_and_have_addresses_that_the_program_knows() -> None:
    recording = cluster(nodes_as="instances", nodes=3, fault_domains=2)
    shared = recording.one(AVAILABILITY_SET)
    assert shared.inputs["sku"] == {"name": "Aligned"}
    assert (shared.inputs["platformFaultDomainCount"], shared.inputs["platformUpdateDomainCount"]) == (2, 1)
    machines = sorted(recording.of_type(MACHINE), key=lambda machine: machine.name)
    assert [machine.name for machine in machines] == ["train-000", "train-001", "train-002"]
    interfaces = {interface.name: interface for interface in recording.of_type(INTERFACE)}
    for machine in machines:
        assert machine.inputs["availabilitySet"] == {"id": shared.id}
        # Set on the availability set; Azure does not want it on a member too.
        assert "proximityPlacementGroup" not in machine.inputs
        assert machine.inputs["networkProfile"]["networkInterfaces"] == [
            {"id": interfaces[machine.name].id, "primary": True}
        ]
        (configuration,) = interfaces[machine.name].inputs["ipConfigurations"]
        assert configuration["privateIPAllocationMethod"] == "Static"
        assert interfaces[machine.name].inputs["enableAcceleratedNetworking"] is True
        assert machine.inputs["storageProfile"]["osDisk"]["deleteOption"] == "Delete"
        assert machine.delete_before_replace
    assert recording.outputs["instance_ids"] == [machine.id for machine in machines]
    assert recording.outputs["private_addresses"] == ["10.200.24.0", "10.200.24.1", "10.200.24.2"]
    assert recording.outputs["fleet_name"] is None
    assert recording.outputs["launch"]["hostfile"] == (
        "printf '%s slots=8\\n' 10.200.24.0 10.200.24.1 10.200.24.2 > hostfile"
    )


def test_the_addresses_of_instances_are_known_before_deployment() -> None:
    arguments = {**GOOD, "nodes_as": "instances", "nodes": 2}
    preview = record_azure_cluster(arguments, preview=True).outputs
    assert preview["private_addresses"] == ["10.200.24.0", "10.200.24.1"]


@pytest.mark.parametrize(
    ("subnet", "number", "most", "address"),
    [
        ("10.0.0.0/23", 0, 200, "10.0.1.0"),
        ("10.0.0.0/23", 254, 255, "10.0.1.254"),  # the last: Azure keeps 10.0.1.255
        ("10.0.0.0/23", 0, 256, "10.0.0.4"),  # the upper half is one too small
        ("10.0.0.0/24", 0, 200, "10.0.0.4"),
        ("10.0.0.0/28", 10, 200, "10.0.0.14"),  # the last that fits
    ],
)
def test_single_nodes_lie_above_a_fleet_that_they_replace(
    subnet: str, number: int, most: int, address: str
) -> None:
    assert node_address(IPv4Network(subnet), number, most) == address


def test_in_an_adopted_subnet_azure_chooses_the_addresses() -> None:
    recording = cluster(
        nodes_as="instances", nodes=2, network={"subnet_id": THEIR_SUBNET, "subnet_cidr": "10.9.0.0/24"}
    )
    for interface in recording.of_type(INTERFACE):
        (configuration,) = interface.inputs["ipConfigurations"]
        assert configuration["privateIPAllocationMethod"] == "Dynamic"
        assert "privateIPAddress" not in configuration
    assert recording.outputs["private_addresses"] == ["10.9.0.4", "10.9.0.5"]


def test_host_names_fit_azures_fifteen_characters_with_what_azure_adds() -> None:
    assert computer_prefix("train-azure") == "train-azu"
    assert computer_prefix("Big_Job.7") == "big-job-7"
    assert computer_prefix("12345678-9") == "12345678"
    assert computer_prefix("---") == "node"
    assert len(computer_prefix("a" * 60)) + 6 <= 15


def test_a_running_node_is_left_alone_by_default() -> None:
    fleet = cluster().one(SCALE_SET)
    assert not {"sku.name", "virtualMachineProfile"} & set(fleet.replace_on_changes)
    machine = cluster(nodes_as="instances", nodes=1).one(MACHINE)
    assert set(machine.ignore_changes) == {
        "hardwareProfile",
        "osProfile",
        "securityProfile",
        "storageProfile",
    }


def test_replacement_is_declared_and_said_by_name_when_asked_for() -> None:
    recording = cluster(updates="replace")
    fleet = recording.one(SCALE_SET)
    assert {"sku.name", "virtualMachineProfile"} <= set(fleet.replace_on_changes)
    assert "sku" not in fleet.replace_on_changes, "scaling must not replace"
    assert fleet.delete_before_replace
    assert (
        "updates: replace. A change of image, custom data, size, disk or key deletes the scale set train-fleet and all "
        "its nodes and makes them anew; training on them ends, and their capacity may be gone. `updates: keep` leaves "
        "running nodes alone."
    ) in [text for _, text in recording.messages]
    machine = cluster(updates="replace", nodes_as="instances", nodes=1).one(MACHINE)
    assert machine.ignore_changes == ()
    assert {"osProfile", "storageProfile", "hardwareProfile"} <= set(machine.replace_on_changes)


def test_instances_that_are_kept_are_named_at_preview() -> None:
    messages = [text for _, text in cluster(nodes_as="instances", nodes=3).messages]
    assert (
        "updates: keep. A change of image, custom data, size, disk or key does nothing to train-000 … train-002 where "
        "they exist, only to nodes made later; `updates: replace` replaces them."
    ) in messages


def test_what_azure_cannot_change_on_a_scale_set_is_a_replacement_at_preview() -> None:
    fixed = set(cluster().one(SCALE_SET).replace_on_changes)
    assert {
        "platformFaultDomainCount",
        "singlePlacementGroup",
        "zones",
        "virtualMachineProfile.osProfile.adminUsername",
        "virtualMachineProfile.storageProfile.osDisk.managedDisk.storageAccountType",
    } <= fixed


def test_the_scale_set_says_before_an_update_what_it_does_to_its_nodes() -> None:
    assert cluster().one(SCALE_SET).before_update == ("train-fleet: what an update does to its nodes",)
    assert cluster(updates="replace").one(SCALE_SET).before_update == ()


def test_scaling_declares_the_same_resources_with_one_number_changed() -> None:
    four, eight = cluster(nodes=4), cluster(nodes=8)
    changed = [
        (before.name, before.inputs, after.inputs)
        for before, after in zip(
            sorted(four.custom, key=lambda one: (one.type, one.name)),
            sorted(eight.custom, key=lambda one: (one.type, one.name)),
            strict=True,
        )
        if before.inputs != after.inputs
    ]
    assert [name for name, _, _ in changed] == ["train-fleet"]
    ((_, before, after),) = changed
    assert {**before, "sku": {**before["sku"], "capacity": 8}} == after


def test_the_order_of_nodes_does_not_depend_on_how_many_there_are() -> None:
    few = {one.name: one.inputs for one in cluster(nodes_as="instances", nodes=2).custom}
    many = {one.name: one.inputs for one in cluster(nodes_as="instances", nodes=5).custom}
    assert {name: many[name] for name in few} == few


def test_every_child_is_a_child_and_carries_the_clusters_name() -> None:
    recording = cluster(network={"bastion": True}, placement={"group": "create"})
    kinds = {"AzureNetwork", "AzureFabricSecurityGroup", "AzurePlacement", "AzureNodeAccess", "AzureNodes"}
    for resource in recording.custom:
        assert resource.name.startswith("train")
        above = parent(recording, resource)
        assert above.type.rpartition(":")[2] in kinds | {"AzureGpuCluster"}


def test_two_clusters_in_one_program_do_not_collide() -> None:
    def program() -> None:
        from gpu_fabric.components.azure import AzureGpuCluster

        AzureGpuCluster("one", {"vm_size": "Standard_ND96isr_H100_v5", "nodes": 2})
        AzureGpuCluster("two", {"vm_size": "Standard_ND96asr_v4", "nodes": 2})

    recording = record(program, config={"azure-native:location": "eastus"})
    assert len(recording.of_type(SCALE_SET)) == 2
    hooks = [hook for one in recording.of_type(SCALE_SET) for hook in one.before_update]
    assert len(set(hooks)) == 2


def test_tags_are_on_everything_that_carries_tags_and_the_users_win() -> None:
    recording = cluster(tags={"team": "research", "gpu-fabric:stack": "mine"}, network={"bastion": True})
    untagged = {"Subnet", "RoleAssignment", "PrivateKey"}
    for resource in recording.custom:
        if resource.type.rpartition(":")[2] not in untagged:
            assert resource.inputs["tags"]["team"] == "research"
            assert resource.inputs["tags"]["gpu-fabric:stack"] == "mine"


def test_bad_arguments_raise_before_anything_is_declared() -> None:
    declared: list[Declared] = []

    def program() -> None:
        from gpu_fabric.components.azure import AzureGpuCluster

        AzureGpuCluster("train", {"vm_size": "Standard_ND96is_H100_v5", "nodes": 0})

    with pytest.raises(InvalidInputError) as refused:
        declared += record(program, config={}).resources
    assert declared == []
    assert [str(problem).partition(":")[0] for problem in refused.value.problems] == [
        "location",
        "nodes",
        "vm_size",
    ] or {str(problem).partition(":")[0] for problem in refused.value.problems} == {
        "location",
        "nodes",
        "vm_size",
    }
    assert str(refused.value).startswith("AzureGpuCluster 'train' has 3 problems; nothing was planned:")


def test_the_outputs_that_both_clouds_have_carry_the_same_names() -> None:
    from gpu_fabric.components.aws import AwsGpuCluster
    from gpu_fabric.components.azure import AzureGpuCluster

    both = set(AwsGpuCluster.__annotations__) & set(AzureGpuCluster.__annotations__)
    assert both == {
        "fabric",
        "fleet_name",
        "instance_ids",
        "launch",
        "private_addresses",
        "runs",
        "subnet_id",
    }


def test_a_preview_needs_no_login_and_makes_no_look_up() -> None:
    code = """
import os
from tests.components.recorder import record_azure_cluster
for shape in ({}, {"nodes_as": "instances"}, {"network": {"bastion": True}, "placement": {"group": "create"}}):
    args = {"vm_size": "Standard_ND96isr_H100_v5", "nodes": 4, "location": "eastus", **shape}
    recording = record_azure_cluster(args, config={}, preview=True)
    assert recording.invokes == [], recording.invokes
    assert len(recording.custom) > 5
print(*sorted(name for name in os.environ if name.startswith(("AZURE", "ARM"))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_only_the_sdk_of_a_cloud_that_is_named_is_loaded() -> None:
    code = """
import sys
from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.fabric import GpuFabric
from tests.components.recorder import record
def sdks():
    loaded = {name.partition(".")[0] for name in sys.modules}
    return sorted(loaded & {"pulumi_aws", "pulumi_azure_native", "pulumi_tls"})
settings = read_fabric({%s})
print(*sdks())
record(lambda: GpuFabric("train", settings).exports())
print(*sdks())
"""
    aws = '"aws": {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 2}'
    azure = '"azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 2, "location": "eastus"}'
    for section, loaded in ((aws, "pulumi_aws"), (azure, "pulumi_azure_native pulumi_tls")):
        done = subprocess.run(
            [sys.executable, "-c", code % section],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == ["", loaded]
