"""Subnet: one range of the VPC in exactly one availability zone."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from . import kinds
from .account import ACCOUNT, arn, new_id, region_of, zones
from .addresses import cidr_problem
from .errors import need
from .vpc import LARGEST_PREFIX, SMALLEST_PREFIX, networks


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_subnet.go: ValidIPv4CIDRNetworkAddress, ConflictsWith."""
    yield from cidr_problem(call.inputs.get("cidrBlock"), "cidrBlock")
    if call.inputs.get("availabilityZone") is not None and call.inputs.get("availabilityZoneId") is not None:
        yield Problem("availabilityZone", '"availability_zone": conflicts with availability_zone_id')


def create(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    vpc = need(tx, kinds.VPC, inputs["vpcId"], "vpc ID", "InvalidVpcID.NotFound")
    cidr = inputs.get("cidrBlock")
    if cidr is None:
        raise Refusal(
            "MissingParameter", "The request must contain the parameter cidrBlock or ipv4IpamPoolId"
        )
    network = IPv4Network(cidr)
    inside = any(network.subnet_of(each) for each in networks(dict(vpc)))
    if not inside or not SMALLEST_PREFIX <= network.prefixlen <= LARGEST_PREFIX:
        raise Refusal("InvalidSubnet.Range", f"The CIDR '{cidr}' is invalid.")
    for _, other in tx.find(kinds.SUBNET, vpcId=inputs["vpcId"]):
        if network.overlaps(IPv4Network(other["cidrBlock"])):
            raise Refusal("InvalidSubnet.Conflict", f"The CIDR '{cidr}' conflicts with another subnet")
    zone, zone_id = _zone(call, region)
    id = new_id(tx, "subnet")
    return Made(
        id,
        {
            "arn": arn("ec2", region, f"subnet/{id}"),
            "availabilityZone": zone,
            "availabilityZoneId": zone_id,
            "ownerId": ACCOUNT,
            "cidrBlock": cidr,
            "ipv6CidrBlock": inputs.get("ipv6CidrBlock", ""),
            "ipv6CidrBlockAssociationId": id.replace("subnet-", "subnet-cidr-assoc-")
            if inputs.get("ipv6CidrBlock")
            else "",
            "privateDnsHostnameTypeOnLaunch": inputs.get("privateDnsHostnameTypeOnLaunch", "ip-name"),
        },
    )


def _zone(call: Call, region: str) -> tuple[str, str]:
    """The zone asked for, or the region's first. EC2 chooses freely when none is named; here it is always the first."""
    known = zones(region)
    name, zone_id = call.inputs.get("availabilityZone"), call.inputs.get("availabilityZoneId")
    if zone_id is not None:
        name = next((zone for zone, id in known.items() if id == zone_id), None)
        if name is None:
            raise Refusal(
                "InvalidParameterValue",
                f"Value ({zone_id}) for parameter availabilityZoneId is invalid. Subnets can currently only be "
                f"created in the following availability zones: {', '.join(known.values())}.",
            )
    if name is None:
        name = next(iter(known))
    if name not in known:
        raise Refusal(
            "InvalidParameterValue",
            f"Value ({name}) for parameter availabilityZone is invalid. Subnets can currently only be created in "
            f"the following availability zones: {', '.join(known)}.",
        )
    return name, known[name]


def delete(call: Call) -> None:
    if call.tx.count(kinds.NETWORK_INTERFACE, subnetId=call.id):
        raise Refusal(
            "DependencyViolation", f"The subnet '{call.id}' has dependencies and cannot be deleted."
        )


SUBNET = ResourceType(
    token=kinds.SUBNET,
    title="EC2 Subnet",
    service="EC2",
    calls={"create": "CreateSubnet", "update": "ModifySubnetAttribute", "delete": "DeleteSubnet"},
    create=create,
    delete=delete,
    check=check,
    defaults={
        "assignIpv6AddressOnCreation": False,
        "enableDns64": False,
        "enableResourceNameDnsARecordOnLaunch": False,
        "enableResourceNameDnsAaaaRecordOnLaunch": False,
        "ipv6Native": False,
        "mapPublicIpOnLaunch": False,
    },
    replaces=frozenset(
        {
            "availabilityZone",
            "availabilityZoneId",
            "cidrBlock",
            "ipv4IpamPoolId",
            "ipv4NetmaskLength",
            "ipv6IpamPoolId",
            "ipv6Native",
            "ipv6NetmaskLength",
            "outpostArn",
            "region",
            "vpcId",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/vpc_subnet.go at 00cda125, ForceNew",
)

TYPES = (SUBNET,)
