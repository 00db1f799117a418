"""The live members of a fleet, through the clouds' own SDKs: botocore checks calls and answers against its model of
the service, and the Azure SDK parses answers as its REST API gives them."""

from __future__ import annotations

import json
import re
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from gpu_fabric.nccl.launch import aws, azure, in_network_order
from gpu_fabric.nccl.launch.aws import LiveError
from tests.nccl.launch.recorded import FOUR_LAYERS
from tests.not_run import not_run

IDS = [instance["InstanceId"] for instance in FOUR_LAYERS["Instances"]]


def client(service: str) -> Any:
    keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "example"}
    return boto3.client(service, region_name="us-west-2", **keys)


def described(ids: list[str]) -> dict[str, Any]:
    instances = [
        {
            "InstanceId": id_,
            "InstanceType": "p6-b200.48xlarge",
            "PrivateIpAddress": f"10.0.0.{number}",
            "PrivateDnsName": f"ip-10-0-0-{number}.us-west-2.compute.internal",
            "State": {"Code": 16, "Name": "running"},
        }
        for number, id_ in enumerate(ids, 1)
    ]
    return {"Reservations": [{"Instances": instances[:2]}, {"Instances": instances[2:]}]}


def test_a_fleets_members_come_with_primary_addresses_and_switches() -> None:
    ec2, scaling = client("ec2"), client("autoscaling")
    group = [{"InstanceId": id_, "LifecycleState": "InService"} for id_ in IDS]
    group.append({"InstanceId": "i-new", "LifecycleState": "Pending"})
    rest = {"AvailabilityZone": "us-west-2a", "HealthStatus": "Healthy", "ProtectedFromScaleIn": False}
    asked = {
        "Filters": [
            {"Name": "instance-state-name", "Values": ["running"]},
            {"Name": "instance-id", "Values": IDS},
        ]
    }
    with Stubber(ec2) as stub, Stubber(scaling) as groups:
        described_group = {
            "AutoScalingGroupName": "train",
            "MinSize": 6,
            "MaxSize": 6,
            "DesiredCapacity": 6,
            "DefaultCooldown": 300,
            "AvailabilityZones": ["us-west-2a"],
            "HealthCheckType": "EC2",
            "CreatedTime": "2026-11-29T00:00:00Z",
            "Instances": [{**member, **rest} for member in group],
        }
        groups.add_response(
            "describe_auto_scaling_groups",
            {"AutoScalingGroups": [described_group]},
            {"AutoScalingGroupNames": ["train"]},
        )
        stub.add_response("describe_instances", described(IDS), asked)
        first, second = FOUR_LAYERS["Instances"][:4], FOUR_LAYERS["Instances"][4:]
        stub.add_response(
            "describe_instance_topology", {"Instances": first, "NextToken": "more"}, {"InstanceIds": IDS}
        )
        stub.add_response(
            "describe_instance_topology", {"Instances": second}, {"InstanceIds": IDS, "NextToken": "more"}
        )
        nodes = in_network_order(aws.members(fleet="train", ec2=ec2, autoscaling=scaling))
        stub.assert_no_pending_responses()
    assert [node.address for node in nodes] == [f"10.0.0.{number}" for number in (1, 3, 2, 5, 4, 6)]
    assert nodes[0].name == "ip-10-0-0-1"
    assert nodes[0].slots == 8
    assert len(nodes[0].layers) == 4


def test_more_than_a_hundred_instances_are_asked_in_batches() -> None:
    ids = [f"i-{number:017x}" for number in range(205)]
    ec2 = client("ec2")
    with Stubber(ec2) as stub:
        for begin, end in ((0, 100), (100, 200), (200, 205)):
            stub.add_response(
                "describe_instance_topology", {"Instances": []}, {"InstanceIds": ids[begin:end]}
            )
        assert len([*aws._topology(ec2, ids)]) == 3
        stub.assert_no_pending_responses()


def test_an_unknown_fleet_an_empty_one_and_a_missing_permission_say_what_it_is() -> None:
    ec2, scaling = client("ec2"), client("autoscaling")
    with Stubber(scaling) as groups:
        groups.add_response("describe_auto_scaling_groups", {"AutoScalingGroups": []})
        with pytest.raises(LiveError, match="no Auto Scaling group is named 'trian'"):
            aws.members(fleet="trian", ec2=ec2, autoscaling=scaling)
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": []})
        with pytest.raises(LiveError, match="not running, or not in this region and account: i-1"):
            aws.members(instance_ids=["i-1"], ec2=ec2)
        stub.add_client_error("describe_instances", "UnauthorizedOperation", "You are not authorized")
        with pytest.raises(LiveError, match=r"AWS: .*UnauthorizedOperation.*DescribeInstances"):
            aws.members(instance_ids=["i-1"], ec2=ec2)


SET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/train"


def machine(number: int, power: str) -> dict[str, Any]:
    return {
        "id": f"{SET}/virtualMachines/{number}",
        "instanceId": str(number),
        "sku": {"name": "Standard_ND96isr_H100_v5"},
        "properties": {
            "osProfile": {"computerName": f"train00000{number}"},
            "instanceView": {
                "statuses": [{"code": "ProvisioningState/succeeded"}, {"code": f"PowerState/{power}"}]
            },
        },
    }


def interface(number: int, address: str, *, primary: bool = True) -> dict[str, Any]:
    return {
        "properties": {
            "primary": primary,
            "virtualMachine": {"id": f"{SET.upper()}/virtualMachines/{number}"},
            "ipConfigurations": [
                {"properties": {"primary": False, "privateIPAddress": "10.20.9.9"}},
                {"properties": {"primary": True, "privateIPAddress": address}},
            ],
        }
    }


def azure_clients() -> tuple[Any, Any]:
    try:
        from azure.core.credentials import AccessToken
        from azure.mgmt.compute import ComputeManagementClient
        from azure.mgmt.network import NetworkManagementClient
    except ModuleNotFoundError:
        not_run("the Azure SDK is not installed")

    class Credential:
        def get_token(self, *_: str, **__: Any) -> AccessToken:
            return AccessToken("token", 2**33)

    credential: Any = Credential()
    return ComputeManagementClient(credential, "s"), NetworkManagementClient(credential, "s")


def test_a_scale_sets_running_members_come_with_the_primary_address_of_their_primary_interface() -> None:
    import responses

    compute, network = azure_clients()
    with responses.RequestsMock() as answers:
        answers.get(
            re.compile(r"https://management\.azure\.com/.*/virtualMachineScaleSets/train/networkInterfaces"),
            json={
                "value": [
                    interface(0, "10.20.0.4"),
                    interface(0, "10.20.5.5", primary=False),
                    interface(1, "10.20.0.5"),
                    interface(2, "10.20.0.6"),
                ]
            },
        )
        answers.get(
            re.compile(r"https://management\.azure\.com/.*/virtualMachineScaleSets/train/virtualMachines"),
            json={"value": [machine(0, "running"), machine(1, "deallocated"), machine(2, "running")]},
        )
        nodes = azure.members("train", "rg", subscription="s", compute=compute, network=network)
        assert "expand=instanceView" in str(answers.calls[1].request.url)
    assert [(node.address, node.name, node.slots, node.cloud) for node in nodes] == [
        ("10.20.0.4", "train000000", 8, "azure"),
        ("10.20.0.6", "train000002", 8, "azure"),
    ]


def test_azures_refusal_is_said_in_one_line() -> None:
    import responses

    compute, network = azure_clients()
    with responses.RequestsMock() as answers:
        error = {"error": {"code": "ResourceNotFound", "message": "The Resource was not found."}}
        answers.get(re.compile(r"https://management\.azure\.com/.*"), body=json.dumps(error), status=404)
        with pytest.raises(LiveError, match=r"Azure: \(ResourceNotFound\) The Resource was not found\."):
            azure.members("train", "rg", subscription="s", compute=compute, network=network)


def test_a_thousand_instances_are_asked_for_in_as_many_calls_as_ec2_takes_values() -> None:
    """One filter takes 200 values, one topology call 100 ids."""
    ids = [f"i-{number:017x}" for number in range(1001)]
    asked: dict[str, list[int]] = {"instances": [], "topology": []}

    class Ec2:
        def get_paginator(self, name: str) -> Ec2:
            assert name == "describe_instances"
            return self

        def paginate(self, *, Filters: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: N803
            values = Filters[1]["Values"]
            asked["instances"].append(len(values))
            return [described(values)]

        def describe_instance_topology(self, *, InstanceIds: list[str]) -> dict[str, Any]:  # noqa: N803
            asked["topology"].append(len(InstanceIds))
            return {"Instances": []}

    nodes = aws.members(instance_ids=ids, ec2=Ec2())
    assert [node.id for node in nodes] == ids
    assert asked == {"instances": [200] * 5 + [1], "topology": [100] * 10 + [1]}
