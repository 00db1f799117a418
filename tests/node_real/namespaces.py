"""Two clouds and the narrow link between them, as network namespaces: host – router – router – host.

Jumbo frames up to the routers, 1400 bytes between them. Routers that swallow "fragmentation needed" make the path a
black hole. Each end has root's files; only its network is its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.node_real.far_away import TUN, far_away
from tests.node_real.isolated import PACKAGES, kill_group
from tests.not_run import not_run

AWS, AZURE = "10.10.0.2", "10.20.0.2"
NARROW, WIDE = 1400, 9000


@dataclass
class Link:
    """Names of the namespaces, by who is in them."""

    prefix: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def argv(self, where: str, *argv: str) -> list[str]:
        return ["ip", "netns", "exec", f"{self.prefix}{where}", *argv]

    def run(
        self, where: str, *argv: str, check: bool = True, timeout: float = 60, stdin: str | None = None
    ) -> str:
        done = subprocess.run(
            self.argv(where, *argv),
            capture_output=True,
            text=True,
            timeout=timeout,
            input=stdin,
            env=environment(),
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{argv} gave {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, where: str, *argv: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.argv(where, *argv),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def swallow_icmp(self) -> None:
        """Routers and firewalls that say nothing when a packet is too large."""
        hook = "type filter hook output priority 0"
        rules = (
            f"table inet hole {{\n chain out {{\n {hook}; icmp type destination-unreachable drop\n }}\n}}\n"
        )
        for router in ("ra", "rz"):
            self.run(router, nft(), "-f", "-", stdin=rules)


def nft() -> str:
    """nftables, unpacked or this machine's; with the libraries beside it."""
    found = shutil.which("nft")
    return found or str(PACKAGES / "usr" / "sbin" / "nft")


def environment() -> dict[str, str]:
    """Where the unpacked programs and their libraries lie."""
    libraries = [*Path(PACKAGES, "usr", "lib").glob("*-linux-gnu")]
    return {
        **os.environ,
        "PATH": f"{PACKAGES / 'usr' / 'sbin'}:{PACKAGES / 'usr' / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }


@contextmanager
def two_clouds(name: str) -> Generator[Link]:
    """A fresh link; reported as not run where namespaces cannot be made."""
    if os.geteuid() != 0:
        not_run("network namespaces need root")
    if not shutil.which("ip") or not Path(nft()).exists():
        not_run("ip or nft is not here; scripts/system-packages unpacks nftables where apt is")
    link = Link(f"gf{os.getpid() % 10_000}{name}-")
    try:
        for where in ("a", "ra", "rz", "z"):
            command = ["ip", "netns", "add", f"{link.prefix}{where}"]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode:
                not_run(f"this machine gives no network namespace: {made.stderr.strip()}")
            link.run(where, "ip", "link", "set", "lo", "up")
        _cable(link, "a", AWS, "ra", "10.10.0.1", WIDE)
        _cable(link, "ra", "192.0.2.1", "rz", "192.0.2.2", NARROW)
        _cable(link, "rz", "10.20.0.1", "z", AZURE, WIDE)
        for where, gateway in (
            ("a", "10.10.0.1"),
            ("z", "10.20.0.1"),
            ("ra", "192.0.2.2"),
            ("rz", "192.0.2.1"),
        ):
            link.run(where, "ip", "route", "add", "default", "via", gateway)
        for router in ("ra", "rz"):
            link.run(router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield link
    finally:
        for process in link.started:
            if process.poll() is None:
                kill_group(process)
            if process.stdout:
                process.stdout.close()
        for where in ("a", "ra", "rz", "z"):
            subprocess.run(["ip", "netns", "del", f"{link.prefix}{where}"], capture_output=True, check=False)


def _cable(link: Link, left: str, left_address: str, right: str, right_address: str, mtu: int) -> None:
    ends: Sequence[tuple[str, str, str]] = (
        (left, f"to-{right}", left_address),
        (right, f"to-{left}", right_address),
    )
    sides = [("name", device, "netns", f"{link.prefix}{where}") for where, device, _ in ends]
    command = ["ip", "link", "add", *sides[0], "type", "veth", "peer", *sides[1]]
    subprocess.run(command, check=True, capture_output=True)
    for where, device, address in ends:
        link.run(where, "ip", "address", "add", f"{address}/24", "dev", device)
        link.run(where, "ip", "link", "set", device, "mtu", str(mtu), "up")


@contextmanager
def at_a_distance(link: Link, rate_mbps: float, rtt_ms: float, queue: int, overhead: int) -> Generator[None]:
    """The routers are so far apart: their cable is replaced by `far_away`. Not run where there is no TUN device."""
    names = (f"{link.prefix}1", f"{link.prefix}2")
    if not Path(TUN).exists():
        not_run(f"this machine has no {TUN}")
    with far_away(names, rate_mbps, rtt_ms, queue, overhead) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            assert process.stderr is not None
            said = process.stderr.read().strip().splitlines()
            not_run(f"this machine gives no TUN device: {said[-1] if said else 'no reason'}")
        link.run("ra", "ip", "link", "del", "to-rz")
        ends = (("ra", "to-rz", "192.0.2.1", "192.0.2.2"), ("rz", "to-ra", "192.0.2.2", "192.0.2.1"))
        for name, (where, device, address, other) in zip(names, ends, strict=True):
            command = ["ip", "link", "set", name, "netns", f"{link.prefix}{where}"]
            subprocess.run(command, check=True, capture_output=True)
            link.run(where, "ip", "link", "set", name, "name", device)
            link.run(where, "ip", "address", "add", f"{address}/24", "dev", device)
            link.run(where, "ip", "link", "set", device, "mtu", str(NARROW), "txqueuelen", "1000", "up")
            link.run(where, "ip", "route", "add", "default", "via", other)
        yield
