"""The link between two clouds, for real: namespaces, a 1400-byte hop, routers that swallow ICMP, and our routes."""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.preflight.link import (
    LARGEST,
    SMALLEST,
    Demand,
    LinkMeasure,
    PathMtu,
    check_link,
    percentile,
    search_mtu,
)
from gpu_fabric.nccl.preflight.result import State
from tests.node_real.namespaces import AWS, AZURE, Link, two_clouds

SETUP = Path(__file__).parents[2] / "nccl" / "node" / "setup"
#: Runs the step of the node's setup alone, as its runner does.
STEP = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
import setup
module = importlib.import_module("routes")
module.STATE, module.NETWORKD = sys.argv[3], sys.argv[3] + ".networkd"
host = setup.Host()
given = json.loads(sys.argv[2])
print("=>", module.run(host, **given) if given else module.undo(host))
"""
#: Three seconds of bulk to the other side; prints the bytes that arrived there.
BULK = """
import socket, sys, threading, time
if sys.argv[1] == "take":
    server = socket.create_server(("", 5201))
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        connection.settimeout(6)
        total = 0
        try:
            while got := connection.recv(1 << 20):
                total += len(got)
        except OSError:
            pass
        print(total, flush=True)
else:
    sender = socket.create_connection((sys.argv[2], 5201), timeout=5)
    end = time.monotonic() + 1.5
    block = b"x" * (1 << 20)
    while time.monotonic() < end:
        sender.settimeout(max(0.01, end - time.monotonic()))
        try:
            sender.send(block)
        except OSError:
            break
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, __import__("struct").pack("ii", 1, 0))
    sender.close()
"""


@pytest.fixture(scope="module")
def link() -> Iterator[Link]:
    with two_clouds("l") as made:
        made.swallow_icmp()
        yield made


def routes(link: Link, where: str, state: Path, **given: Any) -> str:
    arguments = {"prefixes": ["10.20.0.0/16" if where == "a" else "10.10.0.0/16"], "mtu": 1400, "mss": 1360}
    arguments |= {"bandwidth_mbps": 10_000, "rtt_ms": 5, **given}
    output = link.run(where, sys.executable, "-c", STEP, str(SETUP), json.dumps(arguments), str(state))
    return output.splitlines()[-1]


def undo(link: Link, where: str, state: Path) -> str:
    return link.run(where, sys.executable, "-c", STEP, str(SETUP), "null", str(state)).splitlines()[-1]


def probe(link: Link, *arguments: str) -> dict[str, Any]:
    """The report of `gpu-fabric-preflight link`, with the server at the other end."""
    command = (sys.executable, "-m", "gpu_fabric.nccl.preflight", "link")
    server = link.start("z", *command, "--serve", AZURE, "--token", "t0ken", "--for", "60")
    assert server.stdout is not None
    assert "serving on" in server.stdout.readline()
    common = (
        "--peer",
        AZURE,
        "--token",
        "t0ken",
        "--packets",
        "100",
        "--seconds",
        "1",
        "--flows",
        "2",
        "--json",
    )
    output = link.run("a", *command, *common, *arguments, check=False)
    server.kill()
    server.wait()
    assert output.startswith("{"), output
    return json.loads(output)


def bulk(link: Link) -> int:
    server = link.start("z", sys.executable, "-c", BULK, "take")
    assert server.stdout is not None
    assert server.stdout.readline() == "listening\n"
    link.run("a", sys.executable, "-c", BULK, "send", AZURE)
    total = int(server.stdout.readline())
    server.kill()
    server.wait()
    return total


def states(report: dict[str, Any]) -> dict[str, str]:
    return {result["check"]: result["state"] for result in report["results"]}


def what(report: dict[str, Any], check: str) -> str:
    return next(result["what"] for result in report["results"] if result["check"] == check)


def test_a_black_hole_is_found_and_bulk_hangs_and_with_our_routes_it_passes(
    link: Link, tmp_path: Path
) -> None:
    before = probe(link)
    found = states(before)
    # On a busy machine a few take long, which is a warning.
    assert found["rtt"] in ("pass", "warn"), "small packets pass, so that nobody suspects the path"
    assert found["loss"] == "pass"
    assert found["mtu-forward"] == found["mtu-back"] == "fail"
    assert what(before, "mtu-forward") == (
        "1400 bytes pass to the other cloud, and the sender's route says 9000; larger packets vanish without a word "
        "(a black hole): bulk transfers hang"
    )
    assert before["facts"]["forward"] == {"largest": 1400, "route": 9000, "told": None, "device": 9000}
    assert before["facts"]["back"]["largest"] == 1400
    assert found["throughput-up"] == found["throughput-down"] == "fail"
    assert "hang after their first segments" in what(before, "throughput-up")
    assert bulk(link) == 0, "an ordinary program's bulk transfer hangs too"

    said = routes(link, "a", tmp_path / "a"), routes(link, "z", tmp_path / "z")
    try:
        assert said[0].startswith("=> 10.20.0.0/16: 1400 bytes on to-ra")
        after = probe_at_rest(link)
        assert {check: state for check, state in states(after).items() if check != "rtt"} == {
            "loss": "pass",
            "mtu-forward": "pass",
            "mtu-back": "pass",
            "throughput-up": "pass",
            "throughput-down": "pass",
        }, after
        assert (
            what(after, "mtu-forward") == "1400 bytes pass to the other cloud; the sender's route says 1400"
        )
        assert bulk(link) > 10_000_000
    finally:
        undo(link, "a", tmp_path / "a")
        undo(link, "z", tmp_path / "z")


def probe_at_rest(link: Link) -> dict[str, Any]:
    """A probe against 100 Mbit/s, which a busy machine may miss: the first of three in which the throughput passes."""
    for _ in range(3):
        report = probe(link, "--bandwidth-mbps", "100")
        if {states(report)[check] for check in ("throughput-up", "throughput-down")} == {"pass"}:
            break
    return report


def test_where_routers_say_fragmentation_needed_it_is_no_black_hole() -> None:
    with two_clouds("t") as link:
        report = probe(link)
        assert report["facts"]["forward"]["told"] == 1400
        assert "are answered with MTU 1400" in what(report, "mtu-forward")
        assert "hang" not in what(report, "mtu-forward")


def test_the_routes_are_exact_and_undone_without_a_trace(link: Link, tmp_path: Path) -> None:
    names = ("tcp_mtu_probing", "tcp_rmem", "tcp_wmem", "tcp_available_congestion_control")
    script = (
        "for n in " + " ".join(names) + "; do cat /proc/sys/net/ipv4/$n; done; ip -4 route; "
        "cat /proc/sys/net/core/rmem_max"
    )
    before = link.run("a", "sh", "-c", script)
    bbr = "bbr" in before
    fast = {"bandwidth_mbps": 100_000}
    said = routes(link, "a", tmp_path / "a", **fast)
    route = link.run("a", "ip", "-4", "route", "show", "10.20.0.0/16").strip()
    assert re.fullmatch(
        r"10\.20\.0\.0/16 via 10\.10\.0\.1 dev to-ra proto static mtu lock 1400 advmss 1360( congctl bbr)?",
        route,
    )
    assert ("congctl bbr" in route) is bbr is ("BBR" in said and "no BBR" not in said)
    assert link.run("a", "cat", "/proc/sys/net/ipv4/tcp_mtu_probing").strip() == "1"
    # 100 Gbit/s over 5 ms are 62.5 MB in flight; a socket may hold twice that.
    assert link.run("a", "cat", "/proc/sys/net/ipv4/tcp_rmem").split()[2] == "125000000"
    assert "maxseg size set 1360" in link.run("a", "nft", "list", "table", "ip", "gpu_fabric")
    inside = link.run("a", "ip", "route", "get", "10.10.0.1")
    assert "mtu" not in inside, "inside the cloud nothing changes"

    assert routes(link, "a", tmp_path / "a", **fast) == said, "a second run changes nothing"
    routes(link, "a", tmp_path / "a", prefixes=["10.30.0.0/16"])
    assert link.run("a", "ip", "-4", "route", "show", "10.20.0.0/16") == "", (
        "a prefix that went away loses its route"
    )
    undo(link, "a", tmp_path / "a")
    assert link.run("a", "sh", "-c", script) == before
    assert "gpu_fabric" not in link.run("a", "nft", "list", "tables")
    assert not (tmp_path / "a").exists()


def test_a_server_answers_only_who_knows_its_token(link: Link) -> None:
    command = (sys.executable, "-m", "gpu_fabric.nccl.preflight", "link")
    server = link.start("z", *command, "--serve", AZURE, "--for", "30")
    assert server.stdout is not None
    assert re.search(r"token [0-9a-f]{16}$", server.stdout.readline().strip())
    refused = link.run("a", "sh", "-c", f"{' '.join(command)} --peer {AZURE} --token wrong 2>&1; echo $?")
    assert "the other end refused (wrong token): give the --token that it printed" in refused
    assert refused.strip().endswith("64")
    server.kill()
    server.wait()
    away = link.run("a", "sh", "-c", f"{' '.join(command)} --peer {AZURE} --token x 2>&1; echo $?")
    assert "does not answer" in away
    assert "link --serve" in away


# ---- without namespaces ---------------------------------------------------------------------------------------------


@given(st.integers(SMALLEST - 200, LARGEST + 100))
def test_the_search_finds_any_path_mtu_in_few_rounds(mtu: int) -> None:
    rounds = 0

    def attempt(sizes: list[int]) -> set[int]:
        nonlocal rounds
        rounds += 1
        return {size for size in sizes if size <= mtu}

    found = search_mtu(attempt)
    assert found == (None if mtu < SMALLEST else min(mtu, LARGEST))
    assert rounds <= 6


@given(st.integers(SMALLEST, LARGEST), st.randoms(use_true_random=False))
def test_lost_probes_give_at_most_what_passes(mtu: int, random: Any) -> None:
    def attempt(sizes: list[int]) -> set[int]:
        return {size for size in sizes if size <= mtu and (size == SMALLEST or random.random() > 0.3)}

    found = search_mtu(attempt)
    assert found is not None
    assert SMALLEST <= found <= mtu


def healthy() -> LinkMeasure:
    way = PathMtu(1400, 1400, None, 9001)
    return LinkMeasure([2.0] * 99 + [3.0], 100, way, PathMtu(1500, 1400, None, 9001), 9_000.0, 9_100.0)


def verdict(measure: LinkMeasure, demand: Demand) -> dict[str, tuple[State, str]]:
    return {
        result.check: (result.state, result.what) for result in check_link(measure, demand, "peer").results
    }


def test_each_expectation_has_its_border() -> None:
    good = healthy()
    assert {state for state, _ in verdict(good, Demand(bandwidth_mbps=11_250.0)).values()} == {State.PASS}
    assert verdict(good, Demand(rtt_ms=2.0))["rtt"][0] is State.PASS
    assert verdict(good, Demand(rtt_ms=1.99))["rtt"] == (
        State.FAIL,
        "2.00 ms, p99 2.00 ms, over 100 packets; 1.99 ms is the limit",
    )
    assert verdict(good, Demand(bandwidth_mbps=11_251.0))["throughput-up"][0] is State.FAIL
    assert verdict(good, Demand(mtu=1401))["mtu-forward"][0] is State.FAIL
    slow_tail = healthy()
    slow_tail.rtt_ms = [2.0] * 90 + [11.0] * 10
    assert verdict(slow_tail, Demand())["rtt"][0] is State.WARN


def test_loss_and_silence_are_told_apart() -> None:
    lossy = healthy()
    lossy.sent = 101
    assert verdict(lossy, Demand())["loss"] == (State.FAIL, "0.990% of 101 packets lost; 0.100% is the limit")
    assert verdict(LinkMeasure(sent=10), Demand())["rtt"][0] is State.FAIL
    assert verdict(LinkMeasure(sent=10), Demand())["mtu-forward"][0] is State.UNKNOWN


def test_percentiles_are_of_the_nearest_rank() -> None:
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (50.0, 99.0, 7.0)


def test_the_error_queue_is_read_as_the_kernel_writes_it() -> None:
    from gpu_fabric.nccl.preflight.link import datagrams

    class Udp:
        def __init__(self) -> None:
            answer = struct.pack("=IBBBBII", 90, 2, 3, 4, 0, 1400, 0) + b"\0" * 16
            self.queue = [(b"", [(socket.IPPROTO_IP, datagrams.IP_RECVERR, answer)], 0, None)]

        def dup(self) -> Udp:
            return self

        def __enter__(self) -> Udp:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def setblocking(self, _flag: bool) -> None:
            pass

        def recvmsg(self, *_: int) -> Any:
            if not self.queue:
                raise BlockingIOError
            return self.queue.pop()

    assert datagrams.told(Udp()) == 1400  # ty: ignore[invalid-argument-type]


def test_the_addresses_of_the_clouds_are_those_of_the_namespaces() -> None:
    assert (AWS, AZURE) == ("10.10.0.2", "10.20.0.2")
