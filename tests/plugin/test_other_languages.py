"""The TypeScript and Go of plugin/README.md on the real engine, with our components as a plugin: simulated clouds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gpu_fabric.engine.binary import ENGINE_VERSION, Engine
from tests.docs.blocks import blocks
from tests.not_run import not_run
from tests.simulated import ROOT, SimulatedStack

pytestmark = [pytest.mark.online, pytest.mark.engine]

HERE = Path(__file__).parent
HOSTS = {
    "pulumi-language-nodejs": "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    "pulumi-language-go": "github.com/pulumi/pulumi/sdk/v3/go/pulumi-language-go",
}
#: Where the SDK lies, and how the project finds it: what `pulumi package add` leaves behind.
SDK = "sdks/gpu-fabric"
PACKAGE_JSON = {
    "name": "training",
    "main": "index.ts",
    "dependencies": {"@pulumi/pulumi": "^3", "@pulumi/gpu-fabric": f"file:{SDK}"},
    "devDependencies": {"@types/node": "^20", "typescript": "^5"},
}
GO_MOD = f"""\
module training

go 1.26

require (
	example.com/pulumi-gpu-fabric/sdk/go v0.0.0
	github.com/pulumi/pulumi/sdk/v3 v{ENGINE_VERSION}
)

replace example.com/pulumi-gpu-fabric/sdk/go => ./{SDK}
"""


def block(language: str) -> str:
    (found,) = (one.text for one in blocks() if one.page == "plugin/README.md" and one.language == language)
    return found


def ran(line: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


def needed(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            not_run(f"there is no {program} on PATH")


@pytest.fixture(scope="module")
def sdks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SDKs by the generators of the pinned engine, which are parts of its Go module."""
    needed("go")
    folder = tmp_path_factory.mktemp("sdks")
    for source in (ROOT / "engine/go.mod", ROOT / "engine/go.sum", HERE / "sdk/main.go"):
        shutil.copy(source, folder)
    line = ["go", "run", "-mod=mod", ".", str(ROOT / "plugin" / "schema.json"), str(folder / "sdk")]
    done = ran(line, folder)
    assert done.returncode == 0, done.stderr
    return folder / "sdk"


@pytest.fixture(scope="module")
def hosts(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Pulumi's language hosts: those that are installed, else the last that were parts of a Go module."""
    path = os.pathsep.join((str(engine.path.parent), os.environ["PATH"]))
    folder = tmp_path_factory.mktemp("hosts")
    missing = []
    for name, package in HOSTS.items():
        found = shutil.which(name, path=path)
        if found:
            (folder / name).symlink_to(found)
        else:
            missing.append(package)
    if missing:
        needed("go")
        done = ran(["go", "build", "-mod=readonly", "-o", f"{folder}/", *missing], HERE / "hosts")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def project(
    simulated: SimulatedStack, sdks: Path, hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], SimulatedStack]:
    """A project in a language, as it is after `pulumi package add`."""

    def make(runtime: str) -> SimulatedStack:
        monkeypatch.setenv("PATH", os.pathsep.join((str(hosts), os.environ["PATH"])))
        folder = simulated.project
        (folder / "__main__.py").unlink()
        shutil.copytree(sdks / runtime, folder / SDK)
        plugin = {"gpu-fabric": str(ROOT / "plugin")}
        (folder / "Pulumi.yaml").write_text(
            yaml.safe_dump({"name": "training", "runtime": runtime, "packages": plugin})
        )
        config = {"aws:region": "us-east-1", "azure-native:location": "eastus"}
        (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
        return simulated

    return make


@pytest.fixture
def typescript(project: Callable[[str], SimulatedStack]) -> SimulatedStack:
    needed("node", "npm")
    stack = project("nodejs")
    (stack.project / "package.json").write_text(json.dumps(PACKAGE_JSON))
    (stack.project / "index.ts").write_text(block("typescript"))
    done = ran(["npm", "install", "--no-audit", "--no-fund"], stack.project)
    assert done.returncode == 0, done.stderr
    return stack


@pytest.fixture
def golang(project: Callable[[str], SimulatedStack]) -> SimulatedStack:
    stack = project("go")
    (stack.project / "go.mod").write_text(GO_MOD)
    (stack.project / "main.go").write_text(block("go"))
    done = ran(["go", "mod", "tidy"], stack.project)
    assert done.returncode == 0, done.stderr
    return stack


def made(stack: SimulatedStack) -> list[str]:
    """The types of what the clouds hold after `up`; a preview then finds nothing to do."""
    stack.ok("up")
    held = [one["kind"] for one in stack.holdings()]
    stack.ok("preview", "--expect-no-changes")
    return held


def test_the_typescript_lives_and_goes(typescript: SimulatedStack) -> None:
    held = made(typescript)
    assert held.count("aws:ec2/instance:Instance") == 3
    assert held.count("aws:ec2/vpc:Vpc") == 1, "the second cluster stands in the network of the first"
    outputs = typescript.outputs()
    assert outputs["efaGbpsPerNode"] == 400
    assert set(outputs["launch"]) >= {"hostfile", "nodes"}
    typescript.ok("destroy")
    assert typescript.holdings() == []


def test_the_go_lives_and_goes(golang: SimulatedStack) -> None:
    held = made(golang)
    assert held.count("aws:ec2/instance:Instance") == 2
    outputs = golang.outputs()
    assert outputs["azureRuns"]["size"] == "Standard_ND96isr_H100_v5"
    assert set(outputs["launch"]) >= {"hostfile", "nodes"}
    golang.ok("destroy")
    assert golang.holdings() == []


def test_typescript_with_a_wrong_name_does_not_compile(typescript: SimulatedStack) -> None:
    (typescript.project / "index.ts").write_text(block("typescript").replace("instanceType", "kind"))
    done = typescript.run("preview")
    assert done.returncode != 0
    assert "'kind' does not exist in type 'AwsGpuClusterArgs'" in done.stdout + done.stderr
