"""Address ranges, and the addresses in a subnet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from ..core.errors import Refusal
from ..core.store import Transaction
from . import kinds

RESERVED_FIRST = 4
"""The network address, the gateway and two for DNS (azure-docs virtual-networks-faq.md)."""
RESERVED_LAST = 1
"""The broadcast address (same page)."""


def network(prefix: Any, owner: str) -> IPv4Network:
    """The range of a prefix, or Network's refusal of one that is none."""
    try:
        found = IPv4Network(str(prefix), strict=False)
    except ValueError:
        raise Refusal(
            "InvalidAddressPrefixFormat",
            f"Address prefix {prefix} of resource {owner} is not formatted correctly. It should follow CIDR "
            f"notation, for example 10.0.0.0/24.",
        ) from None
    if str(found) != str(prefix):
        raise Refusal(
            "InvalidCIDRNotation",
            f"The address prefix {prefix} in resource {owner} has an invalid CIDR notation. For the given prefix "
            f"length, the address prefix should be {found}.",
        )
    return found


def subnet_networks(subnet: Mapping[str, Any]) -> list[IPv4Network]:
    prefixes = subnet.get("addressPrefixes") or [subnet["addressPrefix"]]
    return [IPv4Network(prefix) for prefix in prefixes]


def taken(tx: Transaction, subnet_id: str) -> set[str]:
    """The addresses of the subnet that something holds."""
    return set(tx.select(kinds.IP_CONFIGURATION, "address", subnetId=subnet_id))


def free(tx: Transaction, subnet: Mapping[str, Any], count: int) -> list[str]:
    """The lowest free addresses of the subnet; Network's refusal where there are too few."""
    if not count:
        return []
    used = {int(IPv4Address(each)) for each in taken(tx, subnet["id"])}
    found: list[str] = []
    for range_ in subnet_networks(subnet):
        first = int(range_.network_address) + RESERVED_FIRST
        last = int(range_.broadcast_address) - RESERVED_LAST
        for candidate in range(first, last + 1):
            if candidate not in used:
                found.append(str(IPv4Address(candidate)))
                if len(found) == count:
                    return found
    prefix = ", ".join(str(each) for each in subnet_networks(subnet))
    raise Refusal(
        "SubnetIsFull",
        f"Subnet {subnet['name']} with address prefix {prefix} doesn't have enough capacity for {count} IP "
        f"addresses.",
    )


def check_address(tx: Transaction, subnet: Mapping[str, Any], address: str, holder: str = "") -> None:
    """Refuse an address outside the subnet, one Azure keeps, or one that somebody but ``holder`` has."""
    prefix = ", ".join(str(each) for each in subnet_networks(subnet))
    try:
        wanted = IPv4Address(address)
    except ValueError:
        raise Refusal("InvalidIPAddress", f"IP address {address} is not formatted correctly.") from None
    inside = next((each for each in subnet_networks(subnet) if wanted in each), None)
    if inside is None:
        raise Refusal(
            "PrivateIPAddressNotInSubnet",
            f"Private static IP address {address} does not belong to the range of subnet prefix {prefix}.",
        )
    offset = int(wanted) - int(inside.network_address)
    if offset < RESERVED_FIRST or wanted == inside.broadcast_address:
        raise Refusal(
            "PrivateIPAddressInReservedRange",
            f"Private static IP address {address} falls within reserved IP range of subnet prefix {prefix}.",
        )
    for id, each in tx.find(kinds.IP_CONFIGURATION, subnetId=subnet["id"]):
        if each["address"] == address and id != holder:
            raise Refusal(
                "PrivateIPAddressIsAllocated",
                f"IP configuration {holder} is using the private IP address {address} which is already allocated "
                f"to resource {id}.",
            )


def hold(tx: Transaction, owner: str, held: Iterable[tuple[str, str, str]]) -> None:
    """Record that ``owner`` holds addresses, (ip configuration's id, subnet's id, address) each, besides others."""
    tx.put_many(
        kinds.IP_CONFIGURATION,
        [(id, {"parentId": owner, "subnetId": subnet, "address": address}) for id, subnet, address in held],
    )
