"""The end that measures."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from gpu_fabric.nccl.preflight.link.datagrams import (
    ACKNOWLEDGE,
    ACKNOWLEDGED,
    BACKWARD,
    ECHO,
    HEADER,
    IP_MTU,
    open_udp,
    packet_of,
    receive,
    search_mtu,
    send,
    told,
)
from gpu_fabric.nccl.preflight.link.measure import LinkMeasure, PathMtu, percentile
from gpu_fabric.nccl.preflight.link.words import (
    DRAIN,
    ENDED,
    PORT,
    LinkError,
    RefusedError,
    hear,
    receive_all,
    say,
    send_for,
)

AROUND: Final = 8.0
"""Seconds of a measurement besides round trips and transfers: both searches for the MTU."""
STALLED_BYTES: Final = 200_000
"""A transfer that moved less in a second has hung: first segments pass, full ones do not."""


def probe(
    peer: str,
    port: int = PORT,
    *,
    token: str,
    packets: int = 500,
    interval: float = 0.01,
    seconds: float = 5.0,
    flows: int = 8,
) -> LinkMeasure:
    """Measure the link to a server. Raises `LinkError` where it does not answer or refuses."""
    try:
        address = str(ipaddress.ip_address(socket.gethostbyname(peer)))
        control = socket.create_connection((address, port), timeout=10)
    except UnicodeError:
        raise LinkError(
            f"{peer!r} is no name of a host", "Give the address that the server prints."
        ) from None
    except OSError as error:
        if ":" in peer:
            remedy = "Give the other node's IPv4 address, on which it serves."
            raise LinkError(f"{peer} is no IPv4 address, and the probe speaks IPv4 only", remedy) from None
        raise LinkError(
            f"{peer}:{port} does not answer ({error})",
            "Start `gpu-fabric-preflight link --serve` there, and let the security groups of both clouds pass TCP and "
            f"UDP {port}.",
        ) from None
    measure = LinkMeasure()
    try:
        _measure(measure, control, (address, port), token, packets, interval, seconds, flows)
    except OSError as error:
        raise LinkError(f"the other end went away ({error})", ENDED) from None
    return measure


def _measure(
    measure: LinkMeasure,
    control: socket.socket,
    address: tuple[str, int],
    token: str,
    packets: int,
    interval: float,
    seconds: float,
    flows: int,
) -> None:
    run = secrets.randbits(31)
    with control, open_udp() as udp:
        stream = control.makefile("rwb")
        left = _greet(stream, {"token": token, "run": run, "do": "control"})
        takes = packets * interval + 2 * seconds + AROUND
        if left < takes:
            what = f"the other end serves for {left:.0f} s more, and this takes about {takes:.0f}"
            raise LinkError(what, ENDED)
        udp.connect(address)
        _round_trips(udp, run, measure, packets, interval)
        wait = max(0.15, 4 * (percentile(measure.rtt_ms, 0.99) / 1000 if measure.rtt_ms else 0.1))
        measure.forward = _forward(udp, run, wait)
        measure.back = _back(udp, run, wait, stream)
        for direction in ("up", "down"):
            bulk = {"token": token, "run": run, "do": "bulk", "direction": direction, "seconds": seconds}
            found = _bulk(address, bulk, flows)
            setattr(measure, f"mute_{direction}", flows - len(found))
            setattr(measure, f"mbps_{direction}", rate_mbps(found))
            total = sum(flow.received for flow in found)
            setattr(measure, f"stalled_{direction}", total < STALLED_BYTES * seconds)


def _greet(stream: Any, document: dict[str, Any]) -> float:
    """Seconds for which the other end goes on serving."""
    say(stream, document)
    answer = hear(stream)
    if not answer.get("ok"):
        what = f"the other end refused ({answer.get('refused')})"
        raise RefusedError(what, "give the --token that it printed")
    return float(answer.get("left", 0))


def _round_trips(udp: socket.socket, run: int, measure: LinkMeasure, packets: int, interval: float) -> None:
    """Small packets one after the other; those that do not come back are lost."""
    began: dict[int, float] = {}

    def listen(seconds: float) -> None:
        for packet, _ in receive(udp, seconds):
            now = time.perf_counter()
            if len(packet) >= HEADER.size:
                _, whose, number, kind = HEADER.unpack_from(packet)
                if (whose, kind) == (run, ECHO) and number in began:
                    measure.rtt_ms.append((now - began.pop(number)) * 1000)

    for number in range(packets):
        began[number] = time.perf_counter()
        send(udp, packet_of(run, number, ECHO, 92))
        measure.sent += 1
        listen(interval)
    listen(1.0 if began else 0.0)


def _forward(udp: socket.socket, run: int, wait: float) -> PathMtu:
    route = udp.getsockopt(socket.IPPROTO_IP, IP_MTU)
    told(udp)
    refused: set[int] = set()
    heard: list[int] = []

    def attempt(sizes: list[int]) -> set[int]:
        for _ in range(2):
            for size in sizes:
                if not send(udp, packet_of(run, size, ACKNOWLEDGE, size)):
                    refused.add(size)
        arrived = _arrived(udp, wait, run, ACKNOWLEDGED)
        heard.extend(mtu for mtu in [told(udp)] if mtu is not None)
        return arrived & set(sizes)

    largest = search_mtu(attempt)
    return PathMtu(largest, route, min(heard, default=None), min(refused) - 1 if refused else None)


def _arrived(udp: socket.socket, wait: float, run: int, kind: int) -> set[int]:
    """Numbers of the run's packets of one kind that came within `wait` seconds."""
    headers = (HEADER.unpack_from(packet) for packet, _ in receive(udp, wait) if len(packet) >= HEADER.size)
    return {number for _, whose, number, what in headers if (whose, what) == (run, kind)}


def _back(udp: socket.socket, run: int, wait: float, stream: Any) -> PathMtu:
    say(stream, {"do": "route"})
    route = hear(stream).get("route")
    refused: set[int] = set()
    heard: list[int] = []

    def attempt(sizes: list[int]) -> set[int]:
        say(stream, {"do": "send", "sizes": sizes, "wait": wait / 2})
        arrived = _arrived(udp, wait, run, BACKWARD)
        answer = hear(stream)
        refused.update(set(sizes) - set(answer.get("sent", ())))
        if answer.get("told"):
            heard.append(int(answer["told"]))
        return arrived & set(sizes)

    largest = search_mtu(attempt)
    return PathMtu(largest, route, min(heard, default=None), min(refused) - 1 if refused else None)


@dataclass(frozen=True)
class Flow:
    """One connection's transfer; times by this machine's monotonic clock."""

    received: int
    """Bytes that arrived."""
    began: float
    ended: float


def _bulk(address: tuple[str, int], asked: dict[str, Any], flows: int) -> list[Flow]:
    """That many connections at the same time; those of which nothing is known are left out."""
    found: list[Flow] = []
    start = threading.Barrier(flows)

    def one() -> None:
        with suppress(OSError, LinkError, ValueError, threading.BrokenBarrierError):
            connection = None
            try:
                connection = socket.create_connection(address, timeout=5)
            finally:
                # All connections are there before any of them sends.
                start.wait(timeout=20)
            with connection:
                stream = connection.makefile("rwb", buffering=0)
                _greet(stream, asked)
                began = time.monotonic()
                received = _transferred(connection, stream, asked)
                found.append(Flow(received, began, time.monotonic()))

    threads = [threading.Thread(target=one, daemon=True) for _ in range(flows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(float(asked["seconds"]) + 12 * DRAIN)
    return [*found]


def _transferred(connection: socket.socket, stream: Any, asked: Mapping[str, Any]) -> int:
    if asked["direction"] == "down":
        return receive_all(connection, float(asked["seconds"]))
    # An end that stopped early may have said what it got before it went.
    with suppress(OSError):
        send_for(connection, float(asked["seconds"]))
    connection.settimeout(11 * DRAIN)
    return int(hear(stream).get("received", 0))


def rate_mbps(flows: Sequence[Flow]) -> float:
    """Mbit/s of all together, from when the first began to when the last ended."""
    if not flows:
        return 0.0
    seconds = max(flow.ended for flow in flows) - min(flow.began for flow in flows)
    return sum(flow.received for flow in flows) * 8 / max(seconds, 1e-9) / 1e6
