"""What the rules for a cluster need to know beside its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_fabric.nccl.bootstrap import CrossCloudRoutes
from gpu_fabric.nccl.hardware import NodeSize, load_sizes

NO_REGION = ""
"""The region of a stack that names none."""


@dataclass(frozen=True)
class OtherCloud:
    """What a cluster must know of the private link to the other cloud."""

    routes: CrossCloudRoutes
    """The way to the other side's nodes."""
    isolated: bool = False
    """Whether stage traffic may take no other private way."""


@dataclass(frozen=True)
class Surroundings:
    region: str | None = None
    """The provider's region (AWS) or location (Azure), where it is known before deployment."""
    sizes: Mapping[str, NodeSize] = field(default_factory=load_sizes)
    """The catalog, with the sizes that the user added."""
    other_cloud: OtherCloud | None = None
    secret: bool = False
    """Whether the stack file holds encrypted values among these settings: then what a node is given is a secret in
    the state, and no message or report shows a variable of the user's."""
