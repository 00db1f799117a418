"""What the two ends say to each other over TCP: one JSON document a line, and bulk."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Mapping
from typing import IO, Any, Final

PORT: Final = 47_000
LONGEST: Final = 60.0
"""Seconds of one transfer: a server sends for no longer to anybody."""
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


def transfer(connection: socket.socket, asked: Mapping[str, Any], *, sends: bool, stream: Any = None) -> int:
    """Send or receive for the asked time; bytes received (the sender gives what it handed to the kernel)."""
    seconds = min(float(asked["seconds"]), LONGEST)
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
            say(stream, {"received": count})
    return count
