"""Which ExpressRoute gateway and which tier of circuit carry a link: tables in `limits` and `exchanges`."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_fabric.components.interconnect.exchanges import Exchange, geography_of
from gpu_fabric.components.interconnect.limits import (
    FAST_PATH_SCALE_UNITS,
    GATEWAYS,
    LOCAL_MBPS,
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


def gateway_of(settings: InterconnectSettings) -> ChosenGateway | None:
    """What the user chose, or the smallest that carries the bandwidth; None for an unknown SKU."""
    wanted, bandwidth = settings.gateway.sku, settings.bandwidth_mbps
    if wanted is None:
        found = next((one for one in GATEWAYS if one.mbps >= bandwidth), None)
        wanted = SCALABLE if found is None else found.name
    if wanted.lower() == SCALABLE.lower():
        units = settings.gateway.scale_units or -(-bandwidth // SCALE_UNIT_MBPS)
        return ChosenGateway(
            SCALABLE,
            units * SCALE_UNIT_MBPS,
            units * SCALE_UNIT_PACKETS,
            units >= FAST_PATH_SCALE_UNITS,
            units,
        )
    size = next((one for one in GATEWAYS if one.name.lower() == wanted.lower()), None)
    return None if size is None else ChosenGateway(size.name, size.mbps, size.packets, size.fast_path)


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
    tier = settings.circuit.tier or tiers_that_reach(exchange, azure, settings.bandwidth_mbps)[0]
    family = Family.UNLIMITED if tier is Tier.LOCAL else settings.circuit.family or Family.METERED
    return tier, family
