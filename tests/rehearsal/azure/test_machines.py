"""Virtual machines with their interfaces and disks, availability sets, extensions."""

from __future__ import annotations

import base64

import pytest

from ..small_engine import Failed, Resource
from .world import (
    ADDRESS,
    AVAILABILITY,
    DISK,
    EXTENSION,
    H200,
    IMAGE,
    INTERFACE,
    MACHINE,
    NETWORK,
    PROXIMITY,
    SUBNET,
    World,
    merged,
)

SIMULATED = "the wording is the simulation's]"


def machine(world: World, name: str = "vm", **change) -> Resource:
    return world.up(MACHINE, name, world.machine(world.interface(f"{name}-nic"), **change))


def aligned(world: World, **more) -> Resource:
    return world.up(AVAILABILITY, "apart", {"sku": {"name": "Aligned"}}, **more)


# Interfaces


def test_an_interface_needs_a_subnet(world):
    for inputs in ({}, {"ipConfigurations": []}):
        assert world.refused(INTERFACE, "bad", inputs) == (
            'Status=400 Code="BadRequest" Message="ipConfigurations is missing. [rule: Microsoft.Network '
            f'2024-05-01; {SIMULATED}"'
        )
    assert "ipConfigurations.subnet is missing." in world.refused(
        INTERFACE, "bad", ipConfigurations=[{"name": "a"}]
    )


def test_an_interface_in_another_region_than_its_network_is_refused(world):
    text = world.refused(
        INTERFACE,
        "bad",
        networkInterfaceName="bad",
        location="westus3",
        ipConfigurations=[{"name": "a", "subnet": {"id": world.subnet.id}}],
    )
    assert text == (
        f'Status=400 Code="InvalidResourceReference" Message="Resource {world.network.id} referenced by '
        f"resource "
        f"{world.group.id}/providers/Microsoft.Network/networkInterfaces/bad was not found. Please make "
        f"sure that the "
        'referenced resource exists, and that both resources are in the same region."'
    )


def test_an_interface_keeps_its_address_when_it_changes(world):
    world.interface("one")
    two = world.interface("two")
    world.engine.destroy("one")
    assert world.interface("two", tags={"a": "b"})["ipConfigurations"][0]["privateIPAddress"] == "10.0.0.5"
    assert two["ipConfigurations"][0]["id"] == f"{two.id}/ipConfigurations/primary"
    assert two["ipConfigurations"][0]["primary"] is True


def test_a_public_address_belongs_to_one_interface(world):
    public = world.up(ADDRESS, "ip", sku={"name": "Standard"}, publicIPAllocationMethod="Static")
    configuration = {
        "name": "a",
        "subnet": {"id": world.subnet.id},
        "publicIPAddress": {"id": public.id},
    }
    one = world.up(INTERFACE, "one", ipConfigurations=[configuration])
    text = world.refused(INTERFACE, "two", networkInterfaceName="two", ipConfigurations=[configuration])
    assert text == (
        'Status=400 Code="PublicIPAddressInUse" Message="Resource '
        f"{world.group.id}/providers/Microsoft.Network/networkInterfaces/two/ipConfigurations/a is "
        f"referencing public "
        f'IP address {public.id} that is already allocated to resource {one.id}."'
    )


def test_the_addresses_of_one_interface_lie_in_one_network(world):
    other = world.up(NETWORK, "other", addressSpace={"addressPrefixes": ["10.9.0.0/16"]})
    subnet = world.up(SUBNET, "away", virtualNetworkName=other["name"], addressPrefix="10.9.0.0/24")
    configurations = [
        {"name": "a", "subnet": {"id": world.subnet.id}, "primary": True},
        {"name": "b", "subnet": {"id": subnet.id}},
    ]
    assert "lie in 2 virtual networks" in world.refused(INTERFACE, "bad", ipConfigurations=configurations)
    configurations[1]["subnet"] = {"id": world.subnet.id}
    made = world.up(INTERFACE, "nic", ipConfigurations=configurations)
    assert [each["primary"] for each in made["ipConfigurations"]] == [True, False]


def test_an_allocation_method_that_is_none_is_refused(world):
    configuration = {"name": "a", "subnet": {"id": world.subnet.id}, "privateIPAllocationMethod": "Fixed"}
    assert world.refused(INTERFACE, "bad", ipConfigurations=[configuration]) == (
        'Status=400 Code="BadRequest" Message="privateIPAllocationMethod \'Fixed\' is none of Static, Dynamic. '
        f'[rule: Microsoft.Network 2024-05-01; {SIMULATED}"'
    )
    static = {**configuration, "privateIPAllocationMethod": "Static"}
    assert "ipConfigurations.privateIPAddress is missing." in world.refused(
        INTERFACE, "bad", ipConfigurations=[static]
    )


# Machines


def test_a_machine_takes_an_interface_and_makes_its_disk(world):
    made = machine(world)
    disk = made["storageProfile"]["osDisk"]
    assert disk["name"].startswith(f"{made['name']}_OsDisk_1_")
    nic = world.engine.refresh("vm-nic")
    assert nic["virtualMachine"] == {"id": made.id} and nic["macAddress"].startswith("02-")
    assert made["vmId"] and made["provisioningState"] == "Succeeded"
    assert "virtualMachine" not in world.interface("idle").outputs


def test_an_interface_serves_one_machine_and_stays_while_it_does(world):
    made = machine(world)
    nic = world.engine.resources["vm-nic"]
    assert world.refused(MACHINE, "bad", world.machine(nic)) == (
        f'Status=400 Code="NicInUse" Message="Network Interface {nic.id} is used by existing VM {made.id}."'
    )
    with pytest.raises(Failed) as failed:
        world.engine.destroy("vm-nic")
    assert failed.value.text == (
        f'Status=400 Code="NicInUse" Message="Network Interface {nic.id} is used by existing resource '
        f"{made.id}. In "
        "order to delete the network interface, it must be dissociated from the resource. To learn more, see "
        'aka.ms/deletenic."'
    )
    world.engine.destroy("vm")
    world.engine.destroy("vm-nic")


def test_a_deleted_machine_leaves_what_it_does_not_delete(world):
    machine(world, "kept", storageProfile={"osDisk": {"deleteOption": None}})
    world.engine.destroy("kept")
    assert DISK in world.engine.held() and INTERFACE in world.engine.held()


def test_a_deleted_machine_takes_disks_and_interfaces_along_that_say_so(world):
    nic = world.interface("nic")
    inputs = world.machine(nic)
    inputs["networkProfile"]["networkInterfaces"][0]["deleteOption"] = "Delete"
    world.up(MACHINE, "vm", inputs)
    world.engine.destroy("vm")
    assert DISK not in world.engine.held() and INTERFACE not in world.engine.held()
    world.engine.destroy("gpu")  # its address is free again


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"hardwareProfile": {"vmSize": None}}, "hardwareProfile.vmSize"),
        ({"networkProfile": None}, "networkProfile"),
        ({"osProfile": None}, "osProfile"),
        ({"osProfile": {"computerName": None}}, "osProfile.computerName"),
    ],
)
def test_what_a_machine_cannot_do_without_is_named(world, change, parameter):
    nic = world.interface("nic")
    assert world.refused(MACHINE, "bad", world.machine(nic, **change)) == (
        f'Status=400 Code="InvalidParameter" Message="Required parameter \'{parameter}\' is missing (null)."'
    )


@pytest.mark.parametrize(
    ("change", "property"),
    [
        (
            {"osProfile": {"customData": base64.b64encode(b"two").decode()}},
            "osProfile.customData",
        ),
        ({"osProfile": {"computerName": "other"}}, "osProfile.computerName"),
        ({"osProfile": {"linuxConfiguration": {"ssh": {"publicKeys": []}}}}, "ssh.publicKeys"),
        ({"storageProfile": {"imageReference": {"version": "22.04.2026080100"}}}, "imageReference"),
        ({"priority": "Spot"}, "priority"),
        ({"availabilitySet": {"id": "x"}}, "availabilitySet.id"),
    ],
)
def test_what_is_fixed_about_a_machine_is_planned_as_an_update_and_refused(world, change, property):
    first = {"osProfile": {"customData": base64.b64encode(b"one").decode()}, "priority": "Regular"}
    nic = world.interface("nic")
    before = world.machine(nic, **first)
    world.up(MACHINE, "vm", before)
    after = merged(before, change)
    assert world.engine.diff(MACHINE, "vm", {"resourceGroupName": "fabric", **after}).replaces == []
    assert world.refused(MACHINE, "vm", after) == (
        f'Status=409 Code="PropertyChangeNotAllowed" Message="Changing property \'{property}\' is not '
        f'allowed."'
    )


def test_the_size_and_the_tags_of_a_machine_may_change(world):
    nic = world.interface("nic")
    made = world.up(MACHINE, "vm", world.machine(nic))
    again = world.up(MACHINE, "vm", world.machine(nic, hardwareProfile={"vmSize": H200}, tags={"a": "b"}))
    assert again.id == made.id and again["hardwareProfile"]["vmSize"] == H200
    assert again["storageProfile"]["osDisk"]["name"] == made["storageProfile"]["osDisk"]["name"]


# Disks


def test_a_data_disk_is_made_or_attached_and_belongs_to_one_machine(world):
    scratch = world.up(DISK, "scratch", creationData={"createOption": "Empty"}, diskSizeGB=64)
    assert scratch["diskState"] == "Unattached"
    attached = {"createOption": "Attach", "lun": 0, "managedDisk": {"id": scratch.id}}
    made = machine(world, storageProfile={"dataDisks": [attached]})
    shown = world.engine.refresh("scratch")
    assert (shown["managedBy"], shown["diskState"]) == (made.id, "Attached")
    nic = world.interface("other")
    assert world.refused(MACHINE, "bad", world.machine(nic, storageProfile={"dataDisks": [attached]})) == (
        f'Status=409 Code="ConflictingUserInput" Message="Disk \'{scratch["name"]}\' cannot be attached '
        f"as the disk is "
        f"already owned by VM '{made.id}'.\""
    )
    with pytest.raises(Failed) as failed:
        world.engine.destroy("scratch")
    assert failed.value.text == (
        f'Status=409 Code="OperationNotAllowed" Message="Disk {scratch["name"]} is attached to VM {made.id}."'
    )
    world.engine.destroy("vm")
    world.engine.destroy("scratch")


def test_two_disks_at_one_lun_are_refused(world):
    empty = {"createOption": "Empty", "lun": 0, "diskSizeGB": 64}
    nic = world.interface("nic")
    assert (
        world.refused(MACHINE, "bad", world.machine(nic, storageProfile={"dataDisks": [empty, empty]}))
        == 'Status=400 Code="InvalidParameter" Message="A disk at LUN 0 already exists."'
    )
    made = world.up(
        MACHINE, "vm", world.machine(nic, storageProfile={"dataDisks": [empty, {**empty, "lun": 1}]})
    )
    assert len({each["name"] for each in made["storageProfile"]["dataDisks"]}) == 2


def test_an_empty_disk_needs_a_size_and_cannot_shrink(world):
    empty = {"creationData": {"createOption": "Empty"}}
    assert world.refused(DISK, "bad", empty) == (
        'Status=400 Code="InvalidParameter" Message="Required parameter \'disk.diskSizeGB\' is missing '
        '(null)."'
    )
    world.up(DISK, "disk", empty, diskName="disk", diskSizeGB=64)
    assert world.refused(DISK, "disk", empty, diskName="disk", diskSizeGB=63) == (
        'Status=409 Code="OperationNotAllowed" Message="Disk disk cannot be made smaller, from 64 to 63 '
        "GB. [rule: "
        f'compute docs virtual-machines/expand-disks.md; {SIMULATED}"'
    )
    assert world.up(DISK, "disk", empty, diskName="disk", diskSizeGB=65)["diskSizeBytes"] == 65 * 2**30


def test_a_kind_of_disk_that_is_none_is_refused(world):
    empty = {"creationData": {"createOption": "Empty"}, "diskSizeGB": 64}
    assert world.refused(DISK, "bad", empty, sku={"name": "SSD"}) == (
        'Status=400 Code="InvalidAccountType" Message="The AccountType SSD is invalid."'
    )
    assert "'creationData.createOption' is not allowed" in world.refused(
        DISK, "bad", creationData={"createOption": "New"}, diskSizeGB=64
    )


# Availability sets


def test_an_availability_set_has_one_to_three_fault_domains_and_up_to_twenty_update_domains(world):
    for count in (0, 4):
        assert world.refused(AVAILABILITY, "bad", platformFaultDomainCount=count) == (
            f'Status=400 Code="InvalidParameter" Message="The specified fault domain count {count} must '
            f"fall in the "
            'range 1 to 3."'
        )
    assert world.refused(AVAILABILITY, "bad", platformUpdateDomainCount=21) == (
        'Status=400 Code="InvalidParameter" Message="The specified update domain count 21 must fall in '
        "the range 1 to "
        '20."'
    )
    for count in (1, 3):
        world.up(AVAILABILITY, f"fd{count}", platformFaultDomainCount=count, platformUpdateDomainCount=20)


def test_a_machine_with_managed_disks_needs_an_aligned_set(world):
    classic = world.up(AVAILABILITY, "classic")
    nic = world.interface("nic")
    assert world.refused(MACHINE, "bad", world.machine(nic, availabilitySet={"id": classic.id})) == (
        'Status=400 Code="BadRequest" Message="Addition of a VM with managed disks to non-managed '
        "Availability Set or "
        "addition of a VM with blob based disks to managed Availability Set is not supported. Please "
        "create an "
        "Availability Set with 'managed' property set in order to add a VM with managed disks to it.\""
    )
    world.up(AVAILABILITY, "classic", sku={"name": "Aligned"})
    made = world.up(MACHINE, "vm", world.machine(nic, availabilitySet={"id": classic.id}))
    assert world.engine.refresh("classic")["virtualMachines"] == [{"id": made.id}]
    assert world.refused(AVAILABILITY, "classic", sku={"name": "Classic"}) == (
        'Status=409 Code="OperationNotAllowed" Message="Changing availability set SKU from \'Aligned\' '
        "to 'Classic' "
        'is not allowed."'
    )


def test_spot_or_a_zone_or_a_reservation_excludes_an_availability_set(world):
    apart = {"availabilitySet": {"id": aligned(world).id}}
    nic = world.interface("nic")
    assert world.refused(MACHINE, "bad", world.machine(nic, **apart, priority="Spot"), vmName="bad") == (
        'Status=409 Code="OperationNotAllowed" Message="Virtual machine bad of priority Spot cannot be in an '
        f'availability set. [rule: compute docs virtual-machines/spot-vms.md; {SIMULATED}"'
    )
    assert world.refused(MACHINE, "bad", world.machine(nic, **apart, zones=["1"]), vmName="bad") == (
        'Status=400 Code="BadRequest" Message="Virtual machine bad in zone 1 cannot be in an '
        "availability set. [rule: "
        f'compute docs virtual-machines/availability-set-overview.md; {SIMULATED}"'
    )
    reserved = {
        "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
        "capacityReservation": {"capacityReservationGroup": {"id": "x"}},
    }
    assert "A machine in an availability set cannot use a capacity reservation group." in world.refused(
        MACHINE, "bad", world.machine(nic, **apart, **reserved)
    )
    world.up(MACHINE, "spot", world.machine(nic, priority="Spot"))


def test_two_hundred_machines_share_an_availability_set_and_not_one_more(world):
    apart = aligned(world)
    machine(world, "first", availabilitySet={"id": apart.id})
    with world.engine.store.transaction("azure-native") as tx:
        tx.put_many(
            "link",
            [
                (f"{at}", {"parentId": f"vm{at}", "name": apart.id, "how": "availabilitySet"})
                for at in range(198)
            ],
        )
    machine(world, "border", availabilitySet={"id": apart.id})
    nic = world.interface("nic")
    assert world.refused(MACHINE, "bad", world.machine(nic, availabilitySet={"id": apart.id})) == (
        f'Status=409 Code="OperationNotAllowed" Message="Availability set {apart["name"]} has 200 '
        f"machines; more than "
        f'200 it cannot have. [rule: compute docs virtual-machines/setup-infiniband.md; {SIMULATED}"'
    )


def test_an_availability_set_with_machines_cannot_be_deleted_or_change_its_domains(world):
    apart = aligned(world)
    machine(world, availabilitySet={"id": apart.id})
    with pytest.raises(Failed) as failed:
        world.engine.destroy("apart")
    assert failed.value.text == (
        f'Status=409 Code="OperationNotAllowed" Message="Availability Set \'{apart["name"]}\' cannot be '
        f"deleted. "
        'Before deleting an Availability Set please ensure that it does not contain any VM."'
    )
    assert world.refused(AVAILABILITY, "apart", sku={"name": "Aligned"}, platformFaultDomainCount=1) == (
        'Status=409 Code="PropertyChangeNotAllowed" Message="Changing property '
        "'platformFaultDomainCount' is not "
        'allowed."'
    )


def test_a_machine_shares_the_proximity_group_of_its_set(world):
    near = world.up(PROXIMITY, "near")
    apart = aligned(world)
    nic = world.interface("nic")
    both = {"availabilitySet": {"id": apart.id}, "proximityPlacementGroup": {"id": near.id}}
    assert world.refused(MACHINE, "bad", world.machine(nic, **both), vmName="bad") == (
        f'Status=400 Code="BadRequest" Message="Virtual machine bad is in proximity placement group '
        f"{near.id}; its "
        f'availability set is in none. [rule: compute docs virtual-machines/co-location.md; {SIMULATED}"'
    )
    aligned(world, proximityPlacementGroup={"id": near.id})
    world.up(MACHINE, "vm", world.machine(nic, **both))


# Extensions


def test_one_extension_a_handler(world):
    made = machine(world)
    monitor = {
        "vmName": made["name"],
        "publisher": "Microsoft.Azure.Monitor",
        "type": "AzureMonitorLinuxAgent",
        "typeHandlerVersion": "1.0",
    }
    one = world.up(EXTENSION, "one", monitor)
    assert (one["name"], one["type"]) == ("one", "AzureMonitorLinuxAgent")
    assert world.engine.refresh("vm")["resources"] == [{"id": one.id}]
    assert world.refused(EXTENSION, "two", monitor) == (
        'Status=400 Code="BadRequest" Message="Multiple VMExtensions per handler not supported for OS '
        "type 'Linux'. "
        "VMExtension 'two' with handler 'Microsoft.Azure.Monitor.AzureMonitorLinuxAgent' already added "
        "or specified in "
        'input."'
    )
    assert "'typeHandlerVersion' is missing" in world.refused(
        EXTENSION, "three", {**monitor, "type": "Other", "typeHandlerVersion": ""}
    )
    world.engine.destroy("vm")
    assert EXTENSION not in world.engine.held()


def test_the_image_of_the_tests_is_pinned():
    assert IMAGE["version"] != "latest"
