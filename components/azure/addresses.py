"""Where the subnets of a new virtual network lie."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from gpu_fabric.components.subnets import RESERVED_ADDRESSES

DEFAULT_NETWORK = IPv4Network("10.200.0.0/16")


@dataclass(frozen=True)
class AddressPlan:
    network: IPv4Network
    private: IPv4Network
    bastion: IPv4Network | None
    """Holds Azure Bastion; None without one."""


def node_address(subnet: IPv4Network, number: int, most: int) -> str:
    """The address of single node `number` of at most `most` nodes, in a subnet of their own.

    It lies in the upper half where that is large enough: Azure numbers a fleet's nodes from below, and a fleet that
    gives way to single nodes has its addresses until they stand. Azure keeps the first four and the last address.
    """
    half = subnet.num_addresses // 2
    first = half if half - 1 >= most else RESERVED_ADDRESSES - 1
    return str(subnet[first + number])
