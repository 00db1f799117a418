"""A topology cut down to some GPUs and the NICs that serve them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import NodeSize, get_size, load_sizes
from gpu_fabric.nccl.topology import Topology, TopologyError, from_catalog, to_xml
from gpu_fabric.nccl.topology.lint import lint
from gpu_fabric.nccl.topology.paths import nearest_nics
from gpu_fabric.nccl.topology.subset import gpu_order, gpus_of_subset, subset
from tests.nccl.topology import nccl_reader
from tests.nccl.topology.layouts import FEWER, invented_sizes


def topology_of(name: str) -> Topology:
    topology = from_catalog(get_size(name))
    assert topology is not None
    return topology


def test_gpus_are_numbered_by_bus_id_as_nvml_numbers_them() -> None:
    """On ND v4, NUMA node 0 holds GPUs 2 and 3, node 1 holds 0 and 1 (Azure/azurehpc pull request 687)."""
    topology = topology_of("Standard_ND96asr_v4")
    order = gpu_order(topology)
    by_cpu = [
        sorted(order.index(pci.busid) for switch in cpu.pcis for pci in switch.pcis if pci.kind == "gpu")
        for cpu in topology.cpus
    ]
    assert by_cpu == [[2, 3], [0, 1], [6, 7], [4, 5]]


@pytest.mark.parametrize(
    ("gpus", "nics", "cpus"),
    [
        ([0], ["0000:4f:00.0", "0000:50:00.0", "0000:51:00.0", "0000:52:00.0"], [0]),
        (["0000:97:00.0"], ["0000:93:00.0", "0000:94:00.0", "0000:95:00.0", "0000:96:00.0"], [1]),
    ],
)
def test_a_gpu_keeps_its_own_nics_and_its_cpu(
    gpus: list[int | str], nics: list[str], cpus: list[int]
) -> None:
    small = subset(topology_of("p5.48xlarge"), gpus)
    assert [pci.busid for pci in small.nics()] == nics
    assert [cpu.numaid for cpu in small.cpus] == cpus
    assert len(small.gpus()) == 1


def test_two_gpus_of_one_switch_share_its_nic() -> None:
    small = subset(topology_of("p4d.24xlarge"), [0, 1])
    assert [pci.busid for pci in small.gpus()] == ["0000:10:1c.0", "0000:10:1d.0"]
    assert [pci.busid for pci in small.nics()] == ["0000:10:1b.0"]


def test_all_gpus_give_the_whole_topology() -> None:
    topology = topology_of("Standard_ND96isr_H100_v5")
    assert subset(topology, list(range(8))) == topology


@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        ([8], "there is no GPU 8. The node has GPUs 0 to 7."),
        ([-1], "there is no GPU -1. The node has GPUs 0 to 7."),
        (["0000:00:00.0"], "no GPU has bus id '0000:00:00.0'. The node has 0001:00:00.0, 0002:00:00.0, "),
        ([], "a subset needs at least one GPU. The node has GPUs 0 to 7."),
    ],
)
def test_a_gpu_that_is_not_there_is_refused(gpus: list[int | str], message: str) -> None:
    with pytest.raises(TopologyError) as refused:
        subset(topology_of("Standard_ND96isr_H100_v5"), gpus)
    assert str(refused.value).startswith(message)


@FEWER
@given(invented_sizes(), st.data())
def test_a_subset_is_a_file_that_nccl_takes_with_the_chosen_gpus_and_their_nics(
    size: NodeSize, data: st.DataObject
) -> None:
    topology = from_catalog(size)
    assert topology is not None
    chosen = data.draw(st.sets(st.sampled_from(gpu_order(topology)), min_size=1))
    small = subset(topology, sorted(chosen))
    graph = nccl_reader.read(to_xml(small))
    assert graph is not None
    assert {device.busid for device in graph.of("GPU")} == chosen
    nearest = nearest_nics(topology)
    own = {nic for gpu in chosen for nic in nearest[gpu]}
    assert {device.busid for device in graph.of("NIC")} == own


@pytest.mark.parametrize("name", [name for name, size in load_sizes().items() if size.pci is not None])
@pytest.mark.parametrize("gpus", [[0], [0, 1], [7], [1, 2, 3, 4, 5, 6, 7]])
def test_the_lint_of_a_subset_expects_its_gpus_and_their_cards_alone(
    name: str, gpus: list[int | str]
) -> None:
    text = to_xml(subset(topology_of(name), gpus))
    assert [entry for entry in lint(text, size=get_size(name)) if entry.level.value != "note"] == []


def test_a_device_that_a_subset_lacks_of_its_own_is_still_missed() -> None:
    small = subset(topology_of("p5.48xlarge"), [0])
    text = to_xml(small).replace(small.nics()[0].busid, "0000:ee:00.0")
    found = [entry for entry in lint(text, size=get_size("p5.48xlarge")) if entry.level.value == "error"]
    assert [entry.code for entry in found] == ["topology-devices-missing", "topology-busid-unpublished"]
    assert "it has 3 of 4 NICs of p5.48xlarge" in found[0].what


def test_without_the_name_that_says_so_a_subset_is_an_incomplete_file() -> None:
    text = to_xml(replace(subset(topology_of("p5.48xlarge"), [0]), name=None))
    found = [entry.code for entry in lint(text, size=get_size("p5.48xlarge"))]
    assert found.count("topology-devices-missing") == 2


def test_the_name_says_which_gpus_are_left() -> None:
    topology = topology_of("p5.48xlarge")
    assert subset(topology, [1, 0]).name == "p5.48xlarge, only GPUs 0,1"
    assert gpus_of_subset("p5.48xlarge, only GPUs 0,1") == (0, 1)
    assert [gpus_of_subset(name) for name in (None, "", "p5.48xlarge", ", only GPUs x")] == [()] * 4
