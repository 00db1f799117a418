"""The order of ranks by network distance: nodes under one switch are adjacent, at every layer.

EC2's DescribeInstanceTopology lists a node's switches from top to bottom, 3 of them on most types and 4 on p6-b200 and
p6-b300 (EC2 User Guide, instance topology). The whole list is compared: grouping on two fixed places of it misses
the nearest switch where there are four. Azure has no such call; SHARP's own tool prints which ports hang on which
leaf switch (azhpc-images, torset-tool).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpu_fabric.nccl.launch.nodes import LaunchNode


def natural(text: str) -> list[tuple[int, int | str]]:
    """A key that puts n9 before n10."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", text) if part]


def in_network_order(nodes: Iterable[LaunchNode]) -> list[LaunchNode]:
    """Cloud by cloud, then switch by switch from the top down, then by name. Nodes of unknown place come last.

    Depends on the nodes alone, not on the order in which they are given.
    """

    def key(node: LaunchNode) -> tuple[Any, ...]:
        return (node.cloud, not node.layers, node.layers, natural(node.label), natural(node.address))

    return sorted(nodes, key=key)


def with_layers(nodes: Iterable[LaunchNode], answers: Iterable[Mapping[str, Any]]) -> list[LaunchNode]:
    """Nodes with their switches, by instance id; `answers` are DescribeInstanceTopology's, with `Instances`."""
    known = {
        str(instance["InstanceId"]): tuple(map(str, instance.get("NetworkNodes") or ()))
        for answer in answers
        for instance in answer.get("Instances", ())
    }
    return [replace(node, layers=known.get(node.id, node.layers)) for node in nodes]


def normal_guid(text: str) -> str:
    """A port GUID without its zero padding, which differs between ibstat and SHARP: 0x00155d… is 0x155d…."""
    digits = text.strip().lower().removeprefix("0x").replace(":", "").lstrip("0")
    return f"0x{digits or '0'}"


def read_guids(text: str) -> dict[str, str]:
    """Lines `NODE GUID[,GUID…]` → normal GUID → node."""
    found = {}
    for line in text.splitlines():
        words = line.partition("#")[0].replace(",", " ").split()
        for guid in words[1:]:
            found[normal_guid(guid)] = words[0]
    return found


def with_torsets(nodes: Iterable[LaunchNode], topology: str, guids: Mapping[str, str]) -> list[LaunchNode]:
    """Nodes with their switches, from the file that `sharp_cmd topology --topology_file` writes.

    Its lines are `SwitchName=ibsw2 Nodes=0x155dfffd341acb,…` and `SwitchName=ibsw9 Switches=ibsw2,ibsw3`. `guids`
    says whose port a GUID is (`read_guids`), by name or address. The leaf that most of its ports hang on places a node.
    """
    above: dict[str, str] = {}
    leaves: dict[str, dict[str, int]] = {}
    for line in topology.splitlines():
        fields = dict(re.findall(r"(\w+)=(\S+)", line))
        switch = fields.get("SwitchName")
        if switch is None:
            continue
        for child in filter(None, fields.get("Switches", "").split(",")):
            above[child] = switch
        for guid in filter(None, fields.get("Nodes", "").split(",")):
            node = guids.get(normal_guid(guid))
            if node is not None:
                counts = leaves.setdefault(node, {})
                counts[switch] = counts.get(switch, 0) + 1
    placed = []
    for node in nodes:
        counts = leaves.get(node.name) or leaves.get(node.address)
        if not counts:
            placed.append(node)
            continue
        leaf = max(sorted(counts), key=lambda name: counts[name])
        placed.append(replace(node, layers=_chain(leaf, above)))
    return placed


def _chain(leaf: str, above: Mapping[str, str]) -> tuple[str, ...]:
    chain = [leaf]
    while chain[0] in above and above[chain[0]] not in chain:
        chain.insert(0, above[chain[0]])
    return tuple(chain)


def unplaced(nodes: Sequence[LaunchNode]) -> list[LaunchNode]:
    """Nodes of which nobody said where in the network they are."""
    return [node for node in nodes if not node.layers]
