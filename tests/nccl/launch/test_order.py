"""The order of ranks: nodes under one switch are adjacent, at every layer, whatever order the cloud answers in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.launch import LaunchNode, in_network_order, with_layers, with_torsets
from gpu_fabric.nccl.launch.order import natural, normal_guid, read_guids, unplaced
from tests.nccl.launch.recorded import FOUR_LAYERS, GUIDS, SHARP, THREE_LAYERS


def nodes_of(answer: dict[str, Any]) -> list[LaunchNode]:
    nodes = [
        LaunchNode(f"10.0.0.{number}", id=instance["InstanceId"], cloud="aws")
        for number, instance in enumerate(answer["Instances"], 1)
    ]
    return with_layers(nodes, [answer])


def adjacent(nodes: Sequence[LaunchNode]) -> bool:
    """Whether, at every layer, the nodes under one switch follow each other."""
    deepest = max((len(node.layers) for node in nodes), default=0)
    for layer in range(1, deepest + 1):
        runs = [key for key, _ in itertools.groupby(node.layers[:layer] for node in nodes)]
        if len(runs) != len(set(runs)):
            return False
    return True


@pytest.mark.parametrize(
    ("answer", "order"),
    [(THREE_LAYERS, [1, 4, 3, 6, 2, 5]), (FOUR_LAYERS, [1, 3, 2, 5, 4, 6])],
)
def test_recorded_answers_give_an_order_in_which_near_nodes_are_adjacent(
    answer: dict[str, Any], order: list[int]
) -> None:
    nodes = in_network_order(nodes_of(answer))
    assert [int(node.address.rpartition(".")[2]) for node in nodes] == order
    assert adjacent(nodes)
    assert not adjacent(nodes_of(answer)), "as the cloud answers, they are not"


LAYERS = st.lists(st.sampled_from("abc"), min_size=3, max_size=4).map(
    lambda names: tuple(itertools.accumulate(names))
)
NODES = st.lists(
    st.tuples(LAYERS, st.sampled_from(["aws", "azure"])),
    min_size=1,
    max_size=40,
).map(
    lambda rows: [
        LaunchNode(
            f"10.0.{n // 200}.{n % 200}",
            name=f"n{n}",
            cloud=cloud,
            layers=tuple(f"{cloud}-{s}" for s in layers),
        )
        for n, (layers, cloud) in enumerate(rows)
    ]
)


@given(NODES, st.randoms(use_true_random=False))
def test_the_order_holds_for_any_tree_and_does_not_depend_on_the_input_order(
    nodes: list[LaunchNode], random: Any
) -> None:
    ordered = in_network_order(nodes)
    assert adjacent(ordered)
    assert sorted(ordered, key=lambda node: node.address) == sorted(nodes, key=lambda node: node.address)
    assert len([cloud for cloud, _ in itertools.groupby(node.cloud for node in ordered)]) <= 2
    shuffled = list(nodes)
    random.shuffle(shuffled)
    assert in_network_order(shuffled) == ordered


@given(NODES)
def test_nobody_shares_more_switches_with_a_node_than_the_next_in_line_does(nodes: list[LaunchNode]) -> None:
    def shared(one: LaunchNode, other: LaunchNode) -> int:
        pairs = zip(one.layers, other.layers, strict=False)
        return len([*itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)])

    ordered = in_network_order(nodes)
    for at, node in enumerate(ordered[:-1]):
        later = [shared(node, other) for other in ordered[at + 1 :]]
        assert later[0] == max(later)


def test_nodes_of_unknown_place_come_last_in_their_cloud_and_n9_before_n10() -> None:
    nodes = [
        LaunchNode("10.0.0.9", name="n10", cloud="aws"),
        LaunchNode("10.0.0.8", name="n9", cloud="aws"),
        LaunchNode("10.0.0.7", name="n1", cloud="aws", layers=("x", "y", "z")),
        LaunchNode("10.1.0.1", name="a", cloud="azure", layers=("q",)),
    ]
    ordered = in_network_order(nodes)
    assert [node.name for node in ordered] == ["n1", "n9", "n10", "a"]
    assert [node.name for node in unplaced(ordered)] == ["n9", "n10"]
    assert natural("n9") < natural("n10")


def test_an_instance_that_the_answer_leaves_out_has_no_layers() -> None:
    nodes = with_layers([LaunchNode("10.0.0.1", id="i-unknown")], [THREE_LAYERS])
    assert nodes[0].layers == ()


def test_azures_nodes_are_placed_by_the_leaf_that_most_of_their_ports_hang_on() -> None:
    nodes = [
        LaunchNode(f"10.0.0.{n}", name=name)
        for n, name in enumerate(("node-b", "node-a", "node-c", "node-x"), 1)
    ]
    placed = with_torsets(nodes, SHARP, read_guids(GUIDS))
    assert {node.name: node.layers for node in placed} == {
        "node-a": ("ibsw1", "ibsw2"),
        "node-b": ("ibsw1", "ibsw3"),
        "node-c": ("ibsw1", "ibsw2"),
        "node-x": (),
    }
    assert [node.name for node in in_network_order(placed)] == ["node-a", "node-c", "node-b", "node-x"]


@pytest.mark.parametrize(
    "text", ["0x00155dfffd341acb", "0x155DFFFD341ACB", " 155dfffd341acb", "0015:5dff:fd34:1acb"]
)
def test_port_guids_are_compared_without_their_padding(text: str) -> None:
    assert normal_guid(text) == "0x155dfffd341acb"
