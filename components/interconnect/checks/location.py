"""Where the clouds meet: the peering location, how far a circuit reaches from it, and how long the way is."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.aws.regions import region_of
from gpu_fabric.components.azure.regions import is_location
from gpu_fabric.components.interconnect.derived import PROVIDERS, estimate, exchange_of, far_from_aws
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.exchanges import Exchange, exchanges, geography_of
from gpu_fabric.components.interconnect.gateway import tiers_that_reach
from gpu_fabric.components.interconnect.limits import LOCAL_MBPS, NATIVE_AZURE_REGIONS
from gpu_fabric.components.interconnect.settings import (
    CrossCloudSettings,
    Family,
    InterconnectSettings,
    Partner,
    Tier,
)
from gpu_fabric.components.problems import Problem
from gpu_fabric.planning.regions import closest_partner, region_pairs


def location(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    if settings.partner is Partner.NATIVE:
        if ends.azure.region is not None and ends.azure.region not in NATIVE_AZURE_REGIONS:
            yield Problem(
                ("partner",),
                f"the native interconnect is in {', '.join(NATIVE_AZURE_REGIONS)}, not in {ends.azure.region}",
                "choose another partner, or one of these regions",
            )
        return
    exchange = exchange_of(settings, ends)
    if exchange is None and settings.exchange is not None:
        known = ", ".join(dict.fromkeys(row.location for row in exchanges()))
        yield Problem(
            ("exchange",),
            f"{settings.exchange!r} is not in the table of peering locations",
            f"give one of {known}; or give its metro as `equinix.metro` too",
        )
    elif exchange is None and ends.aws.region is not None and ends.azure.region is not None:
        yield Problem(("exchange",), *_no_common(ends.aws.region, ends.azure.region))
    elif exchange is not None:
        provider = PROVIDERS.get(settings.partner)
        if provider is not None and provider not in exchange.providers:
            there = [
                row.location
                for row in exchanges()
                if provider in row.providers and set(row.aws) & set(exchange.aws)
            ]
            yield Problem(
                ("exchange",),
                f"{provider} is not at {exchange.location}",
                f"give {' or '.join(there)}" if there else "choose another partner",
            )
        yield from _far_from_aws(settings, ends.aws.region, exchange)


def regions(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    """The regions of a program's networks; those of a stack file are the clusters' to check."""
    if not isinstance(settings, CrossCloudSettings):
        return
    aws, azure = settings.aws.region, settings.azure.location
    if region_of(f"{aws}a") != aws:
        zone = region_of(aws)
        yield Problem(
            ("aws", "region"),
            f"{aws!r} is a zone" if zone is not None else f"{aws!r} is not the name of a region",
            f"give {zone}" if zone is not None else "give one such as us-east-1",
        )
    if not is_location(azure):
        yield Problem(
            ("azure", "location"), f"{azure!r} is not the name of a region", "give one such as eastus"
        )


def _far_from_aws(settings: InterconnectSettings, aws: str | None, exchange: Exchange) -> Iterator[Problem]:
    if not far_from_aws(exchange, aws) or settings.rtt_ms is not None:
        return
    near = [row.location for row in exchanges() if aws in row.aws]
    ways = f"give {' or '.join(near)}, drop the key" if near else "drop the key"
    yield Problem(
        ("exchange",),
        f"the Direct Connect sites at {exchange.location} belong to {', '.join(exchange.aws)}, not to {aws}, and the "
        "estimate of the round trip is not of this way",
        f"{ways}, or give the measured `rttMs` if you have a link there",
    )


def _no_common(aws: str, azure: str) -> tuple[str, str]:
    what = f"no known location is near both {aws} and {azure}"
    near_aws = [pair for pair in region_pairs() if pair.aws == aws]
    near_azure = [pair for pair in region_pairs() if pair.azure == azure]
    ways = [f"with {aws}: {', '.join(pair.azure for pair in near_aws)}"] if near_aws else []
    ways += [f"with {azure}: {', '.join(pair.aws for pair in near_azure)}"] if near_azure else []
    nearest = f"the nearest pairs are, {'; '.join(ways)}; " if ways else ""
    if not ways:
        both = "; ".join(f"{pair.aws} with {pair.azure}" for pair in region_pairs())
        nearest = f"the pairs that have one are {both}; "
    return what, f"{nearest}or give a peering location as `exchange` and the measured `rttMs`"


def _no_estimate(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    """Nothing to hold against the limit, where the place itself is no problem already."""
    aws, azure, exchange = ends.aws.region, ends.azure.region, exchange_of(settings, ends)
    if aws is None or azure is None:
        return
    if settings.partner is Partner.NATIVE:
        if azure not in NATIVE_AZURE_REGIONS:
            return
    elif exchange is None or far_from_aws(exchange, aws):
        return
    through = f" through {exchange.location}" if exchange is not None else ""
    yield Problem(
        ("rtt_ms",),
        f"is missing: there is no estimate for {aws} to {azure}{through} to hold against the limit of "
        f"{settings.rtt_limit_ms:g} ms",
        "give the round trip that was measured, or that your partner states",
    )


def tier(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    exchange, wanted, azure = exchange_of(settings, ends), settings.circuit.tier, ends.azure.region
    if settings.partner is Partner.NATIVE or wanted is None or exchange is None or azure is None:
        return
    reach = tiers_that_reach(exchange, azure, settings.bandwidth_mbps)
    if wanted in reach or _vouched_for(settings, exchange, wanted, azure):
        if wanted is Tier.LOCAL and settings.circuit.family is Family.METERED:
            yield Problem(
                ("circuit", "family"), "the tier Local is sold as UnlimitedData only", "drop the key"
            )
        return
    if wanted is Tier.LOCAL and settings.bandwidth_mbps < LOCAL_MBPS:
        what = f"the tier Local begins at {LOCAL_MBPS} Mb/s, and {settings.bandwidth_mbps} are asked for"
    elif wanted is Tier.LOCAL:
        what = f"the tier Local at {exchange.location} reaches {', '.join(exchange.local)}, not {azure}"
    else:
        what = (
            f"the tier {wanted.value} at {exchange.location} reaches {exchange.geography} only, not {azure}"
        )
    yield Problem(("circuit", "tier"), what, f"set it to {reach[0].value}, or drop the key")


def _vouched_for(settings: InterconnectSettings, exchange: Exchange, wanted: Tier, azure: str) -> bool:
    """Whether nothing is known that speaks against the user's word: Local of a location without a row, Standard of one
    without a geography."""
    if wanted is Tier.LOCAL:
        return not exchange.local and settings.bandwidth_mbps >= LOCAL_MBPS
    return not exchange.geography or geography_of(azure) is None


def latency(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    limit = settings.rtt_limit_ms
    if settings.rtt_ms is not None:
        if settings.rtt_ms > limit:
            yield Problem(
                ("rtt_ms",),
                f"the measured {settings.rtt_ms:g} ms exceed the limit of {limit:g} ms",
                "choose closer regions, or raise `rttLimitMs` knowing that each stage boundary waits that long",
            )
        return
    pair = estimate(settings, ends)
    if pair is None:
        yield from _no_estimate(settings, ends)
        return
    if pair.rtt_ms <= limit:
        return
    closer = closest_partner(ends.aws.region)
    other = (
        f"use {closer.azure} ({closer.low_ms:g} to {closer.high_ms:g} ms) on Azure, or "
        if closer is not None and closer.rtt_ms <= limit
        else ""
    )
    yield Problem(
        ("rtt_limit_ms",),
        f"{pair.aws} to {pair.azure} is estimated at {pair.low_ms:g} to {pair.high_ms:g} ms round trip (from distance, "
        f"not measured), and the limit is {limit:g}",
        f"{other}measure it and give `rttMs`, or raise `rttLimitMs`",
    )
