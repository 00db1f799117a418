"""What a user says alike about a cluster on any cloud: the choices, the shapes and their defaults."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from gpu_fabric.components.node_files import TopologyUse
from gpu_fabric.components.settings import Settings, Text
from gpu_fabric.components.surroundings import Surroundings


class NodesAs(StrEnum):
    """What declares the nodes."""

    FLEET = "fleet"
    """One resource (an Auto Scaling group, a scale set): a constant number of resources at any node count."""
    INSTANCES = "instances"
    """One instance resource a node: every address is known to the program."""


class Updates(StrEnum):
    """What a new image, start-up data, volume or interface layout does to nodes that already run."""

    KEEP = "keep"
    """Nothing: it reaches nodes that start later."""
    REPLACE = "replace"
    """Running nodes are terminated and replaced, a training job on them ends."""


class PlacementKind(StrEnum):
    CREATE = "create"
    ADOPT = "adopt"
    NONE = "none"


class Nccl(Settings):
    environment: dict[str, Text] = Field(default_factory=dict)
    """Variables of yours; they win over ours, and lint says what they cost."""
    topology: TopologyUse = TopologyUse.DEFAULT
    """Our topology XML: as the catalog says for the size, active, or only installed."""
    """Our topology XML: active where the platform wants one, always active, or only installed."""


class Bootstrap(Settings):
    after: tuple[Text, ...] = ()
    """Shell commands of yours that run on the node after ours; one that fails fails the boot."""


def additions(nccl: Nccl, bootstrap: Bootstrap, around: Surroundings) -> dict[str, Any]:
    """What a user and the link to the other cloud add to a node of any cloud, as `node_files` takes it."""
    return {
        "overrides": nccl.environment,
        "topology": nccl.topology,
        "commands_after": bootstrap.after,
        "routes": around.other_cloud.routes if around.other_cloud is not None else None,
    }
