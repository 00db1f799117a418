"""The end that answers."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from gpu_fabric.nccl.preflight.link.datagrams import (
    ACKNOWLEDGE,
    ACKNOWLEDGED,
    BACKWARD,
    ECHO,
    HEADER,
    IP_MTU,
    IP_UDP_HEADERS,
    MAGIC,
    open_udp,
    packet_of,
    receive,
    send,
    told,
)
from gpu_fabric.nccl.preflight.link.words import PORT, receive_all, say, send_for


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
    udp = open_udp((address, listener.getsockname()[1]))
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


STRANGE: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What somebody else's words can raise."""


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
            for packet, peer in receive(self.udp, 1.0):
                if len(packet) < HEADER.size or packet[:4] != MAGIC:
                    continue
                _, run, _number, kind = HEADER.unpack_from(packet)
                if (run, peer[0]) not in self.allowed:
                    continue
                self.clients[run] = peer
                if kind == ECHO:
                    send(self.udp, packet, peer)
                elif kind == ACKNOWLEDGE:
                    size = len(packet) + IP_UDP_HEADERS
                    send(self.udp, HEADER.pack(MAGIC, run, size, ACKNOWLEDGED), peer)

    def serve_one(self, connection: socket.socket, peer: str) -> None:
        # Whoever says something else is none of ours.
        with connection, contextlib.suppress(*STRANGE):
            connection.settimeout(60)
            stream = connection.makefile("rwb")
            first = json.loads(stream.readline(4096))
            if not hmac.compare_digest(str(first.get("token", "")).encode(), self.token.encode()):
                say(stream, {"refused": "wrong token"})
                return
            run = int(first["run"])
            self.allowed.add((run, peer))
            left = max(0.0, self.end - time.monotonic())
            connection.settimeout(left + 1)
            if first["do"] == "bulk":
                say(stream, {"ok": True, "left": round(left, 1)})
                if first["direction"] == "down":
                    send_for(connection, float(first["seconds"]))
                    return
                count = receive_all(connection, float(first["seconds"]))
                connection.settimeout(5)
                say(stream, {"received": count})
                return
            say(stream, {"ok": True, "left": round(left, 1)})
            while line := stream.readline(65_536):
                say(stream, self.control(run, json.loads(line)))

    def control(self, run: int, asked: dict[str, Any]) -> dict[str, Any]:
        client = self.clients.get(run)
        if client is None:
            return {"error": "no packet of this run has come"}
        if asked["do"] == "route":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(client)
                return {"route": probe.getsockopt(socket.IPPROTO_IP, IP_MTU)}
        # Towards the client: it counts what comes.
        told(self.udp)
        taken = []
        for _ in range(2):
            for size in asked["sizes"]:
                if send(self.udp, packet_of(run, size, BACKWARD, size), client):
                    taken.append(size)
        time.sleep(float(asked.get("wait", 0.1)))
        return {"sent": sorted(set(taken)), "told": told(self.udp)}
