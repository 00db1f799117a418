"""The rules for the link, each a small function from settings and both networks to problems.

A rule says where, what is wrong, and what to do. What is legal but worth knowing is in `notes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Network

import pulumi
from pulumi.runtime.config import is_config_secret

from gpu_fabric.components.azure.limits import RDMA_NETWORK, UNUSABLE_BLOCKS, ZONES
from gpu_fabric.components.interconnect.addresses import (
    DEFAULT_LINK,
    SMALLEST_LINK_BLOCK,
    LinkPlan,
    link_plan,
)
from gpu_fabric.components.interconnect.ends import KnownEnds, as_block
from gpu_fabric.components.interconnect.exchanges import (
    Exchange,
    common_exchange,
    exchange_named,
    exchanges,
    geography_of,
)
from gpu_fabric.components.interconnect.gateway import gateway_of, tiers_that_reach, zones_of
from gpu_fabric.components.interconnect.limits import (
    AMAZON_SIDE,
    CIRCUIT_MBPS,
    EQUINIX_LAB_MBPS,
    EQUINIX_MBPS,
    FAST_PATH_SCALE_UNITS,
    GATEWAY_PREFIX,
    GATEWAYS,
    HOSTED_MBPS,
    LAST_ASN,
    LINK_MTU,
    LOCAL_MBPS,
    NATIVE_AZURE_REGIONS,
    NATIVE_MBPS,
    PATH_MTU,
    RESERVED_ASNS,
    SCALABLE,
    SCALE_UNITS,
    VLANS,
)
from gpu_fabric.components.interconnect.settings import (
    AwsGateway,
    Family,
    InterconnectSettings,
    Partner,
    Redundancy,
    Tier,
)
from gpu_fabric.components.problems import Problem
from gpu_fabric.components.subnets import read_block
from gpu_fabric.planning.regions import closest_partner, region_pair, region_pairs

_ACCOUNT = re.compile(r"\d{12}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_CONNECTION = re.compile(r"dx(con|lag)-[0-9a-z]{8,}")
"""A connection, or a group of them. DX API reference, ConnectionId and LagId in its examples."""

#: What partner and clouds all sell. Megaport's connections take any rate.
_SOLD: Mapping[Partner, tuple[int, ...]] = {
    Partner.EQUINIX: tuple(rate for rate in CIRCUIT_MBPS if rate in HOSTED_MBPS and rate in EQUINIX_MBPS),
    Partner.MEGAPORT: tuple(rate for rate in CIRCUIT_MBPS if rate in HOSTED_MBPS),
    Partner.MANUAL: CIRCUIT_MBPS,
    Partner.NATIVE: NATIVE_MBPS,
}

#: As ExpressRoute names the partners.
PROVIDERS: Mapping[Partner, str] = {Partner.EQUINIX: "Equinix", Partner.MEGAPORT: "Megaport"}


def _nearest(value: int, sold: tuple[int, ...]) -> str:
    below = [rate for rate in sold if rate < value]
    above = [rate for rate in sold if rate > value]
    return " or ".join(str(rate) for rate in (*below[-1:], *above[:1]))


def _bandwidth(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    sold, rate = _SOLD[settings.partner], settings.bandwidth_mbps
    if rate in sold:
        return
    if settings.partner is Partner.NATIVE:
        what, remedy = "Azure's preview of the native interconnect has 1000 Mb/s only", "set it to 1000"
    elif rate > CIRCUIT_MBPS[-1]:
        what = f"{rate} Mb/s is more than a circuit through a provider carries ({CIRCUIT_MBPS[-1]})"
        remedy = f"give {sold[-1]}; above it is ExpressRoute Direct, which this release does not lay out"
    else:
        what = f"{rate} Mb/s is not sold by all of Direct Connect, ExpressRoute and {settings.partner.value}"
        remedy = f"give the nearest that is: {_nearest(rate, sold)}"
    yield Problem(("bandwidth_mbps",), what, remedy)


def exchange_of(settings: InterconnectSettings, ends: KnownEnds) -> Exchange | None:
    """The location that the user named or that is near both regions; None where there is none."""
    if settings.exchange is not None:
        known = exchange_named(settings.exchange)
        if known is not None:
            return known
        if settings.equinix.metro is None and settings.partner is Partner.EQUINIX:
            return None
        geography = geography_of(ends.azure.region or "") or ""
        # The user vouches for a location that the table lacks.
        provider = PROVIDERS.get(settings.partner, settings.manual.provider)
        return Exchange(settings.exchange, settings.equinix.metro or "", geography, (), (), (provider,))
    return common_exchange(ends.aws.region, ends.azure.region, PROVIDERS.get(settings.partner))


def _exchange(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    if settings.partner is Partner.NATIVE:
        if ends.azure.region is not None and ends.azure.region not in NATIVE_AZURE_REGIONS:
            yield Problem(
                ("partner",),
                f"the native interconnect is in {', '.join(NATIVE_AZURE_REGIONS)}, not in {ends.azure.region}",
                "choose another partner, or one of these regions",
            )
        return
    exchange = exchange_of(settings, ends)
    if exchange is None and settings.exchange is not None:
        known = ", ".join(dict.fromkeys(row.location for row in exchanges()))
        yield Problem(
            ("exchange",),
            f"{settings.exchange!r} is not in the table of peering locations",
            f"give one of {known}; or give its metro as `equinix.metro` too",
        )
    elif exchange is None and ends.aws.region is not None and ends.azure.region is not None:
        yield Problem(("exchange",), *_no_common(ends.aws.region, ends.azure.region))
    elif exchange is not None:
        provider = PROVIDERS.get(settings.partner)
        if provider is not None and provider not in exchange.providers:
            there = [
                row.location
                for row in exchanges()
                if provider in row.providers and set(row.aws) & set(exchange.aws)
            ]
            yield Problem(
                ("exchange",),
                f"{provider} is not at {exchange.location}",
                f"give {' or '.join(there)}" if there else "choose another partner",
            )
        yield from _far_from_aws(settings, ends.aws.region, exchange)


def _far_from_aws(settings: InterconnectSettings, aws: str | None, exchange: Exchange) -> Iterator[Problem]:
    """A hosted connection belongs to the region of its Direct Connect site, and is confirmed there."""
    if aws is None or not exchange.aws or aws in exchange.aws or settings.rtt_ms is not None:
        return
    near = [row.location for row in exchanges() if aws in row.aws]
    ways = f"give {' or '.join(near)}, drop the key" if near else "drop the key"
    yield Problem(
        ("exchange",),
        f"the Direct Connect sites at {exchange.location} belong to {', '.join(exchange.aws)}, not to {aws}, and the "
        "estimate of the round trip is not of this way",
        f"{ways}, or give the measured `rttMs` if you have a link there",
    )


def _no_common(aws: str, azure: str) -> tuple[str, str]:
    what = f"no known location is near both {aws} and {azure}"
    near_aws = [pair for pair in region_pairs() if pair.aws == aws]
    near_azure = [pair for pair in region_pairs() if pair.azure == azure]
    ways = [f"with {aws}: {', '.join(pair.azure for pair in near_aws)}"] if near_aws else []
    ways += [f"with {azure}: {', '.join(pair.aws for pair in near_azure)}"] if near_azure else []
    nearest = f"the nearest pairs are, {'; '.join(ways)}; " if ways else ""
    return what, f"{nearest}or give a peering location as `exchange` and the measured `rttMs`"


def _tier(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    exchange, tier, azure = exchange_of(settings, ends), settings.circuit.tier, ends.azure.region
    if settings.partner is Partner.NATIVE or tier is None or exchange is None or azure is None:
        return
    reach = tiers_that_reach(exchange, azure, settings.bandwidth_mbps)
    if tier in reach:
        if tier is Tier.LOCAL and settings.circuit.family is Family.METERED:
            yield Problem(
                ("circuit", "family"), "the tier Local is sold as UnlimitedData only", "drop the key"
            )
        return
    if tier is Tier.LOCAL and azure in exchange.local:
        what = f"the tier Local begins at {LOCAL_MBPS} Mb/s, and {settings.bandwidth_mbps} are asked for"
    elif tier is Tier.LOCAL:
        local = ", ".join(exchange.local) or "no region that is known"
        what = f"the tier Local at {exchange.location} reaches {local}, not {azure}"
    else:
        what = f"the tier {tier.value} at {exchange.location} reaches {exchange.geography} only, not {azure}"
    yield Problem(("circuit", "tier"), what, f"set it to {reach[0].value}, or drop the key")


def _gateway(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    azure = ends.azure.region
    gateway = gateway_of(settings, azure)
    if gateway is None:
        names = ", ".join([*(one.name for one in GATEWAYS), SCALABLE])
        yield Problem(
            ("gateway", "sku"),
            f"{settings.gateway.sku!r} is not a gateway of ExpressRoute",
            f"give one of {names}",
        )
        return
    zones = zones_of(settings, azure)
    spread = next((one.zonal for one in GATEWAYS if one.name == gateway.sku), True)
    if spread is not bool(zones):
        usable = [one.name for one in GATEWAYS if one.zonal is bool(zones)]
        yield Problem(
            ("gateway", "sku"),
            f"{gateway.sku} spreads over zones, and {azure} has none that are known"
            if spread
            else f"{gateway.sku} is for regions without zones, and {azure} has them",
            f"give {' or '.join(usable)}, or drop the key; `gateway.zones` says otherwise of the region",
        )
    wrong = [zone for zone in settings.gateway.zones or () if zone not in ZONES]
    if wrong:
        yield Problem(
            ("gateway", "zones"),
            f"{', '.join(map(repr, wrong))} is no zone of Azure",
            f"give some of {', '.join(map(repr, ZONES))}, or [] for a region without",
        )
    units = settings.gateway.scale_units
    if units is not None and (gateway.units is None or units not in SCALE_UNITS):
        what = (
            f"{gateway.sku} has no scale units"
            if gateway.units is None
            else f"{units} is outside {SCALE_UNITS[0]} to {SCALE_UNITS[-1]}"
        )
        yield Problem(
            ("gateway", "scale_units"), what, f"drop the key, or set `sku: {SCALABLE}` and 1 to 40 units"
        )
        return
    if gateway.mbps < settings.bandwidth_mbps:
        enough = [
            one.name for one in GATEWAYS if one.mbps >= settings.bandwidth_mbps and one.zonal is bool(zones)
        ]
        units_needed = -(-settings.bandwidth_mbps // 1_000)
        ways = [*enough, f"{SCALABLE} with {units_needed} scale units"]
        yield Problem(
            ("gateway", "sku" if settings.gateway.scale_units is None else "scale_units"),
            f"{gateway.sku} carries {gateway.mbps} Mb/s, and the link is to have {settings.bandwidth_mbps}",
            f"give {' or '.join(ways)}, or drop the key",
        )
    if settings.gateway.fast_path and not gateway.fast_path:
        yield Problem(
            ("gateway", "fast_path"),
            f"{gateway.sku} has no FastPath",
            f"set `gateway.sku: ErGw3AZ`, or {SCALABLE} with {FAST_PATH_SCALE_UNITS} units or more, or drop `fastPath`",
        )


def _mtu(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.mtu == LINK_MTU:
        return
    if settings.mtu > LINK_MTU:
        yield Problem(
            ("mtu",),
            f"ExpressRoute carries {LINK_MTU} bytes at most and fragments above {PATH_MTU}: with {settings.mtu} small "
            "packets pass, and bulk transfers hang wherever the ICMP message that says so is filtered",
            f"set {LINK_MTU} or drop the key. The routes to the other cloud are locked at {PATH_MTU}; inside AWS 9001 "
            "and EFA, and inside Azure InfiniBand, stay as they are without any setting here",
        )
    else:
        yield Problem(
            ("mtu",),
            f"a virtual interface has 1500, 8500 or 9001 bytes, not {settings.mtu}",
            f"set {LINK_MTU} or drop the key; smaller packets are made by the routes of the hosts",
        )


def _asn(key: str, asn: int, *, amazon: bool) -> Iterator[Problem]:
    where = ("asns", key)
    reserved = next((why for numbers, why in RESERVED_ASNS.items() if asn in numbers), None)
    if reserved is not None:
        yield Problem(where, f"{asn} is {reserved}", "give another, such as 64512 or 65001")
    elif amazon and not any(asn in numbers for numbers in AMAZON_SIDE):
        yield Problem(
            where,
            f"{asn} is not one that the Amazon side may have",
            "give 64512 to 65534 or 4200000000 to 4294967294",
        )
    elif not 0 < asn <= LAST_ASN:
        yield Problem(where, f"{asn} is not an ASN", f"give 1 to {LAST_ASN}")


def _asns(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    asns = settings.asns
    yield from _asn("amazon", asns.amazon, amazon=True)
    yield from _asn("gateway", asns.gateway, amazon=True)
    yield from _asn("partner", asns.partner, amazon=False)
    for key, asn in (("gateway", asns.gateway), ("partner", asns.partner)):
        if asn == asns.amazon:
            why = (
                "a transit gateway must differ from its Direct Connect gateway"
                if key == "gateway"
                else "BGP between them would be internal and drop the other's routes"
            )
            yield Problem(("asns", key), f"{asn} is that of `asns.amazon` too; {why}", "give another number")


def _link_block(settings: InterconnectSettings, problems: list[Problem]) -> IPv4Network | None:
    sizes = range(8, SMALLEST_LINK_BLOCK + 1)
    where = ("addresses", "cidr")
    text = settings.addresses.cidr
    return read_block(where, text, sizes, "the link", problems, str(DEFAULT_LINK)) or (
        DEFAULT_LINK if text is None else None
    )


def planned_links(settings: InterconnectSettings) -> LinkPlan | None:
    """The link's /30s; None where the block is no block."""
    block = _link_block(settings, [])
    return None if block is None else link_plan(block)


def gateway_block(settings: InterconnectSettings, ends: KnownEnds) -> IPv4Network | None:
    """The block of GatewaySubnet: the user's, or a free one of a new network."""
    text = settings.addresses.gateway_subnet_cidr
    if text is None:
        return ends.azure.free_for_gateway()
    return read_block(("addresses",), text, range(8, GATEWAY_PREFIX + 1), "Azure", [], str(DEFAULT_LINK))


def _addresses(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    found: list[Problem] = []
    block = _link_block(settings, found)
    yield from found
    if block is not None:
        others = {
            "the AWS side's": vpc_block(settings, ends),
            "the Azure side's": ends.azure.network,
            "the RDMA network's": RDMA_NETWORK,
        } | {f"{purpose}'s": one for one, purpose in UNUSABLE_BLOCKS.items()}
        for whose, other in others.items():
            if other is not None and block.overlaps(other):
                yield Problem(
                    ("addresses", "cidr"),
                    f"the on-link block {block} overlaps {whose} {other}",
                    f"give a free private block of /{SMALLEST_LINK_BLOCK} or larger, such as {DEFAULT_LINK}",
                )


def _gateway_subnet(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    where, text, azure = (
        ("addresses", "gateway_subnet_cidr"),
        settings.addresses.gateway_subnet_cidr,
        ends.azure,
    )
    if text is None:
        if azure.adopted:
            yield Problem(
                where,
                "is missing, and the free blocks of an adopted virtual network are not known",
                f"give a free /{GATEWAY_PREFIX} of it",
            )
        elif azure.network is not None and azure.free_for_gateway() is None:
            yield Problem(
                where,
                f"{azure.network} has no /{GATEWAY_PREFIX} free for Azure's GatewaySubnet",
                "give `azure.network` a larger `cidr` or a smaller `subnetCidr`",
            )
        return
    found: list[Problem] = []
    block = read_block(where, text, range(8, GATEWAY_PREFIX + 1), "GatewaySubnet", found, "10.200.0.0/27")
    yield from found
    if block is None:
        return
    if azure.network is not None and not azure.adopted and not block.subnet_of(azure.network):
        yield Problem(
            where, f"{block} is not inside the virtual network {azure.network}", "give a part of it"
        )
    for used in filter(None, (azure.nodes, *azure.taken)):
        if block.overlaps(used):
            yield Problem(where, f"{block} overlaps the subnet {used}", "give a free part of the network")


def _networks(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    if ends.aws.adopted and not settings.aws_route_table_ids:
        yield Problem(
            ("aws_route_table_ids",),
            "is missing, and the route tables of an adopted VPC are not known",
            "give the ids of the tables that are to learn the way to Azure",
        )
    if not ends.aws.adopted and settings.aws_route_table_ids:
        yield Problem(
            ("aws_route_table_ids",), "a new VPC's route table is ours and needs no naming", "drop the key"
        )
    unknown = [
        cloud
        for cloud, end in (("aws", ends.aws), ("azure", ends.azure))
        if end.adopted and end.nodes is None
    ]
    if unknown:
        yield Problem(
            (),
            f"the block of the adopted subnet on {' and '.join(unknown)} is not known, and the hosts' routes need it",
            "give " + " and ".join(f"`{cloud}.network.subnetCidr`" for cloud in unknown),
        )


def vpc_block(settings: InterconnectSettings, ends: KnownEnds) -> IPv4Network | None:
    """The VPC's whole block; where nobody knows it, the nodes' subnet."""
    return (None if ends.aws.whole else as_block(settings.aws_vpc_cidr)) or ends.aws.network


def _vpc(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    where, text = ("aws_vpc_cidr",), settings.aws_vpc_cidr
    if ends.aws.whole:
        if text is not None:
            yield Problem(where, "the VPC's block is known", "drop the key")
        return
    if text is None:
        if settings.aws_gateway is AwsGateway.VIRTUAL_PRIVATE:
            yield Problem(
                where,
                "is missing: a virtual private gateway announces its VPC's whole block, and nothing at all where a "
                "narrower one is allowed",
                "give the block of the adopted VPC, or set `awsGateway: transit`",
            )
        elif settings.route_isolation:
            yield Problem(
                where,
                "is missing: `routeIsolation` would cut the nodes off from the rest of the adopted VPC",
                "give its block",
            )
        return
    found: list[Problem] = []
    block = read_block(where, text, range(8, 29), "the VPC", found, "10.100.0.0/16")
    yield from found
    if block is None:
        return
    if ends.aws.nodes is not None and not ends.aws.nodes.subnet_of(block):
        yield Problem(where, f"the nodes' subnet {ends.aws.nodes} is not in {block}", "give the VPC's block")
    for whose, other in {"the Azure side's": ends.azure.network, "the RDMA network's": RDMA_NETWORK}.items():
        if other is not None and block.overlaps(other):
            yield Problem(
                where,
                f"{block} overlaps {whose} {other}",
                "join networks whose blocks are apart, or set `awsGateway: transit`, which announces the nodes' subnet "
                "alone",
            )


def _vlans(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    keys = [("azure_vlan",)] + [("manual", "vlans", index) for index in range(len(settings.manual.vlans))]
    for where, vlan in zip(keys, (settings.azure_vlan, *settings.manual.vlans), strict=True):
        if vlan not in VLANS:
            yield Problem(where, f"{vlan} is not a VLAN", f"give {VLANS[0]} to {VLANS[-1]}")


def _latency(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    limit = settings.rtt_limit_ms
    if settings.rtt_ms is not None:
        if settings.rtt_ms > limit:
            yield Problem(
                ("rtt_ms",),
                f"the measured {settings.rtt_ms:g} ms exceed the limit of {limit:g} ms",
                "choose closer regions, or raise `rttLimitMs` knowing that each stage boundary waits that long",
            )
        return
    pair = region_pair(ends.aws.region, ends.azure.region)
    if pair is None or pair.rtt_ms <= limit:
        return
    closer = closest_partner(ends.aws.region)
    other = (
        f"use {closer.azure} ({closer.low_ms:g} to {closer.high_ms:g} ms) on Azure, or "
        if closer is not None and closer.rtt_ms <= limit
        else ""
    )
    yield Problem(
        ("rtt_limit_ms",),
        f"{pair.aws} to {pair.azure} is estimated at {pair.low_ms:g} to {pair.high_ms:g} ms round trip (from distance, "
        f"not measured), and the limit is {limit:g}",
        f"{other}measure it and give `rttMs`, or raise `rttLimitMs`",
    )


def _partner(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    partner = settings.partner
    automatic = partner in PROVIDERS
    account = settings.aws_account
    if account is None and automatic:
        yield Problem(
            ("aws_account",),
            "is missing",
            f"give the 12 digits of the AWS account that {partner.value} connects",
        )
    elif account is not None and not _ACCOUNT.fullmatch(account):
        yield Problem(
            ("aws_account",),
            f"{account!r} is not an account",
            "give its 12 digits, in quotes (a leading 0 counts)",
        )
    if partner is Partner.EQUINIX:
        if settings.equinix.project_id is None:
            yield Problem(("equinix", "project_id"), "is missing", "give the Equinix project that is billed")
        if not settings.equinix.emails:
            yield Problem(
                ("equinix", "emails"), "is empty", "give at least one address that Equinix may write to"
            )
        odd = [one for one in settings.equinix.emails if not _EMAIL.fullmatch(one)]
        if odd:
            yield Problem(
                ("equinix", "emails"),
                f"{', '.join(map(repr, odd))} is no address of electronic mail",
                "give it as name@example.com",
            )
        if settings.equinix.package == "LAB" and settings.bandwidth_mbps > EQUINIX_LAB_MBPS:
            yield Problem(
                ("equinix", "package"),
                f"a LAB router has connections of {EQUINIX_LAB_MBPS} Mb/s at most (an older page of Equinix)",
                "give one of BASIC, STANDARD, ADVANCED",
            )
        if settings.equinix.package not in ("LAB", "BASIC", "STANDARD", "ADVANCED"):
            yield Problem(
                ("equinix", "package"),
                f"{settings.equinix.package!r} is not a package of a cloud router",
                "give one of LAB, BASIC, STANDARD, ADVANCED",
            )
    if partner is Partner.MEGAPORT:
        for key in ("location_id", "aws_product_uid", "azure_product_uid"):
            if getattr(settings.megaport, key) is None:
                yield Problem(
                    ("megaport", key),
                    "is missing",
                    "give it as Megaport's portal shows it; nothing is looked up",
                )
        if settings.megaport.term_months not in (1, 12, 24, 36):
            yield Problem(
                ("megaport", "term_months"),
                f"{settings.megaport.term_months} is not a term that Megaport sells",
                "give 1, 12, 24 or 36",
            )
    if automatic and settings.provisioned:
        yield Problem(
            ("provisioned",),
            f"{partner.value} provisions the circuit itself",
            "drop the key; `manual` and `native` need it",
        )
    if partner is Partner.MANUAL and settings.provisioned:
        for key in ("connection_ids", "vlans"):
            given = len(getattr(settings.manual, key))
            if given != settings.connections:
                yield Problem(
                    ("manual", key),
                    f"has {given} and must have {settings.connections} with `redundancy: {settings.redundancy.value}`",
                    "give one for each Direct Connect connection that you ordered",
                )
    if partner is Partner.MANUAL:
        yield from _connections(settings.manual.connection_ids)
    if partner is Partner.NATIVE and settings.redundancy is Redundancy.CIRCUIT:
        yield Problem(
            ("redundancy",),
            "the native interconnect brings its own and takes one connection a gateway",
            "drop the key",
        )
    if partner is Partner.NATIVE and settings.aws_gateway is AwsGateway.TRANSIT:
        yield Problem(
            ("aws_gateway",),
            "only the way through a virtual private gateway is laid out for `native`",
            "drop the key",
        )


def _connections(ids: tuple[str, ...]) -> Iterator[Problem]:
    for index, one in enumerate(ids):
        where = ("manual", "connection_ids", index)
        if not _CONNECTION.fullmatch(one):
            yield Problem(
                where,
                f"{one!r} is not the id of a Direct Connect connection",
                "give it as Direct Connect shows it, dxcon- and eight letters or digits",
            )
        elif one in ids[:index]:
            yield Problem(where, f"{one} stands here twice", "give the other connection, or one alone")


def _key(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    name = settings.bgp_key_from
    if name is None:
        if settings.partner is Partner.MEGAPORT and settings.bgp_key is None:
            yield Problem(
                ("bgp_key_from",),
                "is missing: AWS's sessions always have a key, and Megaport's router is set up before AWS makes one",
                "set one with `pulumi config set --secret bgpKey` and write `bgpKeyFrom: bgpKey`",
            )
        return
    where, set_it = ("bgp_key_from",), f"`pulumi config set --secret {name}`"
    if settings.bgp_key is not None:
        yield Problem(where, "`bgpKey` and `bgpKeyFrom` exclude each other", "keep the one you mean")
        return
    config = pulumi.Config("gpu-fabric")
    if config.get(name) is None:
        # What stands here may be the key itself, so it is not repeated.
        yield Problem(
            where,
            "this stack has no value under `gpu-fabric:` with the name that stands here",
            "give a name, such as bgpKey, and set it with `pulumi config set --secret bgpKey`; a key itself never "
            "stands in the file",
        )
    elif not is_config_secret(config.full_key(name)):
        yield Problem(
            where,
            f"gpu-fabric:{name} stands in plain text in the stack file",
            f"take it out of the file and of its history, and set another with {set_it}",
        )


RULES: tuple[Callable[[InterconnectSettings, KnownEnds], Iterable[Problem]], ...] = (
    _bandwidth,
    _exchange,
    _tier,
    _gateway,
    _mtu,
    _asns,
    _addresses,
    _gateway_subnet,
    _networks,
    _vpc,
    _vlans,
    _latency,
    _partner,
    _key,
)


def check(settings: InterconnectSettings, ends: KnownEnds) -> list[Problem]:
    """Every problem of the link between these two networks, with paths in snake_case from the top of the settings."""
    return [problem for rule in RULES for problem in rule(settings, ends)]
