"""A stack with Azure nodes on the real engine against simulated clouds, as `make` runs it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulated import SimulatedStack

pytestmark = pytest.mark.engine

AZURE = {"vmSize": "Standard_ND96isr_H100_v5", "location": "eastus"}
AWS = {"zone": "us-east-1a", "instanceType": "p5.48xlarge"}
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
EVERYTHING = {
    "zone": "1",
    "placement": {"group": "create", "intentSizes": [AZURE["vmSize"]]},
    "network": {"bastion": True},
    "access": {"findPeers": True},
    "capacity": {"kind": "spot", "eviction": "delete"},
    "bootstrap": {"before": ["true"], "containers": True, "stateTag": True},
}
INSTANCES = {"nodesAs": "instances", "bootstrap": {"stateTag": True}}


def azure(nodes: int, **changes: Any) -> dict[str, Any]:
    return {"azure": {**AZURE, "nodes": nodes, **changes}}


def identities(stack: SimulatedStack) -> dict[str, str]:
    """URN → id of everything that a provider manages."""
    return {one["urn"]: one["id"] for one in stack.resources() if one.get("custom") and one.get("id")}


def changed(stack: SimulatedStack, before: dict[str, str]) -> set[str]:
    """Names of what was made, replaced or removed since `before`."""
    now = identities(stack)
    different = {urn for urn in before.keys() | now.keys() if before.get(urn) != now.get(urn)}
    return {urn.rpartition("::")[2] for urn in different}


def test_both_clouds_are_one_plan_and_end_empty(simulated: SimulatedStack) -> None:
    def both(nodes: int) -> dict[str, Any]:
        return {**azure(nodes), "aws": {**AWS, "nodes": 4}}

    simulated.configure(both(4))
    planned = simulated.ok("preview")
    assert "train-aws-fleet" in planned
    assert "train-azure-fleet" in planned
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")
    first = identities(simulated)
    for nodes in (8, 4):
        simulated.configure(both(nodes))
        done = simulated.ok("up")
        assert [line for line in done.splitlines() if "replace" in line and "train" in line] == []
        assert changed(simulated, first) == set()
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


@pytest.mark.parametrize("changes", [EVERYTHING, INSTANCES], ids=["everything", "instances"])
def test_every_shape_lives_scales_and_goes_with_nothing_else_replaced(
    simulated: SimulatedStack, changes: dict[str, Any]
) -> None:
    simulated.configure(azure(2, **changes))
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")
    first = identities(simulated)
    simulated.configure(azure(4, **changes))
    simulated.ok("up")
    more = {"train-azure-002", "train-azure-003", "train-azure-002-state-tag", "train-azure-003-state-tag"}
    assert changed(simulated, first) == (more if "nodesAs" in changes else set())
    simulated.configure(azure(2, **changes))
    simulated.ok("up")
    assert changed(simulated, first) == set()
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_a_changed_image_says_at_preview_what_becomes_of_which_nodes(simulated: SimulatedStack) -> None:
    simulated.configure(azure(3))
    simulated.ok("up")
    fleet = simulated.outputs()["azure"]["fleet"]
    simulated.configure(azure(3, image={"urn": "microsoft-dsvm:ubuntu-hpc:2404:latest"}))
    for command in ("preview", "up"):
        said = simulated.ok(command)
        assert (
            f"train-azure-fleet: image will change in the scale set's model. The 3 nodes of {fleet} keep what they "
            "have; nodes that start later get the new."
        ) in said
        assert (
            f"az vmss update-instances --resource-group {simulated.outputs()['azure']['resourceGroup']}"
            in said
        )
    simulated.configure(azure(5, image={"urn": "microsoft-dsvm:ubuntu-hpc:2404:latest"}))
    assert "will change in the scale set's model" not in simulated.ok("preview")


def test_with_replace_the_plan_names_the_scale_set_before_it_goes(simulated: SimulatedStack) -> None:
    simulated.configure(azure(2, updates="replace"))
    simulated.ok("up")
    before = identities(simulated)
    simulated.configure(azure(2, updates="replace", bootstrap={"after": ["echo later"]}))
    planned = simulated.ok("preview")
    assert any("train-azure-fleet" in line and "replace" in line for line in planned.splitlines())
    assert "deletes the scale set train-azure-fleet and all its nodes and makes them anew" in planned
    simulated.ok("up")
    assert changed(simulated, before) == {"train-azure-fleet"}


def test_single_nodes_that_are_kept_are_left_alone_and_with_replace_each_is_named(
    simulated: SimulatedStack,
) -> None:
    later = {"bootstrap": {"after": ["echo later"]}, "nodesAs": "instances"}
    simulated.configure(azure(2, nodesAs="instances"))
    simulated.ok("up")
    before = identities(simulated)
    simulated.configure(azure(2, **later))
    assert "does nothing to train-azure-000 … train-azure-001 where they exist" in simulated.ok("up")
    assert changed(simulated, before) == set()
    simulated.configure(
        azure(2, **later, updates="replace", image={"urn": "microsoft-dsvm:ubuntu-hpc:2404:latest"})
    )
    planned = simulated.ok("preview")
    for node in ("train-azure-000", "train-azure-001"):
        assert any(node in line and "replace" in line for line in planned.splitlines()), planned
    simulated.ok("up")
    machines = {one["urn"] for one in simulated.resources() if one["type"] == MACHINE}
    assert {urn for urn in identities(simulated) if urn in machines} == machines
    # The addresses stay: a node's interface is not what was replaced.
    assert simulated.outputs()["azure"]["privateAddresses"] == ["10.200.24.0", "10.200.24.1"]


def test_a_fleet_gives_way_to_single_nodes_and_back(simulated: SimulatedStack) -> None:
    simulated.configure(azure(3))
    simulated.ok("up")
    simulated.configure(azure(3, nodesAs="instances"))
    simulated.ok("up")
    assert len([one for one in simulated.resources() if one["type"] == MACHINE]) == 3
    simulated.configure(azure(3))
    simulated.ok("up")
    assert [one for one in simulated.resources() if one["type"] == MACHINE] == []
    assert len([one for one in simulated.resources() if one["type"] == SCALE_SET]) == 1


@pytest.mark.parametrize("nodes", [1, 100])
def test_a_fleet_is_at_most_30_azure_resources(simulated: SimulatedStack, nodes: int) -> None:
    simulated.configure(azure(nodes, **EVERYTHING))
    planned = simulated.ok("preview")
    count = int(next(line for line in planned.splitlines() if "to create" in line).split()[1])
    assert count <= 30


def test_the_private_key_is_a_secret_in_the_state_and_in_what_is_shown(simulated: SimulatedStack) -> None:
    simulated.configure(azure(1))
    shown = simulated.ok("up")
    assert "PRIVATE KEY" not in shown
    assert "PRIVATE KEY" not in str(simulated.exported())
    assert simulated.outputs()["azure"]["sshPrivateKey"] == "[secret]"


@pytest.mark.parametrize("nodes_as", ["fleet", "instances"])
def test_other_address_blocks_are_another_network_with_the_nodes_moved(
    simulated: SimulatedStack, nodes_as: str
) -> None:
    simulated.configure(azure(2, nodesAs=nodes_as, network={"bastion": True}))
    simulated.ok("up")
    moved = {"bastion": True, "cidr": "10.201.0.0/16"}
    simulated.configure(azure(2, nodesAs=nodes_as, network=moved))
    planned = simulated.ok("preview")
    node = "train-azure-fleet" if nodes_as == "fleet" else "train-azure-000"
    assert any(node in line and "replace" in line for line in planned.splitlines()), planned
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []
