"""The start-up data really run: by cloud-init, in a root of its own, on a node of stand-ins.

The image's services, devices and systemd are stand-ins (`gpu_node`); cloud-init, Python, our runner and everything
that it writes are real. A scenario starts the unit as systemd does at a boot and lets one thing go wrong.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.bootstrap import CrossCloudRoutes, Setup, cloud_config, user_data
from gpu_fabric.nccl.environment import environment
from gpu_fabric.nccl.hardware import get_size
from tests.node_real.gpu_node import GpuNode
from tests.node_real.isolated import Root, isolated_root

SETUP = Setup(
    commands_before=("echo before >>/order",),
    commands_after=("[ ! -e /spoilt ] || exit 7; echo after >>/order",),
    containers=True,
    patience_seconds=0,
)
STEPS = (
    "before-1",
    "services",
    "gpus",
    "fabric",
    "packages",
    "limits",
    "scratch",
    "files",
    "topology",
    "containers",
    "routes",
    "after-1",
)


def text_of(size: str, setup: Setup = SETUP) -> str:
    return cloud_config(size, environment=environment(size), setup=setup)


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuNode]:
    """An Azure node that has booted once; a test forgets what the one before it did."""
    with isolated_root(tmp_path_factory.mktemp("azure"), needs=("cloud-init",)) as root:
        node = GpuNode(root, get_size("Standard_ND96isr_H100_v5")).install()
        node.seed(user_data(text_of(node.size.name)))
        assert node.cloud_init() == "status: done"
        assert node.readiness["state"] == "ready", node.readiness
        yield node


@pytest.fixture
def node(booted: GpuNode) -> GpuNode:
    booted.forget()
    return booted


def test_cloud_init_makes_an_aws_node_ready_in_three_seconds_of_our_own_work(tmp_path: Path) -> None:
    size = "p5.48xlarge"
    with isolated_root(tmp_path, needs=("cloud-init",)) as root:
        node = GpuNode(root, get_size(size)).install()
        node.seed(user_data(text_of(size)))

        assert node.cloud_init() == "status: done"

        state = node.readiness
        assert (state["state"], state["step"], state["reason"]) == ("ready", None, None)
        assert node.steps == {**dict.fromkeys(STEPS, "ok"), "routes": "skipped"}
        notes = {row["step"]: row["reason"] for row in state["steps"]}
        assert notes["040-fabric"] == "32 devices, 5128 hugepages of 2 MiB"
        assert notes["070-scratch"] == "8 disks, 30.4 TB"
        assert notes["090-topology"] == "installed, not active"
        assert notes["110-routes"] == "no other cloud"
        assert root.read("/order") == "before\nafter\n"
        assert root.read("/held") == "libnvidia-compute-580\nnvidia-driver-580-server\n"
        assert root.read("/etc/sysctl.d/90-gpu-fabric.conf") == "vm.nr_hugepages = 5128\n"
        assert "* - memlock unlimited\n" in (root.read("/etc/security/limits.d/90-gpu-fabric.conf") or "")
        assert "DefaultLimitMEMLOCK=infinity\n" in (
            root.read("/etc/systemd/system.conf.d/90-gpu-fabric.conf") or ""
        )
        assert root.read("/etc/nccl.conf") is None, "that file belongs to the image"
        # The programs are there without their comments, and run: the entrypoint by its own tests' stand-in.
        ran = root.run(paths.ENTRYPOINT, "-v", "--allow-sockets", "env", check=False)
        assert "NCCL_CONF_FILE=/etc/gpu-fabric/nccl.conf" in ran.stdout, ran.stdout

        # The power fails while cloud-init writes its files: the next boot writes them again.
        root.run("rm", paths.READY_WANTED, f"{paths.LIBRARY}/scratch.py", paths.READY_UNIT)
        node.reboot("boot-2")
        assert node.cloud_init() == "status: done"
        # Processor time, because other tests run beside it: what the node waits for is not its work.
        assert node.work() <= 3
        assert node.readiness["state"] == "ready"


def test_an_azure_node_waits_for_the_images_services_and_counts_infiniband_ports_only(node: GpuNode) -> None:
    assert node.start_unit() == 0
    log = node.root.read("/systemctl.log") or ""
    for unit in ("sku-customizations", "azure_persistent_rdma_naming", "openibd", "nvidia-fabricmanager"):
        assert (
            f"show -p LoadState,ActiveState,UnitFileState,InactiveExitTimestampMonotonic {unit}.service\n"
            in log
        )
    notes = {row["step"].partition("-")[2]: row["reason"] for row in node.readiness["steps"]}
    assert notes["fabric"] == "8 ports at 400 Gb/s"
    assert "gpu-fabric: ready in" in node.console
    assert notes["topology"] == "active"


@dataclass(frozen=True)
class Wrong:
    """One thing that is wrong on the node, how it is put right, and what the node says of it."""

    step: str
    break_it: str
    mend_it: str
    says: str


def stand_in(program: str, body: str) -> tuple[str, str]:
    """Shell that puts a stand-in before another, and that takes it away."""
    path = f"/usr/local/sbin/{program}"
    return f"printf '#!/bin/sh\\n{body}\\n' >{path}; chmod 755 {path}", f"rm {path}"


WRONG = (
    Wrong(
        "services",
        "echo failed >/units/sku-customizations.service",
        "echo active >/units/sku-customizations.service",
        "sku-customizations.service has failed: see journalctl -u sku-customizations.service",
    ),
    Wrong(
        "services",
        "rm /units/nvidia-fabricmanager.service",
        "echo active >/units/nvidia-fabricmanager.service",
        "nvidia-fabricmanager.service does not exist: is this the GPU image of the cloud?",
    ),
    Wrong(
        "services",
        "echo activating >/units/openibd.service",
        "echo active >/units/openibd.service",
        "still waiting for openibd.service after 0 s",
    ),
    Wrong("gpus", *stand_in("nvidia-smi", "echo GPU 0: one"), "nvidia-smi lists 1 of 8 GPUs after 0 s"),
    Wrong(
        "fabric",
        "echo '1: DOWN' >/sys/class/infiniband/mlx5_ib3/ports/1/state",
        "echo '4: ACTIVE' >/sys/class/infiniband/mlx5_ib3/ports/1/state",
        "7 of 8 InfiniBand ports are active at 400 Gb/s after 0 s",
    ),
    Wrong(
        "fabric",
        "rmdir /sys/module/nvidia_peermem",
        "mkdir /sys/module/nvidia_peermem",
        "the module nvidia_peermem is not loaded after 0 s",
    ),
    Wrong(
        "fabric",
        ": >/sys/class/infiniband/mlx5_ib3/ports/1/rate",
        "echo '400 Gb/sec (4X NDR)' >/sys/class/infiniband/mlx5_ib3/ports/1/rate",
        "7 of 8 InfiniBand ports are active at 400 Gb/s after 0 s",
    ),
    Wrong(
        "packages",
        *stand_in("apt-mark", "[ $1 = showhold ] || { echo E: locked; exit 100; }"),
        "`apt-mark hold libnvidia-compute-580 nvidia-driver-580-server` gave 100: E: locked after 0 s",
    ),
    Wrong(
        "limits",
        "touch /etc/systemd/system.conf.d",
        "rm /etc/systemd/system.conf.d",
        "FileExistsError: [Errno 17] File exists: '/etc/systemd/system.conf.d'",
    ),
    Wrong(
        "scratch",
        *stand_in("lsblk", 'echo {\\"blockdevices\\": []}'),
        "no unused local NVMe disk is there: see lsblk",
    ),
    Wrong(
        "files",
        "cp /etc/gpu-fabric/nccl.conf /kept; echo NCCL_GRAPH_FILE=/x >>/etc/gpu-fabric/nccl.conf",
        "cp /kept /etc/gpu-fabric/nccl.conf",
        "not as rendered: /etc/gpu-fabric/nccl.conf; launch the node anew or put them back",
    ),
    Wrong(
        "topology",
        "chmod 600 /etc/gpu-fabric/topology.xml",
        "chmod 644 /etc/gpu-fabric/topology.xml",
        "/etc/gpu-fabric/topology.xml cannot be read by everybody",
    ),
    Wrong(
        "containers",
        "mkdir -p /etc/docker; echo nonsense >/etc/docker/daemon.json",
        "rm /etc/docker/daemon.json",
        "/etc/docker/daemon.json is not JSON as Docker reads it: Expecting value: line 1 column 1 (char 0)",
    ),
    Wrong("after-1", "touch /spoilt", "rm /spoilt", "exit 7: see /var/log/gpu-fabric/120-after-1.log"),
)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.step}: {wrong.says[:40]}")
def test_a_step_that_fails_is_named_with_its_reason(node: GpuNode, wrong: Wrong) -> None:
    node.root.run("sh", "-c", wrong.break_it)
    try:
        assert node.start_unit() == 1
    finally:
        node.root.run("sh", "-c", wrong.mend_it)
    state = node.readiness
    assert state["state"] == "failed"
    assert state["step"].partition("-")[2] == wrong.step
    assert state["reason"] == wrong.says
    position = STEPS.index(wrong.step)
    states = [node.steps[step] for step in STEPS]
    assert states[position:] == ["failed", *["pending"] * (len(STEPS) - position - 1)]
    assert "failed" not in states[:position]
    assert "pending" not in states[:position]
    assert f"gpu-fabric: failed in {state['seconds']} s at {state['step']}: {wrong.says}" in node.console


def test_a_node_that_failed_and_was_mended_ends_ready_at_its_next_boot(node: GpuNode) -> None:
    node.root.run("touch", "/spoilt")
    assert node.start_unit() == 1
    node.root.run("rm", "/spoilt")
    node.reboot("boot-2")
    assert node.readiness == {}, "after a reboot nothing says ready before it is"
    assert node.start_unit() == 0
    assert (node.readiness["state"], node.readiness["boot_id"]) == ("ready", "boot-2")


def test_cloud_init_itself_reports_an_error_when_a_step_fails(tmp_path: Path) -> None:
    size = "p4d.24xlarge"
    setup = Setup(commands_before=("echo to the log; exit 7",), patience_seconds=0)
    with isolated_root(tmp_path, needs=("cloud-init",)) as root:
        node = GpuNode(root, get_size(size)).install()
        node.seed(user_data(text_of(size, setup)))
        assert node.cloud_init() == "status: error"
        state = node.readiness
        assert (state["state"], state["step"]) == ("failed", "010-before-1")
        assert state["reason"] == "exit 7: see /var/log/gpu-fabric/010-before-1.log"
        assert "to the log\n" in node.log("before-1")


@pytest.mark.parametrize("first", range(0, len(STEPS), 3))
def test_a_run_that_is_killed_at_a_step_starts_again_and_ends_ready(node: GpuNode, first: int) -> None:
    for step in STEPS[first : first + 3]:
        node.fault(step, "begin")
    assert node.start_unit() == 0, (
        "killed at three steps one after the other; systemd starts it again each time"
    )
    assert node.readiness["state"] == "ready"
    assert not node.faults, "each of the three kills took place"


@pytest.mark.parametrize("step", ["before-1", "scratch", "after-1"])
def test_a_run_that_is_killed_each_time_ends_failed_with_the_step(node: GpuNode, step: str) -> None:
    node.fault(step, "begin", "always")
    assert node.start_unit() == 1
    state = node.readiness
    assert (state["state"], state["step"].partition("-")[2]) == ("failed", step)
    assert state["reason"] == "ended from outside: signal"
    assert node.steps[step] == "failed"


def test_the_power_may_fail_after_the_work_of_each_step_and_the_node_still_ends_ready(node: GpuNode) -> None:
    for number, step in enumerate(STEPS):
        node.fault(step, "end", "power")
        assert node.start_unit() != 0
        assert node.readiness["state"] == "running", "nobody was left to say that it failed"
        node.reboot(f"boot-{number}")
        assert node.readiness == {}
    assert node.start_unit() == 0
    assert node.readiness["state"] == "ready"
    assert (node.root.read("/order") or "").count("after\n") == 1, "a command of the user's runs once"


def test_a_second_boot_changes_nothing_that_is_right_already(node: GpuNode) -> None:
    assert node.start_unit() == 0
    before = node.root.run("sh", "-c", "cat /disks.log /held; stat -c %y /etc/docker/daemon.json").stdout
    node.reboot("boot-2")
    node.root.run("sh", "-c", ": >/systemctl.log")
    assert node.start_unit() == 0
    assert (
        node.root.run("sh", "-c", "cat /disks.log /held; stat -c %y /etc/docker/daemon.json").stdout == before
    )
    log = node.root.read("/systemctl.log") or ""
    assert "try-restart" not in log and "daemon-reload" not in log
    assert node.steps["before-1"] == node.steps["after-1"] == "skipped", "the user's commands run once"


def test_scratch_survives_a_missing_disk_and_says_that_it_is_degraded(node: GpuNode) -> None:
    assert node.start_unit() == 0
    # At the next boot a disk is missing: the old array is there, does not run, and holds the others.
    node.disks(7)
    node.root.run(
        "sh", "-c", "rm /labelled; mkdir -p /sys/block/md127/slaves/nvme1n1 /sys/block/md127/slaves/nvme2n1"
    )
    node.reboot("boot-2")
    try:
        assert node.start_unit() == 0
        note = next(row["reason"] for row in node.readiness["steps"] if row["step"].endswith("scratch"))
        assert note == "7 disks, 26.9 TB, DEGRADED: 30.8 TB expected"
        log = (node.root.read("/disks.log") or "").splitlines()
        assert "mdadm --stop /dev/md127" in log
        assert "--raid-devices=7" in log[-2]
        assert "nvme0n1 " not in " ".join(log), "the network disk is never touched"
        assert node.start_unit() == 0
        note = next(row["reason"] for row in node.readiness["steps"] if row["step"].endswith("scratch"))
        assert note == "mounted already, 26.9 TB, DEGRADED: 30.8 TB expected", "nor is it forgotten"
    finally:
        node.disks(8)
        node.root.run("rm", "-rf", "/sys/block/md127")


def test_the_state_is_written_to_the_instances_own_tag_whether_ready_or_failed(tmp_path: Path) -> None:
    size = "p5.48xlarge"
    with isolated_root(tmp_path, needs=("cloud-init",)) as root:
        node = GpuNode(root, get_size(size)).install()
        root.program("/usr/local/bin/aws", 'printf "%s|" "$@" >>/aws.log; echo >>/aws.log\n')
        node.seed(user_data(text_of(size, Setup(tag=True, patience_seconds=0))))
        assert node.cloud_init() == "status: done"
        # The id is what cloud-init itself answers; NoCloud has no region.
        create = "ec2|create-tags|--region|null|--resources|i-1|--tags|Key=gpu-fabric:state,Value="
        assert last_tag(root, "ready") == f'{create}"ready"|'
        root.run("rm", "/units/nvidia-fabricmanager.service")
        assert node.start_unit() == 1
        said = "nvidia-fabricmanager.service does not exist: is this the GPU image of the cloud "
        assert last_tag(root, "exist") == f'{create}"failed at 010-services: {said}"|'
        root.run("sh", "-c", "echo active >/units/nvidia-fabricmanager.service")
        node.fault("gpus", "begin", "always")
        assert node.start_unit() == 1
        assert last_tag(root, "outside") == f'{create}"failed at 020-gpus: ended from outside: signal"|'


def last_tag(root: Root, word: str) -> str:
    """The last tag that was written, when one with this word has been."""
    end = time.monotonic() + 30
    while word not in (lines := (root.read("/aws.log") or "-").splitlines())[-1]:
        assert time.monotonic() < end, lines
        time.sleep(0.2)
    return lines[-1]


@contextmanager
def planned(node: GpuNode, *steps: Any) -> Generator[None]:
    """The node with these steps in place of its own."""
    node.root.run("cp", paths.SETUP_PLAN, "/kept.json")
    node.root.write(paths.SETUP_PLAN, json.dumps({"steps": steps}))
    try:
        yield
    finally:
        node.root.run("cp", "/kept.json", paths.SETUP_PLAN)


def bash(name: str, run: str) -> dict[str, Any]:
    return {"name": name, "do": "command", "run": run, "within": 60}


@pytest.mark.parametrize(
    "plan", ["{", "", "{}", "null", "[]", "3", '{"steps": 3}', '{"steps": [{"do": "gpus"}]}']
)
def test_a_plan_that_cannot_be_read_is_a_failure_of_its_own(node: GpuNode, plan: str) -> None:
    with planned(node):
        node.root.write(paths.SETUP_PLAN, plan)
        assert node.start_unit() == 1
        assert (node.readiness["state"], node.readiness["step"]) == ("failed", "plan")
        assert node.readiness["reason"].startswith("/etc/gpu-fabric/setup.json: ")
        assert "gpu-fabric: failed in " in node.console


@pytest.mark.parametrize("document", ["{", "", "null", "[1]"])
def test_a_state_that_cannot_be_read_is_no_state(node: GpuNode, document: str) -> None:
    node.root.write(paths.READY, document)
    done = node.root.run("python3", paths.SETUP, "status", check=False)
    assert (done.returncode, done.stdout) == (2, "{}\n")


@pytest.mark.parametrize("arguments", [(), ("foo",), ("--help",), ("undo",), ("status", "x")])
def test_wrong_usage_is_answered_with_the_right_one(node: GpuNode, arguments: tuple[str, ...]) -> None:
    done = node.root.run("python3", paths.SETUP, *arguments, check=False)
    assert done.stdout == "usage: setup.py run | status | wait | stopped | undo STEP | tag\n"
    assert done.returncode == 1


@pytest.mark.parametrize("folder", ["/var/lib/gpu-fabric", "/var/log/gpu-fabric"])
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_full_disk_is_the_reason_and_nobody_waits_for_ever(node: GpuNode, folder: str, when: str) -> None:
    node.root.run("sh", "-c", f"mkdir -p {folder} && mount -t tmpfs -o size=64k tmpfs {folder}")
    fill = f"dd if=/dev/zero of={folder}/fill bs=4k 2>/dev/null || true"
    try:
        if when == "before":
            node.root.run("sh", "-c", fill)
        with planned(node, bash("fill", fill), bash("after", "true"), bash("last", "true")):
            assert node.start_unit() == 1
        state = node.readiness
        assert state["state"] == "failed"
        assert state["reason"].startswith("[Errno 28] No space left on device"), state
        assert "No space left on device" in node.console
        assert {row["step"]: row["state"] for row in state["steps"]}.get(state["step"], "failed") == "failed"
        assert node.root.run("python3", paths.SETUP, "wait", timeout=20, check=False).returncode == 1
    finally:
        node.root.run("umount", folder)


def test_what_a_step_prints_need_not_be_text(node: GpuNode) -> None:
    node.root.write("/noise", b"caf\xe9 \x00\xff " * 2_000)
    with planned(node, bash("noise", "cat /noise; echo"), bash("after", "echo done")):
        assert node.start_unit() == 0
    assert node.readiness["state"] == "ready"


def test_the_same_bash_twice_runs_twice_and_once_a_node(node: GpuNode) -> None:
    node.root.run("rm", "-f", "/lines")
    with planned(node, *(bash(f"after-{number}", "echo hi >>/lines") for number in (1, 2))):
        assert node.start_unit() == node.start_unit() == 0
    assert node.root.read("/lines") == "hi\nhi\n"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("kill -9 $PPID", "killed by signal 9"),
        ("kill -9 $$", "killed by signal 9: see /var/log/gpu-fabric/010-killed.log"),
        ("exit 3", "exit 3: see /var/log/gpu-fabric/010-killed.log"),
    ],
)
def test_a_step_that_was_killed_says_by_what(node: GpuNode, run: str, reason: str) -> None:
    with planned(node, bash("killed", run)):
        assert node.start_unit() == 1
    assert (node.readiness["step"], node.readiness["reason"]) == ("010-killed", reason)


@pytest.mark.parametrize(
    ("run", "state", "reason"),
    [
        ("(while sleep 0.1; do echo listening on port 80; done) & sleep 0.3", "ready", None),
        ("(while sleep 0.1; do echo 'failed: no licence server'; done) & sleep 0.3", "ready", None),
        ("(sleep 0.2; echo 'ok: late') & exit 3", "failed", "exit 3: see /var/log/gpu-fabric/010-left.log"),
        ("echo failed: but it ended well", "ready", None),
    ],
)
def test_what_a_step_leaves_behind_says_nothing_about_the_step(
    node: GpuNode, run: str, state: str, reason: str | None
) -> None:
    with planned(node, bash("left", run)):
        node.start_unit()
        node.root.run("pkill", "-f", "while sleep", check=False)
    assert (node.readiness["state"], node.readiness["reason"]) == (state, reason)
    assert set(node.steps.values()) == {"ok" if state == "ready" else "failed"}


def test_a_long_reason_is_no_state_of_its_own(node: GpuNode) -> None:
    reason = " ".join(f"10.{number // 256}.{number % 256}.0/24," for number in range(500))
    with planned(node, {"name": "long", "do": "skip", "reason": reason}):
        assert node.start_unit() == 0
    assert node.steps == {"long": "skipped"}
    (row,) = node.readiness["steps"]
    assert row["reason"] == reason


@pytest.mark.parametrize(
    ("step", "file", "told"),
    [
        ("limits", "/etc/systemd/system.conf.d/90-gpu-fabric.conf", "daemon-reload"),
        ("containers", "/etc/docker/daemon.json", "try-restart docker.service"),
    ],
)
def test_what_was_written_and_not_taken_up_is_taken_up_by_the_next_run(
    node: GpuNode, step: str, file: str, told: str
) -> None:
    plan = json.loads(node.root.read(paths.SETUP_PLAN) or "")["steps"]
    own = next(one for one in plan if one["name"] == step)
    node.root.run("rm", "-f", file)
    with planned(node, own):
        refuses = f'case "$*" in "{told}") exit 1;; esac\nexec /usr/local/bin/systemctl "$@"\n'
        node.root.program("/usr/local/sbin/systemctl", refuses)
        try:
            assert node.start_unit() == 1
        finally:
            node.root.run("rm", "/usr/local/sbin/systemctl")
        node.root.run("sh", "-c", ": >/systemctl.log")
        assert node.start_unit() == node.start_unit() == 0
    told_again = [line for line in (node.root.read("/systemctl.log") or "").splitlines() if line == told]
    assert len(told_again) == 1


def test_nobody_but_root_reads_the_users_commands_and_what_they_print(node: GpuNode) -> None:
    assert node.start_unit() == 0
    secret = "echo before >>/order"
    found = node.root.run(
        "sh", "-c", f"grep -rlF '{secret}' /etc/gpu-fabric /var/lib/gpu-fabric /run/gpu-fabric"
    )
    files = found.stdout.split()
    assert len(files) == 2, "the plan, whose mode cloud-init sets, and the command that ran"
    for file in [*(one for one in files if one != paths.SETUP_PLAN), "/var/log/gpu-fabric/010-before-1.log"]:
        way = [f"/{'/'.join(file.split('/')[1:end])}" for end in range(2, file.count("/") + 2)]
        modes = node.root.run("stat", "-c", "%a", *way).stdout.split()
        assert any(mode.endswith("00") for mode in modes), (file, modes)


def test_a_command_may_be_longer_than_an_argument(node: GpuNode) -> None:
    with planned(node, bash("long", f": {'x' * 200_000}\necho done >/long")):
        assert node.start_unit() == 0
    assert node.root.read("/long") == "done\n"


def test_an_instance_of_an_image_that_was_made_of_a_node_runs_the_commands_itself(node: GpuNode) -> None:
    with planned(node, bash("once", "echo ran >>/ran")):
        assert node.start_unit() == node.start_unit() == 0
        assert node.root.read("/ran") == "ran\n"
        node.root.write("/var/lib/cloud/data/instance-id", "i-2\n")
        assert node.start_unit() == 0
    assert node.root.read("/ran") == "ran\nran\n"


def test_a_topology_of_the_users_with_other_line_ends_is_what_was_rendered(node: GpuNode) -> None:
    path, text = paths.TOPOLOGY, '<system version="1">\r\n</system>\r\n'
    kept = node.root.read(path)
    node.root.run("sh", "-c", f"printf '%s' '{text}' >{path}")
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    try:
        with planned(node, {"name": "files", "sums": {path: digest}}):
            assert node.start_unit() == 0, node.readiness
    finally:
        node.root.write(path, kept or "")


@pytest.mark.parametrize("text", ["[]", '{"default-ulimits": null}', '{"features": []}', '"text"', "3"])
def test_a_docker_configuration_of_another_form_is_named(node: GpuNode, text: str) -> None:
    node.root.write("/etc/docker/daemon.json", text)
    try:
        with planned(node, {"name": "containers"}):
            assert node.start_unit() == 1
    finally:
        node.root.run("rm", "/etc/docker/daemon.json")
    said = "/etc/docker/daemon.json is not JSON as Docker reads it: "
    assert node.readiness["reason"].startswith(said)


@pytest.mark.parametrize("step", ["nosuch", "scratch", "setup"])
def test_what_cannot_be_undone_is_said(node: GpuNode, step: str) -> None:
    done = node.root.run("python3", paths.SETUP, "undo", step, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("unit", "state", "ends"),
    [
        ("openibd", "inactive disabled", 0),
        ("sku-customizations", "inactive ran", 0),
        ("openibd", "inactive", 1),
        ("sku-customizations", "inactive disabled", 1),
    ],
)
def test_a_service_that_has_ended_well_or_that_the_image_does_not_start_is_not_waited_for(
    node: GpuNode, unit: str, state: str, ends: int
) -> None:
    node.root.write(f"/units/{unit}.service", f"{state}\n")
    try:
        assert node.start_unit() == ends
    finally:
        node.root.write(f"/units/{unit}.service", "active\n")
    assert (node.readiness["reason"] == f"still waiting for {unit}.service after 0 s") is bool(ends)


def test_packages_are_held_when_an_upgrade_has_let_go_of_dpkgs_lock(node: GpuNode) -> None:
    path = "/usr/local/sbin/apt-mark"
    locked = 'case $1 in hold) echo >>/tries; [ "$(wc -l </tries)" -gt 2 ] || { echo E: locked; exit 100; } ;; esac\n'
    node.root.program(path, locked)
    try:
        step = {"name": "packages", "do": "hold", "patterns": ["nvidia-*"], "seconds": 20}
        with planned(node, step):
            assert node.start_unit() == 0
        assert node.root.read("/tries") == "\n" * 3
    finally:
        node.root.run("rm", "-f", path, "/tries")


def test_a_missing_disk_of_the_images_own_mount_is_said_too(node: GpuNode) -> None:
    node.root.run("sh", "-c", "mkdir -p /image && mount -t tmpfs -o size=7000000000k tmpfs /image")
    step = {
        "name": "scratch",
        "mount": "/data",
        "models": [],
        "bytes": 8_192_000_000_000,
        "image_mount": "/image",
    }
    try:
        with planned(node, step):
            assert node.start_unit() == 0
        (row,) = node.readiness["steps"]
        assert row["reason"] == "the image's own, from /image, 7.2 TB, DEGRADED: 8.2 TB expected"
    finally:
        node.root.run("sh", "-c", "umount /data; umount /image")


def test_routes_without_a_way_out_fail_with_what_to_give(tmp_path: Path) -> None:
    size = "p5.48xlarge"
    routes = CrossCloudRoutes(("10.20.0.0/16",), bandwidth_mbps=10_000, rtt_ms=5)
    with isolated_root(tmp_path, needs=("cloud-init",)) as root:
        node = GpuNode(root, get_size(size)).install()
        no_default_route = "printf '#!/bin/sh\\necho []\\n' >/usr/local/sbin/ip; chmod 755 /usr/local/sbin/ip"
        setup = Setup(commands_before=(no_default_route,), routes=routes, scratch=None, patience_seconds=0)
        node.seed(user_data(text_of(size, setup)))
        assert node.cloud_init() == "status: error"
        assert node.readiness["step"].endswith("-routes")
        assert node.readiness["reason"] == (
            "there is no default route, and no `gateway` and `device` are given"
        )
        assert node.steps["scratch"] == "skipped"
