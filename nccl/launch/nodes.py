"""A node as a launcher needs it, and the list of them in a file."""

from __future__ import annotations

import ipaddress
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Final

from gpu_fabric.nccl.hardware.plain import build
from gpu_fabric.nccl.preflight.nodelist import NodeListError, expand


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

    `slots` and `cloud` are for lines that do not say. Raises `NodeListError` with everything that is no node.
    """
    text = text.lstrip("\ufeff")
    if text.lstrip().startswith(("[", "{")):
        nodes, wrong = _from_json(text)
    else:
        nodes, wrong = _from_lines(text, slots, cloud)
    wrong += twice(nodes)
    if wrong:
        raise NodeListError("; ".join(wrong))
    if not nodes:
        raise NodeListError("the list of nodes is empty")
    return nodes


def twice(nodes: Sequence[LaunchNode]) -> list[str]:
    """What stands more than once: an address that two ranks' nodes would share, or a name that Slurm would refuse."""
    counts = Counter(node.address for node in nodes)
    names = Counter(node.name for node in nodes if node.name and node.name != node.address)
    return [f"{text} stands twice" for text, count in (counts | names).items() if count > 1]


def _from_lines(text: str, slots: int | None, cloud: str) -> tuple[list[LaunchNode], list[str]]:
    nodes: list[LaunchNode] = []
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        given = dict(word.partition("=")[::2] for word in words[1:])
        if set(given) - _SETTINGS or not _COUNT.fullmatch(given.get("slots", "1")):
            wrong.append(f"line {number}: {line.strip()!r}: write `ADDRESS slots=8 cloud=aws`")
            continue
        count = int(given.get("slots") or slots or 8)
        try:
            names = expand(words[0])
        except NodeListError as error:
            wrong.append(f"line {number}: {error}")
            continue
        own = LaunchNode("", given.get("name", ""), given.get("cloud", cloud), slots=count)
        if problem := _name_problem(own.name):
            wrong.append(f"line {number}: {problem}")
            continue
        nodes += [replace(own, address=name) for name in names]
    return nodes, wrong


_SETTINGS: Final = frozenset({"slots", "cloud", "name", "max_slots", "max-slots"})
_COUNT: Final = re.compile(r"[1-9][0-9]{0,3}")
_TEXTS: Final = ("address", "name", "cloud", "id")


def _from_json(text: str) -> tuple[list[LaunchNode], list[str]]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NodeListError(f"{_NO_LIST}: {error}") from None
    nodes: list[LaunchNode] = []
    wrong: list[str] = [] if isinstance(rows, list) else [f"{_NO_LIST}: it is one object"]
    for number, row in enumerate(rows if isinstance(rows, list) else [], 1):
        problem = _problem(row)
        if problem:
            wrong.append(f"{_NO_LIST}: entry {number}: {problem}")
        else:
            nodes.append(build(LaunchNode, row))
    return nodes, wrong


_NO_LIST: Final = "not a list of nodes as `gpu-fabric hostfile --format json` writes it"


def _problem(row: object) -> str:
    """Why an entry is no node; empty for one."""
    if not isinstance(row, dict):
        return f"{row!r} is no object"
    unknown = set(row) - {field.name for field in fields(LaunchNode)}
    if unknown:
        return f"nodes have no {', '.join(sorted(unknown))}"
    if not row.get("address"):
        return "it has no address"
    texts = [row[name] for name in _TEXTS if name in row]
    layers = row.get("layers", [])
    if not isinstance(layers, list) or not all(isinstance(text, str) for text in [*texts, *layers]):
        return f"{', '.join(_TEXTS)} and the layers are text"
    slots = row.get("slots", 8)
    if not isinstance(slots, int) or isinstance(slots, bool) or not 1 <= slots <= 9999:
        return f"slots is {slots!r}, and must be a number of GPUs"
    if problem := _name_problem(row.get("name", "")):
        return problem
    try:
        names = expand(row["address"])
    except NodeListError as error:
        return str(error)
    return "" if names == [row["address"]] else f"{row['address']!r} is not one address"


def _name_problem(name: str) -> str:
    """Why Slurm's files cannot have a node of this name; empty where they can, or where there is none."""
    try:
        good = not name or expand(name) == [name]
    except NodeListError:
        good = False
    return "" if good else f"name {name!r} is no name of one node; write letters, digits, `.`, `-` and `_`"


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
