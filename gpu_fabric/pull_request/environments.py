"""The Python that runs a project's program: what the project requires, for the change and for the base branch."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path

import yaml

from gpu_fabric.pull_request.errors import InputError


@dataclass(frozen=True)
class Environment:
    """What runs one branch's program."""

    python: str = sys.executable
    requires: tuple[str, ...] = ()
    """What was installed, as the project says it; empty: nothing was."""


def requirements(project: Path) -> tuple[str, ...]:
    """The lines of requirements.txt beside Pulumi.yaml, or the dependencies of pyproject.toml."""
    listed, described = project / "requirements.txt", project / "pyproject.toml"
    try:
        if listed.exists():
            return tuple(listed.read_text(encoding="utf-8").splitlines())
        if described.exists():
            given = tomllib.loads(described.read_text(encoding="utf-8")).get("project", {})
            return tuple(given.get("dependencies", ()))
    except (ValueError, AttributeError) as error:
        raise InputError(f"{project}: its requirements cannot be read: {error}") from error
    return ()


def named(project: Path) -> str | None:
    """The `virtualenv` that Pulumi.yaml names."""
    try:
        given = yaml.safe_load((project / "Pulumi.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None  # The engine says what is wrong with it.
    runtime = given.get("runtime") if isinstance(given, dict) else None
    options = runtime.get("options") if isinstance(runtime, dict) else None
    found = options.get("virtualenv") if isinstance(options, dict) else None
    return found if isinstance(found, str) and found else None


def of_change(project: Path, folder: Path, *, install: bool) -> Environment:
    """The environment of the checkout: the one that Pulumi.yaml names, made where it is not there, or one in `folder`
    that also has what this report runs with. Raises InputError with pip's words."""
    if not install:
        return Environment()
    wanted = requirements(project)
    name = named(project)
    if name is not None:
        if not (project / name / "bin" / "python").exists():
            _make(project / name, project)
        return Environment(requires=wanted)
    return _beside_ours(project, folder, wanted) if wanted else Environment()


def of_base(project: Path, there: Path, folder: Path, change: Environment, *, install: bool) -> Environment:
    """The environment of the base branch in the worktree `there`: the change's where both require the same."""
    name = named(there)
    wanted = requirements(there) if install else change.requires
    if name is None:
        if wanted == change.requires:
            return change
        return _beside_ours(there, folder, wanted) if wanted else Environment()
    # Git holds no environment, and the path may lead out of the worktree: its Pulumi.yaml says where ours is.
    place = (project / name).resolve()
    if wanted and wanted != change.requires:
        place = folder
        _make(place, there)
    if (place / "bin" / "python").exists():
        _name(there / "Pulumi.yaml", place)
    return Environment(requires=wanted)


def _name(file: Path, environment: Path) -> None:
    given = yaml.safe_load(file.read_text(encoding="utf-8"))
    given["runtime"]["options"]["virtualenv"] = str(environment)
    file.write_text(yaml.safe_dump(given, sort_keys=False), encoding="utf-8")


def _beside_ours(project: Path, folder: Path, wanted: tuple[str, ...]) -> Environment:
    """An environment with the project's requirements first, and ours for what they leave out."""
    # pip is among ours; a copy of it would take seconds.
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], project)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    # addsitedir reads the .pth files there too, such as that of an editable gpu-fabric.
    ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (packages / "gpu_fabric_report.pth").write_text(ours, encoding="utf-8")
    _install(folder, project)
    return Environment(str(folder / "bin" / "python"), wanted)


def _make(folder: Path, project: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)], project)
    _install(folder, project)


def _install(folder: Path, project: Path) -> None:
    listed = (project / "requirements.txt").exists()
    wanted = ["-r", "requirements.txt"] if listed else ["--", *requirements(project)]
    if wanted != ["--"]:
        python = str(folder / "bin" / "python")
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], project)


def _run(line: list[str], folder: Path) -> None:
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-4:])
        raise InputError(f"what {folder.name} requires cannot be installed:\n{last}")
