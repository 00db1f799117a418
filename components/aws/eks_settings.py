"""What a user says about the launch template of an EKS managed node group, and the rules for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, TypedDict

import pulumi
from pydantic import Field

from gpu_fabric.components.arguments import NcclArgs
from gpu_fabric.components.aws.arguments import AwsCapacityArgs, AwsPlacementArgs, AwsRootVolumeArgs
from gpu_fabric.components.aws.checks import NODE_RULES, find_size, id_problems
from gpu_fabric.components.aws.settings import (
    AwsClusterSettings,
    Capacity,
    OnDemand,
    Placement,
    RootVolume,
    Spot,
)
from gpu_fabric.components.choices import Command, Nccl
from gpu_fabric.components.node_files import problems_of_node_files
from gpu_fabric.components.problems import Problem
from gpu_fabric.components.settings import Identifier, Settings, Text
from gpu_fabric.components.surroundings import Surroundings
from gpu_fabric.nccl.bootstrap import EKS_USER_DATA_LIMIT, Setup
from gpu_fabric.nccl.hardware import InterfaceLayout

#: Of Amazon Linux 2023 (EC2 User Guide, device_naming.html).
_ROOT_DEVICE = "/dev/xvda"


class EksBootstrapArgs(TypedDict, total=False):
    before: list[str]
    """Bash that runs on the node before ours, once a node."""
    after: list[str]
    """Bash that runs on the node after ours and before it joins the cluster, once a node."""


class AwsEksNodeTemplateArgs(TypedDict):
    """The arguments of `AwsEksNodeTemplate`: those of `AwsGpuCluster` that a template answers for."""

    instance_type: str
    """A size with EFA, such as p5.48xlarge."""
    vpc_id: pulumi.Input[str]
    """The VPC of the cluster."""
    cluster_security_group_id: pulumi.Input[str]
    """The group that EKS made with the cluster: its nodes and its control plane reach each other by it."""
    capacity: NotRequired[AwsCapacityArgs]
    """How the capacity is bought: on demand, spot, a reservation or a capacity block."""
    placement: NotRequired[AwsPlacementArgs]
    """The cluster placement group: created, adopted, or none."""
    interfaces: NotRequired[str]
    """`oneAddress` (default), `maximumIpBandwidth` or `allEfa`."""
    root_volume: NotRequired[AwsRootVolumeArgs]
    """The nodes' first disk."""
    key_name: NotRequired[pulumi.Input[str]]
    """An EC2 key pair for SSH; none by default."""
    nccl: NotRequired[NcclArgs]
    """What NCCL is told on the nodes."""
    bootstrap: NotRequired[EksBootstrapArgs]
    """What a node's start does beside ours."""
    tags: NotRequired[Mapping[str, str]]
    """On everything that carries tags."""


class EksBootstrap(Settings):
    before: tuple[Command, ...] = ()
    after: tuple[Command, ...] = ()


class AwsEksNodeTemplateSettings(Settings):
    instance_type: Text = Field(
        description="an instance type with EFA, such as p5.48xlarge", examples=["p5.48xlarge"]
    )
    vpc_id: Identifier = Field(description="the id of the cluster's VPC, vpc-…", examples=["vpc-0"])
    cluster_security_group_id: Identifier = Field(
        description="the id of the cluster's security group, sg-…", examples=["sg-0"]
    )
    capacity: Capacity = OnDemand()
    placement: Placement = Placement()
    interfaces: InterfaceLayout = InterfaceLayout.ONE_ADDRESS
    root_volume: RootVolume = RootVolume()
    key_name: Identifier | None = None
    nccl: Nccl = Nccl()
    bootstrap: EksBootstrap = EksBootstrap()
    tags: dict[str, Text] = Field(default_factory=dict)

    def of_a_cluster(self) -> AwsClusterSettings:
        """The same as what a cluster of ours is told, for what both have in common.

        A node group has zone and count. Spot is the node group's word: a template that asks for it is refused.
        """
        given: dict[str, Any] = {
            "zone": "",
            "nodes": 1,
            "instanceType": self.instance_type,
            "capacity": OnDemand() if isinstance(self.capacity, Spot) else self.capacity,
            "placement": self.placement,
            "interfaces": self.interfaces,
            "image": {"rootDevice": _ROOT_DEVICE},
            "rootVolume": self.root_volume,
            "access": {"keyName": self.key_name},
            "tags": self.tags,
        }
        return AwsClusterSettings.model_validate(given)

    def additions(self) -> dict[str, Any]:
        """What the user adds to a node, as `node_files` takes it."""
        return {
            "overrides": self.nccl.environment,
            "topology": self.nccl.topology,
            "setup": Setup(commands_before=self.bootstrap.before, commands_after=self.bootstrap.after),
            "image": "eks-al2023",
            "eks": True,
        }


def problems_of(settings: AwsEksNodeTemplateSettings, around: Surroundings) -> Iterator[Problem]:
    """Everything wrong with the settings, and with what would be rendered from them."""
    cluster = settings.of_a_cluster()
    for rule in NODE_RULES:
        yield from rule(cluster, around)
    yield from id_problems(("vpc_id",), settings.vpc_id, "vpc-")
    yield from id_problems(("cluster_security_group_id",), settings.cluster_security_group_id, "sg-")
    yield from id_problems(
        ("capacity", "reservation_id"), getattr(settings.capacity, "reservation_id", None), "cr-"
    )
    if isinstance(settings.capacity, Spot) and settings.capacity.max_price is not None:
        yield Problem(
            ("capacity", "max_price"),
            "a managed node group has no maximum price: EKS refuses spot options in its launch template",
            "drop the key; a node then costs at most its on-demand price",
        )
    size = find_size(cluster, around)
    if size is not None:
        yield from problems_of_node_files(
            size, **settings.additions(), limit=EKS_USER_DATA_LIMIT, cloud="EKS beside its own part"
        )
