"""What is said about running nodes when a scale set changes."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest

from gpu_fabric.components.azure.changes import PARTS, refresh_command, update_message
from gpu_fabric.components.changes import changed_parts
from tests.components.recorder import record_azure_cluster

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"


def inputs(**changes: Any) -> dict[str, Any]:
    """What a scale set is declared with."""
    return _declared(json.dumps({"vm_size": "Standard_ND96isr_H100_v5", "nodes": 4, **changes}))


@cache
def _declared(arguments: str) -> dict[str, Any]:
    return dict(record_azure_cluster(json.loads(arguments)).one(SCALE_SET).inputs)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"bootstrap": {"after": ["echo hello"]}}, ["custom data"]),
        ({"nccl": {"environment": {"NCCL_DEBUG": "INFO"}}}, ["custom data"]),
        ({"image": {"urn": "microsoft-dsvm:ubuntu-hpc:2404:latest"}}, ["image"]),
        ({"vm_size": "Standard_ND96isr_H200_v5"}, ["custom data", "size"]),
        ({"root_volume": {"size_gib": 2048}}, ["OS disk"]),
        ({"security": {"vtpm": False}}, ["security settings"]),
        ({"access": {"admin_username": "ops"}}, ["SSH key"]),
        ({"nodes": 8}, []),
        ({"tags": {"a": "b"}}, []),
        ({}, []),
    ],
)
def test_what_a_change_of_the_arguments_touches_is_named(changes: dict[str, Any], parts: list[str]) -> None:
    assert changed_parts(PARTS, inputs(), inputs(**changes)) == parts


def test_every_part_has_a_place_in_what_is_declared() -> None:
    declared = inputs()
    for part, place in PARTS.items():
        found: Any = declared
        for key in place:
            assert key in found, f"{part}: {'.'.join(place)}"
            found = found[key]


def test_the_message_names_the_nodes_what_happens_and_the_command() -> None:
    message = update_message(
        "train-fleet",
        inputs(),
        inputs(image={"urn": "a:b:c:1.2.3"}, bootstrap={"after": ["true"]}),
        resource_group="train1",
        scale_set="train-fleet2",
    )
    assert message == (
        "train-fleet: custom data and image will change in the scale set's model. The 4 nodes of train-fleet2 keep "
        "what they have; nodes that start later get the new. To bring running nodes along, which rebuilds "
        "their OS disks and ends what runs on them: az vmss update-instances --resource-group train1 --name "
        "train-fleet2 --instance-ids '*' && az vmss reimage --resource-group train1 --name train-fleet2"
    )


def test_scaling_alone_says_nothing() -> None:
    assert update_message("a", inputs(), inputs(nodes=8), resource_group="g", scale_set="s") is None


def test_one_node_is_one_node() -> None:
    old = inputs(nodes=1)
    new = copy.deepcopy(old)
    new["sku"]["name"] = "other"
    message = update_message("a", old, new, resource_group="g", scale_set="s")
    assert message is not None
    assert "The 1 node of s keeps" in message


def test_the_command_in_launch_is_the_one_in_the_message() -> None:
    recording = record_azure_cluster({"vm_size": "Standard_ND96isr_H100_v5", "nodes": 4})
    group, fleet = recording.outputs["resource_group_name"], recording.outputs["fleet_name"]
    assert recording.outputs["launch"]["refresh"] == refresh_command(group, fleet)


@pytest.mark.parametrize("old", [{}, {"virtualMachineProfile": None}, {"sku": "odd"}])
def test_inputs_of_another_shape_do_not_make_it_fail(old: dict[str, Any]) -> None:
    assert update_message("a", old, inputs(), resource_group="", scale_set="") is not None
