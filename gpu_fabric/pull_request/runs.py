"""The runs behind a report: the base branch deployed, the change previewed, planned and linted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.pull_request.changes import table

#: Files that the lint reads among those that a branch changes.
LINTED = (".sh", ".conf", ".xml", ".sbatch", ".slurm", ".env")
_VIOLATION = re.compile(r"^ *- \[(mandatory|advisory)\]  (\S+)", re.MULTILINE)


class InputError(Exception):
    """What was asked for is not there; the text says what to give."""


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
    sarif: str = ""
    drift: str = ""

    @property
    def violations(self) -> dict[str, int]:
        """Level → how many."""
        found = [level for level, _ in _VIOLATION.findall(self.preview)]
        return {level: found.count(level) for level in ("mandatory", "advisory")}

    @property
    def lint_errors(self) -> int:
        return self.findings.get("counts", {}).get("error", 0)

    @property
    def ran(self) -> bool:
        """Whether the program ran to its end, so that the policies were asked."""
        return bool(self.changes)

    @property
    def failed(self) -> bool:
        return self.exit_code != 0 or self.lint_errors > 0


def git(repository: Path, *arguments: str) -> str:
    """What git says. Raises InputError with its own message."""
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _python(
    folder: Path, module: str, *arguments: str, check: bool = False
) -> subprocess.CompletedProcess[str]:
    """A module of ours, the one in `folder` where it has one, else the installed one."""
    home = str(folder) if (folder / "gpu_fabric").is_dir() else str(Path(__file__).parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
    }
    line = [sys.executable, "-m", module, *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=check, env=environment)


@contextmanager
def _worktree(repository: Path, commit: str, folder: Path) -> Generator[Path]:
    """The base branch's files, beside the checkout and gone afterwards."""
    target = folder / "base"
    git(repository, "worktree", "add", "--detach", "--quiet", str(target), commit)
    try:
        yield target
    finally:
        git(repository, "worktree", "remove", "--force", str(target))


def run(request: Request) -> Outcome:
    """Everything that a report needs. Raises InputError where stack or base is not there."""
    if not (request.project / request.stack_file).exists():
        raise InputError(
            f"{request.place}/{request.stack_file} is not there; name another --stack or --project"
        )
    commit = git(request.repository, "merge-base", request.base, "HEAD").strip()
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-") as name:
        folder = Path(name)
        base_plan, note = None, "the deployed stack"
        with _worktree(request.repository, commit, folder) as base:
            there = base / request.place
            if (there / request.stack_file).exists():
                base_plan = _plan(there / request.stack_file)
                if request.cloud == "simulated":
                    note = _deploy_base(request, base, there, folder / "simulation", commit)
            elif request.cloud == "simulated":
                note = f"nothing: {request.stack_file} is not on {request.base}"
        preview, changes = _preview(request, folder / "simulation")
        plan = _plan(request.project / request.stack_file)
        report = _report(request.project / request.stack_file, planned=plan is not None)
        findings, sarif = _lint(request, commit)
        return Outcome(
            preview.returncode,
            preview.stdout + ("" if preview.returncode == 0 else preview.stderr),
            changes,
            note,
            plan,
            base_plan,
            report,
            findings,
            sarif,
            _drift(request),
        )


def _deploy_base(request: Request, base: Path, project: Path, folder: Path, commit: str) -> str:
    _same_interpreter(request, project)
    done = _python(
        base,
        "gpu_fabric.engine",
        *("up", "--stack", request.stack, "--project", str(project), "--folder", str(folder)),
    )
    if done.returncode:
        return f"nothing: {request.base} ({commit[:9]}) cannot be deployed on simulated clouds"
    return f"{request.base} ({commit[:9]}), deployed on simulated clouds"


def _preview(request: Request, folder: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The preview with the policy pack, and once more as JSON (the engine prints no policies there)."""
    arguments = ["preview", "--stack", request.stack, "--project", str(request.project)]
    arguments += ["--cloud", request.cloud]
    if request.cloud == "simulated":
        arguments += ["--folder", str(folder)]
    policies = [] if request.policy is None else ["--policy-pack", str(request.policy)]
    if request.policy_config is not None:
        policies += ["--policy-pack-config", str(request.policy_config)]
    said = _python(request.repository, "gpu_fabric.engine", *arguments, "--", *policies)
    as_json = _python(request.repository, "gpu_fabric.engine", *arguments, "--", "--json")
    # Without policies only a program that did not run to its end fails.
    return said, json.loads(as_json.stdout) if as_json.returncode == 0 else {}


def _same_interpreter(request: Request, there: Path) -> None:
    """Give the base branch's files the virtual environment that their Pulumi.yaml names: git does not hold it."""
    project = yaml.safe_load((there / "Pulumi.yaml").read_text(encoding="utf-8"))
    runtime = project.get("runtime")
    named = (runtime.get("options") or {}).get("virtualenv") if isinstance(runtime, dict) else None
    if named and (request.project / named).is_dir() and not (there / named).exists():
        (there / named).symlink_to((request.project / named).resolve())


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


def _lint(request: Request, commit: str) -> tuple[dict[str, Any], str]:
    files: Sequence[str]
    if request.lint is not None:
        files = [str(path) for path in request.lint]
    else:
        changed = git(request.repository, "diff", "--name-only", "--diff-filter=d", commit).splitlines()
        files = [name for name in changed if name.endswith(LINTED) and not name.startswith("tests/")]
    if not files:
        return {}, ""
    sizes = [word for size in _sizes(request.project / request.stack_file) for word in ("--for", size)]
    machine = _python(request.repository, "gpu_fabric.cli", "lint", "--json", *sizes, *files)
    sarif = _python(request.repository, "gpu_fabric.cli", "lint", "--sarif", *sizes, *files)
    return (json.loads(machine.stdout) if machine.stdout.startswith("{") else {}), sarif.stdout


def _sizes(stack_file: Path) -> list[str]:
    """The catalog's sizes that the stack file names, so that the lint knows the platform."""
    config = (yaml.safe_load(stack_file.read_text(encoding="utf-8")) or {}).get("config") or {}
    fabric = config.get("gpu-fabric:fabric") or {}
    named = [
        (fabric.get(cloud) or {}).get(key) for cloud, key in (("aws", "instanceType"), ("azure", "vmSize"))
    ]
    return [name for name in named if isinstance(name, str) and name in load_sizes()]


def _drift(request: Request) -> str:
    if request.cloud == "simulated":
        return "Not looked for: the clouds of this run are simulated."
    done = refreshed(request.project, request.stack, "--cloud", request.cloud)
    if not done.stdout.startswith("{"):
        last = (done.stderr.strip().splitlines() or ["pulumi refresh said nothing"])[-1]
        return f"Unknown: {last}"
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
