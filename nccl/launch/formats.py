"""The list of nodes as each launcher reads it. All start with the same order of ranks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpu_fabric.nccl.launch.nodes import LaunchNode, to_json

PORT: Final = 29_500
"""torchrun's own default."""


def render(nodes: Sequence[LaunchNode], kind: str) -> str:
    """The list in one of `FORMATS`, in the given order; KeyError names an unknown one."""
    return FORMATS[kind](list(nodes))


def openmpi(nodes: list[LaunchNode]) -> str:
    """A hostfile: `mpirun --hostfile FILE`. Open MPI fills it from the top, so the order is the ranks'."""
    return "".join(f"{node.address} slots={node.slots}\n" for node in nodes)


def openmpi_sequence(nodes: list[LaunchNode]) -> str:
    """One line a rank, for `mpirun --mca rmaps seq --hostfile FILE`, which takes exactly this order."""
    return "".join(f"{node.address}\n" * node.slots for node in nodes)


def plain(nodes: list[LaunchNode]) -> str:
    return "".join(f"{node.address}\n" for node in nodes)


def deepspeed(nodes: list[LaunchNode]) -> str:
    """DeepSpeed's hostfile is Open MPI's."""
    return openmpi(nodes)


def torchrun(nodes: list[LaunchNode]) -> str:
    """One line a node: its address, and what its own torchrun is given."""
    first = nodes[0].address
    return "".join(
        f"{node.address} --nnodes={len(nodes)} --node-rank={rank} --nproc-per-node={node.slots} "
        f"--master-addr={first} --master-port={PORT}\n"
        for rank, node in enumerate(nodes)
    )


def _tree(nodes: list[LaunchNode]) -> tuple[list[str], dict[str, list[str]], dict[str, list[str]]]:
    """Switches from the top down in order of first use, switch → switches below, switch → nodes below."""
    order: list[str] = []
    below: dict[str, list[str]] = {}
    leaves: dict[str, list[str]] = {}
    tops: list[str] = []
    for node in nodes:
        chain = node.layers or (f"unknown-{node.cloud or 'place'}",)
        for at, switch in enumerate(chain):
            if switch not in order:
                order.append(switch)
            if at == 0 and switch not in tops:
                tops.append(switch)
            if at and switch not in below.setdefault(chain[at - 1], []):
                below[chain[at - 1]].append(switch)
        leaves.setdefault(chain[-1], []).append(node.label)
    if len(tops) > 1:
        # Slurm lets a job span only what one switch joins.
        order.insert(0, "fabric")
        below["fabric"] = tops
    return order, below, leaves


def slurm_topology_conf(nodes: list[LaunchNode]) -> str:
    """`topology.conf` for topology/tree. SchedMD, topology.conf(5)."""
    order, below, leaves = _tree(nodes)
    lines = []
    for switch in order:
        parts = [f"SwitchName={switch}"]
        if switch in leaves:
            parts.append(f"Nodes={','.join(leaves[switch])}")
        if switch in below:
            parts.append(f"Switches={','.join(below[switch])}")
        lines.append(" ".join(parts))
    return (
        "# Written by gpu-fabric hostfile. Needs TopologyPlugin=topology/tree in slurm.conf.\n"
        + "\n".join(lines)
        + "\n"
    )


def slurm_topology_yaml(nodes: list[LaunchNode]) -> str:
    """`topology.yaml`, which Slurm takes since 25.05 and prefers to topology.conf. SchedMD, topology.yaml(5)."""
    order, below, leaves = _tree(nodes)
    lines = [
        "# Written by gpu-fabric hostfile.",
        "---",
        "- topology: fabric",
        "  cluster_default: true",
        "  tree:",
    ]
    lines.append("    switches:")
    for switch in order:
        lines.append(f"      - switch: {json.dumps(switch)}")
        if switch in below:
            lines.append(f"        children: {json.dumps(','.join(below[switch]))}")
        if switch in leaves:
            lines.append(f"        nodes: {json.dumps(','.join(leaves[switch]))}")
    return "\n".join(lines) + "\n"


FORMATS: Final[Mapping[str, Callable[[list[LaunchNode]], str]]] = {
    "openmpi": openmpi,
    "openmpi-seq": openmpi_sequence,
    "deepspeed": deepspeed,
    "torchrun": torchrun,
    "slurm-conf": slurm_topology_conf,
    "slurm-yaml": slurm_topology_yaml,
    "plain": plain,
    "json": to_json,
}
"""Name → renderer."""
