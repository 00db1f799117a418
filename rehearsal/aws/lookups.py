"""Look-ups of what the account and the region hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from ..core.errors import ProviderError
from ..core.resource import Function, Lookup
from . import kinds
from .account import ACCOUNT, arn, configured_region, dns_suffix, global_arn, partition, zones
from .addresses import free_count
from .images import made_up
from .instance_types import get as instance_type


def _region(lookup: Lookup) -> str:
    return str(lookup.args.get("region") or configured_region(lookup.config))


_FILTERS = {
    "vpc-id": "vpcId",
    "subnet-id": "id",
    "group-id": "id",
    "group-name": "name",
    "availability-zone": "availabilityZone",
    "availabilityZone": "availabilityZone",
    "cidr-block": "cidrBlock",
    "cidr": "cidrBlock",
    "instance-type": "instanceType",
    "instance-state-name": "instanceState",
    "placement-group-name": "placementGroup",
}
"""Filter names of the Describe calls, and the properties they look at."""


def _matches(properties: Mapping[str, Any], lookup: Lookup, names: Mapping[str, str]) -> bool:
    """Whether an object fits the look-up's plain arguments, its tags and its filters."""
    args = lookup.args
    tags = properties.get("tagsAll") or properties.get("tags") or {}
    for argument, name in names.items():
        if args.get(argument) is not None and properties.get(name) != args[argument]:
            return False
    for key, value in (args.get("tags") or args.get("instanceTags") or {}).items():
        if tags.get(key) != value:
            return False
    for each in args.get("filters") or []:
        actual = _filtered(properties, tags, each["name"])
        if not any(fnmatchcase(str(actual), str(pattern)) for pattern in each["values"]):
            return False
    return True


def _filtered(properties: Mapping[str, Any], tags: Mapping[str, str], name: str) -> Any:
    if name == "tag:aws:autoscaling:groupName":
        return properties.get("parentId", "")
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:"), "")
    if name not in _FILTERS:
        raise ProviderError(
            f"the simulated AWS does not know the filter {name}; it knows tag:KEY and {', '.join(sorted(_FILTERS))}"
        )
    return properties.get(_FILTERS[name], "")


def _found(lookup: Lookup, kind: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    region = _region(lookup)
    return [
        {**each, "id": id}
        for id, each in lookup.tx.find(kind)
        if each.get("region", region) == region and _matches({**each, "id": id}, lookup, names)
    ]


def _one(lookup: Lookup, found: list[dict[str, Any]], title: str) -> dict[str, Any]:
    """The only match, or what the provider says of none and of many (terraform-provider-aws tfresource)."""
    if not found:
        raise ProviderError(f"reading {title}: no matching {title} found")
    if len(found) > 1:
        raise ProviderError(
            f"reading {title}: multiple {title}s matched; use additional constraints to reduce matches to a single "
            f"{title}"
        )
    return found[0]


def subnet(lookup: Lookup) -> dict[str, Any]:
    names = {"id": "id", "vpcId": "vpcId", "cidrBlock": "cidrBlock", "availabilityZone": "availabilityZone"}
    found = _one(
        lookup,
        _found(lookup, kinds.SUBNET, {**names, "availabilityZoneId": "availabilityZoneId"}),
        "EC2 Subnet",
    )
    return {
        **found,
        "availableIpAddressCount": free_count(lookup.tx, found["id"]),
        "defaultForAz": False,
        "state": "available",
        "tags": found.get("tagsAll") or {},
        "customerOwnedIpv4Pool": "",
        "ipv6CidrBlockAssociationId": found.get("ipv6CidrBlockAssociationId", ""),
    }


def subnets(lookup: Lookup) -> dict[str, Any]:
    found = _found(lookup, kinds.SUBNET, {})
    return {
        "id": _region(lookup),
        "ids": [each["id"] for each in found],
        "region": _region(lookup),
        "tags": lookup.args.get("tags") or {},
    }


def vpc(lookup: Lookup) -> dict[str, Any]:
    if lookup.args.get("default"):
        raise ProviderError(
            "reading EC2 VPC: no matching EC2 VPC found: the simulated account has no default VPC"
        )
    found = _one(lookup, _found(lookup, kinds.VPC, {"id": "id", "cidrBlock": "cidrBlock"}), "EC2 VPC")
    return {
        **found,
        "cidrBlockAssociations": [
            {
                "associationId": found["id"].replace("vpc-", "vpc-cidr-assoc-"),
                "cidrBlock": found["cidrBlock"],
                "state": "associated",
            }
        ],
        "default": False,
        "state": "available",
        "tags": found.get("tagsAll") or {},
    }


def security_group(lookup: Lookup) -> dict[str, Any]:
    names = {"id": "id", "name": "name", "vpcId": "vpcId"}
    found = _one(lookup, _found(lookup, kinds.SECURITY_GROUP, names), "EC2 Security Group")
    return {**found, "tags": found.get("tagsAll") or {}}


def instances(lookup: Lookup) -> dict[str, Any]:
    found = _found(lookup, kinds.INSTANCE, {})
    return {
        "id": _region(lookup),
        "ids": [each["id"] for each in found],
        "privateIps": [each["privateIp"] for each in found],
        "publicIps": [each["publicIp"] for each in found if each.get("publicIp")],
        "ipv6Addresses": [],
        "region": _region(lookup),
        "instanceTags": lookup.args.get("instanceTags") or {},
    }


def kind_of_instance(lookup: Lookup) -> dict[str, Any]:
    row = instance_type(lookup.args["instanceType"])
    return {
        "id": row.name,
        "instanceType": row.name,
        "region": _region(lookup),
        "defaultVcpus": row.vcpu,
        "efaSupported": row.efa > 0,
        "efaMaximumInterfaces": row.efa,
        "maximumNetworkCards": row.cards,
        "maximumNetworkInterfaces": sum(row.interfaces),
        "networkCards": [
            {"index": index, "maximumInterfaces": slots} for index, slots in enumerate(row.interfaces)
        ],
        "supportedArchitectures": [row.arch],
        "supportedPlacementStrategies": ["cluster", "partition", "spread"]
        if row.cluster
        else ["partition", "spread"],
        "supportedUsagesClasses": [
            word
            for word, given in (
                ("capacity-block", row.block),
                ("on-demand", row.on_demand),
                ("spot", row.spot),
            )
            if given
        ],
    }


def image(lookup: Lookup) -> dict[str, Any]:
    """A made-up image that fits what was asked for, the same one each time."""
    args, region = lookup.args, _region(lookup)
    filters = {each["name"]: each["values"] for each in args.get("filters") or []}
    pattern = (filters.get("name") or [args.get("nameRegex") or "image"])[0]
    name = re.sub(r"[^A-Za-z0-9._() /-]", "", pattern.replace("*", "0")) or "image"
    wanted = (
        filters.get("image-id")
        or [made_up(f"{region}/{sorted(filters.items())}/{args.get('owners')}/{name}")]
    )[0]
    return {
        **args,
        "id": wanted,
        "imageId": wanted,
        "name": name,
        "arn": arn("ec2", region, f"image/{wanted}", account=""),
        "architecture": (filters.get("architecture") or ["x86_64"])[0],
        "creationDate": "2026-01-01T00:00:00.000Z",
        "ownerId": ACCOUNT,
        "rootDeviceName": "/dev/sda1",
        "rootDeviceType": "ebs",
        "virtualizationType": "hvm",
        "hypervisor": "xen",
        "imageType": "machine",
        "state": "available",
        "public": True,
        "region": region,
        "blockDeviceMappings": [],
        "productCodes": [],
        "tags": {},
        "stateReason": {},
        "description": "made up by a simulated AWS",
        "enaSupport": True,
    }


def availability_zones(lookup: Lookup) -> dict[str, Any]:
    args, known = lookup.args, zones(_region(lookup))
    out = set(args.get("excludeNames") or [])
    for each in args.get("filters") or []:
        if each["name"] == "zone-name":
            out |= {zone for zone in known if zone not in each["values"]}
        elif each["name"] == "zone-id":
            out |= {zone for zone, id in known.items() if id not in each["values"]}
    left = {
        zone: id
        for zone, id in known.items()
        if zone not in out and id not in (args.get("excludeZoneIds") or [])
    }
    return {
        **args,
        "id": _region(lookup),
        "names": list(left),
        "zoneIds": list(left.values()),
        "groupNames": [_region(lookup)],
        "region": _region(lookup),
    }


def availability_zone(lookup: Lookup) -> dict[str, Any]:
    args, known = lookup.args, zones(_region(lookup))
    name = args.get("name") or next((zone for zone, id in known.items() if id == args.get("zoneId")), "")
    if name not in known:
        raise ProviderError(
            f"reading EC2 Availability Zone ({name or args.get('zoneId')}): no such zone in {_region(lookup)}"
        )
    return {
        **args,
        "id": name,
        "name": name,
        "nameSuffix": name.removeprefix(_region(lookup)),
        "zoneId": known[name],
        "region": _region(lookup),
        "state": "available",
        "zoneType": "availability-zone",
        "groupName": _region(lookup),
        "groupLongName": "",
        "networkBorderGroup": _region(lookup),
        "optInStatus": "opt-in-not-required",
        "parentZoneId": "",
        "parentZoneName": "",
    }


def caller(lookup: Lookup) -> dict[str, Any]:
    return {
        "id": ACCOUNT,
        "accountId": ACCOUNT,
        "arn": global_arn("iam", _region(lookup), "user/simulated"),
        "userId": "AIDASIMULATED00000000",
    }


def region(lookup: Lookup) -> dict[str, Any]:
    name = str(lookup.args.get("name") or _region(lookup))
    return {
        "id": name,
        "name": name,
        "region": name,
        "description": f"{name} (simulated)",
        "endpoint": f"ec2.{name}.{dns_suffix(name)}",
    }


def the_partition(lookup: Lookup) -> dict[str, Any]:
    name = _region(lookup)
    suffix = dns_suffix(name)
    return {
        "id": partition(name),
        "partition": partition(name),
        "dnsSuffix": suffix,
        "reverseDnsPrefix": ".".join(reversed(suffix.split("."))),
    }


def default_tags(lookup: Lookup) -> dict[str, Any]:
    return {
        "id": partition(_region(lookup)),
        "tags": (lookup.config.get("defaultTags") or {}).get("tags") or {},
    }


TYPES = ()
FUNCTIONS = (
    Function("aws:ec2/getSubnet:getSubnet", subnet),
    Function("aws:ec2/getSubnets:getSubnets", subnets),
    Function("aws:ec2/getVpc:getVpc", vpc),
    Function("aws:ec2/getSecurityGroup:getSecurityGroup", security_group),
    Function("aws:ec2/getInstances:getInstances", instances),
    Function("aws:ec2/getInstanceType:getInstanceType", kind_of_instance),
    Function("aws:ec2/getAmi:getAmi", image),
    Function("aws:index/getAvailabilityZones:getAvailabilityZones", availability_zones),
    Function("aws:index/getAvailabilityZone:getAvailabilityZone", availability_zone),
    Function("aws:index/getCallerIdentity:getCallerIdentity", caller),
    Function("aws:index/getRegion:getRegion", region),
    Function("aws:index/getPartition:getPartition", the_partition),
    Function("aws:index/getDefaultTags:getDefaultTags", default_tags),
)
