"""The end that measures."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
import time
from contextlib import suppress
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
from gpu_fabric.nccl.preflight.link.words import ENDED, PORT, LinkError, RefusedError, hear, say, transfer

AROUND: Final = 8.0
"""Seconds of a measurement besides round trips and transfers: both searches for the MTU."""
STALLED_BYTES: Final = 1_000_000
"""A transfer of seconds that moved less has hung: first segments pass, full ones do not."""


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
    except OSError as error:
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
            total = _bulk(address, bulk, flows)
            setattr(measure, f"mbps_{direction}", total * 8 / seconds / 1e6)
            setattr(measure, f"stalled_{direction}", total < STALLED_BYTES)


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


def _bulk(address: tuple[str, int], asked: dict[str, Any], flows: int) -> int:
    """Bytes that arrived over that many connections together."""
    totals = [0] * flows

    def one(number: int) -> None:
        with suppress(OSError, LinkError), socket.create_connection(address, timeout=5) as connection:
            stream = connection.makefile("rwb", buffering=0)
            _greet(stream, asked)
            if asked["direction"] == "down":
                totals[number] = transfer(connection, asked, sends=False)
                return
            transfer(connection, asked, sends=True)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(10)
            totals[number] = int(hear(stream).get("received", 0))

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(flows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(float(asked["seconds"]) + 20)
    return sum(totals)
