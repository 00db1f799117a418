"""The TypeScript and Go of plugin/README.md compile against the SDKs that Pulumi generates from the schema."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.not_run import not_run
from tests.simulated import ROOT

pytestmark = pytest.mark.online

_PACKAGES = ("typescript@5", "@pulumi/pulumi@3", "@types/node")
#: What a program has from somewhere else.
_TYPESCRIPT = """\
import * as pulumi from "@pulumi/pulumi";
declare const vpc: { id: pulumi.Output<string> };
declare const subnet: { id: pulumi.Output<string> };
"""
_TSCONFIG = {
    "compilerOptions": {
        "strict": True,
        "target": "es2020",
        "module": "commonjs",
        "moduleResolution": "node",
        "noEmit": True,
        "skipLibCheck": True,
        "paths": {"@pulumi/gpu-fabric": ["./sdk"]},
    },
    "files": ["index.ts"],
}
_GO_MODULE = "example.com/pulumi-gpu-fabric/sdk/go/gpu-fabric"
_GO = """\
package main

import (
	gpufabric "%s"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		%s
		if err != nil {
			return err
		}
		ctx.Export("launch", train.Launch)
		return nil
	})
}
"""


def block(language: str) -> str:
    (found,) = (one.text for one in blocks() if one.page == "plugin/README.md" and one.language == language)
    return found


def ran(line: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def sdks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SDKs by the generators of the pinned engine, which are parts of its Go module."""
    if shutil.which("go") is None:
        not_run("there is no go on PATH to generate the SDKs with")
    folder = tmp_path_factory.mktemp("sdks")
    for source in ("engine/go.mod", "engine/go.sum", "tests/plugin/sdk/main.go"):
        shutil.copy(ROOT / source, folder)
    line = ["go", "run", "-mod=mod", ".", str(ROOT / "plugin" / "schema.json"), str(folder / "sdk")]
    done = ran(line, folder)
    assert done.returncode == 0, done.stderr
    return folder / "sdk"


@pytest.fixture(scope="module")
def typescript(sdks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        not_run("there is no npm on PATH")
    folder = tmp_path_factory.mktemp("typescript")
    shutil.copytree(sdks / "nodejs", folder / "sdk")
    (folder / "package.json").write_text("{}")
    (folder / "tsconfig.json").write_text(json.dumps(_TSCONFIG))
    done = ran(["npm", "install", "--silent", "--no-audit", "--ignore-scripts", *_PACKAGES], folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_typescript_compiles(typescript: Path) -> None:
    (typescript / "index.ts").write_text(_TYPESCRIPT + block("typescript"))
    done = ran(["npx", "tsc", "-p", "."], typescript)
    assert done.returncode == 0, done.stdout


def test_typescript_with_a_wrong_name_does_not_compile(typescript: Path) -> None:
    (typescript / "index.ts").write_text(_TYPESCRIPT + block("typescript").replace("instanceType", "kind"))
    done = ran(["npx", "tsc", "-p", "."], typescript)
    assert "'kind' does not exist in type 'AwsGpuClusterArgs'" in done.stdout


def test_the_go_compiles(sdks: Path, tmp_path: Path) -> None:
    shutil.copytree(sdks / "go" / "gpufabric", tmp_path, dirs_exist_ok=True)
    pins = (ROOT / "engine" / "go.mod").read_text()
    (tmp_path / "go.mod").write_text(pins.replace("module gpufabric/engine", f"module {_GO_MODULE}", 1))
    shutil.copy(ROOT / "engine" / "go.sum", tmp_path)
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "main.go").write_text(_GO % (_GO_MODULE, block("go")))
    done = ran(["go", "vet", "-mod=mod", "./program"], tmp_path)
    assert done.returncode == 0, done.stderr
