"""Instances, placement groups, reservations, IAM and SSM: what each refuses and what replaces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_fabric.rehearsal.core.values import UNKNOWN

from .fabric import BLOCK, IMAGE, INSTANCE, INTERFACE, PLACEMENT, RESERVATION, Fabric, p5
from .small_engine import Failed, Resource, SmallEngine

ROLE = "aws:iam/role:Role"
POLICY = "aws:iam/policy:Policy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
PARAMETER = "aws:ssm/parameter:Parameter"
TRUST = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["sts:AssumeRole"]}]}
)


def said(failed: Any) -> str:
    return failed.value.text.rpartition("api error ")[2]


# Instances


@pytest.fixture
def login(net: Fabric) -> Resource:
    return net.cloud.up(
        INSTANCE,
        "login",
        ami=IMAGE,
        instanceType="m5.large",
        subnetId=net.subnet.id,
        vpcSecurityGroupIds=[net.group.id],
        userData="#!/bin/sh",
    )


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        ({"instanceType": "m5.xlarge"}, []),
        ({"userData": "#!/bin/bash"}, []),
        ({"userData": "#!/bin/bash", "userDataReplaceOnChange": True}, ["userData"]),
        ({"ami": "ami-0fedcba9876543210"}, ["ami"]),
        ({"subnetId": "subnet-0"}, ["subnetId"]),
        ({"subnetId": UNKNOWN}, ["subnetId"]),
        ({"rootBlockDevice": {"volumeSize": 200}}, []),
        ({"rootBlockDevice": {"encrypted": True}}, ["rootBlockDevice.encrypted"]),
        ({"tags": {"Name": "login"}}, []),
        ({"vpcSecurityGroupIds": ["sg-0"]}, []),
    ],
)
def test_what_replaces_an_instance_and_what_does_not(net, login, change, replaces):
    plan = net.cloud.diff(INSTANCE, "login", {**login.inputs, **change})
    assert plan.replaces == replaces
    assert plan.changes


def test_another_template_version_replaces_the_instance(net):
    template = net.template(networkInterfaces=p5())
    inputs = {"launchTemplate": {"id": template.id, "version": "1"}, "subnetId": net.subnet.id}
    net.cloud.up(INSTANCE, "one", inputs)
    newer = {**inputs, "launchTemplate": {"id": template.id, "version": "2"}}
    assert net.cloud.diff(INSTANCE, "one", newer).replaces == ["launchTemplate.version"]


def test_an_instance_of_a_template_gets_its_subnet_beside_it(net):
    template = net.template(networkInterfaces=p5(securityGroups=[net.group.id]))
    node = net.cloud.up(INSTANCE, "one", launchTemplate={"id": template.id}, subnetId=net.subnet.id)
    assert node["privateIp"] == "10.100.1.4"
    assert node["instanceType"] == "p5.48xlarge"
    assert node["vpcSecurityGroupIds"] == [net.group.id]
    assert len(net.interfaces()) == 33


def test_a_protected_instance_is_not_ended(net, login):
    net.cloud.up(INSTANCE, "login", {**login.inputs, "disableApiTermination": True})
    with pytest.raises(Failed) as failed:
        net.cloud.destroy("login")
    assert said(failed) == (
        f"OperationNotPermitted: The instance '{login.id}' may not be terminated. Modify its 'disableApiTermination' "
        f"instance attribute and try again."
    )
    net.cloud.up(INSTANCE, "login", {**login.inputs, "disableApiTermination": False})
    net.cloud.destroy("login")


def test_new_security_groups_reach_the_interface(net, login):
    other = net.cloud.up("aws:ec2/securityGroup:SecurityGroup", "other", vpcId=net.vpc.id)
    net.cloud.up(INSTANCE, "login", {**login.inputs, "vpcSecurityGroupIds": [other.id]})
    assert net.interfaces()[0]["securityGroups"] == [other.id]


def test_a_fixed_address_is_kept(net):
    node = net.cloud.up(
        INSTANCE, "one", ami=IMAGE, instanceType="m5.large", subnetId=net.subnet.id, privateIp="10.100.1.20"
    )
    assert node["privateIp"] == "10.100.1.20"
    again = net.cloud.up(INTERFACE, "next", subnetId=net.subnet.id)
    assert again["privateIp"] == "10.100.1.4"


def test_an_instance_without_a_subnet_has_nowhere_to_go(aws):
    with pytest.raises(Failed, match="MissingInput: No subnets found for the default VPC"):
        aws.up(INSTANCE, "one", ami=IMAGE, instanceType="m5.large")


# Placement groups and reservations


def test_a_placement_group_with_an_instance_in_it_is_not_deleted(net):
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    net.fleet(net.template(networkInterfaces=p5(), placement={"groupName": "train"}), 1)
    with pytest.raises(Failed) as failed:
        net.cloud.destroy("pg")
    assert failed.value.text == (
        "deleting EC2 Placement Group (train): operation error EC2: DeletePlacementGroup, https response error "
        "StatusCode: 400, RequestID: simulated, api error InvalidPlacementGroup.InUse: The placement group 'train' is "
        "in use and may not be deleted."
    )
    net.cloud.destroy("fleet")
    net.cloud.destroy("pg")


def test_a_placement_group_name_is_there_once(net):
    net.cloud.up(PLACEMENT, "pg", name="train", strategy="cluster")
    with pytest.raises(Failed) as failed:
        net.cloud.up(PLACEMENT, "again", name="train", strategy="cluster")
    assert failed.value.text.startswith("creating EC2 Placement Group (train): ")
    assert said(failed) == "InvalidPlacementGroup.Duplicate: The placement group 'train' already exists."


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"strategy": "tight"}, 'expected strategy to be one of ["cluster" "partition" "spread"], got tight'),
        (
            {"strategy": "cluster", "partitionCount": 2},
            'partition_count must not be set when strategy = "cluster"',
        ),
        (
            {"strategy": "partition", "partitionCount": 8},
            "expected partition_count to be in the range (0 - 7), got 8",
        ),
        (
            {"strategy": "cluster", "spreadLevel": "rack"},
            'spread_level must not be set when strategy = "cluster"',
        ),
    ],
)
def test_a_placement_group_that_ec2_does_not_have_is_refused_in_the_preview(aws, inputs, message):
    with pytest.raises(Failed) as failed:
        aws.preview(PLACEMENT, "pg", inputs)
    assert failed.value.text.startswith(f"{message}. Examine values at 'pg.")


def test_seven_partitions_are_the_most(aws):
    assert aws.up(PLACEMENT, "pg", strategy="partition", partitionCount=7)["partitionCount"] == 7


RESERVED = {
    "instanceType": "p5.48xlarge",
    "instancePlatform": "Linux/UNIX",
    "availabilityZone": "us-east-1a",
    "instanceCount": 4,
}


def test_a_reservation_takes_room_before_anything_runs(aws, faults):
    faults(capacity=[{"size": "p5.48xlarge", "available": 6}])
    aws.up(RESERVATION, "one", RESERVED)
    with pytest.raises(Failed) as failed:
        aws.up(RESERVATION, "two", RESERVED)
    assert said(failed) == "InsufficientInstanceCapacity: Insufficient capacity."
    aws.up(RESERVATION, "three", {**RESERVED, "instanceCount": 2})


def test_a_reservation_grows_in_place_and_moves_by_replacement(aws):
    aws.up(RESERVATION, "one", RESERVED)
    assert aws.diff(RESERVATION, "one", {**RESERVED, "instanceCount": 8}).replaces == []
    assert aws.diff(RESERVATION, "one", {**RESERVED, "availabilityZone": "us-east-1b"}).replaces == [
        "availabilityZone"
    ]


@pytest.mark.parametrize(
    ("days", "nodes", "fits"), [(1, 1, True), (182, 64, True), (183, 1, False), (1, 65, False)]
)
def test_a_block_has_up_to_64_nodes_for_up_to_182_days(aws, days, nodes, fits):
    asked = {"instanceType": "p5.48xlarge", "instanceCount": nodes, "capacityDurationHours": 24 * days}
    if fits:
        offer = aws.invoke("aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering", **asked)
        block = aws.up(
            BLOCK,
            "block",
            capacityBlockOfferingId=offer["capacityBlockOfferingId"],
            instancePlatform="Linux/UNIX",
        )
        assert (block["instanceCount"], block["reservationType"]) == (nodes, "capacity-block")
    else:
        with pytest.raises(
            Failed, match="EC2 offers capacity blocks of 1 to 64 instances for whole days, 1 to 182"
        ):
            aws.invoke("aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering", **asked)


def test_an_offering_that_was_never_made_cannot_be_bought(aws):
    with pytest.raises(Failed) as failed:
        aws.up(BLOCK, "block", capacityBlockOfferingId="cb-0123456789abcdef0", instancePlatform="Linux/UNIX")
    assert failed.value.text.startswith("purchasing EC2 Capacity Block Reservation: ")
    assert said(failed).startswith("InvalidCapacityBlockOfferingId.NotFound: ")


# IAM and SSM


def test_a_role_with_an_attached_policy_is_not_deleted(aws):
    role = aws.up(ROLE, "node", assumeRolePolicy=TRUST)
    aws.up(ATTACHMENT, "ssm", role=role.id, policyArn="arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")
    with pytest.raises(Failed) as failed:
        aws.destroy("node")
    assert failed.value.text == (
        f"deleting IAM Role ({role.id}): operation error IAM: DeleteRole, https response error StatusCode: 409, "
        f"RequestID: simulated, api error DeleteConflict: Cannot delete entity, must detach all policies first."
    )
    aws.destroy("ssm")
    aws.destroy("node")


def test_a_policy_that_is_not_there_cannot_be_attached(aws):
    role = aws.up(ROLE, "node", assumeRolePolicy=TRUST)
    with pytest.raises(Failed) as failed:
        aws.up(ATTACHMENT, "own", role=role.id, policyArn="arn:aws:iam::000000000000:policy/own")
    assert said(failed) == (
        "NoSuchEntity: Policy arn:aws:iam::000000000000:policy/own does not exist or is not attachable."
    )


def test_a_role_s_name_fits_iam_however_long_the_resource_s_is(aws):
    role = aws.up(ROLE, "a" * 100, assumeRolePolicy=TRUST)
    assert len(role["name"]) == 64


def test_a_document_that_is_not_json_is_refused_in_the_preview(aws):
    with pytest.raises(Failed, match="contains an invalid JSON policy: not a JSON object"):
        aws.preview(ROLE, "node", assumeRolePolicy="{")


def test_the_same_document_in_other_words_changes_nothing(aws):
    aws.up(ROLE, "node", assumeRolePolicy=TRUST)
    other = json.dumps(
        {"Statement": {"Action": "sts:AssumeRole", "Effect": "Allow"}, "Version": "2012-10-17"}, indent=4
    )
    assert aws.diff(ROLE, "node", {"assumeRolePolicy": other}).changes == []


@pytest.mark.parametrize(
    ("token", "inputs", "code"),
    [
        (
            ROLE,
            {"name": "x", "assumeRolePolicy": TRUST},
            "EntityAlreadyExists: Role with name x already exists.",
        ),
        (PROFILE, {"name": "x"}, "EntityAlreadyExists: Instance Profile x already exists."),
        (
            POLICY,
            {"name": "x", "policy": TRUST},
            "EntityAlreadyExists: A policy called x already exists. Duplicate names are not allowed.",
        ),
        (
            PARAMETER,
            {"name": "/x", "type": "String", "value": "1"},
            "ParameterAlreadyExists: The parameter already exists. To overwrite this value, set the overwrite option "
            "in the request to true.",
        ),
        (
            "aws:ec2/keyPair:KeyPair",
            {"keyName": "x", "publicKey": "ssh-ed25519 AAAA"},
            "InvalidKeyPair.Duplicate: The keypair already exists: x",
        ),
    ],
)
def test_a_name_is_there_once(aws, token, inputs, code):
    aws.up(token, "one", inputs)
    with pytest.raises(Failed) as failed:
        aws.up(token, "two", inputs)
    assert said(failed) == code


@pytest.mark.parametrize(
    ("change", "changed", "replaces"),
    [
        ({"value": "2"}, True, []),
        ({"type": "SecureString"}, True, []),
        ({"tier": "Standard"}, True, ["tier"]),
        ({"tier": "Intelligent-Tiering"}, False, []),
        ({"dataType": "aws:ec2:image"}, True, ["dataType"]),
    ],
)
def test_what_replaces_a_parameter_and_what_does_not(aws, change, changed, replaces):
    inputs = {"name": "/x", "type": "String", "value": "1", "tier": "Advanced", "dataType": "text"}
    aws.up(PARAMETER, "x", inputs)
    plan = aws.diff(PARAMETER, "x", {**inputs, **change})
    assert (bool(plan.changes), list(plan.replaces)) == (changed, replaces)


def test_a_parameter_that_is_not_there_is_not_made_up(aws):
    with pytest.raises(Failed) as failed:
        aws.invoke("aws:ssm/getParameter:getParameter", name="/mine/image")
    assert failed.value.text.startswith("reading SSM Parameter (/mine/image): ")
    assert said(failed).startswith("ParameterNotFound")


# Look-ups


def test_a_look_up_finds_the_only_match_and_says_so_of_none_and_many(net):
    found = net.cloud.invoke("aws:ec2/getSubnet:getSubnet", vpcId=net.vpc.id)
    assert (found["id"], found["availabilityZone"]) == (net.subnet.id, "us-east-1a")
    with pytest.raises(Failed, match="no matching EC2 Subnet found"):
        net.cloud.invoke("aws:ec2/getSubnet:getSubnet", id="subnet-0")
    net.cloud.up("aws:ec2/subnet:Subnet", "more", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24")
    with pytest.raises(Failed, match="multiple EC2 Subnets matched; use additional constraints"):
        net.cloud.invoke("aws:ec2/getSubnet:getSubnet", vpcId=net.vpc.id)


def test_a_look_up_by_tag_and_by_filter(net):
    net.cloud.up("aws:ec2/vpc:Vpc", "net", {**net.vpc.inputs, "tags": {"Name": "train"}})
    assert net.cloud.invoke("aws:ec2/getVpc:getVpc", tags={"Name": "train"})["id"] == net.vpc.id
    filters = [{"name": "tag:Name", "values": ["tr*"]}]
    assert net.cloud.invoke("aws:ec2/getVpc:getVpc", filters=filters)["id"] == net.vpc.id
    with pytest.raises(Failed, match="the simulated AWS does not know the filter owner-id"):
        net.cloud.invoke("aws:ec2/getVpc:getVpc", filters=[{"name": "owner-id", "values": ["1"]}])


def test_instances_are_found_by_their_group(net):
    group = net.fleet(net.template(networkInterfaces=p5()), 2)
    filters = [{"name": "tag:aws:autoscaling:groupName", "values": [group.id]}]
    found = net.cloud.invoke("aws:ec2/getInstances:getInstances", filters=filters)
    assert found["privateIps"] == ["10.100.1.4", "10.100.1.5"]


def test_the_account_and_the_region_are_not_real_ones(aws):
    assert aws.invoke("aws:index/getCallerIdentity:getCallerIdentity")["accountId"] == "000000000000"
    assert aws.invoke("aws:index/getPartition:getPartition")["partition"] == "aws"
    assert aws.invoke("aws:index/getRegion:getRegion")["name"] == "us-east-1"
    zones = aws.invoke("aws:index/getAvailabilityZones:getAvailabilityZones")
    assert zones["names"][0] == "us-east-1a" and len(zones["names"]) == 6


def test_an_instance_type_tells_its_cards(aws):
    found = aws.invoke("aws:ec2/getInstanceType:getInstanceType", instanceType="p6-b300.48xlarge")
    assert (found["maximumNetworkCards"], found["efaMaximumInterfaces"]) == (17, 16)


def test_a_policy_document_is_written_as_the_provider_writes_it(aws):
    made = aws.invoke(
        "aws:iam/getPolicyDocument:getPolicyDocument",
        statements=[
            {
                "actions": ["sts:AssumeRole"],
                "principals": [{"type": "Service", "identifiers": ["ec2.amazonaws.com"]}],
            },
            {
                "sid": "Read",
                "effect": "Deny",
                "actions": ["s3:GetObject", "s3:ListBucket"],
                "resources": ["*"],
                "conditions": [{"test": "Bool", "variable": "aws:SecureTransport", "values": ["false"]}],
            },
        ],
    )
    assert json.loads(made["json"]) == {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}},
            {
                "Sid": "Read",
                "Effect": "Deny",
                "Action": ["s3:ListBucket", "s3:GetObject"],
                "Resource": "*",
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }


def test_an_unknown_argument_or_function_is_an_error(aws):
    with pytest.raises(Failed, match="not an argument of aws:ec2/getVpc:getVpc"):
        aws.invoke("aws:ec2/getVpc:getVpc", name="net")
    with pytest.raises(
        Failed, match="does not know the function aws:s3/getBucket:getBucket: no answer was made up"
    ):
        aws.invoke("aws:s3/getBucket:getBucket", bucket="b")


def test_default_tags_reach_every_resource(tmp_path):
    cloud = SmallEngine(
        "aws", tmp_path / "clouds.db", region="us-west-2", defaultTags=json.dumps({"tags": {"team": "llm"}})
    )
    vpc = cloud.up("aws:ec2/vpc:Vpc", "net", cidrBlock="10.0.0.0/16", tags={"Name": "net"})
    assert vpc["tagsAll"] == {"team": "llm", "Name": "net"}
    assert vpc["region"] == "us-west-2"
