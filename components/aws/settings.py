"""What a user says about an AWS GPU cluster: the shape, its defaults and their limits. The rules are in `checks`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from gpu_fabric.components.node_files import TopologyUse
from gpu_fabric.components.settings import Identifier, Number, Settings, Switch, Text, WholeNumber
from gpu_fabric.nccl.hardware import InterfaceLayout


class NodesAs(StrEnum):
    """What declares the nodes."""

    FLEET = "fleet"
    """One Auto Scaling group of fixed size: a constant number of resources at any node count."""
    INSTANCES = "instances"
    """One instance resource a node: every address is known to the program."""


class Updates(StrEnum):
    """What a new image, user data, volume or interface layout does to nodes that already run."""

    KEEP = "keep"
    """Nothing: it reaches nodes that start later."""
    REPLACE = "replace"
    """Running nodes are terminated and replaced, a training job on them ends."""


class Internet(StrEnum):
    """How private nodes reach the outside."""

    NAT = "nat"
    """A NAT gateway in a small public subnet."""
    ENDPOINTS = "endpoints"
    """No internet at all: VPC endpoints for Systems Manager, EC2 and S3."""


class PlacementKind(StrEnum):
    CREATE = "create"
    ADOPT = "adopt"
    NONE = "none"


class OnDemand(Settings):
    kind: Literal["onDemand"] = "onDemand"


class Spot(Settings):
    kind: Literal["spot"]
    max_price: Annotated[Number, Field(gt=0)] | None = None
    """USD an hour and node; None: the on-demand price."""


class Reservation(Settings):
    kind: Literal["reservation"]
    reservation_id: Identifier = Field(
        description="the id of an on-demand capacity reservation, cr-…", examples=["cr-0"]
    )


class CapacityBlock(Settings):
    kind: Literal["capacityBlock"]
    reservation_id: Identifier = Field(
        description="the id of the capacity block's reservation, cr-…", examples=["cr-0"]
    )


Capacity = Annotated[OnDemand | Spot | Reservation | CapacityBlock, Field(discriminator="kind")]


class Placement(Settings):
    group: PlacementKind | None = None
    """None: `create`, or `none` where reserved capacity brings its own placement."""
    name: Identifier | None = None
    """The existing group to adopt."""


class Network(Settings):
    """Create a network (`cidr`, `subnetCidr`, `publicSubnetCidr`, `internet`) or adopt one (`vpcId`, `subnetId`)."""

    cidr: Text | None = None
    subnet_cidr: Text | None = None
    public_subnet_cidr: Text | None = None
    internet: Internet | None = None
    vpc_id: Identifier | None = None
    subnet_id: Identifier | None = None
    security_group_ids: tuple[Identifier, ...] = ()
    """Existing security groups, used instead of a new one; one of them must allow all traffic to and from itself."""
    verify: Switch = False
    """Look the adopted subnet up and refuse one in another zone. Needs a login at preview."""

    @property
    def adopted(self) -> bool:
        return self.subnet_id is not None or self.vpc_id is not None


class Image(Settings):
    ami_id: Identifier | None = None
    ssm_parameter: Text | None = None
    """A public or own SSM parameter that holds an AMI id; `:version` at its end pins it."""
    root_device: Text = "/dev/sda1"
    """The image's root device: /dev/sda1 on Ubuntu, /dev/xvda on Amazon Linux."""


class RootVolume(Settings):
    """The gp3 root volume of every node, encrypted."""

    size_gib: Annotated[WholeNumber, Field(ge=1)] = 1000
    iops: Annotated[WholeNumber, Field(ge=1)] = 16_000
    throughput_mibps: Annotated[WholeNumber, Field(ge=1)] = 1_000
    kms_key_id: Identifier | None = None
    """A key of yours; None: the account's default key for EBS."""


class Access(Settings):
    instance_profile_name: Identifier | None = None
    """An existing instance profile, used instead of a new role."""
    extra_policy_arns: tuple[Identifier, ...] = ()
    key_name: Identifier | None = None
    """An EC2 key pair; not needed, Session Manager opens a shell without one."""


class Nccl(Settings):
    environment: dict[str, Text] = Field(default_factory=dict)
    """Variables of yours; they win over ours."""
    topology: TopologyUse = TopologyUse.DEFAULT


class Bootstrap(Settings):
    after: tuple[Text, ...] = ()
    """Shell commands of yours that run on the node after ours; one that fails fails the boot."""


class AwsClusterSettings(Settings):
    zone: Text = Field(
        description="the availability zone of all nodes, such as us-east-1a", examples=["us-east-1a"]
    )
    instance_type: Text = Field(
        description="an instance type with EFA, such as p5.48xlarge", examples=["p5.48xlarge"]
    )
    nodes: Annotated[WholeNumber, Field(ge=1, description="the number of nodes, at least 1", examples=[1])]
    nodes_as: NodesAs = NodesAs.FLEET
    updates: Updates = Updates.KEEP
    capacity: Capacity = OnDemand()
    placement: Placement = Placement()
    network: Network = Network()
    interfaces: InterfaceLayout = InterfaceLayout.ONE_ADDRESS
    image: Image = Image()
    root_volume: RootVolume = RootVolume()
    access: Access = Access()
    nccl: Nccl = Nccl()
    bootstrap: Bootstrap = Bootstrap()
    tags: dict[str, Text] = Field(default_factory=dict)

    @property
    def placement_kind(self) -> PlacementKind:
        """What the user chose, or what suits the capacity."""
        if self.placement.group is not None:
            return self.placement.group
        if self.placement.name is not None:
            return PlacementKind.ADOPT
        brings_its_own = isinstance(self.capacity, CapacityBlock | Reservation)
        return PlacementKind.NONE if brings_its_own else PlacementKind.CREATE
