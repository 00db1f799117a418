"""Transit gateways: VPC attachments, route tables with their associations, propagations and routes.

EC2's codes and sentences without a mark are those that terraform-provider-aws looks for
(internal/service/ec2/errors.go, transitgateway_*.go), from memory: unverified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import ProviderError, Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import ACCOUNT, arn, configured_region, derived_id, new_id, region_of
from .addresses import allocate, cidr_problem
from .direct_connect_gateway import asn_problem
from .errors import need, rule

TABLE_ASSOCIATION = "aws:ec2transitgateway/routeTableAssociation:RouteTableAssociation"
TABLE_PROPAGATION = "aws:ec2transitgateway/routeTablePropagation:RouteTablePropagation"
ROUTE = "aws:ec2transitgateway/route:Route"
DEFAULT_ASN = 64512
"""EC2 API Reference, CreateTransitGateway.AmazonSideAsn."""
_IN_USE = "IncorrectState"


def _gateway(tx: Transaction, id: str) -> Mapping[str, Any]:
    return need(tx, kinds.TRANSIT_GATEWAY, id, "transitGateway ID", "InvalidTransitGatewayID.NotFound")


def _attachment(tx: Transaction, id: str) -> Mapping[str, Any]:
    found = tx.get(kinds.TRANSIT_VPC_ATTACHMENT, id) or tx.get(kinds.TRANSIT_DX_ATTACHMENT, id)
    if found is None:
        raise Refusal(
            "InvalidTransitGatewayAttachmentID.NotFound",
            f"The transitGatewayAttachment ID '{id}' does not exist",
        )
    return found


def _table(tx: Transaction, id: str) -> Mapping[str, Any]:
    return need(tx, kinds.TRANSIT_ROUTE_TABLE, id, "routeTable ID", "InvalidRouteTableID.NotFound")


# Gateways


def create_gateway(call: Call) -> Made:
    id, inputs, region = new_id(call.tx, "tgw"), call.inputs, region_of(call)
    table = ""
    if "disable" not in (
        inputs.get("defaultRouteTableAssociation"),
        inputs.get("defaultRouteTablePropagation"),
    ):
        table = new_id(call.tx, "tgw-rtb")
        call.tx.put(
            kinds.TRANSIT_ROUTE_TABLE,
            table,
            {
                "id": table,
                "arn": arn("ec2", region, f"transit-gateway-route-table/{table}"),
                "transitGatewayId": id,
                "region": region,
                "defaultAssociationRouteTable": True,
                "defaultPropagationRouteTable": True,
                "isDefault": True,
                "tagsAll": {},
            },
        )
    return Made(
        id,
        {
            "arn": arn("ec2", region, f"transit-gateway/{id}"),
            "associationDefaultRouteTableId": table,
            "encryptionSupport": inputs.get("encryptionSupport", "disable"),
            "ownerId": ACCOUNT,
            "propagationDefaultRouteTableId": table,
        },
    )


def update_gateway(call: Call) -> dict[str, Any]:
    joined = call.tx.find(kinds.TRANSIT_DX_ATTACHMENT, transitGatewayId=call.id)
    if call.changed("amazonSideAsn") and joined:
        raise rule(
            f"The ASN of {call.id} cannot change while it has attachments of Direct Connect gateways: "
            f"{', '.join(id for id, _ in joined)}.",
            "EC2 API Reference, ModifyTransitGatewayOptions.AmazonSideAsn",
            code=_IN_USE,
        )
    return {}


def delete_gateway(call: Call) -> None:
    users = [
        id
        for kind in (kinds.TRANSIT_VPC_ATTACHMENT, kinds.TRANSIT_DX_ATTACHMENT)
        for id, _ in call.tx.find(kind, transitGatewayId=call.id)
    ]
    if users:
        raise Refusal(_IN_USE, f"{call.id} has non-deleted Transit Gateway Attachments: {', '.join(users)}.")
    own = [
        id
        for id, each in call.tx.find(kinds.TRANSIT_ROUTE_TABLE, transitGatewayId=call.id)
        if not each.get("isDefault")
    ]
    if own:
        raise Refusal(_IN_USE, f"{call.id} has non-deleted Transit Gateway Route Tables: {', '.join(own)}.")
    call.tx.remove_all(kinds.TRANSIT_ROUTE_TABLE, transitGatewayId=call.id)


GATEWAY = ResourceType(
    token=kinds.TRANSIT_GATEWAY,
    title="EC2 Transit Gateway",
    service="EC2",
    calls={
        "create": "CreateTransitGateway",
        "update": "ModifyTransitGateway",
        "delete": "DeleteTransitGateway",
    },
    create=create_gateway,
    update=update_gateway,
    delete=delete_gateway,
    check=lambda call: asn_problem(call.inputs.get("amazonSideAsn"), "amazonSideAsn", "amazon_side_asn"),
    defaults={
        "amazonSideAsn": DEFAULT_ASN,
        "autoAcceptSharedAttachments": "disable",
        "defaultRouteTableAssociation": "enable",
        "defaultRouteTablePropagation": "enable",
        "dnsSupport": "enable",
        "multicastSupport": "disable",
        "securityGroupReferencingSupport": "disable",
        "vpnEcmpSupport": "enable",
    },
    unordered=frozenset({"transitGatewayCidrBlocks"}),
    replaces=frozenset({"multicastSupport", "region"}),
    replaces_source="terraform-provider-aws service/ec2/transitgateway_.go, ForceNew; the ASN changes in place "
    "where EC2 allows it: from memory, unverified",
)


# Attachments


def create_attachment(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    gateway = _gateway(tx, inputs["transitGatewayId"])
    vpc_id = inputs["vpcId"]
    need(tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    if tx.find(kinds.TRANSIT_VPC_ATTACHMENT, vpcId=vpc_id, transitGatewayId=inputs["transitGatewayId"]):
        raise Refusal(
            "DuplicateTransitGatewayAttachment",
            f"{inputs['transitGatewayId']} has non-deleted Transit Gateway Attachments with same VPC ID.",
        )
    id = new_id(tx, "tgw-attach")
    _place(tx, id, vpc_id, inputs["subnetIds"], region)
    default = bool(gateway.get("associationDefaultRouteTableId"))
    return Made(
        id,
        {
            "arn": arn("ec2", region, f"transit-gateway-attachment/{id}"),
            "vpcOwnerId": ACCOUNT,
            "resourceId": vpc_id,
            "resourceType": "vpc",
            "securityGroupReferencingSupport": inputs.get(
                "securityGroupReferencingSupport", gateway["securityGroupReferencingSupport"]
            ),
            "transitGatewayDefaultRouteTableAssociation": inputs.get(
                "transitGatewayDefaultRouteTableAssociation", default
            ),
            "transitGatewayDefaultRouteTablePropagation": inputs.get(
                "transitGatewayDefaultRouteTablePropagation", default
            ),
        },
    )


def _place(tx: Transaction, id: str, vpc_id: str, subnet_ids: list[str], region: str) -> None:
    """One interface in each subnet: one subnet for a zone."""
    zones: set[str] = set()
    for subnet_id in subnet_ids:
        subnet = need(tx, kinds.SUBNET, subnet_id, "subnet ID", "InvalidSubnetID.NotFound")
        if subnet["vpcId"] != vpc_id:
            raise rule(
                f"The subnet ID '{subnet_id}' is not in {vpc_id}.",
                "EC2 API Reference, CreateTransitGatewayVpcAttachment",
                code="InvalidSubnetID.NotFound",
            )
        if subnet["availabilityZone"] in zones:
            raise Refusal("DuplicateSubnetsInSameZone", "Duplicate Subnets for same AZ")
        zones.add(subnet["availabilityZone"])
        interface, own = derived_id("eni", f"{id}/{subnet_id}"), allocate(tx, subnet_id, 1)[0]
        tx.put(
            kinds.NETWORK_INTERFACE,
            interface,
            {
                "id": interface,
                "arn": arn("ec2", region, f"network-interface/{interface}"),
                "interfaceType": "transit_gateway",
                "description": f"Network Interface for Transit Gateway Attachment {id}",
                "subnetId": subnet_id,
                "vpcId": vpc_id,
                "availabilityZone": subnet["availabilityZone"],
                "privateIp": own,
                "privateIps": [own],
                "securityGroups": [],
                "ownerId": ACCOUNT,
                "region": region,
                "parentId": id,
            },
        )


def update_attachment(call: Call) -> dict[str, Any]:
    if call.changed("subnetIds"):
        call.tx.remove_all(kinds.NETWORK_INTERFACE, parentId=call.id)
        _place(call.tx, call.id, call.old["vpcId"], call.inputs["subnetIds"], region_of(call))
    return {}


def delete_attachment(call: Call) -> None:
    """The provider ends nothing else; routes that lead here become blackholes."""
    call.tx.remove_all(kinds.NETWORK_INTERFACE, parentId=call.id)
    for kind in (TABLE_ASSOCIATION, TABLE_PROPAGATION):
        call.tx.remove_all(kind, transitGatewayAttachmentId=call.id)


ATTACHMENT = ResourceType(
    token=kinds.TRANSIT_VPC_ATTACHMENT,
    title="EC2 Transit Gateway VPC Attachment",
    service="EC2",
    calls={
        "create": "CreateTransitGatewayVpcAttachment",
        "update": "ModifyTransitGatewayVpcAttachment",
        "delete": "DeleteTransitGatewayVpcAttachment",
    },
    create=create_attachment,
    update=update_attachment,
    delete=delete_attachment,
    defaults={"applianceModeSupport": "disable", "dnsSupport": "enable", "ipv6Support": "disable"},
    unordered=frozenset({"subnetIds"}),
    replaces=frozenset({"region", "transitGatewayId", "vpcId"}),
    replaces_source="terraform-provider-aws service/ec2/transitgateway_vpc_attachment.go, ForceNew; from memory, "
    "unverified",
)


# Route tables


def create_table(call: Call) -> Made:
    _gateway(call.tx, call.inputs["transitGatewayId"])
    id = new_id(call.tx, "tgw-rtb")
    return Made(
        id,
        {
            "arn": arn("ec2", region_of(call), f"transit-gateway-route-table/{id}"),
            "defaultAssociationRouteTable": False,
            "defaultPropagationRouteTable": False,
        },
    )


def delete_table(call: Call) -> None:
    used = [
        each["transitGatewayAttachmentId"]
        for _, each in call.tx.find(TABLE_ASSOCIATION, transitGatewayRouteTableId=call.id)
    ]
    if used:
        raise rule(
            f"{call.id} is associated with {', '.join(used)}.",
            "EC2 API Reference, DeleteTransitGatewayRouteTable",
            code=_IN_USE,
        )
    call.tx.remove_all(ROUTE, transitGatewayRouteTableId=call.id)
    call.tx.remove_all(TABLE_PROPAGATION, transitGatewayRouteTableId=call.id)


TABLE = ResourceType(
    token=kinds.TRANSIT_ROUTE_TABLE,
    title="EC2 Transit Gateway Route Table",
    service="EC2",
    calls={"create": "CreateTransitGatewayRouteTable", "delete": "DeleteTransitGatewayRouteTable"},
    create=create_table,
    delete=delete_table,
    replaces=frozenset({"region", "transitGatewayId"}),
    replaces_source="terraform-provider-aws service/ec2/transitgateway_route_table.go, ForceNew; from memory, "
    "unverified",
)


def _joined(call: Call) -> tuple[Mapping[str, Any], str]:
    """The attachment and the table, of one gateway, and the id that the provider makes of the two."""
    table_id, attachment_id = (
        call.inputs["transitGatewayRouteTableId"],
        call.inputs["transitGatewayAttachmentId"],
    )
    attachment = _attachment(call.tx, attachment_id)
    if _table(call.tx, table_id)["transitGatewayId"] != attachment["transitGatewayId"]:
        raise rule(
            f"{attachment_id} and {table_id} belong to different transit gateways.",
            "EC2 API Reference, AssociateTransitGatewayRouteTable",
            code="InvalidParameterValue",
        )
    return attachment, f"{table_id}_{attachment_id}"


def _resource(attachment: Mapping[str, Any]) -> dict[str, Any]:
    return {"resourceId": attachment["resourceId"], "resourceType": attachment["resourceType"]}


def create_table_association(call: Call) -> Made:
    attachment, id = _joined(call)
    attachment_id = call.inputs["transitGatewayAttachmentId"]
    gateway = _gateway(call.tx, attachment["transitGatewayId"])
    by_default = gateway.get("associationDefaultRouteTableId") and attachment.get(
        "transitGatewayDefaultRouteTableAssociation", True
    )
    others = call.tx.find(TABLE_ASSOCIATION, transitGatewayAttachmentId=attachment_id)
    if (others or by_default) and not call.inputs.get("replaceExistingAssociation"):
        raise Refusal(
            "Resource.AlreadyAssociated",
            f"Transit Gateway Attachment {attachment_id} is already associated to a route table.",
        )
    return Made(id, _resource(attachment))


TABLE_ASSOCIATION_TYPE = ResourceType(
    token=TABLE_ASSOCIATION,
    title="EC2 Transit Gateway Route Table Association",
    service="EC2",
    calls={
        "create": "AssociateTransitGatewayRouteTable",
        "delete": "DisassociateTransitGatewayRouteTable",
    },
    create=create_table_association,
    replaces=frozenset(
        {
            "region",
            "replaceExistingAssociation",
            "transitGatewayAttachmentId",
            "transitGatewayRouteTableId",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/transitgateway_route_table_association.go, ForceNew; from "
    "memory, unverified",
)


def create_table_propagation(call: Call) -> Made:
    attachment, id = _joined(call)
    return Made(id, _resource(attachment))


TABLE_PROPAGATION_TYPE = ResourceType(
    token=TABLE_PROPAGATION,
    title="EC2 Transit Gateway Route Table Propagation",
    service="EC2",
    calls={
        "create": "EnableTransitGatewayRouteTablePropagation",
        "delete": "DisableTransitGatewayRouteTablePropagation",
    },
    create=create_table_propagation,
    replaces=frozenset({"region", "transitGatewayAttachmentId", "transitGatewayRouteTableId"}),
    replaces_source="terraform-provider-aws service/ec2/transitgateway_route_table_propagation.go, ForceNew; from "
    "memory, unverified",
)


def create_route(call: Call) -> Made:
    inputs, table_id = call.inputs, call.inputs["transitGatewayRouteTableId"]
    destination = inputs["destinationCidrBlock"]
    _table(call.tx, table_id)
    if not inputs.get("blackhole"):
        if not inputs.get("transitGatewayAttachmentId"):
            raise Refusal(
                "MissingParameter", "The request must contain the parameter TransitGatewayAttachmentId"
            )
        _joined(call)
    if call.tx.find(ROUTE, transitGatewayRouteTableId=table_id, destinationCidrBlock=destination):
        raise Refusal(
            "RouteAlreadyExists",
            f"Route {destination} already exists in Transit Gateway Route Table {table_id}.",
        )
    return Made(f"{table_id}_{destination}")


ROUTE_TYPE = ResourceType(
    token=ROUTE,
    title="EC2 Transit Gateway Route",
    service="EC2",
    calls={"create": "CreateTransitGatewayRoute", "delete": "DeleteTransitGatewayRoute"},
    create=create_route,
    check=lambda call: cidr_problem(call.inputs.get("destinationCidrBlock"), "destinationCidrBlock"),
    defaults={"blackhole": False},
    replaces=frozenset(
        {
            "blackhole",
            "destinationCidrBlock",
            "region",
            "transitGatewayAttachmentId",
            "transitGatewayRouteTableId",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/transitgateway_route.go, ForceNew; from memory, unverified",
)


# Look-ups


def look_up_dx_attachment(lookup: Lookup) -> dict[str, Any]:
    wanted = {
        name: lookup.args[name] for name in ("dxGatewayId", "transitGatewayId") if lookup.args.get(name)
    }
    if lookup.args.get("filters"):
        raise ProviderError(
            "the simulated AWS does not know filters of getDirectConnectGatewayAttachment; give dxGatewayId and "
            "transitGatewayId"
        )
    found = lookup.tx.find(kinds.TRANSIT_DX_ATTACHMENT, **wanted)
    if len(found) != 1:
        what = "no matching" if not found else "multiple"
        raise ProviderError(f"{what} EC2 Transit Gateway Direct Connect Gateway Attachment found")
    id, each = found[0]
    region = each.get("region") or configured_region(lookup.config)
    return {**each, "id": id, "arn": arn("ec2", region, f"transit-gateway-attachment/{id}"), "tags": {}}


def look_up_gateway(lookup: Lookup) -> dict[str, Any]:
    region = lookup.args.get("region") or configured_region(lookup.config)
    if lookup.args.get("filters"):
        raise ProviderError("the simulated AWS does not know filters of getTransitGateway; give id or tags")
    tags = lookup.args.get("tags") or {}
    found = [
        {**each, "id": id}
        for id, each in lookup.tx.find(kinds.TRANSIT_GATEWAY)
        if each.get("region", region) == region
        and lookup.args.get("id") in (None, id)
        and tags.items() <= (each.get("tags") or {}).items()
    ]
    if len(found) != 1:
        what = "no matching" if not found else "multiple"
        raise ProviderError(f"{what} EC2 Transit Gateway found")
    return {**found[0], "tags": found[0].get("tags") or {}}


TYPES = (
    GATEWAY,
    ATTACHMENT,
    TABLE,
    TABLE_ASSOCIATION_TYPE,
    TABLE_PROPAGATION_TYPE,
    ROUTE_TYPE,
)
FUNCTIONS = (
    Function(
        "aws:ec2transitgateway/getDirectConnectGatewayAttachment:getDirectConnectGatewayAttachment",
        look_up_dx_attachment,
    ),
    Function("aws:ec2transitgateway/getTransitGateway:getTransitGateway", look_up_gateway),
)
