"""VPC endpoints: gateways to S3 and DynamoDB, and interfaces to other services."""

from __future__ import annotations

import re
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import ACCOUNT, arn, derived_id, new_id, region_of
from .addresses import allocate
from .documents import same_document
from .errors import need
from .launch import private_dns

ROUTE_TABLE_ASSOCIATION = "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation"
SUBNET_ASSOCIATION = "aws:ec2/vpcEndpointSubnetAssociation:VpcEndpointSubnetAssociation"
GATEWAY_SERVICES = ("s3", "dynamodb")
"""Services with a gateway endpoint (VPC User Guide, gateway-endpoints). Every other service has interfaces only."""
_ANYTHING = (
    '{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*"}],"Version":"2008-10-17"}'
)


def _service(call: Call) -> str:
    """The last part of the service's name, or EC2's refusal of the name."""
    name, region = str(call.inputs.get("serviceName") or ""), region_of(call)
    match = re.fullmatch(
        r"(?:com\.amazonaws(?:\.vpce)?|aws\.sagemaker)\.([a-z0-9-]+)\.([A-Za-z0-9._-]+)", name
    )
    if match is None or match.group(1) != region:
        raise Refusal("InvalidServiceName", f"The Vpc Endpoint Service '{name}' does not exist")
    return match.group(2)


def create(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    vpc = need(tx, kinds.VPC, inputs["vpcId"], "vpc ID", "InvalidVpcID.NotFound")
    service, kind = _service(call), inputs.get("vpcEndpointType") or "Gateway"
    types = ["Gateway", "Interface"] if service in GATEWAY_SERVICES else ["Interface"]
    if kind not in types:
        raise Refusal(
            "InvalidParameter",
            f"Vpc Endpoint type ({kind}) does not match available service types ([{', '.join(types)}]).",
        )
    id = new_id(tx, "vpce")
    outputs: dict[str, Any] = {
        "arn": arn("ec2", region, f"vpc-endpoint/{id}"),
        "ownerId": ACCOUNT,
        "state": "available",
        "requesterManaged": False,
        "policy": inputs.get("policy") or _ANYTHING,
        "privateDnsEnabled": bool(inputs.get("privateDnsEnabled", False)),
        "ipAddressType": inputs.get("ipAddressType", "ipv4"),
        "dnsOptions": inputs.get("dnsOptions") or {"dnsRecordIpType": "ipv4"},
        "serviceRegion": inputs.get("serviceRegion", region),
        "routeTableIds": inputs.get("routeTableIds", []),
        "securityGroupIds": inputs.get("securityGroupIds", []),
        "subnetIds": inputs.get("subnetIds", []),
        "subnetConfigurations": inputs.get("subnetConfigurations", []),
        "networkInterfaceIds": [],
        "dnsEntries": [],
        "cidrBlocks": [],
        "prefixListId": "",
    }
    if kind == "Gateway":
        outputs |= _gateway(call, id, service)
    else:
        outputs |= _interface(call, id, dict(vpc), service)
    return Made(id, outputs)


def _gateway(call: Call, id: str, service: str) -> dict[str, Any]:
    prefix_list = derived_id("pl", f"{region_of(call)}/{service}")[:11]
    for table_id in call.inputs.get("routeTableIds", []):
        _check_table(call.tx, table_id, prefix_list, call.inputs["serviceName"])
    # A stand-in for the service's own ranges, out of those kept for documentation (RFC 5737).
    return {"prefixListId": prefix_list, "cidrBlocks": ["192.0.2.0/24"]}


def _check_table(tx: Transaction, table_id: str, prefix_list: str, service: str) -> None:
    need(tx, kinds.ROUTE_TABLE, table_id, "routeTable ID", "InvalidRouteTableId.NotFound")
    for _, other in tx.find(kinds.VPC_ENDPOINT):
        if other.get("serviceName") == service and table_id in (other.get("routeTableIds") or []):
            raise Refusal(
                "RouteAlreadyExists",
                f"route table {table_id} already has a route with destination-prefix-list-id {prefix_list}",
            )


def _interface(call: Call, id: str, vpc: dict[str, Any], service: str) -> dict[str, Any]:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    if inputs.get("privateDnsEnabled"):
        if not (vpc.get("enableDnsSupport") and vpc.get("enableDnsHostnames")):
            raise Refusal(
                "InvalidParameter",
                "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true "
                f"for {inputs['vpcId']}",
            )
        for _, other in tx.find(kinds.VPC_ENDPOINT, vpcId=inputs["vpcId"]):
            if other.get("serviceName") == inputs["serviceName"] and other.get("privateDnsEnabled"):
                raise Refusal(
                    "InvalidParameter",
                    f"private-dns-enabled cannot be set because there is already a conflicting DNS domain for "
                    f"{service}.{region}.amazonaws.com in the VPC {inputs['vpcId']}",
                )
    groups = inputs.get("securityGroupIds") or [
        next(
            each
            for each, group in tx.find(kinds.SECURITY_GROUP, vpcId=inputs["vpcId"])
            if group.get("isDefault")
        )
    ]
    for group_id in groups:
        need(tx, kinds.SECURITY_GROUP, group_id, "security group", "InvalidSecurityGroupId.NotFound")
    made = [_add_subnet(tx, id, subnet_id, groups, region) for subnet_id in inputs.get("subnetIds", [])]
    return {
        "securityGroupIds": groups,
        "networkInterfaceIds": made,
        "dnsEntries": [
            {
                "dnsName": f"{id}-0000000a.{service}.{region}.vpce.amazonaws.com",
                "hostedZoneId": "Z7HUB22UULQXV",
            }
        ],
    }


def _add_subnet(tx: Transaction, endpoint_id: str, subnet_id: str, groups: list[str], region: str) -> str:
    subnet = need(tx, kinds.SUBNET, subnet_id, "subnet ID", "InvalidSubnetId.NotFound")
    for _, other in tx.find(kinds.NETWORK_INTERFACE, parentId=endpoint_id):
        if other["availabilityZone"] == subnet["availabilityZone"]:
            raise Refusal(
                "DuplicateSubnetsInSameZone",
                f"Found another VPC endpoint subnet in the availability zone of {subnet_id}. VPC endpoint subnets "
                f"should be in different availability zones supported by the VPC endpoint service.",
            )
    address = allocate(tx, subnet_id, 1)[0]
    id = new_id(tx, "eni")
    tx.put(
        kinds.NETWORK_INTERFACE,
        id,
        {
            "id": id,
            "arn": arn("ec2", region, f"network-interface/{id}"),
            "interfaceType": "vpc_endpoint",
            "description": f"VPC Endpoint Interface {endpoint_id}",
            "subnetId": subnet_id,
            "vpcId": subnet["vpcId"],
            "availabilityZone": subnet["availabilityZone"],
            "privateIp": address,
            "privateIps": [address],
            "privateDnsName": private_dns(address, region),
            "securityGroups": groups,
            "ownerId": ACCOUNT,
            "region": region,
            "parentId": endpoint_id,
        },
    )
    return id


def update(call: Call) -> dict[str, Any]:
    tx, region = call.tx, region_of(call)
    changed: dict[str, Any] = {}
    subnets = call.inputs.get("subnetIds")
    groups = call.inputs.get("securityGroupIds") or call.old.get("securityGroupIds") or []
    if subnets is not None and set(subnets) != set(call.old.get("subnetIds") or []):
        for id, each in tx.find(kinds.NETWORK_INTERFACE, parentId=call.id):
            if each["subnetId"] not in subnets:
                tx.remove(kinds.NETWORK_INTERFACE, id)
        for subnet_id in subnets:
            if subnet_id not in (call.old.get("subnetIds") or []):
                _add_subnet(tx, call.id, subnet_id, groups, region)
        changed["networkInterfaceIds"] = [id for id, _ in tx.find(kinds.NETWORK_INTERFACE, parentId=call.id)]
    for table_id in call.inputs.get("routeTableIds") or []:
        if table_id not in (call.old.get("routeTableIds") or []):
            _check_table(tx, table_id, call.old["prefixListId"], call.old["serviceName"])
    return changed


def delete(call: Call) -> None:
    call.tx.remove_all(kinds.NETWORK_INTERFACE, parentId=call.id)


ENDPOINT = ResourceType(
    token=kinds.VPC_ENDPOINT,
    title="EC2 VPC Endpoint",
    service="EC2",
    calls={"create": "CreateVpcEndpoint", "update": "ModifyVpcEndpoint", "delete": "DeleteVpcEndpoints"},
    create=create,
    update=update,
    delete=delete,
    defaults={"vpcEndpointType": "Gateway"},
    absent=frozenset({"autoAccept", "resourceConfigurationArn", "serviceNetworkArn"}),
    unordered=frozenset({"routeTableIds", "securityGroupIds", "subnetIds", "subnetConfigurations"}),
    same={"policy": same_document},
    recomputed=lambda call, changed: (
        ("networkInterfaceIds",) if changed & {"subnetIds", "subnetConfigurations"} else ()
    ),
    replaces=frozenset(
        {
            "dnsOptions.privateDnsPreference",
            "dnsOptions.privateDnsSpecifiedDomains",
            "region",
            "resourceConfigurationArn",
            "serviceName",
            "serviceNetworkArn",
            "serviceRegion",
            "vpcEndpointType",
            "vpcId",
        }
    ),
    replaces_when=lambda old, new: (
        () if old.get("vpcEndpointType") == "Interface" else ("privateDnsEnabled",)
    ),
    replaces_source="terraform-provider-aws service/ec2/vpc_endpoint.go at 008db85a, ForceNew and CustomizeDiff",
)


def create_table_association(call: Call) -> Made:
    tx, endpoint_id, table_id = call.tx, call.inputs["vpcEndpointId"], call.inputs["routeTableId"]
    endpoint = need(tx, kinds.VPC_ENDPOINT, endpoint_id, "Vpc Endpoint Id", "InvalidVpcEndpointId.NotFound")
    _check_table(tx, table_id, endpoint["prefixListId"], endpoint["serviceName"])
    tx.patch(kinds.VPC_ENDPOINT, endpoint_id, routeTableIds=[*endpoint["routeTableIds"], table_id])
    return Made(derived_id("a-vpce", f"{endpoint_id}/{table_id}"))


def _drop(call: Call, name: str, member: str) -> None:
    endpoint = call.tx.get(kinds.VPC_ENDPOINT, call.old["vpcEndpointId"])
    if endpoint is not None:
        rest = [each for each in endpoint[name] if each != member]
        call.tx.patch(kinds.VPC_ENDPOINT, call.old["vpcEndpointId"], **{name: rest})


TABLE_ASSOCIATION = ResourceType(
    token=ROUTE_TABLE_ASSOCIATION,
    title="VPC Endpoint Route Table Association",
    service="EC2",
    calls={"create": "ModifyVpcEndpoint", "delete": "ModifyVpcEndpoint"},
    create=create_table_association,
    delete=lambda call: _drop(call, "routeTableIds", call.old["routeTableId"]),
    replaces=frozenset({"region", "routeTableId", "vpcEndpointId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_endpoint_route_table_association.go at 16e76651, "
    "ForceNew",
)


def create_subnet_association(call: Call) -> Made:
    tx, endpoint_id, subnet_id = call.tx, call.inputs["vpcEndpointId"], call.inputs["subnetId"]
    endpoint = need(tx, kinds.VPC_ENDPOINT, endpoint_id, "Vpc Endpoint Id", "InvalidVpcEndpointId.NotFound")
    made = _add_subnet(tx, endpoint_id, subnet_id, endpoint["securityGroupIds"], region_of(call))
    tx.patch(
        kinds.VPC_ENDPOINT,
        endpoint_id,
        subnetIds=[*endpoint["subnetIds"], subnet_id],
        networkInterfaceIds=[*endpoint["networkInterfaceIds"], made],
    )
    return Made(derived_id("a-vpce", f"{endpoint_id}/{subnet_id}"))


def delete_subnet_association(call: Call) -> None:
    for id, each in call.tx.find(kinds.NETWORK_INTERFACE, parentId=call.old["vpcEndpointId"]):
        if each["subnetId"] == call.old["subnetId"]:
            call.tx.remove(kinds.NETWORK_INTERFACE, id)
            _drop(call, "networkInterfaceIds", id)
    _drop(call, "subnetIds", call.old["subnetId"])


SUBNET_ASSOCIATION_TYPE = ResourceType(
    token=SUBNET_ASSOCIATION,
    title="VPC Endpoint Subnet Association",
    service="EC2",
    calls={"create": "ModifyVpcEndpoint", "delete": "ModifyVpcEndpoint"},
    create=create_subnet_association,
    delete=delete_subnet_association,
    replaces=frozenset({"region", "subnetId", "vpcEndpointId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_endpoint_subnet_association.go at 07e0d0b9, ForceNew",
)

TYPES = (ENDPOINT, TABLE_ASSOCIATION, SUBNET_ASSOCIATION_TYPE)
