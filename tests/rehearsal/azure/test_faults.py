"""A bad day at Azure: no capacity, a size not offered, throttled and failing calls."""

from __future__ import annotations

import pytest

from ..small_engine import Failed, Resource
from .world import H100, H200, MACHINE, NETWORK, PROXIMITY, SCALE_SET

ALLOCATION = (
    'Status=409 Code="AllocationFailed" Message="Allocation failed. We do not have sufficient capacity '
    "for the requested "
    "VM size in this region. Read more about improving likelihood of allocation success at "
    'http://aka.ms/allocation-guidance"'
)


def failed_reasons(world, token: str, name: str, inputs: dict) -> list[str]:
    """The reasons with which the engine is told that a resource is there and not ready."""
    from pulumi.runtime.proto import provider_pb2, status_pb2

    with pytest.raises(Failed) as failed:
        world.up(token, name, inputs)
    status = status_pb2.Status.FromString(dict(failed.value.partial)["grpc-status-details-bin"])
    detail = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(detail)
    return list(detail.reasons)


def test_a_size_that_the_place_does_not_offer_is_refused_before_anything_is_made(world, faults):
    faults(capacity=[{"size": "Standard_ND*", "place": "eastus", "code": "SkuNotAvailable"}])
    assert world.refused(SCALE_SET, "bad", world.scale_set()) == (
        'Status=409 Code="SkuNotAvailable" Message="The requested VM size for resource \'Following SKUs '
        "have failed "
        f"for Capacity Restrictions: {H100}' is currently not available in location 'eastus'. Please try "
        f"another size "
        "or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable "
        'for details."'
    )
    nic = world.interface("nic")
    assert "SkuNotAvailable" in world.refused(MACHINE, "bad", world.machine(nic))
    world.up(MACHINE, "helper", world.machine(nic, hardwareProfile={"vmSize": "Standard_D2s_v5"}))


def test_without_capacity_the_set_is_there_without_machines_and_gets_them_later(world, faults):
    faults(capacity=[{"size": H100, "available": 1}])
    assert failed_reasons(world, SCALE_SET, "nodes", world.scale_set()) == [ALLOCATION]
    (kept,) = [each for each in world.engine.store.dump() if each["kind"] == SCALE_SET]
    assert kept["properties"]["provisioningState"] == "Failed"
    assert "virtualMachineScaleSets/virtualMachines" not in world.engine.held()
    faults(capacity=[{"size": H100, "available": 2}])
    inputs = {"resourceGroupName": "fabric", **world.scale_set()}
    urn = world.engine.urn(SCALE_SET, "nodes")
    world.engine.resources["nodes"] = Resource(SCALE_SET, kept["id"], inputs, kept["properties"], urn)
    # The engine updates what it has down as not ready, changed or not; a tag does the same here.
    nodes = world.up(SCALE_SET, "nodes", world.scale_set(tags={"again": "yes"}))
    assert nodes["provisioningState"] == "Succeeded"
    assert world.engine.held().count("virtualMachineScaleSets/virtualMachines") == 2


def test_capacity_counts_what_runs_already(world, faults):
    faults(capacity=[{"size": H100, "available": 3}])
    world.up(SCALE_SET, "nodes", world.scale_set(sku={"capacity": 3}))
    grown = world.scale_set(sku={"capacity": 4})
    assert failed_reasons(world, SCALE_SET, "nodes", grown) == [ALLOCATION]
    held = world.engine.held()
    assert held.count("virtualMachineScaleSets/virtualMachines") == 3
    faults(capacity=[{"size": H100, "available": 4}])
    world.up(SCALE_SET, "nodes", grown)
    assert world.engine.held().count("virtualMachineScaleSets/virtualMachines") == 4
    world.up(SCALE_SET, "others", world.scale_set(sku={"name": H200}))


def test_sizes_that_do_not_coexist_say_so(world, faults):
    near = world.up(PROXIMITY, "near")
    faults(capacity=[{"size": H100, "code": "OverconstrainedAllocationRequest"}])
    inputs = world.scale_set(proximityPlacementGroup={"id": near.id})
    assert failed_reasons(world, SCALE_SET, "nodes", inputs) == [
        'Status=409 Code="OverconstrainedAllocationRequest" Message="Allocation failed. VM(s) with the '
        "following "
        "constraints cannot be allocated, because the condition is too restrictive. Please remove some "
        "constraints and "
        'try again. Constraints applied are: VM Size, Proximity Placement Group."'
    ]


def test_a_machine_without_capacity_is_there_and_not_ready(world, faults):
    faults(capacity=[{"size": H100}])
    nic = world.interface("nic")
    assert failed_reasons(world, MACHINE, "vm", world.machine(nic)) == [ALLOCATION]
    (kept,) = [each for each in world.engine.store.dump() if each["kind"] == MACHINE]
    assert kept["properties"]["provisioningState"] == "Failed"


def test_a_word_for_a_shortage_that_azure_does_not_have_is_an_error(world, faults):
    faults(capacity=[{"size": H100, "code": "InsufficientInstanceCapacity"}])
    with pytest.raises(Failed) as failed:
        world.up(SCALE_SET, "nodes", world.scale_set())
    assert failed.value.text.endswith(
        "capacity: 'InsufficientInstanceCapacity' is none of Azure's words for it here: AllocationFailed, "
        "OverconstrainedAllocationRequest, SkuNotAvailable"
    )


def test_calls_that_come_too_fast_are_tried_again_three_times(world, faults):
    inputs = {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]}}
    faults(throttle=[{"type": NETWORK, "first": 3}])
    world.up(NETWORK, "patient", inputs)
    faults(throttle=[{"type": NETWORK, "first": 40}])
    with pytest.raises(Failed) as failed:
        world.up(NETWORK, "hasty", inputs)
    assert failed.value.text == (
        'Status=429 Code="TooManyRequests" Message="The request is being throttled as the limit has been '
        "reached for "
        'operation type - Write. For more information, see - https://aka.ms/srpthrottlinglimits"'
    )


def test_support_can_raise_the_limit_of_a_placement_group(world, faults):
    faults(quota=[{"name": "singlePlacementGroup", "value": 120}])
    world.up(SCALE_SET, "border", world.scale_set(sku={"capacity": 120}))
    text = world.refused(SCALE_SET, "bad", world.scale_set(sku={"capacity": 121}))
    assert "exceeds the total limit of '120' Virtual Machine instances" in text


def test_a_call_can_be_made_to_fail_with_azures_own_words(world, faults):
    faults(fail=[{"type": SCALE_SET, "code": "QuotaExceeded", "message": "No cores are left."}])
    text = world.refused(SCALE_SET, "bad", world.scale_set())
    assert text == 'Status=400 Code="QuotaExceeded" Message="No cores are left."'
    world.up(SCALE_SET, "nodes", world.scale_set())


def test_a_lost_answer_is_asked_for_again_and_nothing_is_made_twice(world, faults):
    inputs = {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]}}
    before = world.engine.held().count(NETWORK)
    faults(fail=[{"type": NETWORK, "when": "after", "first": 3}])
    made = world.up(NETWORK, "patient", inputs)
    assert made["provisioningState"] == "Succeeded"
    assert world.engine.held().count(NETWORK) == 1 + before


def test_four_lost_answers_leave_what_the_engine_does_not_know_and_its_name_is_taken(world, faults):
    inputs = {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]}, "virtualNetworkName": "theirs"}
    before = world.engine.held().count(NETWORK)
    faults(fail=[{"type": NETWORK, "when": "after", "first": 4}])
    with pytest.raises(Failed) as failed:
        world.up(NETWORK, "net", inputs)
    assert failed.value.partial == ()
    assert world.engine.held().count(NETWORK) == 1 + before
    assert "cannot create already existing resource" in world.refused(NETWORK, "net", inputs)
