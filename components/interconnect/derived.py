"""What the settings decide together with the networks that they join. The rules for them are in `checks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network

from gpu_fabric.components.interconnect.addresses import DEFAULT_LINK, LinkPlan, link_plan
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.exchanges import (
    Exchange,
    common_exchange,
    exchange_named,
    geography_of,
    geography_of_location,
)
from gpu_fabric.components.interconnect.settings import InterconnectSettings, Partner
from gpu_fabric.components.subnets import as_block
from gpu_fabric.planning.regions import RegionPair, region_pair

#: As ExpressRoute names the partners.
PROVIDERS: Mapping[Partner, str] = {Partner.EQUINIX: "Equinix", Partner.MEGAPORT: "Megaport"}


def exchange_of(settings: InterconnectSettings, ends: KnownEnds) -> Exchange | None:
    """The location that the user named or that is near both regions; None where there is none.

    Its metro is the user's where there is one (`equinix.metro`).
    """
    found = _exchange_of(settings, ends)
    metro = settings.equinix.metro
    return found if found is None or metro is None else replace(found, metro=metro)


def _exchange_of(settings: InterconnectSettings, ends: KnownEnds) -> Exchange | None:
    if settings.exchange is not None:
        known = exchange_named(settings.exchange)
        if known is not None:
            return known
        if settings.equinix.metro is None and settings.partner is Partner.EQUINIX:
            return None
        geography = geography_of_location(settings.exchange) or geography_of(ends.azure.region or "") or ""
        # The user vouches for a location that the table lacks.
        provider = PROVIDERS.get(settings.partner, settings.manual.provider)
        return Exchange(settings.exchange, settings.equinix.metro or "", geography, (), (), (provider,))
    return common_exchange(ends.aws.region, ends.azure.region, PROVIDERS.get(settings.partner))


def far_from_aws(exchange: Exchange, aws: str | None) -> bool:
    """Whether the Direct Connect sites there are known, and are another region's.

    A hosted connection belongs to the region of its site, and is confirmed there.
    """
    return aws is not None and bool(exchange.aws) and aws not in exchange.aws


def estimate(settings: InterconnectSettings, ends: KnownEnds) -> RegionPair | None:
    """The planner's estimate of the round trip; None where it has none for this pair through this exchange."""
    pair = region_pair(ends.aws.region, ends.azure.region)
    if pair is None or settings.exchange is None:
        return pair
    exchange = exchange_named(settings.exchange)
    near_both = exchange is not None and pair.aws in exchange.aws and pair.azure in exchange.local
    return pair if near_both else None


def planned_links(settings: InterconnectSettings) -> LinkPlan | None:
    """The link's /30s; None where the block is no block."""
    text = settings.addresses.cidr
    block = DEFAULT_LINK if text is None else as_block(text)
    return None if block is None else link_plan(block)


def gateway_block(settings: InterconnectSettings, ends: KnownEnds) -> IPv4Network | None:
    """The block of GatewaySubnet: the user's, or a free one of a new network."""
    text = settings.addresses.gateway_subnet_cidr
    return ends.azure.free_for_gateway() if text is None else as_block(text)


def vpc_block(settings: InterconnectSettings, ends: KnownEnds) -> IPv4Network | None:
    """The VPC's whole block; where nobody knows it, the nodes' subnet."""
    return (None if ends.aws.whole else as_block(settings.aws_vpc_cidr)) or ends.aws.network
