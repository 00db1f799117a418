"""Runs one Pulumi program: the child process of the stand-in language host.

Takes what the engine told the host as JSON on standard input, so that configuration does not show in a process list.
Follows pulumi/pulumi sdk/python/cmd/pulumi-language-python-exec and pulumi/automation/_server.py of the SDK 3.272.0.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import runpy
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pulumi
from pulumi.runtime import reset_options, run_in_stack, set_all_config

from .exit_status import FAILURE_WAS_SHOWN


def main() -> int:
    """Run the program that standard input describes. The exit status is 0 or FAILURE_WAS_SHOWN."""
    # The engine interrupts its whole process group; the program ends when the engine stops answering it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request: dict[str, Any] = json.load(sys.stdin)
    program = entry_file(request)
    sys.argv = [str(program), *request["args"]]
    # The interpreter was started with -m: the first entry is the folder it was started in.
    sys.path[0] = str(program.parent)
    reset_options(
        project=request["project"],
        stack=request["stack"],
        organization=request["organization"],
        monitor_address=request["monitor"],
        engine_address=request["engine"],
        parallel=request["parallel"],
        preview=request["preview"],
    )
    set_all_config(request["config"], request["secret_keys"])
    return _run(program, request["parallel"])


def entry_file(request: dict[str, Any]) -> Path:
    """The file to run: the entry point inside the program's folder, or its ``__main__.py``."""
    path = Path(request["program_directory"] or request["pwd"], request["entry_point"])
    return path / "__main__.py" if path.is_dir() else path


def _run(program: Path, parallel: int) -> int:
    # Futures that nobody waited for are no news once the program has failed.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(max_workers=max(parallel, 1) * 4))
    try:
        loop.run_until_complete(run_in_stack(lambda: _program(program)))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
    except grpc.RpcError as error:
        # Unavailable: the engine is gone, and with it whoever would read a message.
        if isinstance(error, grpc.Call) and error.code() != grpc.StatusCode.UNAVAILABLE:
            pulumi.log.error(f"RPC error: {error.details()}")
    except Exception as error:
        answer = _answer_behind(error)
        if answer is None:
            pulumi.log.error("Program failed with an unhandled exception:\n" + _traceback_of(error, program))
        elif answer.code() not in _SAID_ELSEWHERE:
            pulumi.log.error(str(error))
    else:
        return 0
    finally:
        _cancel_the_rest(loop)
        sys.stdout.flush()
        sys.stderr.flush()
    return FAILURE_WAS_SHOWN


_SAID_ELSEWHERE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""Answers of an engine that gives up because something else failed; it says itself what."""


def _answer_behind(error: BaseException) -> grpc.Call | None:
    """The engine's answer that the SDK turned into `error` (pulumi/runtime/settings.py, handle_grpc_error): a refusal,
    not a fault of the program."""
    before = error.__context__
    frames = traceback.extract_tb(error.__traceback__)
    raised_by_sdk = bool(frames) and frames[-1].name in ("handle_grpc_error", "grpc_error_to_exception")
    return before if raised_by_sdk and isinstance(before, grpc.Call) else None


def _program(program: Path) -> None:
    runpy.run_path(str(program), run_name="__main__")


def _traceback_of(error: BaseException, program: Path) -> str:
    """The traceback from the program's first line on: the frames above it are the host's."""
    frames = traceback.extract_tb(error.__traceback__)
    folder = str(program.parent)
    first = next((index for index, frame in enumerate(frames) if frame.filename.startswith(folder)), 0)
    lines = traceback.format_list(frames[first:]) + traceback.format_exception_only(type(error), error)
    return "Traceback (most recent call last):\n" + "".join(lines)


def _cancel_the_rest(loop: asyncio.AbstractEventLoop) -> None:
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            loop.run_until_complete(task)
    loop.close()


if __name__ == "__main__":
    # The SDKs' classes live to the end: to look for garbage among them every 700 objects is a tenth of a preview.
    gc.set_threshold(100_000, 20, 100)
    status = main()
    # Threads of the gRPC channels may still wait for an engine that has gone.
    os._exit(status)
