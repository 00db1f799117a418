"""Drawings of a topology: a tree of text, and an SVG."""

from __future__ import annotations

import itertools
import re

import pytest
from defusedxml import ElementTree
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.hardware import NodeSize, get_size, load_sizes
from gpu_fabric.nccl.topology import Topology, from_catalog, parse
from gpu_fabric.nccl.topology.draw import to_svg, to_text
from tests.nccl.topology.layouts import FEWER, invented_sizes

SVG = "{http://www.w3.org/2000/svg}"
WITH_LAYOUT = [name for name, size in load_sizes().items() if size.pci is not None]


def topology_of(name: str) -> Topology:
    topology = from_catalog(get_size(name))
    assert topology is not None
    return topology


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p5.48xlarge", "Standard_ND96isr_H100_v5"])
def test_the_tree_of_a_size(name: str, snapshot: SnapshotAssertion) -> None:
    assert to_text(topology_of(name)) == snapshot


def test_the_tree_of_a_dumped_file(snapshot: SnapshotAssertion) -> None:
    text = (
        '<system version="1"><cpu numaid="0" arch="arm64"><pci busid="0000:01:00.0" class="0x060400" link_width="8">'
        '<pci busid="0000:02:00.0" class="0x030200"/><pci busid="0000:03:00.0" class="0x020700" link_speed="16 GT/s">'
        '<nic><net name="mlx5_0" speed="400000"/></nic></pci></pci><nic><net dev="7"/></nic></cpu></system>'
    )
    assert to_text(parse(text)) == snapshot


def labels(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_the_picture_of_a_size_shows_every_gpu_and_nic_once(name: str) -> None:
    size = get_size(name)
    drawn = labels(to_svg(topology_of(name)))
    assert sorted(label for label in drawn if label.startswith("GPU ")) == [f"GPU {n}" for n in range(8)]
    assert drawn.count("NIC") == size.fabric_ports
    for pci in (*topology_of(name).gpus(), *topology_of(name).nics()):
        assert sum(label.startswith(pci.busid) for label in drawn) == 1


@FEWER
@given(invented_sizes())
def test_the_boxes_of_a_picture_lie_inside_it_and_never_on_each_other(size: NodeSize) -> None:
    topology = from_catalog(size)
    assert topology is not None
    root = ElementTree.fromstring(to_svg(topology))
    width, height = int(root.get("width")), int(root.get("height"))
    boxes = [
        tuple(float(rect.get(key)) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("rx") == "3"
    ]
    assert len(boxes) == len(set(boxes)) == sum(1 for _ in topology.devices())
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
    for (x, y, w, h), (u, v, width, height) in itertools.combinations(boxes, 2):
        assert x + w <= u or u + width <= x or y + h <= v or v + height <= y


def test_the_words_of_a_stranger_do_not_become_markup() -> None:
    topology = Topology(name='<script>alert("1")</script>')
    assert "<script>" not in to_svg(topology)
    assert labels(to_svg(topology)) == ['<script>alert("1")</script>']


def test_a_long_name_is_cut_so_that_it_stays_in_its_box() -> None:
    text = (
        '<system version="1"><cpu numaid="0"><nic><net name="a-very-long-device-name"/></nic></cpu></system>'
    )
    assert "net a-very-lo…" in labels(to_svg(parse(text)))


def test_an_empty_topology_is_drawn_as_such() -> None:
    assert to_text(Topology()) == "unnamed topology\n"
    assert re.match(r'<svg xmlns="http://www.w3.org/2000/svg" width="\d+"', to_svg(Topology()))
