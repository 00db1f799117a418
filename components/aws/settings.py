"""What a user says about an AWS GPU cluster: the shape, its defaults and their limits. The rules are in `checks`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from gpu_fabric.components.choices import Bootstrap, Nccl, NodesAs, PlacementKind, Updates
from gpu_fabric.components.other_cloud import OtherCloudLink
from gpu_fabric.components.settings import Identifier, Number, Settings, Switch, Text, WholeNumber
from gpu_fabric.nccl.hardware import InterfaceLayout


class Internet(StrEnum):
    """How private nodes reach the outside."""

    NAT = "nat"
    """A NAT gateway in a small public subnet."""
    ENDPOINTS = "endpoints"
    """No internet at all: VPC endpoints for Systems Manager, EC2 and S3."""


class OnDemand(Settings):
    kind: Literal["onDemand"] = "onDemand"


class Spot(Settings):
    kind: Literal["spot"]
    max_price: Annotated[Number, Field(gt=0)] | None = None
    """USD an hour and node. Without it: the on-demand price."""


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
    """A cluster placement group. Without it: `create`, or `none` where reserved capacity brings its own placement."""
    name: Identifier | None = None
    """The existing group to adopt."""


class Network(Settings):
    """Create a network (`cidr`, `subnetCidr`, `publicSubnetCidr`, `internet`) or adopt one (`vpcId`, `subnetId`)."""

    cidr: Text | None = None
    """Block of a new VPC. Without it: 10.100.0.0/16."""
    subnet_cidr: Text | None = None
    """Block of the nodes' subnet. Without it: the second /20 of the VPC, or its upper half where that is too small."""
    public_subnet_cidr: Text | None = None
    """Block of the NAT gateway's subnet. Without it: the first free /28 of the VPC."""
    internet: Internet | None = None
    """`nat` without it; `endpoints` is a network with VPC endpoints and no internet at all."""
    vpc_id: Identifier | None = None
    """An existing VPC, adopted together with `subnetId`; nothing of the network is created."""
    subnet_id: Identifier | None = None
    """An existing subnet in the zone of the nodes."""
    security_group_ids: tuple[Identifier, ...] = ()
    """Existing security groups, used instead of a new one; one of them must allow all traffic to and from itself."""
    verify: Switch = False
    """Look the adopted subnet up and refuse one in another zone. Needs a login at preview."""

    @property
    def adopted(self) -> bool:
        return self.subnet_id is not None or self.vpc_id is not None


class Image(Settings):
    ami_id: Identifier | None = None
    """An AMI, pinned. Without it and `ssmParameter`: AWS's Deep Learning Base image, which floats."""
    ssm_parameter: Text | None = None
    """A public or own SSM parameter that holds an AMI id; `:version` at its end pins it."""
    root_device: Text = "/dev/sda1"
    """The image's root device: /dev/sda1 on Ubuntu, /dev/xvda on Amazon Linux."""


class RootVolume(Settings):
    """The gp3 root volume of every node, encrypted."""

    size_gib: Annotated[WholeNumber, Field(ge=1)] = 1000
    """GiB of the gp3 root volume, 1 to 65536; always encrypted."""
    iops: Annotated[WholeNumber, Field(ge=1)] = 16_000
    """3000 to 80000, at most 500 a GiB."""
    throughput_mibps: Annotated[WholeNumber, Field(ge=1)] = 1_000
    """MiB/s, 125 to 2000, at most 0.25 an IOPS."""
    kms_key_id: Identifier | None = None
    """A KMS key of yours. Without it: the account's default key for EBS."""


class Access(Settings):
    instance_profile_name: Identifier | None = None
    """An existing instance profile, used instead of a new role."""
    extra_policy_arns: tuple[Identifier, ...] = ()
    """Policies for the nodes' role beside ours."""
    key_name: Identifier | None = None
    """An EC2 key pair; not needed, Session Manager opens a shell without one."""


class AwsClusterSettings(Settings):
    zone: Text = Field(
        description="the availability zone of all nodes, such as us-east-1a", examples=["us-east-1a"]
    )
    instance_type: Text = Field(
        description="an instance type with EFA, such as p5.48xlarge", examples=["p5.48xlarge"]
    )
    nodes: Annotated[WholeNumber, Field(ge=1, description="the number of nodes, at least 1", examples=[1])]
    nodes_as: NodesAs = NodesAs.FLEET
    """One Auto Scaling group of fixed size, or one instance resource a node with addresses known to the program."""
    updates: Updates = Updates.KEEP
    """What a new image, user data, volume or interface layout does to running nodes: nothing, or replace them."""
    capacity: Capacity = OnDemand()
    placement: Placement = Placement()
    network: Network = Network()
    interfaces: InterfaceLayout = InterfaceLayout.ONE_ADDRESS
    """One address a node; more addresses for IP bandwidth; the older layout with an address on every EFA interface."""
    image: Image = Image()
    root_volume: RootVolume = RootVolume()
    access: Access = Access()
    nccl: Nccl = Nccl()
    bootstrap: Bootstrap = Bootstrap()
    other_cloud: OtherCloudLink | None = None
    """The link to the other cloud's nodes, where `fabric.interconnect` does not make it."""
    tags: dict[str, Text] = Field(default_factory=dict)
    """On everything that carries tags."""

    @property
    def placement_kind(self) -> PlacementKind:
        """What the user chose, or what suits the capacity."""
        if self.placement.group is not None:
            return self.placement.group
        if self.placement.name is not None:
            return PlacementKind.ADOPT
        brings_its_own = isinstance(self.capacity, CapacityBlock | Reservation)
        return PlacementKind.NONE if brings_its_own else PlacementKind.CREATE
