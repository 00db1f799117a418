"""Builds the wheel and installs it into environments that hold the packages of chosen extras and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.simulated import ROOT

#: What the wheel is made of; the folders of the import name are links to them.
PACKAGES = ("components", "engine", "nccl", "planning", "plugin", "policy", "rehearsal")


def tracked() -> list[str]:
    """Files that belong to the repository, also those that are not committed yet."""
    line = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    return [
        name for name in done.stdout.splitlines() if (ROOT / name).is_file() or (ROOT / name).is_symlink()
    ]


def copy_of_the_repository(target: Path) -> None:
    names = "\n".join(tracked())
    packed = subprocess.run(
        ["tar", "-T", "-", "-cf", "-"], cwd=ROOT, input=names.encode(), capture_output=True, check=True
    )
    target.mkdir()
    subprocess.run(["tar", "-C", str(target), "-xf", "-"], input=packed.stdout, check=True)


def build(target: Path) -> tuple[Path, Path]:
    """(wheel, sdist); the wheel is made from the sdist."""
    copy_of_the_repository(target)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target / "dist"), str(target)],
        check=True,
        capture_output=True,
    )
    (wheel,), (sdist,) = (target / "dist").glob("*.whl"), (target / "dist").glob("*.tar.gz")
    return wheel, sdist


def closure(extras: tuple[str, ...]) -> dict[str, Distribution]:
    """What pip would install for `gpu-fabric[extras]`, taken from the environment that runs the tests."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(one for extra in extras for one in project["optional-dependencies"][extra]),
    ]
    found: dict[str, Distribution] = {}
    queue = [Requirement(one) for one in wanted]
    while queue:
        requirement = queue.pop()
        name = requirement.name.lower().replace("_", "-")
        if name in found:
            continue
        found[name] = distribution(requirement.name)
        for text in found[name].requires or ():
            inner = Requirement(text)
            if inner.marker is None or any(
                inner.marker.evaluate({"extra": extra}) for extra in requirement.extras or {""}
            ):
                queue.append(inner)
    return found


@dataclass(frozen=True)
class Installed:
    python: Path

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Python of the environment, away from the repository and its settings."""
        return subprocess.run(
            [self.python, "-I", *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=300
        )

    @property
    def package(self) -> Path:
        (found,) = self.python.parents[1].glob("lib/python*/site-packages/gpu_fabric")
        return found


def install(wheel: Path, target: Path, extras: tuple[str, ...]) -> Installed:
    """An empty virtual environment with the wheel, and links to what its extras need."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True)
    python = target / "bin" / "python"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    (site,) = target.glob("lib/python*/site-packages")
    for dist in closure(extras).values():
        for top in {file.parts[0] for file in dist.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(dist.locate_file(top))))
    return Installed(python)
