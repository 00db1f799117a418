"""A root of its own for what really runs on a node: cloud-init, Slurm, Open MPI.

This machine's root with the unpacked system packages over it (scripts/system-packages), an empty layer on top for
what is written, in a mount namespace of its own. Nothing of this machine is changed. A test lays stand-ins for the
programs of a GPU node into it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.not_run import not_run

PACKAGES = Path(__file__).parents[2] / ".rehearsal" / "packages" / "root"

# /sys is put together so that a test can say which InfiniBand devices there are.
_MOUNT = r"""
set -e
work=$1; packages=$2
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
lower=/
# A copy, because a layer may not lie inside another.
[ ! -d "$packages" ] || { cp -a "$packages" "$work/packages"; lower="$work/packages:/"; }
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/work" "$work/root"
root=$work/root
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -m 1777 -p "$root/tmp"
mount -t tmpfs tmpfs "$root/sys"
for name in devices class/net class/dmi fs kernel; do
  [ ! -d "/sys/$name" ] || { mkdir -p "$root/sys/$name"; mount --rbind "/sys/$name" "$root/sys/$name"; }
done
mkdir -p "$root/sys/class/infiniband"
echo ready
exec sleep infinity
"""


@dataclass
class Root:
    """A running isolated root; paths are as seen from inside."""

    holder: subprocess.Popen[str]
    work: Path
    network: bool = False
    """Whether it has a network of its own, with a loopback alone."""
    variables: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def _enter(self) -> list[str]:
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        target = f"--target={self.holder.pid}"
        network = ["--net"] if self.network else []
        return ["nsenter", target, *user, *network, "--mount", "--", "chroot", str(self.work / "root")]

    def start(
        self,
        *argv: str,
        env: Mapping[str, str] | None = None,
        stdin: int | None = subprocess.DEVNULL,
        output: int | None = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """A program inside, in a process group of its own."""
        base = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/",
            "LC_ALL": "C",
        }
        variables = [f"{name}={value}" for name, value in {**base, **self.variables, **(env or {})}.items()]
        process = subprocess.Popen(
            [*self._enter(), "env", "-i", *variables, *argv],
            text=True,
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT if output == subprocess.PIPE else output,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(
        self, *argv: str, env: Mapping[str, str] | None = None, timeout: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*argv, env=env)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            raise
        if check and process.returncode:
            raise AssertionError(f"{argv} gave {process.returncode}:\n{output}")
        return subprocess.CompletedProcess(argv, process.returncode, output, "")

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        script = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"'
        argv = [*self._enter(), "sh", "-c", script, "sh", path, oct(mode)[2:]]
        data = content.encode() if isinstance(content, str) else content
        subprocess.run(argv, input=data, check=True, timeout=20)

    def program(self, path: str, body: str) -> None:
        self.write(path, f"#!/bin/bash\n{body}", 0o755)

    def read(self, path: str) -> str | None:
        argv = [*self._enter(), "cat", path]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        return done.stdout if done.returncode == 0 else None

    def reboot(self) -> None:
        """What does not outlive a boot is gone."""
        self.run("sh", "-c", "find /run /tmp -mindepth 1 -delete 2>/dev/null; true")


def kill_group(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=20)


@contextmanager
def isolated_root(folder: Path, *, needs: tuple[str, ...] = (), network: bool = False) -> Generator[Root]:
    """A fresh root; `needs` are programs that must be in it, else the test is reported as not run."""
    if sys.platform != "linux":
        not_run("needs Linux")
    for program in needs:
        places = [base / "usr" / where for base in (PACKAGES, Path("/")) for where in ("bin", "sbin")]
        if not any((place / program).exists() for place in places):
            not_run(f"{program} is not here; scripts/system-packages unpacks it where apt is")
    work = folder / "isolated"
    work.mkdir()
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    own_network = ["--net"] if network else []
    unshare = ["unshare", *user, *own_network, "--mount", "--propagation", "private"]
    holder = subprocess.Popen(
        [*unshare, "bash", "-c", _MOUNT, "bash", str(work), str(PACKAGES)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    root: Root | None = None
    try:
        if holder.stdout.readline().strip() != "ready":
            holder.wait(timeout=10)
            not_run(f"this machine gives no mount namespace: {holder.stderr.read().strip()}")
        root = Root(holder, work, network)
        if network:
            root.run("ip", "link", "set", "lo", "up")
            # Names are looked up only where some address is not the loopback's.
            root.run("ip", "address", "add", "198.18.0.1/32", "dev", "lo")
        yield root
    finally:
        for process in root.started if root else ():
            if process.poll() is None:
                kill_group(process)
        kill_group(holder)
        holder.stdout.close()
        holder.stderr.close()
        for _ in range(20):
            try:
                work.rmdir()
                break
            except OSError:
                time.sleep(0.05)
