"""The file of every size with a known layout, and of sizes nobody sells: what a strict reader makes of it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.hardware import NodeSize, get_size, load_sizes
from gpu_fabric.nccl.topology import Topology, from_catalog, parse, to_xml
from gpu_fabric.nccl.topology.lint import lint
from gpu_fabric.nccl.topology.paths import all_paths
from tests.nccl.topology import nccl_reader
from tests.nccl.topology.layouts import FEWER, invented_sizes

WITH_LAYOUT = [name for name, size in load_sizes().items() if size.pci is not None]


def topology_of(size: NodeSize) -> Topology:
    topology = from_catalog(size)
    assert topology is not None
    return topology


def graph_of(text: str) -> nccl_reader.Graph:
    graph = nccl_reader.read(text)
    assert graph is not None
    return graph


def test_the_sizes_with_a_known_layout() -> None:
    assert WITH_LAYOUT == [
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.48xlarge",
        "p5e.48xlarge",
        "Standard_ND96asr_v4",
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
    ]


def test_a_size_without_a_known_layout_has_no_file() -> None:
    assert [name for name, size in load_sizes().items() if from_catalog(size) is None] == [
        name for name in load_sizes() if name not in WITH_LAYOUT
    ]


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_the_file_of_each_size(name: str, snapshot: SnapshotAssertion) -> None:
    assert to_xml(topology_of(get_size(name))) == snapshot


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_a_strict_reader_takes_it_with_every_gpu_and_nic_once(name: str) -> None:
    size = get_size(name)
    graph = graph_of(to_xml(topology_of(size)))
    assert len({device.busid for device in graph.devices}) == len(graph.devices)
    assert len(graph.of("GPU")) == size.gpu.count
    assert len(graph.of("NIC")) == size.fabric_ports
    assert len(graph.cpus) == size.numa_nodes


#: (NICs at PIX of each GPU, GB/s of a NIC's link, GB/s between sockets is in the tests of paths)
OWN_NICS = {
    "p4d.24xlarge": (1, 12),
    "p4de.24xlarge": (1, 12),
    "p5.48xlarge": (4, 48),
    "p5e.48xlarge": (4, 48),
    "Standard_ND96asr_v4": (2, 24),
    "Standard_ND96amsr_A100_v4": (2, 24),
    "Standard_ND96isr_H100_v5": (1, 48),
    "Standard_ND96isr_H200_v5": (1, 48),
}


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_every_own_nic_of_a_gpu_is_pix_at_the_full_rate_of_its_link(name: str) -> None:
    graph = graph_of(to_xml(topology_of(get_size(name))))
    count, gigabytes = OWN_NICS[name]
    for gpu in graph.of("GPU"):
        own = [nic for nic in graph.of("NIC") if graph.path(gpu, nic) == "PIX"]
        assert len(own) == count, gpu.busid
        assert {nic.gigabytes for nic in own} == {gigabytes}


#: First and last CPU of each NUMA node, as the vendors' files give them.
CPUS = {
    "p4d.24xlarge": [{*range(24), *range(48, 72)}, {*range(24, 48), *range(72, 96)}],
    "p4de.24xlarge": [{*range(24), *range(48, 72)}, {*range(24, 48), *range(72, 96)}],
    "p5.48xlarge": [set(), set()],
    "p5e.48xlarge": [set(), set()],
    "Standard_ND96asr_v4": [{*range(24 * n, 24 * n + 24)} for n in range(4)],
    "Standard_ND96amsr_A100_v4": [{*range(24 * n, 24 * n + 24)} for n in range(4)],
    "Standard_ND96isr_H100_v5": [{*range(48)}, {*range(48, 96)}],
    "Standard_ND96isr_H200_v5": [{*range(48)}, {*range(48, 96)}],
}


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_the_cpus_of_each_numa_node_are_those_of_the_vendor(name: str) -> None:
    graph = graph_of(to_xml(topology_of(get_size(name))))
    assert [cpu.cpus for cpu in graph.cpus] == CPUS[name]


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_invented_switches_carry_a_class_and_nothing_carries_keep(name: str) -> None:
    text = to_xml(topology_of(get_size(name)))
    assert "keep" not in text
    for line in text.splitlines():
        if 'busid="ffff:' in line:
            assert 'class="0x060400"' in line


# --- sizes nobody sells


@FEWER
@given(invented_sizes())
def test_the_file_of_any_layout_is_taken_by_a_strict_reader(size: NodeSize) -> None:
    assert size.pci is not None
    graph = graph_of(to_xml(topology_of(size)))
    switches = [switch for node in size.pci.numa_nodes for switch in node.switches]
    assert sorted(device.busid for device in graph.of("GPU")) == sorted(b for s in switches for b in s.gpus)
    assert sorted(device.busid for device in graph.of("NIC")) == sorted(b for s in switches for b in s.nics)
    for switch in switches:
        gpus = [device for device in graph.of("GPU") if device.busid in switch.gpus]
        nics = [device for device in graph.of("NIC") if device.busid in switch.nics]
        assert all(graph.path(gpu, nic) == "PIX" for gpu in gpus for nic in nics)


@FEWER
@given(invented_sizes())
def test_a_topology_survives_the_way_to_the_file_and_back(size: NodeSize) -> None:
    topology = topology_of(size)
    text = to_xml(topology)
    assert parse(text) == topology
    assert to_xml(parse(text)) == text


@FEWER
@given(invented_sizes())
def test_the_paths_are_those_that_the_reader_finds(size: NodeSize) -> None:
    topology = topology_of(size)
    graph = graph_of(to_xml(topology))
    devices = {device.busid: device for device in graph.devices}
    paths = all_paths(topology)
    assert len(paths) == size.gpu.count * size.fabric_ports
    assert all(path.type.name == graph.path(devices[path.gpu], devices[path.nic]) for path in paths)


@FEWER
@given(invented_sizes())
def test_the_lint_finds_nothing_in_the_file_of_any_layout(size: NodeSize) -> None:
    found = Counter(finding.code for finding in lint(to_xml(topology_of(size)), size=size))
    # 64 NICs with what NCCL adds for each come near its limit, which is worth saying.
    assert set(found) <= {"topology-element-limit-near"}
