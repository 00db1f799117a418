"""Route tables, routes and which subnet uses which table."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import ACCOUNT, arn, new_id, region_of
from .addresses import cidr_problem
from .errors import need, rule

ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
MAIN_ASSOCIATION = "aws:ec2/mainRouteTableAssociation:MainRouteTableAssociation"

TARGETS: Mapping[str, tuple[str, str, str] | None] = {
    "gatewayId": (
        kinds.INTERNET_GATEWAY,
        "InvalidGatewayID.NotFound",
        "The gateway ID '{id}' does not exist",
    ),
    "natGatewayId": (kinds.NAT_GATEWAY, "NatGatewayNotFound", "NatGateway {id} was not found"),
    "networkInterfaceId": (
        kinds.NETWORK_INTERFACE,
        "InvalidNetworkInterfaceID.NotFound",
        "The networkInterface ID '{id}' does not exist",
    ),
    "vpcEndpointId": (
        kinds.VPC_ENDPOINT,
        "InvalidVpcEndpointId.NotFound",
        "The Vpc Endpoint Id '{id}' does not exist",
    ),
    "carrierGatewayId": None,
    "coreNetworkArn": None,
    "egressOnlyGatewayId": None,
    "localGatewayId": None,
    "odbNetworkArn": None,
    "transitGatewayId": (
        kinds.TRANSIT_GATEWAY,
        "InvalidTransitGatewayID.NotFound",
        "The transitGateway ID '{id}' does not exist",
    ),
    "vpcPeeringConnectionId": None,
}
"""Where a route may lead: what must be there, and EC2's words if it is not. None: nothing the simulation holds."""
DESTINATIONS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
INLINE_DESTINATIONS = ("cidrBlock", "ipv6CidrBlock", "destinationPrefixListId")


def _table(tx: Transaction, id: str) -> dict[str, Any]:
    return dict(need(tx, kinds.ROUTE_TABLE, id, "routeTable ID", "InvalidRouteTableID.NotFound"))


def _check_target(tx: Transaction, table: Mapping[str, Any], route: Mapping[str, Any]) -> None:
    for name, expected in TARGETS.items():
        id = route.get(name)
        if not id or expected is None or id == "local":
            continue
        kind, code, sentence = expected
        if str(id).startswith("vgw-"):
            kind = kinds.VPN_GATEWAY
        found = tx.get(kind, id)
        if found is None:
            raise Refusal(code, sentence.format(id=id))
        if found.get("vpcId") != table["vpcId"] and name == "gatewayId":
            raise Refusal(
                "InvalidParameterValue",
                f"route table {table['id']} and network gateway {id} belong to different networks",
            )
        if kind == kinds.TRANSIT_GATEWAY and not tx.find(
            kinds.TRANSIT_VPC_ATTACHMENT, vpcId=table["vpcId"], transitGatewayId=id
        ):
            raise rule(
                f"The transitGateway ID '{id}' is not attached to {table['vpcId']}.",
                "VPC User Guide, route-table-options.html",
                code="InvalidTransitGatewayID.NotFound",
            )


def _destination(route: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(route[name]) for name in names if route.get(name)), "")


def _taken(tx: Transaction, table_id: str, without: str = "") -> set[str]:
    """The destinations that the table has routes to."""
    inline = {_destination(route, INLINE_DESTINATIONS) for route in _table(tx, table_id).get("routes") or []}
    return inline | {
        _destination(route, DESTINATIONS)
        for id, route in tx.find(ROUTE, routeTableId=table_id)
        if id != without
    }


def _admit(tx: Transaction, table_id: str, destination: str, taken: set[str]) -> None:
    if destination in taken:
        raise Refusal("RouteAlreadyExists", f"The route identified by {destination} already exists.")
    table = _table(tx, table_id)
    vpc = tx.get(kinds.VPC, table["vpcId"])
    if vpc is not None and destination == vpc["cidrBlock"]:
        raise Refusal("RouteAlreadyExists", f"The route identified by {destination} already exists.")


# Route table


def create_table(call: Call) -> Made:
    tx, vpc_id = call.tx, call.inputs["vpcId"]
    need(tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    id = new_id(tx, "rtb")
    tx.put(kinds.ROUTE_TABLE, id, {"id": id, "vpcId": vpc_id, "routes": []})
    routes = call.inputs.get("routes", [])
    _check_routes(tx, id, routes)
    return Made(
        id,
        {
            "arn": arn("ec2", region_of(call), f"route-table/{id}"),
            "ownerId": ACCOUNT,
            "routes": routes,
            "propagatingVgws": call.inputs.get("propagatingVgws", []),
        },
    )


def _check_routes(tx: Transaction, table_id: str, routes: list[dict[str, Any]]) -> None:
    table = _table(tx, table_id)
    taken: set[str] = {
        _destination(route, DESTINATIONS) for _, route in tx.find(ROUTE, routeTableId=table_id)
    }
    for route in routes:
        destination = _destination(route, INLINE_DESTINATIONS)
        _admit(tx, table_id, destination, taken)
        _check_target(tx, table, route)
        taken.add(destination)


def update_table(call: Call) -> dict[str, Any]:
    routes = call.inputs.get("routes")
    if routes is None:
        return {}
    _check_routes(call.tx, call.id, routes)
    return {"routes": routes}


def delete_table(call: Call) -> None:
    """The provider ends the table's associations first."""
    if call.old.get("isMain"):
        raise Refusal(
            "DependencyViolation", f"The routeTable '{call.id}' has dependencies and cannot be deleted."
        )
    call.tx.remove_all(ASSOCIATION, routeTableId=call.id)
    call.tx.remove_all(ROUTE, routeTableId=call.id)


TABLE = ResourceType(
    token=kinds.ROUTE_TABLE,
    title="Route Table",
    service="EC2",
    calls={"create": "CreateRouteTable", "update": "CreateRoute", "delete": "DeleteRouteTable"},
    create=create_table,
    update=update_table,
    delete=delete_table,
    unordered=frozenset({"routes", "propagatingVgws"}),
    replaces=frozenset({"region", "vpcId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_route_table.go at 02209241, ForceNew",
)


# Route


def check_route(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_route.go: ExactlyOneOf."""
    inputs = call.inputs
    if sum(inputs.get(name) is not None for name in DESTINATIONS) != 1:
        yield Problem(
            "destinationCidrBlock",
            '"destination_cidr_block": one of `destination_cidr_block,destination_ipv6_cidr_block,'
            "destination_prefix_list_id` must be specified",
        )
    if sum(inputs.get(name) is not None for name in TARGETS) != 1:
        yield Problem("gatewayId", '"gateway_id": exactly one target of the route must be specified')
    yield from cidr_problem(inputs.get("destinationCidrBlock"), "destinationCidrBlock")


def create_route(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    table_id = inputs["routeTableId"]
    table = _table(tx, table_id)
    destination = _destination(inputs, DESTINATIONS)
    _admit(tx, table_id, destination, _taken(tx, table_id))
    _check_target(tx, table, inputs)
    return Made(f"r-{table_id}{zlib.crc32(destination.encode())}", _route_state())


def _route_state() -> dict[str, Any]:
    return {
        "origin": "CreateRoute",
        "state": "active",
        "instanceId": "",
        "instanceOwnerId": "",
        "networkInterfaceId": "",
    }


def update_route(call: Call) -> dict[str, Any]:
    _check_target(call.tx, _table(call.tx, call.inputs["routeTableId"]), call.inputs)
    return {"networkInterfaceId": call.inputs.get("networkInterfaceId", "")}


ROUTE_TYPE = ResourceType(
    token=ROUTE,
    title="Route",
    service="EC2",
    calls={"create": "CreateRoute", "update": "ReplaceRoute", "delete": "DeleteRoute"},
    doing={"create": "creating Route"},
    create=create_route,
    update=update_route,
    check=check_route,
    filled=frozenset({"networkInterfaceId"}),
    replaces=frozenset({*DESTINATIONS, "region", "routeTableId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_route.go at 0128541e, ForceNew",
)


# Associations


def create_association(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    _table(tx, inputs["routeTableId"])
    subnet_id = inputs.get("subnetId")
    if subnet_id:
        need(tx, kinds.SUBNET, subnet_id, "subnet ID", "InvalidSubnetID.NotFound")
        if tx.find(ASSOCIATION, subnetId=subnet_id):
            raise Refusal(
                "Resource.AlreadyAssociated",
                f"the specified association for route table {inputs['routeTableId']} conflicts with an existing "
                f"association",
            )
    return Made(new_id(tx, "rtbassoc"))


def check_association(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_route_table_association.go: ExactlyOneOf."""
    if (call.inputs.get("subnetId") is None) == (call.inputs.get("gatewayId") is None):
        yield Problem("subnetId", '"subnet_id": one of `gateway_id,subnet_id` must be specified')


def update_association(call: Call) -> dict[str, Any]:
    _table(call.tx, call.inputs["routeTableId"])
    return {}


ASSOCIATION_TYPE = ResourceType(
    token=ASSOCIATION,
    title="Route Table Association",
    service="EC2",
    calls={
        "create": "AssociateRouteTable",
        "update": "ReplaceRouteTableAssociation",
        "delete": "DisassociateRouteTable",
    },
    create=create_association,
    update=update_association,
    check=check_association,
    replaces=frozenset({"gatewayId", "region", "subnetId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_route_table_association.go at 0be71beb, "
    "ForceNew. The real id changes with an update; here it stays",
)


def _make_main(tx: Transaction, vpc_id: str, table_id: str) -> str:
    """Make the table the VPC's main one. Returns the id of the one it was."""
    need(tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    before = next(id for id, each in tx.find(kinds.ROUTE_TABLE, vpcId=vpc_id) if each.get("isMain"))
    _table(tx, table_id)
    tx.patch(kinds.ROUTE_TABLE, before, isMain=False)
    tx.patch(kinds.ROUTE_TABLE, table_id, isMain=True)
    return before


def create_main(call: Call) -> Made:
    before = _make_main(call.tx, call.inputs["vpcId"], call.inputs["routeTableId"])
    return Made(new_id(call.tx, "rtbassoc"), {"originalRouteTableId": before})


def update_main(call: Call) -> dict[str, Any]:
    _make_main(call.tx, call.old["vpcId"], call.inputs["routeTableId"])
    return {}


def delete_main(call: Call) -> None:
    """The provider gives the VPC its first main table back."""
    if call.tx.get(kinds.VPC, call.old["vpcId"]) is not None:
        _make_main(call.tx, call.old["vpcId"], call.old["originalRouteTableId"])


MAIN_TYPE = ResourceType(
    token=MAIN_ASSOCIATION,
    title="Main Route Table Association",
    service="EC2",
    calls=dict.fromkeys(("create", "update", "delete"), "ReplaceRouteTableAssociation"),
    create=create_main,
    update=update_main,
    delete=delete_main,
    replaces=frozenset({"region"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_main_route_table_association.go at 01f43111, ForceNew",
)

TYPES = (TABLE, ROUTE_TYPE, ASSOCIATION_TYPE, MAIN_TYPE)
