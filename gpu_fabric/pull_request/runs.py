"""The runs behind a report: the base branch deployed, the change previewed, planned and linted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.pull_request import environments
from gpu_fabric.pull_request.changes import table
from gpu_fabric.pull_request.environments import Environment
from gpu_fabric.pull_request.errors import InputError
from gpu_fabric.pull_request.markdown import inline

#: Files that the lint reads among those that a branch changes.
LINTED = re.compile(
    r"(\.(sh|conf|env|sbatch|slurm)|(^|/)(Docker|Container)file[^/]*|nccl.*\.xml|topo.*\.xml)$"
)
OWN_POLICY = Path(__file__).parents[1] / "policy"
_VIOLATION = re.compile(r"^ *- \[(mandatory|advisory)\]  \S+.*(\n *can't run policy)?", re.MULTILINE)


@dataclass(frozen=True)
class Request:
    repository: Path
    project: Path
    """Folder of Pulumi.yaml, below `repository`."""
    stack: str
    base: str
    """A commit or branch; what the change is compared with."""
    cloud: str = "simulated"
    policy: Path | None = None
    policy_config: Path | None = None
    lint: tuple[Path, ...] | None = None
    """None: what the branch changes and the lint reads."""
    sizes: tuple[str, ...] = ()
    """What the linted files are for, beside the sizes that the stack file and the preview name."""
    not_linted: tuple[str, ...] = ()
    """Patterns of changed files that the lint leaves out."""
    install: bool = False
    """Install what the project requires, for the change and for the base branch."""

    @property
    def place(self) -> str:
        return str(self.project.relative_to(self.repository))

    @property
    def stack_file(self) -> str:
        return f"Pulumi.{self.stack}.yaml"

    @property
    def title(self) -> str:
        """The stack, after its project's folder where that is not the repository itself."""
        return self.stack if self.place == "." else f"{self.place} {self.stack}"


@dataclass(frozen=True)
class Outcome:
    """What the runs said."""

    exit_code: int
    preview: str
    """What the preview with the policy pack printed."""
    changes: dict[str, Any]
    """The same preview as JSON."""
    base_note: str
    """What the preview is compared with, or why with nothing."""
    plan: dict[str, Any] | None
    base_plan: dict[str, Any] | None
    report: str
    """The fabric report, Markdown."""
    findings: dict[str, Any] = field(default_factory=dict)
    linted_for: tuple[str, ...] = ()
    """The sizes that the lint knew."""
    sarif: str = ""
    drift: str = ""
    lint_failure: str = ""
    """Why the lint could not read what it was given; empty where it could."""
    base_failure: str = ""
    """What the engine said where the base branch cannot be deployed."""
    removed: str = ""
    """The stack file, where this branch removes it."""

    @property
    def violations(self) -> dict[str, int]:
        """Level → how many; `undecided` are those that could not look at something, which Pulumi calls advisory."""
        found = ["undecided" if unread else level for level, unread in _VIOLATION.findall(self.preview)]
        return {level: found.count(level) for level in ("mandatory", "advisory", "undecided")}

    @property
    def lint_errors(self) -> int:
        return self.findings.get("counts", {}).get("error", 0)

    @property
    def ran(self) -> bool:
        """Whether the program ran to its end, so that the policies were asked."""
        return bool(self.changes)

    @property
    def policies_failed(self) -> bool:
        """A mandatory policy does not hold, or the pack could not be asked: the program alone ran to its end."""
        return self.ran and (self.exit_code != 0 or self.violations["mandatory"] > 0)

    @property
    def failed(self) -> bool:
        if self.removed:
            return False
        return self.exit_code != 0 or not self.ran or self.lint_errors > 0 or bool(self.lint_failure)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        what = (
            f"{folder}: there is no such folder" if not folder.is_dir() else "git is not on PATH; install it"
        )
        raise InputError(what) from error


def git(repository: Path, *arguments: str) -> str:
    """What git says. Raises InputError with its own message."""
    done = _git(repository, *arguments)
    if done.returncode:
        raise InputError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def common_commit(repository: Path, base: str) -> str:
    """Where this branch left `base`, a branch (also one that only `origin` has) or a commit."""
    for name in (base, f"origin/{base}"):
        if _git(
            repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        ).stdout:
            done = _git(repository, "merge-base", name, "HEAD")
            if done.returncode:
                raise InputError(
                    f"{name} and this branch have no commit in common here; fetch the whole history "
                    "(`git fetch --unshallow`, or `fetch-depth: 0` of actions/checkout)"
                )
            return done.stdout.strip()
    raise InputError(
        f"there is no branch or commit {base} here, nor origin/{base}; name another --base, or fetch it "
        f"(`git fetch origin {base}`)"
    )


def _python(
    folder: Path, module: str, *arguments: str, environment: Environment | None = None
) -> subprocess.CompletedProcess[str]:
    """A module of ours, the one in `folder` where it has one, else the installed one."""
    python = (environment or Environment()).python
    home = str(folder) if (folder / "gpu_fabric").is_dir() else str(Path(__file__).parents[2])
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
    }
    if python != sys.executable:
        # Pulumi's own language host takes the Python on PATH.
        variables["PATH"] = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)])
    line = [python, "-m", module, *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, env=variables)


@contextmanager
def _worktree(repository: Path, commit: str, folder: Path) -> Generator[Path]:
    """The base branch's files, beside the checkout and gone afterwards."""
    target = folder / "base"
    # What a run that was killed has left behind.
    git(repository, "worktree", "prune")
    git(repository, "worktree", "add", "--detach", "--quiet", str(target), commit)
    try:
        yield target
    finally:
        git(repository, "worktree", "remove", "--force", str(target))


def run(request: Request) -> Outcome:
    """Everything that a report needs. Raises InputError where stack or base is not there."""
    stack_file = request.project / request.stack_file
    if not stack_file.exists():
        return _removed(request)
    linted = _given(request)
    if (
        request.policy is not None
        and request.policy_config is not None
        and request.policy.samefile(OWN_POLICY)
    ):
        # Here, for the pack is an extra of its own.
        from gpu_fabric.policy.pack import policies

        _known_rules(request.policy_config, {"all", *(policy.name for policy in policies())})
    commit = common_commit(request.repository, request.base)
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-") as name:
        folder = Path(name)
        environment = environments.of_change(request.project, folder / "environment", install=request.install)
        base_plan, note, base_failure = None, "the deployed stack", ""
        with _worktree(request.repository, commit, folder) as base:
            there = base / request.place
            if (there / request.stack_file).exists():
                base_plan = _plan(there / request.stack_file)
                if request.cloud == "simulated":
                    base_failure = _deploy_base(request, base, there, folder, environment)
                    named = f"{request.base} ({commit[:9]})"
                    note = (
                        f"nothing: {named} cannot be deployed on simulated clouds"
                        if base_failure
                        else f"{named}, deployed on simulated clouds"
                    )
            elif request.cloud == "simulated":
                note = f"nothing: {request.stack_file} is not on {request.base}"
        preview, changes = _preview(request, folder / "simulation", environment)
        plan = _plan(stack_file)
        sizes = sorted({*request.sizes, *_sizes(stack_file), *_previewed_sizes(changes)})
        findings, sarif, lint_failure = _lint(request, commit if linted is None else linted, sizes)
        return Outcome(
            preview.returncode,
            _local(request, preview.stdout + ("" if preview.returncode == 0 else preview.stderr)),
            changes,
            note,
            plan,
            base_plan,
            _local(request, _report(stack_file, planned=plan is not None)),
            findings,
            tuple(sizes),
            sarif,
            _drift(request),
            _local(request, lint_failure),
            _local(request, base_failure),
        )


def _known_rules(config: Path, names: Collection[str]) -> None:
    """Raise InputError where a policy configuration names no rule of ours: the engine takes that in silence."""
    try:
        given = json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{config.name}: it is no JSON: {error}") from error
    unknown = [name for name in given if name not in names] if isinstance(given, dict) else []
    if unknown:
        raise InputError(
            f"{config.name}: {', '.join(unknown)}: no such rule; the rules are {', '.join(sorted(names))}"
        )


def _removed(request: Request) -> Outcome:
    """That this branch removes the stack. Raises InputError where it never was there."""
    name = f"{request.place}/{request.stack_file}"
    commit = common_commit(request.repository, request.base)
    # As git spells it: without the `./` of a project at the top.
    spelled = str(Path(name))
    if _git(request.repository, "cat-file", "-e", f"{commit}:{spelled}").returncode:
        raise InputError(f"{name} is not there; name another --stack or --project")
    return Outcome(0, "", {}, f"{request.base} ({commit[:9]})", None, None, "", removed=spelled)


def _local(request: Request, text: str) -> str:
    """`text` with paths as a reader of the repository knows them."""
    return text.replace(f"{request.repository}/", "")


def _deploy_base(request: Request, base: Path, project: Path, folder: Path, change: Environment) -> str:
    """Deploy the base branch; what was said where that failed. Nothing of it is left then."""
    simulation = folder / "simulation"
    try:
        environment = environments.of_base(
            request.project, project, folder / "base-environment", change, install=request.install
        )
    except InputError as error:
        return str(error)
    done = _python(
        base,
        "gpu_fabric.engine",
        *("up", "--stack", request.stack, "--project", str(project), "--folder", str(simulation)),
        environment=environment,
    )
    if not done.returncode:
        return ""
    shutil.rmtree(simulation, ignore_errors=True)
    said = (done.stdout + done.stderr).replace(f"{base}/", "").strip()
    return said or f"the engine ended with code {done.returncode} and said nothing"


def _preview(
    request: Request, folder: Path, environment: Environment
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The preview with the policy pack, and once more as JSON (the engine prints no policies there)."""
    arguments = ["preview", "--stack", request.stack, "--project", str(request.project)]
    arguments += ["--cloud", request.cloud]
    if request.cloud == "simulated":
        arguments += ["--folder", str(folder)]
    policies = [] if request.policy is None else ["--policy-pack", str(request.policy)]
    if request.policy_config is not None:
        policies += ["--policy-pack-config", str(request.policy_config)]
    said = _python(
        request.repository, "gpu_fabric.engine", *arguments, "--", *policies, environment=environment
    )
    # With what does not change too: its sizes are what the linted files are for.
    json_line = [*arguments, "--", "--json", "--show-sames"]
    as_json = _python(request.repository, "gpu_fabric.engine", *json_line, environment=environment)
    # Without policies only a program that did not run to its end fails.
    return said, json.loads(as_json.stdout) if as_json.returncode == 0 else {}


def _plan(stack_file: Path) -> dict[str, Any] | None:
    """The plan as JSON; the change's own planner reads both branches' files, so that a new model of it is no delta."""
    said = _planner(stack_file, "--json").stdout
    return json.loads(said) if said.startswith("{") else None


def _report(stack_file: Path, *, planned: bool) -> str:
    """The plan as Markdown, or why there is none."""
    done = _planner(stack_file)
    return done.stdout if planned else done.stderr.strip()


def _planner(stack_file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _python(Path(__file__).parents[2], "gpu_fabric.cli", "plan", str(stack_file), *arguments)


def _given(request: Request) -> list[str] | None:
    """The files that `--lint` names, from the folder of the call. Raises InputError where one is not there."""
    if request.lint is None:
        return None
    missing = [str(path) for path in request.lint if not path.is_file()]
    if missing:
        raise InputError(f"--lint {', '.join(missing)}: there is no such file")
    paths = [path.resolve() for path in request.lint]
    return [
        str(path.relative_to(request.repository) if path.is_relative_to(request.repository) else path)
        for path in paths
    ]


def _lint(
    request: Request, given: str | Sequence[str], sizes: Sequence[str] = ()
) -> tuple[dict[str, Any], str, str]:
    """Findings as JSON and as SARIF, and why the lint failed. `given`: files, or the commit that changes count from."""
    if isinstance(given, str):
        # NUL between the names: git quotes others than ASCII's letters where it writes lines.
        changed = git(request.repository, "diff", "--name-only", "-z", "--diff-filter=d", given).split("\0")
        files = [
            name
            for name in changed
            if LINTED.search(name) and not any(fnmatchcase(name, pattern) for pattern in request.not_linted)
        ]
    else:
        files = list(given)
    if not files:
        return {}, "", ""
    options = [*(word for size in sizes for word in ("--for", size)), "--", *files]
    machine = _python(request.repository, "gpu_fabric.cli", "lint", "--json", *options)
    sarif = _python(request.repository, "gpu_fabric.cli", "lint", "--sarif", *options)
    read = json.loads(machine.stdout) if machine.stdout.startswith("{") else {}
    if machine.returncode in (0, 1) and read:
        return read, sarif.stdout, ""
    said = (machine.stderr or machine.stdout).strip()
    return read, sarif.stdout, said or f"the lint ended with code {machine.returncode} and said nothing"


def _sizes(stack_file: Path) -> list[str]:
    """The catalog's sizes that the stack file names, so that the lint knows the platform."""
    try:
        found: Any = yaml.safe_load(stack_file.read_text(encoding="utf-8"))
    except (ValueError, yaml.YAMLError):
        return []  # The preview says what is wrong with it.
    fabric = _below(_below(found, "config"), "gpu-fabric:fabric")
    named = [
        _below(_below(fabric, cloud), key) for cloud, key in (("aws", "instanceType"), ("azure", "vmSize"))
    ]
    return [name for name in named if isinstance(name, str) and name in load_sizes()]


def _previewed_sizes(changes: Mapping[str, Any]) -> set[str]:
    """The catalog's sizes that the previewed resources name: a program need not have them in its stack file."""
    found: set[str] = set()
    values: list[Any] = [_below(_below(step, "newState"), "inputs") for step in changes.get("steps", ())]
    while values:
        value = values.pop()
        if isinstance(value, str) and value in load_sizes():
            found.add(value)
        elif isinstance(value, Mapping):
            values += value.values()
        elif isinstance(value, list):
            values += value
    return found


def _below(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _drift(request: Request) -> str:
    if request.cloud == "simulated":
        return "Not looked for: the clouds of this run are simulated."
    done = refreshed(request.project, request.stack, "--cloud", request.cloud)
    if not done.stdout.startswith("{"):
        last = (done.stderr.strip().splitlines() or ["pulumi refresh said nothing"])[-1]
        return f"Unknown: {inline(last)}"
    return drift_note(json.loads(done.stdout))


def refreshed(project: Path, stack: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Compare the state with the cloud and change neither; JSON like a preview's."""
    line = ("refresh", "--stack", stack, "--project", str(project), *options)
    return _python(project, "gpu_fabric.engine", *line, "--", "--preview-only", "--json")


def drift_note(refresh: Mapping[str, Any]) -> str:
    """What somebody changed beside Pulumi: each value in the state, and in the cloud."""
    counts = refresh.get("changeSummary", {})
    if not any(number for op, number in counts.items() if op != "same"):
        return "None: the cloud holds what the state says."
    return f"The cloud differs from the state (state → cloud):\n\n{table(refresh)}"
