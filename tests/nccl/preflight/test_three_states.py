"""Unknown is never a pass: for every check of a node, what it reads is taken away in every way, and none passes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.preflight.result import State
from gpu_fabric.nccl.preflight.system import check_memlock
from tests.nccl.preflight.nodes import Node, healthy
from tests.nccl.preflight.test_node import NDV4, NDV5, P4D, P5, PLATFORMS

#: How a program can fail to answer: the lines of the stand-in, None where it is not there at all.
SILENCES: dict[str, str | None] = {
    "is not installed": None,
    "says nothing": "exit 0",
    "fails without a word": "exit 1",
    "is refused": "echo 'Operation not permitted' >&2; exit 1",
    "prints what nobody understands": "echo '?!'",
    "prints bytes": "printf '\\377\\376\\n'",
    "never ends": "exec sleep 5",
}
#: How a file can fail to say something.
BLANKS: dict[str, Callable[[Path], Any]] = {
    "is not there": lambda path: path.unlink(),
    "is empty": lambda path: path.write_text(""),
    "holds what nobody understands": lambda path: path.write_text("?!\n"),
    "holds bytes": lambda path: path.write_bytes(b"\377\376"),
    "cannot be read": lambda path: (path.unlink(), path.mkdir()),
}


@dataclass(frozen=True)
class Program:
    name: str
    on: str
    checks: tuple[str, ...]
    """The checks that hang on it."""


@dataclass(frozen=True)
class File:
    pattern: str
    on: str
    checks: tuple[str, ...]
    blanks: tuple[str, ...] = tuple(BLANKS)


_SMI = ("gpu-count", "gpu-model", "gpu-ecc", "gpu-memory-rows", "gpu-throttling", "gpu-pcie", "nvlink")
PROGRAMS = (
    *(Program("nvidia-smi", name, (*_SMI, "fabricmanager")) for name in (P4D, P5, NDV5)),
    Program("nv-fabricmanager", P5, ("fabricmanager",)),
    Program("systemctl", NDV5, ("fabricmanager",)),
    Program("dmesg", NDV5, ("gpu-xid",)),
    Program("timedatectl", P5, ("clock",)),
    Program("fi_info", P5, ("efa-devices", "gpudirect")),
)
_IB = "sys/class/infiniband/mlx5_ib3/ports/1"
FILES = (
    File("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", P5, ("hugepages",)),
    File("sys/class/infiniband/*/gdr", P5, ("gpudirect",), ("is not there", "is empty", "cannot be read")),
    File("proc/net/route", NDV5, ("socket-interface",)),
    File("sys/class/net/*/operstate", NDV5, ("socket-interface",)),
    File("sys/bus/pci/devices/*/numa_node", P4D, ("pci-layout",), ("is not there", "cannot be read")),
    File(paths.TOPOLOGY.lstrip("/"), P4D, ("topology-file", "pci-layout")),
    File(paths.TOPOLOGY.lstrip("/"), NDV5, ("topology-file", "pci-layout")),
    File(paths.NCCL_CONF.lstrip("/"), P5, ("environment",), ("cannot be read",)),
    File(paths.READY.lstrip("/"), P5, ("setup",), tuple(BLANKS)[1:]),
    File(paths.READY.lstrip("/"), NDV4, ("setup",), tuple(BLANKS)[1:]),
    File(f"{_IB}/link_layer", NDV5, ("infiniband-ports",)),
    File(f"{_IB}/state", NDV5, ("infiniband-ports",)),
    File(f"{_IB}/rate", NDV5, ("infiniband-rate",)),
    File(f"{_IB}/pkeys/0", NDV5, ("partition-key",)),
    File("sys/module/nvidia_peermem/initstate", NDV5, ("gpudirect",), ()),
)
#: What hangs on no program and no file of the node; each has a test of its own below.
ELSEWHERE = {"memlock", "disk", "numa"}


def none_passes(node: Node, checks: tuple[str, ...]) -> None:
    """Each of them fails or is unknown, or is left out of a report that does not pass as a whole."""
    report = node.report()
    passing = [result for result in report.results if result.check in checks and result.state is State.PASS]
    assert passing == []
    assert report.exit_code in (1, 2), "what is left out must not leave a pass behind"
    assert "broke" not in "".join(result.what for result in report.results)


@pytest.mark.parametrize("silence", SILENCES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.name} on {program.on}")
def test_a_program_that_gives_no_answer_makes_no_check_pass(
    tmp_path: Path, program: Program, silence: str
) -> None:
    node = healthy(tmp_path, program.on)
    node.remove(f"bin/{program.name}")
    body = SILENCES[silence]
    if body is not None:
        node.seconds = 0.5 if "sleep" in body else node.seconds
        file = tmp_path / "bin" / program.name
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)
    none_passes(node, program.checks)


@pytest.mark.parametrize(
    ("file", "blank"),
    [(file, blank) for file in FILES for blank in file.blanks],
    ids=lambda value: value if isinstance(value, str) else f"{value.pattern} on {value.on}",
)
def test_a_file_that_says_nothing_makes_no_check_pass(tmp_path: Path, file: File, blank: str) -> None:
    node = healthy(tmp_path, file.on)
    found = [*tmp_path.glob(file.pattern)]
    assert found, "the healthy node has it"
    for path in found:
        BLANKS[blank](path)
    none_passes(node, file.checks)


def test_every_check_of_a_node_is_in_these_tables(tmp_path: Path) -> None:
    known = {check for entry in (*PROGRAMS, *FILES) for check in entry.checks} | ELSEWHERE
    for name in PLATFORMS:
        report = healthy(tmp_path / name, name).report()
        assert {result.check for result in report.results} - known == set()


# ---- what hangs on neither ------------------------------------------------------------------------------------------


def test_a_disk_of_which_nothing_is_known_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = healthy(tmp_path, P5)

    def empty(_path: str) -> Any:
        return os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 0, 255))

    def refused(_path: str) -> Any:
        raise OSError(5, "Input/output error")

    for answer in (empty, refused):
        monkeypatch.setattr(os, "statvfs", answer)
        assert node.fails()["disk"].state is State.UNKNOWN


def test_no_numa_node_at_all_is_unknown(tmp_path: Path) -> None:
    node = healthy(tmp_path, P5)
    node.remove("/sys/devices/system/node")
    assert node.fails()["numa"].state is State.UNKNOWN


def test_no_locked_memory_at_all_fails() -> None:
    assert check_memlock(0).state is State.FAIL


# ---- the kernel's log -----------------------------------------------------------------------------------------------

XID = "[9.1] NVRM: Xid (PCI:0002:00:00): 79, pid=1, GPU has fallen off the bus.\n"
BOOT = "[    0.000000] Linux version 6.8.0-1040-aws\n"
LATER = "[99999.1] eth0: link is up\n"


@pytest.mark.parametrize(
    ("dmesg", "journal", "state", "what"),
    [
        (BOOT, None, State.PASS, "none"),
        (None, BOOT, State.PASS, "none"),
        (LATER, BOOT + LATER, State.PASS, "none"),
        (LATER, None, State.UNKNOWN, "the kernel's log does not reach back to the boot"),
        (LATER, "", State.UNKNOWN, "the kernel's log does not reach back to the boot"),
        ("", "", State.UNKNOWN, "the kernel's log cannot be read"),
        (None, "", State.UNKNOWN, "the kernel's log cannot be read"),
        (None, None, State.UNKNOWN, "the kernel's log cannot be read"),
        (LATER + XID, None, State.FAIL, "XID 79 on pci:0002:00:00"),
        (LATER, XID, State.FAIL, "XID 79 on pci:0002:00:00"),
    ],
)
def test_only_a_kernel_log_that_reaches_back_to_the_boot_can_say_that_there_was_no_xid(
    tmp_path: Path, dmesg: str | None, journal: str | None, state: State, what: str
) -> None:
    node = healthy(tmp_path, P5)
    for name, arguments, text in (
        ("dmesg", "", dmesg),
        ("journalctl", "--dmesg --boot --no-pager --quiet", journal),
    ):
        node.program(name, *([(arguments, text)] if text is not None else []), otherwise=1)
    result = next(result for result in node.report().results if result.check == "gpu-xid")
    assert (result.state, result.what) == (state, what)


# ---- partition keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0x0001, 0x0023, 0x1000, 0x2FFF, 0x7000, 0x7001, 0x7023, 0x7FFE])
def test_every_partition_is_joined_by_its_full_members_alone(tmp_path: Path, number: int) -> None:
    node = healthy(tmp_path, NDV5)
    for port in range(8):
        node.write(f"/sys/class/infiniband/mlx5_ib{port}/ports/1/pkeys/0", f"{number | 0x8000:#06x}")
    assert "partition-key" not in node.fails()
    assert "partition-key" not in node.fails(partition=number | 0x8000)
    assert "partition-key" not in node.fails(partition=number), (
        "the key without its membership bit is the same"
    )
    assert "partition-key" in node.fails(partition=(number ^ 1) | 0x8000)
    for port in range(8):
        node.write(f"/sys/class/infiniband/mlx5_ib{port}/ports/1/pkeys/0", f"{number:#06x}")
    assert node.fails()["partition-key"].state is State.FAIL


@pytest.mark.parametrize("key", ["0xffff", "0x7fff", "0x0000"])
def test_the_default_partition_is_none(tmp_path: Path, key: str) -> None:
    node = healthy(tmp_path, NDV5)
    for port in range(8):
        node.write(f"/sys/class/infiniband/mlx5_ib{port}/ports/1/pkeys/0", key)
    assert node.fails()["partition-key"].state is State.FAIL


# ---- the way into GPU memory ----------------------------------------------------------------------------------------

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05"


@pytest.mark.parametrize(
    ("driver", "kernel", "plugin", "module", "state"),
    [
        (OPEN, "6.8.0-1040-aws", "1.21.1", None, State.PASS),
        (OPEN, "5.16.0", "1.19.2", None, State.PASS),
        (OPEN, "5.15.0", "1.21.1", None, State.UNKNOWN),
        (OPEN, "6.8.0-1040-aws", "1.19.1", None, State.UNKNOWN),
        (OPEN, "6.8.0-1040-aws", None, None, State.UNKNOWN),
        (CLOSED, "6.8.0-1040-aws", "1.21.1", None, State.UNKNOWN),
        (CLOSED, "5.10.0", "1.21.1", "efa_nv_peermem", State.PASS),
        (CLOSED, "6.8.0-1040-aws", "1.21.1", "nvidia_peermem", State.UNKNOWN),
    ],
)
def test_efa_reaches_gpu_memory_by_its_own_module_or_dma_buf_and_not_by_infinibands_module(
    tmp_path: Path, driver: str, kernel: str, plugin: str | None, module: str | None, state: State
) -> None:
    node = healthy(tmp_path, P5)
    for device in node.devices:
        node.remove(f"/sys/class/infiniband/{device}/gdr")
    node.write("/proc/driver/nvidia/version", driver)
    node.write("/proc/sys/kernel/osrelease", kernel)
    written = "libnccl-ofi_1.21.1-1"
    node.change(
        "/opt/amazon/efa_installed_packages", written, f"libnccl-ofi_{plugin}-1" if plugin else "nothing"
    )
    if module:
        node.write(f"/sys/module/{module}/initstate", "live")
    assert next(r for r in node.report().results if r.check == "gpudirect").state is state


# ---- our own setup --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", "3", '"x"', "{}", '{"state": 3}', "\0", "[" * 100_000]
)
def test_damaged_files_of_our_own_are_unknown_in_words(tmp_path: Path, text: str) -> None:
    node = healthy(tmp_path, P5)
    node.write(paths.READY, text)
    node.write(paths.SETUP_PLAN, text)
    found = node.fails()
    assert (found["setup"].state, found["setup"].what) == (State.UNKNOWN, f"{paths.READY} cannot be read")
    assert "restart gpu-fabric-ready" in found["setup"].remedy
    if text not in ("{}",):
        assert found["scratch"].state is State.UNKNOWN


@pytest.mark.parametrize("text", ["[1]", "null", "3", "{", "", '{"NCCL": null}', '{"NCCL": [1]}'])
def test_a_damaged_list_of_versions_breaks_no_check(tmp_path: Path, text: str) -> None:
    node = healthy(tmp_path, NDV5)
    node.write("/opt/azurehpc/component_versions.txt", text)
    assert "broke" not in "".join(result.what for result in node.report().results)


def test_a_setup_that_was_planned_and_has_not_begun_is_unknown(tmp_path: Path) -> None:
    node = healthy(tmp_path, P5)
    node.write(paths.SETUP_PLAN, '{"steps": []}')
    node.remove(paths.READY)
    assert node.fails()["setup"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("cgroup", "states", "state"),
    [
        ("gpu-fabric-ready.service", {"010-services": "ok", "020-limits": "skipped"}, State.PASS),
        ("gpu-fabric-ready.service", {"010-services": "ok", "020-limits": "failed"}, State.UNKNOWN),
        ("gpu-fabric-ready.service", {}, State.UNKNOWN),
        ("user.slice", {"010-services": "ok", "020-limits": "ok"}, State.UNKNOWN),
    ],
)
def test_a_check_that_is_itself_a_step_of_the_setup_looks_at_the_steps_before_it(
    tmp_path: Path, cgroup: str, states: dict[str, str], state: State
) -> None:
    node = healthy(tmp_path, P5)
    node.write(paths.READY, '{"state": "running", "step": "120-after-1"}')
    node.write("/proc/self/cgroup", f"0::/system.slice/{cgroup}")
    for name, found in states.items():
        node.write(f"{paths.STEPS}/{name}.json", f'{{"state": "{found}"}}')
    node.write(f"{paths.STEPS}/120-after-1.json", '{"state": "running"}')
    assert next(r for r in node.report().results if r.check == "setup").state is state


# ---- what the driver asks for ---------------------------------------------------------------------------------------


def test_what_the_driver_asks_to_be_done_about_a_gpu_fails_and_nothing_asked_passes(tmp_path: Path) -> None:
    node = healthy(tmp_path, P5)
    assert "gpu-recovery" not in {result.check for result in node.report().results}, (
        "older drivers do not say"
    )
    action = "<gpu_recovery_action>None</gpu_recovery_action>"
    node.change("bin/nvidia-smi", "</product_name>", f"</product_name>{action}")
    assert next(r for r in node.report().results if r.check == "gpu-recovery").state is State.PASS
    node.change("bin/nvidia-smi", action, action.replace("None", "Reset"), 1)
    failure = node.fails()["gpu-recovery"]
    assert (failure.state, failure.what) == (State.FAIL, "the driver asks for GPU 0 (0000:53:00.0): Reset")


@pytest.mark.parametrize("value", ["", "e"])
def test_an_interface_name_that_nccl_takes_for_none_is_none(tmp_path: Path, value: str) -> None:
    node = healthy(tmp_path, P5)
    node.process["NCCL_SOCKET_IFNAME"] = value
    result = next(result for result in node.report().results if result.check == "socket-interface")
    assert (result.state, result.what) == (
        State.PASS,
        "NCCL_SOCKET_IFNAME is not set, and NCCL takes enp71s0",
    )


def test_bridges_of_libvirt_are_left_out_as_nccl_leaves_them_out(tmp_path: Path) -> None:
    node = healthy(tmp_path, NDV5)
    node.change(paths.NCCL_CONF, "NCCL_SOCKET_IFNAME=", "# NCCL_SOCKET_IFNAME=")
    node.write("/sys/class/net/virbr0/ifindex", "1")
    node.write("/sys/class/net/virbr0/operstate", "up")
    assert "socket-interface" not in node.fails()
