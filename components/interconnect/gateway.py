"""Which ExpressRoute gateway and which tier of circuit carry a link: tables in `limits` and `exchanges`."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_fabric.components.azure.limits import ZONES
from gpu_fabric.components.interconnect.exchanges import Exchange, geography_of
from gpu_fabric.components.interconnect.limits import (
    FAST_PATH_SCALE_UNITS,
    GATEWAYS,
    LOCAL_MBPS,
    REGIONS_WITH_ZONES,
    SCALABLE,
    SCALE_UNIT_MBPS,
    SCALE_UNIT_PACKETS,
)
from gpu_fabric.components.interconnect.settings import Family, InterconnectSettings, Tier


@dataclass(frozen=True)
class ChosenGateway:
    """A gateway's SKU, what it carries (10^6 bit/s, packets a second), and its scale units where it has them."""

    sku: str
    mbps: int
    packets: int
    fast_path: bool
    units: int | None = None
    zones: tuple[str, ...] = ()
    """Of its public address, which decides where the gateway stands."""
    kind: str = SCALABLE
    """Azure changes a size in place within a kind, and none from one kind to another."""
    shrinks: bool = True
    """Whether Azure makes it smaller in place; `ErGwScale` by its units."""


def zones_of(settings: InterconnectSettings, azure: str | None) -> tuple[str, ...]:
    """Zones for the gateway's address in the region: the user's, or all where there are any."""
    if settings.gateway.zones is not None:
        return settings.gateway.zones
    return ZONES if azure is None or azure in REGIONS_WITH_ZONES else ()


def gateway_of(settings: InterconnectSettings, azure: str | None) -> ChosenGateway | None:
    """What the user chose, or the smallest that carries the bandwidth in the region; None for an unknown SKU."""
    wanted, bandwidth, zones = settings.gateway.sku, settings.bandwidth_mbps, zones_of(settings, azure)
    if wanted is None:
        found = next((one for one in GATEWAYS if one.mbps >= bandwidth and one.zonal is bool(zones)), None)
        wanted = SCALABLE if found is None else found.name
    if wanted.lower() == SCALABLE.lower():
        units = settings.gateway.scale_units or -(-bandwidth // SCALE_UNIT_MBPS)
        return ChosenGateway(
            SCALABLE,
            units * SCALE_UNIT_MBPS,
            units * SCALE_UNIT_PACKETS,
            units >= FAST_PATH_SCALE_UNITS,
            units,
            zones,
        )
    size = next((one for one in GATEWAYS if one.name.lower() == wanted.lower()), None)
    if size is None:
        return None
    return ChosenGateway(
        size.name,
        size.mbps,
        size.packets,
        size.fast_path,
        zones=zones if size.zonal else (),
        kind="zonal" if size.zonal else "without zones",
        shrinks=size.shrinks,
    )


def tiers_that_reach(exchange: Exchange, azure: str, bandwidth_mbps: int) -> tuple[Tier, ...]:
    """The tiers of a circuit at this location that reach the region with this bandwidth, cheapest first."""
    tiers = [Tier.PREMIUM]
    if geography_of(azure) == exchange.geography:
        tiers.insert(0, Tier.STANDARD)
    if azure in exchange.local and bandwidth_mbps >= LOCAL_MBPS:
        tiers.insert(0, Tier.LOCAL)
    return tuple(tiers)


def circuit_sku(settings: InterconnectSettings, exchange: Exchange, azure: str) -> tuple[Tier, Family]:
    """Tier and family, as the user chose or by rule; Local is sold as unlimited only."""
    wanted = settings.circuit
    tiers = tiers_that_reach(exchange, azure, settings.bandwidth_mbps)
    if wanted.family is Family.METERED:
        tiers = tuple(one for one in tiers if one is not Tier.LOCAL)
    tier = wanted.tier or tiers[0]
    family = Family.UNLIMITED if tier is Tier.LOCAL else wanted.family or Family.METERED
    return tier, family
