"""What holds for every type of the simulated AWS, shown on a module as people write it by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpu_fabric.rehearsal.clouds import load
from gpu_fabric.rehearsal.core.sdk_schema import extract
from gpu_fabric.rehearsal.core.values import UNKNOWN, plain

from .aws import link
from .fabric import IMAGE
from .small_engine import SmallEngine

AWS = load("aws")
Ids = Callable[[str], str]
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
        ],
    }
)
ANYTHING = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
)


def _offer(cloud: SmallEngine) -> str:
    return cloud.invoke(
        "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering",
        instanceType="p5.48xlarge",
        instanceCount=1,
        capacityDurationHours=24,
    )["capacityBlockOfferingId"]


def module(cloud: SmallEngine, id: Ids) -> list[tuple[str, str, Callable[[], dict[str, Any]]]]:
    """Every type once, in an order in which it can be made. Inputs are made when their turn comes."""

    def output(name: str, property: str) -> Any:
        return cloud.resources[name][property]

    return [
        ("aws:ec2/vpc:Vpc", "net", lambda: {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": True}),
        (
            "aws:ec2/subnet:Subnet",
            "private",
            lambda: {"vpcId": id("net"), "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-east-1a"},
        ),
        ("aws:ec2/subnet:Subnet", "public", lambda: {"vpcId": id("net"), "cidrBlock": "10.0.0.0/28"}),
        ("aws:ec2/internetGateway:InternetGateway", "igw", lambda: {"vpcId": id("net")}),
        ("aws:ec2/vpc:Vpc", "side", lambda: {"cidrBlock": "10.9.0.0/16"}),
        ("aws:ec2/internetGateway:InternetGateway", "side-igw", dict),
        (
            "aws:ec2/internetGatewayAttachment:InternetGatewayAttachment",
            "side-igw-attached",
            lambda: {"vpcId": id("side"), "internetGatewayId": id("side-igw")},
        ),
        ("aws:ec2/eip:Eip", "nat-address", lambda: {"domain": "vpc"}),
        (
            "aws:ec2/natGateway:NatGateway",
            "nat",
            lambda: {"allocationId": id("nat-address"), "subnetId": id("public")},
        ),
        ("aws:ec2/routeTable:RouteTable", "private-routes", lambda: {"vpcId": id("net")}),
        (
            "aws:ec2/route:Route",
            "out",
            lambda: {
                "routeTableId": id("private-routes"),
                "destinationCidrBlock": "0.0.0.0/0",
                "natGatewayId": id("nat"),
            },
        ),
        (
            "aws:ec2/routeTableAssociation:RouteTableAssociation",
            "private-uses",
            lambda: {"routeTableId": id("private-routes"), "subnetId": id("private")},
        ),
        (
            "aws:ec2/routeTable:RouteTable",
            "public-routes",
            lambda: {"vpcId": id("net"), "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": id("igw")}]},
        ),
        (
            "aws:ec2/mainRouteTableAssociation:MainRouteTableAssociation",
            "main",
            lambda: {"vpcId": id("net"), "routeTableId": id("public-routes")},
        ),
        ("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", "closed", lambda: {"vpcId": id("net")}),
        ("aws:ec2/securityGroup:SecurityGroup", "efa", lambda: {"vpcId": id("net"), "tags": {"Name": "efa"}}),
        (
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "in-self",
            lambda: {
                "securityGroupId": id("efa"),
                "referencedSecurityGroupId": id("efa"),
                "ipProtocol": "-1",
            },
        ),
        (
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
            "out-self",
            lambda: {
                "securityGroupId": id("efa"),
                "referencedSecurityGroupId": id("efa"),
                "ipProtocol": "-1",
            },
        ),
        (
            "aws:ec2/securityGroupRule:SecurityGroupRule",
            "out-all",
            lambda: {
                "type": "egress",
                "securityGroupId": id("efa"),
                "protocol": "-1",
                "fromPort": 0,
                "toPort": 0,
                "cidrBlocks": ["0.0.0.0/0"],
            },
        ),
        (
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            "s3",
            lambda: {"vpcId": id("net"), "serviceName": "com.amazonaws.us-east-1.s3"},
        ),
        (
            "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation",
            "s3-public",
            lambda: {"vpcEndpointId": id("s3"), "routeTableId": id("public-routes")},
        ),
        (
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            "ssm",
            lambda: {
                "vpcId": id("net"),
                "serviceName": "com.amazonaws.us-east-1.ssm",
                "vpcEndpointType": "Interface",
                "privateDnsEnabled": True,
                "securityGroupIds": [id("efa")],
            },
        ),
        (
            "aws:ec2/vpcEndpointSubnetAssociation:VpcEndpointSubnetAssociation",
            "ssm-private",
            lambda: {"vpcEndpointId": id("ssm"), "subnetId": id("private")},
        ),
        ("aws:ec2/networkAcl:NetworkAcl", "acl", lambda: {"vpcId": id("net")}),
        (
            "aws:ec2/networkAclRule:NetworkAclRule",
            "acl-in",
            lambda: {
                "networkAclId": id("acl"),
                "ruleNumber": 100,
                "protocol": "-1",
                "ruleAction": "allow",
                "cidrBlock": "0.0.0.0/0",
            },
        ),
        (
            "aws:ec2/networkAclAssociation:NetworkAclAssociation",
            "acl-public",
            lambda: {"networkAclId": id("acl"), "subnetId": id("public")},
        ),
        ("aws:iam/role:Role", "node", lambda: {"assumeRolePolicy": TRUST}),
        ("aws:iam/rolePolicy:RolePolicy", "node-extra", lambda: {"role": id("node"), "policy": ANYTHING}),
        ("aws:iam/policy:Policy", "own", lambda: {"policy": ANYTHING}),
        (
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "node-own",
            lambda: {"role": id("node"), "policyArn": output("own", "arn")},
        ),
        (
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "node-ssm",
            lambda: {"role": id("node"), "policyArn": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"},
        ),
        ("aws:iam/instanceProfile:InstanceProfile", "node-profile", lambda: {"role": id("node")}),
        (
            "aws:ec2/keyPair:KeyPair",
            "me",
            lambda: {"publicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI me@here"},
        ),
        (
            "aws:ssm/parameter:Parameter",
            "image",
            lambda: {"type": "String", "value": IMAGE, "name": "/mine/image"},
        ),
        ("aws:ec2/placementGroup:PlacementGroup", "train", lambda: {"strategy": "cluster"}),
        (
            "aws:ec2/capacityReservation:CapacityReservation",
            "odcr",
            lambda: {
                "instanceType": "p5.48xlarge",
                "instancePlatform": "Linux/UNIX",
                "availabilityZone": "us-east-1a",
                "instanceCount": 2,
            },
        ),
        (
            "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
            "block",
            lambda: {"capacityBlockOfferingId": _offer(cloud), "instancePlatform": "Linux/UNIX"},
        ),
        (
            "aws:ec2/networkInterface:NetworkInterface",
            "front",
            lambda: {"subnetId": id("private"), "securityGroups": [id("efa")]},
        ),
        (
            "aws:ec2/instance:Instance",
            "login",
            lambda: {
                "ami": IMAGE,
                "instanceType": "m5.large",
                "keyName": id("me"),
                "primaryNetworkInterface": {"networkInterfaceId": id("front")},
                "rootBlockDevice": {"volumeSize": 100},
                "metadataOptions": {"httpTokens": "required"},
            },
        ),
        (
            "aws:ec2/networkInterface:NetworkInterface",
            "second",
            lambda: {"subnetId": id("private"), "privateIpsCount": 2},
        ),
        (
            "aws:ec2/networkInterfaceSecurityGroupAttachment:NetworkInterfaceSecurityGroupAttachment",
            "second-efa",
            lambda: {"networkInterfaceId": id("second"), "securityGroupId": id("efa")},
        ),
        (
            "aws:ec2/networkInterfaceAttachment:NetworkInterfaceAttachment",
            "second-attached",
            lambda: {"networkInterfaceId": id("second"), "instanceId": id("login"), "deviceIndex": 1},
        ),
        ("aws:ec2/eip:Eip", "login-address", lambda: {"domain": "vpc"}),
        (
            "aws:ec2/eipAssociation:EipAssociation",
            "login-has",
            lambda: {"allocationId": id("login-address"), "networkInterfaceId": id("front")},
        ),
        (
            "aws:ec2/launchTemplate:LaunchTemplate",
            "nodes",
            lambda: {
                "instanceType": "p4d.24xlarge",
                "imageId": "resolve:ssm:/mine/image",
                "iamInstanceProfile": {"name": id("node-profile")},
                "placement": {"groupName": id("train")},
                "networkInterfaces": [
                    {
                        "networkCardIndex": card,
                        "deviceIndex": 1 if card else 0,
                        "interfaceType": "efa-only" if card else "efa",
                        "securityGroups": [id("efa")],
                    }
                    for card in range(4)
                ],
            },
        ),
        (
            "aws:autoscaling/group:Group",
            "fleet",
            lambda: {
                "minSize": 2,
                "maxSize": 2,
                "vpcZoneIdentifiers": [id("private")],
                "launchTemplate": {"id": id("nodes"), "version": str(output("nodes", "latestVersion"))},
                "tags": [{"key": "Name", "value": "node", "propagateAtLaunch": True}],
            },
        ),
        (
            "aws:ec2/subnet:Subnet",
            "other-zone",
            lambda: {"vpcId": id("net"), "cidrBlock": "10.0.2.0/24", "availabilityZone": "us-east-1b"},
        ),
        ("aws:iam/role:Role", "control", lambda: {"assumeRolePolicy": TRUST.replace("ec2.", "eks.")}),
        (
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "control-eks",
            lambda: {"role": id("control"), "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"},
        ),
        (
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "node-eks",
            lambda: {"role": id("node"), "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
        ),
        (
            "aws:eks/cluster:Cluster",
            "kubernetes",
            lambda: {
                "roleArn": output("control", "arn"),
                "vpcConfig": {"subnetIds": [id("private"), id("other-zone")]},
            },
        ),
        (
            "aws:eks/nodeGroup:NodeGroup",
            "workers",
            lambda: {
                "clusterName": output("kubernetes", "name"),
                "nodeRoleArn": output("node", "arn"),
                "subnetIds": [id("private")],
                "instanceTypes": ["m5.large"],
                "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 1},
            },
        ),
        *link.module(cloud, id),
    ]


Made = tuple[SmallEngine, dict[str, dict[str, Any]], dict[str, dict[str, Any]]]


def make(cloud: SmallEngine) -> Made:
    """The module made: the engine, each resource's inputs, and what its preview said."""
    inputs: dict[str, dict[str, Any]] = {}
    previews: dict[str, dict[str, Any]] = {}
    for token, name, given in module(cloud, lambda name: cloud.resources[name].id):
        inputs[name] = given()
        previews[name] = cloud.preview(token, name, inputs[name])
        cloud.up(token, name, inputs[name])
    return cloud, inputs, previews


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The module made once, for tests that only look."""
    return make(SmallEngine("aws", tmp_path_factory.mktemp("made") / "clouds.db", region="us-east-1"))


def test_the_module_has_every_type(made):
    cloud, _, _ = made
    assert {each.token for each in cloud.resources.values()} == set(AWS.by_token)


def test_every_output_that_only_the_cloud_knows_is_there_afterwards(made):
    cloud, _, _ = made
    missing = {
        f"{each.token}.{output}"
        for each in cloud.resources.values()
        for output, word in AWS.type_schema(each.token).outputs.items()
        if word.endswith("!") and output not in each.outputs and output not in AWS.by_token[each.token].absent
    }
    assert not missing


def test_no_output_is_there_that_the_sdk_does_not_know(made):
    cloud, _, _ = made
    for each in cloud.resources.values():
        assert set(each.outputs) - {"id"} <= set(AWS.type_schema(each.token).outputs), each.token


def test_what_a_preview_knew_is_what_came(made):
    cloud, _, previews = made
    for name, planned in previews.items():
        after = plain(cloud.resources[name].outputs)
        for property, value in plain(planned).items():
            if isinstance(value, str | int | bool) and value is not UNKNOWN:
                assert after[property] == value, f"{name}.{property}"


def test_a_preview_knows_no_value_that_only_the_cloud_could_give(made):
    cloud, inputs, previews = made
    for name, planned in previews.items():
        type = AWS.by_token[cloud.resources[name].token]
        told = {*inputs[name], *type.defaults, "tagsAll", "region", type.autoname, "__defaults"}
        known = {property for property, value in plain(planned).items() if value is not UNKNOWN}
        assert known <= told, name


def test_asking_for_the_same_again_changes_nothing(made):
    cloud, inputs, _ = made
    for name, given in inputs.items():
        plan = cloud.diff(cloud.resources[name].token, name, given)
        assert plan.changes == [], name


def test_a_refresh_finds_nothing_changed(made):
    cloud, inputs, _ = made
    for name, given in inputs.items():
        token = cloud.resources[name].token
        assert cloud.refresh(name) is not None, name
        assert cloud.diff(token, name, given).changes == [], name


def test_everything_can_be_adopted_by_its_id(made):
    cloud, _, _ = made
    for name, each in cloud.resources.items():
        adopted = cloud.adopt(each.token, each.id)
        assert adopted is not None and adopted["id"] == each.id, name


def test_an_id_that_names_nothing_cannot_be_adopted(aws):
    for token in AWS.by_token:
        assert aws.adopt(token, "nothing-0123") is None, token


def test_destroying_the_module_leaves_an_empty_cloud(aws):
    cloud, _, _ = make(aws)
    link.partner_leaves(cloud)
    cloud.destroy_all()
    assert cloud.held() == []


def test_replacing_every_type_works_where_a_rule_says_so(made):
    """A region of its own replaces everything regional, as in terraform-provider-aws v6."""
    cloud, inputs, _ = made
    for name, given in inputs.items():
        token = cloud.resources[name].token
        if "region" in AWS.type_schema(token).inputs:
            plan = cloud.diff(token, name, {**given, "region": "us-west-2"})
            assert plan.replaces == ["region"], name


@pytest.mark.parametrize("type", AWS.types, ids=lambda type: type.token)
def test_a_type_only_speaks_of_properties_the_sdk_has(type):
    inputs = set(AWS.type_schema(type.token).inputs)
    told = {
        path.partition(".")[0]
        for path in (
            *type.replaces,
            *type.unordered,
            *type.defaults,
            *type.filled,
            *type.absent,
            *type.same,
            *([type.autoname] if type.autoname else []),
        )
    }
    assert told <= inputs
    assert type.replaces_source


def test_the_schema_is_the_one_of_the_installed_sdk():
    committed = json.loads((AWS.folder / "schema.json").read_text())
    assert committed == extract("aws", AWS.by_token, AWS.functions_by_token)
