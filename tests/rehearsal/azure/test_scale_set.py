"""Scale sets: how many machines, which model they have, what a change does to those that run."""

from __future__ import annotations

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..small_engine import Failed
from .world import H100, H200, IMAGE, KEY, NETWORK, SCALE_SET, SECURITY_GROUP, SUBNET, World

SIMULATED = "the wording is the simulation's]"
ORCHESTRATION = f"[rule: compute docs virtual-machine-scale-sets-orchestration-modes.md; {SIMULATED}"
PLACEMENT = f"[rule: compute docs virtual-machine-scale-sets-placement-groups.md; {SIMULATED}"


def ids(world: World) -> list[int]:
    """The numbers of the machines there are."""
    return [
        int(each["properties"]["instanceId"])
        for each in world.engine.store.dump()
        if each["kind"] == "virtualMachineScaleSets/virtualMachines"
    ]


def addresses(world: World) -> set[str]:
    return {
        each["properties"]["address"]
        for each in world.engine.store.dump()
        if each["kind"] == "ipConfigurations"
    }


def sized(world: World, capacity: int, **change) -> dict:
    return world.scale_set(sku={"capacity": capacity}, **change)


def test_a_new_set_has_its_machines_each_with_a_name_and_an_address(world):
    nodes = world.up(SCALE_SET, "nodes", sized(world, 4))
    assert nodes["provisioningState"] == "Succeeded"
    assert (ids(world), addresses(world)) == ([0, 1, 2, 3], {f"10.0.0.{last}" for last in range(4, 8)})
    third = world.instance(nodes, 3)
    assert third["osProfile"]["computerName"] == "node000003"
    assert third["name"] == f"{nodes['name']}_3"
    assert third["id"] == f"{nodes.id}/virtualMachines/3"
    assert third["latestModelApplied"] is True
    assert len(world.engine.refresh("gpu")["ipConfigurations"]) == 4


def test_four_to_eight_to_four_adds_machines_and_takes_the_newest_away(world):
    world.up(SCALE_SET, "nodes", sized(world, 4))
    changed = world.engine.diff(SCALE_SET, "nodes", {"resourceGroupName": "fabric", **sized(world, 8)})
    assert (changed.detailed, changed.replaces) == ({"sku.capacity": "UPDATE"}, [])
    world.up(SCALE_SET, "nodes", sized(world, 8))
    assert ids(world) == list(range(8))
    assert len(addresses(world)) == 8
    world.up(SCALE_SET, "nodes", sized(world, 4))
    assert ids(world) == [0, 1, 2, 3]
    assert addresses(world) == {f"10.0.0.{last}" for last in range(4, 8)}
    world.up(SCALE_SET, "nodes", sized(world, 5))
    assert ids(world) == [0, 1, 2, 3, 8]  # a number is not used again


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.integers(min_value=0, max_value=12), min_size=1, max_size=6))
def test_however_a_set_grows_and_shrinks_each_machine_has_an_address_and_nobody_else_has_it(world, steps):
    machines: list[int] = []
    for capacity in steps:
        world.up(SCALE_SET, "nodes", sized(world, capacity))
        before, machines = machines, ids(world)
        assert len(machines) == len(addresses(world)) == capacity
        assert set(before[:capacity]) <= set(machines), "the oldest stay"
        assert addresses(world) <= {f"10.0.0.{last}" for last in range(4, 255)}
    world.engine.destroy("nodes")


def test_no_machine_is_a_size_too(world):
    world.up(SCALE_SET, "nodes", sized(world, 0))
    assert ids(world) == []


def test_a_set_that_the_subnet_has_no_room_for_is_refused_whole(world):
    small = world.up(SUBNET, "small", virtualNetworkName=world.network["name"], addressPrefix="10.0.1.0/29")
    interface = {"name": "eth0", "ipConfigurations": [{"name": "primary", "subnet": {"id": small.id}}]}
    profile = {"networkProfile": {"networkInterfaceConfigurations": [interface]}}
    assert world.refused(SCALE_SET, "bad", sized(world, 4, virtualMachineProfile=profile)) == (
        'Status=400 Code="SubnetIsFull" Message="Subnet small with address prefix 10.0.1.0/29 doesn\'t have '
        'enough capacity for 4 IP addresses."'
    )
    world.up(SCALE_SET, "good", sized(world, 3, virtualMachineProfile=profile))


def test_a_hundred_nodes_share_one_placement_group_and_not_one_more(world):
    text = world.refused(SCALE_SET, "bad", sized(world, 101), vmScaleSetName="bad")
    assert text == (
        'Status=409 Code="OperationNotAllowed" Message="Unable to create or update '
        "VirtualMachineScaleSet 'bad' as "
        "it exceeds the total limit of '100' Virtual Machine instances.\""
    )
    world.up(SCALE_SET, "border", sized(world, 100))
    assert len(ids(world)) == 100
    world.engine.destroy("border")
    world.up(SCALE_SET, "spread", sized(world, 101, singlePlacementGroup=False))
    text = world.refused(
        SCALE_SET, "bad", sized(world, 1001, singlePlacementGroup=False), vmScaleSetName="bad"
    )
    assert "exceeds the total limit of '1000'" in text


def test_a_set_is_uniform_and_in_one_placement_group_unless_it_says_otherwise(world):
    inputs = world.scale_set(orchestrationMode=None, singlePlacementGroup=None, overprovision=None)
    made = world.up(SCALE_SET, "nodes", inputs)
    assert (made["orchestrationMode"], made["singlePlacementGroup"], made["overprovision"]) == (
        "Uniform",
        True,
        True,
    )


def test_flexible_takes_neither_a_single_placement_group_nor_overprovisioning(world):
    flexible = {"orchestrationMode": "Flexible", "singlePlacementGroup": None, "overprovision": None}
    assert world.refused(SCALE_SET, "bad", world.scale_set(**{**flexible, "singlePlacementGroup": True})) == (
        'Status=400 Code="BadRequest" Message="singlePlacementGroup true is not for orchestrationMode '
        "Flexible. "
        f'{ORCHESTRATION}"'
    )
    assert world.refused(SCALE_SET, "bad", world.scale_set(**{**flexible, "overprovision": True})) == (
        f'Status=400 Code="BadRequest" Message="overprovision is not for orchestrationMode Flexible. '
        f'{ORCHESTRATION}"'
    )
    assert world.refused(SCALE_SET, "bad", world.scale_set(**flexible, platformFaultDomainCount=None)) == (
        'Status=400 Code="InvalidParameter" Message="Required parameter \'platformFaultDomainCount\' is '
        "missing "
        '(null)."'
    )
    assert world.up(SCALE_SET, "good", world.scale_set(**flexible))["singlePlacementGroup"] is False


@pytest.mark.parametrize("mode", ["uniform", "VM"])
def test_an_orchestration_mode_that_is_none_is_refused(world, mode):
    assert world.refused(SCALE_SET, "bad", world.scale_set(orchestrationMode=mode)) == (
        f'Status=400 Code="InvalidParameter" Message="The value \'{mode}\' of parameter '
        f"'orchestrationMode' is not "
        'allowed. Allowed values are: Uniform,Flexible."'
    )


def test_fault_domains_are_1_2_3_or_5(world):
    assert world.refused(SCALE_SET, "bad", world.scale_set(platformFaultDomainCount=6)) == (
        'Status=400 Code="InvalidParameter" Message="The specified fault domain count 6 must fall in the '
        'range 1 to 5."'
    )
    assert world.refused(SCALE_SET, "bad", world.scale_set(platformFaultDomainCount=4)) == (
        'Status=400 Code="BadRequest" Message="platformFaultDomainCount 4 is none of 1, 2, 3, 5. [rule: '
        "compute docs "
        f'virtual-machine-scale-sets-manage-fault-domains.md; {SIMULATED}"'
    )
    for count in (1, 5):
        world.up(SCALE_SET, f"fd{count}", world.scale_set(platformFaultDomainCount=count))


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"upgradePolicy": None}, "upgradePolicy"),
        ({"sku": {"capacity": None}}, "sku.capacity"),
        ({"sku": {"name": None}}, "sku.name"),
        (
            {"virtualMachineProfile": {"networkProfile": None}},
            "networkProfile.networkInterfaceConfigurations",
        ),
    ],
)
def test_what_a_set_cannot_do_without_is_named(world, change, parameter):
    assert world.refused(SCALE_SET, "bad", world.scale_set(**change)) == (
        f'Status=400 Code="InvalidParameter" Message="Required parameter \'{parameter}\' is missing (null)."'
    )


def test_a_rack_scale_size_is_placed_by_vertical_connect(world):
    gb300 = {"sku": {"name": "Standard_ND128isr_GB300_v6"}}
    assert world.refused(SCALE_SET, "bad", world.scale_set(**gb300)) == (
        'Status=400 Code="BadRequest" Message="Size Standard_ND128isr_GB300_v6 is placed by Vertical '
        "Connect: "
        "singlePlacementGroup has to be false, and no other placement can be given. [rule: Azure/AgentBaker, "
        f'end-to-end test of GB300; {SIMULATED}"'
    )
    world.up(SCALE_SET, "rack", world.scale_set(**gb300, singlePlacementGroup=False))


def test_one_placement_group_lies_in_one_zone(world):
    assert world.refused(SCALE_SET, "bad", world.scale_set(zones=["1", "2"])) == (
        'Status=400 Code="BadRequest" Message="A scale set in one placement group can be in one zone, '
        "not in 1, 2. "
        f'{PLACEMENT}"'
    )
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(zones=["2"]))
    assert world.instance(nodes, 0)["zones"] == ["2"]


# Interfaces


def interfaces(world: World, count: int, primary: int = 1) -> dict:
    return {
        "virtualMachineProfile": {
            "networkProfile": {
                "networkInterfaceConfigurations": [
                    {
                        "name": f"eth{number}",
                        "primary": number < primary,
                        "ipConfigurations": [{"name": "a", "subnet": {"id": world.subnet.id}}],
                    }
                    for number in range(count)
                ]
            }
        }
    }


def test_a_size_has_only_so_many_interfaces_and_one_of_them_is_the_primary(world):
    assert world.refused(SCALE_SET, "bad", world.scale_set(**interfaces(world, 9))) == (
        f'Status=400 Code="BadRequest" Message="Size {H100} takes 8 network interfaces, not 9. [rule: '
        f"compute docs "
        f'virtual-machines/sizes; {SIMULATED}"'
    )
    assert "One of the 2 network interfaces has to be the primary, not 2." in world.refused(
        SCALE_SET, "bad", world.scale_set(**interfaces(world, 2, primary=2))
    )
    world.up(SCALE_SET, "nodes", world.scale_set(**interfaces(world, 8)))
    assert len(addresses(world)) == 16


def test_a_subnet_or_a_security_group_that_is_not_there_or_elsewhere_is_refused(world):
    inputs = world.scale_set(**interfaces(world, 1))
    configuration = inputs["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"][0]
    configuration["networkSecurityGroup"] = {"id": f"{world.network.id}x"}
    set_id = f"{world.group.id}/providers/Microsoft.Compute/virtualMachineScaleSets/bad"
    assert world.refused(SCALE_SET, "bad", inputs, vmScaleSetName="bad") == (
        f'Status=400 Code="InvalidResourceReference" Message="Resource {world.network.id}x referenced by '
        f"resource "
        f"{set_id} was not found. Please make sure that the referenced resource exists, and that both "
        f"resources are in "
        'the same region."'
    )
    far = world.up(NETWORK, "far", addressSpace={"addressPrefixes": ["10.9.0.0/16"]}, location="westus3")
    far_subnet = world.up(SUBNET, "far1", virtualNetworkName=far["name"], addressPrefix="10.9.0.0/24")
    del configuration["networkSecurityGroup"]
    configuration["ipConfigurations"][0]["subnet"] = {"id": far_subnet.id}
    text = world.refused(SCALE_SET, "bad", inputs, vmScaleSetName="bad")
    assert f"Resource {far.id} referenced by resource {set_id} was not found." in text


def test_a_security_group_of_a_set_cannot_be_deleted(world):
    group = world.up(SECURITY_GROUP, "sg")
    inputs = world.scale_set(**interfaces(world, 1))
    configuration = inputs["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"][0]
    configuration["networkSecurityGroup"] = {"id": group.id}
    nodes = world.up(SCALE_SET, "nodes", inputs)
    with pytest.raises(Failed, match="InUseNetworkSecurityGroupCannotBeDeleted") as failed:
        world.engine.destroy("sg")
    assert nodes.id in failed.value.text


def test_a_subnet_with_machines_cannot_be_deleted(world):
    nodes = world.up(SCALE_SET, "nodes", world.scale_set())
    with pytest.raises(Failed) as failed:
        world.engine.destroy("gpu")
    assert failed.value.text.startswith(
        'Status=400 Code="InUseSubnetCannotBeDeleted" Message="Subnet gpu is in use by '
        f"{nodes.id}/virtualMachines/0/networkInterfaces/eth0/ipConfigurations/primary and cannot be deleted."
    )


# Changes


def custom_data(text: str) -> dict:
    return {"virtualMachineProfile": {"osProfile": {"customData": base64.b64encode(text.encode()).decode()}}}


@pytest.mark.parametrize(
    "change",
    [
        custom_data("two"),
        {
            "virtualMachineProfile": {
                "storageProfile": {"imageReference": {**IMAGE, "version": "22.04.2026080100"}}
            }
        },
        {"sku": {"name": H200}},
    ],
    ids=["custom data", "image", "size"],
)
def test_a_new_model_is_an_update_that_leaves_running_machines_as_they_are(world, change):
    world.up(SCALE_SET, "nodes", world.scale_set(**custom_data("one")))
    first = world.instance(world.engine.resources["nodes"], 0)
    changed = world.scale_set(**{**custom_data("one"), **change})
    assert world.engine.diff(SCALE_SET, "nodes", {"resourceGroupName": "fabric", **changed}).replaces == []
    world.up(SCALE_SET, "nodes", changed)
    after = world.instance(world.engine.resources["nodes"], 0)
    assert after["latestModelApplied"] is False
    assert {**after, "latestModelApplied": True} == first
    # A machine that comes later has the new model.
    nodes = world.up(SCALE_SET, "nodes", {**changed, "sku": {**changed["sku"], "capacity": 3}})
    assert [world.instance(nodes, number)["latestModelApplied"] for number in range(3)] == [
        False,
        False,
        True,
    ]


def test_with_automatic_upgrades_a_new_model_reaches_every_machine(world):
    automatic = {"upgradePolicy": {"mode": "Automatic"}}
    world.up(SCALE_SET, "nodes", world.scale_set(**automatic))
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(**automatic, sku={"name": H200}))
    first = world.instance(nodes, 0)
    assert (first["latestModelApplied"], first["sku"]["name"]) == (True, H200)


def test_a_tag_changes_no_model(world):
    world.up(SCALE_SET, "nodes", world.scale_set())
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(tags={"a": "b"}))
    assert world.instance(nodes, 0)["latestModelApplied"] is True


@pytest.mark.parametrize(
    ("change", "property"),
    [
        ({"platformFaultDomainCount": 5}, "platformFaultDomainCount"),
        (
            {"orchestrationMode": "Flexible", "singlePlacementGroup": None},
            "orchestrationMode",
        ),
        ({"zones": ["1"]}, "zones"),
        (
            {"virtualMachineProfile": {"osProfile": {"computerNamePrefix": "other"}}},
            "osProfile.computerNamePrefix",
        ),
        ({"virtualMachineProfile": {"osProfile": {"adminUsername": "other"}}}, "osProfile.adminUsername"),
        (
            {
                "virtualMachineProfile": {
                    "storageProfile": {"osDisk": {"managedDisk": {"storageAccountType": "Standard_LRS"}}}
                }
            },
            "storageProfile.osDisk.managedDisk.storageAccountType",
        ),
    ],
)
def test_what_is_fixed_is_planned_as_an_update_and_refused(world, change, property):
    world.up(SCALE_SET, "nodes", world.scale_set())
    inputs = world.scale_set(**change)
    assert world.engine.diff(SCALE_SET, "nodes", {"resourceGroupName": "fabric", **inputs}).replaces == []
    assert world.refused(SCALE_SET, "nodes", inputs) == (
        f'Status=409 Code="PropertyChangeNotAllowed" Message="Changing property \'{property}\' is not '
        f'allowed."'
    )


def test_keys_of_a_set_may_change(world):
    world.up(SCALE_SET, "nodes", world.scale_set())
    keys = [{"path": "/home/azureuser/.ssh/authorized_keys", "keyData": f"{KEY} other"}]
    change = {"osProfile": {"linuxConfiguration": {"ssh": {"publicKeys": keys}}}}
    world.up(SCALE_SET, "nodes", world.scale_set(virtualMachineProfile=change))


def test_a_single_placement_group_can_be_given_up_and_not_taken_back(world):
    world.up(SCALE_SET, "nodes", world.scale_set())
    world.up(SCALE_SET, "nodes", world.scale_set(singlePlacementGroup=False))
    assert world.refused(SCALE_SET, "nodes", world.scale_set()) == (
        'Status=409 Code="OperationNotAllowed" Message="singlePlacementGroup can be changed from true to '
        "false and not "
        f'back. {PLACEMENT}"'
    )


def test_another_location_or_name_replaces_the_set(world):
    world.up(SCALE_SET, "nodes", world.scale_set())
    given = {"resourceGroupName": "fabric", **world.scale_set()}
    assert world.engine.diff(SCALE_SET, "nodes", {**given, "location": "westus3"}).replaces == ["location"]
    assert world.engine.diff(SCALE_SET, "nodes", {**given, "vmScaleSetName": "x"}).replaces == [
        "vmScaleSetName"
    ]


# Secrets and what Azure never answers


def test_custom_data_and_passwords_do_not_come_back(world):
    profile = {
        "osProfile": {
            "adminPassword": "not-a-real-one",
            **custom_data("x")["virtualMachineProfile"]["osProfile"],
        }
    }
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(virtualMachineProfile=profile))
    shown = nodes["virtualMachineProfile"]["osProfile"]
    assert "customData" not in shown and "adminPassword" not in shown
    before = dict(nodes.inputs)
    world.engine.refresh("nodes")
    assert nodes.inputs == before


def test_a_machine_that_is_not_there_is_refused(world):
    nodes = world.up(SCALE_SET, "nodes", world.scale_set())
    with pytest.raises(Failed) as failed:
        world.instance(nodes, 2)
    assert failed.value.text == 'Status=404 Code="NotFound" Message="The VM 2 cannot be found."'


def test_a_deleted_set_leaves_no_machine_and_no_address(world):
    world.up(SCALE_SET, "nodes", world.scale_set())
    world.engine.destroy_all()
    assert world.engine.held() == []
