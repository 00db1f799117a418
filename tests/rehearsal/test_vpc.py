"""VPC, subnet and security group: what the cloud fills in, what it refuses, what replaces."""

from __future__ import annotations

import pytest

from gpu_fabric.rehearsal.core.values import UNKNOWN

from .small_engine import Failed, Resource, SmallEngine

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
CLASSIC = "aws:ec2/securityGroupRule:SecurityGroupRule"


@pytest.fixture
def vpc(aws: SmallEngine) -> Resource:
    return aws.up(VPC, "net", cidrBlock="10.100.0.0/16")


def test_a_vpc_comes_with_a_security_group_a_route_table_and_a_network_acl(aws, vpc):
    assert vpc.id.startswith("vpc-0") and len(vpc.id) == 21
    assert vpc["arn"] == f"arn:aws:ec2:us-east-1:000000000000:vpc/{vpc.id}"
    assert aws.adopt(GROUP, vpc["defaultSecurityGroupId"])["name"] == "default"
    assert aws.held() == [
        "aws:ec2/networkAcl:NetworkAcl",
        "aws:ec2/routeTable:RouteTable",
        GROUP,
        VPC,
    ]


def test_a_deleted_vpc_leaves_nothing_behind(aws, vpc):
    aws.destroy("net")
    assert aws.held() == []


def test_a_preview_knows_what_the_program_gave_and_not_what_only_the_cloud_knows(aws):
    planned = aws.preview(VPC, "net", cidrBlock="10.0.0.0/16", tags={"Name": "net"})
    assert planned["tagsAll"] == {"Name": "net"}
    assert planned["enableDnsSupport"] is True
    assert planned["region"] == "us-east-1"
    assert planned["id" if "id" in planned else "arn"] is UNKNOWN
    assert planned["defaultSecurityGroupId"] is UNKNOWN
    assert "ipv4NetmaskLength" not in planned
    assert aws.held() == []


@pytest.mark.parametrize(
    ("cidr", "use"),
    [
        ("0.0.0.0/16", "0.0.0.0/8 is not for hosts (this network, RFC 1122)"),
        ("127.0.0.0/16", "127.0.0.0/8 is not for hosts (loopback, RFC 1122)"),
        ("169.254.0.0/16", "169.254.0.0/16 is not for hosts (link-local, RFC 3927)"),
        ("224.0.0.0/16", "224.0.0.0/4 is not for hosts (multicast, RFC 5771)"),
        ("239.255.255.240/28", "224.0.0.0/4 is not for hosts (multicast, RFC 5771)"),
        ("240.0.0.0/16", "240.0.0.0/4 is not for hosts (reserved, RFC 1112)"),
    ],
)
def test_a_range_that_no_host_can_have_is_refused(aws, cidr, use):
    with pytest.raises(Failed) as refused:
        aws.up(VPC, "net", cidrBlock=cidr)
    assert f"api error InvalidVpc.Range: The CIDR '{cidr}' is invalid. [rule: {use}; " in str(refused.value)
    assert aws.held() == []


@pytest.mark.parametrize(
    "cidr",
    ["172.17.0.0/16", "1.0.0.0/16", "126.255.0.0/16", "128.0.0.0/16", "169.253.0.0/16", "223.255.0.0/16"],
)
def test_a_public_range_and_the_one_that_docker_takes_are_allowed(aws, cidr):
    assert aws.up(VPC, "net", cidrBlock=cidr)["cidrBlock"] == cidr


def test_another_region_of_the_provider_replaces_what_lies_in_the_first(aws, vpc, tmp_path):
    subnet = aws.up(SUBNET, "sub", vpcId=vpc.id, cidrBlock="10.100.0.0/24", availabilityZone="us-east-1a")
    profile = aws.up("aws:iam/instanceProfile:InstanceProfile", "profile", {})
    elsewhere = SmallEngine("aws", tmp_path / "clouds.db", region="us-west-2")
    elsewhere.resources = aws.resources
    assert elsewhere.diff(VPC, "net", {"cidrBlock": "10.100.0.0/16"}).replaces == ["region"]
    planned = {"vpcId": vpc.id, "cidrBlock": "10.100.0.0/24"}
    assert elsewhere.diff(SUBNET, "sub", {**planned, "availabilityZone": "us-west-2a"}).replaces == [
        "availabilityZone",
        "region",
    ]
    assert subnet["region"] == "us-east-1"
    # An instance profile has no region.
    assert elsewhere.diff(profile.token, "profile", {}).changes == []
    # What names its region itself stays.
    assert elsewhere.diff(VPC, "net", {"cidrBlock": "10.100.0.0/16", "region": "us-east-1"}).replaces == []


def test_the_same_region_replaces_nothing(aws, vpc):
    assert aws.diff(VPC, "net", {"cidrBlock": "10.100.0.0/16"}).changes == []


@pytest.mark.parametrize("cidr", ["10.0.0.0/16", "10.0.0.0/28"])
def test_a_vpc_may_be_as_large_as_16_and_as_small_as_28(aws, cidr):
    assert aws.up(VPC, "net", cidrBlock=cidr)["cidrBlock"] == cidr


@pytest.mark.parametrize(
    ("cidr", "message"),
    [
        (
            "10.0.0.0/15",
            'expected "cidr_block" to contain a network Value with between 16 and 28 significant bits, got: 15',
        ),
        (
            "10.0.0.1/16",
            "expected cidr_block to contain a valid network Value, expected 10.0.0.0/16, got 10.0.0.1/16",
        ),
        ("10.0.0/16", 'expected "cidr_block" to be a valid IPv4 Value, got 10.0.0/16'),
    ],
)
def test_a_vpc_range_that_ec2_does_not_take_is_refused_in_the_preview(aws, cidr, message):
    with pytest.raises(Failed) as failed:
        aws.preview(VPC, "net", cidrBlock=cidr)
    assert failed.value.text == f"{message}. Examine values at 'net.cidrBlock'."


def test_an_unknown_property_is_an_error_that_names_the_nearest_one(aws):
    with pytest.raises(Failed) as failed:
        aws.preview(VPC, "net", cidrBlock="10.0.0.0/16", enableDnsHostname=True)
    assert failed.value.text == (
        'Unsupported argument. An argument named "enableDnsHostname" is not expected here; did you mean '
        "\"enableDnsHostnames\"?. Examine values at 'net.enableDnsHostname'."
    )


def test_a_property_of_another_type_is_an_error(aws):
    with pytest.raises(Failed) as failed:
        aws.preview(VPC, "net", cidrBlock=["10.0.0.0/16"], enableDnsSupport="maybe")
    assert failed.value.text.splitlines() == [
        "expected a string, got a list. Examine values at 'net.cidrBlock'.",
        "expected a boolean, got a string ('maybe'). Examine values at 'net.enableDnsSupport'.",
    ]


def test_an_unknown_type_is_an_error_and_no_echo(aws):
    with pytest.raises(Failed) as failed:
        aws.preview("aws:s3/bucket:Bucket", "data")
    assert failed.value.text.startswith(
        "the simulated aws cloud does not know the resource type aws:s3/bucket:Bucket: nothing was done."
    )


def test_a_new_range_replaces_the_vpc_and_a_new_tag_does_not(aws, vpc):
    assert aws.diff(VPC, "net", {"cidrBlock": "10.101.0.0/16"}).replaces == ["cidrBlock"]
    tagged = aws.diff(VPC, "net", {"cidrBlock": "10.100.0.0/16", "tags": {"Name": "a"}})
    assert (tagged.changes, tagged.replaces) == (["tags"], [])


def test_stating_a_default_changes_nothing(aws, vpc):
    assert aws.diff(VPC, "net", {"cidrBlock": "10.100.0.0/16", "instanceTenancy": "default"}).changes == []


def test_a_vpc_with_a_subnet_cannot_be_deleted(aws, vpc):
    aws.up(SUBNET, "private", vpcId=vpc.id, cidrBlock="10.100.1.0/24")
    with pytest.raises(Failed) as failed:
        aws.destroy("net")
    assert failed.value.text == (
        f"deleting EC2 VPC ({vpc.id}): operation error EC2: DeleteVpc, https response error StatusCode: 400, "
        f"RequestID: simulated, api error DependencyViolation: The vpc '{vpc.id}' has dependencies and cannot be "
        f"deleted."
    )
    aws.destroy("private")
    aws.destroy("net")
    assert aws.held() == []


def test_a_subnet_lies_in_the_zone_asked_for(aws, vpc):
    subnet = aws.up(SUBNET, "a", vpcId=vpc.id, cidrBlock="10.100.1.0/24", availabilityZone="us-east-1a")
    assert (subnet["availabilityZone"], subnet["availabilityZoneId"]) == ("us-east-1a", "use1-az6")


def test_a_zone_of_another_region_is_refused(aws, vpc):
    with pytest.raises(Failed) as failed:
        aws.up(SUBNET, "a", vpcId=vpc.id, cidrBlock="10.100.1.0/24", availabilityZone="us-west-2a")
    assert failed.value.text.endswith(
        "api error InvalidParameterValue: Value (us-west-2a) for parameter availabilityZone is invalid. Subnets can "
        "currently only be created in the following availability zones: us-east-1a, us-east-1b, us-east-1c, "
        "us-east-1d, us-east-1e, us-east-1f."
    )


def test_a_subnet_outside_the_vpc_is_refused_and_one_at_its_edge_is_not(aws, vpc):
    with pytest.raises(
        Failed, match=r"api error InvalidSubnet.Range: The CIDR '10.101.0.0/24' is invalid\.$"
    ):
        aws.up(SUBNET, "a", vpcId=vpc.id, cidrBlock="10.101.0.0/24")
    aws.up(SUBNET, "edge", vpcId=vpc.id, cidrBlock="10.100.255.0/24")


def test_a_subnet_over_another_is_refused_and_one_beside_it_is_not(aws, vpc):
    aws.up(SUBNET, "a", vpcId=vpc.id, cidrBlock="10.100.1.0/24")
    with pytest.raises(Failed) as failed:
        aws.up(SUBNET, "b", vpcId=vpc.id, cidrBlock="10.100.1.128/25")
    assert failed.value.text == (
        "creating EC2 Subnet: operation error EC2: CreateSubnet, https response error StatusCode: 400, RequestID: "
        "simulated, api error InvalidSubnet.Conflict: The CIDR '10.100.1.128/25' conflicts with another subnet"
    )
    aws.up(SUBNET, "c", vpcId=vpc.id, cidrBlock="10.100.2.0/25")


def test_a_subnet_of_a_vpc_that_is_not_there_is_refused(aws):
    with pytest.raises(
        Failed, match=r"api error InvalidVpcID\.NotFound: The vpc ID 'vpc-0abc' does not exist"
    ):
        aws.up(SUBNET, "a", vpcId="vpc-0abc", cidrBlock="10.100.1.0/24")


def test_a_security_group_gets_a_name_of_its_own_and_keeps_it(aws, vpc):
    group = aws.up(GROUP, "efa", vpcId=vpc.id)
    assert group["name"].startswith("efa-") and len(group["name"]) == len("efa-") + 7
    assert aws.diff(GROUP, "efa", {"vpcId": vpc.id}).changes == []


def test_two_security_groups_of_one_name_in_one_vpc_are_refused(aws, vpc):
    aws.up(GROUP, "one", vpcId=vpc.id, name="efa")
    with pytest.raises(Failed) as failed:
        aws.up(GROUP, "two", vpcId=vpc.id, name="efa")
    assert failed.value.text == (
        "creating Security Group (efa): operation error EC2: CreateSecurityGroup, https response error StatusCode: "
        "400, RequestID: simulated, api error InvalidGroup.Duplicate: The security group 'efa' already exists for "
        f"VPC '{vpc.id}'"
    )
    other = aws.up(VPC, "other", cidrBlock="10.200.0.0/16")
    aws.up(GROUP, "three", vpcId=other.id, name="efa")


def test_a_group_whose_given_name_stays_is_deleted_before_its_replacement(aws, vpc):
    aws.up(GROUP, "efa", vpcId=vpc.id, name="efa")
    assert aws.diff(GROUP, "efa", {"vpcId": vpc.id, "name": "efa", "description": "new"}).delete_first
    aws.up(GROUP, "auto", vpcId=vpc.id)
    assert not aws.diff(GROUP, "auto", {"vpcId": vpc.id, "description": "new"}).delete_first


def test_a_rule_that_exists_in_another_style_is_a_duplicate(aws, vpc):
    group = aws.up(GROUP, "efa", vpcId=vpc.id)
    aws.up(INGRESS, "self", securityGroupId=group.id, referencedSecurityGroupId=group.id, ipProtocol="-1")
    with pytest.raises(Failed) as failed:
        aws.up(
            CLASSIC,
            "again",
            {"type": "ingress", "self": True},
            securityGroupId=group.id,
            protocol="all",
            fromPort=0,
            toPort=0,
        )
    assert failed.value.text.endswith(
        f'api error InvalidPermission.Duplicate: the specified rule "peer: {group.id}, ALL, ALLOW" already exists'
    )
    aws.up(EGRESS, "out", securityGroupId=group.id, referencedSecurityGroupId=group.id, ipProtocol="-1")


def test_a_rule_needs_exactly_one_peer(aws, vpc):
    group = aws.up(GROUP, "efa", vpcId=vpc.id)
    with pytest.raises(Failed, match="exactly one of these attributes must be configured"):
        aws.preview(EGRESS, "out", securityGroupId=group.id, ipProtocol="-1")


def test_a_rule_changes_in_place_unless_the_kind_of_its_peer_changes(aws, vpc):
    group = aws.up(GROUP, "efa", vpcId=vpc.id)
    aws.up(EGRESS, "out", securityGroupId=group.id, cidrIpv4="0.0.0.0/0", ipProtocol="-1")
    same = {"securityGroupId": group.id, "ipProtocol": "-1"}
    assert aws.diff(EGRESS, "out", {**same, "cidrIpv4": "10.0.0.0/8"}).replaces == []
    other = aws.diff(EGRESS, "out", {**same, "referencedSecurityGroupId": group.id})
    assert other.replaces == ["cidrIpv4", "referencedSecurityGroupId"]


def test_a_group_that_another_group_names_cannot_be_deleted(aws, vpc):
    one, two = (aws.up(GROUP, name, vpcId=vpc.id) for name in ("one", "two"))
    aws.up(INGRESS, "rule", securityGroupId=two.id, referencedSecurityGroupId=one.id, ipProtocol="-1")
    with pytest.raises(Failed) as failed:
        aws.destroy("one")
    assert failed.value.text == (
        f"deleting Security Group ({one.id}): operation error EC2: DeleteSecurityGroup, https response error "
        f"StatusCode: 400, RequestID: simulated, api error DependencyViolation: resource {one.id} has a dependent "
        f"object"
    )


def test_the_order_of_inline_rules_means_nothing(aws, vpc):
    rule = {"protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": ["10.0.0.0/8"]}
    more = {**rule, "fromPort": 80, "toPort": 80}
    aws.up(GROUP, "g", vpcId=vpc.id, ingress=[rule, more])
    assert aws.diff(GROUP, "g", {"vpcId": vpc.id, "ingress": [more, rule]}).changes == []
    gone = aws.diff(GROUP, "g", {"vpcId": vpc.id, "ingress": [more]})
    assert gone.detailed == {"ingress[1]": "DELETE"}
