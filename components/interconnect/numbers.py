"""What the link will carry, how long it takes and what it costs, said at preview. Estimates say that they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_fabric.components.interconnect.derived import estimate
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.gateway import ChosenGateway, circuit_sku, gateway_of
from gpu_fabric.components.interconnect.settings import Family, InterconnectSettings, Partner, Tier
from gpu_fabric.nccl.bootstrap import CrossCloudRoutes
from gpu_fabric.nccl.environment.flows import FLOW_LIMIT_GBPS
from gpu_fabric.planning.link import ETHERNET_OVERHEAD, LinkModel
from gpu_fabric.planning.price.table import PriceTable, Unknown, load_table
from gpu_fabric.planning.spec import UNKNOWN_RTT_MS

ACTIVATIONS = 64 * 2**20
"""Bytes of one microbatch of 4096 tokens with a hidden size of 8192 in bf16, as an example."""

HOURS_A_MONTH = 730

ZONES = {"North America": "Zone 1", "Europe": "Zone 1"}
"""ExpressRoute's billing zones; the other geographies of the table are Zone 2. azure docs,
expressroute/expressroute-locations-providers.md, column Zone."""


@dataclass(frozen=True)
class LinkNumbers:
    link: LinkModel
    """With all flows of one pair of ranks."""
    gateway: ChosenGateway
    packets_per_second: float
    """Full packets that fill the link."""
    activation_seconds: float
    """One microbatch's activations (`ACTIVATIONS`) over the link, half the round trip included."""
    monthly: tuple[str, ...]
    """The bill's lines, each with its amount or the reason why it has none."""
    monthly_usd: float
    """What has a price, at the link's full use for a month."""

    def warnings(self) -> Iterator[str]:
        """Where something is narrower than the link."""
        if self.gateway.mbps < self.link.bandwidth_gbps * 1000:
            yield f"gateway: {self.gateway.sku} carries {self.gateway.mbps} Mb/s of {self.link.bandwidth_gbps * 1000:g}"
        if self.packets_per_second > self.gateway.packets:
            yield (
                f"gateway: full packets alone are {self.packets_per_second:,.0f} a second at this bandwidth, and "
                f"{self.gateway.sku} takes {self.gateway.packets:,}; choose a larger `gateway.sku`"
            )
        if self.link.limited_by_flows:
            yield f"flows: {self.link.limit} carry {self.link.goodput_gbps:.1f} Gb/s of {self.link.bandwidth_gbps:g}"
        if self.link.bandwidth_gbps > FLOW_LIMIT_GBPS:
            yield (
                f"flows: AWS limits one TCP flow to {FLOW_LIMIT_GBPS:g} Gb/s outside a placement group, so a single "
                f"flow leaves {self.link.bandwidth_gbps - FLOW_LIMIT_GBPS:g} of {self.link.bandwidth_gbps:g} Gb/s "
                f"unused; the nodes' NCCL settings open {self.link.flows}"
            )

    def sentences(self) -> Iterator[str]:
        """The numbers, one sentence each."""
        link = self.link
        yield f"round trip: {link.rtt_ms:g} ms ({link.basis})"
        yield (
            f"usable: {link.goodput_gbps:.2f} of {link.bandwidth_gbps:g} Gb/s a direction after the headers of packets "
            f"of {link.mtu} bytes ({link.payload_share:.1%}); limited by {link.limit}"
        )
        yield (
            f"packets: {self.packets_per_second:,.0f} a second fill the link; {self.gateway.sku} takes "
            f"{self.gateway.packets:,}"
        )
        yield (
            f"activations: {ACTIVATIONS / 2**20:.0f} MiB (4096 tokens of hidden size 8192 in bf16) take "
            f"{self.activation_seconds * 1e3:.1f} ms across"
        )
        yield f"buffers: {link.bandwidth_delay_mb:.1f} MB in flight fill the link; a socket may grow to twice that"
        lines = "; ".join(self.monthly)
        known = f"{self.monthly_usd:,.0f} USD of what has" if self.monthly_usd else "no part has"
        yield f"a month at full use: {known} a published price ({lines})"


def round_trip(settings: InterconnectSettings, ends: KnownEnds) -> tuple[float, str]:
    """Milliseconds to count with, and their basis in words."""
    if settings.rtt_ms is not None:
        return settings.rtt_ms, "measured, given in the stack file"
    pair = estimate(settings, ends)
    if pair is None:
        return UNKNOWN_RTT_MS, f"no estimate for this way; counted with {UNKNOWN_RTT_MS:g} ms, measure it"
    return pair.rtt_ms, pair.basis


def link_model(settings: InterconnectSettings, ends: KnownEnds) -> LinkModel:
    rtt, basis = round_trip(settings, ends)
    return LinkModel(settings.bandwidth_mbps / 1000, rtt, basis=basis)


def routes_to(settings: InterconnectSettings, ends: KnownEnds, prefix: str) -> CrossCloudRoutes:
    """What the boot of a node needs to reach `prefix`, the other side's nodes."""
    return CrossCloudRoutes((prefix,), settings.bandwidth_mbps, round_trip(settings, ends)[0])


def link_numbers(
    settings: InterconnectSettings,
    ends: KnownEnds,
    exchange: Exchange | None,
    table: PriceTable | None = None,
) -> LinkNumbers:
    """The numbers of settings that have no problems."""
    link = link_model(settings, ends)
    gateway = gateway_of(settings, ends.azure.region)
    assert gateway is not None
    lines, total = _monthly(settings, ends, exchange, gateway, link, table or load_table())
    return LinkNumbers(
        link,
        gateway,
        link.bandwidth_gbps * 1e9 / 8 / (link.mtu + ETHERNET_OVERHEAD),
        link.transfer_seconds(ACTIVATIONS) + link.rtt_ms / 2e3,
        tuple(lines),
        total,
    )


def _monthly(
    settings: InterconnectSettings,
    ends: KnownEnds,
    exchange: Exchange | None,
    gateway: ChosenGateway,
    link: LinkModel,
    table: PriceTable,
) -> tuple[list[str], float]:
    """Lines with amounts, and their sum in USD. Full use is the goodput both ways, all month."""
    gigabytes = link.goodput_gbps / 8 * 3600 * HOURS_A_MONTH
    rate = str(settings.bandwidth_mbps)
    aws, azure, count = ends.aws.region, ends.azure.region, settings.connections
    rows = [(f"ExpressRoute gateway {gateway.sku}", 1.0, "expressroute-gateway", gateway.sku, azure, "")]
    if settings.partner is Partner.NATIVE:
        rows.append(("native connection", 1.0, "native-connection", rate, None, ""))
    else:
        rows.append((f"{count} x Direct Connect", count, "direct-connect-port", rate, aws, ""))
        rows.append(("egress from AWS", gigabytes, "direct-connect-egress", "aws", aws, ""))
        connection = f"{settings.partner.value}-connection"
        rows.append(
            (f"{2 * count} x {settings.partner.value} connection", 2 * count, connection, rate, None, "")
        )
        tier, family = (
            circuit_sku(settings, exchange, azure) if exchange and azure else (Tier.STANDARD, Family.METERED)
        )
        if tier is Tier.LOCAL:
            rows.append(("circuit Local, egress included", 1.0, "expressroute-local", rate, None, ""))
        else:
            zone = ZONES.get(exchange.geography if exchange else "", "Zone 2")
            purchase = "metered" if family is Family.METERED else "unlimited"
            rows.append(
                (f"circuit {tier.value} {purchase}", 1.0, "expressroute-circuit", rate, zone, purchase)
            )
            if family is Family.METERED:
                rows.append(("egress from Azure", gigabytes, "expressroute-egress", "azure", zone, purchase))
    lines, total = [], 0.0
    for what, amount, item, name, region, purchase in rows:
        price = table.find(item, name, region, purchase) if purchase else table.find(item, name, region)
        if isinstance(price, Unknown):
            lines.append(f"{what}: {price.reason}")
            continue
        per_month = {"hour": HOURS_A_MONTH, "month": 1, "GB": 1}[price.unit]
        usd = price.usd * amount * per_month
        total += usd
        lines.append(f"{what}: {usd:,.0f}")
    return lines, total
