"""Virtual private gateways, their attachment to a VPC, and the routes they propagate into route tables."""

from __future__ import annotations

from typing import Any

from ..core.errors import ProviderError, Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import arn, configured_region, new_id, region_of
from .direct_connect_gateway import asn_problem
from .errors import need, rule

ATTACHMENT = "aws:ec2/vpnGatewayAttachment:VpnGatewayAttachment"
PROPAGATION = "aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation"
DEFAULT_ASN = "64512"
"""EC2 API Reference, CreateVpnGateway.AmazonSideAsn."""
_IN_USE = "IncorrectState"


def _need(tx: Transaction, id: str) -> dict[str, Any]:
    return dict(need(tx, kinds.VPN_GATEWAY, id, "vpnGateway ID", "InvalidVpnGatewayID.NotFound"))


def _attach(tx: Transaction, gateway_id: str, vpc_id: str) -> None:
    need(tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    if any(id != gateway_id for id, _ in tx.find(kinds.VPN_GATEWAY, vpcId=vpc_id)):
        raise rule(
            f"VPC {vpc_id} has a virtual private gateway attached already.",
            "EC2 API Reference, error codes",
            code="VpnGatewayAttachmentLimitExceeded",
        )


def _check_detach(tx: Transaction, gateway_id: str) -> None:
    """A gateway stays attached while Direct Connect or a route table uses it."""
    users = [
        f"Direct Connect Gateway {each['dxGatewayId']}"
        for _, each in tx.find(kinds.DX_ASSOCIATION, associatedGatewayId=gateway_id)
    ]
    users += [id for id, _ in tx.find(kinds.PRIVATE_VIF, vpnGatewayId=gateway_id)]
    if users:
        raise rule(
            f"vpnGateway {gateway_id} is in use by {', '.join(users)}.",
            "Direct Connect User Guide, virtualgateways.html",
            code=_IN_USE,
        )


def create_gateway(call: Call) -> Made:
    id, vpc_id = new_id(call.tx, "vgw"), call.inputs.get("vpcId")
    if vpc_id:
        _attach(call.tx, id, vpc_id)
    return Made(
        id,
        {
            "amazonSideAsn": call.inputs.get("amazonSideAsn", DEFAULT_ASN),
            "arn": arn("ec2", region_of(call), f"vpn-gateway/{id}"),
            "vpcId": vpc_id or "",
        },
    )


def update_gateway(call: Call) -> dict[str, Any]:
    vpc_id = call.inputs.get("vpcId")
    if vpc_id is None or vpc_id == call.old.get("vpcId"):
        return {}
    _check_detach(call.tx, call.id)
    _attach(call.tx, call.id, vpc_id)
    return {"vpcId": vpc_id}


GATEWAY = ResourceType(
    token=kinds.VPN_GATEWAY,
    title="EC2 VPN Gateway",
    service="EC2",
    calls={"create": "CreateVpnGateway", "update": "AttachVpnGateway", "delete": "DeleteVpnGateway"},
    create=create_gateway,
    update=update_gateway,
    delete=lambda call: _check_detach(call.tx, call.id),
    check=lambda call: asn_problem(call.inputs.get("amazonSideAsn"), "amazonSideAsn", "amazon_side_asn"),
    replaces=frozenset({"amazonSideAsn", "availabilityZone", "region"}),
    replaces_source="terraform-provider-aws service/ec2/vpnsite_gateway.go, ForceNew; from memory, unverified",
)


def create_attachment(call: Call) -> Made:
    tx, gateway_id, vpc_id = call.tx, call.inputs["vpnGatewayId"], call.inputs["vpcId"]
    gateway = _need(tx, gateway_id)
    if gateway.get("vpcId") not in (None, "", vpc_id):
        raise rule(
            f"vpnGateway {gateway_id} is attached to {gateway['vpcId']} already.",
            "EC2 API Reference, AttachVpnGateway",
            code=_IN_USE,
        )
    _attach(tx, gateway_id, vpc_id)
    tx.patch(kinds.VPN_GATEWAY, gateway_id, vpcId=vpc_id)
    return Made(f"vpn-attachment-{gateway_id.removeprefix('vgw-')[:8]}")


def delete_attachment(call: Call) -> None:
    gateway_id = call.old["vpnGatewayId"]
    _check_detach(call.tx, gateway_id)
    if call.tx.get(kinds.VPN_GATEWAY, gateway_id) is not None:
        call.tx.patch(kinds.VPN_GATEWAY, gateway_id, vpcId="")


ATTACHMENT_TYPE = ResourceType(
    token=ATTACHMENT,
    title="EC2 VPN Gateway Attachment",
    service="EC2",
    calls={"create": "AttachVpnGateway", "delete": "DetachVpnGateway"},
    create=create_attachment,
    delete=delete_attachment,
    replaces=frozenset({"region", "vpcId", "vpnGatewayId"}),
    replaces_source="terraform-provider-aws service/ec2/vpnsite_gateway_attachment.go, ForceNew; from memory, "
    "unverified",
)


def create_propagation(call: Call) -> Made:
    tx, table_id, gateway_id = call.tx, call.inputs["routeTableId"], call.inputs["vpnGatewayId"]
    table = need(tx, kinds.ROUTE_TABLE, table_id, "routeTable ID", "InvalidRouteTableID.NotFound")
    gateway = _need(tx, gateway_id)
    if gateway.get("vpcId") != table["vpcId"]:
        raise Refusal(
            "Gateway.NotAttached",
            f"route table {table_id} and network gateway {gateway_id} belong to different networks",
        )
    propagating = table.get("propagatingVgws") or []
    tx.patch(kinds.ROUTE_TABLE, table_id, propagatingVgws=[*propagating, gateway_id])
    return Made(f"{gateway_id}_{table_id}")


def delete_propagation(call: Call) -> None:
    table = call.tx.get(kinds.ROUTE_TABLE, call.old["routeTableId"])
    if table is not None:
        left = [each for each in table.get("propagatingVgws") or [] if each != call.old["vpnGatewayId"]]
        call.tx.patch(kinds.ROUTE_TABLE, call.old["routeTableId"], propagatingVgws=left)


PROPAGATION_TYPE = ResourceType(
    token=PROPAGATION,
    title="EC2 VPN Gateway Route Propagation",
    service="EC2",
    calls={"create": "EnableVgwRoutePropagation", "delete": "DisableVgwRoutePropagation"},
    create=create_propagation,
    delete=delete_propagation,
    replaces=frozenset({"region", "routeTableId", "vpnGatewayId"}),
    replaces_source="terraform-provider-aws service/ec2/vpnsite_gateway_route_propagation.go, ForceNew; from memory, "
    "unverified",
)


def look_up_gateway(lookup: Lookup) -> dict[str, Any]:
    args = lookup.args
    region = args.get("region") or configured_region(lookup.config)
    wanted = {
        "id": args.get("id"),
        "vpcId": args.get("attachedVpcId"),
        "amazonSideAsn": args.get("amazonSideAsn"),
        "state": args.get("state"),
    }
    if args.get("filters"):
        raise ProviderError(
            "the simulated AWS does not know filters of getVpnGateway; give id or attachedVpcId"
        )
    found: list[dict[str, Any]] = [
        {**each, "id": id, "state": "available"}
        for id, each in lookup.tx.find(kinds.VPN_GATEWAY)
        if each.get("region", region) == region
    ]
    found = [
        each
        for each in found
        if all(value is None or str(each.get(name)) == str(value) for name, value in wanted.items())
        and (args.get("tags") or {}).items() <= (each.get("tags") or {}).items()
    ]
    if len(found) != 1:
        what = "no matching" if not found else "multiple"
        raise ProviderError(f"{what} EC2 VPN Gateway found")
    return {**found[0], "attachedVpcId": found[0].get("vpcId", ""), "tags": found[0].get("tags") or {}}


TYPES = (GATEWAY, ATTACHMENT_TYPE, PROPAGATION_TYPE)
FUNCTIONS = (Function("aws:ec2/getVpnGateway:getVpnGateway", look_up_gateway),)
