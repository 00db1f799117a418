"""Internet gateway, Elastic IP, NAT gateway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import ACCOUNT, arn, new_id, region_of
from .addresses import allocate, check_address
from .errors import need
from .launch import network_interface, public_address

IGW_ATTACHMENT = "aws:ec2/internetGatewayAttachment:InternetGatewayAttachment"
EIP_ASSOCIATION = "aws:ec2/eipAssociation:EipAssociation"


# Internet gateway


def _attach_gateway(tx: Transaction, gateway_id: str, vpc_id: str) -> None:
    need(tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    if any(id != gateway_id for id, _ in tx.find(kinds.INTERNET_GATEWAY, vpcId=vpc_id)):
        raise Refusal(
            "InvalidParameterValue",
            f"Network {vpc_id} already has an internet gateway attached",
            call="AttachInternetGateway",
        )


def _check_detach(tx: Transaction, vpc_id: str) -> None:
    """EC2 keeps the gateway while something in the VPC has a public address."""
    if not vpc_id:
        return
    interfaces = {id for id, each in tx.find(kinds.NETWORK_INTERFACE, vpcId=vpc_id)}
    mapped = any(each.get("publicIp") for _, each in tx.find(kinds.INSTANCE, vpcId=vpc_id)) or any(
        each.get("networkInterface") in interfaces and each.get("associationId")
        for _, each in tx.find(kinds.EIP)
    )
    if mapped:
        raise Refusal(
            "DependencyViolation",
            f"Network {vpc_id} has some mapped public address(es). Please unmap those public address(es) before "
            f"detaching the gateway.",
            call="DetachInternetGateway",
        )


def create_gateway(call: Call) -> Made:
    id = new_id(call.tx, "igw")
    if call.inputs.get("vpcId"):
        _attach_gateway(call.tx, id, call.inputs["vpcId"])
    return Made(
        id,
        {
            "arn": arn("ec2", region_of(call), f"internet-gateway/{id}"),
            "ownerId": ACCOUNT,
            "vpcId": call.inputs.get("vpcId", ""),
        },
    )


def update_gateway(call: Call) -> dict[str, Any]:
    vpc_id = call.inputs.get("vpcId")
    if vpc_id and vpc_id != call.old.get("vpcId"):
        _check_detach(call.tx, call.old.get("vpcId", ""))
        _attach_gateway(call.tx, call.id, vpc_id)
    return {}


GATEWAY = ResourceType(
    token=kinds.INTERNET_GATEWAY,
    title="EC2 Internet Gateway",
    service="EC2",
    calls={
        "create": "CreateInternetGateway",
        "update": "AttachInternetGateway",
        "delete": "DeleteInternetGateway",
    },
    create=create_gateway,
    update=update_gateway,
    delete=lambda call: _check_detach(call.tx, call.old.get("vpcId", "")),
    replaces=frozenset({"region"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_internet_gateway.go: another VPC attaches it anew; from "
    "memory, unverified",
)


def create_gateway_attachment(call: Call) -> Made:
    gateway, vpc_id = call.inputs["internetGatewayId"], call.inputs["vpcId"]
    need(call.tx, kinds.INTERNET_GATEWAY, gateway, "internetGateway ID", "InvalidInternetGatewayID.NotFound")
    _attach_gateway(call.tx, gateway, vpc_id)
    call.tx.patch(kinds.INTERNET_GATEWAY, gateway, vpcId=vpc_id)
    return Made(f"{gateway}:{vpc_id}")


def delete_gateway_attachment(call: Call) -> None:
    _check_detach(call.tx, call.old["vpcId"])
    if call.tx.get(kinds.INTERNET_GATEWAY, call.old["internetGatewayId"]) is not None:
        call.tx.patch(kinds.INTERNET_GATEWAY, call.old["internetGatewayId"], vpcId="")


GATEWAY_ATTACHMENT = ResourceType(
    token=IGW_ATTACHMENT,
    title="EC2 Internet Gateway Attachment",
    service="EC2",
    calls={"create": "AttachInternetGateway", "delete": "DetachInternetGateway"},
    create=create_gateway_attachment,
    delete=delete_gateway_attachment,
    replaces=frozenset({"internetGatewayId", "region", "vpcId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_internet_gateway_attachment.go at 01c08000, ForceNew",
)


# Elastic IP


def _associate(call: Call, allocation_id: str, interface_id: str, instance_id: str) -> dict[str, Any]:
    tx = call.tx
    if instance_id:
        instance = tx.get(kinds.INSTANCE, instance_id)
        if instance is None:
            raise Refusal("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
        interface_id = instance["primaryNetworkInterfaceId"]
    interface = network_interface(tx, interface_id)
    if not interface.get("privateIp"):
        raise Refusal(
            "InvalidParameterCombination", f"The networkInterface ID '{interface_id}' has no IPv4 address"
        )
    if not tx.find(kinds.INTERNET_GATEWAY, vpcId=interface["vpcId"]):
        raise Refusal(
            "Gateway.NotAttached", f"Network {interface['vpcId']} is not attached to any internet gateway"
        )
    return {
        "associationId": new_id(tx, "eipassoc"),
        "networkInterface": interface_id,
        "instance": interface.get("instanceId", ""),
        "privateIp": interface["privateIp"],
        "privateDns": interface.get("privateDnsName", ""),
    }


_FREE = {"associationId": "", "networkInterface": "", "instance": "", "privateIp": "", "privateDns": ""}


def _wanted(call: Call) -> tuple[str, str]:
    return call.inputs.get("networkInterface") or "", call.inputs.get("instance") or ""


def create_eip(call: Call) -> Made:
    tx, region = call.tx, region_of(call)
    id = new_id(tx, "eipalloc")
    address = public_address(tx)
    interface, instance = _wanted(call)
    return Made(
        id,
        {
            "allocationId": id,
            "arn": arn("ec2", region, f"elastic-ip/{id}"),
            "publicIp": address,
            "publicDns": f"ec2-{address.replace('.', '-')}.compute-1.amazonaws.com"
            if region == "us-east-1"
            else f"ec2-{address.replace('.', '-')}.{region}.compute.amazonaws.com",
            "domain": "vpc",
            "publicIpv4Pool": "amazon",
            "networkBorderGroup": region,
            "carrierIp": "",
            "customerOwnedIp": "",
            "ptrRecord": "",
            **_FREE,
            **(_associate(call, id, interface, instance) if interface or instance else {}),
        },
    )


def update_eip(call: Call) -> dict[str, Any]:
    interface, instance = _wanted(call)
    before = (call.old_inputs.get("networkInterface") or "", call.old_inputs.get("instance") or "")
    if (interface, instance) == before:
        return {}
    return {**_FREE, **(_associate(call, call.id, interface, instance) if interface or instance else {})}


def delete_eip(call: Call) -> None:
    """The provider ends its own association first; a NAT gateway's or another resource's keeps the address."""
    if call.old.get("associationId") and not (
        call.old_inputs.get("networkInterface") or call.old_inputs.get("instance")
    ):
        raise Refusal(
            "InvalidIPAddress.InUse", f"The address {call.old['publicIp']} is in use and cannot be released."
        )


EIP = ResourceType(
    token=kinds.EIP,
    title="EC2 EIP",
    service="EC2",
    calls={"create": "AllocateAddress", "update": "AssociateAddress", "delete": "ReleaseAddress"},
    doing={"delete": "deleting EC2 EIP ({id})"},
    create=create_eip,
    update=update_eip,
    delete=delete_eip,
    filled=frozenset({"domain", "ipamPoolId", "networkInterface", "instance"}),
    absent=frozenset({"ipamPoolId"}),
    replaces=frozenset(
        {
            "address",
            "domain",
            "ipamPoolId",
            "networkBorderGroup",
            "publicIpv4Pool",
            "region",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/ec2_eip.go at 01606926, ForceNew",
)


def create_association(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    allocation = inputs.get("allocationId")
    if not allocation:
        found = [id for id, each in tx.find(kinds.EIP) if each["publicIp"] == inputs.get("publicIp")]
        allocation = found[0] if found else ""
    address = tx.get(kinds.EIP, allocation or "")
    if address is None:
        raise Refusal("InvalidAllocationID.NotFound", f"The allocation ID '{allocation}' does not exist")
    if address.get("associationId") and not inputs.get("allowReassociation", True):
        raise Refusal(
            "Resource.AlreadyAssociated",
            f"resource {allocation} is already associated with associate-id {address['associationId']}",
        )
    made = _associate(
        call, str(allocation), inputs.get("networkInterfaceId") or "", inputs.get("instanceId") or ""
    )
    tx.patch(kinds.EIP, str(allocation), **made)
    return Made(
        made["associationId"],
        {
            "allocationId": allocation,
            "instanceId": made["instance"],
            "networkInterfaceId": made["networkInterface"],
            "privateIpAddress": made["privateIp"],
            "publicIp": address["publicIp"],
        },
    )


def delete_association(call: Call) -> None:
    stored = call.tx.get(kinds.EIP, call.old["allocationId"])
    if stored is not None and stored.get("associationId") == call.id:
        call.tx.patch(kinds.EIP, call.old["allocationId"], **_FREE)


ASSOCIATION = ResourceType(
    token=EIP_ASSOCIATION,
    title="EC2 EIP Association",
    service="EC2",
    calls={"create": "AssociateAddress", "delete": "DisassociateAddress"},
    create=create_association,
    delete=delete_association,
    replaces=frozenset(
        {
            "allocationId",
            "allowReassociation",
            "instanceId",
            "networkInterfaceId",
            "privateIpAddress",
            "publicIp",
            "region",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/ec2_eip_association.go at 01c08000, ForceNew",
)


# NAT gateway


def check_nat(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_nat_gateway.go: CustomizeDiff."""
    inputs = call.inputs
    kind = inputs.get("connectivityType", "public")
    if kind == "private":
        for name, attribute in (
            ("allocationId", "allocation_id"),
            ("secondaryAllocationIds", "secondary_allocation_ids"),
        ):
            if inputs.get(name) is not None:
                yield Problem(name, f'{attribute} is not supported with connectivity_type = "private"')
    elif inputs.get("secondaryPrivateIpAddressCount") is not None:
        yield Problem(
            "secondaryPrivateIpAddressCount",
            'secondary_private_ip_address_count is not supported with connectivity_type = "public"',
        )
    if inputs.get("availabilityMode", "zonal") == "regional":
        yield Problem("availabilityMode", "the simulated AWS has zonal NAT gateways only")


def create_nat(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    public = inputs.get("connectivityType", "public") == "public"
    subnet_id = inputs.get("subnetId")
    if not subnet_id:
        raise Refusal("MissingParameter", "The request must contain the parameter SubnetId")
    subnet = need(tx, kinds.SUBNET, subnet_id, "subnet ID", "InvalidSubnetID.NotFound")
    allocation = inputs.get("allocationId")
    address = tx.get(kinds.EIP, allocation) if allocation else None
    if public and address is None:
        if allocation:
            raise Refusal("InvalidAllocationID.NotFound", f"The allocation ID '{allocation}' does not exist")
        raise Refusal(
            "MissingParameter",
            "The request must include the AllocationId parameter. Add the required parameter and retry the request.",
        )
    if address is not None and address.get("associationId"):
        raise Refusal(
            "InvalidElasticIpID.InUse", f"The Elastic IP address {allocation} is already associated."
        )
    if inputs.get("privateIp"):
        check_address(tx, subnet_id, inputs["privateIp"])
    own = inputs.get("privateIp") or allocate(tx, subnet_id, 1)[0]
    id, interface_id = new_id(tx, "nat"), new_id(tx, "eni")
    tx.put(
        kinds.NETWORK_INTERFACE,
        interface_id,
        {
            "id": interface_id,
            "arn": arn("ec2", region, f"network-interface/{interface_id}"),
            "interfaceType": "nat_gateway",
            "description": f"Interface for NAT Gateway {id}",
            "subnetId": subnet_id,
            "vpcId": subnet["vpcId"],
            "availabilityZone": subnet["availabilityZone"],
            "privateIp": own,
            "privateIps": [own],
            "securityGroups": [],
            "ownerId": ACCOUNT,
            "region": region,
            "parentId": id,
        },
    )
    outputs: dict[str, Any] = {
        "associationId": "",
        "networkInterfaceId": interface_id,
        "privateIp": own,
        "publicIp": "",
        "vpcId": subnet["vpcId"],
        "availabilityMode": "zonal",
        "autoProvisionZones": "",
        "autoScalingIps": "",
        "regionalNatGatewayAddresses": [],
        "regionalNatGatewayAutoMode": "",
        "routeTableId": "",
        "availabilityZoneAddresses": [],
        "secondaryAllocationIds": inputs.get("secondaryAllocationIds", []),
        "secondaryPrivateIpAddressCount": 0,
        "secondaryPrivateIpAddresses": [],
    }
    if address is not None:
        association = new_id(tx, "eipassoc")
        tx.patch(
            kinds.EIP,
            str(allocation),
            associationId=association,
            networkInterface=interface_id,
            privateIp=own,
        )
        outputs |= {"associationId": association, "publicIp": address["publicIp"]}
        if not tx.find(kinds.INTERNET_GATEWAY, vpcId=subnet["vpcId"]):
            # EC2 makes the gateway, which then fails; the provider finds it so while it waits.
            call.reasons.append(
                f"waiting for EC2 NAT Gateway ({id}) create: unexpected state 'failed', wanted target 'available'. "
                f"last error: Gateway.NotAttached: Network {subnet['vpcId']} has no Internet gateway attached"
            )
    return Made(id, outputs)


def delete_nat(call: Call) -> None:
    tx = call.tx
    tx.remove_all(kinds.NETWORK_INTERFACE, parentId=call.id)
    allocation = call.old.get("allocationId")
    if allocation and tx.get(kinds.EIP, allocation) is not None:
        tx.patch(kinds.EIP, allocation, **_FREE)


NAT = ResourceType(
    token=kinds.NAT_GATEWAY,
    title="EC2 NAT Gateway",
    service="EC2",
    calls={
        "create": "CreateNatGateway",
        "update": "AssociateNatGatewayAddress",
        "delete": "DeleteNatGateway",
    },
    create=create_nat,
    delete=delete_nat,
    check=check_nat,
    defaults={"connectivityType": "public"},
    unordered=frozenset({"secondaryAllocationIds", "secondaryPrivateIpAddresses"}),
    replaces=frozenset(
        {
            "allocationId",
            "availabilityMode",
            "connectivityType",
            "privateIp",
            "region",
            "secondaryPrivateIpAddressCount",
            "subnetId",
            "vpcId",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/vpc_nat_gateway.go at 04088eaa, ForceNew; availabilityMode and "
    "vpcId came later: from memory, unverified",
)

TYPES = (GATEWAY, GATEWAY_ATTACHMENT, EIP, ASSOCIATION, NAT)
