"""A Pulumi project of a test's own on the real engine, with simulated clouds of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.engine.binary import Engine
from gpu_fabric.engine.simulation import Simulation

ROOT = Path(__file__).parents[1]
#: What `make test ARGS=…` hands down to every make below it; a person's `make preview` has none of it.
MAKES_OWN = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "ARGS", "STACK", "CLOUD", "PROJECT")
PULUMI_YAML = {"name": "gpu-fabric", "runtime": {"name": "python"}}


@dataclass(frozen=True)
class SimulatedStack:
    """One project folder with one stack; `run` is what `make preview`, `make up`, … call."""

    project: Path
    engine: Engine
    stack: str = "dev"

    @property
    def simulation(self) -> Simulation:
        return Simulation(self.project / ".rehearsal")

    @property
    def database(self) -> Path:
        return self.simulation.database

    @property
    def env(self) -> dict[str, str]:
        return self.simulation.prepare(self.engine)

    def program(self, text: str) -> None:
        (self.project / "__main__.py").write_text(text)

    def configure(self, fabric: Any, region: str = "us-east-1", **more: Any) -> None:
        """Write the stack file with `fabric` under `gpu-fabric:fabric`."""
        config = {"aws:region": region, "gpu-fabric:fabric": fabric, **more}
        text = yaml.safe_dump({"config": config}, sort_keys=False)
        (self.project / f"Pulumi.{self.stack}.yaml").write_text(text)

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`make COMMAND ARGS='…'` of this project; stdout and stderr apart."""
        line = [sys.executable, "-m", "gpu_fabric.engine", command, "--stack", self.stack]
        line += ["--project", str(self.project), "--", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(line, capture_output=True, text=True, check=False, env=environment, timeout=300)

    def ok(self, command: str, *arguments: str) -> str:
        """The same, and it must succeed; what it printed on stdout."""
        done = self.run(command, *arguments)
        assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def pulumi(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The engine itself, in this simulation's environment."""
        return subprocess.run(
            [self.engine.path, *arguments],
            cwd=cwd or self.project,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def holdings(self) -> list[Mapping[str, Any]]:
        """What the simulated clouds hold now."""
        line = [
            sys.executable,
            "-m",
            "gpu_fabric.rehearsal",
            "--database",
            str(self.database),
            "show",
            "--json",
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout)

    def outputs(self) -> Mapping[str, Any]:
        done = self.pulumi("stack", "output", "--json", "--stack", self.stack)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def exported(self) -> Mapping[str, Any]:
        """The stack's state, as `pulumi stack export` gives it."""
        done = self.pulumi("stack", "export", "--stack", self.stack)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def resources(self) -> list[Mapping[str, Any]]:
        return self.exported()["deployment"].get("resources", [])
