"""Where the ranks of each parallel group sit: tensor innermost, then context, then data; pipeline outermost."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_fabric.planning.collectives import Group, Platform
from gpu_fabric.planning.layout import Layout


def group_on(platform: Platform, size: int, stride: int) -> Group:
    """The group of `size` ranks whose neighbours are `stride` ranks apart, with ranks filling node after node."""
    on_node = max(1, min(size, platform.gpus // stride)) if stride < platform.gpus else 1
    while size % on_node:
        on_node -= 1
    return Group(platform, size // on_node, on_node)


@dataclass(frozen=True)
class Groups:
    """The communicators of one pipeline stage."""

    tensor: Group
    context: Group
    shard: Group
    """What ZeRO shards over: data and context ranks, or a part of them."""
    replica: Group
    """The shards' copies (hybrid sharding); one rank when there are none."""
    expert: Group


def groups_of(layout: Layout, platform: Platform) -> Groups:
    """The groups of `layout` on nodes of `platform`."""
    shard = layout.shard_gpus
    return Groups(
        tensor=group_on(platform, layout.tensor, 1),
        context=group_on(platform, layout.context, layout.tensor),
        shard=group_on(platform, shard, layout.tensor),
        replica=group_on(platform, layout.data * layout.context // shard, layout.tensor * shard),
        expert=group_on(platform, layout.expert, 1),
    )
