"""A private link's AWS side in one VPC, and what a partner or a technician does to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_fabric.rehearsal.aws import direct_connect

from ..small_engine import Failed, Resource, SmallEngine

Ids = Callable[[str], str]
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
TABLE = "aws:ec2/routeTable:RouteTable"
VGW = "aws:ec2/vpnGateway:VpnGateway"
VGW_ATTACHMENT = "aws:ec2/vpnGatewayAttachment:VpnGatewayAttachment"
PROPAGATION = "aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation"
TGW = "aws:ec2transitgateway/transitGateway:TransitGateway"
TGW_ATTACHMENT = "aws:ec2transitgateway/vpcAttachment:VpcAttachment"
TGW_TABLE = "aws:ec2transitgateway/routeTable:RouteTable"
TGW_ASSOCIATION = "aws:ec2transitgateway/routeTableAssociation:RouteTableAssociation"
TGW_PROPAGATION = "aws:ec2transitgateway/routeTablePropagation:RouteTablePropagation"
TGW_ROUTE = "aws:ec2transitgateway/route:Route"
CONNECTION = "aws:directconnect/connection:Connection"
CONFIRMATION = "aws:directconnect/connectionConfirmation:ConnectionConfirmation"
LAG = "aws:directconnect/linkAggregationGroup:LinkAggregationGroup"
MEMBER = "aws:directconnect/connectionAssociation:ConnectionAssociation"
GATEWAY = "aws:directconnect/gateway:Gateway"
ASSOCIATION = "aws:directconnect/gatewayAssociation:GatewayAssociation"
PROPOSAL = "aws:directconnect/gatewayAssociationProposal:GatewayAssociationProposal"
PRIVATE = "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface"
TRANSIT = "aws:directconnect/transitVirtualInterface:TransitVirtualInterface"
PEER = "aws:directconnect/bgpPeer:BgpPeer"
PRIVATE_ACCEPTER = (
    "aws:directconnect/hostedPrivateVirtualInterfaceAccepter:HostedPrivateVirtualInterfaceAccepter"
)
TRANSIT_ACCEPTER = (
    "aws:directconnect/hostedTransitVirtualInterfaceAcceptor:HostedTransitVirtualInterfaceAcceptor"
)

DX = (
    "operation error Direct Connect: {call}, https response error StatusCode: 400, RequestID: simulated, "
    "DirectConnectClientException: {sentence}"
)


def marked(sentence: str, source: str) -> str:
    """The sentence with the mark of one that the simulation words."""
    return f"{sentence} [rule: {source}; the wording is the simulation's]"


def hosted(
    aws: SmallEngine,
    *,
    state: str = "ordering",
    vlan: int = 301,
    name: str = "link",
    bandwidth: str = "10Gbps",
) -> str:
    """A connection that a partner made in the account; its id."""
    with aws.store.transaction("aws") as tx:
        id = direct_connect.new_connection_id(tx)
        tx.put(
            CONNECTION,
            id,
            {
                "id": id,
                "name": name,
                "region": "us-east-1",
                "location": "EqDC2",
                "bandwidth": bandwidth,
                "hosted": True,
                "encryptionMode": "no_encrypt",
                "providerName": "Equinix, Inc.",
                **direct_connect.described(
                    tx, id, "us-east-1", "EqDC2", state=state, partner="Equinix, Inc.", vlan=vlan
                ),
            },
        )
    return id


def vif(connection: str, gateway: str = "", **more: Any) -> dict[str, Any]:
    """The inputs of a private virtual interface as a program writes them."""
    return {
        "connectionId": connection,
        "dxGatewayId": gateway or None,
        "addressFamily": "ipv4",
        "bgpAsn": 65001,
        "vlan": 301,
        **more,
    }


def refused(
    engine: SmallEngine, token: str, name: str, inputs: dict[str, Any] | None = None, /, **more: Any
) -> str:
    """The text with which the cloud refuses; nothing of it is left."""
    before = engine.store.dump()
    with pytest.raises(Failed) as failed:
        engine.up(
            token,
            name,
            {key: value for key, value in {**(inputs or {}), **more}.items() if value is not None},
        )
    assert failed.value.partial in (None, ())
    assert engine.store.dump() == before
    return failed.value.text


def up(engine: SmallEngine, token: str, name: str, inputs: dict[str, Any]) -> Resource:
    return engine.up(token, name, {key: value for key, value in inputs.items() if value is not None})


def module(cloud: SmallEngine, id: Ids) -> list[tuple[str, str, Callable[[], dict[str, Any]]]]:
    """Every type of the private link once, in an order in which it can be made."""

    def plugged(name: str) -> str:
        with cloud.store.transaction("aws") as tx:
            tx.patch(CONNECTION, id(name), state="available")
        return id(name)

    def partners(type: str) -> str:
        vif_id = f"dxvif-0{type}"
        properties = {"state": "confirming", "bgpAsn": 65001, "vlan": 9, "addressFamily": "ipv4"}
        with cloud.store.transaction("aws") as tx:
            if tx.get("hostedVirtualInterface", vif_id) is None:
                properties |= {"id": vif_id, "type": type, "connectionId": "dxcon-partner"}
                tx.put("hostedVirtualInterface", vif_id, properties)
        return vif_id

    account = "000000000000"
    loose = {"defaultRouteTableAssociation": "disable", "defaultRouteTablePropagation": "disable"}
    pair = lambda: {"transitGatewayAttachmentId": id("at"), "transitGatewayRouteTableId": id("tgw-rt")}  # noqa: E731
    return [
        (VPC, "link-net", lambda: {"cidrBlock": "10.50.0.0/16"}),
        (
            SUBNET,
            "link-subnet",
            lambda: {
                "vpcId": id("link-net"),
                "cidrBlock": "10.50.1.0/24",
                "availabilityZone": "us-east-1a",
            },
        ),
        (TABLE, "link-rt", lambda: {"vpcId": id("link-net")}),
        (VGW, "vgw", dict),
        (VGW_ATTACHMENT, "vgw-at", lambda: {"vpcId": id("link-net"), "vpnGatewayId": id("vgw")}),
        (PROPAGATION, "vgw-p", lambda: {"routeTableId": id("link-rt"), "vpnGatewayId": id("vgw")}),
        (TGW, "tgw", lambda: {"amazonSideAsn": 64601, **loose}),
        (
            TGW_ATTACHMENT,
            "at",
            lambda: {
                "transitGatewayId": id("tgw"),
                "vpcId": id("link-net"),
                "subnetIds": [id("link-subnet")],
            },
        ),
        (TGW_TABLE, "tgw-rt", lambda: {"transitGatewayId": id("tgw")}),
        (TGW_ASSOCIATION, "tgw-a", pair),
        (TGW_PROPAGATION, "tgw-p", pair),
        (TGW_ROUTE, "tgw-r", lambda: {**pair(), "destinationCidrBlock": "10.51.0.0/16"}),
        (GATEWAY, "dx", lambda: {"amazonSideAsn": "64512"}),
        (GATEWAY, "dx-transit", lambda: {"amazonSideAsn": "64513"}),
        (ASSOCIATION, "dx-a", lambda: {"dxGatewayId": id("dx"), "associatedGatewayId": id("vgw")}),
        (
            PROPOSAL,
            "dx-p",
            lambda: {
                "dxGatewayId": id("dx-transit"),
                "dxGatewayOwnerAccountId": account,
                "associatedGatewayId": id("tgw"),
                "allowedPrefixes": ["10.50.0.0/16"],
            },
        ),
        (CONNECTION, "cable", lambda: {"bandwidth": "10Gbps", "location": "EqDC2"}),
        (LAG, "lag", lambda: {"connectionsBandwidth": "10Gbps", "location": "EqDC2"}),
        (MEMBER, "member", lambda: {"connectionId": id("cable"), "lagId": id("lag")}),
        (CONFIRMATION, "yes", lambda: {"connectionId": hosted(cloud)}),
        (PRIVATE, "vif", lambda: vif(plugged("cable"), id("dx"), vlan=11)),
        (TRANSIT, "transit-vif", lambda: vif(plugged("cable"), id("dx-transit"), vlan=12)),
        (
            PEER,
            "peer",
            lambda: {"virtualInterfaceId": id("vif"), "bgpAsn": 65001, "addressFamily": "ipv6"},
        ),
        (
            PRIVATE_ACCEPTER,
            "private-yes",
            lambda: {"virtualInterfaceId": partners("private"), "dxGatewayId": id("dx")},
        ),
        (
            TRANSIT_ACCEPTER,
            "transit-yes",
            lambda: {"virtualInterfaceId": partners("transit"), "dxGatewayId": id("dx-transit")},
        ),
    ]


def partner_leaves(cloud: SmallEngine) -> None:
    """The partner takes back what it made in the account: no resource of the program does that."""
    with cloud.store.transaction("aws") as tx:
        tx.remove_all("hostedVirtualInterface")
        tx.remove_all(CONNECTION, hosted=True)
