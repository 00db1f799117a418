"""What is said about running nodes when the launch template of a cluster changes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from gpu_fabric.components.aws.changes import PARTS, refresh_command, update_message
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.changes import changed_parts
from tests.components.recorder import record_cluster

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GOOD: dict[str, Any] = {"zone": "us-east-1a", "instance_type": "p5.48xlarge", "nodes": 4}


def inputs(**changes: Any) -> dict[str, Any]:
    """What a launch template is declared with."""
    return _declared(json.dumps({**GOOD, **changes}))


@cache
def _declared(arguments: str) -> dict[str, Any]:
    return dict(record_cluster(json.loads(arguments)).one(TEMPLATE).inputs)


def settings(**changes: Any) -> AwsClusterSettings:
    given = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4, **changes}
    return AwsClusterSettings.model_validate(given)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"bootstrap": {"after": ["echo hello"]}}, ["user data"]),
        ({"nccl": {"environment": {"NCCL_DEBUG": "INFO"}}}, ["user data"]),
        ({"image": {"ami_id": "ami-0123456789abcdef0"}}, ["image"]),
        ({"instance_type": "p5e.48xlarge"}, ["user data", "size"]),
        ({"root_volume": {"size_gib": 2000}}, ["root volume"]),
        ({"interfaces": "allEfa"}, ["network interfaces"]),
        ({"access": {"key_name": "mine"}}, ["SSH key"]),
        ({"access": {"instance_profile_name": "mine"}}, ["instance profile"]),
        ({"placement": {"group": "none"}}, ["placement"]),
        ({"capacity": {"kind": "spot"}}, ["capacity"]),
        ({"nodes": 8}, []),
        ({"tags": {"a": "b"}}, []),
        ({}, []),
    ],
)
def test_what_a_change_of_the_arguments_touches_is_named(changes: dict[str, Any], parts: list[str]) -> None:
    assert changed_parts(PARTS, inputs(), inputs(**changes)) == parts


def test_every_part_has_a_place_in_what_some_cluster_declares() -> None:
    block = {"kind": "capacityBlock", "reservation_id": "cr-1"}
    declared = {
        **inputs(capacity=block),
        **inputs(
            access={"key_name": "mine"}, image={"ami_id": "ami-0123456789abcdef0"}, capacity={"kind": "spot"}
        ),
    }
    for part, (key,) in PARTS.items():
        assert key in declared, part


def test_the_message_names_the_nodes_what_happens_and_where_the_command_is() -> None:
    new = inputs(image={"ami_id": "ami-0123456789abcdef0"}, bootstrap={"after": ["true"]})
    assert update_message("train", settings(), "train-node", inputs(), new) == (
        "train-node: user data and image will change in the launch template. The nodes of train-fleet keep what they "
        "have; nodes that start later get the new. To bring running nodes along, which terminates and replaces them: "
        "`refresh` of the output `launch`."
    )
    one_by_one = settings(nodesAs="instances", nodes=3)
    assert update_message("train", one_by_one, "train-node", inputs(), new) == (
        "train-node: user data and image will change in the launch template. Of the nodes, train-000 … train-002 keep "
        "what they have where they exist; nodes that start later get the new. `updates: replace` replaces them, and "
        "ends what runs on them."
    )


def test_scaling_alone_says_nothing() -> None:
    assert update_message("train", settings(), "train-node", inputs(), inputs(nodes=8)) is None


@pytest.mark.parametrize("old", [{}, {"userData": None}, {"placement": "odd"}])
def test_inputs_of_another_shape_do_not_make_it_fail(old: dict[str, Any]) -> None:
    assert update_message("train", settings(), "train-node", old, inputs()) is not None


def test_the_template_says_so_before_an_update_and_with_replace_the_plan_does() -> None:
    hook = ("train-node: what an update does to its nodes",)
    assert record_cluster(GOOD).one(TEMPLATE).before_update == hook
    assert record_cluster({**GOOD, "nodes_as": "instances"}).one(TEMPLATE).before_update == hook
    assert record_cluster({**GOOD, "updates": "replace"}).one(TEMPLATE).before_update == ()


def test_a_fleet_has_the_command_that_replaces_its_nodes_and_single_nodes_have_none() -> None:
    outputs = record_cluster(GOOD).outputs
    assert outputs["launch"]["refresh"] == refresh_command("us-east-1", outputs["fleet_name"])
    assert outputs["launch"]["refresh"].endswith(" --preferences MinHealthyPercentage=0")
    assert "refresh" not in record_cluster({**GOOD, "nodes_as": "instances"}).outputs["launch"]
