"""Run commands at the same time, each with all its processes and a limit, and leave none behind."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import FrameType
from typing import Final

GRACE: Final = 10.0
"""Seconds between SIGTERM, which srun and mpirun pass on to the ranks, and SIGKILL."""

_QUEUED: Final = re.compile(
    r"srun: (?:[Jj]ob \S+ (?:queued and waiting for resources|step creation (?:temporarily|still) disabled)"
    r"|Required node not available|Resources allocated for job \S+ and being configured)"
)
_GRANTED: Final = re.compile(r"srun: (?:job \S+ has been allocated resources|Step .*created|error: )")
"""What srun says while nothing runs yet, and where that ends. SchedMD/slurm 22.05, src/api/step_launch.c."""


class Stopped(BaseException):
    """A signal asked the program to end, and its runs are ended."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True)
class Output:
    """What a run printed, and how it ended."""

    text: str
    code: int
    seconds: float
    """Since it started, without the time in a queue where the launcher says that it waits."""
    timed_out: bool = False
    started: bool = True
    """False where it was still in the launcher's queue when the patience for that was over."""


def run_all(commands: Sequence[Sequence[str]], seconds: float, *, queue_seconds: float = 600) -> list[Output]:
    """Every command at the same time. SIGINT, SIGTERM and SIGHUP end all of them, then raise."""
    running = _Running()
    with _signals_raise(), ThreadPoolExecutor(max_workers=max(1, len(commands))) as pool:
        try:
            futures = [pool.submit(_run, command, seconds, queue_seconds, running) for command in commands]
            return [future.result() for future in futures]
        except BaseException:
            running.end()
            raise


def run_one(command: Sequence[str], seconds: float, *, queue_seconds: float = 600) -> Output:
    """One command, ended with all its processes after so many seconds of running or of waiting to run."""
    return run_all([command], seconds, queue_seconds=queue_seconds)[0]


class _Running:
    """The processes of all threads, so that all can be ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._ended:
                return None
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._processes.add(process)
            return process

    def done(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            left = [*self._processes]
        _end(left)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ask whole sessions to end, and make them."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        limit = time.monotonic() + patience
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, limit - time.monotonic()))


@contextlib.contextmanager
def _signals_raise() -> Generator[None, None, None]:
    """SIGTERM and SIGHUP raise `Stopped`, as SIGINT raises KeyboardInterrupt; in the main thread alone."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Stopped(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(command: Sequence[str], seconds: float, queue_seconds: float, running: _Running) -> Output:
    begin = time.monotonic()
    try:
        process = running.start(command)
    except OSError as error:
        return Output(f"{command[0]}: {error.strerror}\n", 127, 0.0)
    if process is None:
        return Output("", -int(signal.SIGTERM), 0.0, started=False)
    assert process.stdout is not None
    said = bytearray()
    queued, runs, timed_out = False, False, False
    with selectors.DefaultSelector() as selector, process.stdout:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not timed_out:
            left = begin + (queue_seconds if queued else seconds) - time.monotonic()
            if left <= 0:
                timed_out = True
                _end([process])
                said += _rest(process.stdout.fileno())
            elif selector.select(left):
                got = os.read(process.stdout.fileno(), 1 << 16)
                if not got:
                    break
                said += got
                waits = None if runs else only_waits(said)
                if waits is False:
                    # The run's own time begins where its time in the queue ends.
                    begin = time.monotonic() if queued else begin
                    queued, runs = False, True
                queued = queued or waits is True
    try:
        code = process.wait(max(1.0, begin + seconds - time.monotonic()))
    except subprocess.TimeoutExpired:
        timed_out = True
        _end([process])
        code = process.wait()
    running.done(process)
    text = said.decode("utf-8", errors="replace")
    return Output(text, code, time.monotonic() - begin, timed_out and not queued, started=not queued)


def only_waits(said: bytes | bytearray) -> bool | None:
    """Whether a launcher said that it waits; None where it said nothing of it, False once the run has started."""
    waits: bool | None = None
    for line in said.rpartition(b"\n")[0].decode("utf-8", errors="replace").splitlines():
        if _QUEUED.match(line):
            waits = True
        elif line.strip() and (_GRANTED.match(line) or not line.startswith("srun: ")):
            return False
    return waits


def queue_words(text: str) -> str:
    """What srun said last about its wait."""
    lines = [line for line in text.splitlines() if _QUEUED.match(line)]
    return lines[-1] if lines else "it did not say why"


def _rest(descriptor: int) -> bytes:
    """What is still in the pipe of an ended run; a process that escaped keeps it open, so this does not wait."""
    os.set_blocking(descriptor, False)
    found = bytearray()
    with contextlib.suppress(BlockingIOError):
        while got := os.read(descriptor, 1 << 16):
            found += got
    return bytes(found)
