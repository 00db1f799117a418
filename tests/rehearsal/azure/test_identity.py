"""Managed identities and role assignments."""

from __future__ import annotations

import pytest

from ..small_engine import Failed
from .world import IDENTITY, MACHINE, ROLE, SCALE_SET, SUBSCRIPTION, World

READER = (
    f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"
)
SIMULATED = "the wording is the simulation's]"


def assignment(world: World, principal: str, **more) -> dict:
    return {"scope": world.group.id, "principalId": principal, "roleDefinitionId": READER, **more}


def refused(world: World, name: str, inputs: dict) -> str:
    with pytest.raises(Failed) as failed:
        world.engine.up(ROLE, name, inputs)
    return failed.value.text


def test_an_identity_has_a_principal_and_a_client(world):
    who = world.up(IDENTITY, "who")
    assert len({who["principalId"], who["clientId"], who["tenantId"]}) == 3
    found = world.engine.invoke(
        "azure-native:managedidentity:getUserAssignedIdentity",
        resourceGroupName="fabric",
        resourceName=who["name"],
    )
    assert found["principalId"] == who["principalId"]


def test_a_set_keeps_its_own_principal_and_names_those_it_was_given(world):
    who = world.up(IDENTITY, "who")
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(identity={"type": "SystemAssigned"}))
    principal = nodes["identity"]["principalId"]
    both = {"type": "SystemAssigned, UserAssigned", "userAssignedIdentities": [who.id]}
    again = world.up(SCALE_SET, "nodes", world.scale_set(identity=both))
    assert again["identity"]["principalId"] == principal
    assert again["identity"]["userAssignedIdentities"] == {
        who.id: {"principalId": who["principalId"], "clientId": who["clientId"]}
    }


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        (
            {"type": "System"},
            "The value 'System' of parameter 'identity.type' is not allowed. Allowed values are: "
            "SystemAssigned,UserAssigned,SystemAssigned, UserAssigned,None.",
        ),
        (
            {"type": "UserAssigned"},
            "Required parameter 'identity.userAssignedIdentities' is missing (null).",
        ),
    ],
)
def test_an_identity_that_is_none_is_refused(world, identity, message):
    text = world.refused(SCALE_SET, "bad", world.scale_set(identity=identity))
    assert text == f'Status=400 Code="InvalidParameter" Message="{message}"'


def test_an_identity_that_is_not_there_is_refused(world):
    identity = {"type": "UserAssigned", "userAssignedIdentities": [f"{world.group.id}/x"]}
    text = world.refused(SCALE_SET, "bad", world.scale_set(identity=identity))
    assert f'Code="InvalidResourceReference" Message="Resource {world.group.id}/x referenced by' in text


def test_a_role_goes_to_the_principal_of_a_set_of_a_machine_or_of_an_identity(world):
    system = {"identity": {"type": "SystemAssigned"}}
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(**system))
    machine = world.up(MACHINE, "vm", world.machine(world.interface("nic"), **system))
    who = world.up(IDENTITY, "who")
    for name, principal in (
        ("nodes", nodes["identity"]["principalId"]),
        ("vm", machine["identity"]["principalId"]),
        ("who", who["principalId"]),
    ):
        made = world.engine.up(ROLE, f"role-{name}", assignment(world, principal))
        assert made.id == (
            f"{world.group.id}/providers/Microsoft.Authorization/roleAssignments/{made['name']}"
        )


def test_a_principal_that_nobody_is_has_to_be_of_a_stated_type(world):
    principal = "12345678-1234-1234-1234-123456789abc"
    assert refused(world, "bad", assignment(world, principal)) == (
        'Status=400 Code="PrincipalNotFound" Message="Principal 12345678123412341234123456789abc does '
        "not exist in the "
        "directory 00000000-0000-0000-0000-000000000000. Check that you have the correct principal ID. "
        "If you are "
        "creating this principal and then immediately assigning a role, this error might be related to a "
        "replication "
        "delay. In this case, set the role assignment principalType property to a value, such as "
        "ServicePrincipal, "
        'User, or Group.  See https://aka.ms/docs-principaltype"'
    )
    made = world.engine.up(ROLE, "good", assignment(world, principal, principalType="Group"))
    assert made["principalType"] == "Group"


def test_the_same_assignment_twice_is_refused(world):
    who = world.up(IDENTITY, "who")["principalId"]
    world.engine.up(ROLE, "one", assignment(world, who))
    assert refused(world, "two", assignment(world, who)) == (
        'Status=409 Code="RoleAssignmentExists" Message="The role assignment already exists."'
    )
    world.engine.up(ROLE, "elsewhere", assignment(world, who, scope=world.subnet.id))


def test_a_scope_that_is_not_there_is_refused(world):
    who = world.up(IDENTITY, "who")["principalId"]
    assert refused(world, "bad", assignment(world, who, scope=f"{SUBSCRIPTION}/resourceGroups/none")) == (
        'Status=404 Code="ResourceGroupNotFound" Message="Resource group \'none\' could not be found."'
    )
    assert 'Code="ResourceNotFound"' in refused(
        world, "bad", assignment(world, who, scope=f"{world.subnet.id}x")
    )
    world.engine.up(ROLE, "whole", assignment(world, who, scope=SUBSCRIPTION))


def test_a_role_that_is_no_id_and_a_name_that_is_no_guid_are_refused(world):
    who = world.up(IDENTITY, "who")["principalId"]
    assert refused(world, "bad", assignment(world, who, roleDefinitionId="Reader")) == (
        'Status=400 Code="BadRequest" Message="roleDefinitionId Reader is no role definition\'s id '
        "(/subscriptions/…/providers/Microsoft.Authorization/roleDefinitions/GUID). [rule: "
        "Microsoft.Authorization "
        f'2022-04-01, RoleAssignmentProperties.roleDefinitionId; {SIMULATED}"'
    )
    assert refused(world, "bad", assignment(world, who, roleAssignmentName="reader")) == (
        "The role assignment name 'reader' has to be a GUID"
    )


def test_another_principal_or_scope_replaces_an_assignment_and_another_role_is_refused(world):
    who = world.up(IDENTITY, "who")["principalId"]
    world.engine.up(ROLE, "one", assignment(world, who))
    diff = world.engine.diff
    assert diff(ROLE, "one", assignment(world, "other")).replaces == ["principalId"]
    assert diff(ROLE, "one", assignment(world, who, scope=world.subnet.id)).replaces == ["scope"]
    other = READER[:-1] + "8"
    assert diff(ROLE, "one", assignment(world, who, roleDefinitionId=other)).replaces == []
    assert refused(world, "one", assignment(world, who, roleDefinitionId=other)) == (
        'Status=400 Code="RoleAssignmentUpdateNotPermitted" Message="Tenant ID, application ID, '
        "principal ID, and scope "
        'are not allowed to be updated."'
    )


def test_who_is_asking_is_nobody_real(azure):
    asking = azure.invoke("azure-native:authorization:getClientConfig")
    assert asking["subscriptionId"] == asking["tenantId"] == "00000000-0000-0000-0000-000000000000"
    assert set(asking) == {"clientId", "objectId", "subscriptionId", "tenantId"}
