"""Where the subnets of a new virtual network lie."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

DEFAULT_NETWORK = IPv4Network("10.200.0.0/16")


@dataclass(frozen=True)
class AddressPlan:
    network: IPv4Network
    private: IPv4Network
    bastion: IPv4Network | None
    """Holds Azure Bastion; None without one."""
