"""What a project requires is installed for its program, on both branches."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from gpu_fabric.pull_request.environments import Environment, of_base, of_change, requirements
from gpu_fabric.pull_request.errors import InputError


def wheel(folder: Path, version: str) -> str:
    """A package `rail_names` of one module, made here so that no registry is asked."""
    name = f"rail_names-{version}-py3-none-any.whl"
    info = f"rail_names-{version}.dist-info"
    with zipfile.ZipFile(folder / name, "w") as file:
        file.writestr("rail_names.py", f"VERSION = {version!r}\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: rail_names\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return name


def project(folder: Path, version: str | None, virtualenv: str | None = None, *, by: str = "pip") -> Path:
    folder.mkdir(parents=True)
    runtime = {"name": "python", "options": {"virtualenv": virtualenv} if virtualenv else {}}
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "p", "runtime": runtime}))
    if version is not None and by == "pip":
        (folder / "requirements.txt").write_text(f"./{wheel(folder, version)}\n")
    elif version is not None:
        at = (folder / wheel(folder, version)).as_uri()
        (folder / "pyproject.toml").write_text(f'[project]\ndependencies = ["rail_names @ {at}"]\n')
    return folder


def says(python: str, program: str) -> str:
    line = [python, "-c", program]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


VERSION = "import rail_names; print(rail_names.VERSION)"


@pytest.mark.parametrize("by", ["pip", "pyproject"])
def test_requirements_come_first_and_ours_stay_for_the_rest(tmp_path: Path, by: str) -> None:
    change, base = project(tmp_path / "change", "2.0", by=by), project(tmp_path / "base", "1.0", by=by)
    ours = of_change(change, tmp_path / "e1", install=True)
    theirs = of_base(change, base, tmp_path / "e2", ours, install=True)
    assert says(ours.python, VERSION) == "2.0"
    assert says(theirs.python, VERSION) == "1.0"
    assert says(ours.python, "import pulumi, gpu_fabric; print('both')") == "both"
    assert not list(change.glob("*venv*"))


@pytest.mark.parametrize("version", ["2.0", "1.0"])
def test_a_named_environment_is_made_where_pulumi_yaml_says_and_the_base_gets_what_it_requires(
    tmp_path: Path, version: str
) -> None:
    change = project(tmp_path / "a" / "change", "2.0", "../../venvs/x")
    base = project(tmp_path / "elsewhere", version, "../../venvs/x")
    found = of_change(change, tmp_path / "e1", install=True)
    assert says(str(tmp_path / "venvs" / "x" / "bin" / "python"), VERSION) == "2.0"
    of_base(change, base, tmp_path / "e2", found, install=True)
    named = yaml.safe_load((base / "Pulumi.yaml").read_text())["runtime"]["options"]["virtualenv"]
    assert says(f"{named}/bin/python", VERSION) == version


def test_without_the_option_nothing_is_installed(tmp_path: Path) -> None:
    change, base = project(tmp_path / "change", "2.0", "venv"), project(tmp_path / "base", "1.0", "venv")
    found = of_change(change, tmp_path / "e1", install=False)
    assert found == of_base(change, base, tmp_path / "e2", found, install=False) == Environment()
    assert found.python == sys.executable
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "change"]
    assert not (change / "venv").exists()


def test_a_project_that_requires_nothing_needs_no_environment(tmp_path: Path) -> None:
    change = project(tmp_path / "change", None)
    assert requirements(change) == ()
    assert of_change(change, tmp_path / "e1", install=True) == Environment()


def test_what_cannot_be_installed_is_told_in_pip_s_words(tmp_path: Path) -> None:
    change = project(tmp_path / "change", None)
    (change / "requirements.txt").write_text("./nowhere.whl\n")
    with pytest.raises(InputError, match=r"what change requires cannot be installed:\n(.|\n)*nowhere\.whl"):
        of_change(change, tmp_path / "e1", install=True)


def test_a_base_that_requires_nothing_yet_runs_in_the_environment_that_is_there(tmp_path: Path) -> None:
    change = project(tmp_path / "change", "2.0", "venv")
    base = project(tmp_path / "base", None, "venv")
    found = of_change(change, tmp_path / "e1", install=True)
    of_base(change, base, tmp_path / "e2", found, install=True)
    named = yaml.safe_load((base / "Pulumi.yaml").read_text())["runtime"]["options"]["virtualenv"]
    assert named == str(change / "venv")
