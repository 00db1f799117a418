"""Where the subnets of a new VPC lie."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from gpu_fabric.components import subnets
from gpu_fabric.components.aws.limits import SUBNET_PREFIXES
from gpu_fabric.components.subnets import nodes_that_fit, usable_addresses

__all__ = [
    "DEFAULT_VPC",
    "AddressPlan",
    "choose_private",
    "choose_public",
    "nodes_that_fit",
    "usable_addresses",
]

DEFAULT_VPC = IPv4Network("10.100.0.0/16")
PUBLIC_PREFIX = 28


@dataclass(frozen=True)
class AddressPlan:
    vpc: IPv4Network
    private: IPv4Network
    public: IPv4Network | None
    """Holds the NAT gateway; None where there is no way to the internet."""


def choose_private(vpc: IPv4Network, addresses: int) -> IPv4Network:
    """The private subnet of a new VPC."""
    return subnets.choose_private(vpc, addresses, SUBNET_PREFIXES[-1])


def choose_public(vpc: IPv4Network, private: IPv4Network) -> IPv4Network | None:
    """The first /28 of `vpc` that `private` leaves free; None where there is none."""
    return subnets.choose_free(vpc, private, PUBLIC_PREFIX)
