"""The provider's resources as EC2, Auto Scaling, IAM and EKS requests.

A target is `service:Operation`, with a word behind it where one resource sends the same operation twice. The
parameters are what the AWS provider sends when it creates the resource (hashicorp/terraform-provider-aws, which
pulumi-aws wraps).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.components.recorder import Declared, Invoked
from tests.fidelity.translation import (
    SAME,
    Nowhere,
    Resource,
    Table,
    Target,
    To,
    Translated,
    UntranslatedError,
    flag,
    key_values,
    nowhere,
    structure,
    structures,
    translate,
)

FLAG = To(convert=flag)


def _own(**parameters: str) -> Callable[[Declared], Mapping[str, Any]]:
    """Parameters that are attributes of the resource itself: `_own(VpcId="id")`."""
    return lambda declared: {path: getattr(declared, attribute) for path, attribute in parameters.items()}


def _tagged(resource_type: str) -> To:
    """Tags that are sent with the creation."""
    return To("TagSpecifications", lambda tags: [{"ResourceType": resource_type, "Tags": key_values(tags)}])


_NETWORK_INTERFACE: Table = {
    "associatePublicIpAddress": FLAG,
    "deleteOnTermination": FLAG,
    "description": SAME,
    "deviceIndex": SAME,
    "interfaceType": SAME,
    "networkCardIndex": SAME,
    "securityGroups": To("Groups"),
    "subnetId": SAME,
}

_BLOCK_DEVICE: Table = {
    "deviceName": SAME,
    "ebs": To(
        convert=structure(
            {
                "deleteOnTermination": FLAG,
                "encrypted": FLAG,
                "iops": SAME,
                "kmsKeyId": SAME,
                "throughput": SAME,
                "volumeSize": SAME,
                "volumeType": SAME,
            }
        )
    ),
}

_MARKET: Table = {
    "marketType": SAME,
    "spotOptions": To(
        convert=structure({"instanceInterruptionBehavior": SAME, "maxPrice": SAME, "spotInstanceType": SAME})
    ),
}

_METADATA: Table = {
    "httpEndpoint": SAME,
    "httpPutResponseHopLimit": SAME,
    "httpTokens": SAME,
    "instanceMetadataTags": SAME,
}

#: The part of a launch template that has the same names in the API and in CloudFormation.
LAUNCH_TEMPLATE_DATA: Table = {
    "blockDeviceMappings": To(convert=structures(_BLOCK_DEVICE)),
    "capacityReservationSpecification": To(
        convert=structure(
            {"capacityReservationTarget": To(convert=structure({"capacityReservationId": SAME}))}
        )
    ),
    "ebsOptimized": FLAG,
    "iamInstanceProfile": To(convert=structure({"name": SAME})),
    "imageId": SAME,
    "instanceMarketOptions": To(convert=structure(_MARKET)),
    "instanceType": SAME,
    "keyName": SAME,
    "metadataOptions": To(convert=structure(_METADATA)),
    "networkInterfaces": To(convert=structures(_NETWORK_INTERFACE)),
    "placement": To(convert=structure({"groupName": SAME})),
    "tagSpecifications": To(convert=structures({"resourceType": SAME, "tags": To("Tags", key_values)})),
    "userData": SAME,
}

#: The capacity reservations of an Auto Scaling group: the same names in the API and in CloudFormation.
GROUP_RESERVATION: Table = {
    "capacityReservationPreference": SAME,
    "capacityReservationTarget": To(convert=structure({"capacityReservationIds": SAME})),
}

DEFAULT_VERSION = Nowhere(
    "Used on a change only: the provider then makes the new version the default with ModifyLaunchTemplate."
)


def launch_template(properties_under: str, tags: To) -> Table:
    """The launch template's properties, those of LaunchTemplateData below the path given."""

    def below(name: str, to: To) -> To:
        path = to.path or name[0].upper() + name[1:]
        return To(f"{properties_under}.{path}", to.convert)

    data = {name: below(name, to) for name, to in LAUNCH_TEMPLATE_DATA.items() if isinstance(to, To)}
    return {**data, "tags": tags, "updateDefaultVersion": DEFAULT_VERSION}


_INSTANCE_REFRESH: Table = {
    "preferences": To(convert=structure({"minHealthyPercentage": SAME})),
    "strategy": SAME,
}


def _group_tags(declared: Declared) -> Callable[[Any], Any]:
    ours = {"ResourceId": declared.physical_name, "ResourceType": "auto-scaling-group"}
    one = structures({"key": SAME, "propagateAtLaunch": SAME, "value": SAME})
    return lambda tags: [{**ours, **tag} for tag in one(tags)]


def _auto_scaling_group(declared: Declared) -> Resource:
    refresh = "autoscaling:StartInstanceRefresh"
    return Resource(
        {
            "autoscaling:CreateAutoScalingGroup": Target(_own(AutoScalingGroupName="physical_name")),
            # Sent when the launch template changes, not at creation; its parameters are judged all the same.
            refresh: Target(_own(AutoScalingGroupName="physical_name"), always=False),
        },
        {
            "capacityReservationSpecification": To(convert=structure(GROUP_RESERVATION)),
            "desiredCapacity": SAME,
            "healthCheckType": SAME,
            "instanceRefresh": To(".", structure(_INSTANCE_REFRESH), refresh),
            "launchTemplate": To(convert=structure({"id": To("LaunchTemplateId"), "version": SAME})),
            "maxSize": SAME,
            "minSize": SAME,
            "tags": To(convert=_group_tags(declared)),
            "terminationPolicies": SAME,
            "vpcZoneIdentifiers": To("VPCZoneIdentifier", ",".join),
        },
    )


def _rule(direction: str) -> Callable[[Declared], Resource]:
    """One rule of a security group; its description stands beside the peer, which is a group or an address block."""

    def resource(declared: Declared) -> Resource:
        peer = "UserIdGroupPairs" if "referencedSecurityGroupId" in declared.inputs else "IpRanges"
        return Resource(
            {f"ec2:AuthorizeSecurityGroup{direction}": Target()},
            {
                "cidrIpv4": To("IpPermissions[0].IpRanges[0].CidrIp"),
                "description": To(f"IpPermissions[0].{peer}[0].Description"),
                "fromPort": To("IpPermissions[0].FromPort"),
                "ipProtocol": To("IpPermissions[0].IpProtocol"),
                "referencedSecurityGroupId": To("IpPermissions[0].UserIdGroupPairs[0].GroupId"),
                "securityGroupId": To("GroupId"),
                "toPort": To("IpPermissions[0].ToPort"),
            },
        )

    return resource


def _follow_up(**fixed: str) -> Target:
    """A call after the creation, sent where a property goes into it."""
    return Target(_own(**fixed), always=False)


_EVERYTHING = [{"IpProtocol": "-1", "FromPort": 0, "ToPort": 0, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]

RESOURCES: Mapping[str, Resource | Callable[[Declared], Resource]] = {
    "aws:autoscaling/group:Group": _auto_scaling_group,
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Resource(
        # The provider adopts the group, tags it and takes its two rules away (internal/service/ec2,
        # vpc_default_security_group.go); what it finds there is what EC2 gives such a group.
        {
            "ec2:CreateTags": Target(lambda declared: {"Resources": [declared.id]}, always=False),
            "ec2:RevokeSecurityGroupIngress": Target(
                lambda declared: {
                    "GroupId": declared.id,
                    "IpPermissions": [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": declared.id}]}],
                }
            ),
            "ec2:RevokeSecurityGroupEgress": Target(
                lambda declared: {"GroupId": declared.id, "IpPermissions": _EVERYTHING}
            ),
        },
        {
            "tags": To("Tags", key_values, "ec2:CreateTags"),
            "vpcId": Nowhere("The provider looks the group up by it (DescribeSecurityGroups)."),
        },
    ),
    "aws:ec2/eip:Eip": Resource(
        {"ec2:AllocateAddress": Target()}, {"domain": SAME, "tags": _tagged("elastic-ip")}
    ),
    "aws:ec2/instance:Instance": Resource(
        {"ec2:RunInstances": Target(lambda _: {"MinCount": 1, "MaxCount": 1})},
        {
            "launchTemplate": To(convert=structure({"id": To("LaunchTemplateId"), "version": SAME})),
            "tags": _tagged("instance"),
        },
    ),
    "aws:ec2/internetGateway:InternetGateway": Resource(
        {
            "ec2:CreateInternetGateway": Target(),
            "ec2:AttachInternetGateway": _follow_up(InternetGatewayId="id"),
        },
        {"tags": _tagged("internet-gateway"), "vpcId": To(target="ec2:AttachInternetGateway")},
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Resource(
        {"ec2:CreateLaunchTemplate": Target(_own(LaunchTemplateName="physical_name"))},
        launch_template("LaunchTemplateData", _tagged("launch-template")),
    ),
    "aws:ec2/natGateway:NatGateway": Resource(
        {"ec2:CreateNatGateway": Target()},
        {"allocationId": SAME, "subnetId": SAME, "tags": _tagged("natgateway")},
    ),
    "aws:ec2/placementGroup:PlacementGroup": Resource(
        {"ec2:CreatePlacementGroup": Target(_own(GroupName="physical_name"))},
        {"strategy": SAME, "tags": _tagged("placement-group")},
    ),
    "aws:ec2/route:Route": Resource(
        {"ec2:CreateRoute": Target()},
        {"destinationCidrBlock": SAME, "gatewayId": SAME, "natGatewayId": SAME, "routeTableId": SAME},
    ),
    "aws:ec2/routeTable:RouteTable": Resource(
        {"ec2:CreateRouteTable": Target()}, {"tags": _tagged("route-table"), "vpcId": SAME}
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Resource(
        {"ec2:AssociateRouteTable": Target()}, {"routeTableId": SAME, "subnetId": SAME}
    ),
    "aws:ec2/securityGroup:SecurityGroup": Resource(
        {
            "ec2:CreateSecurityGroup": Target(_own(GroupName="physical_name")),
            # EC2 gives a new group a rule that lets everything out; the provider takes it away (internal/service/ec2,
            # vpc_security_group.go), and asks the same for IPv6, where EC2 answers that there is no such rule.
            "ec2:RevokeSecurityGroupEgress": Target(
                lambda declared: {"GroupId": declared.id, "IpPermissions": _EVERYTHING}
            ),
        },
        {"description": SAME, "tags": _tagged("security-group"), "vpcId": SAME},
    ),
    "aws:ec2/subnet:Subnet": Resource(
        {
            "ec2:CreateSubnet": Target(),
            "ec2:ModifySubnetAttribute": _follow_up(SubnetId="id"),
        },
        {
            "availabilityZone": SAME,
            "cidrBlock": SAME,
            "mapPublicIpOnLaunch": To("MapPublicIpOnLaunch.Value", target="ec2:ModifySubnetAttribute"),
            "tags": _tagged("subnet"),
            "vpcId": SAME,
        },
    ),
    "aws:ec2/vpc:Vpc": Resource(
        {
            "ec2:CreateVpc": Target(),
            "ec2:ModifyVpcAttribute hostnames": _follow_up(VpcId="id"),
            "ec2:ModifyVpcAttribute support": _follow_up(VpcId="id"),
        },
        {
            "cidrBlock": SAME,
            "enableDnsHostnames": To("EnableDnsHostnames.Value", target="ec2:ModifyVpcAttribute hostnames"),
            "enableDnsSupport": To("EnableDnsSupport.Value", target="ec2:ModifyVpcAttribute support"),
            "tags": _tagged("vpc"),
        },
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Resource(
        {"ec2:CreateVpcEndpoint": Target()},
        {
            "privateDnsEnabled": SAME,
            "routeTableIds": SAME,
            "securityGroupIds": SAME,
            "serviceName": SAME,
            "subnetIds": SAME,
            "tags": _tagged("vpc-endpoint"),
            "vpcEndpointType": SAME,
            "vpcId": SAME,
        },
    ),
    "aws:eks/cluster:Cluster": Resource(
        {"eks:CreateCluster": Target(_own(name="physical_name"))},
        {
            "roleArn": To("roleArn"),
            "version": To("version"),
            "vpcConfig": To("resourcesVpcConfig"),
        },
    ),
    "aws:eks/nodeGroup:NodeGroup": Resource(
        {"eks:CreateNodegroup": Target(_own(nodegroupName="physical_name"))},
        {
            "amiType": To("amiType"),
            "capacityType": To("capacityType"),
            "clusterName": To("clusterName"),
            "launchTemplate": To("launchTemplate"),
            "nodeRoleArn": To("nodeRole"),
            "scalingConfig": To("scalingConfig"),
            "subnetIds": To("subnets"),
        },
    ),
    "aws:iam/instanceProfile:InstanceProfile": Resource(
        {
            "iam:CreateInstanceProfile": Target(_own(InstanceProfileName="physical_name")),
            "iam:AddRoleToInstanceProfile": Target(_own(InstanceProfileName="physical_name"), always=False),
        },
        {"role": To("RoleName", target="iam:AddRoleToInstanceProfile"), "tags": To("Tags", key_values)},
    ),
    "aws:iam/role:Role": Resource(
        {"iam:CreateRole": Target(_own(RoleName="physical_name"))},
        {
            "assumeRolePolicy": To("AssumeRolePolicyDocument"),
            "description": SAME,
            "tags": To("Tags", key_values),
        },
    ),
    "aws:iam/rolePolicy:RolePolicy": Resource(
        {"iam:PutRolePolicy": Target(_own(PolicyName="physical_name"))},
        {"policy": To("PolicyDocument"), "role": To("RoleName")},
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Resource(
        {"iam:AttachRolePolicy": Target()}, {"policyArn": SAME, "role": To("RoleName")}
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
}


@dataclass(frozen=True)
class Request:
    """One call of an AWS API."""

    service: str
    operation: str
    parameters: dict[str, Any]
    source: Declared | Invoked


def requests_of(declared: Declared) -> list[Request]:
    """What the provider sends to create the resource. Raises UntranslatedError."""

    def request(translated: Translated) -> Request:
        service, _, operation = translated.target.split()[0].partition(":")
        return Request(service, operation, translated.parameters, declared)

    return [request(translated) for translated in translate(declared, RESOURCES)]


def request_of_look_up(invoked: Invoked) -> Request:
    """What the provider sends for a look-up. Raises UntranslatedError."""
    if invoked.token != "aws:ec2/getSubnet:getSubnet" or set(invoked.arguments) != {"id"}:
        raise UntranslatedError(f"{invoked.token} {sorted(invoked.arguments)}")
    return Request("ec2", "DescribeSubnets", {"SubnetIds": [invoked.arguments["id"]]}, invoked)


def not_sent() -> dict[str, str]:
    """`type.property` → why a creation does not send it."""
    return nowhere(RESOURCES)
