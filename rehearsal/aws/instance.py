"""A single instance, from its own inputs, a launch template, or both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from . import images, kinds, launch
from .account import all_tags, derived_id, region_of
from .instance_types import get as instance_type
from .launch import Interface, Request
from .template_data import decoded, overridden, request, versioned

_WITH_INTERFACES = (
    "associatePublicIpAddress",
    "subnetId",
    "privateIp",
    "secondaryPrivateIps",
    "vpcSecurityGroupIds",
    "securityGroups",
    "ipv6Addresses",
    "ipv6AddressCount",
    "sourceDestCheck",
)


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws ec2_instance.go: AtLeastOneOf, ConflictsWith, StringLenBetween."""
    inputs = call.inputs
    for name, attribute in (("ami", "ami"), ("instanceType", "instance_type")):
        if inputs.get(name) is None and inputs.get("launchTemplate") is None:
            yield Problem(name, f'"{attribute}": one of `{attribute},launch_template` must be specified')
    if inputs.get("networkInterfaces") is not None:
        for name in _WITH_INTERFACES:
            if inputs.get(name) is not None:
                yield Problem("networkInterfaces", f'"network_interface": conflicts with {name}')
    user_data = inputs.get("userData")
    if isinstance(user_data, str) and len(user_data) > launch.USER_DATA_LIMIT:
        yield Problem(
            "userData",
            f"expected length of user_data to be in the range (0 - {launch.USER_DATA_LIMIT}), got {len(user_data)} "
            f"characters",
        )


def _request(call: Call) -> Request:
    inputs, region = call.inputs, region_of(call)
    base = Request(instance_type="", image_id="", region=region)
    if inputs.get("launchTemplate"):
        data, template_id, number = versioned(call.tx, inputs["launchTemplate"])
        base = request(data, region, (template_id, str(number)))
    size = 0
    if inputs.get("userData"):
        size = len(inputs["userData"].encode())
    elif inputs.get("userDataBase64"):
        size = len(decoded(inputs["userDataBase64"]))
    reservation = inputs.get("capacityReservationSpecification") or {}
    own = overridden(
        base,
        instance_type=inputs.get("instanceType"),
        image_id=inputs.get("ami"),
        interfaces=_interfaces(inputs),
        groups=tuple(inputs.get("vpcSecurityGroupIds") or ()),
        group_names=tuple(inputs.get("securityGroups") or ()),
        public=inputs.get("associatePublicIpAddress"),
        private_ip=inputs.get("privateIp"),
        zone=inputs.get("availabilityZone"),
        placement_group=inputs.get("placementGroup") or inputs.get("placementGroupId"),
        market=(inputs.get("instanceMarketOptions") or {}).get("marketType"),
        reservation_id=(reservation.get("capacityReservationTarget") or {}).get("capacityReservationId"),
        reservation_preference=reservation.get("capacityReservationPreference"),
        user_data_size=size,
        key_name=inputs.get("keyName"),
        profile=inputs.get("iamInstanceProfile"),
        tags={**base.tags, **all_tags(call)},
    )
    volumes = [
        each for each in (inputs.get("rootBlockDevice"), *(inputs.get("ebsBlockDevices") or ())) if each
    ]
    return replace(_with_subnet(own, inputs), volumes=tuple(volumes) or base.volumes)


def _interfaces(inputs: Mapping[str, Any]) -> tuple[Interface, ...]:
    """Network interfaces that exist already: the primary one, and those of the older ``networkInterfaces``."""
    given: list[Mapping[str, Any]] = [*(inputs.get("networkInterfaces") or ())]
    if inputs.get("primaryNetworkInterface"):
        given.append({**inputs["primaryNetworkInterface"], "deviceIndex": 0})
    return tuple(
        Interface(
            card=int(each.get("networkCardIndex") or 0),
            device=int(each["deviceIndex"]),
            existing=each["networkInterfaceId"],
            delete_on_termination=bool(each.get("deleteOnTermination", False)),
        )
        for each in given
    )


def _with_subnet(own: Request, inputs: Mapping[str, Any]) -> Request:
    """The instance's subnet, in the request or in the template's interfaces, which come without one.

    The provider sends it beside the template; EC2 refuses it beside interfaces of the request itself, but merges it
    with those of a template (EC2 User Guide, "Launch instances from a launch template": parameters given at launch
    override the template's). Unverified for templates whose interfaces have no subnet.
    """
    subnet_id = inputs.get("subnetId") or ""
    if not subnet_id or not own.interfaces:
        return replace(own, subnet_id=subnet_id)
    return replace(
        own,
        interfaces=tuple(
            each if each.existing else replace(each, subnet_id=each.subnet_id or subnet_id)
            for each in own.interfaces
        ),
    )


def create(call: Call) -> Made:
    wanted = _with_kinds(call, _request(call))
    id = launch.run(call.tx, wanted, 1, call.faults)[0]
    stored = call.tx.need(kinds.INSTANCE, id)
    return Made(id, {**stored, **_filled(call, stored)})


def _with_kinds(call: Call, wanted: Request) -> Request:
    """Existing interfaces with the kind they were made with, so that the layout rules see them."""
    return replace(
        wanted,
        interfaces=tuple(
            replace(
                each, kind=launch.network_interface(call.tx, each.existing).get("interfaceType", "interface")
            )
            if each.existing
            else each
            for each in wanted.interfaces
        ),
    )


def _filled(call: Call, stored: Mapping[str, Any]) -> dict[str, Any]:
    """What EC2 says of an instance besides where it runs."""
    inputs = call.inputs
    kind = instance_type(stored["instanceType"])
    filled = {
        "associatePublicIpAddress": bool(stored["publicIp"]),
        "publicDns": "",
        "tenancy": inputs.get("tenancy") or "default",
        "monitoring": bool(inputs.get("monitoring", False)),
        "ebsOptimized": bool(inputs.get("ebsOptimized", False)),
        "disableApiStop": bool(inputs.get("disableApiStop", False)),
        "disableApiTermination": bool(inputs.get("disableApiTermination", False)),
        "instanceInitiatedShutdownBehavior": inputs.get("instanceInitiatedShutdownBehavior") or "stop",
        "securityGroups": [],
        "secondaryPrivateIps": [],
        "ipv6Addresses": [],
        "ipv6AddressCount": 0,
        "hostId": "",
        "instanceLifecycle": stored["marketType"],
        "spotInstanceRequestId": "",
        "outpostArn": "",
        "passwordData": "",
        "ephemeralBlockDevices": inputs.get("ephemeralBlockDevices") or [],
        "ebsBlockDevices": [
            _volume(stored["id"], each, each["deviceName"]) for each in inputs.get("ebsBlockDevices") or []
        ],
        "rootBlockDevice": _volume(stored["id"], inputs.get("rootBlockDevice") or {}, "/dev/sda1"),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIpv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "optional",
            "instanceMetadataTags": "disabled",
            **(inputs.get("metadataOptions") or {}),
        },
        "cpuOptions": inputs.get("cpuOptions") or {"coreCount": kind.vcpu // 2, "threadsPerCore": 2},
        "capacityReservationSpecification": inputs.get("capacityReservationSpecification")
        or {"capacityReservationPreference": "open"},
        "maintenanceOptions": inputs.get("maintenanceOptions") or {"autoRecovery": "default"},
        "privateDnsNameOptions": inputs.get("privateDnsNameOptions")
        or {
            "enableResourceNameDnsARecord": False,
            "enableResourceNameDnsAaaaRecord": False,
            "hostnameType": "ip-name",
        },
        "enclaveOptions": inputs.get("enclaveOptions") or {"enabled": False},
        "instanceMarketOptions": {"marketType": stored["marketType"]} if stored["marketType"] else {},
        "networkInterfaces": inputs.get("networkInterfaces") or [],
        "secondaryNetworkInterfaces": inputs.get("secondaryNetworkInterfaces") or [],
        "enablePrimaryIpv6": False,
        "placementPartitionNumber": 0,
        "hostResourceGroupArn": "",
        "keyName": stored["keyName"],
    }
    if inputs.get("userData") is None and inputs.get("userDataBase64") is None:
        filled |= {"userData": "", "userDataBase64": ""}
    return filled


def _volume(instance_id: str, given: Mapping[str, Any], device: str) -> dict[str, Any]:
    kind = given.get("volumeType") or "gp3"
    return {
        "deleteOnTermination": True,
        "deviceName": device,
        "encrypted": False,
        "iops": 3000 if kind == "gp3" else 0,
        "kmsKeyId": "",
        "throughput": 125 if kind == "gp3" else 0,
        "volumeId": derived_id("vol", f"{instance_id}{device}"),
        "volumeSize": 75,
        "volumeType": kind,
        **given,
    }


def update(call: Call) -> dict[str, Any]:
    """Changes in place. A new size stops and starts the instance: it needs room again."""
    changed: dict[str, Any] = {}
    new_type = call.inputs.get("instanceType")
    if new_type and new_type != call.old["instanceType"]:
        instance_type(new_type)
        zone = call.old["availabilityZone"]
        available = call.faults.available(new_type, zone)
        running = call.tx.count(kinds.INSTANCE, instanceType=new_type, availabilityZone=zone)
        if available is not None and running >= available:
            refusal = launch.insufficient_capacity(new_type, zone, region_of(call))
            refusal.call = "StartInstances"
            raise refusal
    groups = call.inputs.get("vpcSecurityGroupIds")
    if groups and groups != call.old["vpcSecurityGroupIds"]:
        call.tx.patch(kinds.NETWORK_INTERFACE, call.old["primaryNetworkInterfaceId"], securityGroups=groups)
    root = call.inputs.get("rootBlockDevice")
    if root:
        changed["rootBlockDevice"] = {**(call.old.get("rootBlockDevice") or {}), **root}
    metadata = call.inputs.get("metadataOptions")
    if metadata:
        changed["metadataOptions"] = {**(call.old.get("metadataOptions") or {}), **metadata}
    if call.inputs.get("ami"):
        changed["ami"] = images.resolve(call.tx, call.inputs["ami"], region_of(call))
    return changed


def delete(call: Call) -> None:
    if call.old.get("disableApiTermination"):
        raise Refusal(
            "OperationNotPermitted",
            f"The instance '{call.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute "
            f"and try again.",
        )
    launch.terminate(call.tx, call.id)


def read(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(kinds.INSTANCE, call.id)
    if stored is None or "rootBlockDevice" in stored:
        return stored
    # Of an Auto Scaling group: only what the launch itself knew is stored.
    return {**stored, **_filled(replace(call, inputs={}), stored)}


def _conditional(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if new.get("userDataReplaceOnChange") is True:
        yield from ("userData", "userDataBase64")


def _same_user_data(one: Any, other: Any) -> bool:
    """The provider once kept only a hash of user data in its state."""
    return one == other or (isinstance(other, str) and one == hashlib.sha1(other.encode()).hexdigest())


INSTANCE = ResourceType(
    token=kinds.INSTANCE,
    title="EC2 Instance",
    service="EC2",
    calls={"create": "RunInstances", "update": "ModifyInstanceAttribute", "delete": "TerminateInstances"},
    create=create,
    read=read,
    update=update,
    delete=delete,
    check=check,
    defaults={"getPasswordData": False, "sourceDestCheck": True, "userDataReplaceOnChange": False},
    absent=frozenset({"userData", "userDataBase64"}),
    unordered=frozenset({"vpcSecurityGroupIds", "securityGroups", "networkInterfaces", "ebsBlockDevices"}),
    same={"userData": _same_user_data},
    recomputed=lambda call, changed: (
        ("publicIp", "publicDns") if changed & {"instanceType", "userData", "userDataBase64"} else ()
    ),
    replaces=frozenset(
        {
            "ami",
            "associatePublicIpAddress",
            "availabilityZone",
            "cpuOptions",
            "ebsBlockDevices",
            "ebsOptimized",
            "enclaveOptions",
            "ephemeralBlockDevices",
            "hibernation",
            "hostId",
            "instanceMarketOptions",
            "ipv6AddressCount",
            "ipv6Addresses",
            "keyName",
            "launchTemplate",
            "networkInterfaces",
            "placementGroup",
            "placementGroupId",
            "placementPartitionNumber",
            "primaryNetworkInterface",
            "privateDnsNameOptions.hostnameType",
            "privateIp",
            "region",
            "rootBlockDevice.encrypted",
            "rootBlockDevice.kmsKeyId",
            "securityGroups",
            "subnetId",
            "tenancy",
        }
    ),
    replaces_when=_conditional,
    replaces_source="terraform-provider-aws service/ec2/ec2_instance.go at 0015dfcd, ForceNew and "
    "CustomizeDiff; instanceMarketOptions, placementGroupId, primaryNetworkInterface, privateDnsNameOptions from "
    "memory of the later schema, unverified",
)

TYPES = (INSTANCE,)
