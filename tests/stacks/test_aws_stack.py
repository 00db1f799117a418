"""A stack's whole life on the real engine against simulated AWS, as `make` runs it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_fabric.engine.stack_file import PLACEHOLDER
from tests.simulated import SimulatedStack

pytestmark = pytest.mark.engine

AWS = {"zone": "us-east-1a", "instanceType": "p5.48xlarge"}
ASG, INSTANCE = "aws:autoscaling/group:Group", "aws:ec2/instance:Instance"


def fabric(nodes: int, **changes: Any) -> dict[str, Any]:
    return {"aws": {**AWS, "nodes": nodes, **changes}}


def identities(stack: SimulatedStack) -> dict[str, str]:
    """URN → id of everything that a provider manages."""
    return {one["urn"]: one["id"] for one in stack.resources() if one.get("custom") and one.get("id")}


def changed(stack: SimulatedStack, before: dict[str, str]) -> set[str]:
    """Names of what was made, replaced or removed since `before`."""
    now = identities(stack)
    different = {urn for urn in before.keys() | now.keys() if before.get(urn) != now.get(urn)}
    return {urn.rpartition("::")[2] for urn in different}


@pytest.mark.parametrize("nodes_as", ["fleet", "instances"])
def test_up_no_change_scale_up_and_down_and_destroy_leave_the_simulated_cloud_empty(
    simulated: SimulatedStack, nodes_as: str
) -> None:
    simulated.configure(fabric(4, nodesAs=nodes_as))
    planned = simulated.ok("preview")
    assert "simulated aws: no account is touched" in planned
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")

    first = identities(simulated)
    simulated.configure(fabric(6, nodesAs=nodes_as))
    simulated.ok("up")
    new_nodes = {"train-aws-004", "train-aws-005"} if nodes_as == "instances" else set()
    assert changed(simulated, first) == new_nodes
    simulated.ok("preview", "--expect-no-changes")
    instances = [one for one in simulated.holdings() if one["kind"] == INSTANCE]
    assert len(instances) == 6

    simulated.configure(fabric(2, nodesAs=nodes_as))
    simulated.ok("up")
    gone = {"train-aws-002", "train-aws-003"} if nodes_as == "instances" else set()
    assert changed(simulated, first) == gone

    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_outputs_are_usable_at_once(simulated: SimulatedStack) -> None:
    simulated.configure(fabric(3, nodesAs="instances"))
    simulated.ok("up")
    aws = simulated.outputs()["aws"]
    assert aws["fabric"]["efaGbpsPerNode"] == 3200
    assert len(aws["privateAddresses"]) == 3
    assert all(address.startswith("10.100.") for address in aws["privateAddresses"])
    assert set(aws["launch"]) == {"nodes", "session", "hostfile"}
    assert ",".join(aws["instances"]) in aws["launch"]["nodes"]


def test_new_user_data_reaches_no_running_node_by_default(simulated: SimulatedStack) -> None:
    simulated.configure(fabric(2, nodesAs="instances"))
    simulated.ok("up")
    before = identities(simulated)
    simulated.configure(fabric(2, nodesAs="instances", bootstrap={"after": ["echo later"]}))
    assert "Of the nodes, train-aws-000 … train-aws-001 keep what they have" in simulated.ok("up")
    assert changed(simulated, before) == set()
    # A tag that a node itself wrote would not be drift either.
    simulated.configure(fabric(2, nodesAs="instances", bootstrap={"after": ["echo later"], "stateTag": True}))
    simulated.ok("up")
    assert changed(simulated, before) == {"train-aws-state-tag"}


def test_a_changed_image_of_a_fleet_says_at_preview_what_becomes_of_its_nodes(
    simulated: SimulatedStack,
) -> None:
    simulated.configure(fabric(3))
    simulated.ok("up")
    simulated.configure(fabric(3, image={"amiId": "ami-0123456789abcdef0"}))
    for command in ("preview", "up"):
        assert (
            "train-aws-node: image will change in the launch template. The nodes of train-aws-fleet keep what they "
            "have; nodes that start later get the new."
        ) in simulated.ok(command)
    assert "start-instance-refresh" in simulated.outputs()["aws"]["launch"]["refresh"]
    simulated.configure(fabric(5, image={"amiId": "ami-0123456789abcdef0"}))
    assert "will change in the launch template" not in simulated.ok("preview")


def test_with_replace_the_plan_names_every_node_that_new_user_data_replaces(
    simulated: SimulatedStack,
) -> None:
    simulated.configure(fabric(2, nodesAs="instances", updates="replace"))
    simulated.ok("up")
    before = identities(simulated)
    simulated.configure(
        fabric(2, nodesAs="instances", updates="replace", bootstrap={"after": ["echo later"]})
    )
    planned = simulated.ok("preview")
    for node in ("train-aws-000", "train-aws-001"):
        assert any(node in line and "replace" in line for line in planned.splitlines()), planned
    assert "terminates and replaces the nodes of every instance" in planned
    simulated.ok("up")
    assert changed(simulated, before) == {"train-aws-000", "train-aws-001"}


def test_a_network_without_internet_lives_and_goes(simulated: SimulatedStack) -> None:
    simulated.configure(fabric(2, network={"internet": "endpoints"}))
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


@pytest.mark.parametrize("nodes_as", ["fleet", "instances"])
def test_another_zone_and_another_address_block_move_the_whole_cluster(
    simulated: SimulatedStack, nodes_as: str
) -> None:
    simulated.configure(fabric(2, nodesAs=nodes_as))
    simulated.ok("up")
    for change in ({"zone": "us-east-1b"}, {"zone": "us-east-1b", "network": {"cidr": "10.101.0.0/16"}}):
        simulated.configure(fabric(2, nodesAs=nodes_as, **change))
        node = "train-aws-fleet" if nodes_as == "fleet" else "train-aws-000"
        planned = simulated.ok("preview")
        assert any(node in line and "replace" in line for line in planned.splitlines()), planned
        simulated.ok("up")
        simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


@pytest.mark.parametrize("nodes", [2, 256, 1_000])
def test_a_fleet_is_at_most_45_resources(simulated: SimulatedStack, nodes: int) -> None:
    simulated.configure(fabric(nodes))
    planned = simulated.ok("preview")
    count = int(next(line for line in planned.splitlines() if "to create" in line).split()[1])
    assert count <= 45


def test_the_stack_file_is_never_written(simulated: SimulatedStack) -> None:
    simulated.configure(fabric(2))
    path = simulated.project / "Pulumi.dev.yaml"
    before = path.read_bytes()
    simulated.ok("preview")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("nodes_as", "said"),
    [
        # An Auto Scaling group reports its activity's message, an instance the code of RunInstances.
        (
            "fleet",
            "We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested",
        ),
        ("instances", "InsufficientInstanceCapacity"),
    ],
)
def test_no_capacity_is_said_in_ec2s_words_and_one_more_up_finishes_the_work(
    simulated: SimulatedStack, nodes_as: str, said: str
) -> None:
    simulated.configure(fabric(2, nodesAs=nodes_as))
    simulated.ok("preview")
    switch = {"capacity": [{"size": "p5.48xlarge", "place": "us-east-1a"}]}
    simulated.simulation.faults.write_text(json.dumps(switch))
    failed = simulated.run("up")
    assert failed.returncode != 0
    assert said in failed.stdout
    simulated.simulation.faults.unlink()
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_an_encrypted_variable_is_a_secret_in_the_state_and_in_no_report(simulated: SimulatedStack) -> None:
    simulated.configure(fabric(2))
    simulated.ok("preview")
    path = "gpu-fabric:fabric.aws.nccl.environment.WANDB_API_KEY"
    done = simulated.pulumi(
        "config", "set", "--secret", "--path", path, "hunter2secretvalue", "--stack", "dev"
    )
    assert done.returncode == 0, done.stderr
    said = simulated.run("up")
    assert said.returncode == 0, said.stdout
    (template,) = [
        one for one in simulated.resources() if one["type"] == "aws:ec2/launchTemplate:LaunchTemplate"
    ]
    assert "ciphertext" in template["inputs"]["userData"]
    report = (simulated.project / "reports" / "dev.md").read_text()
    shown = said.stdout + said.stderr + report
    assert "WANDB_API_KEY" in report
    assert "hunter2secretvalue" not in shown
    assert PLACEHOLDER not in shown
