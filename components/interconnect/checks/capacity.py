"""How much the link carries: the bandwidth that is sold, and the ExpressRoute gateway for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_fabric.components.azure.limits import ZONES
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.gateway import ChosenGateway, gateway_of, zones_of
from gpu_fabric.components.interconnect.limits import (
    CIRCUIT_MBPS,
    EQUINIX_MBPS,
    FAST_PATH_SCALE_UNITS,
    GATEWAYS,
    HOSTED_MBPS,
    NATIVE_MBPS,
    SCALABLE,
    SCALE_UNIT_MBPS,
    SCALE_UNITS,
)
from gpu_fabric.components.interconnect.settings import InterconnectSettings, Partner
from gpu_fabric.components.problems import Problem

#: What partner and clouds all sell. Megaport's connections take any rate.
_SOLD: Mapping[Partner, tuple[int, ...]] = {
    Partner.EQUINIX: tuple(rate for rate in CIRCUIT_MBPS if rate in HOSTED_MBPS and rate in EQUINIX_MBPS),
    Partner.MEGAPORT: tuple(rate for rate in CIRCUIT_MBPS if rate in HOSTED_MBPS),
    Partner.MANUAL: CIRCUIT_MBPS,
    Partner.NATIVE: NATIVE_MBPS,
}


_SELLERS = "all of Direct Connect, ExpressRoute and {}"


def _nearest(value: int, sold: tuple[int, ...]) -> str:
    below = [rate for rate in sold if rate < value]
    above = [rate for rate in sold if rate > value]
    return " or ".join(str(rate) for rate in (*below[-1:], *above[:1]))


def bandwidth(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    sold, rate = _SOLD[settings.partner], settings.bandwidth_mbps
    if rate in sold:
        return
    if settings.partner is Partner.NATIVE:
        what, remedy = "Azure's preview of the native interconnect has 1000 Mb/s only", "set it to 1000"
    elif rate > CIRCUIT_MBPS[-1]:
        what = f"{rate} Mb/s is more than a circuit through a provider carries ({CIRCUIT_MBPS[-1]})"
        remedy = f"give {sold[-1]}; above it is ExpressRoute Direct, which this release does not lay out"
    else:
        sellers = (
            "ExpressRoute" if settings.partner is Partner.MANUAL else _SELLERS.format(settings.partner.value)
        )
        what = f"{rate} Mb/s is not sold by {sellers}"
        remedy = f"give the nearest that is: {_nearest(rate, sold)}"
    yield Problem(("bandwidth_mbps",), what, remedy)


def gateway(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    """SKU, zones, scale units and FastPath of the ExpressRoute gateway."""
    chosen = gateway_of(settings, ends.azure.region)
    if chosen is None:
        names = ", ".join([*(one.name for one in GATEWAYS), SCALABLE])
        yield Problem(
            ("gateway", "sku"),
            f"{settings.gateway.sku!r} is not a gateway of ExpressRoute",
            f"give one of {names}",
        )
        return
    yield from _zones(settings, chosen, ends.azure.region)
    units = settings.gateway.scale_units
    if units is not None and (chosen.units is None or units not in SCALE_UNITS):
        what = (
            f"{chosen.sku} has no scale units"
            if chosen.units is None
            else f"{units} is outside {SCALE_UNITS[0]} to {SCALE_UNITS[-1]}"
        )
        yield Problem(
            ("gateway", "scale_units"), what, f"drop the key, or set `sku: {SCALABLE}` and 1 to 40 units"
        )
        return
    zonal = bool(zones_of(settings, ends.azure.region))
    sizes = [one for one in GATEWAYS if one.zonal is zonal]
    if chosen.mbps < settings.bandwidth_mbps:
        enough = [one.name for one in sizes if one.mbps >= settings.bandwidth_mbps]
        units_needed = -(-settings.bandwidth_mbps // SCALE_UNIT_MBPS)
        ways = [*enough, f"{SCALABLE} with {units_needed} scale units"]
        yield Problem(
            ("gateway", "sku" if settings.gateway.scale_units is None else "scale_units"),
            f"{chosen.sku} carries {chosen.mbps} Mb/s, and the link is to have {settings.bandwidth_mbps}",
            f"give {' or '.join(ways)}, or drop the key",
        )
    if settings.gateway.fast_path and not chosen.fast_path:
        with_it = " or ".join(one.name for one in sizes if one.fast_path)
        yield Problem(
            ("gateway", "fast_path"),
            f"{chosen.sku} has no FastPath",
            f"set `gateway.sku: {with_it}`, or {SCALABLE} with {FAST_PATH_SCALE_UNITS} units or more, or drop "
            "`fastPath`",
        )


def _zones(settings: InterconnectSettings, chosen: ChosenGateway, azure: str | None) -> Iterator[Problem]:
    given = settings.gateway.zones
    size = next((one for one in GATEWAYS if one.name == chosen.sku), None)
    if given is None:
        if size is not None and size.zonal and not zones_of(settings, azure):
            others = " or ".join(one.name for one in GATEWAYS if not one.zonal)
            yield Problem(
                ("gateway", "sku"),
                f"{size.name} spreads over zones, and {azure} has none that are known",
                f"give {others}, drop the key, or say `gateway.zones: []` where Azure takes it there without zones",
            )
        return
    wrong = [zone for zone in given if zone not in ZONES]
    if wrong or len(set(given)) < len(given):
        yield Problem(
            ("gateway", "zones"),
            f"{', '.join(map(repr, wrong))} is no zone of Azure" if wrong else "names a zone twice",
            f"give some of {', '.join(map(repr, ZONES))}, or [] for a gateway without",
        )
    elif given and size is not None and not size.zonal:
        others = " or ".join(one.name for one in GATEWAYS if one.zonal)
        yield Problem(
            ("gateway", "zones"),
            f"{size.name} stands in no zone",
            f"drop the key, or give {others} as `gateway.sku`",
        )
