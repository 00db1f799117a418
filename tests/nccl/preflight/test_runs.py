"""Runs as processes: their limit, their time in a queue, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_fabric.nccl.preflight import runs
from gpu_fabric.nccl.preflight.runs import only_waits, run_all, run_one

QUEUED = "srun: job 7 queued and waiting for resources"
ALLOCATED = "srun: job 7 has been allocated resources"
BUSY = "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)"
STILL = "srun: Job 7 step creation still disabled, retrying (Requested nodes are busy)"
DOWN = "srun: Required node not available (down, drained or reserved)"


def shell(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


def ended(pid: str) -> bool:
    """Whether a process is gone within two seconds, or is a zombie that nobody has waited for."""
    for _ in range(40):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_run_gives_its_output_and_its_code() -> None:
    output = run_one(shell("echo out; echo err >&2; exit 3"), 10)
    assert (output.text, output.code, output.timed_out, output.started) == ("out\nerr\n", 3, False, True)
    missing = run_one(["/nowhere/program"], 10)
    assert (missing.code, missing.text) == (127, "/nowhere/program: No such file or directory\n")


def test_a_run_past_its_limit_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "GRACE", 0.3)
    pid = tmp_path / "pid"
    output = run_one(shell(f"trap '' TERM; sleep 60 & echo $! >{pid}; echo began; wait; wait"), 0.5)
    assert output.timed_out
    assert "began" in output.text
    assert ended(pid.read_text().strip())


def test_a_run_that_closes_its_output_and_goes_on_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "GRACE", 0.3)
    begin = time.monotonic()
    assert run_one(shell("exec >/dev/null 2>&1; sleep 60"), 0.5).timed_out
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    "words", [(QUEUED, ALLOCATED), (DOWN, QUEUED, ALLOCATED), (BUSY, STILL, "srun: Step created")]
)
def test_the_limit_counts_from_the_start_of_the_run_and_not_from_the_queue(words: tuple[str, ...]) -> None:
    *waits, starts = words
    said = "; ".join(f"echo '{line}'" for line in waits)
    output = run_one(shell(f"{said}; sleep 1.2; echo '{starts}'; echo done"), 1.0, queue_seconds=20)
    assert (output.timed_out, output.started, output.code) == (False, True, 0)
    assert output.seconds < 1.0, "its own time alone"
    hangs = run_one(shell(f"{said}; sleep 0.3; echo '{starts}'; sleep 60"), 0.5, queue_seconds=20)
    assert (hangs.timed_out, hangs.started) == (True, True)


def test_a_run_that_never_leaves_the_queue_is_told_from_one_that_hangs() -> None:
    output = run_one(shell(f"echo '{QUEUED}'; sleep 60"), 60, queue_seconds=0.5)
    assert (output.timed_out, output.started) == (False, False)


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("", None),
        (QUEUED, None),
        (f"{QUEUED}\n", True),
        (f"{DOWN}\n{QUEUED}\n", True),
        (f"{QUEUED}\nsrun: job 7 has been", True),
        (f"{QUEUED}\n{ALLOCATED}\n", False),
        ("# nThread 1\n", False),
        ("srun: cluster configuration lacks support for cpu binding\n", None),
        (f"srun: cluster configuration lacks support for cpu binding\n{QUEUED}\n", True),
        (f"{QUEUED}\nsrun: error: Unable to allocate resources\n", False),
        (f"{BUSY}\n{STILL}\nsrun: Step created for StepId=7.1\n", False),
        (f"{QUEUED}\n# nThread 1\n", False),
    ],
)
def test_only_whole_lines_of_srun_say_that_it_waits(text: str, waits: bool | None) -> None:
    assert only_waits(text.encode()) is waits


PROGRAM = "from gpu_fabric.nccl.preflight.__main__ import main; import sys; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_gate_that_is_ended_leaves_no_run_on_the_gpus(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    mpirun = tmp_path / "mpirun"
    mpirun.write_text(
        f"#!/bin/sh\n[ $1 != --version ] || exit 0\nsleep 97 &\necho $! >{tmp_path}/pid\nwait\n"
    )
    mpirun.chmod(0o755)
    arguments = "cluster --size p5.48xlarge --nodes a,b --launcher openmpi --binary /bin/true"
    gate = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments.split()],
        env={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"},
        # A test run in the background is deaf to the first of these, and so would be its children.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    pid = tmp_path / "pid"
    for _ in range(200):
        if pid.exists() and pid.read_text().strip():
            break
        time.sleep(0.05)
    gate.send_signal(number)
    assert gate.wait(20) == code
    assert ended(pid.read_text().strip())


def test_groups_run_at_the_same_time() -> None:
    begin = time.monotonic()
    outputs = run_all([shell(f"sleep 0.4; echo {number}") for number in range(4)], 10)
    assert [output.text for output in outputs] == ["0\n", "1\n", "2\n", "3\n"]
    assert time.monotonic() - begin < 1.5
