"""Run `pulumi` for one stack, against simulated clouds or real ones."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

import yaml

from gpu_fabric.engine.binary import YAML_HOST, Engine, find_engine, find_yaml_host
from gpu_fabric.engine.noise import WithoutNoise
from gpu_fabric.engine.simulation import Simulation
from gpu_fabric.engine.stack_file import PLACEHOLDER, copy_for_simulation, read_stack_file

#: Not a command of pulumi's own: `pulumi stack output`.
OUTPUTS = "outputs"

#: Commands that a simulated run answers without asking; a real one asks at the keyboard.
_CONFIRMED = ("up", "destroy", "refresh")


@dataclass(frozen=True)
class Request:
    """One `pulumi` command on one stack of the project in `project`."""

    command: str
    stack: str
    project: Path
    arguments: tuple[str, ...] = ()

    @property
    def stack_file(self) -> Path:
        return self.project / f"Pulumi.{self.stack}.yaml"


def _copy_without_noise(source: IO[str], target: TextIO) -> None:
    quiet = WithoutNoise()
    for line in source:
        if quiet.keeps(line):
            target.write(line)
            target.flush()


def _pulumi(engine: Engine, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Run the engine; its exit code. What it says is passed on at once, without the noise."""
    command = [engine.path, *arguments, "--color", "always" if sys.stdout.isatty() else "never"]
    with subprocess.Popen(
        command, cwd=folder, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=_copy_without_noise, args=pair, daemon=True)
            for pair in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
        ]
        for reader in readers:
            reader.start()
        try:
            process.wait()
        except KeyboardInterrupt:
            # The engine got the interrupt too and is finishing what it had begun.
            process.wait()
        for reader in readers:
            reader.join(timeout=5)
    return process.returncode


def _outputs(request: Request) -> list[str]:
    """The stack's outputs in full; a plan cuts long ones. Secrets stay hidden."""
    return ["stack", "output", "--json", "--stack", request.stack, *request.arguments]


def run_simulated(request: Request, simulation: Simulation) -> int:
    """Run `request` on the real engine with simulated clouds. Nothing outside `simulation.folder` is written."""
    target = simulation.stacks / request.stack_file.name
    engine = find_engine()
    environment = simulation.prepare(engine)
    if _runtime(request.project) == "yaml":
        simulation.link(YAML_HOST, find_yaml_host())
    copy = copy_for_simulation(request.stack_file, target)
    say = sys.stderr
    print(
        f"simulated clouds answer this run of stack {request.stack}: no account is touched "
        f"(Pulumi engine {engine.version}, {engine.origin})",
        file=say,
        flush=True,
    )
    if copy.replaced_secrets:
        print(
            f"{copy.replaced_secrets} encrypted value(s) of {request.stack_file.name} are placeholders in this run",
            file=say,
            flush=True,
        )
    settings = ["--stack", request.stack, "--config-file", str(target)]
    if not _stack_exists(simulation, request):
        code = _create_stack(engine, request, target, environment)
        if code:
            return code
    for key in copy.secrets:
        code = _keep_secret(engine, key, settings, request.project, environment)
        if code:
            return code
    if request.command == OUTPUTS:
        # The outputs need no stack file, and `stack output` takes none.
        return _pulumi(engine, _outputs(request), request.project, environment)
    arguments = [request.command, *settings, "--non-interactive"]
    if request.command in _CONFIRMED:
        arguments += ["--yes"]
    if request.command == "preview":
        arguments += ["--suppress-progress"]
    if request.command in ("up", "destroy"):
        arguments += ["--skip-preview", "--suppress-progress"]
    return _pulumi(engine, [*arguments, *request.arguments], request.project, environment)


def _keep_secret(
    engine: Engine, key: str, settings: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> int:
    """Encrypt the placeholder of `key` with this folder's passphrase, so that it is a secret here too."""
    line = [engine.path, "config", "set", "--secret", key, *settings]
    done = subprocess.run(
        line,
        cwd=folder,
        env=dict(environment),
        input=PLACEHOLDER,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
    return done.returncode


def run_real(request: Request, environment: Mapping[str, str]) -> int:
    """Run `request` with the user's login, the vendors' plugins, and nothing of the simulated clouds.

    The engine has the terminal to itself: it asks before it changes anything.
    """
    read_stack_file(request.stack_file)
    engine = find_engine(complete=True)
    command = [engine.path, request.command, "--stack", request.stack, *request.arguments]
    if request.command == OUTPUTS:
        command = [engine.path, *_outputs(request)]
    return subprocess.run(command, cwd=request.project, env=dict(environment), check=False).returncode


def _project(project: Path) -> dict[str, Any]:
    return yaml.safe_load((project / "Pulumi.yaml").read_text(encoding="utf-8"))


def _project_name(project: Path) -> str:
    return _project(project)["name"]


def _runtime(project: Path) -> str:
    """The language of the project's program, as Pulumi.yaml says it in a word or in a block."""
    given = _project(project).get("runtime", "")
    return given if isinstance(given, str) else given.get("name", "")


def _stack_exists(simulation: Simulation, request: Request) -> bool:
    """Whether the folder's backend holds the stack (asking the engine would cost a second)."""
    stacks = simulation.folder / "state" / ".pulumi" / "stacks" / _project_name(request.project)
    return any(stacks.glob(f"{request.stack}.json*"))


def _create_stack(engine: Engine, request: Request, config: Path, environment: Mapping[str, str]) -> int:
    """Make the stack in the folder's backend.

    `pulumi stack init` writes the salt into the stack file beside Pulumi.yaml, so it runs in the folder of our
    copies, beside a Pulumi.yaml that has only the project's name.
    """
    project = {"name": _project_name(request.project), "runtime": "python"}
    (config.parent / "Pulumi.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
    done = subprocess.run(
        [engine.path, "stack", "init", request.stack, "--non-interactive"],
        cwd=config.parent,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
    return done.returncode
