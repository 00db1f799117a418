"""Where a variable would be read: the platform, the role and the versions that rules have conditions on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpu_fabric.nccl.hardware.models import Cloud, Fabric
from gpu_fabric.nccl.versions import Version, in_range


class Role(StrEnum):
    """What the processes of the node talk to over the network."""

    INSIDE_CLOUD = "inside-cloud"
    """Other nodes of the same cluster, over its fabric alone."""
    STAGE_BOUNDARY = "stage-boundary"
    """Also the other cloud's nodes: one communicator goes over sockets and the private link."""
    SINGLE_NODE = "single-node"
    """Nothing: the job fits in one node."""


class PluginTopology(StrEnum):
    """What the EFA plugin does about NCCL_TOPO_FILE when it is unset."""

    NONE = "none"
    STATIC = "static"
    """It sets a file that it installs."""
    GENERATED = "generated"
    """It writes one at run time and groups the NICs, unless NCCL_TOPO_FILE exists."""


@dataclass(frozen=True)
class Situation:
    """Everything that a rule's `when` may ask for. None means unknown: no condition on it holds."""

    cloud: Cloud | None = None
    fabric: Fabric | None = None
    size: str | None = None
    role: Role = Role.INSIDE_CLOUD
    nccl: Version | None = None
    plugin: Version | None = None
    image: str | None = None
    """Key of an image row of `platforms.toml`; `other` for an image that no row describes."""
    framework: str | None = None
    plugin_topology: PluginTopology | None = None
    gpudirect: bool | None = None
    topology_file: str | None = None
    """The path that NCCL_TOPO_FILE gets; None where we leave it unset."""
    link_mbps: float | None = None
    """Bandwidth of the link to the other cloud, 10^6 bit/s, where the role has one."""
    nvlink_sharp: bool | None = None
    """Whether the GPUs are of a generation that has NVLS (Hopper and later, NCCL's sm 90)."""
    format: str | None = None
    """Lint: the kind of file that the variable stands in."""


def matches(when: Mapping[str, Any] | Sequence[Mapping[str, Any]], situation: Situation) -> bool:
    """Whether every condition of `when` holds; a list of tables needs one of them to hold.

    A value is a list of accepted ones; `nccl` and `plugin` are version bounds (`>=2.23,<2.30`); a boolean asks
    whether the field is present and true (`topology_file = true`: some file is named).
    """
    if not isinstance(when, Mapping):
        return any(matches(table, situation) for table in when)
    return all(_holds(wanted, getattr(situation, key)) for key, wanted in when.items())


def _holds(wanted: object, actual: object) -> bool:
    if isinstance(wanted, bool):
        return bool(actual) is wanted
    if actual is None:
        return False
    if isinstance(actual, Version):
        return in_range(actual, str(wanted))
    return isinstance(wanted, list) and actual in wanted
