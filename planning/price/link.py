"""What a private link between the clouds is billed for: one function, which preview and plan both ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.planning.peering import location_beside, peering_location
from gpu_fabric.planning.price.line_item import LineItem
from gpu_fabric.planning.price.table import PriceTable
from gpu_fabric.planning.spec import FabricSpec

NATIVE = "native"

DEDICATED_MBPS = (1_000, 10_000, 100_000, 400_000)
"""Direct Connect's own ports (Direct Connect User Guide, dedicated_connection.html)."""

JAPAN, ALL_BUT_JAPAN = "Japan", "all but Japan"
"""Direct Connect's price areas of a port (aws.amazon.com/directconnect/pricing)."""
REGIONS_IN_JAPAN = ("ap-northeast-1", "ap-northeast-3")
OTHER_PARTITIONS = ("cn-", "us-gov-")
"""Regions whose prices are on other pages."""

TRANSIT_ATTACHMENTS = 2
"""Of the VPC and of the Direct Connect gateway; each is billed by the hour (aws.amazon.com/transit-gateway/pricing)."""


class Port(StrEnum):
    """How a connection to Direct Connect is bought; also the `purchase` of its price."""

    HOSTED = "hosted"
    """Of a partner's, by its capacity."""
    DEDICATED = "dedicated"
    """A port of one's own."""


@dataclass(frozen=True)
class CircuitParts:
    """What an ExpressRoute circuit is billed by."""

    tier: str
    """Local, Standard or Premium."""
    metered: bool
    """Whether what leaves Azure is billed by volume; never on a Local circuit."""
    zone: str | None
    """`Zone 1` to `Zone 4`; the location's or region's name where its zone is not known."""


@dataclass(frozen=True)
class LinkParts:
    """What a link is billed for."""

    partner: str
    bandwidth_mbps: int
    connections: int
    """To each cloud: 1 or 2."""
    aws_region: str | None
    azure_region: str | None
    gateway: str
    """SKU of the ExpressRoute gateway."""
    gateway_units: int = 1
    """Of a gateway that is billed by the scale unit."""
    circuit: CircuitParts | None = None
    """None with AWS Interconnect – multicloud."""
    port: Port | None = Port.HOSTED
    """None where the partner's own port carries the user's virtual interface: it is on the partner's bill."""
    port_area: str | None = ALL_BUT_JAPAN
    egress: str | None = None
    """Where data leaves AWS: the region, or `us-east-1 to Dublin` where the site is not known to be in the region."""
    router: str | None = None
    """What the partner's cloud routers are sold by: a package or a rate. None where none is made here."""
    transit: bool = False
    """Whether a transit gateway carries it."""


def billing_zone(location: str | None, azure: str | None) -> str | None:
    """ExpressRoute's billing zone of a peering location; without one, of the first that is beside the region.

    The name itself where the table lacks it: a price of the user's own can then stand under that name.
    """
    there = location_beside(azure) if location is None else peering_location(location)
    return there.zone if there is not None else location or azure


def port_area(location: str | None, aws: str | None) -> str | None:
    """Direct Connect's price area of a port: that of the location where it is, else that of the region."""
    if aws is not None and aws.startswith(OTHER_PARTITIONS):
        return aws
    there = peering_location(location) if location is not None else None
    in_japan = there.geography == JAPAN if there is not None else aws in REGIONS_IN_JAPAN
    return JAPAN if in_japan else ALL_BUT_JAPAN


def port_of(partner: str, accept: bool, interfaces: Collection[str]) -> Port | None:
    """Whose the port at Direct Connect is: a partner's connection is hosted and waits to be accepted; with `manual` it
    may be a port of one's own, or a partner's whose virtual interfaces are accepted."""
    if partner != "manual":
        return Port.HOSTED
    if interfaces:
        return None
    return Port.HOSTED if accept else Port.DEDICATED


def link_items(parts: LinkParts, table: PriceTable, volume: float | None) -> Iterator[LineItem]:
    """The lines of a link's bill. `volume`: 10^9 bytes a direction; None leaves out what is billed by volume."""
    if parts.partner == NATIVE:
        price = table.find("native-connection", str(parts.bandwidth_mbps))
        yield LineItem("interconnect", 1, price, standing=True)
    else:
        yield from _port_items(parts, table)
        yield from _partner_items(parts, table)
    if parts.circuit is not None:
        yield _circuit_item(parts.circuit, parts, table)
    yield from _gateway_items(parts, table)
    if parts.transit:
        price = table.find("transit-gateway-attachment", "aws", parts.aws_region)
        yield LineItem("transit gateway attachments", TRANSIT_ATTACHMENTS, price, standing=True)
    if volume:
        yield from _volume_items(parts, table, volume)


def _port_items(parts: LinkParts, table: PriceTable) -> Iterator[LineItem]:
    if parts.port is None:
        return
    rate, what = parts.bandwidth_mbps, "hosted connection"
    if parts.port is Port.DEDICATED:
        rate = next((one for one in DEDICATED_MBPS if one >= rate), rate)
        what = "dedicated port"
    price = table.find("direct-connect-port", str(rate), parts.port_area, parts.port.value)
    yield LineItem(f"Direct Connect {what}, {rate} Mb/s", parts.connections, price, standing=True)


def _partner_items(parts: LinkParts, table: PriceTable) -> Iterator[LineItem]:
    if parts.router is not None:
        price = table.find(f"{parts.partner}-router", parts.router)
        yield LineItem(
            f"{parts.partner} cloud routers, {parts.router}", parts.connections, price, standing=True
        )
    price = table.find(f"{parts.partner}-connection", str(parts.bandwidth_mbps))
    # One to each cloud.
    yield LineItem(f"{parts.partner} connections", 2 * parts.connections, price, standing=True)


def _circuit_item(circuit: CircuitParts, parts: LinkParts, table: PriceTable) -> LineItem:
    """One circuit has two ports, so it is one with and without redundancy."""
    bandwidth = str(parts.bandwidth_mbps)
    if circuit.tier == "Local":
        price = table.find("expressroute-local", bandwidth, circuit.zone)
        return LineItem(f"ExpressRoute Local circuit, {bandwidth} Mb/s", 1, price, standing=True)
    family = "metered" if circuit.metered else "unlimited"
    item, tier = "expressroute-circuit", ""
    if circuit.tier == "Premium":
        item, tier = "expressroute-circuit-premium", " Premium"
    price = table.find(item, bandwidth, circuit.zone, family)
    return LineItem(f"ExpressRoute{tier} circuit, {bandwidth} Mb/s, {family}", 1, price, standing=True)


def _gateway_items(parts: LinkParts, table: PriceTable) -> Iterator[LineItem]:
    price = table.find("expressroute-gateway", parts.gateway, parts.azure_region)
    yield LineItem(f"ExpressRoute gateway {parts.gateway}", parts.gateway_units, price, standing=True)
    address = table.find("public-ip", "azure", parts.azure_region)
    yield LineItem("public IP of the ExpressRoute gateway", 1, address, standing=True)


def _volume_items(parts: LinkParts, table: PriceTable, volume: float) -> Iterator[LineItem]:
    if parts.transit:
        # What comes from the VPC and what comes from Direct Connect.
        price = table.find("transit-gateway-data", "aws", parts.aws_region)
        yield LineItem("data through the transit gateway", 2 * volume, price, standing=False, by_volume=True)
    if parts.partner == NATIVE:
        return
    egress = table.find("direct-connect-egress", "aws", parts.egress)
    yield LineItem("egress from AWS", volume, egress, standing=False, by_volume=True)
    if parts.circuit is not None and parts.circuit.metered:
        out = table.find("expressroute-egress", "azure", parts.circuit.zone, "metered")
        yield LineItem("egress from Azure", volume, out, standing=False, by_volume=True)


def spec_parts(spec: FabricSpec) -> LinkParts | None:
    """The parts as the planner alone reads them off a stack file; None without a link.

    What only the link's own rules know is counted at its simplest: a circuit without a tier as Standard, the smallest
    zone-redundant gateway that carries the bandwidth.
    """
    link = spec.interconnect
    if link is None:
        return None
    aws = spec.aws.region if spec.aws else None
    azure = spec.azure.region if spec.azure else None
    native = link.partner == NATIVE
    zone = billing_zone(link.exchange, azure)
    return LinkParts(
        partner=link.partner,
        bandwidth_mbps=link.bandwidth_mbps,
        connections=2 if link.redundancy == "circuit" else 1,
        aws_region=aws,
        azure_region=azure,
        gateway=link.gateway.sku or _gateway_of(link.bandwidth_mbps),
        gateway_units=link.gateway.scale_units or 1,
        circuit=None if native else CircuitParts(link.circuit.tier, link.circuit.metered, zone),
        port=port_of(link.partner, link.manual.accept, link.manual.interface_ids),
        port_area=port_area(link.exchange, aws),
        # Only the link's own table knows which AWS region the sites of a location belong to.
        egress=aws if link.exchange is None else f"{aws} to {link.exchange}",
        router={"equinix": link.equinix.package, "megaport": f"{link.bandwidth_mbps} Mb/s"}.get(link.partner),
        transit=link.aws_gateway == "transit",
    )


def _gateway_of(bandwidth_mbps: int) -> str:
    """The smallest zone-redundant ExpressRoute gateway that carries the bandwidth (Microsoft, gateway SKUs)."""
    return next(
        (name for limit, name in ((1000, "ErGw1AZ"), (2000, "ErGw2AZ")) if bandwidth_mbps <= limit), "ErGw3AZ"
    )
