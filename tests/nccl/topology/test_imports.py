"""What the topology functions import: little, so that the command line starts at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pydantic", "jinja2", "click", "yaml", "rich", "pulumi", "defusedxml")


def run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    "module", ["gpu_fabric.nccl.topology", "gpu_fabric.nccl.topology.lint", "gpu_fabric.nccl.hardware"]
)
def test_nothing_heavy_is_imported(module: str) -> None:
    loaded = run(f"import sys, {module}; print(*sys.modules)").stdout.split()
    assert module in loaded
    assert not set(HEAVY) & set(loaded)


def test_the_package_is_imported_in_a_seventh_of_a_second() -> None:
    """The best of five: what a busy machine adds says nothing of the package."""
    times = []
    for _ in range(5):
        lines = run("import gpu_fabric.nccl", "-X", "importtime").stderr.splitlines()
        (line,) = [line for line in lines if line.rstrip().endswith(" gpu_fabric.nccl")]
        times.append(int(line.split("|")[1]) / 1_000_000)
    assert min(times) <= 0.15, "seconds"
