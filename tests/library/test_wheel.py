"""What `pip install gpu-fabric` gives: everything that is needed, and nothing of a cloud that is not used."""

from __future__ import annotations

import functools
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import gpu_fabric
from gpu_fabric.rehearsal.clouds import CLOUDS
from tests.library.installed import PACKAGES, Installed, build, install, tracked
from tests.simulated import ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("build") / "source")


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Name of the environment → the extras in it: none, each alone, and both clouds.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "base": (),
    **{extra: (extra,) for extra in PROJECT["optional-dependencies"]},
    "both": ("aws", "azure"),
}


@pytest.fixture(scope="module")
def environments(
    built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Installed]:
    folder = tmp_path_factory.mktemp("environments")
    return functools.cache(lambda name: install(built[0], folder / name, EXTRAS[name]))


def expected() -> set[str]:
    """Every file of the packages, as the import name has it."""
    found = set()
    for name in tracked():
        if name.split("/")[0] in PACKAGES and not name.endswith(".md"):
            found.add(f"gpu_fabric/{name}")
        elif name.startswith("gpu_fabric/") and name.count("/") + name.count(".") > 1:
            found.add(name)
    return found


def test_the_wheel_holds_every_file_of_the_packages(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == expected()
    assert "gpu_fabric/py.typed" in names


def test_the_sdist_holds_what_the_wheel_is_made_from(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert expected() <= names


NEEDS = {
    "base": ["get_size", "lint", "lint_values", "load_sizes"],
    "aws": [name for name in gpu_fabric.__all__ if name.startswith("Aws")] + ["GpuFabric"],
    "azure": [name for name in gpu_fabric.__all__ if name.startswith("Azure")] + ["GpuFabric"],
    # Not the partner's SDK.
    "both": ["CrossCloudInterconnect"],
}
#: Extra → what it is for, which no public name stands for.
MODULES = {
    "equinix": ["gpu_fabric.components.interconnect.equinix"],
    "policy": ["gpu_fabric.policy.pack"],
    "rehearsal": [f"gpu_fabric.rehearsal.{folder}.cloud" for folder in CLOUDS.values()],
    "live-aws": ["gpu_fabric.nccl.launch.aws", "boto3"],
    "live-azure": [
        "gpu_fabric.nccl.launch.azure",
        "azure.identity",
        "azure.mgmt.compute",
        "azure.mgmt.network",
    ],
}


def test_every_public_name_is_tried_with_its_extra_alone() -> None:
    assert {name for names in NEEDS.values() for name in names} == set(gpu_fabric.__all__)


def test_every_extra_is_tried_alone() -> None:
    assert {*NEEDS, *MODULES} == set(EXTRAS)


@pytest.mark.parametrize("extra", NEEDS)
def test_each_public_name_is_imported_with_only_its_extra_installed(
    environments: Callable[[str], Installed], extra: str, tmp_path: Path
) -> None:
    for name in NEEDS[extra]:
        done = environments(extra).run("-c", f"from gpu_fabric import {name}", cwd=tmp_path)
        assert done.returncode == 0, f"{name}: {done.stderr}"


@pytest.mark.parametrize("extra", MODULES)
def test_what_an_extra_is_for_is_imported_with_it_alone(
    environments: Callable[[str], Installed], extra: str, tmp_path: Path
) -> None:
    for name in MODULES[extra]:
        done = environments(extra).run("-c", f"import {name}", cwd=tmp_path)
        assert done.returncode == 0, f"{name}: {done.stderr}"


def test_the_simulated_clouds_run_with_their_extra_alone(
    environments: Callable[[str], Installed], tmp_path: Path
) -> None:
    rehearsal = environments("rehearsal")
    for cloud in CLOUDS:
        listed = rehearsal.run("-m", "gpu_fabric.rehearsal", "types", cloud, cwd=tmp_path)
        assert listed.returncode == 0, listed.stderr
        assert listed.stdout.count(":") >= 2


@pytest.mark.parametrize(
    ("extra", "other"),
    [
        ("aws", "pulumi_azure_native"),
        ("azure", "pulumi_aws"),
        ("equinix", "pulumi_aws"),
        ("equinix", "pulumi_azure_native"),
        ("both", "pulumi_equinix"),
        ("policy", "pulumi_aws"),
        ("rehearsal", "pulumi_aws"),
        ("live-aws", "azure.mgmt"),
        ("live-azure", "boto3"),
        ("base", "pulumi"),
    ],
)
def test_the_environment_really_lacks_what_is_not_asked_for(
    environments: Callable[[str], Installed], extra: str, other: str, tmp_path: Path
) -> None:
    done = environments(extra).run("-c", f"import {other}", cwd=tmp_path)
    assert "ModuleNotFoundError" in done.stderr


def test_the_command_line_runs_without_a_cloud_sdk(
    environments: Callable[[str], Installed], tmp_path: Path
) -> None:
    base = environments("base")
    (tmp_path / "job.sh").write_text("export NCCL_NET_GDR_LEVEL=LOC\n")
    done = base.run("-m", "gpu_fabric.cli", "lint", "job.sh", "--for", "p5.48xlarge", cwd=tmp_path)
    assert done.returncode == 1
    assert "[env-gdr-off]" in done.stdout
    for command in (
        ["environment", "p5.48xlarge"],
        ["topology", "p5.48xlarge"],
        ["cloud-init", "p5.48xlarge"],
    ):
        ran = base.run("-m", "gpu_fabric.cli", *command, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
