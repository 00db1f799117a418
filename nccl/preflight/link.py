"""Prove the link to the other cloud from both of its ends: round trip, loss, path MTU each way, TCP throughput.

`serve` runs on a node of one cloud and `probe` on a node of the other, as any user, over one TCP and one UDP port.
The server answers only who knows its token, and sends only to the address that asked. Linux.

A path that swallows large packets without a word (a black hole) is told from one that says so: probes carry DF and
ignore what the kernel has learnt (IP_PMTUDISC_PROBE), and the socket's error queue says whether "fragmentation
needed" came back. Sources: RFC 4821; ip(7), IP_MTU_DISCOVER and IP_RECVERR.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import json
import math
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any, Final

from gpu_fabric.nccl.preflight.result import Report, Result, failed, passed, unknown, warned

PORT: Final = 47_000
IP_UDP_HEADERS: Final = 28
HEADER: Final = struct.Struct("!4sIIH")
"""Magic, run, number, what is asked: 0 echo, 1 say that it came, 2 is such a word, 3 a probe towards the client."""
MAGIC: Final = b"gpuf"
ECHO, ACKNOWLEDGE, ACKNOWLEDGED, BACKWARD = range(4)

IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, IP_RECVERR, IP_MTU = 10, 3, 11, 14
"""linux/in.h; Python's socket module lacks most of them."""

SMALLEST, LARGEST = 576, 9_001
"""MTUs between which a path is searched: what every IPv4 host takes, and the VPC's jumbo frames."""

STALLED_BYTES: Final = 1_000_000
"""A transfer of seconds that moved less has hung: first segments pass, full ones do not."""


class LinkError(RuntimeError):
    """The other end cannot be reached or refused; the message says what to do."""


@dataclass(frozen=True)
class Demand:
    """What the stack file expects of the link."""

    rtt_ms: float = 5.0
    """Median round trip that is still fine."""
    mtu: int = 1400
    """What the routes to the other cloud promise."""
    bandwidth_mbps: float | None = None
    flows: int = 8
    loss: float = 0.001
    throughput_share: float = 0.8
    """Of `bandwidth_mbps`, that the planned flows together must reach."""


@dataclass
class PathMtu:
    """One direction."""

    largest: int | None
    """Largest IP packet that arrived; None where not even the smallest did."""
    route: int
    """What the sender's kernel believes it may send: the route's MTU."""
    told: int | None
    """What "fragmentation needed" said, where any came back."""
    device: int | None = None
    """The sender's own interface takes no more than this."""

    @property
    def silent(self) -> bool:
        """Larger packets vanish, and nobody says so."""
        limit = self.device or LARGEST
        return self.largest is not None and self.largest < limit and self.told is None


@dataclass
class LinkMeasure:
    rtt_ms: list[float] = field(default_factory=list)
    sent: int = 0
    forward: PathMtu | None = None
    back: PathMtu | None = None
    mbps_up: float | None = None
    mbps_down: float | None = None
    stalled_up: bool = False
    stalled_down: bool = False

    @property
    def loss(self) -> float:
        return 1 - len(self.rtt_ms) / self.sent if self.sent else 1.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least that share of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


# ---- datagrams ------------------------------------------------------------------------------------------------------


def _udp(address: tuple[str, int] | None = None) -> socket.socket:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
    udp.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    if address is not None:
        udp.bind(address)
    return udp


def _told(udp: socket.socket) -> int | None:
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


def _send(udp: socket.socket, packet: bytes, address: tuple[str, int] | None = None) -> bool:
    """Whether the machine took it; EMSGSIZE means that the interface is smaller. Old errors are not this packet's."""
    for _ in range(3):
        try:
            udp.send(packet) if address is None else udp.sendto(packet, address)
        except OSError as error:
            if error.errno == 90:
                return False
            continue
        return True
    return True


def _receive(udp: socket.socket, seconds: float) -> Iterator[tuple[bytes, tuple[str, int]]]:
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


def _packet(run: int, number: int, kind: int, bytes_: int) -> bytes:
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


# ---- server ---------------------------------------------------------------------------------------------------------


def serve(
    address: str,
    port: int = PORT,
    *,
    token: str | None = None,
    seconds: float = 600,
    ready: Callable[[str, int], None] | None = None,
) -> None:
    """Answer probes for so many seconds. `ready` gets the token and the port when it listens."""
    token = token or secrets.token_hex(8)
    listener = socket.create_server((address, port), backlog=256)
    udp = _udp((address, listener.getsockname()[1]))
    end = time.monotonic() + seconds
    state = _Server(udp, token, {}, end)
    threading.Thread(target=state.answer, daemon=True).start()
    if ready is not None:
        ready(token, listener.getsockname()[1])
    with listener, udp:
        while (left := end - time.monotonic()) > 0:
            listener.settimeout(left)
            try:
                connection, peer = listener.accept()
            except (TimeoutError, OSError):
                return
            threading.Thread(target=state.serve_one, args=(connection, peer[0]), daemon=True).start()


@dataclass
class _Server:
    udp: socket.socket
    token: str
    clients: dict[int, tuple[str, int]]
    """Run → the UDP address that it probes from, learnt from its packets; only of an address that knows the token."""
    end: float
    allowed: set[tuple[int, str]] = field(default_factory=set)

    def answer(self) -> None:
        while time.monotonic() < self.end:
            for packet, peer in _receive(self.udp, 1.0):
                if len(packet) < HEADER.size or packet[:4] != MAGIC:
                    continue
                _, run, _number, kind = HEADER.unpack_from(packet)
                if (run, peer[0]) not in self.allowed:
                    continue
                self.clients[run] = peer
                if kind == ECHO:
                    _send(self.udp, packet, peer)
                elif kind == ACKNOWLEDGE:
                    size = len(packet) + IP_UDP_HEADERS
                    _send(self.udp, HEADER.pack(MAGIC, run, size, ACKNOWLEDGED), peer)

    def serve_one(self, connection: socket.socket, peer: str) -> None:
        with connection, contextlib.suppress(OSError, ValueError, KeyError):
            connection.settimeout(60)
            stream = connection.makefile("rwb")
            first = json.loads(stream.readline(4096))
            if not hmac.compare_digest(str(first.get("token", "")), self.token):
                _say(stream, {"refused": "wrong token"})
                return
            run = int(first["run"])
            self.allowed.add((run, peer))
            if first["do"] == "bulk":
                _say(stream, {"ok": True})
                _bulk_end(connection, first, sends=first["direction"] == "down", stream=stream)
                return
            _say(stream, {"ok": True})
            while line := stream.readline(65_536):
                _say(stream, self.control(run, json.loads(line)))

    def control(self, run: int, asked: dict[str, Any]) -> dict[str, Any]:
        client = self.clients.get(run)
        if client is None:
            return {"error": "no packet of this run has come"}
        if asked["do"] == "route":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(client)
                return {"route": probe.getsockopt(socket.IPPROTO_IP, IP_MTU)}
        # Towards the client: it counts what comes.
        _told(self.udp)
        taken = []
        for _ in range(2):
            for size in asked["sizes"]:
                if _send(self.udp, _packet(run, size, BACKWARD, size), client):
                    taken.append(size)
        time.sleep(float(asked.get("wait", 0.1)))
        return {"sent": sorted(set(taken)), "told": _told(self.udp)}


def _say(stream: IO[bytes] | Any, document: dict[str, Any]) -> None:
    stream.write(json.dumps(document).encode() + b"\n")
    stream.flush()


def _bulk_end(connection: socket.socket, asked: dict[str, Any], *, sends: bool, stream: Any = None) -> int:
    """Send or receive for the asked time; bytes received (the sender gives what it handed to the kernel)."""
    seconds = min(float(asked["seconds"]), 60.0)
    end, count = time.monotonic() + seconds, 0
    block = b"\0" * (1 << 20)
    view = bytearray(1 << 20)
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            if sends:
                count += connection.send(block)
            else:
                got = connection.recv_into(view)
                if not got:
                    break
                count += got
        except (TimeoutError, BlockingIOError):
            break
        except OSError:
            break
    if stream is not None and not sends:
        connection.settimeout(5)
        with contextlib.suppress(OSError):
            _say(stream, {"received": count})
    return count


# ---- client ---------------------------------------------------------------------------------------------------------


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
            f"{peer}:{port} does not answer ({error}): start `gpu-fabric-preflight link --serve` there, and let the "
            f"security groups of both clouds pass TCP and UDP {port}"
        ) from None
    run = secrets.randbits(31)
    measure = LinkMeasure()
    with control, _udp() as udp:
        stream = control.makefile("rwb")
        _greet(stream, {"token": token, "run": run, "do": "control"})
        udp.connect((address, port))
        _round_trips(udp, run, measure, packets, interval)
        wait = max(0.15, 4 * (percentile(measure.rtt_ms, 0.99) / 1000 if measure.rtt_ms else 0.1))
        measure.forward = _forward(udp, run, wait)
        measure.back = _back(udp, run, wait, stream)
        for direction in ("up", "down"):
            bulk = {"token": token, "run": run, "do": "bulk", "direction": direction, "seconds": seconds}
            total = _bulk((address, port), bulk, flows)
            setattr(measure, f"mbps_{direction}", total * 8 / seconds / 1e6)
            setattr(measure, f"stalled_{direction}", total < STALLED_BYTES)
    return measure


def _greet(stream: Any, document: dict[str, Any]) -> None:
    _say(stream, document)
    answer = json.loads(stream.readline(4096) or b"{}")
    if not answer.get("ok"):
        raise LinkError(
            f"the other end refused ({answer.get('refused', 'no answer')}): give the --token that it printed"
        )


def _round_trips(udp: socket.socket, run: int, measure: LinkMeasure, packets: int, interval: float) -> None:
    """Small packets one after the other; those that do not come back are lost."""
    began: dict[int, float] = {}

    def hear(seconds: float) -> None:
        for packet, _ in _receive(udp, seconds):
            now = time.perf_counter()
            if len(packet) >= HEADER.size:
                _, whose, number, kind = HEADER.unpack_from(packet)
                if (whose, kind) == (run, ECHO) and number in began:
                    measure.rtt_ms.append((now - began.pop(number)) * 1000)

    for number in range(packets):
        began[number] = time.perf_counter()
        _send(udp, _packet(run, number, ECHO, 92))
        measure.sent += 1
        hear(interval)
    hear(1.0 if began else 0.0)


def _forward(udp: socket.socket, run: int, wait: float) -> PathMtu:
    route = udp.getsockopt(socket.IPPROTO_IP, IP_MTU)
    _told(udp)
    refused: set[int] = set()
    told: list[int] = []

    def attempt(sizes: list[int]) -> set[int]:
        for _ in range(2):
            for size in sizes:
                if not _send(udp, _packet(run, size, ACKNOWLEDGE, size)):
                    refused.add(size)
        arrived = set()
        for packet, _peer in _receive(udp, wait):
            if len(packet) >= HEADER.size:
                _, whose, number, kind = HEADER.unpack_from(packet)
                if (whose, kind) == (run, ACKNOWLEDGED):
                    arrived.add(number)
        heard = _told(udp)
        if heard is not None:
            told.append(heard)
        return arrived & set(sizes)

    largest = search_mtu(attempt)
    return PathMtu(largest, route, min(told, default=None), min(refused) - 1 if refused else None)


def _back(udp: socket.socket, run: int, wait: float, stream: Any) -> PathMtu:
    _say(stream, {"do": "route"})
    route = int(json.loads(stream.readline(4096)).get("route", 0))
    refused: set[int] = set()
    told: list[int] = []

    def attempt(sizes: list[int]) -> set[int]:
        _say(stream, {"do": "send", "sizes": sizes, "wait": wait / 2})
        arrived = set()
        for packet, _peer in _receive(udp, wait):
            if len(packet) >= HEADER.size:
                _, whose, number, kind = HEADER.unpack_from(packet)
                if (whose, kind) == (run, BACKWARD):
                    arrived.add(number)
        answer = json.loads(stream.readline(65_536) or b"{}")
        refused.update(set(sizes) - set(answer.get("sent", ())))
        if answer.get("told"):
            told.append(int(answer["told"]))
        return arrived & set(sizes)

    largest = search_mtu(attempt)
    return PathMtu(largest, route, min(told, default=None), min(refused) - 1 if refused else None)


def _bulk(address: tuple[str, int], asked: dict[str, Any], flows: int) -> int:
    """Bytes that arrived over that many connections together."""
    totals = [0] * flows

    def one(number: int) -> None:
        with (
            contextlib.suppress(OSError, ValueError, LinkError),
            socket.create_connection(address, timeout=5) as connection,
        ):
            stream = connection.makefile("rwb", buffering=0)
            _greet(stream, asked)
            if asked["direction"] == "down":
                totals[number] = _bulk_end(connection, asked, sends=False)
                return
            _bulk_end(connection, asked, sends=True)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(10)
            totals[number] = int(json.loads(stream.readline(4096) or b"{}").get("received", 0))

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(flows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(float(asked["seconds"]) + 20)
    return sum(totals)


# ---- verdict --------------------------------------------------------------------------------------------------------


def check_link(measure: LinkMeasure, demand: Demand, peer: str) -> Report:
    """What was measured against what the stack expects."""
    results = (*_rtt(measure, demand), *_mtus(measure, demand), *_throughput(measure, demand))
    facts = {
        "rtt_ms": {f"p{share}": round(percentile(measure.rtt_ms, share / 100), 3) for share in (50, 90, 99)}
        if measure.rtt_ms
        else {},
        "loss": round(measure.loss, 5),
        "forward": asdict(measure.forward) if measure.forward else None,
        "back": asdict(measure.back) if measure.back else None,
        "mbps_up": measure.mbps_up,
        "mbps_down": measure.mbps_down,
        "demand": asdict(demand),
    }
    return Report(f"link to {peer}", results, facts)


def _rtt(measure: LinkMeasure, demand: Demand) -> Iterator[Result]:
    if not measure.rtt_ms:
        yield failed(
            "rtt", "no UDP packet came back", "Let the security groups and firewalls of both clouds pass UDP."
        )
        return
    median, p99 = percentile(measure.rtt_ms, 0.5), percentile(measure.rtt_ms, 0.99)
    what = f"{median:.2f} ms, p99 {p99:.2f} ms, over {len(measure.rtt_ms)} packets"
    if median > demand.rtt_ms:
        remedy = "Compare the route (traceroute) with the planned one: is the far region the nearest to the exchange?"
        yield failed("rtt", f"{what}; {demand.rtt_ms:g} ms is the limit", remedy)
    elif p99 > 2 * demand.rtt_ms:
        yield warned(
            "rtt", f"{what}: the slowest take more than twice the limit", "Look for a full queue on the link."
        )
    else:
        yield passed("rtt", what)
    loss = f"{measure.loss:.3%} of {measure.sent} packets"
    if measure.loss > demand.loss:
        yield failed(
            "loss",
            f"{loss} lost; {demand.loss:.3%} is the limit",
            "Look for errors at the exchange, and for a policer.",
        )
    else:
        yield passed("loss", f"{loss} lost")


def _mtus(measure: LinkMeasure, demand: Demand) -> Iterator[Result]:
    for check, way, path in (
        ("mtu-forward", "to the other cloud", measure.forward),
        ("mtu-back", "back", measure.back),
    ):
        if path is None or path.largest is None:
            yield unknown(check, f"no packet of {SMALLEST} bytes arrived", "Mend loss and firewalls first.")
            continue
        hole = "vanish without a word (a black hole)" if path.silent else f"are answered with MTU {path.told}"
        remedy = (
            f"Put `ip route … mtu lock {min(demand.mtu, path.largest)}` on the routes of the sending side "
            "(CrossCloudRoutes of the node's setup); let ICMP type 3 code 4 pass."
        )
        if path.largest < demand.mtu:
            yield failed(
                check,
                f"{path.largest} bytes pass {way}, and {demand.mtu} are promised; larger ones {hole}",
                remedy,
            )
        elif path.route > path.largest:
            what = f"{path.largest} bytes pass {way}, and the sender's route says {path.route}; larger packets {hole}"
            yield failed(check, what + (": bulk transfers hang" if path.silent else ""), remedy)
        else:
            yield passed(check, f"{path.largest} bytes pass {way}; the sender's route says {path.route}")


def _throughput(measure: LinkMeasure, demand: Demand) -> Iterator[Result]:
    for check, mbps, stalled in (
        ("throughput-up", measure.mbps_up, measure.stalled_up),
        ("throughput-down", measure.mbps_down, measure.stalled_down),
    ):
        if mbps is None:
            yield unknown(check, "not measured", "Run the probe to its end.")
        elif stalled:
            yield failed(check, f"{demand.flows} flows hang after their first segments", "See the MTU above.")
        elif demand.bandwidth_mbps is None:
            yield passed(check, f"{mbps:,.0f} Mbit/s with {demand.flows} flows")
        elif mbps < demand.throughput_share * demand.bandwidth_mbps:
            wanted = demand.throughput_share * demand.bandwidth_mbps
            remedy = "Use more flows, or larger buffers (bandwidth times delay). Above 10 Gbit/s compare with iperf3."
            yield failed(
                check, f"{mbps:,.0f} Mbit/s with {demand.flows} flows; {wanted:,.0f} are wanted", remedy
            )
        else:
            yield passed(
                check, f"{mbps:,.0f} of {demand.bandwidth_mbps:,.0f} Mbit/s with {demand.flows} flows"
            )
