"""Whether machines stand together, and where packets between the clouds go."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_fabric.policy.resource import Resource
from gpu_fabric.policy.values import UNKNOWN
from tests.policy.plain import (
    GROUP,
    INSTANCE,
    MACHINE,
    ND,
    P5,
    PLACEMENT_GROUP,
    SCALE_SET,
    SUBNET,
    TEMPLATE,
    resource,
    undecided,
    verdicts,
    violations,
)

RACKS = [resource(PLACEMENT_GROUP, name, name=name, strategy="cluster") for name in ("rack", "here", "there")]


def machines(**both: tuple[Any, Any]) -> list[Resource]:
    """Two instances that differ in the given properties, and the placement groups that they name."""
    common = {"placementGroup": ("rack", "rack"), "availabilityZone": ("us-east-1a", "us-east-1a"), **both}
    return RACKS + [
        resource(INSTANCE, name, instanceType=P5, **{key: pair[number] for key, pair in common.items()})
        for number, name in enumerate(("one", "two"))
    ]


@pytest.mark.parametrize(
    ("differ", "places"),
    [
        ({"placementGroup": ("here", "there")}, "2 placement groups"),
        ({"availabilityZone": ("us-east-1a", "us-east-1b")}, "2 zones"),
    ],
)
def test_machines_one_by_one_that_stand_apart_are_undecided_until_the_user_says(
    differ: dict, places: str
) -> None:
    apart = machines(**differ)
    (what,) = undecided("placement", *apart)
    assert what.startswith(f"whether one, two ({P5}) train together: they stand in {places}")
    assert violations("placement", *apart) == []
    (message,) = violations("placement", *apart, singleMachines="together")
    assert message.startswith(f"one, two ({P5}) stand in {places}")
    assert verdicts("placement", *apart, singleMachines="apart") == []


def test_machines_one_by_one_that_stand_together_pass() -> None:
    assert verdicts("placement", *machines(), singleMachines="together") == []


def test_a_zone_that_is_not_known_is_said() -> None:
    assert undecided("placement", *machines(availabilityZone=("us-east-1a", UNKNOWN))) == [
        f"whether the 2 machines of size {P5} share one zone"
    ]


def test_machines_in_one_subnet_share_its_zone_whichever_that_is() -> None:
    apart = {"availabilityZone": (None, None), "subnetId": ("subnet-1", "subnet-2")}
    assert undecided("placement", *machines(**apart)) == [
        f"whether the 2 machines of size {P5} share one zone"
    ]
    assert verdicts("placement", *machines(**{**apart, "subnetId": ("subnet-1", "subnet-1")})) == []


def test_machines_of_one_template_in_two_subnets_are_looked_at_too() -> None:
    template = resource(TEMPLATE, "template", instanceType=P5, placement={"groupName": "rack"})
    subnets = [resource(SUBNET, f"net{zone}", availabilityZone=f"us-east-1{zone}") for zone in "ab"]
    apart = [
        resource(
            INSTANCE,
            name,
            refs={"launchTemplate": "template", "subnetId": f"net{zone}"},
            launchTemplate={"id": UNKNOWN},
            subnetId=UNKNOWN,
        )
        for name, zone in (("one", "a"), ("two", "b"))
    ]
    (message,) = violations("placement", template, *subnets, *apart, singleMachines="together")
    assert message == f"one, two ({P5}) stand in 2 zones: us-east-1a, us-east-1b."


def azure_machines(sets: tuple[Any, Any]) -> list[Resource]:
    return [
        resource(MACHINE, name, hardwareProfile={"vmSize": ND}, availabilitySet={"id": one})
        for name, one in zip(("one", "two"), sets, strict=True)
    ]


def test_machines_in_two_availability_sets_are_undecided_until_the_user_says() -> None:
    (what,) = undecided("placement", *azure_machines(("/sets/a", "/sets/b")))
    assert "they stand in 2 availability sets (/sets/a, /sets/b)" in what
    assert violations("placement", *azure_machines(("/sets/a", "/sets/b")), singleMachines="together")
    # Azure takes ids in any case.
    assert verdicts("placement", *azure_machines(("/sets/a", "/Sets/A"))) == []


@pytest.mark.parametrize(
    ("zones", "refused"), [(("a", "a"), False), (("a", "b"), True), (("a", UNKNOWN), True)]
)
def test_a_fleet_over_two_subnets_passes_only_where_both_are_known_to_be_of_one_zone(
    zones: tuple[Any, Any], refused: bool
) -> None:
    nets = [
        resource(SUBNET, f"net{number}", id_=f"subnet-{number}", availabilityZone=zone)
        for number, zone in enumerate(zones)
    ]
    template = resource(TEMPLATE, "template", id_="lt-1", instanceType=P5, placement={"groupName": "rack"})
    fleet = resource(
        GROUP, "fleet", launchTemplate={"id": "lt-1"}, vpcZoneIdentifiers=["subnet-0", "subnet-1"]
    )
    assert bool(violations("placement", *nets, template, fleet)) == refused


@pytest.mark.parametrize("name", ["vpcZoneIdentifiers", "availabilityZones"])
def test_places_that_are_not_known_are_said(name: str) -> None:
    template = resource(TEMPLATE, "template", id_="lt-1", instanceType=P5, placement={"groupName": "rack"})
    fleet = resource(GROUP, "fleet", launchTemplate={"id": "lt-1"}, **{name: UNKNOWN})
    assert undecided("placement", RACKS[0], template, fleet) == [
        f"the {'subnets' if name == 'vpcZoneIdentifiers' else 'zones'} of fleet"
    ]


def test_a_group_outside_the_stack_may_have_any_strategy() -> None:
    template = resource(TEMPLATE, "template", instanceType=P5, placement={"groupName": "rack"})
    assert violations("placement", template) == []
    assert undecided("placement", template) == [
        f"the strategy of the placement group of template ({P5}): the group is not in this stack"
    ]


def test_a_spread_group_that_is_named_by_a_fleet_is_seen() -> None:
    template = resource(TEMPLATE, "template", id_="lt-1", instanceType=P5)
    fleet = resource(GROUP, "fleet", launchTemplate={"id": "lt-1"}, placementGroup="rack")
    group = resource(PLACEMENT_GROUP, "places", name="rack", strategy="spread")
    assert violations("placement", template, fleet, group)


TWO_CLOUDS = (
    resource(TEMPLATE, "here", instanceType=P5),
    resource(SCALE_SET, "there", sku={"name": ND}),
    resource("aws:ec2/vpc:Vpc", "vpc", cidrBlock="10.100.0.0/16"),
    resource(
        "azure-native:network:VirtualNetwork", "vnet", addressSpace={"addressPrefixes": ["10.200.0.0/16"]}
    ),
    resource("aws:directconnect/gateway:Gateway", "gateway"),
    resource("azure-native:network:ExpressRouteCircuit", "circuit"),
    resource("aws:ec2/internetGateway:InternetGateway", "internet"),
    resource("aws:ec2/vpnGateway:VpnGateway", "private"),
)
AWS_TABLES = ["aws:ec2/routeTable:RouteTable", "aws:ec2/defaultRouteTable:DefaultRouteTable"]
LEAK = "table sends 10.200.0.0/16, which is the other cloud's 10.200.0.0/16, to the internet."


def table(type_: str, gateway: Any, source: str | None = None) -> Resource:
    route = {"cidrBlock": "10.200.0.0/16", "gatewayId": gateway}
    return resource(type_, "table", refs={"routes": source} if source else {}, routes=[route])


@pytest.mark.parametrize("type_", AWS_TABLES)
def test_routes_inside_a_table_that_leave_by_the_internet_are_refused(type_: str) -> None:
    assert violations("route-isolation", *TWO_CLOUDS, table(type_, "igw-1")) == [LEAK]
    assert violations("route-isolation", *TWO_CLOUDS, table(type_, UNKNOWN, "internet")) == [LEAK]
    assert verdicts("route-isolation", *TWO_CLOUDS, table(type_, "vgw-1")) == []
    assert verdicts("route-isolation", *TWO_CLOUDS, table(type_, UNKNOWN, "private")) == []


@pytest.mark.parametrize("type_", AWS_TABLES)
def test_a_gateway_that_is_not_known_is_undecided(type_: str) -> None:
    assert undecided("route-isolation", *TWO_CLOUDS, table(type_, UNKNOWN)) == [
        "where table sends 10.200.0.0/16, which is the other cloud's 10.200.0.0/16"
    ]
    unknown = resource(type_, "table", routes=UNKNOWN)
    assert undecided("route-isolation", *TWO_CLOUDS, unknown) == ["the routes of table"]


@pytest.mark.parametrize("hop", ["Internet", "internet"])
@pytest.mark.parametrize("inside", [True, False])
def test_azure_routes_to_the_internet_are_refused_inside_a_table_and_on_their_own(
    inside: bool, hop: str
) -> None:
    route = {"addressPrefix": "10.100.0.0/16", "nextHopType": hop}
    one = (
        resource("azure-native:network:RouteTable", "table", routes=[route])
        if inside
        else resource("azure-native:network:Route", "table", **route)
    )
    assert violations("route-isolation", *TWO_CLOUDS, one) == [
        "table sends 10.100.0.0/16, which is the other cloud's 10.100.0.0/16, to the internet."
    ]


@pytest.mark.parametrize(
    ("type_", "props"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "172.16.0.0/12"}),
        ("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation", {"cidrBlock": "172.16.0.0/16"}),
        ("azure-native:network:VirtualNetwork", {"addressSpace": {"addressPrefixes": ["172.16.0.0/16"]}}),
        ("azure-native:network/v20230501:Subnet", {"addressPrefix": "172.16.1.0/24"}),
        ("azure-native:network:Subnet", {"addressPrefixes": ["10.0.0.0/24", "172.16.1.0/24"]}),
    ],
)
def test_every_kind_of_network_keeps_the_rdma_network_free(type_: str, props: dict) -> None:
    nodes = resource(SCALE_SET, "nodes", sku={"name": ND})
    (message,) = violations("rdma-network-free", nodes, resource(type_, "net", **props))
    assert message.startswith("net has 172.16.") and "overlaps 172.16.0.0/16" in message
    unknown = resource(type_, "net", **dict.fromkeys(props, UNKNOWN))
    assert undecided("rdma-network-free", nodes, unknown) == ["the address block of net"]
