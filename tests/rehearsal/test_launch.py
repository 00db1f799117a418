"""What EC2 refuses when an instance starts: interfaces, addresses, placement, capacity. One row a rule."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from .fabric import (
    BLOCK,
    FLEET,
    IMAGE,
    INSTANCE,
    PLACEMENT,
    RESERVATION,
    SUBNET,
    TEMPLATE,
    Fabric,
    layout,
    p5,
)
from .small_engine import Failed

WELL_FORMED = "You must use a valid fully-formed launch template. "


def refused(
    fabric: Fabric, nodes: int = 1, fleet: dict[str, Any] | None = None, **data: Any
) -> tuple[str, str]:
    """The code and sentence with which a fleet of the template is refused."""
    template = fabric.template(**data)
    with pytest.raises(Failed) as failed:
        fabric.fleet(template, nodes, **(fleet or {}))
    code, _, sentence = failed.value.text.rpartition("api error ")[2].partition(": ")
    return code, sentence


def test_a_p5_node_takes_33_interfaces_and_one_address(net):
    net.fleet(net.template(networkInterfaces=p5(securityGroups=[net.group.id])), 2)
    assert len(net.nodes()) == 2
    assert len(net.interfaces()) == 66
    assert sorted(each["privateIp"] for each in net.interfaces() if each["privateIp"]) == [
        "10.100.1.4",
        "10.100.1.5",
    ]
    assert [each["privateDns"] for each in net.nodes()] == [
        "ip-10-100-1-4.ec2.internal",
        "ip-10-100-1-5.ec2.internal",
    ]


@pytest.mark.parametrize(
    ("size", "interfaces"),
    [
        ("p4d.24xlarge", layout((0, 0, "efa"), *((card, 1, "efa-only") for card in range(1, 4)))),
        ("p5.48xlarge", layout((0, 0, "efa"), *((card, 1, "efa") for card in range(1, 32)))),
        ("p5en.48xlarge", p5(16)),
        ("p6-b200.48xlarge", p5(8)),
        ("p6-b300.48xlarge", layout((0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17)))),
        ("p5.48xlarge", [*p5(), *layout(*((card, 1, "interface") for card in range(4, 32, 4)))]),
        ("p4d.24xlarge", layout((0, 0, "interface"), (0, 14, "interface"))),
    ],
)
def test_the_published_layouts_start(net, size, interfaces):
    net.fleet(net.template(instanceType=size, networkInterfaces=interfaces), 1)
    assert len(net.interfaces()) == len(interfaces)


@pytest.mark.parametrize(
    ("size", "interfaces", "sentence"),
    [
        pytest.param(
            "p5.48xlarge",
            layout((0, 0, "interface"), (2, 2, "efa-only")),
            "The specified number '2' for the device index exceeds the maximum number of network interfaces supported "
            "by the network card at network card index 2. The maximum devices for this network card is 2. Specify a "
            "number from 0 to 1, and try again.",
            id="a device index beyond the card's slots",
        ),
        pytest.param(
            "p4d.24xlarge",
            layout((0, 0, "interface"), (0, 15, "interface")),
            "The specified number '15' for the device index exceeds the maximum number of network interfaces supported "
            "by the network card at network card index 0. The maximum devices for this network card is 15. Specify a "
            "number from 0 to 14, and try again.",
            id="one more interface than p4d's card has slots",
        ),
        pytest.param(
            "p4d.24xlarge",
            layout((0, 0, "interface"), (4, 0, "efa-only")),
            "The specified network card index '4' is not valid for the instance type 'p4d.24xlarge'. Specify a number "
            "from 0 to 3, and try again.",
            id="a card that is not there",
        ),
        pytest.param(
            "p5.4xlarge",
            layout(*((0, device, "interface") for device in range(5))),
            "Interface count 5 exceeds the limit for p5.4xlarge",
            id="more interfaces than all cards have slots",
        ),
        pytest.param(
            "p4d.24xlarge",
            layout((0, 0, "efa"), (0, 1, "efa-only")),
            "EFA interface count 2 exceeds the limit of 1 for network card index 0 of p4d.24xlarge",
            id="two EFA on a card",
        ),
        pytest.param(
            "p6-b300.48xlarge",
            layout((0, 0, "efa")),
            "The network card at network card index 0 of p6-b300.48xlarge does not support EFA interfaces.",
            id="EFA on card 0 of p6-b300",
        ),
        pytest.param(
            "t3.micro",
            layout((0, 0, "efa")),
            "EFA interfaces are not supported on t3.micro",
            id="EFA on a type that has none",
        ),
        pytest.param(
            "p5.48xlarge",
            layout((0, 0, "efa-only")),
            "An EFA-only network interface cannot be the primary network interface. Specify the interface type "
            "'interface' or 'efa' for network card index 0, device index 0.",
            id="efa-only as the primary interface",
        ),
        pytest.param(
            "p5.48xlarge",
            layout((1, 0, "interface")),
            "The primary network interface must be specified: network card index 0, device index 0.",
            id="no primary interface",
        ),
        pytest.param(
            "p5.48xlarge",
            [
                {"deviceIndex": 0, "associatePublicIpAddress": "true"},
                {"networkCardIndex": 1, "deviceIndex": 0, "interfaceType": "efa-only"},
            ],
            "The associatePublicIPAddress parameter cannot be specified when launching with multiple network "
            "interfaces",
            id="a public address with several interfaces",
        ),
        pytest.param(
            "p5.48xlarge",
            [{"deviceIndex": 0}, {"networkCardIndex": 1, "interfaceType": "efa-only", "ipv4PrefixCount": 1}],
            "IP addresses and prefixes cannot be specified for an EFA-only interface.",
            id="a prefix on an efa-only interface",
        ),
    ],
)
def test_a_layout_that_ec2_does_not_take_is_refused_when_the_group_is_made_and_not_before(
    net, size, interfaces, sentence
):
    assert refused(net, instanceType=size, networkInterfaces=interfaces) == (
        "ValidationError",
        WELL_FORMED + sentence,
    )
    assert net.nodes() == []
    assert net.interfaces() == []


def test_a_public_address_with_one_interface_is_given(net):
    net.fleet(net.template(networkInterfaces=[{"deviceIndex": 0, "associatePublicIpAddress": "true"}]), 1)
    assert net.nodes()[0]["publicIp"].startswith("203.0.113.")


@pytest.mark.parametrize(("interfaces", "public"), [(layout((0, 0, "interface")), True), (p5(), False)])
def test_a_subnet_that_gives_public_addresses_gives_none_to_a_node_with_several_interfaces(
    net, interfaces, public
):
    net.cloud.up(SUBNET, "private", {**net.subnet.inputs, "mapPublicIpOnLaunch": True})
    net.fleet(net.template(networkInterfaces=interfaces), 1)
    assert bool(net.nodes()[0]["publicIp"]) is public


def test_two_interfaces_at_one_place_are_an_incompatible_template(net):
    interfaces = layout((0, 0, "interface"), (0, 0, "efa-only"))
    assert refused(net, networkInterfaces=interfaces) == (
        "InvalidQueryParameter",
        "Incompatible launch template: Each network interface requires a unique device index.",
    )


def test_interfaces_with_security_groups_beside_them_are_an_invalid_template(net):
    data: dict[str, Any] = {"networkInterfaces": p5(), "vpcSecurityGroupIds": [net.group.id]}
    assert refused(net, **data) == (
        "InvalidQueryParameter",
        "Invalid launch template: When a network interface is provided, the security groups must be a part of it.",
    )
    with pytest.raises(Failed) as failed:
        net.cloud.up(INSTANCE, "one", launchTemplate={"id": net.template(**data).id}, subnetId=net.subnet.id)
    assert failed.value.text == (
        "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 400, RequestID: "
        "simulated, api error InvalidParameterCombination: Network interfaces and an instance-level security groups "
        "may not be specified on the same request"
    )


# User data


@pytest.mark.parametrize("size", [0, 16_384])
def test_user_data_of_16384_bytes_is_taken(net, size):
    net.template(userData=base64.b64encode(b"x" * size).decode())


def test_user_data_over_the_limit_is_refused_when_the_template_is_made(net):
    with pytest.raises(Failed) as failed:
        net.template("big", name="big", userData=base64.b64encode(b"x" * 16_385).decode())
    assert failed.value.text == (
        "creating EC2 Launch Template (big): operation error EC2: CreateLaunchTemplate, https response error "
        "StatusCode: 400, RequestID: simulated, api error InvalidUserData.Malformed: User data is limited to 16384 "
        "bytes."
    )


def test_user_data_that_is_not_base64_is_refused(net):
    with pytest.raises(Failed, match=r"InvalidUserData\.Malformed: Invalid BASE64 encoding of user data\.$"):
        net.template(userData="#!/bin/sh")


def test_user_data_of_an_instance_counts_as_well(net):
    inputs = {"ami": IMAGE, "instanceType": "t3.micro", "subnetId": net.subnet.id}
    with pytest.raises(Failed, match="InvalidParameterValue: User data is limited to 16384 bytes"):
        net.cloud.up(INSTANCE, "one", {**inputs, "userDataBase64": base64.b64encode(b"x" * 16_385).decode()})
    with pytest.raises(
        Failed, match=r"expected length of user_data to be in the range \(0 - 16384\), got 16385 charact"
    ):
        net.cloud.preview(INSTANCE, "one", {**inputs, "userData": "x" * 16_385})


# Addresses


def activity(failed: Failed) -> str:
    """The message of the scaling activity inside the provider's message."""
    return failed.text.rpartition(": Failed: ")[2]


@pytest.fixture
def narrow(net: Fabric) -> Fabric:
    """The same fabric with a /28 subnet: 11 addresses."""
    net.subnet = net.cloud.up(
        SUBNET, "narrow", vpcId=net.vpc.id, cidrBlock="10.100.9.0/28", availabilityZone="us-east-1a"
    )
    return net


def test_a_28_has_room_for_eleven_nodes(narrow):
    narrow.fleet(narrow.template(networkInterfaces=p5()), 11)
    assert len(narrow.nodes()) == 11


def test_the_twelfth_node_finds_no_address_and_the_group_stays_with_eleven(narrow):
    template = narrow.template(networkInterfaces=p5())
    with pytest.raises(Failed) as failed:
        narrow.fleet(template, 12)
    assert activity(failed.value) == (
        f"There are not enough free addresses in subnet '{narrow.subnet.id}' to satisfy the requested number of "
        f"instances. Launching EC2 instance failed."
    )
    assert len(narrow.nodes()) == 11
    assert failed.value.partial, "the engine has to learn the group's name"


def test_a_node_whose_interfaces_all_take_addresses_needs_as_many(narrow):
    every = layout((0, 0, "efa"), *((card, 1, "efa") for card in range(1, 12)))
    template = narrow.template(networkInterfaces=every)
    with pytest.raises(Failed, match="There are not enough free addresses in subnet"):
        narrow.fleet(template, 1)
    assert narrow.nodes() == []


# Placement


def test_a_cluster_placement_group_is_in_one_zone(net):
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    other = net.cloud.up(
        SUBNET, "b", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1b"
    )
    template = net.template(networkInterfaces=p5(), placement={"groupName": "train"})
    with pytest.raises(Failed) as failed:
        net.fleet(template, 4, vpcZoneIdentifiers=[net.subnet.id, other.id])
    assert activity(failed.value) == (
        "The placement group 'train' is in use in another availability zone: us-east-1a. Launching EC2 instance failed."
    )
    assert {each["availabilityZone"] for each in net.nodes()} == {"us-east-1a"}


def test_a_second_subnet_of_the_same_zone_is_fine_for_a_cluster_placement_group(net):
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    other = net.cloud.up(
        SUBNET, "b", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1a"
    )
    template = net.template(networkInterfaces=p5())
    net.fleet(template, 4, vpcZoneIdentifiers=[net.subnet.id, other.id], placementGroup="train")
    assert [each["placementGroup"] for each in net.nodes()] == ["train"] * 4


def test_an_instance_of_another_zone_cannot_join_the_placement_group(net):
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    other = net.cloud.up(
        SUBNET, "b", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1b"
    )
    inputs = {"ami": IMAGE, "instanceType": "p5.48xlarge", "placementGroup": "train"}
    net.cloud.up(INSTANCE, "one", {**inputs, "subnetId": net.subnet.id})
    with pytest.raises(Failed) as failed:
        net.cloud.up(INSTANCE, "two", {**inputs, "subnetId": other.id})
    assert failed.value.text.endswith(
        "api error InvalidPlacementGroup.InUse: The placement group 'train' is in use in another availability zone: "
        "us-east-1a"
    )


def test_a_placement_group_that_is_not_there_is_refused(net):
    assert refused(net, networkInterfaces=p5(), placement={"groupName": "train"}) == (
        "ValidationError",
        WELL_FORMED + "The Placement Group 'train' is unknown.",
    )


def test_a_burstable_type_does_not_go_into_a_cluster_placement_group(net):
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    inputs = {"ami": IMAGE, "instanceType": "t3.micro", "subnetId": net.subnet.id, "placementGroup": "train"}
    with pytest.raises(Failed, match=r"'t3\.micro' is not supported in a cluster placement group"):
        net.cloud.up(INSTANCE, "one", inputs)


# Capacity


def test_the_capacity_switch_lets_so_many_start_and_then_no_more(net, faults: Callable[..., None]):
    faults(capacity=[{"size": "p5.48xlarge", "place": "us-east-1a", "available": 3}])
    template = net.template(networkInterfaces=p5())
    with pytest.raises(Failed) as failed:
        net.fleet(template, 4, name="fleet")
    assert failed.value.text.startswith(
        "waiting for Auto Scaling Group (fleet) capacity satisfied: scaling activity ("
    )
    assert activity(failed.value) == (
        "We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested (us-east-1a). "
        "Our system will be working on provisioning additional capacity. You can currently get p5.48xlarge capacity by "
        "not specifying an Availability Zone in your request or choosing us-east-1b, us-east-1c, us-east-1d, "
        "us-east-1e, us-east-1f. Launching EC2 instance failed."
    )
    assert len(net.nodes()) == 3
    faults(capacity=[{"size": "p5.48xlarge", "place": "us-east-1a", "available": 4}])
    net.cloud.resources["fleet"] = net.cloud.known_from(failed.value, FLEET, "fleet")
    net.cloud.update("fleet")
    assert len(net.nodes()) == 4


def test_a_single_instance_without_capacity_fails_with_ec2s_status_500(net, faults: Callable[..., None]):
    faults(capacity=[{"size": "p5.*"}])
    with pytest.raises(Failed) as failed:
        net.cloud.up(INSTANCE, "one", ami=IMAGE, instanceType="p5.48xlarge", subnetId=net.subnet.id)
    assert failed.value.text.startswith(
        "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 500, RequestID: "
        "simulated, api error InsufficientInstanceCapacity: We currently do not have sufficient p5.48xlarge capacity"
    )


def test_a_group_that_does_not_wait_stays_quietly_short(net, faults: Callable[..., None]):
    faults(capacity=[{"size": "p5.48xlarge", "available": 1}])
    template = net.template(networkInterfaces=p5())
    net.fleet(template, 4, waitForCapacityTimeout="0")
    assert len(net.nodes()) == 1


def test_a_group_told_to_ignore_failed_activities_waits_until_its_timeout(net, faults: Callable[..., None]):
    faults(capacity=[{"size": "p5.48xlarge", "available": 1}])
    template = net.template(networkInterfaces=p5())
    with pytest.raises(Failed) as failed:
        net.fleet(template, 4, name="f", ignoreFailedScalingActivities=True, waitForCapacityTimeout="5m")
    assert failed.value.text == (
        "waiting for Auto Scaling Group (f) capacity satisfied: timeout while waiting for state to become 'ok' (last "
        "state: 'want at least 4 healthy instance(s) in Auto Scaling Group, have 1', timeout: 5m)"
    )


def block(net: Fabric, nodes: int = 2, size: str = "p5.48xlarge") -> str:
    """The id of a capacity block in us-east-1a."""
    offer = net.cloud.invoke(
        "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering",
        instanceType=size,
        instanceCount=nodes,
        capacityDurationHours=48,
    )
    inputs = {"capacityBlockOfferingId": offer["capacityBlockOfferingId"], "instancePlatform": "Linux/UNIX"}
    return net.cloud.up(BLOCK, "block", inputs).id


def targeting(reservation: str) -> dict[str, Any]:
    return {"capacityReservationTarget": {"capacityReservationId": reservation}}


MARKET: dict[str, Any] = {"instanceMarketOptions": {"marketType": "capacity-block"}}


def test_a_capacity_block_with_its_market_type_starts_as_many_as_it_has(net):
    reservation = block(net, 2)
    data = {"networkInterfaces": p5(), "capacityReservationSpecification": targeting(reservation)}
    net.fleet(net.template(**data, **MARKET), 2)
    assert [each["capacityReservationId"] for each in net.nodes()] == [reservation] * 2


def test_one_more_node_than_the_block_has_is_refused_by_the_reservation(net):
    reservation = block(net, 2)
    data = {"networkInterfaces": p5(), "capacityReservationSpecification": targeting(reservation)}
    template = net.template(**data, **MARKET)
    with pytest.raises(Failed) as failed:
        net.fleet(template, 3)
    assert activity(failed.value) == (
        "The requested reservation does not have sufficient compatible and available capacity for this request. "
        "Launching EC2 instance failed."
    )
    assert len(net.nodes()) == 2


def test_a_capacity_block_without_its_market_type_is_refused(net):
    specification = targeting(block(net))
    assert refused(net, networkInterfaces=p5(), capacityReservationSpecification=specification) == (
        "ValidationError",
        WELL_FORMED
        + "The market type (purchasing) option is not valid. Choose a different market type and try again",
    )


def test_the_market_type_without_a_block_is_refused(net):
    assert refused(net, networkInterfaces=p5(), **MARKET) == (
        "ValidationError",
        WELL_FORMED
        + "The market type 'capacity-block' requires a Capacity Block: specify its ID as the capacity "
        "reservation target",
    )


def test_a_capacity_block_does_not_go_into_a_placement_group_of_ones_own(net):
    reservation = block(net)
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    assert refused(
        net,
        networkInterfaces=p5(),
        capacityReservationSpecification=targeting(reservation),
        placement={"groupName": "train"},
        **MARKET,
    ) == (
        "ValidationError",
        WELL_FORMED
        + f"The capacity reservation '{reservation}' does not belong to the placement group 'train'.",
    )


def test_a_capacity_block_of_another_size_is_refused(net):
    reservation = block(net, size="p5en.48xlarge")
    _, sentence = refused(
        net, networkInterfaces=p5(), capacityReservationSpecification=targeting(reservation), **MARKET
    )
    assert sentence == WELL_FORMED + (
        f"The instance type 'p5.48xlarge' does not match the instance type 'p5en.48xlarge' of the capacity reservation "
        f"'{reservation}'."
    )


def test_a_reservation_that_is_not_there_is_refused(net):
    specification = targeting("cr-0123456789abcdef0")
    assert refused(net, networkInterfaces=p5(), capacityReservationSpecification=specification, **MARKET) == (
        "ValidationError",
        WELL_FORMED + "The capacity reservation ID 'cr-0123456789abcdef0' does not exist",
    )


def test_an_on_demand_reservation_inside_a_placement_group_serves_that_group_only(net):
    group = net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    net.cloud.up(PLACEMENT, "other", name="other", strategy="cluster")
    reservation = net.cloud.up(
        RESERVATION,
        "odcr",
        instanceType="p5.48xlarge",
        instancePlatform="Linux/UNIX",
        availabilityZone="us-east-1a",
        instanceCount=2,
        placementGroupArn=group["arn"],
    )
    data = {"networkInterfaces": p5(), "capacityReservationSpecification": targeting(reservation.id)}
    with pytest.raises(Failed, match="does not belong to the placement group 'other'"):
        net.fleet(net.template(**data), 1, "elsewhere", placementGroup="other")
    net.fleet(net.template(**data), 1, "inside", placementGroup="train")
    assert len(net.nodes()) == 1


def test_a_group_may_name_the_block_instead_of_its_template(net):
    reservation = block(net)
    specification = {
        "capacityReservationPreference": "capacity-reservations-only",
        "capacityReservationTarget": {"capacityReservationIds": [reservation]},
    }
    template = net.template(networkInterfaces=p5(), **MARKET)
    net.fleet(template, 2, capacityReservationSpecification=specification)
    assert {each["capacityReservationId"] for each in net.nodes()} == {reservation}


# References and volumes


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"imageId": "ubuntu"}, 'Invalid id: "ubuntu"'),
        (
            {"imageId": "resolve:ssm:/mine/image"},
            "The Systems Manager parameter '/mine/image' does not exist",
        ),
        ({"keyName": "me"}, "The key pair 'me' does not exist"),
        (
            {"iamInstanceProfile": {"name": "node"}},
            "Value (node) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        ),
        (
            {
                "blockDeviceMappings": [
                    {"deviceName": "/dev/sda1", "ebs": {"volumeType": "gp3", "volumeSize": 10, "iops": 5001}}
                ]
            },
            "Iops to volume size ratio of 500.100000 is too high; maximum is 500",
        ),
        (
            {
                "blockDeviceMappings": [
                    {
                        "deviceName": "/dev/sda1",
                        "ebs": {"volumeType": "gp3", "volumeSize": 1000, "iops": 3000, "throughput": 751},
                    }
                ]
            },
            "Throughput (MiBps) to iops ratio of 0.250333 is too high; maximum is 0.250000 MiBps per iops",
        ),
    ],
)
def test_what_the_template_names_has_to_be_there(net, data, sentence):
    assert refused(net, networkInterfaces=p5(), **data) == ("ValidationError", WELL_FORMED + sentence)


def test_a_volume_at_the_edge_of_both_ratios_is_taken(net):
    ebs = {"volumeType": "gp3", "volumeSize": 32, "iops": 16_000, "throughput": 1000}
    net.fleet(
        net.template(networkInterfaces=p5(), blockDeviceMappings=[{"deviceName": "/dev/sda1", "ebs": ebs}]), 1
    )


def test_a_public_parameter_gives_the_same_image_every_time(net):
    name = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
    net.fleet(net.template(networkInterfaces=p5(), imageId=f"resolve:ssm:{name}"), 2)
    looked_up = net.cloud.invoke("aws:ssm/getParameter:getParameter", name=name)["value"]
    assert {each["ami"] for each in net.nodes()} == {looked_up}


def test_a_type_without_a_row_is_not_guessed_at(net, tmp_path, monkeypatch):
    template = net.template(instanceType="p9.48xlarge")
    with pytest.raises(Failed) as failed:
        net.fleet(template, 1)
    assert failed.value.text == (
        "the simulated AWS has no row for the instance type p9.48xlarge, so it cannot tell what EC2 would say. Add one "
        "to a TOML file and name it in GPU_FABRIC_REHEARSAL_INSTANCE_TYPES; instance_types.toml shows the form."
    )
    more = tmp_path / "more.toml"
    more.write_text('"p9.48xlarge" = { cards = 2, interfaces = 2, efa = 2, vcpu = 192 }\n')
    monkeypatch.setenv("GPU_FABRIC_REHEARSAL_INSTANCE_TYPES", str(more))
    net.fleet(template, 1)
    assert net.nodes()[0]["instanceType"] == "p9.48xlarge"


def test_a_template_name_is_there_once(net):
    net.template("a", name="node")
    with pytest.raises(
        Failed, match=r"InvalidLaunchTemplateName\.AlreadyExistsException: Launch template name already"
    ):
        net.cloud.up(TEMPLATE, "b", {"name": "node"})
