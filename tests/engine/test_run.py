"""Runs on the real engine that were killed, meet, or are asked for by make."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpu_fabric.engine.__main__ import main
from tests.simulated import MAKES_OWN, ROOT, SimulatedStack

pytestmark = pytest.mark.engine

PROGRAM = """\
import pulumi_aws as aws
aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
"""
VPC = "aws:ec2/vpc:Vpc"


@pytest.fixture(autouse=True)
def no_make_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test ARGS=…` hands its own variables down to every make below it; a person's `make preview` has none."""
    for name in MAKES_OWN:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def network(simulated: SimulatedStack) -> SimulatedStack:
    """A project of one VPC."""
    simulated.program(PROGRAM)
    simulated.configure({})
    return simulated


def begun(stack: SimulatedStack) -> bool:
    """Whether the state says, whole, that something is being made."""
    (state,) = (stack.simulation.folder / "state").rglob(f"{stack.stack}.json")
    try:
        return bool(json.loads(state.read_text())["checkpoint"]["latest"].get("pending_operations"))
    except (ValueError, KeyError):
        return False


def kill_session(session: int) -> None:
    """Kill a run with its plugins, which have process groups of their own: one left alive makes what was asked."""
    for process in map(int, filter(str.isdecimal, os.listdir("/proc"))):  # noqa: PTH208
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(process) == session:
                os.kill(process, signal.SIGKILL)


def killed_while_creating(stack: SimulatedStack) -> None:
    faults = stack.simulation.faults
    faults.parent.mkdir(exist_ok=True)
    faults.write_text(json.dumps({"delay": [{"type": VPC, "operation": "create", "seconds": 30}]}))
    line = [sys.executable, "-m", "gpu_fabric.engine", "up", "--project", str(stack.project)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, cwd=ROOT, text=True, start_new_session=True) as run:
        assert run.stdout is not None
        assert any("aws:ec2:Vpc net creating" in said for said in run.stdout)
        # The engine writes its checkpoint in place; one that is cut off in the middle is another story.
        assert any(begun(stack) or time.sleep(0.05) for _ in range(200))
        kill_session(run.pid)
    faults.unlink()


def test_a_killed_run_locks_the_stack_and_the_command_that_is_advised_frees_it(
    network: SimulatedStack,
) -> None:
    killed_while_creating(network)
    locked = network.run("up")
    assert locked.returncode != 0
    assert f"delete the lock file with `make cancel PROJECT={network.project}`" in locked.stderr
    assert "`pulumi" not in locked.stdout + locked.stderr
    network.ok("cancel")
    said = network.ok("up")
    assert "`pulumi" not in said
    assert [each["kind"] for each in network.holdings()].count(VPC) == 1


def test_the_stack_is_removed_by_the_advised_command_and_the_users_stack_file_stays(
    network: SimulatedStack,
) -> None:
    network.ok("up")
    said = network.ok("destroy")
    assert f"run `make stack PROJECT={network.project} ARGS='rm --yes'`" in said
    network.ok("stack", "rm", "--yes")
    assert (network.project / "Pulumi.dev.yaml").exists()
    network.ok("preview")


def test_two_first_runs_at_once_both_succeed(network: SimulatedStack) -> None:
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(network.run, ("preview", "preview")))
    assert [run.returncode for run in runs] == [0, 0], [run.stderr for run in runs]


def test_make_takes_a_project_whose_folder_has_a_space(network: SimulatedStack) -> None:
    spaced = network.project.rename(network.project.parent / "my project")
    done = subprocess.run(
        ["make", "--no-print-directory", "--old-file=.venv/.ready", "-n", "preview", f"PROJECT={spaced}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    recipe = done.stdout.strip().splitlines()[-1]
    ran = subprocess.run(["sh", "-c", recipe], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Vpc net create" in ran.stdout
    done = subprocess.run(
        ["make", "--no-print-directory", "--old-file=.venv/.ready", "clouds", f"PROJECT={spaced}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "The simulated clouds are empty.\n"), done.stderr


@pytest.mark.parametrize(
    ("with_project_file", "code", "said"),
    [
        (True, 0, "The simulated clouds are empty: nothing was made yet."),
        (False, 2, "no such database: nothing has been simulated yet"),
    ],
)
def test_before_any_run_the_clouds_of_a_project_are_empty_and_another_folder_is_a_mistake(
    tmp_path: Path, with_project_file: bool, code: int, said: str
) -> None:
    if with_project_file:
        (tmp_path / "Pulumi.yaml").write_text("name: a\nruntime: python\n")
    done = subprocess.run(
        ["make", "--no-print-directory", "--old-file=.venv/.ready", "clouds", f"PROJECT={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is (code == 0)
    assert said in done.stdout + done.stderr


def test_nobody_else_reads_the_folders_of_a_run(network: SimulatedStack) -> None:
    network.ok("preview")
    folder = network.simulation.folder
    modes = {each.name: each.stat().st_mode & 0o777 for each in (folder, *folder.iterdir()) if each.is_dir()}
    assert set(modes.values()) == {0o700}, modes
    assert (folder / "stacks" / "Pulumi.dev.yaml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("project_file", "said"),
    [
        (
            None,
            "Pulumi.yaml: there is no such file; give the folder of a Pulumi.yaml with PROJECT= (`--project`)",
        ),
        ("name: a\nname: b\n", "error: Pulumi.yaml:2:1: the key `name` stands here again (line 1). Keep one"),
        ("runtime: python\n", "Pulumi.yaml: the project has no `name`"),
    ],
)
def test_a_project_file_that_cannot_be_read_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], project_file: str | None, said: str
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    if project_file is not None:
        (tmp_path / "Pulumi.yaml").write_text(project_file)
    assert main(["preview", "--project", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    if project_file is None:
        assert [each.name for each in tmp_path.iterdir()] == ["Pulumi.dev.yaml"]


def test_a_file_that_cannot_be_opened_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: a\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").mkdir()
    assert main(["preview", "--project", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'Pulumi.dev.yaml'}: Is a directory\n"
