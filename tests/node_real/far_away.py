"""A long way between two TUN devices: a rate, a queue before it, and a delay, as tc-netem(8) where a kernel has that.

Run as a program it makes both devices, says `ready`, and carries packets until it is ended:

    python far_away.py NAME OTHER RATE_MBPS ONE_WAY_MS QUEUE_BYTES OVERHEAD
"""

from __future__ import annotations

import fcntl
import heapq
import os
import selectors
import struct
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

TUN = "/dev/net/tun"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""linux/if_tun.h."""
_CATCH_UP = 0.02
"""Seconds of the rate that are made up for when this process was not let run."""


class Way:
    """One direction. Packets leave one after another at the rate, and arrive the delay later."""

    def __init__(self, target: int, rate_mbps: float, delay: float, queue: int, overhead: int) -> None:
        self.target, self.delay, self.queue, self.overhead = target, delay, queue, overhead
        self.bytes_a_second = rate_mbps * 1e6 / 8
        self.free_at = 0.0
        self.under_way: list[tuple[float, int, bytes]] = []
        self.number = 0

    def take(self, packet: bytes, now: float) -> None:
        """Queue the packet; drop it where the queue is full."""
        if (self.free_at - now) * self.bytes_a_second > self.queue:
            return
        self.free_at = (
            max(self.free_at, now - _CATCH_UP) + (len(packet) + self.overhead) / self.bytes_a_second
        )
        self.number += 1
        heapq.heappush(self.under_way, (self.free_at + self.delay, self.number, packet))

    def deliver(self, now: float) -> None:
        while self.under_way and self.under_way[0][0] <= now:
            packet = heapq.heappop(self.under_way)[2]
            # A full device drops, as a full port does.
            with suppress(BlockingIOError, OSError):
                os.write(self.target, packet)


def device(name: str) -> int:
    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return descriptor


def carry(names: tuple[str, str], rate_mbps: float, one_way_ms: float, queue: int, overhead: int) -> None:
    """Make both devices and carry packets both ways, for ever."""
    ends = [device(name) for name in names]
    with suppress(OSError):
        # What waits here for a processor is no part of the way.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    there = Way(ends[1], rate_mbps, one_way_ms / 1e3, queue, overhead)
    back = Way(ends[0], rate_mbps, one_way_ms / 1e3, queue, overhead)
    waiting = selectors.DefaultSelector()
    for end, way in zip(ends, (there, back), strict=True):
        waiting.register(end, selectors.EVENT_READ, way)
    print("ready", flush=True)
    while True:
        due = min((way.under_way[0][0] for way in (there, back) if way.under_way), default=None)
        wait = None if due is None else max(0.0, due - time.monotonic())
        for key, _ in waiting.select(wait):
            # A device that is not up yet has nothing to read, and says so.
            with suppress(BlockingIOError, OSError):
                while True:
                    key.data.take(os.read(key.fd, 65_536), time.monotonic())
        now = time.monotonic()
        there.deliver(now)
        back.deliver(now)


@contextmanager
def far_away(
    names: tuple[str, str], rate_mbps: float, rtt_ms: float, queue: int, overhead: int
) -> Generator[subprocess.Popen[str]]:
    """The program, running; the devices are in this namespace until somebody moves them."""
    numbers = (rate_mbps, rtt_ms / 2, queue, overhead)
    process = subprocess.Popen(
        [sys.executable, __file__, *names, *map(str, numbers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    carry(
        (sys.argv[1], sys.argv[2]),
        float(sys.argv[3]),
        float(sys.argv[4]),
        int(sys.argv[5]),
        int(sys.argv[6]),
    )
