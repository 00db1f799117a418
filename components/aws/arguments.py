"""The arguments of `AwsGpuCluster`, as Python and other languages write them.

The same shape as `fabric.aws` in a stack file, with keys in snake_case. What shapes the plan is plain; what only
names something that exists may be an output of another resource.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from gpu_fabric.components.arguments import BootstrapArgs, NcclArgs, OtherCloudArgs


class AwsCapacityArgs(TypedDict):
    kind: str
    """`onDemand` (default), `spot`, `reservation` or `capacityBlock`."""
    max_price: NotRequired[float]
    """Spot only: USD an hour and node."""
    reservation_id: NotRequired[pulumi.Input[str]]
    """`reservation` and `capacityBlock`: cr-…"""


class AwsPlacementArgs(TypedDict, total=False):
    group: str
    """`create`, `adopt` or `none`."""
    name: pulumi.Input[str]
    """The cluster placement group to adopt."""


class AwsNetworkArgs(TypedDict, total=False):
    cidr: str
    """Block of the new VPC; 10.100.0.0/16."""
    subnet_cidr: str
    """Block of the nodes' subnet; for an adopted subnet: its block, so that the nodes can be counted against it."""
    public_subnet_cidr: str
    """Block of the NAT gateway's subnet."""
    internet: str
    """`nat` (default) or `endpoints` for no internet at all."""
    vpc_id: pulumi.Input[str]
    """Adopt this VPC."""
    subnet_id: pulumi.Input[str]
    """Adopt this subnet."""
    security_group_ids: Sequence[pulumi.Input[str]]
    """Adopt these security groups; one of them allows all traffic to and from itself."""
    verify: bool
    """Look the adopted subnet up and refuse one in another zone."""


class AwsImageArgs(TypedDict, total=False):
    ami_id: pulumi.Input[str]
    """An AMI, ami-…"""
    ssm_parameter: str
    """Name of an SSM parameter that holds an AMI id; `:version` at its end pins it."""
    root_device: str
    """/dev/sda1 (default) or what the image has."""


class AwsRootVolumeArgs(TypedDict, total=False):
    size_gib: int
    """1000."""
    iops: int
    """16000."""
    throughput_mibps: int
    """1000."""
    kms_key_id: pulumi.Input[str]
    """A KMS key of yours; AWS's own by default."""


class AwsAccessArgs(TypedDict, total=False):
    instance_profile_name: pulumi.Input[str]
    """Adopt this instance profile."""
    extra_policy_arns: Sequence[pulumi.Input[str]]
    """Policies that the nodes' role gets beside ours."""
    key_name: pulumi.Input[str]
    """An EC2 key pair for SSH; none by default."""


class AwsGpuClusterArgs(TypedDict):
    zone: str
    """The availability zone of all nodes."""
    instance_type: str
    """A size with EFA, such as p5.48xlarge."""
    nodes: int
    """How many nodes, at least 1."""
    nodes_as: NotRequired[str]
    """`fleet` (default) or `instances`."""
    updates: NotRequired[str]
    """What a new image, user data or layout does to running nodes: `keep` (default) or `replace`."""
    capacity: NotRequired[AwsCapacityArgs]
    """How the capacity is bought: on demand, spot, a reservation or a capacity block."""
    placement: NotRequired[AwsPlacementArgs]
    """The cluster placement group: created, adopted, or none."""
    network: NotRequired[AwsNetworkArgs]
    """A new VPC, or an adopted one."""
    interfaces: NotRequired[str]
    """`oneAddress` (default), `maximumIpBandwidth` or `allEfa`."""
    image: NotRequired[AwsImageArgs]
    """The nodes' image; by default AWS's base Deep Learning AMI."""
    root_volume: NotRequired[AwsRootVolumeArgs]
    """The nodes' first disk."""
    access: NotRequired[AwsAccessArgs]
    """Who gets onto the nodes, and what the nodes may do."""
    nccl: NotRequired[NcclArgs]
    """What NCCL is told on the nodes."""
    bootstrap: NotRequired[BootstrapArgs]
    """What a node's start does beside ours."""
    other_cloud: NotRequired[OtherCloudArgs]
    """The private link to nodes on the other cloud, which another component or program makes."""
    tags: NotRequired[Mapping[str, str]]
    """On everything that carries tags."""
