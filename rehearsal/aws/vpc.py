"""VPC: the network, with the route table, security group and network ACL that EC2 makes along with it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from ..core.values import is_unknown
from . import kinds
from .account import ACCOUNT, arn, new_id, region_of

SMALLEST_PREFIX, LARGEST_PREFIX = 16, 28
"""Prefix lengths a VPC may have (VPC User Guide, vpc-cidr-blocks)."""

NOT_FOR_HOSTS = {
    IPv4Network("0.0.0.0/8"): "this network, RFC 1122",
    IPv4Network("127.0.0.0/8"): "loopback, RFC 1122",
    IPv4Network("169.254.0.0/16"): "link-local, RFC 3927",
    IPv4Network("224.0.0.0/4"): "multicast, RFC 5771",
    IPv4Network("240.0.0.0/4"): "reserved, RFC 1112",
}
"""Ranges whose addresses no host on a network can have (IANA IPv4 Special-Purpose Address Registry, RFC 6890). All
others may be a VPC's, public ones and 172.17.0.0/16 too (VPC User Guide, vpc-cidr-blocks); that page does not say which
are refused, so that EC2 refuses these with InvalidVpc.Range is unverified."""


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_.go: validation.IsCIDRNetwork(16, 28)."""
    cidr = call.inputs.get("cidrBlock")
    if cidr is None:
        if call.inputs.get("ipv4IpamPoolId") is None:
            yield Problem("cidrBlock", "one of cidrBlock or ipv4IpamPoolId with ipv4NetmaskLength is needed")
        else:
            yield Problem("ipv4IpamPoolId", "the simulated AWS has no IPAM pools: give a cidrBlock")
    elif not is_unknown(cidr):
        try:
            network = ip_network(cidr, strict=False)
        except ValueError:
            yield Problem("cidrBlock", f'expected "cidr_block" to be a valid IPv4 Value, got {cidr}')
            return
        if str(network) != cidr:
            yield Problem(
                "cidrBlock",
                f"expected cidr_block to contain a valid network Value, expected {network}, got {cidr}",
            )
        if not SMALLEST_PREFIX <= network.prefixlen <= LARGEST_PREFIX:
            yield Problem(
                "cidrBlock",
                f'expected "cidr_block" to contain a network Value with between {SMALLEST_PREFIX} and '
                f"{LARGEST_PREFIX} significant bits, got: {network.prefixlen}",
            )


def create(call: Call) -> Made:
    tx, region = call.tx, region_of(call)
    _need_for_hosts(call.inputs["cidrBlock"])
    id = new_id(tx, "vpc")
    group = _default_security_group(call, id)
    table = _main_route_table(call, id)
    acl = _default_network_acl(call, id)
    outputs: dict[str, Any] = {
        "arn": arn("ec2", region, f"vpc/{id}"),
        "ownerId": ACCOUNT,
        "defaultSecurityGroupId": group,
        "defaultRouteTableId": table,
        "mainRouteTableId": table,
        "defaultNetworkAclId": acl,
        "dhcpOptionsId": "dopt-00000000000000000",
        "enableDnsHostnames": call.inputs.get("enableDnsHostnames", False),
        "enableNetworkAddressUsageMetrics": call.inputs.get("enableNetworkAddressUsageMetrics", False),
        **_ipv6(call, id),
    }
    return Made(id, outputs)


def _need_for_hosts(cidr: str) -> None:
    for network, use in NOT_FOR_HOSTS.items():
        if network.overlaps(IPv4Network(cidr)):
            raise Refusal(
                "InvalidVpc.Range",
                f"The CIDR '{cidr}' is invalid. [rule: {network} is not for hosts ({use}); "
                "that EC2 refuses it with this code is unverified]",
            )


def _ipv6(call: Call, id: str) -> dict[str, Any]:
    if not call.inputs.get("assignGeneratedIpv6CidrBlock"):
        return {"ipv6CidrBlock": "", "ipv6AssociationId": "", "ipv6CidrBlockNetworkBorderGroup": ""}
    number = call.tx.next("ipv6")
    return {
        "ipv6CidrBlock": f"2001:db8:{number:x}::/56",
        "ipv6AssociationId": id.replace("vpc-", "vpc-cidr-assoc-"),
        "ipv6CidrBlockNetworkBorderGroup": region_of(call),
    }


def _default_security_group(call: Call, vpc_id: str) -> str:
    id = new_id(call.tx, "sg")
    everything = {"protocol": "-1", "fromPort": 0, "toPort": 0}
    call.tx.put(
        kinds.SECURITY_GROUP,
        id,
        {
            "id": id,
            "arn": arn("ec2", region_of(call), f"security-group/{id}"),
            "name": "default",
            "description": "default VPC security group",
            "vpcId": vpc_id,
            "ownerId": ACCOUNT,
            "region": region_of(call),
            "ingress": [{**everything, "self": True}],
            "egress": [{**everything, "self": False, "cidrBlocks": ["0.0.0.0/0"]}],
            "isDefault": True,
        },
    )
    return id


def _main_route_table(call: Call, vpc_id: str) -> str:
    id = new_id(call.tx, "rtb")
    call.tx.put(
        kinds.ROUTE_TABLE,
        id,
        {
            "id": id,
            "arn": arn("ec2", region_of(call), f"route-table/{id}"),
            "vpcId": vpc_id,
            "ownerId": ACCOUNT,
            "region": region_of(call),
            "routes": [],
            "isMain": True,
            "isDefault": True,
        },
    )
    return id


def _default_network_acl(call: Call, vpc_id: str) -> str:
    id = new_id(call.tx, "acl")
    anything = {"ruleNo": 100, "protocol": "-1", "action": "allow", "cidrBlock": "0.0.0.0/0"}
    anything |= {"fromPort": 0, "toPort": 0}
    call.tx.put(
        kinds.NETWORK_ACL,
        id,
        {
            "id": id,
            "arn": arn("ec2", region_of(call), f"network-acl/{id}"),
            "vpcId": vpc_id,
            "ownerId": ACCOUNT,
            "region": region_of(call),
            "subnetIds": [],
            "ingress": [anything],
            "egress": [anything],
            "isDefault": True,
        },
    )
    return id


BLOCKING = (
    kinds.SUBNET,
    kinds.SECURITY_GROUP,
    kinds.ROUTE_TABLE,
    kinds.NETWORK_ACL,
    kinds.INTERNET_GATEWAY,
    kinds.VPN_GATEWAY,
    kinds.TRANSIT_VPC_ATTACHMENT,
    kinds.VPC_ENDPOINT,
    kinds.NETWORK_INTERFACE,
)
"""What must be gone first (EC2 API Reference, DeleteVpc); the ones EC2 made itself do not count."""


def dependents(tx: Transaction, vpc_id: str) -> list[str]:
    """The ids of what keeps the VPC from being deleted."""
    return [
        id
        for kind in BLOCKING
        for id, found in tx.find(kind, vpcId=vpc_id)
        if not found.get("isDefault") and not found.get("isMain")
    ]


MADE_ALONG = (kinds.SECURITY_GROUP, kinds.ROUTE_TABLE, kinds.NETWORK_ACL)
"""What EC2 makes with a VPC, one each, and removes with it."""


def delete(call: Call) -> None:
    if dependents(call.tx, call.id):
        raise Refusal("DependencyViolation", f"The vpc '{call.id}' has dependencies and cannot be deleted.")
    for kind in MADE_ALONG:
        call.tx.remove_all(kind, vpcId=call.id)


def networks(vpc: dict[str, Any]) -> list[IPv4Network]:
    """The VPC's IPv4 ranges: its own and those associated later."""
    return [IPv4Network(cidr) for cidr in (vpc["cidrBlock"], *vpc.get("moreCidrBlocks", []))]


VPC = ResourceType(
    token=kinds.VPC,
    title="EC2 VPC",
    service="EC2",
    calls={"create": "CreateVpc", "update": "ModifyVpcAttribute", "delete": "DeleteVpc"},
    create=create,
    delete=delete,
    check=check,
    update=lambda call: _ipv6(call, call.id) if call.changed("assignGeneratedIpv6CidrBlock") else {},
    defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
    recomputed=lambda call, changed: (
        ("ipv6CidrBlock", "ipv6AssociationId") if "assignGeneratedIpv6CidrBlock" in changed else ()
    ),
    replaces=frozenset({"cidrBlock", "instanceTenancy", "ipv4IpamPoolId", "ipv4NetmaskLength", "region"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_.go, ForceNew and resourceVPCCustomizeDiff "
    "(a tenancy of dedicated may become default in place; here both directions replace)",
)

TYPES = (VPC,)
