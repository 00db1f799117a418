"""Mandate 4: what runs between the clouds stays on a private circuit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.nccl.paths import LIBRARY
from gpu_fabric.policy.kinds import KINDS
from gpu_fabric.policy.nodes import Node, Unread, known_nodes, nodes_in, unread_nodes
from gpu_fabric.policy.resource import Resource, named
from gpu_fabric.policy.rule import Parameters, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.user_data import UnreadableError, parts
from gpu_fabric.policy.values import UNKNOWN, Network, at, look, network, number, overlap, text

CIRCUIT_MTU = 1500
"""ExpressRoute carries no more (azure-docs, expressroute-faqs.md)."""

VPC, VIRTUAL_NETWORK = "aws:ec2/vpc:Vpc", "azure-native:network:VirtualNetwork"
AWS_SUBNET, SUBNET = "aws:ec2/subnet:Subnet", "azure-native:network:Subnet"
_EXPRESSROUTE = ("azure-native:network:ExpressRouteCircuit", "azure-native:network:ExpressRouteConnection")
_AZURE_CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"
_VPN = ("aws:ec2/vpnConnection:VpnConnection", "azure-native:network:VpnConnection")
#: The program that a node gets only where it has routes to make (nccl/bootstrap).
_ROUTES_STEP = f"{LIBRARY}/routes.py"
_RDMA = network("172.16.0.0/16")
_INTERNET = (
    "aws:ec2/internetGateway:InternetGateway",
    "aws:ec2/natGateway:NatGateway",
    "aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway",
)
#: Everything that a route of a table made here may lead to.
_ALL_GATEWAYS = (
    *_INTERNET,
    "aws:ec2/vpnGateway:VpnGateway",
    "aws:ec2/carrierGateway:CarrierGateway",
    "aws:ec2/localGateway:LocalGateway",
    "aws:ec2/vpcEndpoint:VpcEndpoint",
)
_GATEWAYS = ("gatewayId", "natGatewayId", "egressOnlyGatewayId")
#: Type → cloud, and where its routes are: the resource itself, or a list inside.
_ROUTES = {
    "aws:ec2/route:Route": (Cloud.AWS, ""),
    "aws:ec2/routeTable:RouteTable": (Cloud.AWS, "routes.*"),
    "aws:ec2/defaultRouteTable:DefaultRouteTable": (Cloud.AWS, "routes.*"),
    "azure-native:network:Route": (Cloud.AZURE, ""),
    "azure-native:network:RouteTable": (Cloud.AZURE, "routes.*"),
}
_TARGETS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "cidrBlock", "ipv6CidrBlock", "addressPrefix")
#: Networks → where their address blocks are. A subnet lies inside its network, which may not be in the stack.
_BLOCKS = {
    VPC: ("cidrBlock",),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": ("cidrBlock",),
    AWS_SUBNET: ("cidrBlock",),
    VIRTUAL_NETWORK: ("addressSpace.addressPrefixes.*",),
    SUBNET: ("addressPrefix", "addressPrefixes.*"),
}
_AWS_NETWORKS = (VPC, "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation", AWS_SUBNET)
_AZURE_NETWORKS = (VIRTUAL_NETWORK, SUBNET)
#: Subnet → where it names its network, and the network's type.
_INSIDE = {AWS_SUBNET: ("vpcId", VPC), SUBNET: ("virtualNetworkName", VIRTUAL_NETWORK)}


def blocks(resources: list[Resource], kinds: Sequence[str]) -> list[tuple[Resource, Network | None]]:
    """Address blocks of the networks of these types; None for one that is not known at preview.

    A subnet counts where its network is not in the stack: else the network's block says it all.
    """
    return [
        (resource, network(value))
        for resource in resources
        if resource.kind in kinds and not _in_a_network_here(resource, resources)
        for path in _BLOCKS[resource.kind]
        for value in at(resource.props, path)
        if value != ""
    ]


def _in_a_network_here(resource: Resource, resources: list[Resource]) -> bool:
    if resource.kind not in _INSIDE:
        return False
    where, kind = _INSIDE[resource.kind]
    return bool(named(resource, (where,), (kind,), resources).resources)


def _check(resources: list[Resource], parameters: Parameters) -> Verdicts:
    if parameters["separateClouds"]:
        return
    nodes = known_nodes(resources)
    unread = [node for node in nodes_in(resources) if isinstance(node, Unread)]
    clouds = {node.cloud for node in nodes} | {KINDS[node.resource.kind].cloud for node in unread}
    if len(clouds) < 2:
        return
    if len({node.cloud for node in nodes}) < 2:
        yield from (Undecided(node.what) for node in unread)
        return
    if parameters["requireCircuit"] or _joined(resources, nodes):
        yield from _circuits(resources)
    else:
        yield Undecided(
            "whether the nodes of the two clouds train together: nothing here leads from one cloud to the other. "
            "Where they do, declare the circuit; where they never do, set the rule's parameter `separateClouds`"
        )
    yield from _virtual_interfaces(resources)
    if not parameters["allowVpn"]:
        yield from _vpn(resources)
    yield from _internet_routes(resources)
    yield from _overlaps(resources)


def _joined(resources: list[Resource], nodes: list[Node]) -> bool:
    """Whether something leads from one cloud to the other: a part of a circuit, a VPN, or a node's own routes."""
    return (
        _has_direct_connect(resources) is not False
        or _has_expressroute(resources)
        or any(True for _ in _vpns(resources))
        or any(map(_routes_to_the_other_cloud, nodes))
    )


def _has_direct_connect(resources: list[Resource]) -> Any:
    """True where a private virtual interface is declared, UNKNOWN where only what it needs is, else False."""
    parts_of_it = [each.type for each in resources if each.type.startswith("aws:directconnect/")]
    return any("VirtualInterface" in type_ and "ublic" not in type_ for type_ in parts_of_it) or (
        UNKNOWN if parts_of_it else False
    )


def _has_expressroute(resources: list[Resource]) -> bool:
    return any(
        each.kind in _EXPRESSROUTE or (each.kind == _AZURE_CONNECTION and _connection(each) == "expressroute")
        for each in resources
    )


def _routes_to_the_other_cloud(node: Node) -> bool:
    """Whether the node's start-up data is ours and makes routes to the other cloud; not where it cannot be read."""
    try:
        return isinstance(node.user_data, str) and any(
            part.path == _ROUTES_STEP for part in parts(node.user_data)
        )
    except UnreadableError:
        return False


def _circuits(resources: list[Resource]) -> Verdicts:
    there = {
        "AWS Direct Connect": _has_direct_connect(resources),
        "Azure ExpressRoute": _has_expressroute(resources),
    }
    lacking = [name for name, has in there.items() if has is False]
    if there["AWS Direct Connect"] is UNKNOWN:
        yield Undecided(
            "whether a virtual interface of AWS Direct Connect carries the circuit: none is in this stack"
        )
    if lacking:
        yield Violation(
            f"The stack has GPU nodes on both clouds and no {' and no '.join(lacking)}.",
            "add the circuit, or set the rule's parameter `separateClouds` where the two never train together.",
        )


def _virtual_interfaces(resources: list[Resource]) -> Verdicts:
    for resource in resources:
        mtu = number(look(resource.props, "mtu"))
        if not resource.type.startswith("aws:directconnect/") or mtu is None:
            continue
        if mtu is UNKNOWN:
            yield Undecided(f"the MTU of {resource.name}")
        elif mtu != CIRCUIT_MTU:
            yield Violation(
                f"{resource.name} has an MTU of {mtu}, and ExpressRoute carries {CIRCUIT_MTU}: large packets "
                "vanish between the clouds and bulk transfers hang.",
                f"set its MTU to {CIRCUIT_MTU}.",
                resource.urn,
            )


def _vpns(resources: list[Resource]) -> Iterator[Resource]:
    for resource in resources:
        if resource.kind in _VPN or (resource.kind == _AZURE_CONNECTION and _connection(resource) == "ipsec"):
            yield resource


def _connection(resource: Resource) -> str:
    """The kind of a connection of an Azure gateway, in lower case: Azure takes any."""
    kind = look(resource.props, "connectionType")
    return kind.lower() if isinstance(kind, str) else ""


def _vpn(resources: list[Resource]) -> Verdicts:
    for resource in _vpns(resources):
        yield Violation(
            f"{resource.name} is a VPN over the internet beside the circuit.",
            "remove it, or set the rule's parameter `allowVpn` where it is the planned way when the circuit fails.",
            resource.urn,
        )


def _internet_routes(resources: list[Resource]) -> Verdicts:
    there = {
        Cloud.AWS: [block for _, block in blocks(resources, _AZURE_NETWORKS) if block],
        Cloud.AZURE: [block for _, block in blocks(resources, _AWS_NETWORKS) if block],
    }
    for resource in resources:
        if resource.kind in _ROUTES:
            cloud, path = _ROUTES[resource.kind]
            for route in at(resource.props, path):
                yield from _route(resource, route, cloud, there[cloud], resources)


def _route(
    resource: Resource, route: Any, cloud: Cloud, there: list[Network], resources: list[Resource]
) -> Verdicts:
    targets = [value for path in _TARGETS for value in at(route, path) if value != ""]
    public = _to_internet(resource, route, cloud, resources)
    if public is False or not there:
        return
    if any(not isinstance(target, str) for target in targets) or route is UNKNOWN:
        yield Undecided(f"the routes of {resource.name}")
        return
    for block in map(network, targets):
        if block is None or block.prefixlen == 0:
            continue
        for other in there:
            if not overlap(block, other):
                continue
            if public is UNKNOWN:
                yield Undecided(f"where {resource.name} sends {block}, which is the other cloud's {other}")
            else:
                yield Violation(
                    f"{resource.name} sends {block}, which is the other cloud's {other}, to the internet.",
                    "route it to the private gateway.",
                    resource.urn,
                )


def _to_internet(resource: Resource, route: Any, cloud: Cloud, resources: list[Resource]) -> Any:
    """True, False or UNKNOWN: whether a route leads to the internet."""
    if route is UNKNOWN:
        return UNKNOWN
    if cloud is Cloud.AZURE:
        hop = text(look(route, "nextHopType"))
        return hop if hop is UNKNOWN else hop is not None and hop.lower() == "internet"
    gateways = [value for key in _GATEWAYS for value in at(route, key) if value != ""]
    by_id = [value for value in gateways if isinstance(value, str)]
    if any(value.startswith(("igw-", "nat-", "eigw-")) for value in by_id):
        return True
    if len(by_id) == len(gateways):
        return bool(named(resource, _GATEWAYS, _INTERNET, resources).resources) if gateways else False
    # The gateway is made by this stack. A table with routes inside names the sources of all of them together.
    sources = {urn for name in (*_GATEWAYS, "routes") for urn in resource.references.get(name, ())}
    kinds = {each.kind for each in resources if each.urn in sources and each.kind in _ALL_GATEWAYS}
    if not kinds:
        return UNKNOWN
    return UNKNOWN if kinds - set(_INTERNET) and kinds & set(_INTERNET) else bool(kinds & set(_INTERNET))


def _overlaps(resources: list[Resource]) -> Verdicts:
    for mine, one in blocks(resources, _AWS_NETWORKS):
        for theirs, other in blocks(resources, _AZURE_NETWORKS):
            if one is None or other is None:
                yield Undecided(f"the address block of {(mine if one is None else theirs).name}")
            elif overlap(one, other):
                yield Violation(
                    f"{mine.name} on AWS has {one} and {theirs.name} on Azure {other}: no route can tell them apart.",
                    "give both clouds blocks of their own.",
                    mine.urn,
                )


def _rdma(resources: list[Resource], parameters: Parameters) -> Verdicts:
    del parameters
    if not any(node.cloud is Cloud.AZURE for node in known_nodes(resources)):
        yield from unread_nodes(resources, Cloud.AZURE)
        return
    for resource, block in blocks(resources, (*_AZURE_NETWORKS, *_AWS_NETWORKS)):
        if block is None:
            yield Undecided(f"the address block of {resource.name}")
        elif _RDMA is not None and overlap(block, _RDMA):
            yield Violation(
                f"{resource.name} has {block}, which overlaps {_RDMA}: the RDMA network owns it on every "
                "InfiniBand node, so no node could reach this network.",
                "give another block, such as 10.200.0.0/16.",
                resource.urn,
            )


_FLAG: dict[str, Any] = {"type": "boolean", "default": False}
RULES = (
    Rule(
        name="route-isolation",
        summary="Traffic between the GPU nodes of two clouds stays on a private circuit.",
        why="Gradients are the model. Over the internet they are also slow and arrive out of order. A packet larger "
        "than what every hop carries is lost without a word. A circuit is demanded where something leads from one "
        "cloud to the other: a half of a circuit, a VPN, or routes in a node's start-up data. Two clusters without "
        "any way between them are said to be undecided, for no program tells whether they train together.",
        source="AWS Direct Connect User Guide, set-jumbo-frames-vif.html; azure-docs, expressroute-faqs.md",
        check_stack=_check,
        parameters={
            "separateClouds": {
                **_FLAG,
                "description": "The clusters of this stack never train together: no circuit is needed.",
            },
            "requireCircuit": {
                **_FLAG,
                "description": "Demand a circuit of every stack with GPU nodes on both clouds.",
            },
            "allowVpn": {**_FLAG, "description": "A VPN over the internet is the planned second way."},
        },
    ),
    Rule(
        name="rdma-network-free",
        summary="No network beside InfiniBand nodes uses 172.16.0.0/16.",
        why="Azure gives the RDMA interface of every InfiniBand node an address there.",
        source="azure-compute-docs, hpc/enable-infiniband.md",
        check_stack=_rdma,
    ),
)
