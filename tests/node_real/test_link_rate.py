"""The link between two clouds at a limited rate, for real: planned flows and buffers fill it, jumbo inside stays.

The rate is the token bucket of a router (tc-tbf(8)), or that of a long way (`far_away`); `test_link` has the black
hole.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.planning.link import ETHERNET_OVERHEAD, LinkModel
from tests.node_real.namespaces import AZURE, Link, at_a_distance, two_clouds
from tests.node_real.test_link import routes, undo
from tests.not_run import not_run

RATE_MBPS = 200
RTT_MS = 3.0
#: The router's own address on the network of the AWS host: a neighbour inside the cloud.
NEIGHBOUR = "10.10.0.1"
PORT = 5_301
SECONDS = 3.0

#: Counts what arrives on all connections, and says after the given seconds how many bytes came from the first on.
TAKE = """
import socket, sys, threading, time
server = socket.create_server(("", int(sys.argv[1])), backlog=128)
seconds, skipped, began, total, lock = float(sys.argv[2]), float(sys.argv[3]), [], [0], threading.Lock()
print("listening", flush=True)
def count(connection):
    while got := connection.recv(1 << 16):
        now = time.monotonic()
        with lock:
            began or began.append(now)
            # The beginning, in which windows grow and the bucket is full, does not count.
            if skipped < now - began[0] < seconds + skipped:
                total[0] += len(got)
def accept():
    while True:
        threading.Thread(target=count, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
while not began or time.monotonic() - began[0] < seconds + skipped + 0.1:
    time.sleep(0.05)
print(total[0] * 8 / seconds / 1e6, flush=True)
"""
#: Sends over some connections until it is ended; prints the largest segment of the first.
SEND = """
import socket, sys, threading, time
flows = [socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) for _ in range(int(sys.argv[3]))]
def push(flow):
    try:
        while True:
            flow.send(b"x" * (1 << 16))
    except OSError:
        pass
for flow in flows:
    threading.Thread(target=push, args=(flow,), daemon=True).start()
time.sleep(1)
print(flows[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG), flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def link() -> Iterator[Link]:
    with two_clouds("r") as made:
        made.swallow_icmp()
        for router, device in (("ra", "to-rz"), ("rz", "to-ra")):
            bucket = ("tbf", "rate", f"{RATE_MBPS}mbit", "burst", "256kb", "latency", "20ms")
            command = made.argv(router, "tc", "qdisc", "add", "dev", device, "root", *bucket)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                not_run(f"this kernel has no token bucket: {done.stderr.strip()}")
        yield made


def rate(
    link: Link, where: str, address: str, flows: int, seconds: float = SECONDS, skipped: float = 0.5
) -> tuple[float, int]:
    """Mbit/s of payload that arrive at `address` over so many flows from the AWS host, and their segment size."""
    server = link.start(where, sys.executable, "-c", TAKE, str(PORT), str(seconds), str(skipped))
    assert server.stdout is not None
    assert server.stdout.readline() == "listening\n"
    client = link.start("a", sys.executable, "-c", SEND, address, str(PORT), str(flows))
    assert client.stdout is not None
    segment = int(client.stdout.readline())
    arrived = float(server.stdout.readline())
    for process in (client, server):
        process.kill()
        process.wait()
    return arrived, segment


def test_planned_flows_and_buffers_fill_the_rate_and_jumbo_inside_the_cloud_stays(
    link: Link, tmp_path: Path, record_property: Any
) -> None:
    plan = LinkModel(RATE_MBPS / 1000, RTT_MS)
    for where in ("a", "z"):
        routes(link, where, tmp_path / where, bandwidth_mbps=RATE_MBPS, rtt_ms=RTT_MS)
    planned, segment = rate(link, "z", AZURE, plan.flows)
    assert segment <= 1_360
    assert planned >= 0.9 * RATE_MBPS, f"{planned:.1f} of {RATE_MBPS} Mbit/s over {plan.flows} flows"
    # The planner's own figure is below the rate by the headers, and the measured one is near it.
    assert planned == pytest.approx(plan.goodput_gbps * 1000, rel=0.06)

    local, inside = rate(link, "ra", NEIGHBOUR, 1)
    assert inside > 8_900, "9000 bytes less the headers: inside the cloud nothing was clamped"
    assert local > RATE_MBPS

    found = {"plannedMbps": round(planned, 1), "insideMbps": round(local, 1)}
    record_property("rates", json.dumps(found))
    print(found)
    for where in ("a", "z"):
        undo(link, where, tmp_path / where)


#: The longest link that is not refused, 10 Gb/s over 5 ms, made small: 1/400 of its rate over twenty times its
#: distance. Bandwidth times delay is then 1/20 of the link's, and so are the kernel's own limits below.
FAR_MBPS, FAR_RTT_MS, LINK_MBPS, LINK_RTT_MS = 25.0, 100.0, 10_000, 5.0
SMALLER = (FAR_MBPS * FAR_RTT_MS) / (LINK_MBPS * LINK_RTT_MS)
#: Linux's own maxima for TCP, receiving and sending. Documentation/networking/ip-sysctl.rst, tcp_rmem and tcp_wmem.
OWN_BUFFERS = {"tcp_rmem": 6_291_456, "tcp_wmem": 4_194_304}


def as_smaller_as_the_link(made: Link) -> None:
    """The kernel's own buffers, made smaller by the factor by which bandwidth times delay is."""
    for where in ("a", "z"):
        for name, most in OWN_BUFFERS.items():
            low, usual, _ = made.run(where, "cat", f"/proc/sys/net/ipv4/{name}").split()
            largest = int(most * SMALLER)
            values = f"{low} {min(int(usual), largest)} {largest}"
            made.run(where, "sysctl", "-qw", f"net.ipv4.{name}={values}")


def test_planned_flows_and_buffers_fill_a_long_link_and_one_flow_of_defaults_does_not(
    tmp_path: Path, record_property: Any
) -> None:
    queue = int(FAR_MBPS * 1e6 / 8 * FAR_RTT_MS / 1e3)
    with two_clouds("f") as made, at_a_distance(made, FAR_MBPS, FAR_RTT_MS, queue, ETHERNET_OVERHEAD):
        as_smaller_as_the_link(made)
        # The 1400 bytes alone, so that it passes at all; the kernel's own buffers and one flow.
        for where, prefix, gateway in (
            ("a", "10.20.0.0/16", "10.10.0.1"),
            ("z", "10.10.0.0/16", "10.20.0.1"),
        ):
            way = ("via", gateway, "mtu", "lock", "1400", "advmss", "1360")
            made.run(where, "ip", "route", "add", prefix, *way)
        alone, _ = rate(made, "z", AZURE, 1, seconds=6, skipped=3)
        for where in ("a", "z"):
            routes(made, where, tmp_path / where, bandwidth_mbps=FAR_MBPS, rtt_ms=FAR_RTT_MS)
        flows = LinkModel(LINK_MBPS / 1000, LINK_RTT_MS).flows
        planned, _ = rate(made, "z", AZURE, flows, seconds=6, skipped=3)
    found = {
        "rateMbps": FAR_MBPS,
        "roundTripMs": FAR_RTT_MS,
        "plannedMbps": round(planned, 1),
        "oneDefaultFlowMbps": round(alone, 1),
    }
    record_property("rates", json.dumps(found))
    print(found)
    assert planned >= 0.9 * FAR_MBPS, found
    assert planned == pytest.approx(LinkModel(FAR_MBPS / 1000, FAR_RTT_MS).goodput_gbps * 1000, rel=0.06)
    assert alone <= 0.75 * FAR_MBPS, found
