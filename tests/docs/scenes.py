"""What a page takes for granted, and which of its commands need more than this machine has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.docs.branch import make_a_branch
from tests.simulated import ROOT

GUIDE = ROOT / "tests" / "data" / "guide"

#: Three nodes, as `gpu-fabric hostfile --format json` writes them.
_NODES = """[
 {"address": "10.100.16.4", "id": "i-00000000000000001", "cloud": "aws"},
 {"address": "10.100.16.5", "id": "i-00000000000000002", "cloud": "aws"}
]"""


@dataclass(frozen=True)
class Scene:
    """The state in which a page's reader stands."""

    files: Mapping[str, str | Path] = field(default_factory=dict)
    """Name → content, or the file to copy."""
    before: tuple[str, ...] = ()
    """What the reader has typed already."""
    prepare: Callable[[Path], None] | None = None


_COPIED_SCRIPT: Mapping[str, str | Path] = {
    "entrypoint.sh": GUIDE / "entrypoint.sh",
    "nccl-topo.xml": GUIDE / "nccl-topo-p5.xml",
}


def _with_single_nodes(folder: Path) -> None:
    """The AWS half of the stack alone, one resource a node."""
    stack_file = folder / "Pulumi.dev.yaml"
    config = yaml.safe_load(stack_file.read_text())
    fabric = config["config"]["gpu-fabric:fabric"]
    config["config"]["gpu-fabric:fabric"] = {"aws": {**fabric["aws"], "nodesAs": "instances"}}
    stack_file.write_text(yaml.safe_dump(config))


SCENES: Mapping[str, Scene] = {
    "README.md": Scene(_COPIED_SCRIPT, prepare=make_a_branch),
    "docs/migration.md": Scene(_COPIED_SCRIPT),
    "docs/lint.md": Scene(
        {
            "entrypoint.sh": GUIDE / "entrypoint.sh",
            "nccl-topo-p5.xml": GUIDE / "nccl-topo-p5.xml",
            "nccl.conf": "NCCL_DEBUG=INFO\n",
        }
    ),
    "docs/operations.md": Scene(before=("make up",), prepare=_with_single_nodes),
    "docs/preflight.md": Scene({"nodes.json": _NODES}),
    "docs/simulated-clouds.md": Scene(before=("make up",)),
    "docs/topology.md": Scene(
        {"theirs.xml": GUIDE / "nccl-topo-p5.xml"}, before=("gpu-fabric topology p4d.24xlarge > dump.xml",)
    ),
}

#: Command → the exit code that it has here, with the reason where it is not 0.
EXIT_CODES: Mapping[str, tuple[int, str]] = {
    "scripts/pr-report": (1, "the lint has an error"),
    "gpu-fabric lint entrypoint.sh nccl-topo.xml --for p5.48xlarge": (1, "the copied files have errors"),
    "gpu-fabric lint entrypoint.sh nccl-topo.xml --for p4d.24xlarge": (1, "the copied files have errors"),
    "gpu-fabric lint nccl.conf entrypoint.sh nccl-topo-p5.xml --for p5.48xlarge": (
        1,
        "the copied files have errors",
    ),
    "gpu-fabric lint guide/nccl.conf --for p5.48xlarge": (1, "the guide's settings have errors"),
    "gpu-fabric lint theirs.xml --for Standard_ND96isr_H100_v5": (1, "the file has errors"),
    "gpu-fabric topology theirs.xml --compare Standard_ND96isr_H100_v5": (1, "the two differ"),
}

#: Beginning of a command → the test that runs what it runs.
ELSEWHERE: Mapping[str, str] = {
    "make preview PROJECT=examples/": "tests/examples/test_examples.py",
    "scripts/pr-report --base main --project ": "tests/pull_request/test_report.py",
    ".venv/bin/python -m gpu_fabric.rehearsal provision WHAT": "tests/rehearsal/equinix/test_fabric.py",
    ".venv/bin/python -m gpu_fabric.rehearsal expire ID": "tests/rehearsal/equinix/test_fabric.py",
    ".venv/bin/python -m gpu_fabric.rehearsal provision pair-link-circuit": "tests/stacks/test_interconnect.py",
    ".venv/bin/pytest -q tests/nccl/bootstrap ": "tests/nccl/bootstrap/test_bootstrap.py",
    "pip ": "tests/library/test_wheel.py",
}

_AWS = "needs an AWS account"
_AZURE = "needs an Azure subscription"
_ACCOUNT = "needs a deployed stack in an account of yours"
_GPU = "needs a GPU node"
_NODES = "needs GPU nodes and their launcher"
_INTERNET = "needs the internet"
_KUBERNETES = "needs a Kubernetes cluster"
_OTHER_HOST = "needs another host"

#: Beginning of a command → what it needs that this machine lacks. The first one that fits counts.
NOT_RUN: Mapping[str, str] = {
    "aws ": _AWS,
    "az ": _AZURE,
    "for number in $(az ": _AZURE,
    "pulumi ": _ACCOUNT,
    "make preview STACK=prod CLOUD=real": _ACCOUNT,
    "helm ": _KUBERNETES,
    "docker ": _GPU,
    "srun ": _NODES,
    "scp ": _OTHER_HOST,
    "ssh ": _OTHER_HOST,
    "systemctl ": _GPU,
    "ls /var/log/gpu-fabric": _GPU,
    "python3 /usr/local/lib/gpu-fabric/": _GPU,
    "for port in /sys/class/infiniband": "needs a node with InfiniBand",
    "gpu-fabric-entrypoint ": _GPU,
    "gpu-fabric-preflight node": _GPU,
    "gpu-fabric-preflight cluster": _NODES,
    "gpu-fabric-preflight link": "needs a node on each cloud",
    "gpu-fabric topology --from-host": _GPU,
    "gpu-fabric hostfile --aws-fleet": _AWS,
    "gpu-fabric hostfile --azure-scale-set": _AZURE,
    "gpu-fabric prices --refresh": _INTERNET,
    "pip download ": _INTERNET,
    "NCCL_LIBRARY_FOR_TESTS=": "needs an NCCL library",
    "make test": "is the run that says this",
}


def not_run_because(command: str) -> str | None:
    return next((why for start, why in NOT_RUN.items() if f"{command} ".startswith(start)), None)


def run_elsewhere(command: str) -> str | None:
    return next((test for start, test in ELSEWHERE.items() if command.startswith(start)), None)
