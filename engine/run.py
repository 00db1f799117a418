"""Run `pulumi` for one stack, against simulated clouds or real ones."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

import yaml

from gpu_fabric.engine.advice import MakeCommands
from gpu_fabric.engine.binary import YAML_HOST, Engine, find_engine, find_yaml_host
from gpu_fabric.engine.history import checkpoint_in, checkpoint_of, failed_before, failed_in
from gpu_fabric.engine.lost import interrupted, up_with_what_was_lost
from gpu_fabric.engine.noise import WithoutNoise
from gpu_fabric.engine.simulation import Simulation
from gpu_fabric.engine.stack_file import (
    PLACEHOLDER,
    StackFileError,
    copy_for_simulation,
    entries,
    read_document,
    read_stack_file,
)

#: Not a command of pulumi's own: `pulumi stack output`.
OUTPUTS = "outputs"


@dataclass(frozen=True)
class _Manner:
    """What a pulumi command takes in a simulated run besides `--stack` and `--non-interactive`."""

    flags: tuple[str, ...] = ()
    """A simulated run answers yes by itself; a real one asks at the keyboard."""
    reads_config: bool = False
    """It takes `--config-file`: the copy of the stack file."""
    in_project: bool = True
    """Whether it runs beside the user's Pulumi.yaml. `pulumi stack rm` removes the stack file beside it, so `stack`
    runs beside the copies."""


_MANNERS = {
    "preview": _Manner(("--suppress-progress",), reads_config=True),
    "up": _Manner(("--yes", "--skip-preview", "--suppress-progress"), reads_config=True),
    "destroy": _Manner(("--yes", "--skip-preview", "--suppress-progress"), reads_config=True),
    "refresh": _Manner(("--yes",), reads_config=True),
    "import": _Manner(("--yes", "--suppress-progress"), reads_config=True),
    "cancel": _Manner(("--yes",), in_project=False),
    "stack": _Manner(in_project=False),
}
"""Flags of the engine that is pinned (`pulumi COMMAND --help`). Another command gets `--stack` alone."""


@dataclass(frozen=True)
class Request:
    """One `pulumi` command on one stack of the project in `project`."""

    command: str
    stack: str
    project: Path
    arguments: tuple[str, ...] = ()
    named: Path = Path()
    """The project as the user named it, for commands that are said back."""

    @property
    def stack_file(self) -> Path:
        return self.project / f"Pulumi.{self.stack}.yaml"


def _copy_without_noise(source: IO[str], target: TextIO, make: MakeCommands) -> None:
    quiet = WithoutNoise()
    for line in source:
        if quiet.keeps(line):
            target.write(make.instead_of_pulumi(line))
            target.flush()


def _pulumi(
    engine: Engine,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    make: MakeCommands,
) -> int:
    """Run the engine; its exit code. What it says is passed on at once, without the noise."""
    command = [engine.path, *arguments, "--color", "always" if sys.stdout.isatty() else "never"]
    with subprocess.Popen(
        command, cwd=folder, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=_copy_without_noise, args=(*pair, make), daemon=True)
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
    # A folder that is no project is left as it is.
    runtime = _runtime(request.project)
    engine = find_engine()
    manner = _MANNERS.get(request.command, _Manner())
    say = sys.stderr
    # Two first runs at once make one folder and one stack.
    with simulation.alone():
        environment = simulation.prepare(engine)
        if runtime == "yaml":
            simulation.link(YAML_HOST, find_yaml_host())
        copy = copy_for_simulation(request.stack_file, target)
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
        code = _make_stack(engine, simulation, request, environment)
        for path in copy.secrets if manner.reads_config else ():
            code = code or _keep_secret(engine, path, settings, request.project, environment)
    if code:
        return code
    make = MakeCommands(request.stack, request.named)
    if request.command == OUTPUTS:
        # The outputs need no stack file, and `stack output` takes none.
        return _pulumi(engine, _outputs(request), request.project, environment, make)
    arguments = [
        request.command,
        *request.arguments,
        "--stack",
        request.stack,
        "--non-interactive",
        # The engine takes no answer to a question that it does not ask.
        *(flag for flag in manner.flags if flag != "--yes" or "--preview-only" not in request.arguments),
    ]
    if manner.reads_config:
        arguments += ["--config-file", str(target)]
    folder = request.project if manner.in_project else simulation.stacks

    def run(line: Sequence[str], environment: Mapping[str, str]) -> int:
        return _pulumi(engine, line, folder, environment, make)

    if request.command != "up":
        return run(arguments, environment)
    taking = [*settings, "--non-interactive", "--yes", "--suppress-progress"]
    failed = failed_in(_history(simulation, request))
    _say_what_was_interrupted(checkpoint_in(_stacks(simulation, request), request.stack))
    code = _up(run, arguments, taking, environment)
    if code and failed:
        print(f"{_FAILED_TWICE}: it looks at what is there and tries once more", file=say, flush=True)
        code = _up(run, [*arguments, "--refresh"], taking, environment)
    return code


#: Something may have gone or come since, such as an offer that ran out. Not after the first failure: what is half made
#: is finished by the next update, and a refresh would forget that it is half made.
_FAILED_TWICE = "the last two updates of this stack failed"

#: With it the engine takes `--event-log FILE`, which it otherwise hides (pulumi/pulumi cmd/pulumi, `hasDebugCommands`).
_DEBUG = {"PULUMI_DEBUG_COMMANDS": "true"}


def _say_what_was_interrupted(checkpoint: Mapping[str, Any]) -> None:
    for line in interrupted(checkpoint):
        print(f"an `up` before this one was interrupted: {line}", file=sys.stderr, flush=True)


def _up(
    run: Callable[[Sequence[str], Mapping[str, str]], int],
    arguments: Sequence[str],
    taking: Sequence[str],
    environment: Mapping[str, str],
) -> int:
    """`pulumi up`, which takes into the state what it had made and never heard of; `taking` is what imports need."""
    return up_with_what_was_lost(
        lambda log: run([*arguments, "--event-log", str(log)], {**environment, **_DEBUG}),
        lambda document: run(
            ["import", "--file", str(document), "--protect=false", "--generate-code=false", *taking],
            environment,
        ),
    )


def _keep_secret(
    engine: Engine, path: str, settings: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> int:
    """Encrypt the placeholder at `path` with this folder's passphrase, so that it is a secret here too."""
    line = [engine.path, "config", "set", "--secret", "--path", path, *settings]
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

    def run(line: Sequence[str], environment: Mapping[str, str]) -> int:
        command = [engine.path, *line]
        return subprocess.run(command, cwd=request.project, env=dict(environment), check=False).returncode

    if request.command == OUTPUTS:
        return run(_outputs(request), environment)
    arguments = [request.command, "--stack", request.stack, *request.arguments]
    if request.command != "up" or not _writes_events(engine, environment):
        return run(arguments, environment)
    failed = failed_before(engine, request.stack, request.project, environment)
    _say_what_was_interrupted(checkpoint_of(engine, request.stack, request.project, environment))
    code = _up(run, arguments, ["--stack", request.stack], environment)
    if code and failed:
        # The engine asked before it began, and whoever said no is not asked again.
        print(
            f"{_FAILED_TWICE}: `up --refresh` (ARGS=--refresh) looks first at what is there", file=sys.stderr
        )
    return code


def _writes_events(engine: Engine, environment: Mapping[str, str]) -> bool:
    """Whether this engine, which may be the user's own, has the hidden flag."""
    line = [engine.path, "up", "--help"]
    done = subprocess.run(line, env={**environment, **_DEBUG}, capture_output=True, text=True, check=False)
    return "--event-log" in done.stdout


def _project(project: Path) -> dict[str, yaml.Node]:
    """What Pulumi.yaml says, by key."""
    path = project / "Pulumi.yaml"
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise StackFileError(
            f"{path}: there is no such file; give the folder of a Pulumi.yaml with PROJECT= (`--project`)"
        ) from error
    return entries(read_document(data, path.name))


def _project_name(project: Path) -> str:
    name = _project(project).get("name")
    if not isinstance(name, yaml.ScalarNode) or not name.value:
        raise StackFileError(f"{project / 'Pulumi.yaml'}: the project has no `name`")
    return name.value


def _runtime(project: Path) -> str:
    """The language of the project's program, as Pulumi.yaml says it in a word or in a block."""
    given = _project(project).get("runtime")
    named = entries(given).get("name", given)
    return named.value if isinstance(named, yaml.ScalarNode) else ""


def _history(simulation: Simulation, request: Request) -> Path:
    """Where the folder's backend keeps what became of the stack's updates."""
    return (
        simulation.folder / "state" / ".pulumi" / "history" / _project_name(request.project) / request.stack
    )


def _stacks(simulation: Simulation, request: Request) -> Path:
    """Where the folder's backend keeps the project's stacks."""
    return simulation.folder / "state" / ".pulumi" / "stacks" / _project_name(request.project)


def _stack_exists(simulation: Simulation, request: Request) -> bool:
    """Whether the folder's backend holds the stack (asking the engine would cost a second)."""
    stacks = _stacks(simulation, request)
    # `pulumi stack rm` leaves <stack>.json.bak behind.
    return any((stacks / f"{request.stack}.json{end}").exists() for end in ("", ".gz"))


def _make_stack(
    engine: Engine, simulation: Simulation, request: Request, environment: Mapping[str, str]
) -> int:
    """Make the stack in the folder's backend if it is not there; the engine's exit code.

    `pulumi stack init` writes the salt into the stack file beside Pulumi.yaml, so it runs in the folder of our
    copies, beside a Pulumi.yaml that has only the project's name.
    """
    project = {"name": _project_name(request.project), "runtime": "python"}
    (simulation.stacks / "Pulumi.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
    if _stack_exists(simulation, request):
        return 0
    done = subprocess.run(
        [engine.path, "stack", "init", request.stack, "--non-interactive"],
        cwd=simulation.stacks,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
    return done.returncode
