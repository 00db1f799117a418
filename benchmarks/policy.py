"""What the policy pack adds to a preview of the dev stack: without a pack, with one that checks nothing, with ours.

All in one run on one machine, in turns, on the real engine against simulated clouds. The pack that checks nothing shows
what Pulumi itself takes for any pack. CPU time is that of the engine and of everything it started; it is steadier than
the clock where others use the machine. `python -m benchmarks.policy [rounds]`, by default 3.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.console import Console
from rich.table import Table

from gpu_fabric.engine.binary import find_engine
from tests.simulated import PULUMI_YAML, ROOT, SimulatedStack

EMPTY = """\
from pulumi_policy import PolicyPack, ResourceValidationPolicy

PolicyPack("empty", [ResourceValidationPolicy("nothing", "Nothing.", lambda args, report: None)])
"""


class Measured(NamedTuple):
    wall: float
    cpu: float
    """Seconds of user and system time."""


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def dev_stack(folder: Path) -> SimulatedStack:
    """The repository's own program and stack file, in a project of its own."""
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(PULUMI_YAML))
    for name in ("__main__.py", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, folder / name)
    return SimulatedStack(folder, find_engine())


def empty_pack(folder: Path) -> Path:
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text("description: nothing\nruntime: python\nversion: 0.1.0\n")
    (folder / "__main__.py").write_text(EMPTY)
    return folder


def previews(
    stack: SimulatedStack, packs: Mapping[str, Sequence[str]], rounds: int
) -> dict[str, list[Measured]]:
    """Each kind of preview in turns, after one of each that warmed what is cached on disk."""
    found: dict[str, list[Measured]] = {name: [] for name in packs}
    for number in range(rounds + 1):
        for name, arguments in packs.items():
            wall, cpu = time.monotonic(), _cpu()
            stack.ok("preview", *arguments)
            if number:
                found[name].append(Measured(time.monotonic() - wall, _cpu() - cpu))
    return found


OURS: Sequence[str] = ("--policy-pack", str(ROOT / "policy"))


def least(measured: Sequence[Measured]) -> Measured:
    """The best of the rounds: what others on the machine take is only ever added."""
    return Measured(min(each.wall for each in measured), min(each.cpu for each in measured))


def measure(rounds: int, *, nothing: bool = True) -> dict[str, Measured]:
    """Name of the pack → the best of its rounds; `nothing`: also with the pack that checks nothing."""
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-benchmark-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        packs: dict[str, Sequence[str]] = {"none": (), "gpu-fabric": OURS}
        if nothing:
            packs["checks nothing"] = ("--policy-pack", str(empty_pack(Path(folder, "empty"))))
        found = previews(dev_stack(project), packs, rounds)
    return {name: least(each) for name, each in found.items()}


def main(arguments: Sequence[str]) -> int:
    rounds = int(arguments[0]) if arguments else 3
    found = measure(rounds)
    plain = found["none"]
    table = Table(title=f"preview of the dev stack, best of {rounds}, simulated clouds")
    table.add_column("policy pack")
    for column in ("wall s", "added s", "CPU s", "added CPU s", "wall to none"):
        table.add_column(column, justify="right")
    for name in ("none", "checks nothing", "gpu-fabric"):
        wall, cpu = found[name]
        added = (f"{wall - plain.wall:+.1f}", f"{cpu - plain.cpu:+.1f}")
        table.add_row(name, f"{wall:.1f}", added[0], f"{cpu:.1f}", added[1], f"{wall / plain.wall:.2f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
