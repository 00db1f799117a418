"""What a node gets at its first boot, from the settings of any cloud: rendered once, measured, and explained."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from gpu_fabric.components.problems import Problem
from gpu_fabric.nccl.bootstrap import Setup, cloud_config, eks_user_data, fits, user_data
from gpu_fabric.nccl.environment import Environment, EnvironmentInputError, Origin, Role, environment
from gpu_fabric.nccl.hardware import NodeSize


class TopologyUse(StrEnum):
    """What becomes of our topology XML on the node."""

    DEFAULT = "default"
    """What the catalog says for the size: active where the platform needs one, else only installed."""
    ACTIVE = "active"
    INSTALLED = "installed"


_TOPOLOGY_FILE: Mapping[TopologyUse, bool | None] = {
    TopologyUse.DEFAULT: None,
    TopologyUse.ACTIVE: True,
    TopologyUse.INSTALLED: False,
}


HIDDEN = "(yours, not shown)"


@dataclass(frozen=True)
class NodeFiles:
    text: str
    """The cloud-config as a person reads it, or the MIME archive that EKS merges with its own."""
    environment: Environment
    """The NCCL settings in force, each variable with its reason."""
    notes: tuple[str, ...]
    """What lint says about the user's own variables, worth knowing before a node starts."""
    plain: bool = False
    """Whether the cloud takes the text as it is, as EKS does."""

    def notes_for(self, *, secret: bool) -> tuple[str, ...]:
        """`notes`; where the user's variables may be secret, only how many there are."""
        if not secret or not self.notes:
            return self.notes
        return (
            f"nccl.environment: lint has {len(self.notes)} remarks on your variables, which are not shown because the "
            "stack file holds secrets; `gpu-fabric lint` shows them for a file of yours.",
        )

    def environment_for(self, *, secret: bool) -> Environment:
        """`environment`, with the user's values left out where they may be secret."""
        if not secret:
            return self.environment
        variables = tuple(
            replace(variable, value=HIDDEN) if variable.origin is Origin.OVERRIDE else variable
            for variable in self.environment.variables
        )
        return replace(self.environment, variables=variables, findings=())

    @property
    def data(self) -> bytes:
        """`text` as the cloud takes it: gzip, which cloud-init unpacks on both clouds. The limits count these bytes."""
        return self.text.encode() if self.plain else user_data(self.text)

    def fits(self, limit: int) -> bool:
        """Whether `data` is at most so many bytes."""
        return len(self.data) <= limit if self.plain else fits(self.text, limit)

    @property
    def encoded(self) -> str:
        """base64, as both clouds' requests carry it."""
        return base64.b64encode(self.data).decode()


def node_files(
    size: NodeSize,
    *,
    overrides: Mapping[str, str],
    topology: TopologyUse,
    setup: Setup,
    image: str | None = None,
    eks: bool = False,
) -> NodeFiles:
    """The files of a node of this size with this image (None: the cloud's GPU image), or of one that EKS starts.

    With `setup.routes` the node also reaches the other cloud's nodes, and its variables allow for a communicator that
    does.

    Raises EnvironmentInputError where the user's variables are malformed.
    """
    role = Role.INSIDE_CLOUD if setup.routes is None else Role.STAGE_BOUNDARY
    variables = environment(
        size,
        image=image,
        role=role,
        overrides=overrides,
        topology_file=_TOPOLOGY_FILE[topology],
        link_mbps=None if setup.routes is None else setup.routes.bandwidth_mbps,
    )
    notes = tuple(
        f"nccl.environment: {finding.what} {finding.remedy} ({finding.code}; {finding.source})"
        for finding in variables.findings
    )
    if eks:
        archive = eks_user_data(size, environment=variables, setup=setup)
        return NodeFiles(archive, variables, notes, plain=True)
    text = cloud_config(size, environment=variables, setup=setup)
    return NodeFiles(text, variables, notes)


def problems_of_node_files(
    size: NodeSize,
    *,
    overrides: Mapping[str, str],
    topology: TopologyUse,
    setup: Setup,
    limit: int,
    cloud: str,
    image: str | None = None,
    eks: bool = False,
) -> list[Problem]:
    """What is wrong with what the user adds to a node: malformed variables, no layout to activate, too many bytes."""
    if topology is TopologyUse.ACTIVE and size.pci is None:
        return [
            Problem(
                ("nccl", "topology"),
                f"no PCI layout of {size.name} is published, so there is no topology file to activate",
                "set `topology: default`, or describe the size with its layout under `fabric.sizes`",
            )
        ]
    try:
        files = node_files(size, overrides=overrides, topology=topology, setup=setup, image=image, eks=eks)
    except EnvironmentInputError as refused:
        return [_problem(problem) for problem in refused.problems]
    if files.fits(limit):
        return []
    count = len(files.data)
    return [
        Problem(
            _largest(overrides, setup),
            f"the node's start-up data is {count:,} bytes{'' if eks else ' after gzip'}, and {cloud} takes {limit:,}",
            "move commands into a script that the node downloads, or into the image",
        )
    ]


def _largest(overrides: Mapping[str, str], setup: Setup) -> tuple[str, str]:
    """The key under which the user adds most to a node."""
    added = {
        ("bootstrap", "after"): setup.commands_after,
        ("bootstrap", "before"): setup.commands_before,
        ("nccl", "environment"): tuple(overrides.values()),
    }
    return max(added, key=lambda path: sum(map(len, added[path])))


def _problem(text: str) -> Problem:
    where, _, rest = text.partition(": ")
    what, _, remedy = rest.partition("; ")
    path = ("nccl", "environment", *where.split(".")[1:]) if where.startswith("overrides") else ("nccl",)
    return Problem(path, what, remedy or "mend it")
