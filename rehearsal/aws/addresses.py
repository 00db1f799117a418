"""Address ranges and the addresses in a subnet."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.store import Transaction
from ..core.values import is_unknown
from . import kinds

RESERVED_FIRST = 4
"""The network address, the router, the DNS server and one for later use (VPC User Guide, subnet-sizing)."""
RESERVED_LAST = 1
"""The broadcast address (same page)."""


def cidr_problem(value: Any, path: str) -> Iterator[Problem]:
    """What terraform-provider-aws internal/verify/verify.go ValidateIPv4CIDRBlock says of a range."""
    if value is None or is_unknown(value):
        return
    try:
        network = ip_network(value, strict=False)
    except ValueError:
        yield Problem(path, f'"{value}" is not a valid CIDR block: invalid CIDR address: {value}')
        return
    if not isinstance(network, IPv4Network):
        yield Problem(path, f'"{value}" is not a valid IPv4 CIDR block')
    elif str(network) != value:
        yield Problem(path, f'"{value}" is not a valid IPv4 CIDR block; did you mean "{network}"?')


def free_count(tx: Transaction, subnet_id: str) -> int:
    """How many addresses are left in the subnet: EC2's AvailableIpAddressCount."""
    subnet = tx.need(kinds.SUBNET, subnet_id)
    size = IPv4Network(subnet["cidrBlock"]).num_addresses - RESERVED_FIRST - RESERVED_LAST
    return size - sum(
        len(used)
        for used in tx.select(kinds.NETWORK_INTERFACE, "privateIps", "privateIp", subnetId=subnet_id)
    )


def allocate(tx: Transaction, subnet_id: str, count: int) -> list[str]:
    """The lowest free addresses of the subnet. They are taken when a network interface with them is stored.

    Refuses as EC2 does when fewer are left (EC2 API Reference, error codes: InsufficientFreeAddressesInSubnet).
    """
    if count == 0:
        return []
    subnet = tx.need(kinds.SUBNET, subnet_id)
    network = IPv4Network(subnet["cidrBlock"])
    used = {
        int(IPv4Address(address))
        for addresses in tx.select(kinds.NETWORK_INTERFACE, "privateIps", "privateIp", subnetId=subnet_id)
        for address in addresses
    }
    first = int(network.network_address) + RESERVED_FIRST
    last = int(network.broadcast_address) - RESERVED_LAST
    found = []
    for candidate in range(first, last + 1):
        if candidate not in used:
            found.append(str(IPv4Address(candidate)))
            if len(found) == count:
                return found
    raise Refusal(
        "InsufficientFreeAddressesInSubnet",
        f"There are not enough free addresses in subnet '{subnet_id}' to satisfy the requested number of instances.",
    )


def check_address(tx: Transaction, subnet_id: str, address: str) -> None:
    """Refuse an address that is outside the subnet, reserved, or taken."""
    network = IPv4Network(tx.need(kinds.SUBNET, subnet_id)["cidrBlock"])
    wanted = IPv4Address(address)
    if wanted not in network:
        raise Refusal(
            "InvalidParameterValue", f"Address does not fall within the subnet's address range: {address}"
        )
    offset = int(wanted) - int(network.network_address)
    if offset < RESERVED_FIRST or wanted == network.broadcast_address:
        raise Refusal("InvalidParameterValue", f"Address is in subnet's reserved address range: {address}")
    for addresses in tx.select(kinds.NETWORK_INTERFACE, "privateIps", "privateIp", subnetId=subnet_id):
        if address in addresses:
            raise Refusal("InvalidIPAddress.InUse", f"The specified address is already in use: {address}")
