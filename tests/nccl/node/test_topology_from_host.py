"""A topology from a machine's sysfs: the tree NCCL would find, as a file and as a row of the catalog."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.hardware import Cloud, NodeSize, get_size, size_from_row
from gpu_fabric.nccl.node import topology_from_host
from gpu_fabric.nccl.node.topology_from_host import NoTopologyError, read_host, to_row, to_xml
from gpu_fabric.nccl.topology import from_catalog, parse
from gpu_fabric.nccl.topology.lint import lint
from tests.nccl.node.fake_host import FakeDevice, FakeHost, efa, gpu, hca
from tests.nccl.topology import nccl_reader

DAY = date(2026, 11, 29)
H100 = "NVIDIA H100 80GB HBM3, 81559, 9.0\n" * 8


def switched() -> FakeHost:
    """Two sockets; on each a switch with a GPU and two NICs, and on the second a switch below the switch."""
    left, right = (
        ["0000:44:01.0", "0000:45:00.0", "0000:46:00.0"],
        ["0000:80:01.0", "0000:81:00.0", "0000:82:00.0"],
    )
    nested = [*right, "0000:90:00.0", "0000:91:00.0"]
    return FakeHost(
        [
            gpu("0000:53:00.0", left),
            efa("0000:4f:00.0", "rdmap79s0", left),
            efa("0000:50:00.0", "rdmap80s0", left, speed="16.0 GT/s PCIe", width="8"),
            gpu("0000:97:00.0", right, numa=1),
            efa("0000:93:00.0", "rdmap147s0", nested, numa=1),
        ],
        {0: "ffff,00000000,00ffffff", 1: "ffffffff"},
    )


def flat() -> FakeHost:
    """A guest whose devices hang at root ports of their own, beside an Ethernet function that speaks RDMA."""
    return FakeHost(
        [
            gpu("0001:00:00.0"),
            gpu("0008:00:00.0", numa=1),
            hca("0101:00:00.0", "mlx5_ib0"),
            hca("0105:00:00.0", "mlx5_ib1", numa=1),
            hca("a1b2:00:02.0", "mlx5_an0", link_layer="Ethernet", rate="100 Gb/sec (4X EDR)"),
            FakeDevice("0000:00:08.0", "0x030000", "0x1414", "0x5353"),
        ],
        {0: "00000000,0000ffff,ffffffff", 1: "ffffffff,ffff0000,00000000"},
    )


def size_of(row: str, **more: object) -> NodeSize:
    ((name, fields),) = tomllib.loads(row)["sizes"].items()
    return size_from_row(name, Cloud.AWS, {**fields, **more})


EFA_FIELDS = {"network_cards": 3, "interfaces_per_card": 2, "efa_cards": [0, 1, 2]}


def test_the_file_of_a_machine_with_switches(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert to_xml(read_host(switched().write(tmp_path)), "two-sockets") == snapshot


def test_the_row_of_a_machine_with_switches(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    host = read_host(switched().write(tmp_path), gpu_query=lambda: H100)
    assert to_row(host, "two.sockets", today=DAY) == snapshot


def test_the_row_of_a_flat_guest(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    host = read_host(flat().write(tmp_path), gpu_query=lambda: H100)
    assert to_row(host, "flat", today=DAY) == snapshot


def test_only_the_upstream_port_of_a_switch_counts_as_nccl_counts(tmp_path: Path) -> None:
    graph = nccl_reader.read(to_xml(read_host(switched().write(tmp_path)), "x"))
    assert graph is not None
    above = {device.busid: device.above for device in graph.devices}
    assert above["0000:53:00.0"] == ("0000:45:00.0",)
    assert above["0000:97:00.0"] == ("0000:81:00.0",)
    assert above["0000:93:00.0"] == ("0000:81:00.0", "0000:90:00.0")
    devices = {device.busid: device for device in graph.devices}
    assert graph.path(devices["0000:53:00.0"], devices["0000:4f:00.0"]) == "PIX"
    assert graph.path(devices["0000:97:00.0"], devices["0000:93:00.0"]) == "PXB"
    assert devices["0000:50:00.0"].gigabytes == 12, "generation 4, width 8"


def test_short_words_of_a_cpumap_are_filled_up(tmp_path: Path) -> None:
    topology = parse(to_xml(read_host(switched().write(tmp_path)), "x"))
    assert [cpu.affinity for cpu in topology.cpus] == ["0000ffff,00000000,00ffffff", "ffffffff"]


def test_the_file_and_the_row_describe_the_same_machine(tmp_path: Path) -> None:
    host = read_host(switched().write(tmp_path), gpu_query=lambda: H100)
    size = size_of(to_row(host, "two-sockets", today=DAY), **EFA_FIELDS)
    assert from_catalog(size) == parse(to_xml(host, "two-sockets"))
    assert size.fabric_gbps == 300
    assert (size.gpu.model, size.gpu.memory_gb, size.gpu.compute_capability) == ("H100", 80, 90)
    assert lint(to_xml(host, "two-sockets"), size=size) == []


def test_an_ethernet_function_and_a_console_are_no_devices_of_the_fabric(tmp_path: Path) -> None:
    host = read_host(flat().write(tmp_path), gpu_query=lambda: H100)
    assert host.fabric == "infiniband"
    assert [nic.busid for nic in host.of("nic")] == ["0101:00:00.0", "0105:00:00.0"]
    assert [device.busid for device in host.of("gpu")] == ["0001:00:00.0", "0008:00:00.0"]
    size = size_of(to_row(host, "flat", today=DAY))
    assert from_catalog(size) == parse(to_xml(host, "flat"))


def test_efa_devices_win_over_other_rdma_devices(tmp_path: Path) -> None:
    host = switched()
    host.devices = [*host.devices, hca("0000:a0:00.0", "mlx5_0")]
    found = read_host(host.write(tmp_path))
    assert found.fabric == "efa"
    assert "0000:a0:00.0" not in [nic.busid for nic in found.of("nic")]


def test_a_machine_laid_out_as_ndv5_gives_the_bus_ids_of_the_catalog(tmp_path: Path) -> None:
    layout = get_size("Standard_ND96isr_H100_v5").pci
    assert layout is not None
    devices = [
        gpu(place.busid, numa=place.numa)
        if place.kind == "gpu"
        else hca(place.busid, f"ib{at}", numa=place.numa)
        for at, place in enumerate(layout.places())
        if place.kind != "switch"
    ]
    host = read_host(FakeHost(devices, {n.numa: n.affinity or "" for n in layout.numa_nodes}).write(tmp_path))
    ours = {(pci.busid, cpu.numaid, cpu.affinity) for cpu, _, pci in parse(to_xml(host, "x")).devices()}
    topology = from_catalog(get_size("Standard_ND96isr_H100_v5"))
    assert topology is not None
    assert ours == {
        (p.busid, cpu.numaid, cpu.affinity) for cpu, _, p in topology.devices() if p.kind != "switch"
    }


def test_what_the_machine_does_not_say_is_left_to_fill_in(tmp_path: Path) -> None:
    row = to_row(read_host(switched().write(tmp_path)), "x", today=DAY)
    assert "# memory_gb: fill in, the machine does not say" in row
    assert "# compute_capability: fill in, the machine does not say" in row
    assert "# network_cards, interfaces_per_card, efa_cards: fill in from EC2's DescribeInstanceTypes" in row
    assert "memory_gb" not in tomllib.loads(row)["sizes"]["x"]["gpu"]


def test_a_missing_numa_node_is_taken_for_0_and_said_to_be_assumed(tmp_path: Path) -> None:
    host = FakeHost([gpu("0001:00:00.0", numa=-1)], {0: "ffffffff"})
    found = read_host(host.write(tmp_path))
    assert found.nodes[0].numa == 0
    assert "NUMA node of 0001:00:00.0: the firmware names none, so 0 is taken" in found.notes
    assert "NUMA node of 0001:00:00.0" in to_row(found, "x", today=DAY)


def test_a_link_that_the_device_does_not_know_is_left_out(tmp_path: Path) -> None:
    host = FakeHost([gpu("0001:00:00.0", speed="Unknown", width="255")], {0: "ffffffff"})
    (device,) = read_host(host.write(tmp_path)).of("gpu")
    assert "link_speed" not in device.attributes
    assert "link_width" not in device.attributes


def test_the_slower_of_a_device_and_its_port_counts(tmp_path: Path) -> None:
    path = ["0000:44:01.0", "0000:45:00.0", "0000:46:00.0"]
    port = FakeDevice(
        "0000:46:00.0", "0x060400", "0x1000", "0xc030", path[:2], speed="16.0 GT/s PCIe", width="8"
    )
    host = FakeHost([port, gpu("0000:53:00.0", path)], {0: "ffffffff"})
    (device,) = read_host(host.write(tmp_path)).of("gpu")
    assert device.attributes["link_speed"] == "16.0 GT/s PCIe"
    assert device.attributes["link_width"] == "8"


def test_an_arm_machine_has_no_cpu_vendor(tmp_path: Path) -> None:
    host = FakeHost(
        [gpu("0001:00:00.0")], {0: "ffffffff"}, cpuinfo="processor\t: 0\nCPU implementer\t: 0x41\n"
    )
    found = read_host(host.write(tmp_path), gpu_query=lambda: H100)
    assert 'arch="arm64" ' not in to_xml(found, "x")
    (cpu,) = parse(to_xml(found, "x")).cpus
    assert (cpu.arch, cpu.vendor, cpu.familyid) == ("arm64", None, None)
    assert size_of(to_row(found, "x", today=DAY)).cpu_arch == "arm64"


def test_a_machine_without_a_gpu_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NoTopologyError, match="no NVIDIA GPU among the 1 devices of"):
        read_host(FakeHost([hca("0101:00:00.0", "mlx5_0")], {0: "ff"}).write(tmp_path))


def test_the_script_stands_alone_on_a_node(tmp_path: Path) -> None:
    """Copied to a folder of its own and run without any installed package, as on a node."""
    root = switched().write(tmp_path / "root")
    script = shutil.copy(topology_from_host.__file__, tmp_path / "topology_from_host.py")
    command = [sys.executable, "-I", "-S", str(script), "--root", str(root), "--name", "two-sockets"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == to_xml(read_host(root), "two-sockets")
    assert "nvidia-smi did not say" in done.stderr
    row = subprocess.run([*command, "--row"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert tomllib.loads(row.stdout)["sizes"]["two-sockets"]["fabric"] == "efa"


def test_the_script_ends_with_1_and_a_message_where_there_is_no_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert topology_from_host.main(["--root", str(tmp_path)]) == 1
    assert "topology_from_host: no NVIDIA GPU among the 0 devices of" in capsys.readouterr().err
