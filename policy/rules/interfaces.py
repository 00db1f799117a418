"""The interfaces of a node: a legal place on its cards, all of the fabric, and no public address."""

from __future__ import annotations

from typing import Any

from gpu_fabric.nccl.hardware import Cloud, NodeSize
from gpu_fabric.nccl.hardware.interfaces import interfaces
from gpu_fabric.policy.nodes import UnknownSize, has_public_address, node_of, nodes_in, unversioned
from gpu_fabric.policy.rule import Parameters, Resource, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, items, look

_TYPES = ("interface", "efa", "efa-only")


def _number(value: Any) -> int:
    return 0 if value is None else int(value)


def _layout(resource: Resource, parameters: Parameters) -> Verdicts:
    node = node_of(resource)
    if isinstance(node, UnknownSize):
        yield Undecided(f"the size of {resource.name}")
        return
    if node is None or node.cloud is not Cloud.AWS or node.size is None:
        return
    given = look(resource.props, "networkInterfaces")
    found = items(given)
    if given is UNKNOWN or any(
        UNKNOWN in (look(each, "networkCardIndex"), look(each, "deviceIndex"), look(each, "interfaceType"))
        for each in found
    ):
        yield Undecided(f"the interfaces of {node.called}")
        return
    places = [(_number(look(each, "networkCardIndex")), _number(look(each, "deviceIndex"))) for each in found]
    types = [look(each, "interfaceType") or "interface" for each in found]
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
    by_urn = {each.urn: each for each in resources}
    do = "leave it out: EC2 refuses a public address on a node with several interfaces"
    for node in nodes_in(resources):
        answer = has_public_address(node)
        attached = [
            by_urn[urn] for urn in node.resource.references.get("networkProfile", ()) if urn in by_urn
        ]
        with_address = [
            each.name
            for each in attached
            if unversioned(each.type) == "azure-native:network:NetworkInterface"
            and any(
                look(ip, "publicIPAddress") is not None for ip in items(look(each.props, "ipConfigurations"))
            )
        ]
        if answer is True or with_address:
            where = f" on {', '.join(with_address)}" if with_address else ""
            yield Violation(
                f"{node.called} has a public address{where}.",
                f"{do}; reach nodes through Session Manager."
                if node.cloud is Cloud.AWS
                else "leave it out; reach nodes through Bastion.",
                node.urn,
            )
        elif answer is UNKNOWN:
            yield Undecided(f"whether {node.called} has a public address")
    nodes = {node.urn: node for node in nodes_in(resources)}
    for resource in resources:
        if resource.type in ("aws:ec2/eip:Eip", "aws:ec2/eipAssociation:EipAssociation"):
            for urn in (*resource.references.get("instance", ()), *resource.references.get("instanceId", ())):
                if urn in nodes:
                    yield Violation(
                        f"{resource.name} gives {nodes[urn].called} a public address.",
                        "remove it; reach nodes through Session Manager.",
                        resource.urn,
                    )


RULES = (
    Rule(
        name="interface-layout",
        summary="Every network interface has a legal place on the size's cards, and none of the fabric is left out.",
        why="EC2 refuses a layout that the size does not have, minutes after the deployment began. A layout with too "
        "few EFA interfaces starts, and halves the bandwidth without a message.",
        source="EC2 User Guide, efa-acc-inst-types.html",
        check=_layout,
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
