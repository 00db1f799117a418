"""What is legal and worth knowing before it happens: said at preview, never refused."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.interconnect.checks import vpc_block
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.limits import SLA
from gpu_fabric.components.interconnect.numbers import link_numbers
from gpu_fabric.components.interconnect.settings import AwsGateway, InterconnectSettings, Partner


def notes(settings: InterconnectSettings, ends: KnownEnds, exchange: Exchange | None) -> Iterator[str]:
    """One sentence or two each: the SLA, the numbers, then what the choice of partner and gateways brings."""
    if settings.partner is not Partner.NATIVE:
        yield f"redundancy: {settings.redundancy.value}. {SLA[settings.redundancy.value]}"
    numbers = link_numbers(settings, ends, exchange)
    yield from numbers.sentences()
    yield from numbers.warnings()
    if settings.aws_gateway is AwsGateway.VIRTUAL_PRIVATE:
        yield (
            f"routes: a virtual private gateway announces its VPC's whole block ({vpc_block(settings, ends)}), and "
            f"Azure's gateway that of its virtual network ({ends.azure.network or 'unknown'}). The nodes' routes and "
            "firewall rules name the nodes' subnets alone; `awsGateway: transit` announces AWS's subnet alone."
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
