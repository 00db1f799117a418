"""What the link will carry, how long it takes and what it costs, said at preview. Estimates say that they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_fabric.components.interconnect.billing import link_parts
from gpu_fabric.components.interconnect.derived import estimate
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.gateway import ChosenGateway, gateway_of
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.components.prices import stack_prices
from gpu_fabric.nccl.bootstrap import CrossCloudRoutes
from gpu_fabric.nccl.environment.flows import FLOW_LIMIT_GBPS
from gpu_fabric.planning.link import ETHERNET_OVERHEAD, LinkModel
from gpu_fabric.planning.price import LineItem, PriceTable, Unknown, link_items
from gpu_fabric.planning.price.table import HOURS_PER_MONTH, OWN_PRICES
from gpu_fabric.planning.spec import UNKNOWN_RTT_MS

ACTIVATIONS = 64 * 2**20
"""Bytes of one microbatch of 4096 tokens with a hidden size of 8192 in bf16, as an example."""


@dataclass(frozen=True)
class LinkNumbers:
    link: LinkModel
    """With all flows of one pair of ranks."""
    gateway: ChosenGateway
    packets_per_second: float
    """Full packets that fill the link."""
    activation_seconds: float
    """One microbatch's activations (`ACTIVATIONS`) over the link, half the round trip included."""
    bill: tuple[LineItem, ...]
    """At the link's full use, both ways, for a month."""

    @property
    def monthly_usd(self) -> float:
        """What has a price."""
        return sum(item.per_month or 0.0 for item in self.bill)

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
        yield from self._month()

    def _month(self) -> Iterator[str]:
        """The bill: what has a price, then what has none, each with the reason."""
        priced = [f"{_counted(one)}: {one.per_month:,.0f}" for one in self.bill if one.per_month is not None]
        if priced:
            yield f"a month at full use: {self.monthly_usd:,.0f} USD ({'; '.join(priced)})"
        else:
            yield "a month at full use: no part of it has a known price"
        reasons = [
            f"{_counted(one)} ({one.price.reason})" for one in self.bill if isinstance(one.price, Unknown)
        ]
        if reasons:
            yield (
                f"not priced, and in no sum: {'; '.join(reasons)}. Prices of your own are read from the file that "
                f"${OWN_PRICES} names"
            )


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
    settings: InterconnectSettings, ends: KnownEnds, table: PriceTable | None = None
) -> LinkNumbers:
    """The numbers of settings that have no problems. `table`: by default the prices in force."""
    link = link_model(settings, ends)
    gateway = gateway_of(settings, ends.azure.region)
    assert gateway is not None
    volume = link.goodput_gbps / 8 * 3600 * HOURS_PER_MONTH
    return LinkNumbers(
        link,
        gateway,
        link.bandwidth_gbps * 1e9 / 8 / (link.mtu + ETHERNET_OVERHEAD),
        link.transfer_seconds(ACTIVATIONS) + link.rtt_ms / 2e3,
        tuple(link_items(link_parts(settings, ends), table or stack_prices(), volume)),
    )


def _counted(item: LineItem) -> str:
    return item.what if item.by_volume or item.quantity == 1 else f"{item.quantity:g} x {item.what}"
