"""What is legal and worth knowing before it happens: said at preview, never refused."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.interconnect.derived import far_from_aws, planned_links, vpc_block
from gpu_fabric.components.interconnect.ends import KnownEnd, KnownEnds
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.gateway import gateway_of, zones_of
from gpu_fabric.components.interconnect.limits import (
    GATEWAYS,
    PRIVATE_BLOCKS,
    SCALABLE,
    SCALABLE_NOT_IN,
    SLA,
)
from gpu_fabric.components.interconnect.numbers import link_numbers
from gpu_fabric.components.interconnect.settings import AwsGateway, InterconnectSettings, Partner


def notes(settings: InterconnectSettings, ends: KnownEnds, exchange: Exchange | None) -> Iterator[str]:
    """One sentence or two each: the SLA, the numbers, then what the choice of partner and gateways brings."""
    if settings.partner is not Partner.NATIVE:
        yield f"redundancy: {settings.redundancy.value}. {SLA[settings.redundancy.value]}"
    numbers = link_numbers(settings, ends)
    yield from numbers.sentences()
    yield from numbers.warnings()
    if settings.aws_gateway is AwsGateway.VIRTUAL_PRIVATE:
        yield (
            f"routes: a virtual private gateway announces its VPC's whole block ({vpc_block(settings, ends)}), and "
            f"Azure's gateway that of its virtual network ({_whole(ends.azure)}). The nodes' routes and firewall rules "
            "name the nodes' subnets alone; `awsGateway: transit` announces AWS's subnet alone."
        )
    if settings.aws_transit_gateway_id is not None:
        yield (
            "awsTransitGatewayId: the gateway keeps its own ASN, which is not looked at; it must be another than "
            f"{settings.asns.amazon} of the Direct Connect gateway, or AWS refuses the association."
        )
    if settings.circuit.id is not None:
        yield (
            "circuit.id: the link makes a private peering on this circuit, which may have none yet. Its rate, tier and "
            "location are what the stack file says; they are not looked at."
        )
    if settings.route_isolation and ends.azure.adopted:
        yield (
            "routes: `routeIsolation` makes the network ACL on AWS. On Azure the rules are those of the nodes' "
            "security group: a new one has them where its cluster is told (`otherCloud.routeIsolation`); to an "
            f"adopted one add them yourself: allow {ends.azure.nodes} and {ends.aws.nodes} outbound, deny "
            f"{', '.join(map(str, PRIVATE_BLOCKS))}."
        )
    vlans = settings.manual.vlans
    for vlan in sorted({one for one in vlans if vlans.count(one) > 1}):
        yield (
            f"manual.vlans: {vlan} stands here twice. A VLAN belongs to its connection, so both may have it; see that "
            "your partner gave it to both."
        )
    yield from _gateway(settings, ends)
    yield from _public(settings, ends)
    if exchange is not None and far_from_aws(exchange, ends.aws.region):
        yield (
            f"routes: the Direct Connect sites at {exchange.location} belong to {', '.join(exchange.aws)}. The "
            f"connection is asked for and confirmed in {ends.aws.region}; find out whether it is sold there."
        )
    if settings.bgp_key_from is None and settings.bgp_key is None and settings.partner is not Partner.NATIVE:
        yield "BGP: AWS makes a key for its sessions; Azure's sessions have none without `bgpKeyFrom`."
    if settings.partner is Partner.NATIVE:
        yield (
            "native: 1 Gb/s without an SLA while Azure's side is in preview. Training whose stages wait is about "
            "8 to 9 times slower than inside a cloud at 1 Gb/s (a simulated 1F1B schedule)."
        )
    if settings.partner is Partner.MEGAPORT:
        yield (
            "megaport: the rate of a cloud router is fixed for its life, and Azure's peering goes before Megaport's "
            "connections when the link is destroyed."
        )
    if ends.aws.adopted or ends.azure.adopted:
        yield (
            "network: adopted networks keep their own firewall rules; they must let the other side's nodes in: "
            f"{ends.azure.nodes} on AWS, {ends.aws.nodes} on Azure."
        )
    yield (
        "latency: every round-trip time here that is an estimate is to be measured before training "
        "(`ping -M do -s 1372` between two nodes also shows that 1400 bytes pass)."
    )


def _whole(end: KnownEnd) -> str:
    return str(end.network) if end.whole and end.network is not None else "not known here"


def _gateway(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[str]:
    azure = ends.azure.region
    chosen, zones = gateway_of(settings, azure), zones_of(settings, azure)
    if chosen is None:
        return
    size = next((one for one in GATEWAYS if one.name == chosen.sku), None)
    if size is not None and not size.zonal and zones:
        yield f"gateway: {size.name} does not spread over zones, and {azure} has them."
    elif size is not None and not size.zonal and settings.gateway.sku is None:
        yield (
            f"gateway: {azure} has no zones that are known, so it gets {size.name} and an address without zones. "
            "Whether Azure also takes a size with AZ there is unverified; `gateway.sku` with `gateway.zones: []` asks "
            "for one."
        )
    if chosen.sku == SCALABLE and azure in SCALABLE_NOT_IN:
        yield f"gateway: {SCALABLE} was not in {azure} when its page was last read (azure docs, 2025-11-06)."


def _public(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[str]:
    """Blocks of the internet's addresses: legal on both clouds, and a mistake unless they are the user's own."""
    links = planned_links(settings)
    blocks = {"the VPC": vpc_block(settings, ends), "the virtual network": ends.azure.network}
    blocks |= {} if links is None else {"the on-link block": links.azure[0].block}
    for whose, block in blocks.items():
        if block is not None and block.is_global:
            yield (
                f"routes: {whose} has public addresses ({block}). Unless they are yours, both sides lose the part of "
                "the internet that has them; private ones are those of RFC 1918."
            )
