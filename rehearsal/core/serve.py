"""Runs a simulated cloud as the process the engine starts."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from concurrent import futures
from typing import Any

import grpc

from .protocol import engine_pb2, engine_pb2_grpc, provider_pb2_grpc
from .provider import Provider
from .resource import Cloud

NO_LIMIT = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_SEVERITIES = {
    "debug": engine_pb2.DEBUG,
    "info": engine_pb2.INFO,
    "warning": engine_pb2.WARNING,
    "error": engine_pb2.ERROR,
}


def serve(cloud: Cloud, argv: list[str] | None = None) -> int:
    """Serve the cloud until the engine goes away. Prints the port first, as the engine expects of a plugin.

    Of ``argv`` only the engine's address counts; the engine's logging flags are accepted and not used.
    """
    arguments = sys.argv[1:] if argv is None else argv
    address = next((each for each in arguments if re.fullmatch(r"[\w.\-]+:\d+", each)), "")
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64), options=NO_LIMIT)
    provider = Provider(cloud, log=_logger(address))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    wait_for_the_engine()
    server.stop(grace=None).wait()
    return 0


PARENT = os.getppid()
"""Who started this process, as early as it can be told: the engine may be gone a moment later."""


def wait_for_the_engine() -> None:
    """Return when this process should end: interrupted or terminated, or its parent is gone.

    The engine keeps its plugins in process groups of their own and interrupts them when a run ends; it waits ten
    seconds for one that does not react, and a traceback would land in the user's terminal.
    """
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    while not done.wait(1):
        if os.getppid() != PARENT:
            return


def _logger(address: str) -> Any:
    if not address:
        return lambda severity, message, urn: print(f"{severity}: {message}", file=sys.stderr)
    engine = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def log(severity: str, message: str, urn: str) -> None:
        try:
            engine.Log(
                engine_pb2.LogRequest(severity=_SEVERITIES[severity], message=message, urn=urn), timeout=5
            )
        except grpc.RpcError:
            # The engine is ending; what it does not hear is not worth an error of its own.
            print(f"{severity}: {message}", file=sys.stderr)

    return log
