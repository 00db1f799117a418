"""Each judge refuses what is wrong: an interface type, an unknown parameter, a wrong type, a value out of range."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest

from tests.components.recorder import Declared, Recording, record_cluster
from tests.fidelity import cloudformation, instance_types, matrix, service_model
from tests.fidelity.to_api import Request, requests_of
from tests.fidelity.translation import UntranslatedError

Edit = Callable[[dict[str, Any]], None]


@functools.cache
def _recording(size: str = "p6-b300.48xlarge") -> Recording:
    settings = {"zone": matrix.ZONE, "instance_type": size, "nodes": matrix.NODES}
    return record_cluster({**settings, "network": matrix.ADOPTED_NETWORK})


def _declared(kind: str) -> Declared:
    return next(one for one in _recording().custom if one.type.endswith(f":{kind}"))


def _request(kind: str, edit: Edit) -> Request:
    first = requests_of(_declared(kind))[0]
    parameters = copy.deepcopy(first.parameters)
    edit(parameters)
    return Request(first.service, first.operation, parameters, first.source)


def _interface(name: str, value: Any, place: int = 0) -> Edit:
    return lambda p: p["LaunchTemplateData"]["NetworkInterfaces"][place].update({name: value})


@pytest.mark.parametrize(
    ("kind", "edit", "says"),
    [
        ("LaunchTemplate", lambda p: None, None),
        (
            "LaunchTemplate",
            _interface("InterfaceType", "roce"),
            "LaunchTemplateData.NetworkInterfaces[0].InterfaceType: 'roce' is not one of interface, efa, efa-only "
            "(the member's documentation)",
        ),
        (
            "LaunchTemplate",
            _interface("NetworkCard", 1),
            'Unknown parameter in LaunchTemplateData.NetworkInterfaces[0]: "NetworkCard", must be one of: ',
        ),
        (
            "LaunchTemplate",
            _interface("NetworkCardIndex", "1"),
            "Invalid type for parameter LaunchTemplateData.NetworkInterfaces[0].NetworkCardIndex, value: 1, "
            "type: <class 'str'>, valid types: <class 'int'>",
        ),
        (
            "LaunchTemplate",
            _interface("DeleteOnTermination", "true"),
            "Invalid type for parameter LaunchTemplateData.NetworkInterfaces[0].DeleteOnTermination, value: true, "
            "type: <class 'str'>, valid types: <class 'bool'>",
        ),
        (
            "LaunchTemplate",
            lambda p: p["LaunchTemplateData"].update(InstanceType="p5.49xlarge"),
            "LaunchTemplateData.InstanceType: 'p5.49xlarge' is not one of the ",
        ),
        (
            "LaunchTemplate",
            lambda p: p["LaunchTemplateData"].update(InstanceMarketOptions={"MarketType": "capacity_block"}),
            "LaunchTemplateData.InstanceMarketOptions.MarketType: 'capacity_block' is not one of the ",
        ),
        (
            "LaunchTemplate",
            lambda p: p.pop("LaunchTemplateName"),
            'Missing required parameter in input: "LaunchTemplateName"',
        ),
        (
            "Group",
            lambda p: p.update(AutoScalingGroupName="x" * 256),
            "AutoScalingGroupName: 256 characters, at most 255",
        ),
        (
            "Role",
            lambda p: p.update(RoleName="nodes of train"),
            r"RoleName: 'nodes of train' does not match [\w+=,.@-]+",
        ),
        (
            "Group",
            lambda p: p.update(MinSize="2"),
            "Invalid type for parameter MinSize, value: 2, type: <class 'str'>, valid types: <class 'int'>",
        ),
        (
            "Group",
            lambda p: p.update(CapacityReservationSpecification={"CapacityReservationPreference": "open"}),
            "CapacityReservationSpecification.CapacityReservationPreference: 'open' is not one of the 4 values of "
            "CapacityReservationPreference",
        ),
        (
            "Group",
            lambda p: p["Tags"][0].update(Key=""),
            "Invalid length for parameter Tags[0].Key, value: 0",
        ),
        (
            "SecurityGroupEgressRule",
            lambda p: p["IpPermissions"][0].update(CidrIp="0.0.0.0/0"),
            'Unknown parameter in IpPermissions[0]: "CidrIp", must be one of: ',
        ),
    ],
)
def test_the_service_model_refuses(kind: str, edit: Edit, says: str | None) -> None:
    problems = service_model.problems(_request(kind, edit))
    if says is None:
        assert problems == []
    else:
        assert len(problems) == 1
        assert problems[0].startswith(says)


def _properties(kind: str, edit: Edit) -> dict[str, Any]:
    resource = copy.deepcopy(
        next(one for one in cloudformation.pooled([_recording()]).values() if one["Type"] == kind)
    )
    edit(resource["Properties"])
    return {"Resource": resource}


@pytest.mark.parametrize(
    ("kind", "edit", "says"),
    [
        ("AWS::EC2::LaunchTemplate", lambda p: None, None),
        (
            "AWS::EC2::LaunchTemplate",
            _interface("NetworkCard", 1),
            "E3002 Additional properties are not allowed ('NetworkCard' was unexpected. "
            "Did you mean 'NetworkCardIndex'?)",
        ),
        (
            "AWS::EC2::LaunchTemplate",
            _interface("NetworkCardIndex", "1"),
            "E3012 '1' is not of type 'integer'",
        ),
        (
            "AWS::EC2::LaunchTemplate",
            _interface("SubnetId", "10.100.16.0/20"),
            "E1154 '10.100.16.0/20' is not a 'AWS::EC2::Subnet.Id' with pattern "
            "'^subnet-(([0-9A-Fa-f]{8})|([0-9A-Fa-f]{17}))$'",
        ),
        (
            "AWS::EC2::LaunchTemplate",
            lambda p: p["LaunchTemplateData"].update(InstanceMarketOptions={"MarketType": "capacity_block"}),
            "E3030 'capacity_block' is not one of […]",
        ),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            lambda p: p["LaunchTemplate"].pop("Version"),
            "E3003 'Version' is a required property",
        ),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            lambda p: p.update(MinSize=2),
            "E3012 2 is not of type 'string'",
        ),
        (
            "AWS::EC2::SecurityGroupEgress",
            lambda p: p.pop("IpProtocol"),
            "E3003 'IpProtocol' is a required property",
        ),
    ],
)
def test_cloudformation_refuses(kind: str, edit: Edit, says: str | None) -> None:
    found = {f"{one.rule} {one.says}" for one in cloudformation.judge(_properties(kind, edit))}
    assert found == (set() if says is None else {says})


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda p: None, []),
        # aws/aws-parallelcluster#7143: p6-b300 does not start with EFA on card 0.
        (
            _interface("InterfaceType", "efa"),
            [
                "network card 0: takes interface, not efa",
                "17 EFA interfaces, and the type takes 16",
            ],
        ),
        (_interface("NetworkCardIndex", 17, 1), ["network card 17: the type has 17 cards"]),
        # eksctl-io/eksctl#7520: the device index taken from the card's.
        (_interface("DeviceIndex", 4, 1), ["network card 1: device 4, and it takes 4 interfaces"]),
        # aws/aws-ofi-nccl#53: interfaces without a card all land on card 0.
        (
            _interface("NetworkCardIndex", 2, 1),
            ["card and device (2, 0) are given 2 times"],
        ),
        (
            lambda p: p["LaunchTemplateData"]["NetworkInterfaces"].extend(
                {"NetworkCardIndex": 1, "DeviceIndex": device, "InterfaceType": "interface"}
                for device in (1, 2, 3, 4)
            ),
            [
                "network card 1: device 4, and it takes 4 interfaces",
                "network card 1: 5 interfaces, and it takes 4",
            ],
        ),
        (
            lambda p: p["LaunchTemplateData"]["BlockDeviceMappings"][0]["Ebs"].update(Iops=400_001),
            ["400001 IOPS, and the type carries 400000"],
        ),
    ],
)
def test_the_description_of_the_instance_type_refuses(edit: Edit, says: list[str]) -> None:
    request = _request("LaunchTemplate", edit)
    found = instance_types.problems(request.parameters["LaunchTemplateData"])
    assert [problem for _, problem in found] == says


def test_a_type_that_is_not_sold_in_capacity_blocks_is_refused_as_one() -> None:
    (request,) = requests_of(_recording("g5.48xlarge").one("aws:ec2/launchTemplate:LaunchTemplate"))
    data = {**request.parameters["LaunchTemplateData"]}
    data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    assert instance_types.problems(data) == [
        ("InstanceMarketOptions", "usage class capacity-block: the type has on-demand spot")
    ]


@pytest.mark.parametrize(
    ("type_", "inputs", "says"),
    [
        ("aws:ec2/host:Host", {}, "aws:ec2/host:Host"),
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            {"ramDiskId": "ari-1"},
            "aws:ec2/launchTemplate:LaunchTemplate.ramDiskId",
        ),
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            {"networkInterfaces": [{"enaQueueCount": 8}]},
            "aws:ec2/launchTemplate:LaunchTemplate.networkInterfaces.enaQueueCount",
        ),
    ],
)
def test_a_type_or_property_without_a_translation_stops_the_test(
    type_: str, inputs: dict[str, Any], says: str
) -> None:
    declared = Declared(type_, "x", inputs, id="x", physical_name="x-1234567", urn="", parent="")
    with pytest.raises(UntranslatedError) as refused:
        requests_of(declared)
    assert str(refused.value) == says
    with pytest.raises(UntranslatedError) as refused:
        cloudformation.template([declared])
    assert str(refused.value) == says
