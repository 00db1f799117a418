"""The lint of topology files: each rule on a file that breaks it, on one at the border, and on a real size."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.findings import Finding, Level
from gpu_fabric.nccl.hardware import get_size, load_sizes
from gpu_fabric.nccl.topology import TopologyError, from_catalog, parse, to_xml
from gpu_fabric.nccl.topology.lint import lint, lint_file
from gpu_fabric.nccl.topology.rules import RULES
from tests.nccl.topology import nccl_reader
from tests.nccl.topology.cases import AT_THE_BORDER, BROKEN, GOOD, Case

WITH_LAYOUT = [name for name, size in load_sizes().items() if size.pci is not None]
#: Rules that need a size or a file system; they have tests of their own below.
ELSEWHERE = {
    "topology-unreadable",
    "topology-affinity-of-another-node",
    "topology-busid-unpublished",
    "topology-devices-missing",
    "topology-device-moved",
    "topology-device-id",
    "topology-net-speed",
    "topology-layout-unknown",
}


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_a_good_file_has_no_finding() -> None:
    assert lint(GOOD) == []


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.code)
def test_a_broken_rule_is_reported_with_its_line(case: Case, snapshot: SnapshotAssertion) -> None:
    found = [finding for finding in lint(case.text, "topo.xml") if finding.code == case.code]
    assert [finding.line for finding in found][:1] == [case.line]
    assert all(finding.path == "topo.xml" for finding in found)
    first = found[0]
    assert {
        "level": first.level.value,
        "what": first.what,
        "remedy": first.remedy,
        "source": first.source,
    } == snapshot


@pytest.mark.parametrize("case", AT_THE_BORDER, ids=lambda case: case.code)
def test_a_rule_that_is_just_kept_is_not_reported(case: Case) -> None:
    assert case.code not in codes(lint(case.text))
    assert nccl_reader.read(case.text) is not None, "NCCL takes the file"


def test_every_rule_has_a_file_that_breaks_it() -> None:
    assert {case.code for case in BROKEN} | ELSEWHERE == set(RULES)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.code)
def test_what_is_said_to_be_rejected_is_rejected_by_the_reader_and_by_parse(case: Case) -> None:
    if RULES[case.code].rejected:
        with pytest.raises(nccl_reader.RejectedError):
            nccl_reader.read(case.text)
        if case.code not in BUILDING:
            with pytest.raises(TopologyError):
                parse(case.text)


#: RejectedError when the graph is built, which `parse` does not do: the attribute may still come from the host.
BUILDING = {
    "topology-model-missing",
    "topology-class-missing",
    "topology-nvlink-incomplete",
    "topology-c2c-incomplete",
}
#: Reported, and yet this file is rejected for what the rule says of a file that is read without a host.
REJECTED_ALONE = {"topology-left-to-host", "topology-link-missing"}
#: Rules about the limits of this check, not about NCCL's.
OWN_LIMITS = {"topology-too-large", "topology-reading-stopped"}


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.code)
def test_what_is_not_said_to_be_rejected_is_taken_by_the_reader(case: Case) -> None:
    if RULES[case.code].rejected or case.code in REJECTED_ALONE | OWN_LIMITS:
        return
    if case.code == "topology-attribute-overflow":
        with pytest.raises(nccl_reader.CrashError):
            nccl_reader.read(case.text)
        return
    nothing = case.code in ("topology-empty", "topology-root-not-system")
    assert (nccl_reader.read(case.text) is None) == nothing


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_our_own_file_of_each_size_has_no_finding(name: str) -> None:
    size = get_size(name)
    topology = from_catalog(size)
    assert topology is not None
    assert lint(to_xml(topology), name, size) == []
    assert lint(to_xml(topology), name) == []


# --- against the size's published layout


def xml_of(name: str) -> str:
    topology = from_catalog(get_size(name))
    assert topology is not None
    return to_xml(topology)


def exchanged(text: str, a: str, b: str) -> str:
    """The text with the two passages in each other's place."""
    return text.replace(a, "\0").replace(b, a).replace("\0", b)


NDV5_MASKS = ("00000000,0000ffff,ffffffff", "ffffffff,ffff0000,00000000")


@pytest.mark.parametrize("size", ["Standard_ND96isr_H100_v5", None])
def test_the_swapped_masks_of_old_ndv5_files_are_found_with_and_without_the_size(size: str | None) -> None:
    swapped = exchanged(xml_of("Standard_ND96isr_H100_v5"), *NDV5_MASKS)
    found = lint(swapped, "topo.xml", get_size(size) if size else None)
    assert codes(found) == ["topology-affinity-of-another-node"] * 2
    assert [finding.level for finding in found] == [Level.ERROR] * 2
    assert found[0].line == 2
    assert found[0].what == (
        "The CPU masks are those of other NUMA nodes: threads run on the socket far from their GPU: numaid 0 has CPUs "
        "48-95, and its devices are near others."
    )
    assert found[0].remedy == 'Write `affinity="00000000,0000ffff,ffffffff"`, CPUs 0-47.'


def test_masks_that_differ_without_being_another_nodes_are_left_alone() -> None:
    narrowed = xml_of("Standard_ND96isr_H100_v5").replace(NDV5_MASKS[0], "00000000,00000000,ffffffff")
    assert lint(narrowed, "topo.xml", get_size("Standard_ND96isr_H100_v5")) == []


def test_a_bus_id_that_the_size_does_not_have_is_reported_and_the_missing_one_named() -> None:
    moved = xml_of("p4d.24xlarge").replace("0000:10:1c.0", "0000:11:1c.0")
    found = lint(moved, "topo.xml", get_size("p4d.24xlarge"))
    assert codes(found) == ["topology-devices-missing", "topology-busid-unpublished"]
    assert found[0].what.endswith("it has 7 of 8 GPUs of p4d.24xlarge and lacks 0000:10:1c.0.")
    assert found[1].line == 4
    assert "0000:11:1c.0 on p4d.24xlarge" in found[1].what


def test_the_file_of_another_size_is_told_by_the_ids_of_its_devices() -> None:
    found = lint(xml_of("p4d.24xlarge"), "topo.xml", get_size("p4de.24xlarge"))
    assert codes(found) == ["topology-device-id"] * 8
    assert found[0].what.endswith("0x10de, 0x20b0; p4de.24xlarge has 0x10de, 0x20b2.")


def test_a_gpu_on_the_wrong_numa_node_is_reported() -> None:
    wrong = exchanged(xml_of("Standard_ND96isr_H100_v5"), "0001:00:00.0", "000c:00:00.0")
    found = lint(wrong, "topo.xml", get_size("Standard_ND96isr_H100_v5"))
    assert codes(found) == ["topology-device-moved"] * 2
    assert "000c:00:00.0 is on NUMA node 1, not 0" in found[0].what


def test_a_nic_below_the_wrong_switch_of_the_right_numa_node_is_reported() -> None:
    wrong = exchanged(xml_of("p4d.24xlarge"), "0000:10:1d.0", "0000:20:1d.0")
    found = lint(wrong, "topo.xml", get_size("p4d.24xlarge"))
    assert codes(found) == ["topology-device-moved"] * 2
    assert (
        "0000:20:1d.0 shares a switch with what hangs below ffff:ff:02.0, not ffff:ff:01.0" in found[0].what
    )


def test_other_names_for_the_invented_switches_are_no_finding() -> None:
    renamed = xml_of("Standard_ND96isr_H100_v5").replace("ffff:ff:", "ffff:ee:")
    assert lint(renamed, "topo.xml", get_size("Standard_ND96isr_H100_v5")) == []


def test_real_switches_of_a_known_layout_may_leave_their_class_to_sysfs() -> None:
    text = xml_of("p5.48xlarge").replace(' class="0x060400"', "")
    for size in (get_size("p5.48xlarge"), None):
        found = lint(text, "topo.xml", size)
        assert codes(found) == ["topology-left-to-host"]
        assert "class of <pci>" in found[0].what


def test_a_size_without_a_published_layout_is_said_to_be_unchecked() -> None:
    found = lint(GOOD, "topo.xml", get_size("p5en.48xlarge"))
    assert [(f.code, f.level) for f in found] == [("topology-layout-unknown", Level.NOTE)]


# --- files


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (finding,) = lint_file(tmp_path / "absent.xml")
    assert finding.code == "topology-unreadable"
    assert finding.line is None
    assert "No such file or directory" in finding.what


def test_a_file_that_is_not_text_is_reported_and_raises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "topo.xml"
    path.write_bytes(bytes(range(256)) * 40)
    assert "topology-text" in codes(lint_file(path))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1B:00.0", "0000:1b:00.0"),
        ("0000:1B:00.0", "0000:1b:00.0"),
        ("00000000:1b:00.0", "0000:1b:00.0"),
        ("00010000:1b:00.0", None),
        ("pci0", None),
    ],
)
def test_the_remedy_of_a_bus_id_is_given_only_where_it_is_plain(written: str, meant: str | None) -> None:
    (finding,) = lint(GOOD.replace("0000:10:00.0", written))
    assert finding.remedy == (
        f'Write `busid="{meant}"`.' if meant else "Write 12 lower-case characters, dddd:bb:dd.f."
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("16.0 GT/s", "16.0 GT/s PCIe"),
        ("64 GT/s", "64.0 GT/s PCIe"),
        ("16GT/s", "16.0 GT/s PCIe"),
        ("Gen5", "32.0 GT/s PCIe"),
        ("PCIe Gen 4", "16.0 GT/s PCIe"),
        ("2.5GT/s", "2.5 GT/s"),
    ],
)
def test_the_remedy_of_a_link_speed_is_the_spelling_that_nccl_knows(written: str, meant: str) -> None:
    (finding,) = lint(GOOD.replace("32.0 GT/s PCIe", written, 1))
    assert finding.code == "topology-link-speed-unknown"
    assert finding.remedy == f'Write `link_speed="{meant}"`.'
