"""The link's own address plan: who has which address of which /30. Arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

DEFAULT_LINK = IPv4Network("192.168.100.0/28")
LINK_PREFIX = 30
#: Both of Azure's ports, and two connections to AWS.
LINKS = 4
SMALLEST_LINK_BLOCK = 28


@dataclass(frozen=True)
class OnLink:
    """One /30 between the partner's router and a cloud."""

    block: IPv4Network

    def _with_length(self, number: int) -> str:
        return f"{self.block[number]}/{LINK_PREFIX}"

    @property
    def first(self) -> str:
        """The first host with its prefix length: the partner's towards Azure, Amazon's towards AWS."""
        return self._with_length(1)

    @property
    def second(self) -> str:
        """The second host with its prefix length: Microsoft's towards Azure, the partner's towards AWS."""
        return self._with_length(2)

    @property
    def first_host(self) -> str:
        return str(self.block[1])

    @property
    def second_host(self) -> str:
        return str(self.block[2])


@dataclass(frozen=True)
class LinkPlan:
    """Azure's two /30s (ExpressRoute wants both, used or not) and one for each connection to AWS."""

    azure: tuple[OnLink, OnLink]
    aws: tuple[OnLink, OnLink]

    @property
    def blocks(self) -> tuple[IPv4Network, ...]:
        return tuple(link.block for link in (*self.azure, *self.aws))


def link_plan(block: IPv4Network) -> LinkPlan:
    """The first four /30s of the block: Azure primary and secondary, AWS first and second.

    Of Azure's the customer has the first host and Microsoft the second (azure docs, expressroute-routing.md). Of AWS's
    we give Amazon the first.
    """
    first, second, third, fourth = (
        OnLink(one) for one, _ in zip(block.subnets(new_prefix=LINK_PREFIX), range(LINKS), strict=False)
    )
    return LinkPlan((first, second), (third, fourth))
