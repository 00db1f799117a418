"""Mandate 1: the nodes of one cluster stand close together."""

from __future__ import annotations

from typing import Final

from gpu_fabric.nccl.hardware import Cloud, Fabric
from gpu_fabric.policy.nodes import LAUNCH_TEMPLATE, SCALE_SET, Node, UnknownSize, node_of, nodes_in
from gpu_fabric.policy.rule import Parameters, Resource, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, items, look

PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
FLEET = "aws:autoscaling/group:Group"
EKS_NODES = "aws:eks/nodeGroup:NodeGroup"
#: Type → the property that names the subnets of its machines.
_SUBNETS: Final = {FLEET: "vpcZoneIdentifiers", EKS_NODES: "subnetIds"}


def _check(resources: list[Resource], parameters: Parameters) -> Verdicts:
    for resource in resources:
        if isinstance(node_of(resource), UnknownSize):
            yield Undecided(f"the size of {resource.name}")
    for node in nodes_in(resources):
        yield from _aws(node, resources) if node.cloud is Cloud.AWS else _azure(node, parameters)


def _aws(node: Node, resources: list[Resource]) -> Verdicts:
    owners = [each for each in resources if each.type in _SUBNETS and _uses(each, node)]
    for owner in owners:
        yield from _one_zone(owner)
    props = node.resource.props
    if look(props, "instanceMarketOptions", "marketType") == "capacity-block":
        return  # the block brings its own placement
    if node.type == LAUNCH_TEMPLATE:
        given = [look(props, "placement", "groupName"), look(props, "placement", "groupId")]
        given += [look(owner.props, "placementGroup") for owner in owners]
        property_names = ("placement",)
    else:
        given, property_names = [look(props, "placementGroup")], ("placementGroup",)
    if not any(value is not None and value != "" for value in given):
        yield Violation(
            f"{node.called} has EFA and no placement group: its nodes may stand anywhere in the zone.",
            "name a placement group with strategy `cluster`, or buy a capacity block, which brings its own.",
            node.urn,
        )
        return
    wanted = {urn for name in property_names for urn in node.resource.references.get(name, ())}
    for owner in owners:
        wanted |= set(owner.references.get("placementGroup", ()))
    for group in resources:
        strategy = look(group.props, "strategy")
        if group.type == PLACEMENT_GROUP and group.urn in wanted and strategy not in ("cluster", UNKNOWN):
            yield Violation(
                f"{node.called} is in the placement group {group.name} with strategy `{strategy}`, which keeps nodes "
                "apart.",
                "give the group the strategy `cluster`.",
                node.urn,
            )


def _uses(owner: Resource, node: Node) -> bool:
    """Whether the machines of `owner` come from this launch template."""
    template = look(owner.props, "launchTemplate")
    if node.urn in owner.references.get("launchTemplate", ()):
        return True
    return node.resource.id is not None and look(template, "id") == node.resource.id


def _one_zone(owner: Resource) -> Verdicts:
    for name in (_SUBNETS[owner.type], "availabilityZones"):
        places = look(owner.props, name)
        if name == "availabilityZones" and look(owner.props, _SUBNETS[owner.type]):
            continue  # computed from the subnets
        known = {str(place) for place in items(places) if place is not UNKNOWN}
        unknown = sum(place is UNKNOWN for place in items(places))
        if len(known) + unknown > 1:
            yield Violation(
                f"{owner.name} spreads its nodes over {len(known) + unknown} {_words(name)}, and EFA does not cross "
                "zones.",
                "give one subnet of one zone.",
                owner.urn,
            )


def _words(name: str) -> str:
    return "zones" if name == "availabilityZones" else "subnets"


def _azure(node: Node, parameters: Parameters) -> Verdicts:
    if node.size is None or node.size.fabric is not Fabric.INFINIBAND:
        return
    props = node.resource.props
    if node.type == SCALE_SET:
        mode = look(props, "orchestrationMode")
        if mode not in (None, "Uniform", UNKNOWN):
            yield Violation(
                f"{node.called} is a scale set in {mode} mode, whose machines share no InfiniBand network.",
                'set orchestrationMode to "Uniform".',
                node.urn,
            )
        wanted = True if node.size.single_placement_group is None else node.size.single_placement_group
        single = look(props, "singlePlacementGroup")
        if single is not UNKNOWN and (single is True) != wanted:
            yield Violation(
                f"{node.called} has singlePlacementGroup {_spelled(single)}: its machines need not share an "
                "InfiniBand network.",
                f"set singlePlacementGroup to {_spelled(wanted)}.",
                node.urn,
            )
    elif look(props, "availabilitySet") is None and look(props, "virtualMachineScaleSet") is None:
        yield Violation(
            f"{node.called} is in no availability set: it shares no InfiniBand network with another machine.",
            "put all machines of the cluster into one availability set or one scale set.",
            node.urn,
        )
    if parameters["requireProximityGroup"] and look(props, "proximityPlacementGroup") is None:
        yield Violation(
            f"{node.called} is in no proximity placement group, and this pack is set to ask for one.",
            "name one in proximityPlacementGroup, or set requireProximityGroup to false.",
            node.urn,
        )


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
            }
        },
    ),
)
