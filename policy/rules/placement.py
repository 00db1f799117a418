"""Mandate 1: the nodes of one cluster stand close together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpu_fabric.nccl.hardware import Cloud, Fabric
from gpu_fabric.policy.kinds import KINDS, SCALE_SET, SINGLE, TEMPLATES
from gpu_fabric.policy.nodes import Node, known_nodes, unread_nodes
from gpu_fabric.policy.resource import Resource, named
from gpu_fabric.policy.rule import Parameters, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, at, look, text, truth

_TOGETHER = (
    "put all machines of the cluster into one availability set, or make them a scale set in Uniform mode."
)
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SUBNET = "aws:ec2/subnet:Subnet"


def _check(resources: list[Resource], parameters: Parameters) -> Verdicts:
    yield from unread_nodes(resources)
    nodes = known_nodes(resources)
    for owner in _owners(nodes, resources):
        yield from _one_zone(owner, resources)
    for node in nodes:
        if node.cloud is Cloud.AZURE:
            yield from _azure(node, parameters)
            continue
        for called, urn, layers in _starts(node, nodes, resources):
            yield from _aws(node, called, urn, layers, resources)
    yield from _machines(nodes, resources, parameters)


def _owners(nodes: list[Node], resources: list[Resource]) -> Iterator[Resource]:
    """What starts AWS nodes by number."""
    urns = {layer.urn for node in nodes if node.cloud is Cloud.AWS for layer in node.layers}
    for resource in resources:
        kind = KINDS.get(resource.kind)
        if kind is None or not kind.many or kind.cloud is not Cloud.AWS:
            continue
        started = named(resource, kind.templates, TEMPLATES, resources).resources
        if resource.urn in urns or any(each.urn in urns for each in started):
            yield resource


def _started_by(node: Node, resources: list[Resource]) -> list[Resource]:
    """What starts machines from this node's own template."""
    if node.resource.kind not in TEMPLATES:
        return []
    return [
        each
        for each in resources
        for kind in [KINDS.get(each.kind)]
        if kind is not None
        and kind.templates
        and any(one.urn == node.urn for one in named(each, kind.templates, TEMPLATES, resources).resources)
    ]


def _starts(
    node: Node, nodes: list[Node], resources: list[Resource]
) -> Iterator[tuple[str, str, tuple[Resource, ...]]]:
    """(what it is called, its URN, what describes it) for each resource that starts a node: each may place its own."""
    own = {each.urn for each in nodes}
    starters = _started_by(node, resources)
    others = [each for each in starters if each.urn not in own]
    if any(at(each.props, path) for each in others for path in KINDS[each.kind].placement):
        for each in others:
            yield (
                f"{each.name} ({node.size.name})" if node.size else each.name,
                each.urn,
                (each, *node.layers),
            )
    elif others or not starters:
        yield node.called, node.urn, (*node.layers, *others)


def _aws(
    node: Node, called: str, urn: str, layers: tuple[Resource, ...], resources: list[Resource]
) -> Verdicts:
    market = (
        text(node.first(lambda kind: kind.market)) if any(KINDS[x.kind].market for x in node.layers) else None
    )
    if market == "capacity-block":
        return  # the block brings its own placement
    given = [
        value
        for layer in layers
        for path in KINDS[layer.kind].placement
        for value in at(layer.props, path)
        if value != ""
    ]
    found = [named(layer, KINDS[layer.kind].placement, (PLACEMENT_GROUP,), resources) for layer in layers]
    groups = {each.urn: each for one in found for each in one.resources}
    if not groups and (node.hidden or market is UNKNOWN or any(value is UNKNOWN for value in given)):
        yield Undecided(f"the placement of {called}")
        return
    if not given and not groups:
        yield Violation(
            f"{called} has EFA and no placement group: its nodes may stand anywhere in the zone.",
            "name a placement group with strategy `cluster`, or buy a capacity block, which brings its own.",
            urn,
        )
        return
    if any(one.others for one in found):
        yield Undecided(f"the strategy of the placement group of {called}: the group is not in this stack")
    for group in groups.values():
        strategy = text(look(group.props, "strategy"))
        if strategy is UNKNOWN:
            yield Undecided(f"the strategy of {group.name}, the placement group of {called}")
        elif strategy != "cluster":
            yield Violation(
                f"{called} is in the placement group {group.name} with strategy `{_spelled(strategy)}`, which "
                "keeps nodes apart.",
                "give the group the strategy `cluster`.",
                urn,
            )


def _one_zone(owner: Resource, resources: list[Resource]) -> Verdicts:
    kind = KINDS[owner.kind]
    subnets = _distinct(owner, kind.subnets)
    # Zones beside subnets are computed from them.
    zones = [] if subnets else _distinct(owner, kind.zones)
    places, word = (subnets, "subnets") if subnets else (zones, "zones")
    if len(places) > 1 and not _share_a_zone(owner, resources):
        yield Violation(
            f"{owner.name} spreads its nodes over {len(places)} {word}, and EFA does not cross zones.",
            "give one subnet of one zone.",
            owner.urn,
        )
    elif any(not isinstance(place, str) for place in places) and not _lists(
        owner, kind.subnets or kind.zones
    ):
        yield Undecided(f"the {word} of {owner.name}")


def _share_a_zone(owner: Resource, resources: list[Resource]) -> bool:
    """Whether every subnet of the owner is known to lie in one zone."""
    zones = set(_zones_of(owner, resources))
    return len(zones) == 1 and UNKNOWN not in zones


def _lists(owner: Resource, paths: tuple[str, ...]) -> bool:
    """Whether the number of places is known, as it is where a list is, whatever its entries are."""
    return any(value is not UNKNOWN for path in paths for value in at(owner.props, path.removesuffix(".*")))


def _distinct(resource: Resource, paths: tuple[str, ...]) -> list[Any]:
    """Each text once; what is not known may be a place of its own."""
    found = [value for path in paths for value in at(resource.props, path)]
    texts = dict.fromkeys(value for value in found if isinstance(value, str))
    return [*texts, *(value for value in found if not isinstance(value, str))]


def _zones_of(resource: Resource, resources: list[Resource]) -> list[Any]:
    """The zones in which the machines of a resource stand; UNKNOWN for a subnet whose zone nobody here knows."""
    kind = KINDS[resource.kind]
    direct = [value for path in kind.zones for value in at(resource.props, path) if value != ""]
    if direct and not any(at(resource.props, path) for path in kind.subnets):
        return [text(value) for value in direct]
    subnets = named(resource, kind.subnets, (SUBNET,), resources)
    found = [text(look(each.props, "availabilityZone")) or UNKNOWN for each in subnets.resources]
    return [*found, *([UNKNOWN] if subnets.others else [])]


def _azure(node: Node, parameters: Parameters) -> Verdicts:
    if node.size is None or node.size.fabric is not Fabric.INFINIBAND:
        return
    props = node.resource.props
    if node.resource.kind == SCALE_SET:
        yield from _scale_set(node)
    else:
        together, attached = look(props, "availabilitySet"), look(props, "virtualMachineScaleSet")
        if isinstance(attached, Mapping):
            yield Violation(
                f"{node.called} is attached to a scale set. Only one in Flexible mode takes machines, and machines of "
                "such a set share no InfiniBand network.",
                _TOGETHER,
                node.urn,
            )
        elif together is None and attached is None:
            yield Violation(
                f"{node.called} is in no availability set: it shares no InfiniBand network with another machine.",
                _TOGETHER,
                node.urn,
            )
        elif not isinstance(together, Mapping):
            yield Undecided(f"the availability set of {node.called}")
    group = look(props, "proximityPlacementGroup")
    if not parameters["requireProximityGroup"] or isinstance(group, dict):
        return
    if group is not None:
        yield Undecided(f"the proximity placement group of {node.called}")
    else:
        yield Violation(
            f"{node.called} is in no proximity placement group, and this pack is set to ask for one.",
            "name one in proximityPlacementGroup, or set requireProximityGroup to false.",
            node.urn,
        )


def _scale_set(node: Node) -> Verdicts:
    props = node.resource.props
    zones = _distinct(node.resource, node.kind.zones)
    if len(zones) > 1:
        yield Violation(
            f"{node.called} spreads its machines over {len(zones)} zones, and InfiniBand does not cross zones.",
            "name one zone.",
            node.urn,
        )
    elif UNKNOWN in zones:
        yield Undecided(f"the zones of {node.called}")
    mode, single = text(look(props, "orchestrationMode")), look(props, "singlePlacementGroup")
    if mode is UNKNOWN:
        yield Undecided(f"the orchestration mode of {node.called}")
    elif mode is not None and mode.lower() != "uniform":
        yield Violation(
            f"{node.called} is a scale set in {mode} mode, whose machines share no InfiniBand network.",
            'set orchestrationMode to "Uniform".',
            node.urn,
        )
    assert node.size is not None
    wanted = True if node.size.single_placement_group is None else node.size.single_placement_group
    if truth(single) is UNKNOWN:
        yield Undecided(f"singlePlacementGroup of {node.called}")
    elif truth(single) != wanted:
        yield Violation(
            f"{node.called} has singlePlacementGroup {_spelled(single)}: its machines need not share an "
            "InfiniBand network.",
            f"set singlePlacementGroup to {_spelled(wanted)}.",
            node.urn,
        )


def _machines(nodes: list[Node], resources: list[Resource], parameters: Parameters) -> Verdicts:
    """Machines that a program declares one by one: whether they stand together."""
    if parameters["singleMachines"] == "apart":
        return
    by_size: dict[str, list[Node]] = defaultdict(list)
    for node in _singles(nodes, resources):
        if node.size is not None:
            by_size[node.size.name].append(node)
    for size, machines in by_size.items():
        for word, place_of in _PLACES[machines[0].cloud].items():
            places = {node.urn: place_of(node, resources) for node in machines}
            if place_of is _zone_of and _in_one_subnet(machines):
                continue
            known = sorted({place for place in places.values() if isinstance(place, str)})
            if len(known) < 2:
                if len(machines) > 1 and UNKNOWN in places.values():
                    yield Undecided(f"whether the {len(machines)} machines of size {size} share one {word}")
                continue
            names = ", ".join(node.resource.name for node in machines)
            if parameters["singleMachines"] == "together":
                yield Violation(
                    f"{names} ({size}) stand in {len(known)} {word}s: {', '.join(known)}.",
                    f"put all machines of the cluster into one {word}.",
                    machines[-1].urn,
                )
            else:
                yield Undecided(
                    f"whether {names} ({size}) train together: they stand in {len(known)} {word}s "
                    f"({', '.join(known)}). Set the rule's parameter `singleMachines` to `together` or `apart`"
                )


def _singles(nodes: list[Node], resources: list[Resource]) -> Iterator[Node]:
    """Each machine that is declared one by one, those too that are all their template says."""
    found = {node.urn for node in nodes}
    yield from (node for node in nodes if node.resource.kind in SINGLE)
    for node in nodes:
        for starter in _started_by(node, resources):
            if starter.kind in SINGLE and starter.urn not in found:
                yield replace(node, layers=(starter, *node.layers))


def _group_of(node: Node, resources: list[Resource]) -> Any:
    """A name by which two machines of one placement group have the same one."""
    found = node.named(lambda kind: kind.placement, (PLACEMENT_GROUP,), resources)
    if found.resources:
        return found.resources[0].name
    return text(node.first(lambda kind: kind.placement))


def _zone_of(node: Node, resources: list[Resource]) -> Any:
    zones = [zone for layer in node.layers for zone in _zones_of(layer, resources)]
    zones += [
        text(look(subnet.props, "availabilityZone")) or UNKNOWN
        for interface in node.attached.resources
        for subnet in named(interface, ("subnetId",), (SUBNET,), resources).resources
    ]
    known = [zone for zone in zones if isinstance(zone, str)]
    return known[0] if known else UNKNOWN if zones else None


def _in_one_subnet(machines: list[Node]) -> bool:
    """Whether all name the same subnet, wherever that is: by id, or by the resource that its id comes from."""
    found = set()
    for node in machines:
        given = node.first(lambda kind: kind.subnets)
        sources = node.resource.references.get("subnetId", ())
        found.add(given if isinstance(given, str) else sources[0] if len(sources) == 1 else node.urn)
    return len(found) == 1


def _set_of(node: Node, resources: list[Resource]) -> Any:
    """The availability set of an Azure machine."""
    if look(node.resource.props, "availabilitySet") is None:
        return None
    kinds = ("azure-native:compute:AvailabilitySet",)
    found = named(node.resource, ("availabilitySet.id",), kinds, resources).resources
    return found[0].name if found else _lower(look(node.resource.props, "availabilitySet", "id"))


def _zone_of_machine(node: Node, resources: list[Resource]) -> Any:
    del resources
    return next(iter(_distinct(node.resource, node.kind.zones)), None)


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else UNKNOWN


#: What the machines of one cluster must share → how to tell.
_PLACES: dict[Cloud, dict[str, Any]] = {
    Cloud.AWS: {"placement group": _group_of, "zone": _zone_of},
    Cloud.AZURE: {"availability set": _set_of, "zone": _zone_of_machine},
}


def _spelled(value: object) -> str:
    return "not set" if value is None else str(value).lower()


RULES = (
    Rule(
        name="placement",
        summary="GPU nodes of one cluster stand in one zone, close together.",
        why="EFA works inside one zone, and a cluster placement group keeps the nodes below common switches. On Azure "
        "only the machines of one single-placement-group scale set, or of one availability set, get a common "
        "InfiniBand network; a proximity placement group alone gives none.",
        source="EC2 User Guide, placement-strategies.html and efa.html; azure-compute-docs, hpc/enable-infiniband.md",
        check_stack=_check,
        parameters={
            "requireProximityGroup": {
                "type": "boolean",
                "default": False,
                "description": "Ask for a proximity placement group around InfiniBand nodes.",
            },
            "singleMachines": {
                "type": "string",
                "enum": ["ask", "together", "apart"],
                "default": "ask",
                "description": "Whether machines of one size that are declared one by one train together: `together` "
                "demands one placement group and zone, or one availability set; `ask` says that it is undecided where "
                "they stand apart.",
            },
        },
    ),
)
