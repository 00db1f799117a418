# ruff: noqa: N802 (the methods have the names of the protocol)
"""A stand-in for ``pulumi-language-python``, for machines where Pulumi's own host is not installed.

Serves the LanguageRuntime protocol (pulumi/pulumi proto/pulumi/language.proto, v3.274.1) for an ordinary Pulumi.yaml:
running a program, a policy pack and a component package in a folder. It installs nothing and generates no code; the
message says so where that is asked for.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format

from .core.protocol import language_pb2, language_pb2_grpc, plugin_pb2
from .core.serve import NO_LIMIT, wait_for_the_engine
from .core.values import Empty
from .exit_status import FAILURE_WAS_SHOWN

_NEEDS_PULUMIS_OWN = (
    "the stand-in language host does not do this: it needs Pulumi's own pulumi-language-python"
)


class InterpreterMissing(Exception):  # noqa: N818 (named for what is missing)
    """The virtual environment that a project names is not there."""


def interpreter(info: Any, fallback: str = sys.executable) -> str:
    """The Python that runs a program: of the ``virtualenv`` option in its project file, or this one.

    ``info`` is a ProgramInfo. Raises InterpreterMissing with the remedy where the option names no environment.
    """
    options = json_format.MessageToDict(info.options)
    virtualenv = options.get("virtualenv")
    if not virtualenv:
        return fallback
    path = Path(info.root_directory, str(virtualenv), "bin", "python")
    if not path.exists():
        raise InterpreterMissing(
            f"the 'virtualenv' option of the project is {str(virtualenv)!r}, but there is no {path}. Make it with "
            f"`python -m venv {virtualenv}` and install the project's requirements, or drop the option."
        )
    return str(path)


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The protocol's methods. ``engine`` is the engine's address."""

    def __init__(self, engine: str = "") -> None:
        self.engine = engine
        self._children: set[subprocess.Popen[Any]] = set()
        self._lock = threading.Lock()

    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine = request.engine_address or self.engine
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
        return language_pb2.GetRequiredPluginsResponse()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    def About(self, request: Any, context: Any) -> Any:
        return language_pb2.AboutResponse(
            executable=sys.executable,
            version=platform.python_version(),
            metadata={"host": "stand-in of gpu-fabric"},
        )

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        found = {each.name: each.version for each in importlib.metadata.distributions()}
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=version)
                for name, version in sorted(found.items())
            ]
        )

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        yield language_pb2.InstallDependenciesResponse(
            stdout=b"The stand-in language host installs nothing: use pip with the project's requirements.\n"
        )

    def Cancel(self, request: Any, context: Any) -> Any:
        self.end_children()
        return Empty()

    def Run(self, request: Any, context: Any) -> Any:
        """Run the program to its end in a process of its own."""
        described = {
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization or "organization",
            "monitor": request.monitor_address,
            "engine": self.engine,
            "parallel": request.parallel,
            "preview": request.dryRun,
            "config": dict(request.config),
            "secret_keys": list(request.configSecretKeys),
            "args": list(request.args),
            "pwd": request.pwd,
            "program_directory": request.info.program_directory,
            "entry_point": request.info.entry_point or request.program or ".",
        }
        try:
            python = interpreter(request.info)
        except InterpreterMissing as missing:
            return language_pb2.RunResponse(error=str(missing))
        child = subprocess.Popen(
            [python, "-m", f"{__package__}.run_program"],
            cwd=request.pwd or None,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self._add(child)
        child.communicate(json.dumps(described).encode())
        self._drop(child)
        if child.returncode == 0:
            return language_pb2.RunResponse()
        if child.returncode == FAILURE_WAS_SHOWN:
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error=f"Program exited with non-zero exit code: {child.returncode}")

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        """Run a policy pack (kind ``analyzer``) or a component package, and pass on what it prints."""
        try:
            python = interpreter(request.info)
        except InterpreterMissing as missing:
            yield language_pb2.RunPluginResponse(stderr=f"{missing}\n".encode())
            yield language_pb2.RunPluginResponse(exitcode=1)
            return
        directory = request.info.program_directory or request.program
        if request.kind == "analyzer":
            command = [python, "-u", "-m", "pulumi.policy", *request.args[:1], directory, *request.args[2:]]
        else:
            command = [python, "-u", directory, *request.args]
        child = subprocess.Popen(
            command,
            cwd=request.pwd or directory,
            env={**os.environ, **dict(each.split("=", 1) for each in request.env)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # The engine interrupts its process group at the end; a plugin of its own would die in a traceback.
            start_new_session=True,
        )
        self._add(child)
        # A call that is cancelled ends its child: the engine has no use for it any more.
        context.add_callback(lambda: _end(child))
        yield from _output(child)
        self._drop(child)
        yield language_pb2.RunPluginResponse(exitcode=child.wait())

    def GenerateProgram(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, _NEEDS_PULUMIS_OWN)

    GenerateProject = GeneratePackage = Pack = Link = Template = GenerateProgram

    def _add(self, child: subprocess.Popen[Any]) -> None:
        with self._lock:
            self._children.add(child)

    def _drop(self, child: subprocess.Popen[Any]) -> None:
        with self._lock:
            self._children.discard(child)

    def end_children(self) -> None:
        """End whatever still runs."""
        with self._lock:
            children = list(self._children)
        for child in children:
            _end(child)


def _end(child: subprocess.Popen[Any]) -> None:
    """End a child and its own children: each is the leader of a process group."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            # It ended between the two lines above.
            return


def _output(child: subprocess.Popen[Any]) -> Iterator[Any]:
    """What the child prints, as it comes, until both of its streams are closed."""
    pieces: queue.Queue[Any] = queue.Queue()

    def pump(stream: Any, wrap: Callable[[bytes], Any]) -> None:
        while piece := stream.read1(65536):
            pieces.put(wrap(piece))
        pieces.put(None)

    streams = (
        (child.stdout, lambda piece: language_pb2.RunPluginResponse(stdout=piece)),
        (child.stderr, lambda piece: language_pb2.RunPluginResponse(stderr=piece)),
    )
    for each in streams:
        threading.Thread(target=pump, args=each, daemon=True).start()
    for _ in streams:
        while (piece := pieces.get()) is not None:
            yield piece


def main(argv: list[str] | None = None) -> int:
    """Serve until the engine goes away. Prints the port first, as the engine expects."""
    arguments = sys.argv[1:] if argv is None else argv
    host = LanguageHost(engine=next((each for each in arguments if ":" in each and "=" not in each), ""))
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=NO_LIMIT)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    wait_for_the_engine()
    host.end_children()
    server.stop(grace=None).wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
