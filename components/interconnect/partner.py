"""The small interface behind which every partner stands.

A partner is a function: it is given the circuit's service key and the link's addresses, declares what joins the two
clouds, and says what came of it as `Joined`. What must wait for the clouds' own ends is done in `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from gpu_fabric.components.interconnect.addresses import LinkPlan
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.settings import InterconnectSettings


def standing_on(value: Any, resources: Sequence[pulumi.CustomResource]) -> pulumi.Output[Any]:
    """The value, which the engine then takes to come from these resources too.

    What is to be deleted before something else is replaced must have a property that comes from it: `depends_on` is no
    reason to replace, and `replace_with` keeps no order (pulumi/pulumi pkg/resource/deploy/step_generator.go 3.274.1,
    calculateDependentReplacements and findDependentCascadeReplacements).
    """
    return pulumi.Output.all(value, *(one.id for one in resources)).apply(lambda known: known[0])


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
    interface_id: pulumi.Input[str] | None = None
    """A virtual interface that the partner made for the account, dxvif-…: it has connection, VLAN and addresses."""


def _nothing(_: Sequence[pulumi.Input[str]]) -> None:
    return None


@dataclass(frozen=True)
class Joined:
    """What the partner declared."""

    aws: Sequence[AwsPort]
    asns: Sequence[pulumi.Input[int]]
    """Of the partner's routers: one a connection to AWS."""
    circuit_ready: Sequence[pulumi.CustomResource] = ()
    """What provisions the circuit: a peering waits for it."""
    finish: Callable[[Sequence[pulumi.Input[str]]], None] = field(default=_nothing)
    """Called with the BGP key of each virtual interface, once the clouds' ends are declared."""
