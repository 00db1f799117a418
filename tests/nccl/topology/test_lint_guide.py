"""The topology file of the widely copied guide: each of its faults, with the line and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.findings import to_text
from gpu_fabric.nccl.hardware import get_size
from gpu_fabric.nccl.topology import from_catalog, parse, to_xml
from gpu_fabric.nccl.topology.lint import lint_file
from gpu_fabric.nccl.topology.paths import all_paths
from tests.nccl.topology import nccl_reader

DATA = Path(__file__).parents[2] / "data" / "guide"
GUIDE = DATA / "nccl-topo-p5.xml"
P5 = get_size("p5.48xlarge")


@pytest.mark.parametrize(
    ("code", "line", "what", "remedy"),
    [
        (
            "topology-class-missing",
            3,
            "0000:00:00.0, unless the node has a device of this bus id",
            '`class="0x060400"`',
        ),
        (
            "topology-affinity-ranges",
            2,
            "'0-23,48-71' pins to CPUs 3,6",
            '`affinity="000000ff,ffff0000,00ffffff"`',
        ),
        ("topology-element-misplaced", 8, "<net> in <pci>", "Write it inside `<nic>`"),
        (
            "topology-attribute-unknown",
            3,
            "`subsys` of <pci>",
            "Write `subsystem_vendor` and `subsystem_device`",
        ),
        (
            "topology-attribute-unknown",
            4,
            "`subsys` of <pci>",
            "Write `subsystem_vendor` and `subsystem_device`",
        ),
        (
            "topology-attribute-unknown",
            7,
            "`subsys` of <pci>",
            "Write `subsystem_vendor` and `subsystem_device`",
        ),
        ("topology-attribute-unknown", 8, "`bw` of <net>", "Write `speed` in Mb/s"),
        ("topology-left-to-host", 2, "vendor of <cpu>", "where NCCL runs on the node"),
        ("topology-left-to-host", 4, "class of <pci>", "where NCCL runs on the node"),
        ("topology-host-bridge", 3, "0000:00:00.0", "below the switch they share"),
        ("topology-devices-missing", 1, "0 of 8 GPUs of p5.48xlarge", "Describe every GPU and NIC"),
        ("topology-devices-missing", 1, "0 of 32 NICs of p5.48xlarge", "Describe every GPU and NIC"),
        ("topology-busid-unpublished", 4, "0000:1b:00.0 on p5.48xlarge", "`lspci -D`"),
        ("topology-busid-unpublished", 7, "0000:1c:00.0 on p5.48xlarge", "`lspci -D`"),
        (
            "topology-device-id",
            7,
            "0x1d0f, 0xefa0; p5.48xlarge has 0x1d0f, 0xefa1",
            "Use the file of this size",
        ),
        ("topology-net-speed", 8, "400000; a port of p5.48xlarge has 100000 Mb/s", "Leave `speed` out"),
    ],
)
def test_each_fault_of_the_guides_file_is_found(code: str, line: int, what: str, remedy: str) -> None:
    found = [f for f in lint_file(GUIDE, P5) if f.code == code and f.line == line and what in f.what]
    assert found, f"no {code} on line {line} that says {what!r}"
    assert remedy in found[0].remedy


def test_the_whole_report_on_the_guides_file(snapshot: SnapshotAssertion) -> None:
    report = to_text(lint_file(GUIDE, P5)).replace(str(DATA), "tests/data/guide")
    assert report == snapshot


def test_its_link_speeds_are_spelt_right_and_not_reported() -> None:
    assert not [finding for finding in lint_file(GUIDE, P5) if "link_speed" in finding.what]


def test_nccl_rejects_the_file_alone_for_want_of_a_cpu_vendor() -> None:
    with pytest.raises(nccl_reader.RejectedError, match="attribute vendor of cpu"):
        nccl_reader.read(GUIDE.read_text())


def test_with_a_vendor_nccl_rejects_it_where_sysfs_lacks_the_root() -> None:
    text = GUIDE.read_text().replace('arch="x86_64"', 'arch="x86_64" vendor="AuthenticAMD"')
    with pytest.raises(nccl_reader.RejectedError, match="attribute class of pci"):
        nccl_reader.read(text)


def test_a_corrected_file_is_taken_with_the_gpu_and_nic_at_pix_and_24_gigabytes_a_second() -> None:
    corrected = DATA / "nccl-topo-p5-corrected.xml"
    graph = nccl_reader.read(corrected.read_text())
    assert graph is not None
    (gpu,), (nic,) = graph.of("GPU"), graph.of("NIC")
    assert graph.path(gpu, nic) == "PIX"
    assert nic.gigabytes == 24
    (path,) = all_paths(parse(corrected.read_text()))
    assert path.type.name == "PIX"
    assert path.gigabytes_per_second == 24
    assert not [f for f in lint_file(corrected) if f.level.value == "error"]


def test_our_own_file_for_the_size_has_none_of_the_faults() -> None:
    topology = from_catalog(P5)
    assert topology is not None
    graph = nccl_reader.read(to_xml(topology))
    assert graph is not None
    assert (len(graph.of("GPU")), len(graph.of("NIC"))) == (8, 32)
