"""docs/topology.md says of each size what the catalog says, and its picture and commands are those of today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_fabric.nccl.hardware import NodeSize, get_size, load_sizes
from gpu_fabric.nccl.topology import from_catalog, to_xml
from gpu_fabric.nccl.topology.draw import to_svg
from gpu_fabric.nccl.topology.paths import PathType, all_paths
from gpu_fabric.nccl.topology.values import LINK_SPEEDS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "topology.md").read_text(encoding="utf-8")


def row(size: NodeSize) -> str:
    """The size's line in the page's table."""
    topology = from_catalog(size)
    if topology is None or size.pci is None:
        return f"| `{size.name}` | none | | | {size.topology_note} |"
    own = [path for path in all_paths(topology) if path.type is PathType.PIX]
    shape = f"{len(topology.cpus)} CPU nodes, {size.gpu.count} GPUs, {size.fabric_ports} NICs"
    use = "active" if size.topology_active else "installed, used by choice"
    rate = f"{len(own) // size.gpu.count} at {own[0].gigabytes_per_second:g} GB/s"
    return f"| `{size.name}` | {use} | {shape} | {rate} | {size.topology_note} |"


@pytest.mark.parametrize("name", load_sizes())
def test_the_page_has_the_line_of_each_size(name: str) -> None:
    assert row(get_size(name)) in PAGE.splitlines(), f"write into docs/topology.md:\n{row(get_size(name))}"


def test_the_page_has_no_line_of_a_size_that_is_gone() -> None:
    assert re.findall(r"^\| `([\w.-]+)` \| (?:none|active|installed)", PAGE, re.MULTILINE) == [*load_sizes()]


def test_the_picture_is_the_one_that_the_command_draws_today() -> None:
    topology = from_catalog(get_size("p5.48xlarge"))
    assert topology is not None
    assert (DOCS / "pictures" / "topology-p5.svg").read_text(encoding="utf-8") == to_svg(topology)


def test_every_spelling_of_a_link_speed_is_listed() -> None:
    for speed in LINK_SPEEDS:
        assert f"`{speed}`" in PAGE


def test_the_example_file_is_the_beginning_of_the_real_one() -> None:
    topology = from_catalog(get_size("Standard_ND96isr_H100_v5"))
    assert topology is not None
    (shown,) = re.findall(r"```xml\n(.*?)```", PAGE, re.DOTALL)
    assert to_xml(topology).startswith(shown)
