"""Every example previews, passes the policy pack, and says first what it costs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.library.installed import tracked
from tests.simulated import ROOT

EXAMPLES = sorted(
    {
        Path(name).parts[1]
        for name in tracked()
        if name.startswith("examples/") and name.endswith("Pulumi.yaml")
    }
)


@pytest.mark.engine
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_previews_and_violates_no_mandatory_policy(name: str, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "gpu_fabric.engine", "preview", "--project", str(ROOT / "examples" / name)]
    line += ["--folder", str(tmp_path / "simulation"), "--", "--policy-pack", str(ROOT / "policy")]
    done = subprocess.run(
        line,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ to create", done.stdout)
    assert "gpu-fabric@v0.1.0" in done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_readme_of_an_example_starts_with_what_it_costs(name: str) -> None:
    lines = (ROOT / "examples" / name / "README.md").read_text().splitlines()
    assert lines[0] == f"# {name}"
    first = lines[2]
    assert first.startswith("**"), first
    assert re.search(r"USD|hour|paid", first), first
