"""The private link between the clouds: Direct Connect, a partner, ExpressRoute.

Creates: the link's ends on AWS (`aws_side`) and on Azure (`azure_side`), and between them what the partner needs
(`equinix`, `megaport`; `manual` and `native` order by hand and go on with `provisioned: true`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi

from gpu_fabric.components.component import child, settings_from_arguments
from gpu_fabric.components.interconnect.addresses import LinkPlan
from gpu_fabric.components.interconnect.arguments import CrossCloudInterconnectArgs
from gpu_fabric.components.interconnect.aws_side import AwsEnd, AwsLinkEnd
from gpu_fabric.components.interconnect.azure_side import (
    ABSENT,
    AzureEnd,
    AzureLinkEnd,
    CircuitNow,
    circuit_now,
)
from gpu_fabric.components.interconnect.changes import Ordered, own_circuit, refusals, still_held
from gpu_fabric.components.interconnect.checks import check
from gpu_fabric.components.interconnect.communicators import communicators
from gpu_fabric.components.interconnect.derived import (
    PROVIDERS,
    exchange_of,
    gateway_block,
    planned_links,
)
from gpu_fabric.components.interconnect.ends import KnownEnds, ends_of
from gpu_fabric.components.interconnect.exchanges import Exchange
from gpu_fabric.components.interconnect.gateway import circuit_sku, gateway_of
from gpu_fabric.components.interconnect.hosts import host_notes
from gpu_fabric.components.interconnect.manual import manual
from gpu_fabric.components.interconnect.names import circuit_place
from gpu_fabric.components.interconnect.native import native_steps
from gpu_fabric.components.interconnect.notes import notes
from gpu_fabric.components.interconnect.numbers import link_numbers
from gpu_fabric.components.interconnect.partner import Joined, Order
from gpu_fabric.components.interconnect.proof import proof
from gpu_fabric.components.interconnect.settings import (
    CrossCloudSettings,
    InterconnectSettings,
    Partner,
)
from gpu_fabric.components.problems import raise_if_any

PROVISIONED = "Provisioned"


def _partner(partner: Partner) -> Callable[[Order], Joined]:
    """The partner's function; its SDK is loaded where it is used alone."""
    if partner is Partner.EQUINIX:
        from gpu_fabric.components.interconnect.equinix import equinix

        return equinix
    if partner is Partner.MEGAPORT:
        from gpu_fabric.components.interconnect.megaport import megaport

        return megaport
    return manual


@dataclass(frozen=True)
class Ends:
    """Both networks: what the clouds know of them, and what is known before."""

    aws: AwsEnd
    azure: AzureEnd
    known: KnownEnds


class CrossCloudInterconnect(pulumi.ComponentResource):
    """A link from the nodes of one cloud to those of the other."""

    connected: bool
    """Whether this plan joins both ends. False in the first phase of `manual`, and always for `native`: the clouds join
    the ends there, and no plan sees it."""
    service_key: pulumi.Output[str | None]
    """Of the circuit, for whoever provisions it; a secret."""
    direct_connect_gateway_id: pulumi.Output[str]
    to_do: pulumi.Output[list[str]]
    """What is to be ordered by hand, in order; empty where nothing is."""
    link: pulumi.Output[dict[str, Any]]
    """Bandwidth, round trip with its basis, usable bandwidth, gateway, redundancy, MTU, on-link blocks, and the
    commands by which a node of each cloud proves it all."""
    nccl: pulumi.Output[dict[str, Any]]
    """Settings for the communicator that crosses, as the frameworks take them."""

    def __init__(
        self,
        name: str,
        args: CrossCloudInterconnectArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Raises InvalidInputError with every problem of `args` before anything is declared."""
        settings = settings_from_arguments(
            CrossCloudSettings,
            args,
            f"CrossCloudInterconnect {name!r}",
            lambda read: check(read, ends_of(read)),
        )
        aws, azure = settings.aws, settings.azure
        ends = Ends(
            AwsEnd(
                vpc_id=aws.vpc_id,
                subnet_id=aws.subnet_id,
                vpc_cidr=aws.vpc_cidr,
                nodes_cidr=aws.subnet_cidr,
                route_table_ids=settings.aws_route_table_ids,
                security_group_id=aws.security_group_id,
                region=aws.region,
            ),
            AzureEnd(virtual_network_id=azure.virtual_network_id, location=azure.location),
            ends_of(settings),
        )
        self._build(name, settings, ends, opts)
        for note in host_notes(settings):
            pulumi.log.warn(note, resource=self)

    @classmethod
    def from_settings(
        cls,
        name: str,
        settings: InterconnectSettings,
        ends: Ends,
        opts: pulumi.ResourceOptions | None = None,
    ) -> CrossCloudInterconnect:
        """The same from settings that have no problems with these networks (`checks.check`)."""
        link = cls.__new__(cls)
        link._build(name, settings, ends, opts)
        return link

    def _build(
        self,
        name: str,
        settings: InterconnectSettings,
        ends: Ends,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        super().__init__("gpu-fabric:index:CrossCloudInterconnect", name, None, opts)
        known, more = ends.known, settings.tags
        exchange, links = exchange_of(settings, known), planned_links(settings)
        gateway, block = gateway_of(settings, known.azure.region), gateway_block(settings, known)
        assert links is not None
        assert gateway is not None
        assert block is not None
        native = settings.partner is Partner.NATIVE
        assert native or exchange is not None
        bgp_key = settings.bgp_key
        if settings.bgp_key_from is not None:
            bgp_key = pulumi.Config("gpu-fabric").require_secret(settings.bgp_key_from)
        provider = PROVIDERS.get(settings.partner, settings.manual.provider)
        peering_location = exchange.location if exchange is not None else ""
        sku = None if native or exchange is None else circuit_sku(settings, exchange, ends.azure.location)
        own = circuit_place(name, None)
        raise_if_any(name, own_circuit(settings, own))
        if settings.partner is Partner.MANUAL and settings.circuit.id is not None:
            there = circuit_now(own, self, key="circuit.id")
            raise_if_any(name, [still_held(own, there.state)] if there.held else [])
        now = None
        if settings.partner is Partner.MANUAL and settings.provisioned and sku is not None:
            now = circuit_now(circuit_place(name, settings.circuit.id), self)
            if now.held and now.ordered is not None and settings.circuit.id is None:
                wanted = Ordered(
                    settings.bandwidth_mbps, sku[1], provider, peering_location, ends.azure.location
                )
                raise_if_any(name, refusals(now.ordered, wanted))
        aws = AwsLinkEnd(
            name, settings, ends.aws, other_nodes=str(known.azure.nodes), extra_tags=more, opts=child(self)
        )
        azure = AzureLinkEnd(
            name,
            settings,
            ends.azure,
            gateway=gateway,
            gateway_block=block,
            sku=sku,
            provider=provider,
            peering_location=peering_location,
            extra_tags=more,
            opts=child(self),
        )
        for note in notes(settings, known, exchange):
            pulumi.log.warn(note, resource=self) if _urgent(note) else pulumi.log.info(note, resource=self)
        later = pulumi.Output.from_input
        to_do: list[pulumi.Input[str]] = []
        self.connected = False
        if native:
            if not settings.provisioned:
                to_do = native_steps(
                    settings, aws.direct_connect_gateway_id, azure.gateway_id, ends.azure.location
                )
        elif exchange is not None and self._may_connect(name, settings, now):
            self.connected = True
            self._join(name, settings, ends, exchange, links, aws, azure, bgp_key)
        elif exchange is not None:
            to_do = list(_order_by_hand(settings, exchange, links))
        for number, step in enumerate(to_do, 1):
            later(step).apply(
                lambda text, number=number: pulumi.log.warn(f"to do {number}: {text}", resource=self)
            )
        self.service_key = later(azure.service_key)
        self.direct_connect_gateway_id = aws.direct_connect_gateway_id
        self.to_do = pulumi.Output.all(*to_do) if to_do else later([])
        numbers = link_numbers(settings, known)
        self.link = later(
            {
                "partner": settings.partner.value,
                "connected": self.connected,
                "bandwidthMbps": settings.bandwidth_mbps,
                "usableGbps": round(numbers.link.goodput_gbps, 3),
                "roundTripMs": numbers.link.rtt_ms,
                "roundTripBasis": numbers.link.basis,
                "pathMtu": numbers.link.mtu,
                "flowsPerPair": numbers.link.flows,
                "gateway": gateway.sku,
                "redundancy": settings.redundancy.value,
                "proof": proof(numbers.link, settings.rtt_limit_ms),
                "onLink": {
                    "azure": [str(one.block) for one in links.azure],
                    "aws": [str(one.block) for one in links.aws[: settings.connections]],
                },
            }
        )
        self.nccl = later(communicators(settings.bandwidth_mbps))
        self.register_outputs(
            {
                "service_key": self.service_key,
                "direct_connect_gateway_id": self.direct_connect_gateway_id,
                "to_do": self.to_do,
                "link": self.link,
                "nccl": self.nccl,
            }
        )

    def _may_connect(self, name: str, settings: InterconnectSettings, now: CircuitNow | None) -> bool:
        """Whether the plan goes on to the peering: a partner that provisions itself, or a circuit that is there."""
        if settings.partner in PROVIDERS:
            return True
        if now is None:
            return False
        if now.state == PROVISIONED:
            return True
        if now.peered:
            pulumi.log.warn(
                f"provisioned: the circuit is {now.state} and still has its private peering, so the link stays in this "
                "plan as it was. To take it down, drop `provisioned` and run `up` before your partner releases the "
                "circuit.",
                resource=self,
            )
            return True
        if now.state == ABSENT:
            place = circuit_place(name, settings.circuit.id)
            what = (
                f"no circuit {place.name} is in {place.group} of the subscription that this login sees, "
                "so this plan is that of the first phase"
            )
        else:
            what = f"the circuit is {now.state}, so this plan stops before the peering, as in the first phase"
        pulumi.log.warn(
            f"provisioned: {what}. If the link was up before, it REMOVES its virtual interfaces, peering and "
            "connection: look at the plan. If not, give the service key to your partner and run `up` again when the "
            "circuit is Provisioned.",
            resource=self,
        )
        return False

    def _join(
        self,
        name: str,
        settings: InterconnectSettings,
        ends: Ends,
        exchange: Exchange,
        links: LinkPlan,
        aws: AwsLinkEnd,
        azure: AzureLinkEnd,
        bgp_key: Any,
    ) -> None:
        assert azure.service_key is not None
        joined = _partner(settings.partner)(
            Order(
                name=name,
                parent=self,
                settings=settings,
                exchange=exchange,
                links=links,
                aws_region=ends.aws.region,
                service_key=azure.service_key,
                bgp_key=bgp_key,
            )
        )
        keys = aws.connect(joined.aws, links, joined.asns, bgp_key)
        azure.connect(links, partner_asn=joined.asns[0], ready_when=joined.circuit_ready, bgp_key=bgp_key)
        joined.finish(keys)


def _urgent(note: str) -> bool:
    return note.startswith(("gateway:", "flows:", "routes:", "native:"))


def _order_by_hand(settings: InterconnectSettings, exchange: Exchange, links: LinkPlan) -> list[str]:
    """What to order from the partner at this location, and what to write into the stack file after it."""
    count = settings.connections
    ports = "the primary port" if count == 1 else "the primary and the secondary port"
    account = (
        "your AWS account" if settings.aws_account is None else f"the AWS account {settings.aws_account}"
    )
    azure = ", ".join(str(one.block) for one in links.azure[:count])
    aws = ", ".join(str(one.block) for one in links.aws[:count])
    key = (
        f"the key that `bgpKeyFrom: {settings.bgp_key_from}` names"
        if settings.bgp_key_from is not None
        else "the key that AWS makes for its interface, which your partner needs after the second `up` (`aws "
        "directconnect describe-virtual-interfaces --query virtualInterfaces[].authKey`; or set `bgpKeyFrom` before), "
        "and none towards Azure"
    )
    return [
        f"order from your partner at {exchange.location} ({exchange.metro}): {count} hosted Direct Connect "
        f"connection(s) of {settings.bandwidth_mbps} Mb/s for {account}, and {count} connection(s) of "
        f"the same rate to {ports} of the circuit, with its service key (`pulumi stack output --show-secrets`)",
        f"have its routers speak BGP as AS {settings.asns.partner}: towards Azure on {azure} (the partner has the "
        f"first address, Microsoft the second, AS 12076, VLAN {settings.azure_vlan}); towards AWS on {aws} (Amazon has "
        f"the first address, AS {settings.asns.amazon}); MTU {settings.mtu}, BFD {'on' if settings.bfd else 'off'}, no "
        f"default route; with {key}",
        "when the circuit is Provisioned: write `manual.connectionIds` and `manual.vlans` of the connections, or "
        "`manual.interfaceIds` where the partner made the virtual interfaces itself, and `provisioned: true`, and run "
        "`up` again",
    ]
