"""Network interfaces made on their own, and what is attached to what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds, launch
from .account import ACCOUNT, arn, new_id, region_of
from .addresses import allocate, check_address
from .errors import need
from .instance_types import get as instance_type
from .launch import network_interface, private_dns

ATTACHMENT = "aws:ec2/networkInterfaceAttachment:NetworkInterfaceAttachment"
GROUP_ATTACHMENT = "aws:ec2/networkInterfaceSecurityGroupAttachment:NetworkInterfaceSecurityGroupAttachment"
KINDS = ("branch", "efa", "efa-only", "trunk")
"""Types an interface may be made with (EC2 API Reference, CreateNetworkInterface); ``interface`` is the default."""


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_network_interface.go: StringInSlice."""
    kind = call.inputs.get("interfaceType")
    if isinstance(kind, str) and kind not in KINDS:
        yield Problem("interfaceType", f"expected interface_type to be one of {list(KINDS)}, got {kind}")


def create(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    subnet_id = inputs["subnetId"]
    subnet = need(tx, kinds.SUBNET, subnet_id, "subnet ID", "InvalidSubnetID.NotFound")
    kind = inputs.get("interfaceType", "interface")
    groups = inputs.get("securityGroups") or [_default_group(tx, subnet["vpcId"])]
    for group_id in groups:
        group = need(tx, kinds.SECURITY_GROUP, group_id, "security group", "InvalidGroup.NotFound")
        if group["vpcId"] != subnet["vpcId"]:
            raise Refusal(
                "InvalidParameter",
                f"Security group {group_id} and subnet {subnet_id} belong to different networks.",
            )
    addresses = [] if kind == "efa-only" else _addresses(tx, inputs, subnet_id)
    id = new_id(tx, "eni")
    outputs: dict[str, Any] = {
        "arn": arn("ec2", region, f"network-interface/{id}"),
        "interfaceType": kind,
        "connectionTrackingSpecification": {},
        "enablePrimaryIpv6": False,
        "ipv4PrefixCount": inputs.get("ipv4PrefixCount", 0),
        "ipv4Prefixes": inputs.get("ipv4Prefixes", []),
        "ipv6AddressCount": inputs.get("ipv6AddressCount", 0),
        "ipv6AddressLists": [],
        "ipv6Addresses": inputs.get("ipv6Addresses", []),
        "ipv6PrefixCount": inputs.get("ipv6PrefixCount", 0),
        "ipv6Prefixes": inputs.get("ipv6Prefixes", []),
        "macAddress": ":".join(["02", *(id[5 + 2 * each : 7 + 2 * each] for each in range(5))]),
        "outpostArn": "",
        "ownerId": ACCOUNT,
        "privateDnsName": private_dns(addresses[0] if addresses else "", region),
        "privateIp": addresses[0] if addresses else "",
        "privateIpLists": addresses,
        "privateIps": addresses,
        "privateIpsCount": max(len(addresses) - 1, 0),
        "securityGroups": groups,
        "vpcId": subnet["vpcId"],
        "availabilityZone": subnet["availabilityZone"],
        "attachments": [],
    }
    if inputs.get("attachments"):
        wanted = inputs["attachments"][0]
        place = {"card": int(wanted.get("networkCardIndex") or 0), "device": int(wanted["deviceIndex"])}
        attached = _attach(tx, {**outputs, "id": id}, wanted["instance"], **place)
        outputs |= attached | {"attachments": [{**wanted, "attachmentId": attached["attachmentId"]}]}
    return Made(id, outputs)


def _default_group(tx: Transaction, vpc_id: str) -> str:
    return next(id for id, group in tx.find(kinds.SECURITY_GROUP, vpcId=vpc_id) if group.get("isDefault"))


def _addresses(tx: Transaction, inputs: dict[str, Any], subnet_id: str) -> list[str]:
    asked = list(inputs.get("privateIpLists") or inputs.get("privateIps") or ())
    if not asked and inputs.get("privateIp"):
        asked = [inputs["privateIp"]]
    for address in asked:
        check_address(tx, subnet_id, address)
    wanted = max(len(asked), 1 + int(inputs.get("privateIpsCount") or 0))
    free = [each for each in allocate(tx, subnet_id, wanted) if each not in asked]
    return asked + free[: wanted - len(asked)]


def _attach(
    tx: Transaction, interface: dict[str, Any], instance_id: str, card: int, device: int
) -> dict[str, Any]:
    """What an interface gets from being attached, or EC2's refusal."""
    instance = tx.get(kinds.INSTANCE, instance_id)
    if instance is None:
        raise Refusal("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
    if interface.get("instanceId"):
        raise Refusal("InvalidNetworkInterface.InUse", f"Interface: [{interface['id']}] in use.")
    if interface["availabilityZone"] != instance["availabilityZone"]:
        raise Refusal(
            "InvalidParameterCombination",
            "You may not attach a network interface to an instance if they are not in the same availability zone",
        )
    if interface["interfaceType"] in launch.EFA_KINDS:
        # EC2 User Guide, create-efa: an EFA cannot be attached to a running instance. The sentence: unverified.
        raise Refusal(
            "IncorrectInstanceState",
            f"An EFA network interface cannot be attached to the running instance '{instance_id}'.",
        )
    present = tx.find(kinds.NETWORK_INTERFACE, instanceId=instance_id)
    kind = instance_type(instance["instanceType"])
    if any((each["networkCardIndex"], each["deviceIndex"]) == (card, device) for _, each in present):
        raise Refusal(
            "InvalidParameterValue",
            f"Instance '{instance_id}' already has an interface attached at device index '{device}'.",
        )
    if len(present) + 1 > sum(kind.interfaces):
        raise Refusal(
            "AttachmentLimitExceeded", f"Interface count {len(present) + 1} exceeds the limit for {kind.name}"
        )
    launch.check_place(kind, card, device)
    return {
        "instanceId": instance_id,
        "deviceIndex": device,
        "networkCardIndex": card,
        "attachmentId": new_id(tx, "eni-attach"),
        "deleteOnTermination": False,
    }


_ATTACHED = ("instanceId", "deviceIndex", "networkCardIndex", "attachmentId", "deleteOnTermination")


def _detach(tx: Transaction, id: str) -> None:
    stored = tx.get(kinds.NETWORK_INTERFACE, id)
    if stored is not None:
        tx.put(
            kinds.NETWORK_INTERFACE, id, {key: value for key, value in stored.items() if key not in _ATTACHED}
        )


def update(call: Call) -> dict[str, Any]:
    """Security groups and the source check change in place; more addresses are taken from the subnet."""
    count = call.inputs.get("privateIpsCount")
    if count is None or int(count) + 1 <= len(call.old["privateIps"]):
        return {}
    more = allocate(call.tx, call.old["subnetId"], int(count) + 1 - len(call.old["privateIps"]))
    addresses = [*call.old["privateIps"], *more]
    return {"privateIps": addresses, "privateIpLists": addresses}


def delete(call: Call) -> None:
    """The provider detaches what its own ``attachments`` attached; anything else keeps the interface in use."""
    if call.old.get("instanceId") and not call.old.get("attachments"):
        raise Refusal("InvalidParameterValue", f"Network interface '{call.id}' is currently in use.")


NETWORK_INTERFACE = ResourceType(
    token=kinds.NETWORK_INTERFACE,
    title="EC2 Network Interface",
    service="EC2",
    calls={
        "create": "CreateNetworkInterface",
        "update": "ModifyNetworkInterfaceAttribute",
        "delete": "DeleteNetworkInterface",
    },
    create=create,
    update=update,
    delete=delete,
    check=check,
    defaults={"ipv6AddressListEnabled": False, "privateIpListEnabled": False, "sourceDestCheck": True},
    unordered=frozenset({"privateIps", "securityGroups", "ipv4Prefixes", "ipv6Addresses", "ipv6Prefixes"}),
    replaces=frozenset({"interfaceType", "region", "subnetId"}),
    replaces_when=lambda old, new: (
        ("privateIps",)
        if new.get("privateIps") and (old.get("privateIpLists") or [""])[0] not in new["privateIps"]
        else ()
    ),
    replaces_source="terraform-provider-aws service/ec2/vpc_network_interface.go at 01c08000, ForceNew and "
    "CustomizeDiff of private_ips",
)


def create_attachment(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    interface = network_interface(tx, inputs["networkInterfaceId"])
    place = {"card": int(inputs.get("networkCardIndex") or 0), "device": int(inputs["deviceIndex"])}
    attached = _attach(tx, interface, inputs["instanceId"], **place)
    tx.put(kinds.NETWORK_INTERFACE, inputs["networkInterfaceId"], {**interface, **attached})
    id = attached["attachmentId"]
    return Made(id, {"attachmentId": id, "status": "attached", "networkCardIndex": place["card"]})


def delete_attachment(call: Call) -> None:
    _detach(call.tx, call.old["networkInterfaceId"])


ATTACHMENT_TYPE = ResourceType(
    token=ATTACHMENT,
    title="EC2 Network Interface Attachment",
    service="EC2",
    calls={"create": "AttachNetworkInterface", "delete": "DetachNetworkInterface"},
    doing={"create": "attaching EC2 Network Interface"},
    create=create_attachment,
    delete=delete_attachment,
    replaces=frozenset({"deviceIndex", "instanceId", "networkCardIndex", "networkInterfaceId", "region"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_network_interface_attachment.go at 01f43111, ForceNew; "
    "networkCardIndex came later: from memory, unverified",
)


def create_group_attachment(call: Call) -> Made:
    id, group_id = call.inputs["networkInterfaceId"], call.inputs["securityGroupId"]
    interface = network_interface(call.tx, id)
    need(call.tx, kinds.SECURITY_GROUP, group_id, "security group", "InvalidGroup.NotFound")
    call.tx.patch(kinds.NETWORK_INTERFACE, id, securityGroups=[*interface["securityGroups"], group_id])
    return Made(f"{group_id}_{id}")


def delete_group_attachment(call: Call) -> None:
    stored = call.tx.get(kinds.NETWORK_INTERFACE, call.old["networkInterfaceId"])
    if stored is not None:
        rest = [each for each in stored["securityGroups"] if each != call.old["securityGroupId"]]
        call.tx.patch(kinds.NETWORK_INTERFACE, call.old["networkInterfaceId"], securityGroups=rest)


GROUP_ATTACHMENT_TYPE = ResourceType(
    token=GROUP_ATTACHMENT,
    title="EC2 Network Interface Security Group Attachment",
    service="EC2",
    calls={"create": "ModifyNetworkInterfaceAttribute", "delete": "ModifyNetworkInterfaceAttribute"},
    create=create_group_attachment,
    delete=delete_group_attachment,
    replaces=frozenset({"networkInterfaceId", "region", "securityGroupId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_network_interface_sg_attachment.go, ForceNew; from "
    "memory, unverified",
)

TYPES = (NETWORK_INTERFACE, ATTACHMENT_TYPE, GROUP_ATTACHMENT_TYPE)
