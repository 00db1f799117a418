"""Where the subnets of a new VPC lie, and how many nodes a subnet holds. Arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from gpu_fabric.components.aws.limits import RESERVED_ADDRESSES, SUBNET_PREFIXES

DEFAULT_VPC = IPv4Network("10.100.0.0/16")
#: Room for 4,091 addresses. It does not follow the node count: a subnet that grew with the nodes would be
#: replaced, and every node in it, each time the count crossed a power of two.
PREFERRED_SUBNET_PREFIX = 20
PUBLIC_PREFIX = 28


@dataclass(frozen=True)
class AddressPlan:
    vpc: IPv4Network
    private: IPv4Network
    public: IPv4Network | None
    """Holds the NAT gateway; None where there is no way to the internet."""


def usable_addresses(subnet: IPv4Network) -> int:
    """Addresses that AWS leaves for interfaces."""
    return max(subnet.num_addresses - RESERVED_ADDRESSES, 0)


def nodes_that_fit(subnet: IPv4Network, addresses_per_node: int, other_addresses: int = 0) -> int:
    """Nodes that `subnet` holds beside `other_addresses` for endpoints."""
    return max(usable_addresses(subnet) - other_addresses, 0) // addresses_per_node


def choose_private(vpc: IPv4Network, addresses: int) -> IPv4Network:
    """The private subnet of a new VPC: the second /20, or the upper half of the VPC where that is too small.

    The upper half is returned even where it cannot hold `addresses`: the check on the node count then says so.
    """
    half = min(vpc.prefixlen + 1, SUBNET_PREFIXES[-1])
    prefix = max(half, PREFERRED_SUBNET_PREFIX)
    candidate = list(vpc.subnets(new_prefix=prefix))[1]
    if usable_addresses(candidate) >= addresses:
        return candidate
    return list(vpc.subnets(new_prefix=half))[1]


def choose_public(vpc: IPv4Network, private: IPv4Network) -> IPv4Network | None:
    """The first /28 of `vpc` that `private` leaves free; None where there is none."""
    free = (block for block in vpc.subnets(new_prefix=PUBLIC_PREFIX) if not block.overlaps(private))
    return next(free, None)
