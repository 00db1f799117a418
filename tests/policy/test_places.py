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
    resource("aws:directconnect/privateVirtualInterface:PrivateVirtualInterface", "interface"),
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


def test_a_scale_set_over_several_zones_is_refused() -> None:
    def over(zones: Any) -> Resource:
        sku = {"name": ND}
        return resource(
            SCALE_SET, "fleet", sku=sku, singlePlacementGroup=True, orchestrationMode="Uniform", zones=zones
        )

    assert violations("placement", over(["1", "2", "3"])) == [
        f"fleet ({ND}) spreads its machines over 3 zones, and InfiniBand does not cross zones."
    ]
    assert verdicts("placement", over(["1"])) == []
    assert undecided("placement", over(UNKNOWN)) == [f"the zones of fleet ({ND})"]


def machine_in(name: str, **place: Any) -> Resource:
    return resource(MACHINE, name, hardwareProfile={"vmSize": ND}, **place)


def test_machines_of_a_flexible_scale_set_are_refused() -> None:
    machines = [machine_in(name, virtualMachineScaleSet={"id": "/flex"}) for name in ("one", "two")]
    assert violations("placement", *machines) == [
        f"{name} ({ND}) is attached to a scale set. Only one in Flexible mode takes machines, and machines of such a "
        "set share no InfiniBand network."
        for name in ("one", "two")
    ]


def test_machines_of_azure_in_two_zones_are_undecided_or_refused_as_the_pack_is_set() -> None:
    machines = [machine_in(f"m{zone}", availabilitySet={"id": "/set"}, zones=[zone]) for zone in ("1", "2")]
    (found,) = undecided("placement", *machines)
    assert found.startswith(f"whether m1, m2 ({ND}) train together: they stand in 2 zones (1, 2).")
    assert violations("placement", *machines, singleMachines="together") == [
        f"m1, m2 ({ND}) stand in 2 zones: 1, 2."
    ]


def test_a_type_of_another_api_version_is_the_same_type_in_both_releases_of_the_provider() -> None:
    for type_ in (
        "azure-native:compute/v20240301:VirtualMachineScaleSet",
        "azure-native_compute_v20240301:compute/v20240301:VirtualMachineScaleSet",
    ):
        assert Resource(type_, "fleet", "urn:fleet", {}).kind == SCALE_SET


def test_subnets_of_an_adopted_network_are_looked_at() -> None:
    here, there = resource(TEMPLATE, "here", instanceType=P5), resource(SCALE_SET, "there", sku={"name": ND})
    rdma = resource("aws:ec2/subnet:Subnet", "subnet", vpcId="vpc-1", cidrBlock="172.16.5.0/24")
    assert len(violations("rdma-network-free", there, rdma)) == 1
    azure = resource(
        "azure-native:network:Subnet", "theirs", virtualNetworkName="vnet", addressPrefix="10.100.3.0/24"
    )
    for mine in (
        resource("aws:ec2/vpc:Vpc", "mine", cidrBlock="10.100.0.0/16"),
        resource("aws:ec2/subnet:Subnet", "mine", vpcId="vpc-1", cidrBlock="10.100.0.0/20"),
    ):
        block = mine.props["cidrBlock"]
        assert violations("route-isolation", here, there, mine, azure) == [
            f"mine on AWS has {block} and theirs on Azure 10.100.3.0/24: no route can tell them apart."
        ]


def test_a_subnet_whose_network_is_there_is_said_once() -> None:
    vpc = resource("aws:ec2/vpc:Vpc", "vpc", id_="vpc-1", cidrBlock="172.16.0.0/16")
    subnet = resource("aws:ec2/subnet:Subnet", "subnet", vpcId="vpc-1", cidrBlock="172.16.5.0/24")
    fleet = resource(SCALE_SET, "there", sku={"name": ND})
    assert len(violations("rdma-network-free", fleet, vpc, subnet)) == 1


def test_a_gateway_without_a_virtual_interface_is_no_circuit_yet() -> None:
    without = [
        resource("aws:directconnect/gateway:Gateway", "gateway") if "directconnect" in each.type else each
        for each in TWO_CLOUDS
    ]
    assert verdicts("route-isolation", *TWO_CLOUDS) == []
    assert violations("route-isolation", *without) == []
    assert undecided("route-isolation", *without) == [
        "whether a virtual interface of AWS Direct Connect carries the circuit: none is in this stack"
    ]
