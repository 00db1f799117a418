"""No shape of any property that a rule reads breaks the pack, and what has a strange shape never passes in silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_fabric.policy.kinds import KINDS
from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.resource import Resource
from gpu_fabric.policy.rule import Undecided, Violation
from gpu_fabric.policy.rules import interfaces, placement, routes, security
from gpu_fabric.policy.values import UNKNOWN, plain

DEEP: Any = "end"
for _ in range(5000):
    DEEP = [DEEP]
ODD = [
    "",
    "p5.48xlarge",
    "Standard_ND96isr_H100_v5",
    "10.0.0.0/8",
    "-1",
    "65536-1",
    "true",
    "9" * 5000,
    "\ud800",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(ODD)
    | st.just(UNKNOWN),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["id", "ebs", "name", "interfaceType"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)

#: Type → every path at which a rule reads it. The rules' own tables, and what they look up by name.
PATHS: dict[str, tuple[str, ...]] = {
    **{
        type_: tuple(
            path
            for paths in (
                kind.sizes,
                kind.templates,
                (kind.requirements, f"{kind.requirements}.acceleratorCount.min"),
                kind.user_data,
                kind.image,
                (
                    kind.interfaces,
                    f"{kind.interfaces}.networkCardIndex",
                    f"{kind.interfaces}.deviceIndex",
                    f"{kind.interfaces}.interfaceType",
                    f"{kind.interfaces}.networkInterfaceId",
                    f"{kind.interfaces}.ipConfigurations.*.publicIPAddressConfiguration",
                ),
                (kind.primary,),
                kind.groups,
                kind.public,
                kind.disks,
                tuple(f"{path}.encrypted" for path in kind.disks),
                kind.at_host,
                kind.metadata,
                tuple(f"{path}.httpTokens" for path in kind.metadata),
                kind.placement,
                kind.market,
                kind.subnets,
                kind.zones,
                (
                    "orchestrationMode",
                    "singlePlacementGroup",
                    "availabilitySet.id",
                    "proximityPlacementGroup",
                ),
                ("networkProfile.networkInterfaces.*.id", "id", "name", "arn"),
            )
            for path in paths
            if path and not path.startswith(".")
        )
        for type_, kind in KINDS.items()
    },
    **dict.fromkeys(security._GROUPS, ("id", "name", "ingress.*.protocol", "ingress.*.self", "egress")),
    security._AZURE_GROUP: tuple(
        f"securityRules.*.{path}"
        for path in (*security._AZURE_SOURCES, *security._AZURE_PORTS, "direction", "access")
    ),
    **dict.fromkeys(
        (*security._OWN, *security._VPC_RULES),
        (
            *security._BLOCKS,
            *security._AZURE_SOURCES,
            *security._AZURE_PORTS,
            *("direction", "access", "type", "protocol", "ipProtocol", "fromPort", "toPort", "self"),
            *("securityGroupId", "referencedSecurityGroupId", "sourceSecurityGroupId"),
        ),
    ),
    **routes._BLOCKS,
    **{
        type_: tuple(
            f"{path}.{key}" if path else key for key in (*routes._TARGETS, *routes._GATEWAYS, "nextHopType")
        )
        for type_, (_, path) in routes._ROUTES.items()
    },
    "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface": ("mtu",),
    routes._AZURE_CONNECTION: ("connectionType",),
    interfaces.AZURE_INTERFACE: ("ipConfigurations.*.publicIPAddress",),
    **dict.fromkeys(interfaces._ELASTIC, interfaces._ELASTIC_ON),
    "aws:ec2/networkInterface:NetworkInterface": ("interfaceType", "securityGroups.*", "subnetId"),
    placement.PLACEMENT_GROUP: ("name", "strategy"),
    placement.SUBNET: ("availabilityZone",),
}


def put(props: Any, path: str, value: Any) -> Any:
    """`props` with `value` at a path; what has another shape stays as it is."""
    step, _, rest = path.partition(".")
    if not path:
        return value
    if step == "*":
        return [*(props if isinstance(props, list) else []), put(None, rest, value)]
    given = props if isinstance(props, dict) else {}
    return {**given, step: put(given.get(step), rest, value)}


@st.composite
def resources(draw: st.DrawFn) -> list[Resource]:
    """Resources of the types that rules read, with anything at any of the places that they read, or above it."""
    found = []
    types = draw(st.lists(st.sampled_from(sorted(PATHS)), min_size=1, max_size=4))
    for number, type_ in enumerate(types):
        props: Any = {}
        kind = KINDS.get(type_)
        if kind is not None and draw(st.booleans()):
            size = "p5.48xlarge" if kind.cloud == "aws" else "Standard_ND96isr_H100_v5"
            props = put(props, kind.sizes[0], size)
        for path in draw(st.lists(st.sampled_from(PATHS[type_]), max_size=5)):
            steps = path.split(".")
            upto = draw(st.integers(1, len(steps)))
            props = put(props, ".".join(steps[:upto]), draw(VALUES))
        others = st.sampled_from([f"urn:{other}" for other in range(len(types))] + ["urn:elsewhere"])
        references = draw(
            st.dictionaries(st.sampled_from(sorted(props) or ["id"]), st.tuples(others), max_size=3)
        )
        id_ = draw(st.none() | st.sampled_from(["id-1", ""]))
        found.append(Resource(type_, f"one{number}", f"urn:{number}", props, id_, references))
    return found


def ask(one: Any, given: list[Resource]) -> list[Violation | Undecided]:
    parameters = one.settings({"requireProximityGroup": True, "requireEncryptionAtHost": True})
    found = [verdict for each in given for verdict in one.check(each, parameters)] if one.check else []
    return found + (list(one.check_stack(given, parameters)) if one.check_stack else [])


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(resources())
def test_no_shape_of_a_property_that_a_rule_reads_breaks_the_rule(given: list[Resource]) -> None:
    for rule in RULES:
        for verdict in ask(rule, given):
            assert isinstance(verdict, Violation | Undecided)
            assert verdict.what


@pytest.mark.parametrize("type_", sorted(PATHS))
def test_no_property_is_nested_too_deeply_or_too_long_for_a_rule(type_: str) -> None:
    for path in PATHS[type_]:
        for value in (plain(DEEP), "9" * 5000, {"a": plain(DEEP)}, float("nan"), float("inf"), b"\xff"):
            for upto in range(1, path.count(".") + 2):
                given = Resource(type_, "one", "urn:one", put({}, ".".join(path.split(".")[:upto]), value))
                for rule in RULES:
                    ask(rule, [given])


#: Rule → places whose unknown value must be said, of a node that is otherwise as it should be.
SAID = [
    ("placement", "aws", "placement"),
    ("placement", "azure", "orchestrationMode"),
    ("placement", "azure", "singlePlacementGroup"),
    ("placement", "azure", "proximityPlacementGroup"),
    ("drivers", "aws", "imageId"),
    ("drivers", "azure", "virtualMachineProfile"),
    ("gpudirect", "aws", "userData"),
    ("socket-names", "azure", "virtualMachineProfile"),
    ("preflight-gate", "aws", "userData"),
    ("interface-layout", "aws", "networkInterfaces"),
    ("no-public-address", "aws", "networkInterfaces"),
    ("no-public-address", "azure", "virtualMachineProfile"),
    ("efa-self-rules", "aws", "networkInterfaces"),
    ("efa-self-rules", "aws", "vpcSecurityGroupIds"),
    ("imdsv2", "aws", "metadataOptions"),
    ("encrypted-disks", "aws", "blockDeviceMappings"),
    ("encrypted-disks", "azure", "virtualMachineProfile"),
]
NODES: dict[str, dict[str, Any]] = {
    "aws": {
        "instanceType": "p5.48xlarge",
        "metadataOptions": {"httpTokens": "required"},
    },
    "azure": {
        "sku": {"name": "Standard_ND96isr_H100_v5"},
        "orchestrationMode": "Uniform",
        "singlePlacementGroup": True,
        "proximityPlacementGroup": {"id": "/group"},
    },
}
TYPES = {
    "aws": "aws:ec2/launchTemplate:LaunchTemplate",
    "azure": "azure-native:compute:VirtualMachineScaleSet",
}
STRANGE = [UNKNOWN, 5, [UNKNOWN], [[]], True]


@pytest.mark.parametrize("value", STRANGE, ids=repr)
@pytest.mark.parametrize(("rule", "cloud", "name"), SAID)
def test_what_is_unknown_or_has_a_strange_shape_is_undecided_and_no_violation(
    rule: str, cloud: str, name: str, value: Any
) -> None:
    if value is True and name == "singlePlacementGroup":
        return
    node = Resource(TYPES[cloud], "node", "urn:node", {**NODES[cloud], name: value})
    one = next(each for each in RULES if each.name == rule)
    found = ask(one, [node])
    assert [type(each) for each in found] == [Undecided], found
