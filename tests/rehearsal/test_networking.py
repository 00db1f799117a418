"""Gateways, addresses, routes, endpoints, ACLs and loose network interfaces: what each refuses."""

from __future__ import annotations

from typing import Any

import pytest

from .fabric import GROUP, IMAGE, INSTANCE, INTERFACE, SUBNET, VPC, Fabric
from .small_engine import Failed, Resource

IGW = "aws:ec2/internetGateway:InternetGateway"
EIP = "aws:ec2/eip:Eip"
EIP_ASSOCIATION = "aws:ec2/eipAssociation:EipAssociation"
NAT = "aws:ec2/natGateway:NatGateway"
TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
MAIN = "aws:ec2/mainRouteTableAssociation:MainRouteTableAssociation"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
ACL = "aws:ec2/networkAcl:NetworkAcl"
ACL_RULE = "aws:ec2/networkAclRule:NetworkAclRule"
ATTACHMENT = "aws:ec2/networkInterfaceAttachment:NetworkInterfaceAttachment"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"


def said(failed: Any) -> str:
    """Code and sentence of the API's refusal."""
    return failed.value.text.rpartition("api error ")[2]


# Gateways and addresses


def test_a_vpc_takes_one_internet_gateway(net):
    net.cloud.up(IGW, "one", vpcId=net.vpc.id)
    with pytest.raises(Failed) as failed:
        net.cloud.up(IGW, "two", vpcId=net.vpc.id)
    assert (
        said(failed)
        == f"InvalidParameterValue: Network {net.vpc.id} already has an internet gateway attached"
    )


@pytest.fixture
def nat(net: Fabric) -> Fabric:
    """The fabric with a way out."""
    net.cloud.up(IGW, "igw", vpcId=net.vpc.id)
    address = net.cloud.up(EIP, "address", domain="vpc")
    net.cloud.up(NAT, "nat", allocationId=address.id, subnetId=net.subnet.id)
    return net


def test_a_nat_gateway_takes_an_address_of_its_subnet_and_the_public_one(nat):
    gateway, address = nat.cloud.resources["nat"], nat.cloud.resources["address"]
    assert gateway["privateIp"] == "10.100.1.4"
    assert gateway["publicIp"] == address["publicIp"] == "203.0.113.1"
    looked_up = nat.cloud.invoke("aws:ec2/getSubnet:getSubnet", id=nat.subnet.id)
    assert looked_up["availableIpAddressCount"] == 250


def test_the_internet_gateway_stays_while_an_address_is_mapped(nat):
    with pytest.raises(Failed) as failed:
        nat.cloud.destroy("igw")
    assert said(failed) == (
        f"DependencyViolation: Network {nat.vpc.id} has some mapped public address(es). Please unmap those public "
        f"address(es) before detaching the gateway."
    )
    assert "EC2: DetachInternetGateway" in failed.value.text
    nat.cloud.destroy("nat")
    nat.cloud.destroy("igw")


def test_an_address_in_use_is_not_released(nat):
    with pytest.raises(Failed, match=r"InvalidIPAddress\.InUse: The address 203\.0\.113\.1 is in use"):
        nat.cloud.destroy("address")


def test_a_nat_gateway_without_an_internet_gateway_fails_after_it_was_made(net):
    address = net.cloud.up(EIP, "address", domain="vpc")
    with pytest.raises(Failed) as failed:
        net.cloud.up(NAT, "nat", allocationId=address.id, subnetId=net.subnet.id)
    assert failed.value.text.endswith(
        f"unexpected state 'failed', wanted target 'available'. last error: Gateway.NotAttached: Network {net.vpc.id} "
        f"has no Internet gateway attached"
    )
    assert failed.value.partial


def test_a_public_nat_gateway_needs_an_allocation_and_a_private_one_takes_none(net):
    with pytest.raises(Failed, match="MissingParameter: The request must include the AllocationId parameter"):
        net.cloud.up(NAT, "nat", subnetId=net.subnet.id)
    net.cloud.up(NAT, "inside", subnetId=net.subnet.id, connectivityType="private")
    with pytest.raises(Failed, match='allocation_id is not supported with connectivity_type = "private"'):
        net.cloud.preview(
            NAT, "nat", subnetId=net.subnet.id, connectivityType="private", allocationId="eipalloc-0"
        )


def test_an_elastic_ip_goes_to_the_primary_interface_of_an_instance(net):
    net.cloud.up(IGW, "igw", vpcId=net.vpc.id)
    instance = net.cloud.up(INSTANCE, "one", ami=IMAGE, instanceType="m5.large", subnetId=net.subnet.id)
    address = net.cloud.up(EIP, "address", domain="vpc")
    made = net.cloud.up(EIP_ASSOCIATION, "has", allocationId=address.id, instanceId=instance.id)
    assert made["networkInterfaceId"] == instance["primaryNetworkInterfaceId"]
    assert made["privateIpAddress"] == instance["privateIp"]


# Routes


@pytest.fixture
def table(net: Fabric) -> Resource:
    return net.cloud.up(TABLE, "table", vpcId=net.vpc.id)


def test_a_route_to_a_gateway_of_another_vpc_is_refused(net, table):
    other = net.cloud.up(VPC, "other", cidrBlock="10.9.0.0/16")
    gateway = net.cloud.up(IGW, "igw", vpcId=other.id)
    with pytest.raises(Failed) as failed:
        net.cloud.up(
            ROUTE, "out", routeTableId=table.id, destinationCidrBlock="0.0.0.0/0", gatewayId=gateway.id
        )
    assert said(failed) == (
        f"InvalidParameterValue: route table {table.id} and network gateway {gateway.id} belong to different networks"
    )


def test_a_destination_is_routed_once(net, table):
    gateway = net.cloud.up(IGW, "igw", vpcId=net.vpc.id)
    inputs = {"routeTableId": table.id, "destinationCidrBlock": "0.0.0.0/0", "gatewayId": gateway.id}
    net.cloud.up(ROUTE, "out", inputs)
    with pytest.raises(Failed) as failed:
        net.cloud.up(ROUTE, "again", inputs)
    assert said(failed) == "RouteAlreadyExists: The route identified by 0.0.0.0/0 already exists."
    net.cloud.up(ROUTE, "half", {**inputs, "destinationCidrBlock": "0.0.0.0/1"})


def test_a_route_needs_one_destination_and_one_target(net, table):
    with pytest.raises(Failed) as failed:
        net.cloud.preview(ROUTE, "out", routeTableId=table.id)
    assert len(failed.value.text.splitlines()) == 2


def test_another_target_changes_the_route_in_place_and_another_destination_replaces_it(net, table):
    gateway = net.cloud.up(IGW, "igw", vpcId=net.vpc.id)
    inputs = {"routeTableId": table.id, "destinationCidrBlock": "0.0.0.0/0", "gatewayId": gateway.id}
    net.cloud.up(ROUTE, "out", inputs)
    to_nat = {"routeTableId": table.id, "destinationCidrBlock": "0.0.0.0/0", "natGatewayId": "nat-0"}
    assert net.cloud.diff(ROUTE, "out", to_nat).replaces == []
    elsewhere = {**inputs, "destinationCidrBlock": "10.0.0.0/8"}
    assert net.cloud.diff(ROUTE, "out", elsewhere).replaces == ["destinationCidrBlock"]


def test_a_subnet_has_one_route_table(net, table):
    net.cloud.up(ASSOCIATION, "uses", routeTableId=table.id, subnetId=net.subnet.id)
    with pytest.raises(Failed) as failed:
        net.cloud.up(ASSOCIATION, "again", routeTableId=table.id, subnetId=net.subnet.id)
    assert said(failed).startswith("Resource.AlreadyAssociated: the specified association for route table")


def test_a_main_route_table_goes_back_when_the_association_ends(net, table):
    made = net.cloud.up(MAIN, "main", vpcId=net.vpc.id, routeTableId=table.id)
    assert made["originalRouteTableId"] == net.vpc["mainRouteTableId"]
    with pytest.raises(Failed, match=r"The routeTable .* has dependencies and cannot be deleted"):
        net.cloud.destroy("table")
    net.cloud.destroy("main")
    net.cloud.destroy("table")


# Endpoints


def endpoint(net: Fabric, name: str, service: str, **more: Any) -> Resource:
    return net.cloud.up(
        ENDPOINT, name, {"vpcId": net.vpc.id, "serviceName": f"com.amazonaws.us-east-1.{service}", **more}
    )


def test_an_interface_endpoint_takes_an_address_in_each_subnet(net):
    made = endpoint(net, "ssm", "ssm", vpcEndpointType="Interface", subnetIds=[net.subnet.id])
    assert len(made["networkInterfaceIds"]) == 1
    assert net.interfaces()[0]["privateIp"] == "10.100.1.4"
    net.cloud.destroy("ssm")
    assert net.interfaces() == []


def test_two_subnets_of_an_endpoint_in_one_zone_are_refused(net):
    other = net.cloud.up(
        SUBNET, "b", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1a"
    )
    with pytest.raises(Failed, match="DuplicateSubnetsInSameZone: Found another VPC endpoint subnet"):
        endpoint(net, "ssm", "ssm", vpcEndpointType="Interface", subnetIds=[net.subnet.id, other.id])


def test_a_service_without_a_gateway_has_none(net):
    with pytest.raises(Failed) as failed:
        endpoint(net, "ssm", "ssm")
    assert said(failed) == (
        "InvalidParameter: Vpc Endpoint type (Gateway) does not match available service types ([Interface])."
    )
    endpoint(net, "s3", "s3")


def test_a_service_of_another_region_does_not_exist(net):
    with pytest.raises(Failed) as failed:
        net.cloud.up(ENDPOINT, "s3", vpcId=net.vpc.id, serviceName="com.amazonaws.us-west-2.s3")
    assert (
        said(failed)
        == "InvalidServiceName: The Vpc Endpoint Service 'com.amazonaws.us-west-2.s3' does not exist"
    )


def test_private_dns_needs_dns_in_the_vpc_and_one_endpoint_a_service(net):
    plain = net.cloud.up(VPC, "plain", cidrBlock="10.9.0.0/16")
    with pytest.raises(
        Failed, match="Enabling private DNS requires both enableDnsSupport and enableDnsHostnames"
    ):
        net.cloud.up(
            ENDPOINT,
            "ssm",
            vpcId=plain.id,
            serviceName="com.amazonaws.us-east-1.ssm",
            vpcEndpointType="Interface",
            privateDnsEnabled=True,
        )
    endpoint(net, "one", "ssm", vpcEndpointType="Interface", privateDnsEnabled=True)
    with pytest.raises(Failed, match="there is already a conflicting DNS domain for ssm"):
        endpoint(net, "two", "ssm", vpcEndpointType="Interface", privateDnsEnabled=True)


def test_a_route_table_has_one_gateway_endpoint_a_service(net):
    table = net.cloud.up(TABLE, "table", vpcId=net.vpc.id)
    endpoint(net, "one", "s3", routeTableIds=[table.id])
    with pytest.raises(Failed, match=r"route table .* already has a route with destination-prefix-list-id"):
        endpoint(net, "two", "s3", routeTableIds=[table.id])


# ACLs and the default group


def test_a_rule_number_is_there_once_a_direction(net):
    acl = net.cloud.up(ACL, "acl", vpcId=net.vpc.id)
    rule = {"networkAclId": acl.id, "ruleNumber": 100, "protocol": "-1", "ruleAction": "allow"}
    net.cloud.up(ACL_RULE, "in", {**rule, "cidrBlock": "0.0.0.0/0"})
    with pytest.raises(Failed) as failed:
        net.cloud.up(ACL_RULE, "again", {**rule, "cidrBlock": "10.0.0.0/8"})
    assert (
        said(failed)
        == "NetworkAclEntryAlreadyExists: The network acl entry identified by 100 already exists."
    )
    net.cloud.up(ACL_RULE, "out", {**rule, "cidrBlock": "0.0.0.0/0", "egress": True})


@pytest.mark.parametrize(("number", "fits"), [(1, True), (32_766, True), (0, False), (32_767, False)])
def test_rule_numbers_end_at_32766(net, number, fits):
    acl = net.cloud.up(ACL, "acl", vpcId=net.vpc.id)
    rule = {"networkAclId": acl.id, "ruleNumber": number, "protocol": "-1", "ruleAction": "allow"}
    if fits:
        net.cloud.up(ACL_RULE, "in", {**rule, "cidrBlock": "0.0.0.0/0"})
    else:
        with pytest.raises(Failed, match="for parameter ruleNumber is invalid"):
            net.cloud.up(ACL_RULE, "in", {**rule, "cidrBlock": "0.0.0.0/0"})


def test_the_adopted_default_group_has_no_rules_and_stays_when_it_is_let_go(net):
    made = net.cloud.up(DEFAULT_GROUP, "closed", vpcId=net.vpc.id)
    assert made.id == net.vpc["defaultSecurityGroupId"]
    assert (made["ingress"], made["egress"]) == ([], [])
    net.cloud.destroy("closed")
    assert net.cloud.adopt(GROUP, made.id) is not None


# Loose network interfaces


def test_an_interface_takes_addresses_and_an_efa_only_one_none(net):
    three = net.cloud.up(INTERFACE, "three", subnetId=net.subnet.id, privateIpsCount=2)
    assert three["privateIps"] == ["10.100.1.4", "10.100.1.5", "10.100.1.6"]
    none = net.cloud.up(INTERFACE, "none", subnetId=net.subnet.id, interfaceType="efa-only")
    assert none["privateIps"] == []
    assert three["securityGroups"] == [net.vpc["defaultSecurityGroupId"]]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("10.100.1.3", "Address is in subnet's reserved address range: 10.100.1.3"),
        ("10.100.1.255", "Address is in subnet's reserved address range: 10.100.1.255"),
        ("10.100.2.4", "Address does not fall within the subnet's address range: 10.100.2.4"),
    ],
)
def test_an_address_that_the_subnet_cannot_give_is_refused(net, address, message):
    with pytest.raises(Failed) as failed:
        net.cloud.up(INTERFACE, "one", subnetId=net.subnet.id, privateIps=[address])
    assert said(failed) == f"InvalidParameterValue: {message}"
    net.cloud.up(INTERFACE, "first", subnetId=net.subnet.id, privateIps=["10.100.1.4"])
    net.cloud.up(INTERFACE, "last", subnetId=net.subnet.id, privateIps=["10.100.1.254"])


def test_an_address_is_given_once(net):
    net.cloud.up(INTERFACE, "one", subnetId=net.subnet.id, privateIps=["10.100.1.9"])
    with pytest.raises(
        Failed, match=r"InvalidIPAddress\.InUse: The specified address is already in use: 10\.100\.1\.9"
    ):
        net.cloud.up(INTERFACE, "two", subnetId=net.subnet.id, privateIps=["10.100.1.9"])


def test_a_group_of_another_vpc_is_refused(net):
    other = net.cloud.up(VPC, "other", cidrBlock="10.9.0.0/16")
    group = net.cloud.up(GROUP, "theirs", vpcId=other.id)
    with pytest.raises(Failed) as failed:
        net.cloud.up(INTERFACE, "one", subnetId=net.subnet.id, securityGroups=[group.id])
    assert said(failed) == (
        f"InvalidParameter: Security group {group.id} and subnet {net.subnet.id} belong to different networks."
    )


def test_the_hand_written_shape_starts_with_interfaces_that_were_made_before(net):
    interfaces = [
        net.cloud.up(INTERFACE, f"efa-{card}", subnetId=net.subnet.id, interfaceType="efa")
        for card in range(4)
    ]
    listed = [
        {"networkInterfaceId": each.id, "deviceIndex": 1 if card else 0, "networkCardIndex": card}
        for card, each in enumerate(interfaces)
    ]
    node = net.cloud.up(INSTANCE, "node", ami=IMAGE, instanceType="p4d.24xlarge", networkInterfaces=listed)
    assert node["privateIp"] == interfaces[0]["privateIp"]
    assert len(net.interfaces()) == 4
    with pytest.raises(Failed, match=r"Network interface .* is currently in use"):
        net.cloud.destroy("efa-0")
    net.cloud.destroy("node")
    assert len(net.interfaces()) == 4, "they outlive the instance unless told otherwise"


def test_two_efa_made_before_and_put_on_one_card_are_refused(net):
    interfaces = [
        net.cloud.up(INTERFACE, f"efa-{number}", subnetId=net.subnet.id, interfaceType="efa")
        for number in range(2)
    ]
    listed = [{"networkInterfaceId": each.id, "deviceIndex": index} for index, each in enumerate(interfaces)]
    with pytest.raises(Failed) as failed:
        net.cloud.up(INSTANCE, "node", ami=IMAGE, instanceType="p4d.24xlarge", networkInterfaces=listed)
    assert said(failed) == (
        "AttachmentLimitExceeded: EFA interface count 2 exceeds the limit of 1 for network card index 0 of p4d.24xlarge"
    )


@pytest.fixture
def login(net: Fabric) -> Resource:
    return net.cloud.up(INSTANCE, "login", ami=IMAGE, instanceType="m5.large", subnetId=net.subnet.id)


def test_an_efa_cannot_be_attached_to_a_running_instance(net, login):
    efa = net.cloud.up(INTERFACE, "fast", subnetId=net.subnet.id, interfaceType="efa")
    with pytest.raises(Failed, match="An EFA network interface cannot be attached to the running instance"):
        net.cloud.up(ATTACHMENT, "has", networkInterfaceId=efa.id, instanceId=login.id, deviceIndex=1)


def test_attaching_ends_where_the_type_ends(net, login):
    for index in (1, 2):
        extra = net.cloud.up(INTERFACE, f"extra-{index}", subnetId=net.subnet.id)
        net.cloud.up(
            ATTACHMENT, f"has-{index}", networkInterfaceId=extra.id, instanceId=login.id, deviceIndex=index
        )
    fourth = net.cloud.up(INTERFACE, "fourth", subnetId=net.subnet.id)
    with pytest.raises(Failed) as failed:
        net.cloud.up(ATTACHMENT, "has-3", networkInterfaceId=fourth.id, instanceId=login.id, deviceIndex=3)
    assert said(failed) == "AttachmentLimitExceeded: Interface count 4 exceeds the limit for m5.large"


def test_a_device_index_is_taken_once(net, login):
    extra = net.cloud.up(INTERFACE, "extra", subnetId=net.subnet.id)
    with pytest.raises(Failed, match="already has an interface attached at device index '0'"):
        net.cloud.up(ATTACHMENT, "has", networkInterfaceId=extra.id, instanceId=login.id, deviceIndex=0)


def test_an_interface_of_another_zone_cannot_be_attached(net, login):
    other = net.cloud.up(
        SUBNET, "b", vpcId=net.vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1b"
    )
    extra = net.cloud.up(INTERFACE, "extra", subnetId=other.id)
    with pytest.raises(Failed, match="if they are not in the same availability zone"):
        net.cloud.up(ATTACHMENT, "has", networkInterfaceId=extra.id, instanceId=login.id, deviceIndex=1)


def test_a_subnet_with_an_interface_in_it_cannot_be_deleted(net):
    net.cloud.up(INTERFACE, "one", subnetId=net.subnet.id)
    with pytest.raises(Failed) as failed:
        net.cloud.destroy("private")
    assert said(failed) == (
        f"DependencyViolation: The subnet '{net.subnet.id}' has dependencies and cannot be deleted."
    )


def test_a_security_group_in_use_cannot_be_deleted(net):
    net.cloud.up(INTERFACE, "one", subnetId=net.subnet.id, securityGroups=[net.group.id])
    with pytest.raises(Failed, match=f"DependencyViolation: resource {net.group.id} has a dependent object"):
        net.cloud.destroy("efa")
