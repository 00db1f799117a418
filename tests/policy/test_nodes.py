"""Which machines the pack finds, wherever their size, interfaces and groups stand."""

from __future__ import annotations

import pytest

from gpu_fabric.policy.kinds import KINDS
from gpu_fabric.policy.nodes import Node, Unread, nodes_in
from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.resource import Resource
from gpu_fabric.policy.values import UNKNOWN
from tests.policy.plain import (
    CONFIGURATION,
    GROUP,
    INSTANCE,
    INTERFACE,
    MACHINE,
    ND,
    NODE_GROUP,
    P5,
    PLACEMENT_GROUP,
    SCALE_SET,
    SECURITY_GROUP,
    TEMPLATE,
    resource,
    undecided,
    verdicts,
    violations,
)

BARE = resource(TEMPLATE, "template", userData="#!/bin/sh\nexport NCCL_NET_GDR_LEVEL=LOC\n")
FROM_BARE = {"launchTemplate": {"id": UNKNOWN}}
EFA = [{"networkCardIndex": 0, "interfaceType": "efa", "deviceIndex": 0}]


def at_path(path: str, value: object) -> dict:
    """Properties with `value` at a dotted path."""
    for step in reversed(path.split(".")):
        value = [value] if step == "*" else {step: value}
    assert isinstance(value, dict)
    return value


def called(*resources: Resource) -> list[str]:
    return [one.called if isinstance(one, Node) else one.what for one in nodes_in([*resources])]


@pytest.mark.parametrize(
    ("type_", "path"), [(type_, path) for type_, kind in KINDS.items() for path in kind.sizes]
)
def test_a_size_is_found_wherever_a_type_keeps_it(type_: str, path: str) -> None:
    kind = KINDS[type_]
    size = P5 if kind.cloud == "aws" else ND
    found = nodes_in([resource(type_, "one", **at_path(path, size))])
    assert len(found) == 1
    if kind.unread:
        assert isinstance(found[0], Unread)
        assert found[0].what == (
            f"the machines of one ({size}): the pack does not read how {kind.unread} describes them"
        )
    elif kind.made_by:
        assert isinstance(found[0], Unread)
        assert found[0].what.startswith(f"the machines of one ({size}): {kind.made_by} sets them up")
    else:
        assert isinstance(found[0], Node)
        assert found[0].called == f"one ({size})"


@pytest.mark.parametrize(
    ("type_", "path"), [(type_, path) for type_, kind in KINDS.items() for path in kind.sizes]
)
def test_a_size_that_is_not_known_is_said_by_every_rule_over_that_clouds_nodes(type_: str, path: str) -> None:
    one = resource(type_, "one", **at_path(path, UNKNOWN))
    others = {"aws": {"route-isolation", "rdma-network-free", "no-open-ingress"}}.get(
        KINDS[type_].cloud,
        {"route-isolation", "no-open-ingress", "efa-self-rules", "imdsv2", "interface-layout"},
    )
    for rule in RULES:
        assert violations(rule.name, one) == []
        said = undecided(rule.name, one)
        assert bool(said) == (rule.name not in others), rule.name
        assert all("the size of one" in what for what in said)


@pytest.mark.parametrize("name", [ND.lower(), ND.upper(), ND])
@pytest.mark.parametrize(("type_", "path"), [(SCALE_SET, "sku.name"), (MACHINE, "hardwareProfile.vmSize")])
def test_azure_takes_a_size_in_any_case_and_so_does_the_pack(type_: str, path: str, name: str) -> None:
    assert called(resource(type_, "one", **at_path(path, name))) == [f"one ({ND})"]


def test_a_size_without_a_fast_fabric_is_no_node_on_any_kind() -> None:
    for type_, kind in KINDS.items():
        size = "t3.micro" if kind.cloud == "aws" else "Standard_D2s_v5"
        assert called(resource(type_, "one", **at_path(kind.sizes[0], size))) == []


@pytest.mark.parametrize(
    "owner",
    [
        resource(NODE_GROUP, "owner", refs={"launchTemplate": "template"}, instanceTypes=[P5], **FROM_BARE),
        resource(INSTANCE, "owner", refs={"launchTemplate": "template"}, instanceType=P5, **FROM_BARE),
        resource(
            GROUP,
            "owner",
            refs={"mixedInstancesPolicy": "template"},
            mixedInstancesPolicy={
                "launchTemplate": {
                    "launchTemplateSpecification": {"launchTemplateId": UNKNOWN},
                    "overrides": [{"instanceType": P5}, {"instanceType": "m5.large"}],
                }
            },
        ),
    ],
    ids=["node group", "instance", "mixed instances"],
)
def test_a_size_of_the_owner_makes_a_node_of_a_template_without_one(owner: Resource) -> None:
    assert called(BARE, owner) == [f"owner ({P5})"]
    (message,) = violations("gpudirect", BARE, owner)
    assert message.startswith(f"owner ({P5}), user data:2: NCCL_NET_GDR_LEVEL=LOC")
    (message,) = violations("interface-layout", BARE, owner)
    assert message.startswith(f"owner ({P5}) has no EFA interface")


def test_a_node_group_without_groups_of_its_own_has_its_clusters() -> None:
    group = resource(
        NODE_GROUP, "group", refs={"launchTemplate": "template"}, instanceTypes=[P5], **FROM_BARE
    )
    assert violations("efa-self-rules", BARE, group) == []
    assert undecided("efa-self-rules", BARE, group) == [
        f"the rules of the cluster's security group, which group ({P5}) has by default"
    ]


def test_a_template_with_its_size_is_one_node_whoever_starts_it() -> None:
    template = resource(TEMPLATE, "template", instanceType=P5)
    owners = [
        resource(GROUP, "group", refs={"launchTemplate": "template"}, **FROM_BARE),
        resource(INSTANCE, "machine", refs={"launchTemplate": "template"}, subnetId="s", **FROM_BARE),
    ]
    assert called(template, *owners) == [f"template ({P5})"]


def test_an_override_of_another_size_is_a_node_of_its_own() -> None:
    template = resource(TEMPLATE, "template", id_="lt-1", instanceType=P5)
    fleet = resource(
        "aws:ec2/fleet:Fleet",
        "fleet",
        launchTemplateConfigs=[
            {
                "launchTemplateSpecification": {"launchTemplateId": "lt-1"},
                "overrides": [{"instanceType": "p5en.48xlarge"}],
            }
        ],
    )
    assert called(template, fleet) == [f"template ({P5})", "fleet (p5en.48xlarge)"]


def test_a_launch_configuration_is_read_and_its_group_looked_at() -> None:
    configuration = resource(CONFIGURATION, "configuration", instanceType=P5)
    group = resource(
        GROUP,
        "group",
        refs={"launchConfiguration": "configuration"},
        launchConfiguration=UNKNOWN,
        placementGroup="rack",
        vpcZoneIdentifiers=["subnet-1", "subnet-2"],
    )
    assert called(configuration, group) == [f"configuration ({P5})"]
    assert violations("placement", configuration, group) == [
        "group spreads its nodes over 2 subnets, and EFA does not cross zones."
    ]


def test_a_template_outside_the_stack_is_undecided_for_every_rule_that_would_read_it() -> None:
    owner = resource(NODE_GROUP, "owner", instanceTypes=[P5], launchTemplate={"id": "lt-1"})
    for rule in ("drivers", "gpudirect", "socket-names", "interface-layout", "imdsv2", "encrypted-disks"):
        assert violations(rule, owner) == []
        assert len(undecided(rule, owner)) == 1, rule
    sizeless = resource(GROUP, "group", launchTemplate={"id": "lt-1"})
    assert called(sizeless) == ["the size of group: its launch template is not in this stack"]


def test_a_template_without_a_size_that_nothing_starts_is_undecided() -> None:
    assert called(BARE) == ["the size of template: nothing in this stack starts machines from it"]


@pytest.mark.parametrize(
    "requirements", [{"acceleratorCount": {"min": 8}}, {"acceleratorTypes": ["gpu"]}, UNKNOWN]
)
def test_attributes_that_ask_for_accelerators_are_a_size_that_nobody_knows(requirements: object) -> None:
    one = resource(TEMPLATE, "one", instanceRequirements=requirements)
    assert called(one) == ["the size of one: EC2 chooses it by its accelerators"]


def test_attributes_that_ask_for_none_are_no_business_of_the_pack() -> None:
    assert called(resource(TEMPLATE, "one", instanceRequirements={"vcpuCount": {"min": 2}})) == []


def test_a_family_of_batch_with_a_fast_fabric_is_a_size_that_nobody_knows() -> None:
    batch = "aws:batch/computeEnvironment:ComputeEnvironment"
    assert called(resource(batch, "one", computeResources={"instanceTypes": ["p5"]})) == ["the size of one"]
    assert called(resource(batch, "one", computeResources={"instanceTypes": ["optimal"]})) == []


RULED = resource(
    SECURITY_GROUP,
    "own",
    ingress=[{"protocol": "-1", "self": True}],
    egress=[{"protocol": "-1", "self": True}],
)


def own_interfaces(kind: str | object, count: int = 4) -> tuple[Resource, ...]:
    """A p4d instance whose four interfaces are resources of their own."""
    interface = resource(
        INTERFACE, "efa", refs={"securityGroups": "own"}, interfaceType=kind, securityGroups=[UNKNOWN]
    )
    machine = resource(
        INSTANCE,
        "machine",
        refs={"networkInterfaces": "efa"},
        instanceType="p4d.24xlarge",
        placementGroup="rack",
        networkInterfaces=[
            {"networkInterfaceId": UNKNOWN, "deviceIndex": 0, "networkCardIndex": card}
            for card in range(count)
        ],
    )
    return RULED, interface, machine


@pytest.mark.parametrize("rule", ["interface-layout", "efa-self-rules", "no-public-address"])
def test_an_instance_with_efa_interfaces_of_their_own_passes(rule: str) -> None:
    assert verdicts(rule, *own_interfaces("efa")) == []


def test_the_layout_of_interfaces_of_their_own_is_looked_at() -> None:
    assert violations("interface-layout", *own_interfaces("interface"))[0].startswith(
        "machine (p4d.24xlarge) has no EFA interface"
    )
    assert violations("interface-layout", *own_interfaces("efa", 2))[0].startswith(
        "machine (p4d.24xlarge) has 2 of 4 EFA"
    )
    assert undecided("interface-layout", *own_interfaces(UNKNOWN)) == [
        "the interfaces of machine (p4d.24xlarge)"
    ]


def test_the_groups_of_interfaces_of_their_own_are_looked_at() -> None:
    _, interface, machine = own_interfaces("efa")
    bare = resource(SECURITY_GROUP, "own", ingress=[], egress=[])
    (message,) = violations("efa-self-rules", bare, interface, machine)
    assert message.startswith(
        "own, the security group of machine (p4d.24xlarge), lets no EFA traffic through"
    )


def test_interfaces_outside_the_stack_are_undecided() -> None:
    _, _, machine = own_interfaces("efa")
    alone = resource(INSTANCE, "machine", **machine.props)
    assert violations("interface-layout", alone) == violations("efa-self-rules", alone) == []
    assert undecided("interface-layout", alone)
    assert undecided("efa-self-rules", alone)


@pytest.mark.parametrize("id_", [UNKNOWN, "eni-1"])
def test_a_primary_interface_of_its_own_is_the_first_one(id_: object) -> None:
    interface = resource(
        INTERFACE,
        "efa",
        id_="eni-1",
        refs={"securityGroups": "own"},
        interfaceType="efa",
        securityGroups=[UNKNOWN],
    )
    machine = resource(
        INSTANCE,
        "machine",
        refs={"primaryNetworkInterface": "efa"},
        instanceType="p5.4xlarge",
        primaryNetworkInterface={"networkInterfaceId": id_},
    )
    assert called(RULED, interface, machine) == ["machine (p5.4xlarge)"]
    assert verdicts("efa-self-rules", RULED, interface, machine) == []
    assert violations("interface-layout", RULED, interface, machine) == []


def test_a_primary_interface_that_is_none_of_the_fabric_is_refused_before_and_after_it_is_made() -> None:
    for id_ in (UNKNOWN, "eni-1"):
        interface = resource(INTERFACE, "plain", id_="eni-1")
        machine = resource(
            INSTANCE,
            "machine",
            refs={"primaryNetworkInterface": "plain"},
            instanceType="p5.4xlarge",
            primaryNetworkInterface={"networkInterfaceId": id_},
        )
        (message,) = violations("interface-layout", interface, machine)
        assert message.startswith("machine (p5.4xlarge) has no EFA interface")


def test_a_primary_interface_outside_the_stack_is_undecided_and_said_once() -> None:
    machine = resource(
        INSTANCE,
        "machine",
        instanceType="p5.4xlarge",
        primaryNetworkInterface={"networkInterfaceId": "eni-1"},
    )
    assert called(machine) == ["machine (p5.4xlarge)"]
    assert undecided("interface-layout", machine) == ["the interfaces of machine (p5.4xlarge)"]
    assert len(violations("imdsv2", machine)) == 1


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("aws:ec2/eip:Eip", "networkInterface"),
        ("aws:ec2/eipAssociation:EipAssociation", "networkInterfaceId"),
    ],
)
def test_an_elastic_address_on_an_interface_of_a_node_is_seen(type_: str, name: str) -> None:
    address = resource(type_, "address", refs={name: "efa"}, **{name: UNKNOWN})
    assert violations("no-public-address", *own_interfaces("efa"), address) == [
        "address gives machine (p4d.24xlarge) a public address."
    ]


@pytest.mark.parametrize(
    ("template_group", "owner_group"), [({}, "rack"), ({"placement": {"groupName": "rack"}}, None)]
)
def test_a_placement_group_is_known_by_its_name_alone(template_group: dict, owner_group: str | None) -> None:
    template = resource(TEMPLATE, "template", instanceType=P5, **template_group)
    named = "group" if owner_group else "template"
    owner = resource(
        GROUP, "group", refs={"launchTemplate": "template"}, placementGroup=owner_group, **FROM_BARE
    )
    spread = resource(PLACEMENT_GROUP, "places", name="rack", strategy="spread")
    assert violations("placement", template, owner, spread) == [
        f"{named} ({P5}) is in the placement group places with strategy `spread`, which keeps nodes apart."
    ]
    cluster = resource(PLACEMENT_GROUP, "places", name="rack", strategy="cluster")
    assert verdicts("placement", template, owner, cluster) == []
    hidden = resource(PLACEMENT_GROUP, "places", name="rack", strategy=UNKNOWN)
    assert undecided("placement", template, owner, hidden) == [
        f"the strategy of places, the placement group of {named} ({P5})"
    ]


def test_each_fleet_of_a_template_is_asked_for_its_placement() -> None:
    template = resource(TEMPLATE, "template", instanceType=P5)
    refs = {"launchTemplate": "template"}
    near = resource(GROUP, "near", refs=refs, placementGroup="rack", **FROM_BARE)
    anywhere = resource(GROUP, "anywhere", refs=refs, **FROM_BARE)
    rack = resource(PLACEMENT_GROUP, "places", name="rack", strategy="cluster")
    assert verdicts("placement", template, near, rack) == []
    assert violations("placement", template, near, anywhere, rack) == [
        f"anywhere ({P5}) has EFA and no placement group: its nodes may stand anywhere in the zone."
    ]
