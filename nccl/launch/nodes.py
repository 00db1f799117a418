"""A node as a launcher needs it, and the list of them in a file."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass

from gpu_fabric.nccl.hardware.plain import build
from gpu_fabric.nccl.preflight.cluster import expand


class NodeListError(ValueError):
    """The file has no nodes, or a line that is none; the message says which and what to write."""


@dataclass(frozen=True)
class LaunchNode:
    address: str
    """Primary private address, or a name that every node resolves. EFA-only interfaces have no address."""
    name: str = ""
    """What Slurm calls the node; the address where nothing else is known."""
    cloud: str = ""
    """`aws`, `azure`, or empty where there is one cloud only."""
    id: str = ""
    """The cloud's id of the instance."""
    slots: int = 8
    """GPUs."""
    layers: tuple[str, ...] = ()
    """Switches above the node from the top of the network down; nodes with equal beginnings are near."""

    @property
    def label(self) -> str:
        return self.name or self.address


def read_nodes(text: str, *, slots: int | None = None, cloud: str = "") -> list[LaunchNode]:
    """Nodes of a file: JSON as `hostfile --format json` writes it, or a line a node with `slots=` and `cloud=`.

    `slots` and `cloud` are for lines that do not say. Raises `NodeListError` with every line that is no node.
    """
    if text.lstrip().startswith("["):
        return _from_json(text)
    nodes, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        given = dict(word.partition("=")[::2] for word in words[1:])
        extra = sorted(set(given) - {"slots", "cloud", "name", "max_slots", "max-slots"})
        if extra or not given.get("slots", "1").isdigit():
            wrong.append(f"line {number}: {line.strip()!r}: write `ADDRESS slots=8 cloud=aws`")
            continue
        count = int(given.get("slots") or slots or 8)
        nodes += [
            LaunchNode(name, given.get("name", ""), given.get("cloud", cloud), slots=count)
            for name in expand(words[0])
        ]
    twice = sorted({node.address for node in nodes if [n.address for n in nodes].count(node.address) > 1})
    wrong += [f"{address} stands twice" for address in twice]
    if wrong:
        raise NodeListError("; ".join(wrong))
    if not nodes:
        raise NodeListError("the list of nodes is empty")
    return nodes


def _from_json(text: str) -> list[LaunchNode]:
    try:
        rows = json.loads(text)
        nodes = [build(LaunchNode, row) for row in rows]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NodeListError(
            f"not a list of nodes as `gpu-fabric hostfile --format json` writes it: {error}"
        ) from None
    if not nodes:
        raise NodeListError("the list of nodes is empty")
    return nodes


def to_json(nodes: list[LaunchNode]) -> str:
    return json.dumps([asdict(node) for node in nodes], indent=2) + "\n"


def refuse_public(nodes: list[LaunchNode]) -> None:
    """Ranks talk over private addresses; names are taken as they are. Raises `NodeListError`."""
    public = []
    for node in nodes:
        try:
            if ipaddress.ip_address(node.address).is_global:
                public.append(node.address)
        except ValueError:
            continue
    if public:
        raise NodeListError(f"{', '.join(public)}: public addresses; write the nodes' primary private ones")
