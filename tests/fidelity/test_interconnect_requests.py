"""The private link's requests to AWS, judged by botocore's models of Direct Connect and EC2.

Those to Azure are a part of `azure/matrix.py`, those to Equinix in `test_equinix_requests.py`.

The parameters are what the AWS provider sends when it creates the resource (hashicorp/terraform-provider-aws,
internal/service/directconnect, vpn and transitgateway).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.components.recorder import Declared
from tests.components.test_interconnect import MANUAL, OFFERED, SECOND, link
from tests.fidelity.service_model import problems
from tests.fidelity.to_api import Request

OURS = "train-link"


def _interface(member: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The request of a virtual interface; `member` is the parameter that holds it."""
    return lambda given: {
        "connectionId": given["connectionId"],
        member: {
            "virtualInterfaceName": given.get("name", "train-link-interface-0"),
            "vlan": given["vlan"],
            "asnLong": int(given["bgpAsnLong"]),
            "mtu": given["mtu"],
            "addressFamily": given["addressFamily"],
            "amazonAddress": given["amazonAddress"],
            "customerAddress": given["customerAddress"],
            "directConnectGatewayId": given["dxGatewayId"],
            **({"authKey": given["bgpAuthKey"]} if given.get("bgpAuthKey") else {}),
            "tags": [{"key": key, "value": value} for key, value in given["tags"].items()],
        },
    }


def _association(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "directConnectGatewayId": given["dxGatewayId"],
        "gatewayId": given["associatedGatewayId"],
        "addAllowedPrefixesToDirectConnectGateway": [{"cidr": one} for one in given["allowedPrefixes"]],
    }


def _confirmed(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "virtualInterfaceId": given["virtualInterfaceId"],
        "directConnectGatewayId": given["dxGatewayId"],
    }


def _entries(declared: Declared) -> list[dict[str, Any]]:
    """A network ACL's entries, one request each."""
    return [
        {
            "NetworkAclId": declared.id,
            "Egress": way == "egress",
            "RuleNumber": rule["ruleNo"],
            "RuleAction": rule["action"],
            "Protocol": rule["protocol"],
            "CidrBlock": rule["cidrBlock"],
            "PortRange": {"From": rule["fromPort"], "To": rule["toPort"]},
        }
        for way in ("ingress", "egress")
        for rule in declared.inputs[way]
    ]


#: What the provider asks for after the creation itself: type → service, operation and the parameters of each request.
AFTERWARDS: Mapping[str, tuple[tuple[str, str, Callable[[Declared], list[dict[str, Any]]]], ...]] = {
    "aws:ec2/vpnGateway:VpnGateway": (
        (
            "ec2",
            "AttachVpnGateway",
            lambda declared: [{"VpnGatewayId": declared.id, "VpcId": declared.inputs["vpcId"]}],
        ),
    ),
    "aws:ec2/networkAcl:NetworkAcl": (
        ("ec2", "CreateNetworkAclEntry", _entries),
        (
            "ec2",
            "ReplaceNetworkAclAssociation",
            # The association that a subnet has is looked up.
            lambda declared: [
                {"AssociationId": f"aclassoc-of-{subnet}", "NetworkAclId": declared.id}
                for subnet in declared.inputs["subnetIds"]
            ],
        ),
    ),
}

#: Type → service, operation and parameters.
REQUESTS: Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "aws:directconnect/gateway:Gateway": (
        "directconnect",
        "CreateDirectConnectGateway",
        lambda given: {
            "directConnectGatewayName": "train-link-direct-connect",
            "amazonSideAsn": int(given["amazonSideAsn"]),
        },
    ),
    "aws:directconnect/gatewayAssociation:GatewayAssociation": (
        "directconnect",
        "CreateDirectConnectGatewayAssociation",
        _association,
    ),
    "aws:directconnect/connectionConfirmation:ConnectionConfirmation": (
        "directconnect",
        "ConfirmConnection",
        lambda given: {"connectionId": given["connectionId"]},
    ),
    "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface": (
        "directconnect",
        "CreatePrivateVirtualInterface",
        _interface("newPrivateVirtualInterface"),
    ),
    "aws:directconnect/transitVirtualInterface:TransitVirtualInterface": (
        "directconnect",
        "CreateTransitVirtualInterface",
        _interface("newTransitVirtualInterface"),
    ),
    "aws:directconnect/hostedPrivateVirtualInterfaceAccepter:HostedPrivateVirtualInterfaceAccepter": (
        "directconnect",
        "ConfirmPrivateVirtualInterface",
        _confirmed,
    ),
    "aws:directconnect/hostedTransitVirtualInterfaceAcceptor:HostedTransitVirtualInterfaceAcceptor": (
        "directconnect",
        "ConfirmTransitVirtualInterface",
        _confirmed,
    ),
    "aws:ec2/vpnGateway:VpnGateway": (
        "ec2",
        "CreateVpnGateway",
        lambda given: {"Type": "ipsec.1", "AmazonSideAsn": int(given["amazonSideAsn"])},
    ),
    "aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation": (
        "ec2",
        "EnableVgwRoutePropagation",
        lambda given: {"GatewayId": given["vpnGatewayId"], "RouteTableId": given["routeTableId"]},
    ),
    "aws:ec2transitgateway/transitGateway:TransitGateway": (
        "ec2",
        "CreateTransitGateway",
        lambda given: {
            "Description": given["description"],
            "Options": {"AmazonSideAsn": int(given["amazonSideAsn"])},
        },
    ),
    "aws:ec2transitgateway/vpcAttachment:VpcAttachment": (
        "ec2",
        "CreateTransitGatewayVpcAttachment",
        lambda given: {
            "TransitGatewayId": given["transitGatewayId"],
            "VpcId": given["vpcId"],
            "SubnetIds": given["subnetIds"],
        },
    ),
    "aws:ec2/route:Route": (
        "ec2",
        "CreateRoute",
        lambda given: {
            "RouteTableId": given["routeTableId"],
            "DestinationCidrBlock": given["destinationCidrBlock"],
            "TransitGatewayId": given["transitGatewayId"],
        },
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": (
        "ec2",
        "AuthorizeSecurityGroupIngress",
        lambda given: {
            "GroupId": given["securityGroupId"],
            "IpPermissions": [
                {
                    "IpProtocol": given["ipProtocol"],
                    "IpRanges": [{"CidrIp": given["cidrIpv4"], "Description": given["description"]}],
                }
            ],
        },
    ),
    "aws:ec2/networkAcl:NetworkAcl": ("ec2", "CreateNetworkAcl", lambda given: {"VpcId": given["vpcId"]}),
}
CASES: Mapping[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "equinix": ({}, None),
    "equinix, a key of one's own": ({"bgpKeyFrom": "bgpKey", "redundancy": "circuit"}, None),
    "equinix, transit, isolated": ({"awsGateway": "transit", "routeIsolation": True}, None),
    "manual": (SECOND, MANUAL),
    "manual, the partner's interface": (OFFERED, MANUAL),
    "manual, the partner's interface, transit": ({**OFFERED, "awsGateway": "transit"}, MANUAL),
}


def requests_of(case: str) -> list[Request]:
    change, base = CASES[case]
    made = link(change, base=base) if base is not None else link(change)
    ours: list[Declared] = [
        one for one in made.custom if one.name.startswith(OURS) and one.type.startswith("aws:")
    ]
    return [request for one in ours for request in (_request(one), *_later(one))]


def _request(declared: Declared) -> Request:
    service, operation, parameters = REQUESTS[declared.type]
    return Request(service, operation, parameters(declared.inputs), declared)


def _later(declared: Declared) -> list[Request]:
    return [
        Request(service, operation, one, declared)
        for service, operation, parameters in AFTERWARDS.get(declared.type, ())
        for one in parameters(declared)
    ]


@pytest.mark.parametrize("case", CASES)
def test_every_request_is_one_that_the_service_describes(case: str) -> None:
    asked = requests_of(case)
    assert len(asked) >= 6
    assert [problem for request in asked for problem in problems(request)] == []


def test_every_operation_of_the_table_is_used() -> None:
    used = {request.operation for case in CASES for request in requests_of(case)}
    later = {operation for rows in AFTERWARDS.values() for _, operation, _ in rows}
    assert used == later | {operation for _, operation, _ in REQUESTS.values()}


def test_the_model_refuses_what_is_wrong() -> None:
    (good,) = [one for one in requests_of("equinix") if one.operation == "CreatePrivateVirtualInterface"]
    changed = {**good.parameters, "newPrivateVirtualInterface": {"vlan": "ten"}}
    assert list(problems(replace(good, parameters=changed))) != []
