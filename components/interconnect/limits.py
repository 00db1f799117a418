"""Published limits and rules of the private link: each with its source; read 2026-11-29.

"DX guide" is the AWS Direct Connect User Guide, "azure docs" is MicrosoftDocs/azure-docs, "equinix" is the provider
equinix/equinix (pulumi-equinix 0.33.1) and its documentation, "megaport" the provider megaport/megaport 1.9.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

LINK_MTU = 1500
"""The largest packet of an ExpressRoute port, and the default of a virtual interface. azure docs,
expressroute/expressroute-faqs.md; DX guide, set-jumbo-frames-vif.html."""

PATH_MTU = 1400
"""ExpressRoute fragments above it. azure docs, expressroute-about-virtual-network-gateways.md."""

AMAZON_SIDE = (range(64_512, 65_535), range(4_200_000_000, 4_294_967_295))
"""What the Amazon side of a gateway may have. DX guide, direct-connect-gateways-intro.html."""

RESERVED_ASNS: Mapping[range, str] = {
    range(1): "reserved by RFC 7607",
    range(8_074, 8_076): "Microsoft's own",
    range(12_076, 12_077): "Microsoft's side of ExpressRoute",
    range(23_456, 23_457): "AS_TRANS of RFC 6793",
    range(64_496, 64_512): "for documentation, RFC 5398",
    range(65_515, 65_521): "reserved by Azure for its gateways",
    range(65_535, 65_552): "reserved, RFC 7300 and RFC 5398",
    range(65_552, 131_072): "reserved by IANA",
    range(4_294_967_295, 4_294_967_296): "reserved by RFC 7300",
}
"""What neither the partner's routers nor the Amazon side may have. azure docs, expressroute/expressroute-routing.md;
IANA, "Autonomous System (AS) Numbers"."""

MICROSOFT_ASN = 12_076
"""azure docs, expressroute/expressroute-routing.md."""

LAST_ASN = 4_294_967_294

KEY_CHARACTERS = range(6, 26)
"""Of the key of the BGP sessions, which is the same at both ends: Direct Connect takes 6 to 80 (its API reference,
BGPPeer authKey), ExpressRoute at most 25 (terraform-provider-azurerm, express_route_circuit_peering)."""

VLANS = range(2, 4_095)
"""IEEE 802.1Q has 1 to 4094; 1 is a switch's default VLAN."""

HOSTED_MBPS = (50, 100, 200, 300, 400, 500, 1_000, 2_000, 5_000, 10_000, 25_000)
"""Hosted connections. DX guide, hosted_connection.html."""

CIRCUIT_MBPS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
"""Circuits through a provider; more is ExpressRoute Direct. azure docs, expressroute/expressroute-faqs.md."""

LOCAL_MBPS = 1_000
"""The smallest circuit with the tier Local. azure docs, expressroute/expressroute-faqs.md (ExpressRoute Local)."""

EQUINIX_MBPS = (10, 50, 200, 500, 1_000, 2_000, 5_000, 10_000, 25_000, 50_000)
"""Equinix Fabric documentation, virtual connection bandwidth tiers."""

EQUINIX_LAB_MBPS = 10
"""Of a connection of a router with the package LAB (an older page of the Equinix API: unverified)."""

MEGAPORT_MCR_MBPS = (1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000)
"""Rates of a Megaport Cloud Router, fixed for its life. megaport, megaport_mcr."""

MEGAPORT_ASN = 133_937
"""The default of a Megaport Cloud Router. megaport, megaport_mcr."""

NATIVE_MBPS = (1_000,)
"""The public preview of Azure's side. azure docs, multicloud-interconnect."""

NATIVE_AZURE_REGIONS = ("eastus", "westus", "germanywestcentral", "australiaeast")
"""Regions of the public preview since 2026-08-31. The same page."""

GATEWAY_SUBNET = "GatewaySubnet"
GATEWAY_PREFIX = 27
"""The gateway's subnet has this name and at least this size. azure docs,
expressroute/expressroute-about-virtual-network-gateways.md."""

NAME_CHARACTERS = 80
"""The longest name of a gateway, a connection, a public address. azure docs,
azure-resource-manager/management/resource-name-rules.md (Microsoft.Network)."""

GROUP_NAME_CHARACTERS = 90
"""The longest name of a resource group. The same page (Microsoft.Resources)."""

VIRTUAL_PRIVATE_GATEWAYS, TRANSIT_GATEWAYS = 20, 6
"""Of one Direct Connect gateway, of one kind only. DX guide, limits.html."""

SCALE_UNITS = range(1, 41)
SCALE_UNIT_MBPS = 1_000
SCALE_UNIT_PACKETS = 100_000
"""Of ErGwScale. azure docs, expressroute/expressroute-about-virtual-network-gateways.md."""
FAST_PATH_SCALE_UNITS = 10
"""From this many on ErGwScale has FastPath. azure docs, expressroute/about-fastpath.md (unverified: pages differ)."""

PRIVATE_BLOCKS = tuple(IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
"""RFC 1918."""

EQUINIX_NAME_CHARACTERS = 23
"""Names of connections and routers. equinix, fabric connection, has 24; the API's refusal EQ-3142539 says "less than 24
character", so the smaller number is kept to."""


@dataclass(frozen=True)
class GatewaySize:
    """One size of an ExpressRoute gateway: 10^6 bit/s, packets a second, and whether FastPath can pass it by."""

    name: str
    mbps: int
    packets: int
    fast_path: bool
    zonal: bool = True
    """Whether it spreads over a region's zones. The others are what a region without zones has."""
    shrinks: bool = True
    """Whether Azure makes it smaller in place. Each grows in place to a larger one of the same kind."""


GATEWAYS = (
    GatewaySize("ErGw1AZ", 1_000, 100_000, False),
    GatewaySize("ErGw2AZ", 2_000, 200_000, False),
    GatewaySize("ErGw3AZ", 10_000, 1_000_000, True, shrinks=False),
    GatewaySize("Standard", 1_000, 100_000, False, zonal=False),
    GatewaySize("HighPerformance", 2_000, 200_000, False, zonal=False),
    GatewaySize("UltraPerformance", 10_000, 1_000_000, True, zonal=False, shrinks=False),
)
"""azure docs, includes/expressroute-gateway-performance-include.md (2024-07-09, which has one row for both sizes of a
rate), expressroute/expressroute-about-virtual-network-gateways.md ("The following upgrades are supported" and
"downgrades") and expressroute/gateway-migration.md."""

REGIONS_WITH_ZONES = frozenset(
    [
        "australiaeast",
        "brazilsouth",
        "canadacentral",
        "centralindia",
        "centralus",
        "eastasia",
        "eastus",
        "eastus2",
        "francecentral",
        "germanywestcentral",
        "israelcentral",
        "italynorth",
        "japaneast",
        "japanwest",
        "koreacentral",
        "mexicocentral",
        "newzealandnorth",
        "northeurope",
        "norwayeast",
        "polandcentral",
        "qatarcentral",
        "southafricanorth",
        "southcentralus",
        "southeastasia",
        "spaincentral",
        "swedencentral",
        "switzerlandnorth",
        "uaenorth",
        "uksouth",
        "westeurope",
        "westus2",
        "westus3",
    ]
)
"""azure docs, reliability/regions-list.md (2025-03-21). For a later one there is `gateway.zones`."""

SCALABLE = "ErGwScale"
SCALABLE_NOT_IN = frozenset(
    [
        "belgiumcentral",
        "eastus2",
        "japaneast",
        "qatarcentral",
        "southcentralus",
        "southeastasia",
        "westeurope",
        "westindia",
        "westus2",
    ]
)
"""Regions without it. azure docs, expressroute/scalable-gateway.md (2025-11-06)."""

SLA: Mapping[str, str] = {
    "none": (
        "One connection: Direct Connect promises 95 % for a single connection (Direct Connect SLA), and ExpressRoute's "
        "SLA does not apply, because it requires both BGP sessions. For development."
    ),
    "circuit": (
        "Two connections, two cloud routers, both ports of one circuit: ExpressRoute's SLA applies to the Azure side. "
        "Direct Connect counts two connections at one location as a single one (95 %); 99.9 % needs two locations "
        "(Direct Connect SLA), and this component lays out one."
    ),
}
"""What the redundancy that was chosen is worth."""

MOST_TAGS = 46
TAG_NAME_CHARACTERS, TAG_VALUE_CHARACTERS = 128, 256
"""What AWS and Azure both take: 50 tags, of which ours are four; names of 128 (AWS; Azure 512), values of 256. EC2 User
Guide, Using_Tags.html; azure docs, azure-resource-manager/management/tag-resources.md."""

UNUSABLE_ON_LINK = {IPv4Network("0.0.0.0/8"): "this network", IPv4Network("240.0.0.0/4"): "future use"}
"""Reserved by IANA, "IANA IPv4 Special-Purpose Address Registry"."""
