"""Proximity placement groups: what may be in one, what it may say, when it can change or go."""

from __future__ import annotations

import pytest

from ..small_engine import Failed
from .world import A100, AVAILABILITY, H100, H200, PROXIMITY, SCALE_SET

SIMULATED = "the wording is the simulation's]"
DOCS = f"[rule: compute docs virtual-machines/co-location.md; {SIMULATED}"
NAMED = {"proximityPlacementGroupName": "near"}


def intent(*sizes: str) -> dict:
    return {"intent": {"vmSizes": list(sizes)}}


def test_a_group_needs_nothing_but_a_name(world):
    near = world.up(PROXIMITY, "near")
    assert near["proximityPlacementGroupType"] == "Standard"
    assert near["virtualMachineScaleSets"] == []


def test_a_zone_without_an_intent_is_refused(world):
    assert world.refused(PROXIMITY, "bad", NAMED, zones=["1"]) == (
        'Status=400 Code="BadRequest" Message="Proximity placement group near has a zone and no intent: '
        "a zone can be "
        f'given only together with intent.vmSizes. {DOCS}"'
    )
    world.up(PROXIMITY, "near", intent(H100), zones=["1"])


def test_two_zones_are_refused(world):
    assert world.refused(PROXIMITY, "bad", {**NAMED, **intent(H100)}, zones=["1", "2"]) == (
        f'Status=400 Code="BadRequest" Message="Proximity placement group near can be in one zone only, '
        f"not in 1, 2. "
        f'{DOCS}"'
    )


def test_a_type_or_a_size_that_is_none_is_refused(world):
    assert world.refused(PROXIMITY, "bad", proximityPlacementGroupType="Ultra") == (
        'Status=400 Code="InvalidParameter" Message="The value \'Ultra\' of parameter '
        "'proximityPlacementGroupType' is "
        'not allowed. Allowed values are: Standard."'
    )
    assert world.refused(PROXIMITY, "bad", intent("Standard_ND96")) == (
        'Status=400 Code="InvalidParameter" Message="The value of parameter intent.vmSizes is invalid."'
    )


def test_nodes_of_another_size_than_intended_are_refused(world):
    near = world.up(PROXIMITY, "near", intent(H100, A100))
    inside = {"proximityPlacementGroup": {"id": near.id}}
    assert world.refused(SCALE_SET, "bad", world.scale_set(**inside, sku={"name": H200})) == (
        f'Status=400 Code="BadRequest" Message="Size {H200} is not among the intended sizes of proximity '
        f"placement "
        f'group {near.id}: {H100}, {A100}. {DOCS}"'
    )
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(**inside))
    assert world.engine.refresh("near")["virtualMachineScaleSets"] == [{"id": nodes.id}]


@pytest.mark.parametrize("zones", [None, ["2"]])
def test_nodes_in_another_zone_than_the_groups_are_refused(world, zones):
    near = world.up(PROXIMITY, "near", intent(H100), zones=["1"])
    inside = {"proximityPlacementGroup": {"id": near.id}}
    inputs = world.scale_set(**inside, zones=zones)
    assert world.refused(SCALE_SET, "bad", inputs, vmScaleSetName="bad") == (
        f'Status=400 Code="BadRequest" Message="Resource {world.group.id}/providers/Microsoft.Compute/'
        f"virtualMachineScaleSets/bad is in zones {'2' if zones else 'none'}; proximity placement group "
        f"{near.id} is in "
        f'zone 1. {DOCS}"'
    )
    world.up(SCALE_SET, "nodes", world.scale_set(**inside, zones=["1"]))


def test_nodes_in_a_zone_may_be_in_a_group_without_one(world):
    near = world.up(PROXIMITY, "near")
    world.up(SCALE_SET, "nodes", world.scale_set(proximityPlacementGroup={"id": near.id}, zones=["1"]))


def test_a_group_in_another_region_is_refused(world):
    far = world.up(PROXIMITY, "far", location="westus3")
    text = world.refused(SCALE_SET, "bad", world.scale_set(proximityPlacementGroup={"id": far.id}))
    assert f'Code="InvalidResourceReference" Message="Resource {far.id} referenced by resource' in text


def test_the_zone_of_a_group_never_changes_and_its_intent_only_without_machines(world):
    world.up(PROXIMITY, "near", {**NAMED, **intent(H100)}, zones=["1"])
    assert world.refused(PROXIMITY, "near", {**NAMED, **intent(H100)}, zones=["2"]) == (
        f'Status=409 Code="OperationNotAllowed" Message="The zone of proximity placement group near '
        f"cannot be changed. "
        f'{DOCS}"'
    )
    near = world.up(PROXIMITY, "near", {**NAMED, **intent(H100, H200)}, zones=["1"])
    inside = {"proximityPlacementGroup": {"id": near.id}, "zones": ["1"]}
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(**inside))
    assert world.refused(PROXIMITY, "near", {**NAMED, **intent(H100)}, zones=["1"]) == (
        'Status=409 Code="OperationNotAllowed" Message="The intent of proximity placement group near can '
        "be changed "
        f'only with its machines deallocated: {nodes.id}. {DOCS}"'
    )
    world.up(PROXIMITY, "near", {**NAMED, **intent(H100, H200)}, zones=["1"], tags={"a": "b"})


def test_a_set_moves_between_groups_only_without_machines(world):
    near = world.up(PROXIMITY, "near")
    world.up(SCALE_SET, "nodes", world.scale_set(sku={"capacity": 1}))
    inside = world.scale_set(sku={"capacity": 1}, proximityPlacementGroup={"id": near.id})
    assert world.refused(SCALE_SET, "nodes", inside) == (
        'Status=409 Code="OperationNotAllowed" Message="The proximity placement group of a scale set can '
        "be changed "
        f'only with its machines deallocated. {DOCS}"'
    )
    world.up(SCALE_SET, "nodes", world.scale_set(sku={"capacity": 0}))
    world.up(SCALE_SET, "nodes", {**inside, "sku": {"name": H100, "capacity": 0}})


def test_a_group_with_members_cannot_be_deleted(world):
    near = world.up(PROXIMITY, "near", NAMED)
    apart = world.up(AVAILABILITY, "apart", proximityPlacementGroup={"id": near.id})
    assert world.engine.refresh("near")["availabilitySets"] == [{"id": apart.id}]
    with pytest.raises(Failed) as failed:
        world.engine.destroy("near")
    assert failed.value.text == (
        'Status=409 Code="OperationNotAllowed" Message="Proximity placement group near cannot be deleted '
        "while it has "
        f'resources: {apart.id}. {DOCS}"'
    )
    world.engine.destroy("apart")
    world.engine.destroy("near")


def test_a_look_up_answers_a_group(world):
    near = world.up(PROXIMITY, "near", NAMED)
    look_up = "azure-native:compute:getProximityPlacementGroup"
    found = world.engine.invoke(look_up, resourceGroupName="fabric", proximityPlacementGroupName="NEAR")
    assert found["id"] == near.id
    with pytest.raises(
        Failed, match="proximityPlacementGroups/none' under resource group 'fabric' was not found"
    ):
        world.engine.invoke(look_up, resourceGroupName="fabric", proximityPlacementGroupName="none")
