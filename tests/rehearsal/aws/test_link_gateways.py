"""Virtual private gateways and transit gateways: attachments, propagation, route tables, the order of deletion."""

from __future__ import annotations

import pytest

from ..small_engine import Failed
from . import link as l
from .link import marked, refused

ROUTE = "aws:ec2/route:Route"


@pytest.fixture
def vpc(aws):
    return aws.up(l.VPC, "net", cidrBlock="10.100.0.0/16")


@pytest.fixture
def subnet(aws, vpc):
    return aws.up(l.SUBNET, "gpu", vpcId=vpc.id, cidrBlock="10.100.1.0/24", availabilityZone="us-east-1a")


def test_a_vpc_has_one_virtual_private_gateway_and_waits_for_it(aws, vpc):
    gateway = aws.up(l.VGW, "vgw", vpcId=vpc.id)
    assert gateway["amazonSideAsn"] == "64512"
    assert "api error VpnGatewayAttachmentLimitExceeded: " in refused(aws, l.VGW, "two", vpcId=vpc.id)
    with pytest.raises(Failed, match="DependencyViolation"):
        aws.destroy("net")
    aws.destroy("vgw")
    aws.destroy("net")
    assert aws.held() == []


def test_an_attachment_of_its_own_attaches_and_detaches(aws, vpc):
    gateway = aws.up(l.VGW, "vgw")
    aws.up(l.VGW_ATTACHMENT, "at", vpcId=vpc.id, vpnGatewayId=gateway.id)
    assert aws.invoke("aws:ec2/getVpnGateway:getVpnGateway", attachedVpcId=vpc.id)["id"] == gateway.id
    assert aws.refresh("vgw")["vpcId"] == vpc.id
    assert aws.diff(l.VGW, "vgw", {}).changes == []
    aws.destroy("at")
    with pytest.raises(Failed, match="no matching EC2 VPN Gateway found"):
        aws.invoke("aws:ec2/getVpnGateway:getVpnGateway", attachedVpcId=vpc.id)


def test_routes_propagate_from_the_gateway_of_the_same_vpc(aws, vpc):
    gateway = aws.up(l.VGW, "vgw", vpcId=vpc.id)
    table = aws.up(l.TABLE, "rt", vpcId=vpc.id)
    made = aws.up(l.PROPAGATION, "p", routeTableId=table.id, vpnGatewayId=gateway.id)
    assert made.id == f"{gateway.id}_{table.id}"
    assert aws.refresh("rt")["propagatingVgws"] == [gateway.id]
    assert aws.diff(l.TABLE, "rt", {"vpcId": vpc.id}).changes == []
    side = aws.up(l.VPC, "side", cidrBlock="10.9.0.0/16")
    other = aws.up(l.TABLE, "other", vpcId=side.id)
    assert refused(aws, l.PROPAGATION, "bad", routeTableId=other.id, vpnGatewayId=gateway.id).endswith(
        f"api error Gateway.NotAttached: route table {other.id} and network gateway {gateway.id} belong to different "
        f"networks"
    )
    aws.destroy("p")
    assert aws.refresh("rt")["propagatingVgws"] == []


def test_a_route_through_a_gateway_that_is_not_there_is_refused(aws, vpc):
    table = aws.up(l.TABLE, "rt", vpcId=vpc.id)
    to = {"routeTableId": table.id, "destinationCidrBlock": "10.200.0.0/16"}
    assert "InvalidGatewayID.NotFound: The gateway ID 'vgw-0abc' does not exist" in refused(
        aws, ROUTE, "bad", {**to, "gatewayId": "vgw-0abc"}
    )
    gateway = aws.up(l.VGW, "vgw", vpcId=vpc.id)
    aws.up(ROUTE, "good", {**to, "gatewayId": gateway.id})


def test_a_route_to_a_transit_gateway_waits_for_the_attachment(aws, vpc, subnet):
    table, transit = aws.up(l.TABLE, "rt", vpcId=vpc.id), aws.up(l.TGW, "tgw")
    to = {
        "routeTableId": table.id,
        "destinationCidrBlock": "10.200.0.0/16",
        "transitGatewayId": transit.id,
    }
    assert refused(aws, ROUTE, "r", to).endswith(
        "api error InvalidTransitGatewayID.NotFound: "
        + marked(
            f"The transitGateway ID '{transit.id}' is not attached to {vpc.id}.",
            "VPC User Guide, route-table-options.html",
        )
    )
    aws.up(l.TGW_ATTACHMENT, "at", transitGatewayId=transit.id, vpcId=vpc.id, subnetIds=[subnet.id])
    aws.up(ROUTE, "r", to)


def test_a_transit_gateway_changes_its_asn_only_without_a_direct_connect_gateway(aws):
    transit, gateway = (
        aws.up(l.TGW, "tgw", amazonSideAsn=64513),
        aws.up(l.GATEWAY, "dx", amazonSideAsn="64512"),
    )
    aws.up(l.TGW, "tgw", amazonSideAsn=64514)
    joined = aws.up(l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=transit.id)
    sentence = marked(
        f"The ASN of {transit.id} cannot change while it has attachments of Direct Connect gateways: "
        f"{joined['transitGatewayAttachmentId']}.",
        "EC2 API Reference, ModifyTransitGatewayOptions.AmazonSideAsn",
    )
    assert sentence in refused(aws, l.TGW, "tgw", amazonSideAsn=64515)
    aws.up(l.TGW, "tgw", amazonSideAsn=64514, description="another")
    aws.destroy("a")
    assert aws.up(l.TGW, "tgw", amazonSideAsn=64515)["amazonSideAsn"] == 64515


def test_an_attachment_takes_an_address_of_each_subnet_and_gives_it_back(aws, vpc, subnet):
    transit = aws.up(l.TGW, "tgw")
    inputs = {"transitGatewayId": transit.id, "vpcId": vpc.id, "subnetIds": [subnet.id]}
    aws.up(l.TGW_ATTACHMENT, "at", inputs)
    assert "DuplicateTransitGatewayAttachment" in refused(aws, l.TGW_ATTACHMENT, "again", inputs)
    with pytest.raises(Failed, match="DependencyViolation: The subnet"):
        aws.destroy("gpu")
    with pytest.raises(Failed, match="has non-deleted Transit Gateway Attachments"):
        aws.destroy("tgw")
    for name in ("at", "tgw", "gpu", "net"):
        aws.destroy(name)
    assert aws.held() == []


def test_an_attachment_has_one_subnet_of_a_zone(aws, vpc, subnet):
    transit = aws.up(l.TGW, "tgw")
    twin = aws.up(l.SUBNET, "b", vpcId=vpc.id, cidrBlock="10.100.2.0/24", availabilityZone="us-east-1a")
    inputs = {"transitGatewayId": transit.id, "vpcId": vpc.id}
    assert refused(aws, l.TGW_ATTACHMENT, "at", {**inputs, "subnetIds": [subnet.id, twin.id]}).endswith(
        "api error DuplicateSubnetsInSameZone: Duplicate Subnets for same AZ"
    )
    far = aws.up(l.SUBNET, "c", vpcId=vpc.id, cidrBlock="10.100.3.0/24", availabilityZone="us-east-1b")
    aws.up(l.TGW_ATTACHMENT, "at", {**inputs, "subnetIds": [subnet.id, far.id]})


def test_an_attachment_is_in_one_route_table(aws, vpc, subnet):
    transit = aws.up(
        l.TGW, "tgw", defaultRouteTableAssociation="disable", defaultRouteTablePropagation="disable"
    )
    at = aws.up(l.TGW_ATTACHMENT, "at", transitGatewayId=transit.id, vpcId=vpc.id, subnetIds=[subnet.id])
    table = aws.up(l.TGW_TABLE, "rt", transitGatewayId=transit.id)
    pair = {"transitGatewayAttachmentId": at.id, "transitGatewayRouteTableId": table.id}
    made = aws.up(l.TGW_ASSOCIATION, "a", pair)
    assert (made["resourceId"], made["resourceType"]) == (vpc.id, "vpc")
    assert "Resource.AlreadyAssociated" in refused(aws, l.TGW_ASSOCIATION, "b", pair)
    aws.up(l.TGW_PROPAGATION, "p", pair)
    with pytest.raises(Failed, match="is associated with tgw-attach-"):
        aws.destroy("rt")
    for name in ("p", "a", "rt", "at", "tgw"):
        aws.destroy(name)


def test_an_attachment_of_the_default_table_is_associated_already(aws, vpc, subnet):
    transit = aws.up(l.TGW, "tgw")
    at = aws.up(l.TGW_ATTACHMENT, "at", transitGatewayId=transit.id, vpcId=vpc.id, subnetIds=[subnet.id])
    table = aws.up(l.TGW_TABLE, "rt", transitGatewayId=transit.id)
    pair = {"transitGatewayAttachmentId": at.id, "transitGatewayRouteTableId": table.id}
    assert "is already associated to a route table." in refused(aws, l.TGW_ASSOCIATION, "a", pair)
    aws.up(l.TGW_ASSOCIATION, "a", {**pair, "replaceExistingAssociation": True})


def test_a_transit_route_leads_somewhere_or_is_a_blackhole_once(aws, vpc, subnet):
    transit = aws.up(l.TGW, "tgw")
    at = aws.up(l.TGW_ATTACHMENT, "at", transitGatewayId=transit.id, vpcId=vpc.id, subnetIds=[subnet.id])
    table = aws.up(l.TGW_TABLE, "rt", transitGatewayId=transit.id)
    to = {"transitGatewayRouteTableId": table.id, "destinationCidrBlock": "10.200.0.0/16"}
    assert "MissingParameter" in refused(aws, l.TGW_ROUTE, "r", to)
    aws.up(l.TGW_ROUTE, "r", {**to, "transitGatewayAttachmentId": at.id})
    assert "RouteAlreadyExists" in refused(aws, l.TGW_ROUTE, "b", {**to, "blackhole": True})
    aws.up(l.TGW_ROUTE, "c", {**to, "destinationCidrBlock": "0.0.0.0/0", "blackhole": True})
