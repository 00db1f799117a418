"""Datagrams of chosen sizes that are never cut into fragments, and what came back for them."""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

IP_UDP_HEADERS: Final = 28
HEADER: Final = struct.Struct("!4sIIH")
"""Magic, run, number, what is asked: 0 echo, 1 say that it came, 2 is such a word, 3 a probe towards the client."""
MAGIC: Final = b"gpuf"
ECHO, ACKNOWLEDGE, ACKNOWLEDGED, BACKWARD = range(4)

IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, IP_RECVERR, IP_MTU = 10, 3, 11, 14
"""linux/in.h; Python's socket module lacks most of them."""

SMALLEST, LARGEST = 576, 9_001
"""MTUs between which a path is searched: what every IPv4 host takes, and the VPC's jumbo frames."""


def open_udp(address: tuple[str, int] | None = None) -> socket.socket:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
    udp.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    if address is not None:
        udp.bind(address)
    return udp


def told(udp: socket.socket) -> int | None:
    """The smallest MTU in the error queue: "fragmentation needed" from a router, not from this machine."""
    found: int | None = None
    # A second handle without a timeout: with one, Python waits for data before it looks into the queue.
    with udp.dup() as handle:
        handle.setblocking(False)
        while True:
            try:
                _, ancillary, _, _ = handle.recvmsg(1, 512, socket.MSG_ERRQUEUE)
            except OSError:
                return found
            for level, kind, data in ancillary:
                if level == socket.IPPROTO_IP and kind == IP_RECVERR and len(data) >= 16:
                    _, origin, type_, code, _, info, _ = struct.unpack("=IBBBBII", data[:16])
                    # origin 2 is ICMP; destination unreachable (3), fragmentation needed (4)
                    if (origin, type_, code) == (2, 3, 4) and info:
                        found = info if found is None else min(found, info)


def send(udp: socket.socket, packet: bytes, address: tuple[str, int] | None = None) -> bool:
    """Whether the machine took it; EMSGSIZE means that the interface is smaller. Old errors are not this packet's."""
    for _ in range(3):
        try:
            udp.send(packet) if address is None else udp.sendto(packet, address)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:
                return False
            continue
        return True
    return True


def receive(udp: socket.socket, seconds: float) -> Iterator[tuple[bytes, tuple[str, int]]]:
    """Everything that comes within that time."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        udp.settimeout(left)
        try:
            yield udp.recvfrom(65_535)
        except (TimeoutError, BlockingIOError):
            return
        except OSError:
            # An ICMP error of an earlier probe; it stays in the error queue.
            time.sleep(0.001)


def packet_of(run: int, number: int, kind: int, bytes_: int) -> bytes:
    """A datagram that makes an IP packet of that many bytes."""
    head = HEADER.pack(MAGIC, run, number, kind)
    return head + b"\0" * max(0, bytes_ - IP_UDP_HEADERS - len(head))


def _ladder(low: int, high: int, rungs: int = 16) -> list[int]:
    """Sizes to try at once between one that passes and one that does not."""
    step = max(1, (high - low) // rungs)
    return sorted({*range(low + step, high, step), high})


def search_mtu(try_sizes: Callable[[list[int]], set[int]], largest: int = LARGEST) -> int | None:
    """The largest size that arrives. Several are tried at a time, so that three or four rounds are enough."""
    if SMALLEST not in try_sizes([SMALLEST]):
        return None
    low, high = SMALLEST, largest
    while low < high:
        sizes = _ladder(low, high)
        arrived = [size for size in try_sizes(sizes) if size > low]
        if not arrived:
            high = min(sizes) - 1
        else:
            low = max(arrived)
            high = min([size for size in sizes if size > low], default=low + 1) - 1
    return low
