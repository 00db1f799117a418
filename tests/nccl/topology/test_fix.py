"""Mending a topology file: what is plain is mended, what is not stays, and NCCL reads the result."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.hardware import NodeSize, get_size
from gpu_fabric.nccl.topology import from_catalog, parse, to_xml
from gpu_fabric.nccl.topology.fix import fix
from gpu_fabric.nccl.topology.lint import lint
from tests.nccl.topology import nccl_reader
from tests.nccl.topology.cases import AT_THE_BORDER, BROKEN, GOOD, NET, NIC, Case, changed
from tests.nccl.topology.layouts import FEWER, invented_sizes

GUIDE = Path(__file__).parents[2] / "data" / "guide" / "nccl-topo-p5.xml"

MENDED = {
    "topology-declaration",
    "topology-doctype",
    "topology-byte-order-mark",
    "topology-tab",
    "topology-tab-in-name",
    "topology-tag-over-lines",
    "topology-spaces-around-equals",
    "topology-space-before-equals",
    "topology-unquoted-value",
    "topology-attributes-run-together",
    "topology-stray-slash",
    "topology-space-in-closing-tag",
    "topology-comment-equals",
    "topology-single-quotes",
    "topology-stray-space",
    "topology-entity",
    "topology-version-missing",
    "topology-element-misplaced",
    "topology-attribute-overflow",
    "topology-attributes-dropped",
    "topology-many-attributes",
    "topology-attribute-unknown",
    "topology-keep",
    "topology-arch-unknown",
    "topology-affinity-ranges",
    "topology-affinity-words",
    "topology-busid-spelling",
    "topology-class-missing",
    "topology-link-speed-unknown",
    "topology-link-width",
}


@pytest.mark.parametrize("case", [case for case in BROKEN if case.code in MENDED], ids=lambda case: case.code)
def test_what_is_plain_is_mended_and_nccl_takes_the_result(case: Case) -> None:
    mended = fix(case.text)
    assert case.code not in [finding.code for finding in lint(mended)]
    # Of too many attributes some may remain, which is then the lesser finding.
    before = {f.code for f in lint(case.text)} | {"topology-many-attributes"}
    assert {f.code for f in lint(mended)} <= before, "mending breaks nothing else"
    graph = nccl_reader.read(mended)
    assert graph is not None
    assert [len(graph.of("GPU")), len(graph.of("NIC"))] == [1, 1]


@pytest.mark.parametrize(
    "case", [case for case in BROKEN if case.code not in MENDED], ids=lambda case: case.code
)
def test_what_has_several_readings_stays_and_is_still_reported(case: Case) -> None:
    mended = fix(case.text)
    assert mended == case.text
    assert case.code in [finding.code for finding in lint(mended)]


@pytest.mark.parametrize("case", [*BROKEN, *AT_THE_BORDER], ids=lambda case: case.code)
def test_mending_twice_is_mending_once(case: Case) -> None:
    assert fix(fix(case.text)) == fix(case.text)


@pytest.mark.parametrize("text", [GOOD, "", "<", "<!-- nothing -->", GOOD.replace("\n", "\r\n")])
def test_a_text_without_anything_to_mend_stays_the_same_to_the_byte(text: str) -> None:
    assert fix(text) == text


@FEWER
@given(invented_sizes())
def test_our_own_files_are_not_touched(size: NodeSize) -> None:
    topology = from_catalog(size)
    assert topology is not None
    assert fix(to_xml(topology), size) == to_xml(topology)


def test_the_guides_file(snapshot: SnapshotAssertion) -> None:
    assert fix(GUIDE.read_text()) == snapshot


def test_mending_the_guides_file_makes_no_new_finding() -> None:
    before, after = (
        [entry.code for entry in lint(text)] for text in (GUIDE.read_text(), fix(GUIDE.read_text()))
    )
    assert set(after) <= set(before)
    assert "<net" not in fix(GUIDE.read_text()), "NCCL ignored it, and ignores nothing of the mended file"


@pytest.mark.parametrize(
    ("attributes", "stays"),
    [(NET, True), ('dev="0" gdr="1"', False), ('name="mlx5_0"', False), ('dev="0" speed="400000"', False)],
)
def test_a_net_out_of_place_is_put_into_a_nic_only_if_it_has_what_nccl_needs_there(
    attributes: str, stays: bool
) -> None:
    text = changed(NIC, NIC.removesuffix("/>") + f"><!-- port --><net {attributes}/><!-- end --></pci>")
    mended = fix(text)
    assert ("<net " in mended) is stays
    assert mended.index("<!-- port -->") < mended.index("<!-- end -->")
    assert [entry.code for entry in lint(mended)] == []


def test_a_host_bridge_is_not_made_a_switch() -> None:
    text = changed('busid="ffff:ff:01.0" class="0x060400"', 'busid="0000:00:00.0"')
    assert fix(text) == text
    assert "topology-class-missing" in [entry.code for entry in lint(text)]


def test_comments_stay_where_they_were() -> None:
    text = changed("    <pci", "    <!--switch-->\n    <pci").replace(
        "<system", "<!-- by hand -->\n<system", 1
    )
    text = text.replace("</system>", "<!-- the end -->\n</system>\n<!-- after -->").replace(
        "  <cpu", "\t<cpu"
    )
    assert fix(text) == (
        GOOD.replace("<system", "<!-- by hand -->\n<system", 1)
        .replace("    <pci", "    <!-- switch-->\n    <pci", 1)
        .replace("</system>", "  <!-- the end -->\n</system>\n<!-- after -->")
    )


def test_swapped_masks_are_put_right_where_the_bus_ids_give_the_size_away() -> None:
    topology = from_catalog(get_size("Standard_ND96isr_H100_v5"))
    assert topology is not None
    low, high = (cpu.affinity or "" for cpu in topology.cpus)
    swapped = to_xml(topology).replace(low, "\0").replace(high, low).replace("\0", high)
    assert fix(swapped) == to_xml(topology)


def test_a_value_that_nccl_could_not_read_back_is_left_alone() -> None:
    text = changed('name="good"', 'name="a &quot;good&quot; one"')
    assert fix(text) == text


def test_a_mended_file_parses_to_what_was_meant() -> None:
    text = changed("0000:10:00.0", "10:00.0").replace("32.0 GT/s PCIe", "Gen5").replace('"000000ff"', '"0-7"')
    assert parse(fix(text)) == parse(GOOD)
