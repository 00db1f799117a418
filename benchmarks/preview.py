"""How long a preview takes and how many resources it plans: our two ways to declare nodes, and the hand-written shape.

All in one run on one machine, on the real engine against simulated AWS; the ratios are what counts. `python -m
benchmarks.preview [nodes …]`, by default 4, 64 and 256 nodes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from gpu_fabric.engine.binary import Engine, find_engine
from tests.simulated import PULUMI_YAML, SimulatedStack

PROGRAMS = Path(__file__).parent / "programs"

#: name in the table → program, and its configuration beside the number of nodes.
SHAPES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "fleet": ("ours.py", {"nodesAs": "fleet"}),
    "instances": ("ours.py", {"nodesAs": "instances"}),
    "hand-written": ("hand_written.py", {}),
}


@dataclass(frozen=True)
class Measured:
    seconds: float
    resources: int


def preview(engine: Engine, shape: str, nodes: int) -> Measured:
    """One preview of a new stack, after one that warmed what is cached on disk."""
    program, config = SHAPES[shape]
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-benchmark-") as folder:
        project = Path(folder)
        (project / "Pulumi.yaml").write_text(yaml.safe_dump(PULUMI_YAML))
        (project / "__main__.py").write_text((PROGRAMS / program).read_text())
        values = {f"gpu-fabric:{key}": value for key, value in {**config, "nodes": str(nodes)}.items()}
        (project / "Pulumi.dev.yaml").write_text(
            yaml.safe_dump({"config": {"aws:region": "us-east-1", **values}})
        )
        stack = SimulatedStack(project, engine)
        if nodes <= 4:
            stack.ok("preview")
        started = time.monotonic()
        said = stack.ok("preview")
        seconds = time.monotonic() - started
    planned = next(line for line in said.splitlines() if "to create" in line)
    return Measured(seconds, int(planned.split()[1]))


def main(arguments: Sequence[str]) -> int:
    counts = [int(argument) for argument in arguments] or [4, 64, 256]
    engine = find_engine()
    table = Table(title=f"preview on the real engine {engine.version}, simulated AWS, p4d.24xlarge")
    for column in ("nodes", "shape", "resources", "seconds", "hand-written takes"):
        table.add_column(column, justify="left" if column == "shape" else "right")
    for nodes in counts:
        measured = {shape: preview(engine, shape, nodes) for shape in SHAPES}
        slowest = measured["hand-written"].seconds
        for shape, one in measured.items():
            ratio = f"{slowest / one.seconds:.1f} times as long"
            table.add_row(str(nodes), shape, str(one.resources), f"{one.seconds:.1f}", ratio)
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
