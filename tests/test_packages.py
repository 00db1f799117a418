"""Who may import whom, and what `import` costs: the arrows of docs/architecture.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: package → packages of ours that it may import.
MAY_IMPORT = {
    "nccl": {"nccl"},
    "planning": {"planning", "nccl"},
    "components": {"components", "nccl", "planning"},
    "engine": {"engine"},
    "policy": {"policy", "nccl"},
    "plugin": {"plugin", "components", "nccl", "planning"},
    "rehearsal": {"rehearsal"},
}


def imported(path: Path, package: str) -> set[str]:
    """Packages of ours that a module imports, wherever in the module the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                continue  # relative: inside its own package
            names = [node.module or ""]
            if node.module == "gpu_fabric":
                names = [f"gpu_fabric.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "gpu_fabric" and len(parts) > 1 and not parts[1].startswith("_"):
                found.add(parts[1])
            assert parts[0] not in MAY_IMPORT, f"{path}: the import name is gpu_fabric.{name}"
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    wrong = {
        f"{path.relative_to(ROOT)} imports gpu_fabric.{other}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for other in imported(path, package) - MAY_IMPORT[package]
    }
    assert wrong == set()


def test_the_other_side_of_the_table_uses_relative_imports_only() -> None:
    absolute = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "rehearsal").rglob("*.py")
        if imported(path, "rehearsal")
    ]
    assert absolute == []


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("gpu_fabric", {"pulumi", "pydantic", "click", "jinja2"}),
        ("gpu_fabric.nccl", {"pulumi", "pydantic", "jinja2", "click", "rich", "boto3"}),
        ("gpu_fabric.nccl.environment", {"pulumi"}),
        ("gpu_fabric.nccl.topology", {"pulumi"}),
        ("gpu_fabric.planning", {"pulumi"}),
    ],
)
def test_importing_a_part_does_not_load_what_it_does_not_need(module: str, forbidden: set[str]) -> None:
    code = f"import sys, {module}; print(*sorted(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert forbidden & set(done.stdout.split()) == set()


def test_every_link_of_the_import_name_leads_to_a_package_of_the_repository() -> None:
    links = {path.name: path.readlink() for path in (ROOT / "gpu_fabric").iterdir() if path.is_symlink()}
    assert set(MAY_IMPORT) <= set(links)
    assert all(str(target) == f"../{name}" for name, target in links.items())


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("pulumi", "AwsGpuCluster", "aws"),
        ("pulumi_aws", "AwsEksNodeTemplate", "aws"),
        ("pulumi", "AzureGpuCluster", "azure"),
        ("pulumi_azure_native", "AzureNetwork", "azure"),
        ("pulumi", "CrossCloudInterconnect", "aws,azure"),
    ],
)
def test_a_name_without_its_sdk_says_which_extra_to_install(missing: str, name: str, extra: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from gpu_fabric import {name}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: {name} needs {missing}: pip install 'gpu-fabric[{extra}]'"
    )
