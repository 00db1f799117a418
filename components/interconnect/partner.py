"""The small interface behind which every partner stands.

A partner is a function: it is given the circuit's service key and the link's addresses, declares what joins the two
clouds, and says what came of it as `Joined`. What must wait for the clouds' own ends is done in `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pulumi

from gpu_fabric.components.interconnect.addresses import LinkPlan
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.settings import InterconnectSettings


@dataclass(frozen=True)
class Order:
    """What a partner is asked for."""

    name: str
    parent: pulumi.Resource
    settings: InterconnectSettings
    exchange: Exchange
    links: LinkPlan
    aws_region: str
    service_key: pulumi.Input[str]
    """Of the circuit; a secret."""
    bgp_key: pulumi.Input[str] | None
    """The user's; a secret."""


@dataclass(frozen=True)
class AwsPort:
    """One connection of the partner to AWS."""

    connection_id: pulumi.Input[str]
    """Direct Connect's id, dxcon-…"""
    vlan: pulumi.Input[int]
    accept: bool = True
    """Whether it waits to be confirmed, as a hosted connection does."""


def _nothing(_: Sequence[pulumi.Input[str]]) -> None:
    return None


@dataclass(frozen=True)
class Joined:
    """What the partner declared."""

    aws: Sequence[AwsPort]
    asns: Sequence[pulumi.Input[int]]
    """Of the partner's routers: one a connection to AWS."""
    circuit_ready: Sequence[pulumi.Resource] = ()
    """What provisions the circuit: a peering waits for it."""
    finish: Callable[[Sequence[pulumi.Input[str]]], None] = field(default=_nothing)
    """Called with the BGP key of each virtual interface, once the clouds' ends are declared."""
