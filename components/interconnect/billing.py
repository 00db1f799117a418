"""What the link is billed for, as its own rules choose circuit and gateway. Prices and the bill are `planning`'s."""

from __future__ import annotations

from gpu_fabric.components.interconnect.derived import exchange_of
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.gateway import circuit_sku, gateway_of
from gpu_fabric.components.interconnect.limits import MEGAPORT_MCR_MBPS
from gpu_fabric.components.interconnect.settings import (
    AwsGateway,
    Family,
    InterconnectSettings,
    Partner,
    Tier,
)
from gpu_fabric.planning.price.link import CircuitParts, LinkParts, billing_zone, port_area, port_of


def link_parts(settings: InterconnectSettings, ends: KnownEnds) -> LinkParts:
    """The parts of settings that have no problems."""
    exchange, aws, azure = exchange_of(settings, ends), ends.aws.region, ends.azure.region
    gateway = gateway_of(settings, azure)
    assert gateway is not None
    location = None if exchange is None else exchange.location
    return LinkParts(
        partner=settings.partner.value,
        bandwidth_mbps=settings.bandwidth_mbps,
        connections=settings.connections,
        aws_region=aws,
        azure_region=azure,
        gateway=gateway.sku,
        gateway_units=gateway.units or 1,
        circuit=_circuit(settings, exchange, azure),
        port=port_of(settings.partner.value, settings.manual.accept, settings.manual.interface_ids),
        port_area=port_area(location, aws),
        egress=_egress(exchange, aws),
        router=_router(settings),
        transit=settings.aws_gateway is AwsGateway.TRANSIT,
    )


def _circuit(
    settings: InterconnectSettings, exchange: Exchange | None, azure: str | None
) -> CircuitParts | None:
    if settings.partner is Partner.NATIVE:
        return None
    if exchange is None or azure is None:
        # A program that leaves a region to the cloud: nothing says where the circuit is.
        return CircuitParts(Tier.STANDARD.value, metered=True, zone=azure)
    tier, family = circuit_sku(settings, exchange, azure)
    return CircuitParts(tier.value, family is Family.METERED, billing_zone(exchange.location, azure))


def _egress(exchange: Exchange | None, aws: str | None) -> str | None:
    """The region alone where the exchange has its Direct Connect sites: what leaves it is billed by where it goes."""
    if exchange is None or aws is None or aws in exchange.aws:
        return aws
    return f"{aws} to {exchange.location}"


def _router(settings: InterconnectSettings) -> str | None:
    match settings.partner:
        case Partner.EQUINIX:
            return settings.equinix.package
        case Partner.MEGAPORT:
            rate = next(one for one in MEGAPORT_MCR_MBPS if one >= settings.bandwidth_mbps)
            return f"{rate} Mb/s"
    return None
