"""The arguments of `CrossCloudInterconnect`, as Python writes them: `fabric.interconnect` of a stack file with keys in
snake_case, and the two networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi


class AwsNetworkArgs(TypedDict):
    """The network on AWS. The blocks are plain: the plan is checked before anything is deployed."""

    region: str
    vpc_id: pulumi.Input[str]
    vpc_cidr: str
    subnet_id: pulumi.Input[str]
    subnet_cidr: str
    """Block of the nodes' subnet."""
    security_group_id: NotRequired[pulumi.Input[str]]
    """A group that is to let the other side's nodes in; without it that is left to you."""


class AzureNetworkArgs(TypedDict):
    """The virtual network on Azure; its own rules must let the other side's nodes in."""

    location: str
    virtual_network_id: pulumi.Input[str]
    network_cidr: str
    subnet_cidr: str
    """Block of the nodes' subnet."""


class CrossCloudInterconnectArgs(TypedDict):
    partner: str
    """`equinix`, `megaport`, `manual` or `native`."""
    bandwidth_mbps: int
    aws: AwsNetworkArgs
    azure: AzureNetworkArgs
    aws_route_table_ids: Sequence[pulumi.Input[str]]
    """The route tables that learn the way to Azure."""
    addresses: Mapping[str, str]
    """`gateway_subnet_cidr`, a free /27 of the virtual network; `cidr`, the block of the on-link /30s."""
    redundancy: NotRequired[str]
    exchange: NotRequired[str]
    mtu: NotRequired[int]
    rtt_ms: NotRequired[float]
    rtt_limit_ms: NotRequired[float]
    aws_account: NotRequired[str]
    aws_gateway: NotRequired[str]
    aws_transit_gateway_id: NotRequired[pulumi.Input[str]]
    """Adopt this transit gateway."""
    asns: NotRequired[Mapping[str, int]]
    azure_vlan: NotRequired[int]
    circuit: NotRequired[Mapping[str, str]]
    gateway: NotRequired[Mapping[str, Any]]
    bgp_key: NotRequired[pulumi.Output[str]]
    """A secret output."""
    bgp_key_from: NotRequired[str]
    bfd: NotRequired[bool]
    route_isolation: NotRequired[bool]
    provisioned: NotRequired[bool]
    equinix: NotRequired[Mapping[str, Any]]
    megaport: NotRequired[Mapping[str, Any]]
    manual: NotRequired[Mapping[str, Any]]
    tags: NotRequired[Mapping[str, str]]
