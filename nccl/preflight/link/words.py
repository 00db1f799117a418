"""What the two ends say to each other over TCP: one JSON document a line, and bulk."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import IO, Any, Final

PORT: Final = 47_000
LONGEST: Final = 60.0
"""Seconds of one transfer: a server sends for no longer to anybody."""
DRAIN: Final = 2.0
"""Seconds without a byte, after which nothing comes of what a sender has handed to its kernel."""
ENDED: Final = "Start `gpu-fabric-preflight link --serve` there again, with a longer --for."


class LinkError(RuntimeError):
    """The other end cannot be reached, refuses, or stops; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class RefusedError(LinkError):
    """It answers, and does not take what it was given."""


def say(stream: IO[bytes] | Any, document: Mapping[str, Any]) -> None:
    stream.write(json.dumps(document).encode() + b"\n")
    stream.flush()


def hear(stream: IO[bytes] | Any) -> dict[str, Any]:
    """The other end's next document. `LinkError` where there is none: it ended, or is something else."""
    try:
        line = stream.readline(65_536)
    except OSError as error:
        raise LinkError(f"the other end went away ({error})", ENDED) from None
    if not line:
        raise LinkError("the other end closed the connection", ENDED)
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        remedy = "Start `gpu-fabric-preflight link --serve` there, or give the --port on which it listens."
        raise LinkError(f"something else answers there: {line[:60]!r}", remedy)
    return document


def send_for(connection: socket.socket, seconds: float) -> None:
    """Send for so long by this end's own clock, and say that it is over. `OSError` where the other end is gone."""
    end = time.monotonic() + min(seconds, LONGEST)
    block = b"\0" * (1 << 20)
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            connection.send(block)
        except (TimeoutError, BlockingIOError):
            break
    connection.settimeout(5)
    connection.shutdown(socket.SHUT_WR)


def receive_all(connection: socket.socket, seconds: float) -> int:
    """Bytes until the sender says that it is over, or nothing comes any more when it should have been.

    Not by this end's clock: what is left unread when a connection closes resets it, and the sender learns nothing.
    """
    end = time.monotonic() + min(seconds, LONGEST)
    count, view = 0, bytearray(1 << 20)
    while (left := end - time.monotonic()) > -10 * DRAIN:
        connection.settimeout(max(left, 0.0) + DRAIN)
        try:
            got = connection.recv_into(view)
        except (TimeoutError, BlockingIOError):
            break
        if not got:
            break
        count += got
    return count
