"""The interfaces of a node: a legal place on its cards, all of the fabric, and no public address."""

from __future__ import annotations

from typing import Any

from gpu_fabric.nccl.hardware import Cloud, NodeSize
from gpu_fabric.nccl.hardware.interfaces import interfaces
from gpu_fabric.policy.kinds import SINGLE
from gpu_fabric.policy.nodes import (
    NETWORK_INTERFACE,
    Node,
    for_each_node,
    has_public_address,
    known_nodes,
    unread_nodes,
)
from gpu_fabric.policy.resource import Resource, named
from gpu_fabric.policy.rule import Parameters, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, any_of, at

_TYPES = ("interface", "efa", "efa-only")
AZURE_INTERFACE = "azure-native:network:NetworkInterface"
_ELASTIC = ("aws:ec2/eip:Eip", "aws:ec2/eipAssociation:EipAssociation")
_ELASTIC_ON = ("instance", "instanceId", "networkInterface", "networkInterfaceId")


def _layout(node: Node, parameters: Parameters) -> Verdicts:
    if node.size is None:
        yield Undecided(f"the interfaces of {node.called}: nothing here gives its size")
        return
    if not all(each.known for each in node.interfaces):
        yield Undecided(f"the interfaces of {node.called}")
        return
    places = [(each.card, each.device) for each in node.interfaces]
    types = [each.type for each in node.interfaces]
    problems = [*_illegal(node.size, places, types)]
    if problems:
        yield Violation(
            f"{node.called} has interfaces that EC2 refuses: {'; '.join(problems)}.", _wanted(node.size)
        )
        return
    has = sum(type_ != "interface" for type_ in types)
    most = node.size.fabric_ports
    if has < (most if parameters["requireAllEfa"] else 1):
        what = "no EFA interface" if has == 0 else f"{has} of {most} EFA interfaces"
        yield Violation(
            f"{node.called} has {what}; one that is missing at launch cannot be attached later.",
            _wanted(node.size),
        )


def _illegal(size: NodeSize, places: list[tuple[int, int]], types: list[str]) -> list[str]:
    problems = []
    for place in sorted({place for place in places if places.count(place) > 1}):
        problems.append(f"{places.count(place)} on card {place[0]} device {place[1]}")
    efa_on = [card for (card, _), type_ in zip(places, types, strict=True) if type_ != "interface"]
    # One EFA a card (EC2 User Guide, efa.html, "EFA limitations").
    problems += [
        f"{efa_on.count(card)} EFA on card {card}" for card in sorted(set(efa_on)) if efa_on.count(card) > 1
    ]
    for (card, device), type_ in zip(places, types, strict=True):
        if type_ not in _TYPES:
            problems.append(f"card {card}: `{type_}` is no type of interface")
        if size.network_cards is not None and card >= size.network_cards:
            problems.append(f"card {card}, and the size has cards 0 to {size.network_cards - 1}")
        elif size.interfaces_per_card is not None and device >= size.interfaces_per_card:
            problems.append(
                f"card {card} device {device}, and a card takes {size.interfaces_per_card} interfaces"
            )
        elif type_ != "interface" and size.efa_cards is not None and card not in size.efa_cards:
            problems.append(f"EFA on card {card}, which takes none")
    if places and ((0, 0) not in places or types[places.index((0, 0))] == "efa-only"):
        problems.append("no interface with an address on card 0 device 0")
    return list(dict.fromkeys(problems))


def _wanted(size: NodeSize) -> str:
    layout = interfaces(size)
    first, more = layout[0], layout[1:]
    return (
        f"give {first.type.value} on card {first.network_card} device {first.device}, and efa-only on "
        f"{len(more)} more places: `gpu-fabric sizes {size.name}` lists them."
    )


def _public(resources: list[Resource], parameters: Parameters) -> Verdicts:
    del parameters
    yield from unread_nodes(resources)
    nodes = known_nodes(resources)
    for node in nodes:
        answer, where = _public_address(node, resources)
        if answer is True:
            yield Violation(
                f"{node.called} has a public address{where}.",
                "leave it out: EC2 refuses a public address on a node with several interfaces; reach nodes through "
                "Session Manager."
                if node.cloud is Cloud.AWS
                else "leave it out; reach nodes through Bastion.",
                node.urn,
            )
        elif answer is UNKNOWN:
            yield Undecided(f"whether {node.called} has a public address")
    yield from _elastic(resources, nodes)


def _public_address(node: Node, resources: list[Resource]) -> tuple[Any, str]:
    """Whether the node has one, and on which interface of its own."""
    own = has_public_address(node)
    if node.cloud is Cloud.AWS or own is True:
        return own, ""
    attached = named(node.resource, ("networkProfile.networkInterfaces.*.id",), (AZURE_INTERFACE,), resources)
    with_address = [
        each.name
        for each in attached.resources
        if any_of(
            UNKNOWN if address is UNKNOWN else True
            for address in at(each.props, "ipConfigurations.*.publicIPAddress")
        )
    ]
    if with_address:
        return True, f" on {', '.join(with_address)}"
    return (UNKNOWN if attached.others else own), ""


def _elastic(resources: list[Resource], nodes: list[Node]) -> Verdicts:
    """Elastic addresses, which go to a machine or to a network interface of its own."""
    by_urn: dict[str, Node] = {}
    for node in nodes:
        by_urn |= {each.urn: node for each in (node.resource, *node.attached.resources)}
    for resource in resources:
        if resource.kind not in _ELASTIC:
            continue
        given = named(resource, _ELASTIC_ON, (*SINGLE, NETWORK_INTERFACE), resources)
        for each in given.resources:
            if each.urn in by_urn:
                yield Violation(
                    f"{resource.name} gives {by_urn[each.urn].called} a public address.",
                    "remove it; reach nodes through Session Manager.",
                    resource.urn,
                )
        if given.others and any(node.resource.kind in SINGLE and node.cloud is Cloud.AWS for node in nodes):
            yield Undecided(f"whether {resource.name} gives a node a public address")


RULES = (
    Rule(
        name="interface-layout",
        summary="Every network interface has a legal place on the size's cards, and none of the fabric is left out.",
        why="EC2 refuses a layout that the size does not have, minutes after the deployment began. A layout with too "
        "few EFA interfaces starts, and halves the bandwidth without a message.",
        source="EC2 User Guide, efa-acc-inst-types.html",
        **for_each_node(_layout, Cloud.AWS),
        parameters={
            "requireAllEfa": {
                "type": "boolean",
                "default": True,
                "description": "Ask for every EFA interface of the size; false: for one.",
            }
        },
    ),
    Rule(
        name="no-public-address",
        summary="GPU nodes have no public address.",
        why="A node with several interfaces cannot get one from EC2, and nobody outside needs to reach a node.",
        source="EC2 User Guide, using-instance-addressing.html",
        check_stack=_public,
    ),
)
