"""Mandate 4: what runs between the clouds stays on a private circuit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.nccl.paths import LIBRARY
from gpu_fabric.policy.nodes import Node, nodes_in, unversioned
from gpu_fabric.policy.rule import Parameters, Resource, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.user_data import UnreadableError, parts
from gpu_fabric.policy.values import UNKNOWN, Network, items, look, network, overlap

CIRCUIT_MTU = 1500
"""ExpressRoute carries no more (azure-docs, expressroute-faqs.md)."""

VPC, VIRTUAL_NETWORK = "aws:ec2/vpc:Vpc", "azure-native:network:VirtualNetwork"
_EXPRESSROUTE = ("azure-native:network:ExpressRouteCircuit", "azure-native:network:ExpressRouteConnection")
_AZURE_CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"
_VPN = ("aws:ec2/vpnConnection:VpnConnection", "azure-native:network:VpnConnection")
#: The program that a node gets only where it has routes to make (nccl/bootstrap).
_ROUTES_STEP = f"{LIBRARY}/routes.py"
_RDMA = network("172.16.0.0/16")
_INTERNET = ("aws:ec2/internetGateway:InternetGateway", "aws:ec2/natGateway:NatGateway")


def blocks(resources: list[Resource], type_: str) -> list[tuple[Resource, Network | None]]:
    """Address blocks of the networks of a type; None for one that is not known at preview."""
    found: list[tuple[Resource, Network | None]] = []
    for resource in resources:
        if unversioned(resource.type) == type_:
            if type_ == VPC:
                given = [look(resource.props, "cidrBlock")]
            else:
                prefixes = look(resource.props, "addressSpace", "addressPrefixes")
                given = [UNKNOWN] if prefixes is UNKNOWN else items(prefixes)
            found += [(resource, network(each)) for each in given if each is not None]
    return found


def _check(resources: list[Resource], parameters: Parameters) -> Verdicts:
    nodes = [*nodes_in(resources)]
    if len({node.cloud for node in nodes}) < 2 or parameters["separateClouds"]:
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
        _has_direct_connect(resources)
        or _has_expressroute(resources)
        or any(True for _ in _vpns(resources))
        or any(map(_routes_to_the_other_cloud, nodes))
    )


def _has_direct_connect(resources: list[Resource]) -> bool:
    return any(each.type.startswith("aws:directconnect/") for each in resources)


def _has_expressroute(resources: list[Resource]) -> bool:
    return any(
        unversioned(each.type) in _EXPRESSROUTE
        or (
            unversioned(each.type) == _AZURE_CONNECTION
            and look(each.props, "connectionType") == "ExpressRoute"
        )
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
    lacking = [name for name, has in there.items() if not has]
    if lacking:
        yield Violation(
            f"The stack has GPU nodes on both clouds and no {' and no '.join(lacking)}.",
            "add the circuit, or set the rule's parameter `separateClouds` where the two never train together.",
        )


def _virtual_interfaces(resources: list[Resource]) -> Verdicts:
    for resource in resources:
        mtu = look(resource.props, "mtu")
        if not resource.type.startswith("aws:directconnect/") or mtu is None:
            continue
        if mtu is UNKNOWN:
            yield Undecided(f"the MTU of {resource.name}")
        elif int(mtu) != CIRCUIT_MTU:
            yield Violation(
                f"{resource.name} has an MTU of {int(mtu)}, and ExpressRoute carries {CIRCUIT_MTU}: large packets "
                "vanish between the clouds and bulk transfers hang.",
                f"set its MTU to {CIRCUIT_MTU}.",
                resource.urn,
            )


def _vpns(resources: list[Resource]) -> Iterator[Resource]:
    for resource in resources:
        type_ = unversioned(resource.type)
        if type_ in _VPN or (
            type_ == _AZURE_CONNECTION and look(resource.props, "connectionType") == "IPsec"
        ):
            yield resource


def _vpn(resources: list[Resource]) -> Verdicts:
    for resource in _vpns(resources):
        yield Violation(
            f"{resource.name} is a VPN over the internet beside the circuit.",
            "remove it, or set the rule's parameter `allowVpn` where it is the planned way when the circuit fails.",
            resource.urn,
        )


def _internet_routes(resources: list[Resource]) -> Verdicts:
    types = {each.urn: each.type for each in resources}
    there = {
        Cloud.AWS: [block for _, block in blocks(resources, VIRTUAL_NETWORK) if block],
        Cloud.AZURE: [block for _, block in blocks(resources, VPC) if block],
    }
    for resource in resources:
        type_ = unversioned(resource.type)
        if type_ == "aws:ec2/route:Route":
            gateways = [
                types.get(urn)
                for name in ("gatewayId", "natGatewayId")
                for urn in resource.references.get(name, ())
            ]
            by_id = str(look(resource.props, "gatewayId") or look(resource.props, "natGatewayId") or "")
            public = any(gateway in _INTERNET for gateway in gateways) or by_id.startswith(("igw-", "nat-"))
            cloud, target = Cloud.AWS, look(resource.props, "destinationCidrBlock")
        elif type_ == "azure-native:network:Route":
            public = look(resource.props, "nextHopType") == "Internet"
            cloud, target = Cloud.AZURE, look(resource.props, "addressPrefix")
        else:
            continue
        block = network(target)
        if public and block is not None and block.prefixlen > 0:
            for other in there[cloud]:
                if overlap(block, other):
                    yield Violation(
                        f"{resource.name} sends {block}, which is the other cloud's {other}, to the internet.",
                        "route it to the private gateway.",
                        resource.urn,
                    )


def _overlaps(resources: list[Resource]) -> Verdicts:
    for mine, one in blocks(resources, VPC):
        for theirs, other in blocks(resources, VIRTUAL_NETWORK):
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
    if not any(node.cloud is Cloud.AZURE for node in nodes_in(resources)):
        return
    for type_ in (VIRTUAL_NETWORK, VPC):
        for resource, block in blocks(resources, type_):
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
