"""The manners of pulumi-azure-native: names, locations, words, previews, refreshes, what replaces and in what order."""

from __future__ import annotations

import re

import pytest
from pulumi.runtime.proto import provider_pb2

from gpu_fabric.rehearsal.clouds import load
from gpu_fabric.rehearsal.core.sdk_schema import package_folder
from gpu_fabric.rehearsal.core.values import UNKNOWN, from_struct, to_struct

from ..small_engine import Context, Failed, SmallEngine
from .world import (
    ADDRESS,
    GROUP,
    IDENTITY,
    INTERFACE,
    NETWORK,
    PROXIMITY,
    ROLE,
    SCALE_SET,
    SECURITY_GROUP,
    SUBNET,
    SUBSCRIPTION,
    World,
)

VNET = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}


def check(
    azure: SmallEngine,
    token: str,
    name: str,
    inputs: dict,
    mode: str = "",
    proposed: str = "",
    seed: bytes = b"x",
) -> dict:
    """The provider's Check of a new resource, with a setting for automatic names."""
    options = provider_pb2.CheckRequest.AutonamingOptions
    request = provider_pb2.CheckRequest(urn=azure.urn(token, name), news=to_struct(inputs), randomSeed=seed)
    if mode:
        request.autonaming.CopyFrom(options(mode=options.Mode.Value(mode), proposed_name=proposed))
    answer = azure.provider.Check(request, Context())
    if answer.failures:
        raise Failed("\n".join(each.reason for each in answer.failures))
    return from_struct(answer.inputs)


# Names


def test_a_resource_without_a_name_gets_its_own_and_eight_hexadecimal_digits(azure):
    group = azure.up(GROUP, "rg")
    assert re.fullmatch(r"rg[0-9a-f]{8}", group["name"])
    assert group.id == f"{SUBSCRIPTION}/resourceGroups/{group['name']}"
    assert azure.diff(GROUP, "rg", {}).changes == []


def test_the_same_seed_gives_the_same_name_and_another_seed_another(azure):
    names = [check(azure, GROUP, "rg", {}, seed=seed)["resourceGroupName"] for seed in (b"a", b"a", b"b")]
    assert names[0] == names[1] != names[2]


def test_a_child_takes_the_programs_name_without_a_suffix(world):
    assert world.subnet["name"] == "gpu"
    assert world.subnet.id == f"{world.network.id}/subnets/gpu"


def test_a_role_assignment_is_named_by_a_guid(azure):
    inputs = {"scope": "/x", "principalId": "p", "roleDefinitionId": "r"}
    given = check(azure, "azure-native:authorization:RoleAssignment", "reader", inputs)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", given["roleAssignmentName"])


def test_a_project_may_propose_names_or_switch_them_off(azure):
    assert check(azure, GROUP, "rg", {}, "PROPOSE", "rg-dev")["resourceGroupName"] == "rg-dev"
    with pytest.raises(Failed) as failed:
        check(azure, GROUP, "rg", {}, "DISABLE")
    assert failed.value.text == "missing required property 'resourceGroupName'"


def test_a_random_name_lets_the_replacement_come_first_and_a_given_one_does_not(azure):
    azure.up(GROUP, "auto")
    azure.up(GROUP, "fixed", resourceGroupName="fabric")
    auto = azure.diff(GROUP, "auto", {"location": "westus3"})
    fixed = azure.diff(GROUP, "fixed", {"resourceGroupName": "fabric", "location": "westus3"})
    assert (auto.replaces, auto.delete_first) == (["location"], False)
    assert (fixed.replaces, fixed.delete_first) == (["location"], True)


@pytest.mark.parametrize("name", ["-net", "net-", "net!", "n" * 81])
def test_a_name_that_resource_manager_does_not_take_is_refused(world, name):
    assert world.refused(NETWORK, "bad", VNET, virtualNetworkName=name) == (
        f'Status=400 Code="InvalidResourceName" Message="Resource name {name} is invalid. The name can be up to 80 '
        "characters long. It must begin with a word character, and it must end with a word character or with '_'. "
        "The name may contain word characters or '.', '-', '_'.\""
    )


def test_a_name_of_eighty_characters_is_taken(world):
    assert world.up(NETWORK, "long", VNET, virtualNetworkName="n" * 80)["name"] == "n" * 80


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("g" * 91, "'resourceGroupName' is too long (91): at most 90 characters allowed"),
        ("rg!", r"'resourceGroupName' does not match expression '^[-\w\._\(\)]+$'"),
        ("rg.", r"'resourceGroupName' does not match expression '^[-\w\._\(\)]+$'"),
    ],
)
def test_a_group_name_outside_the_rules_is_refused_in_the_preview(azure, name, message):
    with pytest.raises(Failed) as failed:
        azure.preview(GROUP, "rg", resourceGroupName=name)
    assert failed.value.text == message
    assert azure.up(GROUP, "longest", resourceGroupName="g" * 90)["name"] == "g" * 90


def test_names_mean_the_same_in_any_casing(world):
    taken = world.engine.up(
        SECURITY_GROUP, "one", resourceGroupName="FABRIC", networkSecurityGroupName="Nodes"
    )
    assert taken.id.startswith(f"{SUBSCRIPTION}/resourceGroups/fabric/")
    with pytest.raises(Failed) as failed:
        world.up(SECURITY_GROUP, "two", networkSecurityGroupName="nodes")
    assert failed.value.text == (
        "cannot create already existing resource "
        f"'{SUBSCRIPTION}/resourceGroups/fabric/providers/Microsoft.Network/networkSecurityGroups/nodes'"
    )
    with pytest.raises(Failed, match="cannot create already existing resource"):
        world.engine.up(GROUP, "again", resourceGroupName="Fabric")


def test_a_reference_may_be_written_in_any_casing(world):
    subnet = {"id": world.subnet.id.upper()}
    nic = world.up(INTERFACE, "nic", ipConfigurations=[{"name": "primary", "subnet": subnet}])
    assert nic["ipConfigurations"][0]["privateIPAddress"] == "10.0.0.4"


# Locations


def test_the_location_is_the_configured_one_or_the_groups_or_missing(tmp_path):
    azure = SmallEngine("azure-native", tmp_path / "clouds.db")
    with pytest.raises(Failed) as failed:
        azure.preview(GROUP, "rg")
    assert failed.value.text == (
        "missing required property 'location'. Either set it explicitly or configure it with 'pulumi config set "
        "azure-native:location <value>'."
    )
    azure.up(GROUP, "rg", resourceGroupName="fabric", location="Sweden Central")
    assert azure.up(NETWORK, "net", VNET, resourceGroupName="fabric")["location"] == "swedencentral"
    planned = azure.preview(NETWORK, "later", VNET, resourceGroupName=UNKNOWN)
    assert planned["location"] is UNKNOWN
    configured = SmallEngine("azure-native", tmp_path / "clouds.db", location="westus3")
    assert configured.preview(NETWORK, "net", VNET, resourceGroupName="fabric")["location"] == "westus3"


def test_one_location_has_several_spellings(world):
    given = {"resourceGroupName": "fabric", **VNET}
    assert world.engine.diff(NETWORK, "net", {**given, "location": "East US"}).changes == []


def test_a_place_that_is_none_of_azures_is_refused(world):
    text = world.refused(NETWORK, "bad", VNET, location="us-east-1")
    assert text.startswith(
        'Status=400 Code="LocationNotAvailableForResourceType" Message="The provided location \'us-east-1\' is not '
        "available for resource type 'Microsoft.Network/virtualNetworks'. List of available regions for the resource "
        "type is 'australiacentral,australiacentral2,"
    )


# Groups and parents


def test_a_resource_in_a_group_that_is_not_there_is_refused(azure):
    with pytest.raises(Failed) as failed:
        azure.up(NETWORK, "net", VNET, resourceGroupName="nowhere")
    assert failed.value.text == (
        'Status=404 Code="ResourceGroupNotFound" Message="Resource group \'nowhere\' could not be found."'
    )


def test_a_child_of_a_parent_that_is_not_there_is_refused(world):
    parent = f"{SUBSCRIPTION}/resourceGroups/fabric/providers/Microsoft.Network/virtualNetworks/other"
    assert world.refused(SUBNET, "bad", virtualNetworkName="other", addressPrefix="10.0.1.0/24") == (
        'Status=404 Code="ParentResourceNotFound" Message="Failed to perform \'write\' on resource(s) of type '
        f"'virtualNetworks/subnets', because the parent resource '{parent}' could not be found.\""
    )


def test_a_deleted_group_takes_everything_in_it_along(world):
    world.up(SCALE_SET, "nodes", world.scale_set(identity={"type": "SystemAssigned"}))
    world.engine.destroy("rg")
    assert world.engine.held() == []
    world.engine.destroy("nodes")  # what is gone already counts as deleted


def test_a_look_up_answers_a_group_and_refuses_one_that_is_not_there(world):
    found = world.engine.invoke("azure-native:resources:getResourceGroup", resourceGroupName="FABRIC")
    assert (found["name"], found["location"]) == ("fabric", "eastus")
    with pytest.raises(Failed) as failed:
        world.engine.invoke("azure-native:resources:getResourceGroup", resourceGroupName="other")
    assert failed.value.text == (
        'Status=404 Code="ResourceGroupNotFound" Message="Resource group \'other\' could not be found."'
    )


# Words


def test_inputs_that_do_not_fit_are_all_named_in_the_providers_words(world):
    with pytest.raises(Failed) as failed:
        world.engine.preview(
            NETWORK,
            "bad",
            resourceGroupName="fabric",
            addressSpace={"addressPrefixes": "10.0.0.0/16"},
            flowTimeoutInMinutes=1.5,
            enableDdosProtection="yes",
            tags=["a"],
            bgpCommunities={},
        )
    assert failed.value.text.splitlines() == [
        "'addressSpace.addressPrefixes' should be of type 'array' but got a string",
        "missing required property 'bgpCommunities.virtualNetworkCommunity'",
        "'enableDdosProtection' should be of type 'boolean' but got a string",
        "'flowTimeoutInMinutes' should be of type 'integer' but got a number",
        "'tags' should be of type 'object' but got an array",
    ]


def test_an_unknown_property_is_an_error_that_names_the_nearest_one(world):
    with pytest.raises(Failed) as failed:
        world.engine.preview(
            SUBNET, "bad", resourceGroupName="fabric", virtualNetworkName="n", adressPrefix="x"
        )
    assert failed.value.text == (
        "'adressPrefix' is no property that Azure knows here; did you mean \"addressPrefix\"? (pulumi-azure-native "
        "drops such a property without a word; the simulation does not)"
    )


def test_an_unknown_type_is_an_error_and_no_echo(azure):
    with pytest.raises(Failed) as failed:
        azure.preview("azure-native:storage:StorageAccount", "data")
    assert failed.value.text.startswith(
        "the simulated azure-native cloud does not know the resource type azure-native:storage:StorageAccount: "
        "nothing was done. It knows 26 types"
    )


# Diffs


def test_a_new_part_of_the_path_replaces_and_a_property_of_the_body_does_not(world):
    given = {"resourceGroupName": "fabric", **VNET}
    assert world.engine.diff(NETWORK, "net", {**given, "resourceGroupName": "other"}).replaces == [
        "resourceGroupName"
    ]
    assert world.engine.diff(NETWORK, "net", {**given, "resourceGroupName": "FABRIC"}).changes == []
    assert world.engine.diff(NETWORK, "net", {**given, "location": "westus3"}).replaces == ["location"]
    space = world.engine.diff(NETWORK, "net", {**given, "addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}})
    assert (space.replaces, space.detailed) == ([], {"addressSpace.addressPrefixes[0]": "UPDATE"})


def test_a_change_that_only_azure_knows_to_be_impossible_is_planned_as_an_update_and_refused(world):
    world.up(SECURITY_GROUP, "sg")
    planned = world.engine.diff(SECURITY_GROUP, "sg", {"resourceGroupName": "fabric", "location": "westus3"})
    assert (planned.changes, planned.replaces) == (["location"], [])
    name = world.engine.resources["sg"]["name"]
    assert world.refused(SECURITY_GROUP, "sg", location="westus3") == (
        f'Status=409 Code="InvalidResourceLocation" Message="The resource \'{name}\' already exists in location '
        "'eastus' in resource group 'fabric'. A resource with the same name cannot be created in location 'westus3'. "
        'Please select a new resource name."'
    )


def test_an_input_given_for_the_first_time_is_an_update_even_where_azure_has_the_value_anyway(world):
    address = {
        "resourceGroupName": "fabric",
        "sku": {"name": "Standard"},
        "publicIPAllocationMethod": "Static",
    }
    world.up(ADDRESS, "ip", address)
    shown = world.engine.diff(ADDRESS, "ip", {**address, "publicIPAddressVersion": "IPv4"})
    assert shown.changes == []
    assert world.engine.diff(ADDRESS, "ip", {**address, "publicIPAddressVersion": "IPv6"}).replaces == [
        "publicIPAddressVersion"
    ]


# Previews


def test_a_preview_knows_what_the_program_gave_and_nothing_else(world):
    planned = world.engine.preview(NETWORK, "new", {"resourceGroupName": "fabric", **VNET})
    assert planned["addressSpace"] == VNET["addressSpace"]
    assert planned["azureApiVersion"] == "2024-05-01"
    assert all(planned[name] is UNKNOWN for name in ("name", "etag", "subnets", "tags", "provisioningState"))
    assert "resourceGroupName" not in planned and "virtualNetworkName" not in planned


def test_the_preview_of_an_update_still_knows_name_and_location(world):
    planned = world.engine.preview(
        NETWORK, "net", {"resourceGroupName": "fabric", **VNET, "tags": {"a": "b"}}
    )
    assert planned["name"] == world.network["name"]
    assert (planned["location"], planned["tags"]) == ("eastus", {"a": "b"})
    assert planned["etag"] is UNKNOWN


def test_a_preview_does_not_know_an_address_or_a_principal_that_is_yet_to_be_made(world):
    configuration = {"name": "primary", "subnet": {"id": world.subnet.id}}
    nic = world.engine.preview(INTERFACE, "n", resourceGroupName="fabric", ipConfigurations=[configuration])
    assert nic["ipConfigurations"][0]["privateIPAddress"] is UNKNOWN
    inputs = {"resourceGroupName": "fabric", **world.scale_set(identity={"type": "SystemAssigned"})}
    nodes = world.engine.preview(SCALE_SET, "nodes", inputs)
    assert nodes["identity"] == {"type": "SystemAssigned", "principalId": UNKNOWN, "tenantId": UNKNOWN}


def test_the_preview_of_any_change_of_a_set_seems_to_replace_a_role_given_to_its_own_principal(world):
    """The real provider has this too: an update makes every output unknown. The update itself replaces nothing."""
    system = {"identity": {"type": "SystemAssigned"}}
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(**system))
    role = {
        "scope": world.group.id,
        "principalId": nodes["identity"]["principalId"],
        "roleDefinitionId": f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/"
        "acdd72a7-3385-48ef-bd42-f606fba81ae7",
    }
    world.engine.up(ROLE, "reader", role)
    inputs = {"resourceGroupName": "fabric", **world.scale_set(**system, sku={"capacity": 3})}
    planned = world.engine.preview(SCALE_SET, "nodes", inputs)["identity"]["principalId"]
    assert planned is UNKNOWN
    assert world.engine.diff(ROLE, "reader", {**role, "principalId": planned}).replaces == ["principalId"]
    after = world.up(SCALE_SET, "nodes", inputs)["identity"]["principalId"]
    assert world.engine.diff(ROLE, "reader", {**role, "principalId": after}).changes == []


def test_given_identities_come_back_as_a_map_that_a_preview_does_not_know(world):
    given = {"type": "UserAssigned", "userAssignedIdentities": [UNKNOWN]}
    inputs = {"resourceGroupName": "fabric", **world.scale_set(identity=given)}
    assert world.engine.preview(SCALE_SET, "nodes", inputs)["identity"]["userAssignedIdentities"] is UNKNOWN


def test_a_preview_makes_nothing(world):
    before = world.engine.store.dump()
    world.engine.preview(SCALE_SET, "nodes", {"resourceGroupName": "fabric", **world.scale_set()})
    assert world.engine.store.dump() == before


# Refresh, adoption


def test_a_refresh_leaves_the_inputs_alone_and_takes_in_what_changed_behind_the_programs_back(world):
    before = dict(world.network.inputs)
    world.engine.refresh("net")
    assert world.engine.resources["net"].inputs == before
    with world.engine.store.transaction("azure-native") as tx:
        tx.patch(NETWORK, world.network.id, tags={"owner": "somebody"})
    refreshed = world.engine.refresh("net")
    assert refreshed.inputs == {**before, "tags": {"owner": "somebody"}}
    plan = world.engine.diff(NETWORK, "net", {"resourceGroupName": "fabric", **VNET})
    assert plan.detailed == {"tags": "DELETE"}


def test_a_refresh_takes_in_one_changed_number_and_not_what_azure_fills_in_beside_it(world):
    nic = world.interface("nic")
    given = nic.inputs["ipConfigurations"]
    nodes = world.up(SCALE_SET, "nodes", world.scale_set())
    with world.engine.store.transaction("azure-native") as tx:
        tx.patch(SCALE_SET, nodes.id, sku={**nodes["sku"], "capacity": 9})
    world.engine.refresh("nic")
    world.engine.refresh("nodes")
    assert nic.inputs["ipConfigurations"] == given
    assert nodes.inputs["sku"] == {"name": nodes["sku"]["name"], "tier": "Standard", "capacity": 9}


def test_a_resource_that_is_gone_is_gone_after_a_refresh(world):
    with world.engine.store.transaction("azure-native") as tx:
        tx.remove(SUBNET, world.subnet.id)
    assert world.engine.refresh("gpu") is None


def test_an_existing_resource_can_be_read_by_its_id(world):
    found = world.engine.adopt(NETWORK, world.network.id)
    assert found["addressSpace"] == VNET["addressSpace"]
    assert found["subnets"][0]["name"] == "gpu"
    assert world.engine.adopt(NETWORK, world.network.id + "x") is None


# The whole


def test_every_api_version_is_the_one_the_sdk_names():
    from gpu_fabric.rehearsal.azure.kinds import KINDS

    folder = package_folder("azure-native")
    for token, kind in KINDS.items():
        module = folder / token.split(":")[1]
        file = next(each for each in module.glob("*.py") if f'type_token("{token}")' in each.read_text())
        assert f"Uses Azure REST API version {kind.api}." in file.read_text(), token


def test_the_lists_that_are_kept_when_left_out_are_those_the_sdk_warns_of():
    cloud = load("azure-native")
    folder = package_folder("azure-native")
    for type in cloud.types:
        module = folder / type.token.split(":")[1]
        text = next(
            each.read_text()
            for each in module.glob("*.py")
            if f'type_token("{type.token}")' in each.read_text()
        )
        warned = "These are also available as standalone resources" in text
        assert warned == bool(type.filled - {"virtualMachines"}), type.token


NOT_ALWAYS_THERE = {
    "azure-native:network:PublicIPAddress": {"ipConfiguration"},
    "azure-native:network:PublicIPPrefix": {"loadBalancerFrontendIpConfiguration"},
    "azure-native:network:NetworkInterface": {"dscpConfiguration", "privateEndpoint", "virtualMachine"},
    "azure-native:compute:AvailabilitySet": {"virtualMachineScaleSetMigrationInfo"},
    "azure-native:compute:VirtualMachine": {"instanceView", "managedBy"},
    "azure-native:compute:Disk": {
        "burstingEnabledTime",
        "diskSizeBytes",
        "lastOwnershipUpdateTime",
        "propertyUpdatesInProgress",
    },
    "azure-native:authorization:RoleAssignment": {"systemData"},
}
"""Outputs the SDK calls required and Azure answers only in some cases: another resource, an expansion, a change."""


def test_every_output_that_the_sdk_promises_is_there(everything: World):
    cloud = load("azure-native")
    seen = set()
    for resource in everything.engine.resources.values():
        promised = {
            name for name, word in cloud.type_schema(resource.token).outputs.items() if word.endswith("!")
        }
        absent = promised - set(resource.outputs) - NOT_ALWAYS_THERE.get(resource.token, set())
        assert absent == set(), resource.token
        seen.add(resource.token)
    assert seen == set(cloud.by_token)


def test_a_second_run_with_the_same_inputs_changes_nothing_and_a_refresh_neither(everything: World):
    for name, resource in everything.engine.resources.items():
        given = {key: value for key, value in resource.inputs.items() if not key.startswith("__")}
        assert everything.engine.diff(resource.token, name, given).changes == [], name
        everything.engine.refresh(name)
        assert resource.inputs.items() >= given.items(), name
        assert everything.engine.diff(resource.token, name, given).changes == [], name


def test_everything_goes_in_the_reverse_order_and_leaves_nothing(everything: World):
    everything.engine.destroy_all()
    assert everything.engine.held() == []


def test_a_random_identity_name_is_as_long_as_azure_takes(world):
    text = world.refused(IDENTITY, "id", resourceName="ab")
    assert text == (
        "Status=400 Code=\"BadRequest\" Message=\"Identity name ab has to be 3 to 128 letters, digits, '-' or '_'. "
        "[rule: azure-docs azure-resource-manager/management/resource-name-rules.md; the wording is the "
        "simulation's]\""
    )
    assert world.up(IDENTITY, "border", resourceName="abc")["name"] == "abc"


def test_the_types_that_azure_places_need_no_look_up_to_be_previewed(azure):
    planned = azure.preview(PROXIMITY, "ppg", resourceGroupName=UNKNOWN, intent={"vmSizes": ["x"]})
    assert planned["location"] == "eastus"
