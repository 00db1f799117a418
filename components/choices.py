"""What a user says alike about a cluster on any cloud: the choices, the shapes and their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from gpu_fabric.components.node_files import TopologyUse
from gpu_fabric.components.problems import Problem
from gpu_fabric.components.settings import Settings, Switch, Text
from gpu_fabric.components.surroundings import OtherCloud
from gpu_fabric.nccl.bootstrap import Setup
from gpu_fabric.nccl.bootstrap.checks import command_problem, mount_point_problem
from gpu_fabric.nccl.hardware import NodeSize
from gpu_fabric.nccl.paths import STATE_TAG
from gpu_fabric.nccl.preflight.versions import version_problem


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
    """Our topology XML: active where the platform wants one, always active, or only installed."""


NO_SCRATCH = "none"


def _mount_point(value: str) -> str:
    """`none`, or a folder of its own that a file system can be mounted on."""
    if value == NO_SCRATCH:
        return value
    if (problem := mount_point_problem(value)) is not None:
        raise ValueError(f"{problem}, or `none` to leave the disks alone")
    return str(PurePosixPath(value))


def _command(value: str) -> str:
    if (problem := command_problem(value)) is not None:
        raise ValueError(problem)
    return value


Command = Annotated[Text, AfterValidator(_command)]


def _version(value: str) -> str:
    if (problem := version_problem(value)) is not None:
        raise ValueError(problem)
    return value


Version = Annotated[Text, AfterValidator(_version)]


class Versions(Settings):
    """What `gpu-fabric-preflight node` holds a node to, each a version or its beginning: '580' takes 580.95.05."""

    driver: Version | None = None
    """NVIDIA's driver."""
    cuda: Version | None = None
    """CUDA, as nvidia-smi or the image's list says."""
    efa: Version | None = None
    """The EFA installer; on AWS alone, as libfabric and plugin."""
    libfabric: Version | None = None
    """libfabric of the EFA installer."""
    plugin: Version | None = None
    """aws-ofi-nccl."""
    nccl: Version | None = None
    """The NCCL library that the loader takes."""
    kernel: Version | None = None
    """`uname -r`."""


class Bootstrap(Settings):
    before: tuple[Command, ...] = ()
    """Bash of yours that runs on the node before ours, once a node, each a step; one that fails fails the boot."""
    after: tuple[Command, ...] = ()
    """Bash of yours that runs on the node after ours, once a node, each a step; one that fails fails the boot."""
    scratch: Annotated[Text, AfterValidator(_mount_point)] | None = None
    """Where local NVMe disks are mounted, as one RAID 0. Without it: /scratch. `none` leaves the disks alone."""
    containers: Switch = False
    """Give container runtimes our files and unlimited locked memory (Docker, Enroot, and as a CDI device)."""
    versions: Versions = Versions()
    """Versions that a node must have; they travel with its files, and `gpu-fabric-preflight node` reads them there."""
    state_tag: Switch = False
    """Let every node write ready, or failed and at which step, to the tag gpu-fabric:state of its own instance."""


def additions(nccl: Nccl, bootstrap: Bootstrap, other_cloud: OtherCloud | None) -> dict[str, Any]:
    """What a user and the link to the other cloud add to a node of any cloud, as `node_files` takes it."""
    return {
        "overrides": nccl.environment,
        "topology": nccl.topology,
        "setup": Setup(
            commands_before=bootstrap.before,
            commands_after=bootstrap.after,
            scratch=None if bootstrap.scratch == NO_SCRATCH else bootstrap.scratch or Setup.scratch,
            containers=bootstrap.containers,
            routes=None if other_cloud is None else other_cloud.routes,
            versions=bootstrap.versions.model_dump(exclude_none=True),
            tag=bootstrap.state_tag,
        ),
    }


def written_by_node(bootstrap: Bootstrap) -> list[str]:
    """Paths in an instance's inputs that a node itself writes, which is no drift."""
    return [f'tags["{STATE_TAG}"]'] if bootstrap.state_tag else []


def scratch_problems(bootstrap: Bootstrap, size: NodeSize | None) -> Iterator[Problem]:
    """A mount point for disks that the size does not have."""
    asked = bootstrap.scratch not in (None, NO_SCRATCH)
    if asked and size is not None and not size.local_nvme_gb:
        yield Problem(
            ("bootstrap", "scratch"),
            f"the catalog has no local NVMe disks for {size.name}",
            "drop the key, or describe the size with its disks under `fabric.sizes`",
        )
