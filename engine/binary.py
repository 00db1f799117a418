"""Find a Pulumi engine, or make one: from PATH, by the SDK's installer, or by the pinned Go build.

What is made lies in the user's cache, one folder a version and way, and appears there by one rename: an
interrupted download or build leaves nothing that a later run could mistake for an engine.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

ENGINE_VERSION = "3.274.1"
"""What the Go build makes; pinned in `go.mod` beside this file, and a test holds the two equal."""

MINIMUM_VERSION = (3, 272, 0)
"""The Pulumi SDK that requirements.txt pins. An older engine may lack calls of that SDK; none is tested here."""

YAML_HOST_VERSION = "1.25.0"
"""Pulumi's language host for programs in YAML; pinned in `yaml/go.mod`, and a test holds the two equal."""

_WITHOUT_PYTHON_HOST = "it comes without pulumi-language-python, which a real deployment needs"
_REMEDY = "Pulumi (https://www.pulumi.com/docs/install) or Go"
_REMEDY_FOR_REAL = (
    "Pulumi in full (https://www.pulumi.com/docs/install; "
    "it brings pulumi-language-python, a Go build does not)"
)

_GO_BUILD = ("-trimpath", "-tags", "osusergo,grpcnotrace", "-ldflags")


@dataclass(frozen=True)
class GoModule:
    """A program that is built from a go.mod of ours."""

    folder: Path
    """Of the go.mod."""
    package: str
    called: str
    """What a person calls it, with the version."""
    takes: str
    """How long a build takes, in words."""
    linked: str = ""
    """More flags for the linker."""

    @property
    def arguments(self) -> tuple[str, ...]:
        return (*_GO_BUILD, f"-s -w {self.linked}".rstrip())


_HERE = Path(__file__).resolve().parent
ENGINE_MODULE = GoModule(
    _HERE,
    "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    f"the Pulumi engine v{ENGINE_VERSION}",
    "about 5 minutes on two cores",
    # Without the version the SDK's Automation API refuses the engine.
    f"-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{ENGINE_VERSION}",
)
YAML_HOST_MODULE = GoModule(
    _HERE / "yaml",
    "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
    f"Pulumi's YAML language host v{YAML_HOST_VERSION}",
    "about a minute on two cores",
)
YAML_HOST = "pulumi-language-yaml"


class UnavailableError(RuntimeError):
    """One way to an engine does not work here; the text says why."""


class NoEngineError(RuntimeError):
    """No way worked; the text names each with its reason."""


@dataclass(frozen=True)
class Engine:
    path: Path
    version: str
    origin: str
    """How it was found, in words for the user."""

    @property
    def python_host(self) -> Path | None:
        """Pulumi's own Python language host; a full installation has it beside the engine or on PATH."""
        beside = self.path.parent / "pulumi-language-python"
        found = str(beside) if beside.exists() else shutil.which("pulumi-language-python")
        return Path(found) if found else None


def cache_folder() -> Path:
    """Where engines are kept for this user: `$XDG_CACHE_HOME/gpu-fabric/engine` or `~/.cache/…`."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gpu-fabric" / "engine"


def read_version(pulumi: Path) -> str:
    """The version that `pulumi version` prints, without its `v`."""
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "1"}
    try:
        done = subprocess.run(
            [pulumi, "version"], capture_output=True, text=True, timeout=30, check=True, env=environment
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(f"{pulumi} does not run: {error}") from error
    return done.stdout.strip().removeprefix("v")


def is_suitable(version: str) -> bool:
    """Whether an engine of this version may be used: 3.x, not older than `MINIMUM_VERSION`."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        return False
    parts = tuple(map(int, match.groups()))
    return parts[0] == MINIMUM_VERSION[0] and parts >= MINIMUM_VERSION


def _minimum() -> str:
    return ".".join(map(str, MINIMUM_VERSION))


def from_path() -> Engine:
    """A `pulumi` on PATH that is new enough."""
    found = shutil.which("pulumi")
    if not found:
        raise UnavailableError("there is no pulumi on PATH")
    found_version = read_version(Path(found))
    if not is_suitable(found_version):
        raise UnavailableError(
            f"{found} is version {found_version}; at least {_minimum()} (and below 4) is needed, "
            "the version of the Pulumi SDK that requirements.txt pins"
        )
    return Engine(Path(found), found_version, "on PATH")


def _from_installer_folder() -> Path:
    return cache_folder() / f"sdk-{version('pulumi')}"


def _from_go_folder() -> Path:
    return cache_folder() / f"go-v{ENGINE_VERSION}"


def from_cache() -> Engine:
    """An engine that an earlier run downloaded or built."""
    for folder, origin in (
        (_from_installer_folder(), "downloaded earlier by Pulumi's SDK"),
        (_from_go_folder(), f"built earlier from its Go module, v{ENGINE_VERSION}"),
    ):
        pulumi = folder / "bin" / "pulumi"
        if pulumi.exists():
            return Engine(pulumi, read_version(pulumi), origin)
    raise UnavailableError(f"nothing was downloaded or built yet in {cache_folder()}")


def from_installer(say: TextIO) -> Engine:
    """The engine that Pulumi's SDK downloads: `pulumi.automation.PulumiCommand.install`."""
    from pulumi.automation import PulumiCommand

    target = _from_installer_folder()
    with _alone(target), _appearing(target) as partial:
        if partial is not None:
            print("downloading the Pulumi engine (once) …", file=say, flush=True)
            try:
                PulumiCommand.install(root=str(partial))
            except Exception as error:
                raise UnavailableError(f"the download failed: {_first_line(error)}") from error
    pulumi = target / "bin" / "pulumi"
    return Engine(pulumi, read_version(pulumi), "downloaded by Pulumi's SDK")


def from_go(say: TextIO) -> Engine:
    """The pinned release, built from its Go module."""
    target = _from_go_folder()
    go = shutil.which("go")
    if not go:
        raise UnavailableError("there is no go on PATH to build it with (https://go.dev/dl)")
    with _alone(target), _appearing(target) as partial:
        if partial is not None:
            _go_build(go, partial / "bin" / "pulumi", say, ENGINE_MODULE)
    pulumi = target / "bin" / "pulumi"
    return Engine(pulumi, read_version(pulumi), f"built from its Go module, v{ENGINE_VERSION}")


def _not_complete() -> Engine:
    raise UnavailableError(_WITHOUT_PYTHON_HOST)


def find_engine(*, complete: bool = False, say: TextIO = sys.stderr) -> Engine:
    """The first way that works. `complete` wants Pulumi's own Python host with it, as a real cloud does.

    Raises NoEngineError with every way and its reason.
    """
    ways: list[tuple[str, Callable[[], Engine]]] = [
        ("pulumi on PATH", from_path),
        ("an engine made by an earlier run", from_cache),
        ("Pulumi's installer", lambda: from_installer(say)),
        (f"Go build of v{ENGINE_VERSION}", _not_complete if complete else lambda: from_go(say)),
    ]
    reasons = []
    for name, way in ways:
        try:
            engine = way()
        except (UnavailableError, OSError) as error:
            reasons.append((name, str(error)))
            continue
        if complete and engine.python_host is None:
            reasons.append((name, _WITHOUT_PYTHON_HOST))
            continue
        return engine
    lines = [f"  {number}. {name}: {reason}" for number, (name, reason) in enumerate(reasons, start=1)]
    raise NoEngineError(
        "no Pulumi engine could be found or made:\n"
        + "\n".join(lines)
        + f"\nInstall {_REMEDY_FOR_REAL if complete else _REMEDY}, then run this again."
    )


def find_yaml_host(say: TextIO = sys.stderr) -> Path:
    """Pulumi's language host for YAML: on PATH, built earlier, or built now. Raises UnavailableError."""
    found = shutil.which(YAML_HOST)
    if found:
        return Path(found)
    target = cache_folder() / f"yaml-host-go-v{YAML_HOST_VERSION}"
    host = target / "bin" / YAML_HOST
    if host.exists():
        return host
    go = shutil.which("go")
    if not go:
        raise UnavailableError(
            f"there is no {YAML_HOST} on PATH (Pulumi's installer brings it), and no go to build it with"
        )
    with _alone(target), _appearing(target) as partial:
        if partial is not None:
            _go_build(go, partial / "bin" / YAML_HOST, say, YAML_HOST_MODULE)
    return host


def _first_line(error: Exception) -> str:
    text = getattr(error, "output", None) or str(error)
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _alone(target: Path) -> Generator[None]:
    """Hold the lock of `target`: two runs at once make one engine, not two."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock_file = (target.parent / f".{target.name}.lock").open("w")
    except OSError as error:
        raise UnavailableError(
            f"nothing can be kept in {target.parent}: {error.strerror}; "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    with lock_file as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _appearing(target: Path) -> Generator[Path | None]:
    """A folder to fill that becomes `target` in one step; None where another run has made it meanwhile."""
    if target.exists():
        yield None
        return
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
    try:
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _go_build(go: str, output: Path, say: TextIO, module: GoModule) -> None:
    """Build a program into `output`, saying how far it is."""
    output.parent.mkdir(parents=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    print(
        f"building {module.called} from its Go module (once, {module.takes}) …",
        file=say,
        flush=True,
    )
    _run_counting(
        [go, "mod", "download", "-x"], module.folder, environment, say, "downloading modules", total=None
    )
    packages = subprocess.run(
        [go, "list", "-deps", *module.arguments[1:3], module.package],
        cwd=module.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.count("\n")
    command = [go, "build", "-v", *module.arguments, "-o", str(output), module.package]
    _run_counting(command, module.folder, environment, say, "compiling packages", total=packages or None)


def _run_counting(
    command: list[str], folder: Path, environment: dict[str, str], say: TextIO, what: str, total: int | None
) -> None:
    """Run `command`, whose every line of stderr is one step, and print the count every few seconds."""
    started = shown = time.monotonic()
    interval = 2.0 if say.isatty() else 20.0
    last: list[str] = []
    count = 0
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            count += 1
            last = [*last[-4:], line.strip()]
            now = time.monotonic()
            if now - shown >= interval:
                shown = now
                of = f" of {total}" if total else ""
                print(f"  {what}: {count}{of}, {now - started:.0f} s", file=say, flush=True)
    if process.returncode:
        raise UnavailableError(f"`{' '.join(command[:3])}` failed: {' / '.join(last[-3:]) or 'no message'}")
