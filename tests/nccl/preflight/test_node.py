"""The checks of one node: healthy nodes of each platform pass whole, and each thing that breaks is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap import Setup
from gpu_fabric.nccl.bootstrap.plan import plan
from gpu_fabric.nccl.environment import environment
from gpu_fabric.nccl.hardware import get_size, load_sizes
from gpu_fabric.nccl.hardware.plain import plain_sizes
from gpu_fabric.nccl.preflight import node as node_checks
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import (
    Report,
    Result,
    State,
    passed,
    summary,
    to_json,
    to_markdown,
    to_text,
    unknown,
)
from gpu_fabric.nccl.preflight.system import check_memlock, matches_name
from gpu_fabric.nccl.preflight.versions import is_pinned
from tests.nccl.preflight.nodes import Node, healthy

P4D, P5, P5EN, P6_B300 = "p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b300.48xlarge"
NDV4, NDV5 = "Standard_ND96asr_v4", "Standard_ND96isr_H100_v5"
PLATFORMS = (P4D, P5, P5EN, P6_B300, NDV4, NDV5)


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_healthy_node_passes_every_check(tmp_path: Path, name: str) -> None:
    report = healthy(tmp_path, name).report()
    assert [result for result in report.results if result.state is not State.PASS] == []
    assert (report.state, report.exit_code) == (State.PASS, 0)
    assert len(report.results) >= 18


@dataclass(frozen=True)
class Broken:
    """One thing that is broken, the check that must say so, and its words."""

    on: str
    breaks: Callable[[Node], object]
    check: str
    says: str
    remedy: str
    """Part of what to do."""
    state: State = State.FAIL


def smi(old: str, new: str, count: int = 1) -> Callable[[Node], object]:
    return lambda node: node.change("bin/nvidia-smi", old, new, count)


def fewer_efa(node: Node) -> None:
    last = node.devices[-1]
    node.change("bin/fi_info", f"    domain: {last}-", "    domain: other_rdma0-")
    node.change("bin/fi_info", "domain: other_rdma0-", "node: ")


def no_efa(node: Node) -> None:
    node.program("fi_info", otherwise=61)


def extra_rdma_devices(node: Node) -> None:
    for number in range(4):
        node.write(f"/sys/class/infiniband/mlx5_{number}/ports/1/link_layer", "Ethernet")


def docker_first(node: Node) -> None:
    node.change(paths.NCCL_CONF, "NCCL_SOCKET_IFNAME=", "# NCCL_SOCKET_IFNAME=")
    node.write("/sys/class/net/br-4a1c/ifindex", "2")
    node.write("/sys/class/net/br-4a1c/operstate", "up")
    node.write(f"/sys/class/net/{node.interface}/ifindex", "9")


def port_in(key: str, *numbers: int) -> Callable[[Node], None]:
    def put(node: Node) -> None:
        for number in numbers:
            node.write(f"/sys/class/infiniband/mlx5_ib{number}/ports/1/pkeys/0", key)

    return put


def no_peer_memory_module(node: Node) -> None:
    node.remove("/sys/module/nvidia_peermem")


def no_efa_peer_memory(node: Node) -> None:
    for device in node.devices:
        node.write(f"/sys/class/infiniband/{device}/gdr", "0")


def no_kernel_log(node: Node) -> None:
    node.program("dmesg", otherwise=1)
    node.program("journalctl", otherwise=1)


def rendered_plan() -> str:
    """The steps of a p5 as its start-up data has them."""
    size = get_size("p5.48xlarge")
    return json.dumps(plan(size, environment(size), (), Setup()).document)


BROKEN = (
    # GPUs
    Broken(
        P5,
        lambda n: n.program("nvidia-smi", otherwise=15),
        "gpu-count",
        "nvidia-smi: exit 15",
        "Load the driver",
    ),
    Broken(
        P5,
        lambda n: n.remove("bin/nvidia-smi"),
        "gpu-count",
        "nvidia-smi is not installed",
        "Load the driver",
    ),
    Broken(
        P4D,
        lambda n: (
            n.change("bin/nvidia-smi", '\t<gpu id="00000000:A0:1D.0">', '\t<gone id="">', 1)
            or n.change("bin/nvidia-smi", "\t</gpu>\n</nvidia", "\t</gone>\n</nvidia", 1)
        ),
        "gpu-count",
        "7 of 8 GPUs",
        "XID 79",
    ),
    Broken(
        P5,
        smi("H100 80GB HBM3</product", "A10G</product", -1),
        "gpu-model",
        "NVIDIA A10G, and p5.48xlarge has H100",
        "--size",
    ),
    Broken(
        P5,
        smi("<dram_uncorrectable>0", "<dram_uncorrectable>3"),
        "gpu-ecc",
        "uncorrectable memory errors: GPU 0 (0000:53:00.0): 3",
        "replace the node",
    ),
    Broken(
        NDV4,
        smi("<current_ecc>Enabled", "<current_ecc>Disabled"),
        "gpu-ecc",
        "ECC is off: GPU 0 (0003:00:00.0)",
        "nvidia-smi -e 1",
    ),
    Broken(
        P5EN,
        smi("row_failure>No", "row_failure>Yes"),
        "gpu-memory-rows",
        "row remapping failed: GPU 0 (0000:50:00.0)",
        "Replace",
    ),
    Broken(
        P5EN,
        smi("row_pending>No", "row_pending>Yes"),
        "gpu-memory-rows",
        "row remapping is pending: GPU 0 (0000:50:00.0)",
        "Reset",
    ),
    Broken(
        P5,
        smi("event_reason_hw_thermal_slowdown>Not Active", "event_reason_hw_thermal_slowdown>Active"),
        "gpu-throttling",
        "GPU 0 (0000:53:00.0): hw_thermal_slowdown",
        "too hot",
    ),
    Broken(
        P4D,
        smi("throttle_reason_hw_slowdown>Not Active", "throttle_reason_hw_slowdown>Active"),
        "gpu-throttling",
        "GPU 0 (0000:10:1c.0): hw_slowdown",
        "too hot",
    ),
    Broken(
        NDV5,
        smi("<current_link_width>16x", "<current_link_width>8x"),
        "gpu-pcie",
        "GPU 0 (0001:00:00.0): x8 of x16",
        "Reboot",
    ),
    Broken(
        NDV5,
        lambda n: n.program(
            "dmesg", ("", "[9.1] NVRM: Xid (PCI:0002:00:00): 79, pid=1, GPU has fallen off the bus.\n")
        ),
        "gpu-xid",
        "XID 79 on pci:0002:00:00",
        "replace the node",
    ),
    Broken(
        NDV5,
        no_kernel_log,
        "gpu-xid",
        "the kernel's log cannot be read",
        "Run as root",
        State.UNKNOWN,
    ),
    Broken(
        P5,
        smi("Link 17: 26.562 GB/s", "Link 17: <inactive>"),
        "nvlink",
        "GPU 0: 17 of 18 links",
        "azhpc-images#443",
    ),
    Broken(
        NDV5,
        lambda n: n.program("systemctl", ("is-active nvidia-fabricmanager", "failed\n")),
        "fabricmanager",
        "the service is failed",
        "restart nvidia-fabricmanager",
    ),
    Broken(
        NDV5,
        lambda n: n.change("bin/nv-fabricmanager", "580.95.05", "535.161.08"),
        "fabricmanager",
        "version 535.161.08, and the driver is 580.95.05",
        "azhpc-images#86",
    ),
    Broken(
        P6_B300,
        smi("<state>Completed<", "<state>In Progress<", -1),
        "fabricmanager",
        "the GPUs' fabric state is In Progress, Success",
        "restart",
    ),
    # EFA
    Broken(P5, no_efa, "efa-devices", "0 of 32 devices", "lsmod | grep efa"),
    Broken(P5EN, fewer_efa, "efa-devices", "15 of 16 devices", "cannot be attached to a running instance"),
    Broken(P6_B300, extra_rdma_devices, "efa-devices", "16 devices", "", State.PASS),
    Broken(
        P5, lambda n: n.remove("bin/fi_info"), "efa-devices", "fi_info is not installed", "aws-efa-installer"
    ),
    Broken(
        P5,
        no_efa_peer_memory,
        "gpudirect",
        "32 of 32 devices without peer memory: rdmap79s0",
        "open NVIDIA kernel modules",
    ),
    Broken(
        P5,
        lambda n: n.write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0"),
        "hugepages",
        "0 of 5128 pages of 2 MiB",
        "sysctl -w vm.nr_hugepages=5128",
    ),
    # InfiniBand
    Broken(
        NDV5,
        lambda n: n.write("/sys/class/infiniband/mlx5_ib3/ports/1/state", "1: DOWN"),
        "infiniband-ports",
        "7 of 8 ports are active (mlx5_ib3 is DOWN)",
        "openibd",
    ),
    Broken(
        NDV4,
        lambda n: n.write("/sys/class/infiniband/mlx5_ib3/ports/1/rate", "100 Gb/sec (2X HDR)"),
        "infiniband-rate",
        "mlx5_ib3: 100 of 200 Gb/s",
        "Reboot",
    ),
    Broken(
        NDV5,
        lambda n: n.write("/sys/class/infiniband/mlx5_ib3/ports/1/rate", "200 Gb/sec (2X NDR)"),
        "infiniband-rate",
        "mlx5_ib3: 200 of 400 Gb/s",
        "Reboot",
    ),
    Broken(
        NDV5,
        port_in("0x0000", *range(8)),
        "partition-key",
        f"{', '.join(f'mlx5_ib{n}' for n in range(8))} joined no partition (keys: 0x7fff)",
        "Uniform scale set",
    ),
    Broken(NDV4, port_in("0x8099", *range(8)), "partition-key", "0x8099", "", State.PASS),
    Broken(
        NDV5,
        no_peer_memory_module,
        "gpudirect",
        "no peer memory module is loaded, and DMA-BUF is not there",
        "modprobe nvidia_peermem",
    ),
    # the rest
    Broken(
        P5,
        lambda n: setattr(n, "memlock", 65536),
        "memlock",
        "64 KiB may be locked, and RDMA wants 16 GiB",
        "DefaultLimitMEMLOCK=infinity",
    ),
    Broken(
        NDV4,
        lambda n: n.remove("/sys/devices/system/node/node3"),
        "numa",
        "3 nodes, and Standard_ND96asr_v4 has 4",
        "affinity",
    ),
    Broken(
        P4D,
        lambda n: n.remove(paths.TOPOLOGY),
        "topology-file",
        "NCCL_TOPO_FILE names /etc/gpu-fabric/topology.xml, which does not exist",
        "mount it into the container",
    ),
    Broken(
        NDV5,
        lambda n: n.change(paths.TOPOLOGY, 'version="1"', 'version="2"'),
        "topology-file",
        "/etc/gpu-fabric/topology.xml: ",
        "gpu-fabric lint",
    ),
    Broken(
        P4D,
        lambda n: n.remove("/sys/bus/pci/devices/0000:10:1c.0"),
        "pci-layout",
        "0000:10:1c.0 is not on this node",
        "--from-host",
    ),
    Broken(
        NDV5,
        lambda n: n.write("/sys/bus/pci/devices/0101:00:00.0/numa_node", "1"),
        "pci-layout",
        "0101:00:00.0 is on NUMA node 1, and the file has it on 0",
        "--from-host",
    ),
    Broken(
        NDV5,
        lambda n: n.write("/sys/bus/pci/devices/0101:00:00.0/numa_node", "-1"),
        "pci-layout",
        "every device of the topology file is where the file has it",
        "",
        State.PASS,
    ),
    Broken(
        P5,
        lambda n: n.process.update(NCCL_ALGO="RING,TREE"),
        "environment",
        "process.env:1: ",
        "",
        State.FAIL,
    ),
    Broken(
        NDV5,
        docker_first,
        "socket-interface",
        "NCCL_SOCKET_IFNAME is not set, and NCCL takes br-4a1c, which other nodes cannot reach; the way out is eth0",
        "NCCL_SOCKET_IFNAME==eth0",
    ),
    Broken(
        P5,
        lambda n: n.process.update(NCCL_SOCKET_IFNAME="eth0,bond0"),
        "socket-interface",
        "NCCL_SOCKET_IFNAME=eth0,bond0 gives none of lo, enp71s0, docker0: NCCL stops with an obscure error "
        "(nccl#1837)",
        "NCCL_SOCKET_IFNAME==enp71s0",
    ),
    Broken(
        P5,
        lambda n: n.program("timedatectl", ("show --property=NTPSynchronized --value", "no\n")),
        "clock",
        "not synchronised",
        "chrony",
    ),
    Broken(
        P5,
        lambda n: n.write(paths.READY, '{"state": "failed", "step": "040-fabric", "reason": "31 of 32"}'),
        "setup",
        "failed at 040-fabric: 31 of 32",
        "/var/log/gpu-fabric",
    ),
    Broken(
        P5,
        lambda n: n.write(paths.SETUP_PLAN, rendered_plan()),
        "scratch",
        "/scratch is not mounted",
        "restart gpu-fabric-ready",
    ),
)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: f"{b.on}: {b.check}: {b.says[:30]}")
def test_what_is_broken_is_named_with_what_to_do(tmp_path: Path, broken: Broken) -> None:
    node = healthy(tmp_path, broken.on)
    broken.breaks(node)
    report = node.report()
    result = next(result for result in report.results if result.check == broken.check)
    assert result.state is broken.state, result
    assert (
        result.what.startswith(broken.says)
        if broken.check in ("topology-file", "environment")
        else result.what == broken.says
    )
    assert broken.remedy in result.remedy
    assert report.exit_code == {State.FAIL: 1, State.UNKNOWN: 2, State.PASS: 0}[broken.state]


def test_a_partition_other_than_the_clusters_fails_and_ports_must_share_one(tmp_path: Path) -> None:
    node = healthy(tmp_path, NDV5)
    assert "partition-key" not in node.fails(partition=0x8023)
    wrong = node.fails(partition=0x8001)["partition-key"]
    assert wrong.what.endswith("partition 0x8023, and the cluster's is 0x8001")
    port_in("0x8001", 5)(node)
    assert "the ports are in different partitions" in node.fails()["partition-key"].what


def test_a_pinned_version_passes_a_later_one_fails_and_one_that_is_not_found_is_unknown(
    tmp_path: Path,
) -> None:
    node = healthy(tmp_path, P5)
    assert node.fails(pins={"driver": "580.95.05", "efa": "1.50", "plugin": "1.21.1", "libfabric": "2"}) == {}
    found = node.fails(pins={"driver": "570", "cuda": "13.0"})
    assert (found["version-driver"].state, found["version-driver"].what) == (
        State.FAIL,
        "580.95.05, and 570 is pinned",
    )
    assert (found["version-cuda"].state, found["version-cuda"].what) == (
        State.UNKNOWN,
        "not found; 13.0 is pinned",
    )
    assert node.report(pins={"cuda": "13.0"}).exit_code == 2, "unknown is not a pass"


def test_the_versions_that_the_nodes_own_setup_demands_are_checked_without_an_option(tmp_path: Path) -> None:
    node = healthy(tmp_path, P5)
    node.write(paths.VERSIONS, '{"driver": "570", "efa": "1.50"}')
    assert node.fails()["version-driver"].what == "580.95.05, and 570 is pinned"
    assert node.fails(pins={"driver": "580"}) == {}, "what is given wins"
    for damaged in ("{", "[]", '{"driver": 580}'):
        node.write(paths.VERSIONS, damaged)
        found = node.fails(pins={"driver": "570"})
        assert found["versions"].state is State.UNKNOWN
        assert found["versions"].what.startswith(f"{paths.VERSIONS} cannot be read")
        assert found["version-driver"].state is State.FAIL, "what is given is checked all the same"
    assert not is_pinned("580.95.05", "58"), "components are compared whole"


def test_versions_are_found_on_both_clouds(tmp_path: Path) -> None:
    aws = healthy(tmp_path / "aws", P5).report().facts["versions"]
    assert aws == {
        "driver": "580.95.05",
        "efa": "1.50.0",
        "kernel": "6.8.0-1040-aws",
        "libfabric": "2.1.0",
        "plugin": "1.21.1",
    }
    azure = healthy(tmp_path / "azure", NDV5).report().facts["versions"]
    assert (azure["nccl"], azure["cuda"]) == ("2.30.7", "13.0")


def test_the_lint_uses_the_nodes_real_versions(tmp_path: Path) -> None:
    node = healthy(tmp_path, NDV5)
    node.process["NCCL_CONF_FILE"] = paths.NCCL_CONF
    assert "environment" not in node.fails()
    node.write("/opt/azurehpc/component_versions.txt", '{"NCCL": "2.21.5"}')
    found = node.fails()["environment"]
    assert "NCCL_CONF_FILE" in found.what
    assert "2.23" in found.what + found.remedy


def test_the_first_words_of_a_check_that_breaks_are_kept_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_host: Host) -> Result:
        raise ValueError("what nobody thought of")

    monkeypatch.setattr(node_checks, "check_clock", breaks)
    report = healthy(tmp_path, P5).report()
    broken = next(result for result in report.results if result.check == "clock")
    assert (broken.state, report.exit_code) == (State.UNKNOWN, 2)
    assert broken.what == "the check broke: ValueError: what nobody thought of"
    assert len(report.results) > 18


@pytest.mark.parametrize(
    ("name", "wanted", "taken"),
    [
        ("eth0", "=eth0", True),
        ("eth01", "=eth0", False),
        ("eth01", "eth0", True),
        ("docker0", "^docker,lo,veth", False),
        ("ens5", "^docker,lo,veth", True),
        ("eth0", "^=eth0", False),
        ("eth01", "^=eth0", True),
        ("ens32", "eth0,enp,bond0", False),
    ],
)
def test_interface_names_are_matched_as_nccl_matches_them(name: str, wanted: str, taken: bool) -> None:
    assert matches_name(name, wanted) is taken


@pytest.mark.parametrize(("limit", "state"), [(2**34, State.PASS), (2**34 - 1, State.FAIL), (-1, State.PASS)])
def test_sixteen_gibibytes_of_locked_memory_are_enough(limit: int, state: State) -> None:
    assert check_memlock(limit).state is state


def test_the_catalog_without_pydantic_is_the_catalog() -> None:
    assert dict(plain_sizes()) == dict(load_sizes())


# ---- reports --------------------------------------------------------------------------------------------------------


def test_unknown_is_worse_than_a_warning_and_never_a_pass() -> None:
    report = Report("node", (passed("a", "fine"), unknown("b", "not known", "look")))
    assert (report.state, report.exit_code) == (State.UNKNOWN, 2)
    assert Report("node", ()).state is State.UNKNOWN, "nothing checked is not a pass"
    assert summary(report) == "node: UNKNOWN: 1 unknown, 1 pass"


def test_the_renderings_carry_the_remedy_and_the_source() -> None:
    report = Report(
        "node", (passed("a", "fine"), unknown("b", "not | known", "look there", "the manual")), {"x": 1}
    )
    text = to_text(report)
    assert "unknown b  not | known\n" in text
    assert "b: look there\n    source: the manual\n" in text
    assert json.loads(to_json(report))["results"][1]["remedy"] == "look there"
    assert "| unknown | b | not \\| known | look there |" in to_markdown(report)


@pytest.mark.parametrize(("size", "check"), [("p5.4xlarge", "gpu-count"), ("p5.4xlarge", "efa-devices")])
def test_more_than_the_size_has_is_another_size(size: str, check: str, tmp_path: Path) -> None:
    node = healthy(tmp_path, P5)
    node.size = get_size(size)
    assert node.fails()[check].remedy == "This node is larger than p5.4xlarge: give its own --size."
