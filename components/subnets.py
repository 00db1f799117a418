"""Address blocks of a private network, on any cloud: reading them, laying them out, counting nodes. Arithmetic only."""

from __future__ import annotations

from ipaddress import IPv4Network

from gpu_fabric.components.problems import Path, Problem

RESERVED_ADDRESSES = 5
"""The first four and the last address of every subnet, on AWS (VPC User Guide, "Subnet CIDR blocks") and on Azure
(MicrosoftDocs/azure-docs, virtual-network/virtual-networks-faq.md); read 2026-11-29."""

PREFERRED_SUBNET_PREFIX = 20
"""Room for 4,091 addresses. It does not follow the node count: a subnet that grew with the nodes would be replaced,
and every node in it, each time the count crossed a power of two."""


def read_block(
    where: Path, text: str | None, prefixes: range, cloud: str, problems: list[Problem], example: str
) -> IPv4Network | None:
    """`text` as a block of a size in `prefixes`; None, with a problem added, where it is not one."""
    if text is None:
        return None
    try:
        network = IPv4Network(text)
    except ValueError as error:
        try:
            nearest = f"give {IPv4Network(text, strict=False)}"
        except ValueError:
            nearest = f"give an address block such as {example}"
        problems.append(Problem(where, f"{text!r} is not an IPv4 address block ({error})", nearest))
        return None
    if network.prefixlen not in prefixes:
        allowed = f"/{prefixes[0]} and /{prefixes[-1]}"
        problems.append(
            Problem(where, f"{network} is a /{network.prefixlen}", f"{cloud} takes a size between {allowed}")
        )
        return None
    return network


def as_block(text: str | None) -> IPv4Network | None:
    """The block that a text names; None where it names none."""
    try:
        return None if text is None else IPv4Network(text)
    except ValueError:
        return None


def usable_addresses(subnet: IPv4Network) -> int:
    """Addresses that the cloud leaves for interfaces."""
    return max(subnet.num_addresses - RESERVED_ADDRESSES, 0)


def nodes_that_fit(subnet: IPv4Network, addresses_per_node: int, other_addresses: int = 0) -> int:
    """Nodes that `subnet` holds beside `other_addresses` for something else."""
    return max(usable_addresses(subnet) - other_addresses, 0) // addresses_per_node


def choose_private(network: IPv4Network, addresses: int, smallest: int) -> IPv4Network:
    """The nodes' subnet of a new network: the second /20, or the upper half of the network where that is too small.

    The upper half is returned even where it cannot hold `addresses`: the check on the node count then says so.
    `smallest` is the longest prefix that the cloud takes.
    """
    half = min(network.prefixlen + 1, smallest)
    candidate = list(network.subnets(new_prefix=max(half, PREFERRED_SUBNET_PREFIX)))[1]
    if usable_addresses(candidate) >= addresses:
        return candidate
    return list(network.subnets(new_prefix=half))[1]


def choose_free(network: IPv4Network, taken: IPv4Network, prefix: int) -> IPv4Network | None:
    """The first block of this size in `network` that `taken` leaves free; None where there is none."""
    if network.prefixlen > prefix:
        return None
    return next((block for block in network.subnets(new_prefix=prefix) if not block.overlaps(taken)), None)
