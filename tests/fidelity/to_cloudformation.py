"""The provider's resources as CloudFormation resources, for the registry's schemas. A target is a resource type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.components.recorder import Declared
from tests.fidelity.to_api import DEFAULT_VERSION, GROUP_RESERVATION, launch_template
from tests.fidelity.translation import (
    SAME,
    Nowhere,
    Resource,
    Target,
    To,
    key_values,
    nowhere,
    structure,
    structures,
    translate,
)

_TAGS = To("Tags", key_values)

#: Provider type → why CloudFormation has no resource for it.
NOT_IN_CLOUDFORMATION: Mapping[str, str] = {
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": (
        "CloudFormation cannot adopt the default security group of a VPC."
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": (
        "CloudFormation has no attachment: it is `ManagedPolicyArns` of the role. The test puts it there."
    ),
}


def _named(path: str) -> Target:
    return Target(lambda declared: {path: declared.physical_name})


def _rule(direction: str) -> Resource:
    peer = "SourceSecurityGroupId" if direction == "Ingress" else "DestinationSecurityGroupId"
    return Resource(
        {f"AWS::EC2::SecurityGroup{direction}": Target()},
        {
            "cidrIpv4": To("CidrIp"),
            "description": SAME,
            "fromPort": SAME,
            "ipProtocol": SAME,
            "referencedSecurityGroupId": To(peer),
            "securityGroupId": To("GroupId"),
            "toPort": SAME,
        },
    )


RESOURCES: Mapping[str, Resource | Callable[[Declared], Resource]] = {
    "aws:autoscaling/group:Group": Resource(
        {"AWS::AutoScaling::AutoScalingGroup": _named("AutoScalingGroupName")},
        {
            "capacityReservationSpecification": To(convert=structure(GROUP_RESERVATION)),
            "desiredCapacity": To(convert=str),
            "healthCheckType": SAME,
            "instanceRefresh": Nowhere("CloudFormation has it as an update policy beside the properties."),
            "launchTemplate": To(convert=structure({"id": To("LaunchTemplateId"), "version": SAME})),
            "maxSize": To(convert=str),
            "minSize": To(convert=str),
            "tags": To(convert=structures({"key": SAME, "propagateAtLaunch": SAME, "value": SAME})),
            "terminationPolicies": SAME,
            "vpcZoneIdentifiers": To("VPCZoneIdentifier"),
        },
    ),
    "aws:ec2/eip:Eip": Resource({"AWS::EC2::EIP": Target()}, {"domain": SAME, "tags": _TAGS}),
    "aws:ec2/instance:Instance": Resource(
        {"AWS::EC2::Instance": Target()},
        {
            "launchTemplate": To(convert=structure({"id": To("LaunchTemplateId"), "version": SAME})),
            "tags": _TAGS,
        },
    ),
    "aws:ec2/internetGateway:InternetGateway": Resource(
        {
            "AWS::EC2::InternetGateway": Target(),
            "AWS::EC2::VPCGatewayAttachment": Target(
                lambda declared: {"InternetGatewayId": declared.id}, always=False
            ),
        },
        {"tags": _TAGS, "vpcId": To(target="AWS::EC2::VPCGatewayAttachment")},
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Resource(
        {"AWS::EC2::LaunchTemplate": _named("LaunchTemplateName")},
        launch_template(
            "LaunchTemplateData",
            To(
                "TagSpecifications",
                lambda tags: [{"ResourceType": "launch-template", "Tags": key_values(tags)}],
            ),
        ),
    ),
    "aws:ec2/natGateway:NatGateway": Resource(
        {"AWS::EC2::NatGateway": Target()}, {"allocationId": SAME, "subnetId": SAME, "tags": _TAGS}
    ),
    "aws:ec2/placementGroup:PlacementGroup": Resource(
        {"AWS::EC2::PlacementGroup": Target()}, {"strategy": SAME, "tags": _TAGS}
    ),
    "aws:ec2/route:Route": Resource(
        {"AWS::EC2::Route": Target()},
        {"destinationCidrBlock": SAME, "gatewayId": SAME, "natGatewayId": SAME, "routeTableId": SAME},
    ),
    "aws:ec2/routeTable:RouteTable": Resource(
        {"AWS::EC2::RouteTable": Target()}, {"tags": _TAGS, "vpcId": SAME}
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Resource(
        {"AWS::EC2::SubnetRouteTableAssociation": Target()}, {"routeTableId": SAME, "subnetId": SAME}
    ),
    "aws:ec2/securityGroup:SecurityGroup": Resource(
        {"AWS::EC2::SecurityGroup": _named("GroupName")},
        {"description": To("GroupDescription"), "tags": _TAGS, "vpcId": SAME},
    ),
    "aws:ec2/subnet:Subnet": Resource(
        {"AWS::EC2::Subnet": Target()},
        {
            "availabilityZone": SAME,
            "cidrBlock": SAME,
            "mapPublicIpOnLaunch": SAME,
            "tags": _TAGS,
            "vpcId": SAME,
        },
    ),
    "aws:ec2/vpc:Vpc": Resource(
        {"AWS::EC2::VPC": Target()},
        {"cidrBlock": SAME, "enableDnsHostnames": SAME, "enableDnsSupport": SAME, "tags": _TAGS},
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Resource(
        {"AWS::EC2::VPCEndpoint": Target()},
        {
            "privateDnsEnabled": SAME,
            "routeTableIds": SAME,
            "securityGroupIds": SAME,
            "serviceName": SAME,
            "subnetIds": SAME,
            "tags": _TAGS,
            "vpcEndpointType": SAME,
            "vpcId": SAME,
        },
    ),
    "aws:eks/cluster:Cluster": Resource(
        {"AWS::EKS::Cluster": _named("Name")},
        {
            "roleArn": SAME,
            "version": SAME,
            "vpcConfig": To(
                "ResourcesVpcConfig",
                structure({"subnetIds": SAME, "endpointPrivateAccess": SAME, "endpointPublicAccess": SAME}),
            ),
        },
    ),
    "aws:eks/nodeGroup:NodeGroup": Resource(
        {"AWS::EKS::Nodegroup": _named("NodegroupName")},
        {
            "amiType": SAME,
            "capacityType": SAME,
            "clusterName": SAME,
            "launchTemplate": To(convert=structure({"id": SAME, "version": SAME})),
            "nodeRoleArn": To("NodeRole"),
            "scalingConfig": To(convert=structure({"minSize": SAME, "desiredSize": SAME, "maxSize": SAME})),
            "subnetIds": To("Subnets"),
        },
    ),
    "aws:iam/instanceProfile:InstanceProfile": Resource(
        {"AWS::IAM::InstanceProfile": _named("InstanceProfileName")},
        {
            "role": To("Roles", lambda role: [role]),
            "tags": Nowhere("CloudFormation's instance profile has no tags."),
        },
    ),
    "aws:iam/role:Role": Resource(
        {"AWS::IAM::Role": _named("RoleName")},
        {"assumeRolePolicy": To("AssumeRolePolicyDocument", json.loads), "description": SAME, "tags": _TAGS},
    ),
    "aws:iam/rolePolicy:RolePolicy": Resource(
        {"AWS::IAM::RolePolicy": _named("PolicyName")},
        {"policy": To("PolicyDocument", json.loads), "role": To("RoleName")},
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
}


def not_declared() -> dict[str, str]:
    """`type.property` → why CloudFormation's resource does not have it."""
    return {name: why for name, why in nowhere(RESOURCES).items() if why != DEFAULT_VERSION.reason}


def template(declared: Iterable[Declared]) -> dict[str, Any]:
    """A CloudFormation template of the resources, with ids in place of references. Raises UntranslatedError."""
    resources: dict[str, Any] = {}
    attached: dict[str, list[str]] = {}
    for one in declared:
        if one.type == "aws:iam/rolePolicyAttachment:RolePolicyAttachment":
            attached.setdefault(one.inputs["role"], []).append(one.inputs["policyArn"])
        elif one.type not in NOT_IN_CLOUDFORMATION:
            for translated in translate(one, RESOURCES):
                key = "".join(part for part in f"{translated.target} {one.name}".title() if part.isalnum())
                resources[key] = {"Type": translated.target, "Properties": translated.parameters}
    for resource in resources.values():
        properties = resource["Properties"]
        if resource["Type"] == "AWS::IAM::Role" and properties["RoleName"] in attached:
            properties["ManagedPolicyArns"] = sorted(attached[properties["RoleName"]])
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}
