"""What a rule says about plain resources: no engine, no program, any shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.resource import Resource
from gpu_fabric.policy.rule import Undecided, Violation

BY_NAME = {rule.name: rule for rule in RULES}

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
INSTANCE = "aws:ec2/instance:Instance"
GROUP = "aws:autoscaling/group:Group"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SUBNET = "aws:ec2/subnet:Subnet"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
MACHINE = "azure-native:compute:VirtualMachine"
P5, ND = "p5.48xlarge", "Standard_ND96isr_H100_v5"


def resource(type_: str, name: str, /, **props: Any) -> Resource:
    """A resource with these properties, and with `id_`; `refs` maps a property to the name of the resource that its
    value comes from."""
    id_: str | None = props.pop("id_", None)
    refs: Mapping[str, str] = props.pop("refs", {})
    references = {key: (f"urn:{other}",) for key, other in refs.items()}
    return Resource(type_, name, f"urn:{name}", props, id_, references)


def verdicts(rule: str, *resources: Resource, **parameters: Any) -> list[Violation | Undecided]:
    """Everything that the rule says, of each resource alone and of all of them."""
    one, found = BY_NAME[rule], []
    settings = one.settings(parameters)
    if one.check is not None:
        found += [verdict for each in resources for verdict in one.check(each, settings)]
    if one.check_stack is not None:
        found += one.check_stack([*resources], settings)
    return found


def violations(rule: str, *resources: Resource, **parameters: Any) -> list[str]:
    return [each.what for each in verdicts(rule, *resources, **parameters) if isinstance(each, Violation)]


def undecided(rule: str, *resources: Resource, **parameters: Any) -> list[str]:
    return [each.what for each in verdicts(rule, *resources, **parameters) if isinstance(each, Undecided)]
