"""The recorder shows what the engine would be told, and one recording knows nothing of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest

from gpu_fabric.components.problems import InvalidInputError
from tests.components.recorder import declare, record, record_cluster

VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
ARGS: Mapping[str, Any] = {"zone": "us-east-1a", "instance_type": "p5.4xlarge", "nodes": 2}


def _vpc_and_subnet() -> Mapping[str, Any]:
    vpc = aws.ec2.Vpc("one", cidr_block="10.0.0.0/16")
    gateway = aws.ec2.InternetGateway("door", vpc_id=vpc.id)
    subnet = aws.ec2.Subnet(
        "two",
        vpc_id=vpc.id,
        cidr_block="10.0.1.0/24",
        opts=pulumi.ResourceOptions(
            depends_on=[gateway],
            protect=True,
            ignore_changes=["tags"],
            replace_on_changes=["cidrBlock"],
            delete_before_replace=True,
            aliases=[pulumi.Alias(name="second")],
        ),
    )
    return {"subnet": subnet.id, "plain": 1}


def test_a_resource_is_recorded_with_resolved_inputs_and_all_its_options() -> None:
    recording = record(_vpc_and_subnet)
    vpc, subnet = recording.one(VPC), recording.one(SUBNET)
    gateway = recording.one("aws:ec2/internetGateway:InternetGateway")
    assert subnet.inputs == {"cidrBlock": "10.0.1.0/24", "vpcId": vpc.id}
    assert set(subnet.depends_on) == {vpc.urn, gateway.urn}
    assert subnet.protect
    assert subnet.delete_before_replace
    assert (subnet.ignore_changes, subnet.replace_on_changes) == (("tags",), ("cidrBlock",))
    assert subnet.aliases == 1
    assert not vpc.protect
    assert recording.outputs == {"subnet": subnet.id, "plain": 1}


def test_ids_have_the_form_of_the_clouds_and_names_the_one_that_auto_naming_gives() -> None:
    recording = record(_vpc_and_subnet)
    assert recording.one(VPC).id.startswith("vpc-")
    assert len(recording.one(VPC).id) == len("vpc-") + 17
    group = {declared.type: declared for declared in declare(ARGS)}["aws:ec2/placementGroup:PlacementGroup"]
    assert group.physical_name.startswith("train-cluster-")
    assert len(group.physical_name) == len("train-cluster-") + 7
    assert group.id == group.physical_name


def test_two_recordings_of_one_program_are_equal_but_for_the_order_of_independent_resources() -> None:
    first, second = ({one.urn: one for one in record_cluster(ARGS).resources} for _ in range(2))
    assert {urn: one.inputs for urn, one in first.items()} == {urn: one.inputs for urn, one in second.items()}


def test_nothing_of_one_recording_is_seen_in_the_next() -> None:
    def reads_its_region() -> Mapping[str, Any]:
        return {"region": pulumi.Config("aws").get("region")}

    record(_vpc_and_subnet)
    there = record(reads_its_region, config={"aws:region": "eu-west-1"})
    here = record(reads_its_region)
    assert (there.outputs["region"], here.outputs["region"]) == ("eu-west-1", "us-east-1")
    assert there.resources == here.resources == []


def test_components_are_recorded_and_are_not_among_what_a_provider_manages() -> None:
    recording = record_cluster(ARGS)
    cluster = recording.one("gpu-fabric:index:AwsGpuCluster")
    assert not cluster.custom
    assert cluster not in recording.custom
    assert recording.one("gpu-fabric:index:AwsNodes").parent == cluster.urn


def test_a_whole_number_is_an_int_and_a_fraction_stays_one() -> None:
    def program() -> None:
        aws.autoscaling.Group("group", min_size=1, max_size=2, desired_capacity=1)
        aws.ec2.SpotInstanceRequest("cheap", spot_price="0.5", tags={"share": "1.0"})

    recording = record(program)
    inputs = recording.one("aws:autoscaling/group:Group").inputs
    assert inputs == {"minSize": 1, "maxSize": 2, "desiredCapacity": 1}
    assert all(isinstance(value, int) for value in inputs.values())
    cheap = recording.one("aws:ec2/spotInstanceRequest:SpotInstanceRequest").inputs
    assert cheap["tags"] == {"share": "1.0"}


def test_a_look_up_is_recorded_and_answered() -> None:
    def program() -> Mapping[str, Any]:
        return {"zone": aws.ec2.get_subnet_output(id="subnet-1").availability_zone}

    token = "aws:ec2/getSubnet:getSubnet"
    recording = record(program, answers={token: {"availabilityZone": "us-east-1b"}})
    (invoked,) = recording.invokes
    assert (invoked.token, invoked.arguments["id"]) == (token, "subnet-1")
    assert recording.outputs == {"zone": "us-east-1b"}


def test_what_the_program_logs_is_recorded_with_its_level() -> None:
    def program() -> None:
        pulumi.log.warn("mind the gap")
        pulumi.log.info("all aboard")

    assert record(program).messages == [("warning", "mind the gap"), ("info", "all aboard")]


def test_two_resources_of_one_type_and_name_are_refused_as_the_engine_does() -> None:
    def program() -> None:
        aws.ec2.Vpc("one", cidr_block="10.0.0.0/16")
        aws.ec2.Vpc("one", cidr_block="10.1.0.0/16")

    with pytest.raises(Exception, match="two resources of type aws:ec2/vpc:Vpc are named one"):
        record(program)


def test_an_error_in_the_program_or_in_an_apply_is_raised() -> None:
    def in_apply() -> None:
        def fail(_: str) -> str:
            raise pulumi.RunError("the subnet is elsewhere")

        vpc = aws.ec2.Vpc("one", cidr_block="10.0.0.0/16")
        aws.ec2.Subnet("two", vpc_id=vpc.id.apply(fail), cidr_block="10.0.1.0/24")

    with pytest.raises(InvalidInputError, match=r"nodes: "):
        record_cluster({**ARGS, "nodes": 0})
    with pytest.raises(pulumi.RunError, match="the subnet is elsewhere"):
        record(in_apply)
    assert len(declare(ARGS)) > 20
