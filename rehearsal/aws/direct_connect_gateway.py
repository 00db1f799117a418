"""Direct Connect gateways and their associations with virtual private and transit gateways.

An association with a transit gateway that allows no prefix is accepted and announces nothing, without a word: what it
announces is in the database as ``announcedPrefixes``.

``quota`` switches: ``directConnectGatewayVirtualPrivateGateways`` (20) and ``directConnectGatewayTransitGateways`` (6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from ..core.errors import Problem, ProviderError
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from ..core.values import is_unknown
from . import kinds
from .account import ACCOUNT, derived_id, global_arn, region_of
from .errors import rule

PRIVATE_ASNS = ((64512, 65534), (4200000000, 4294967294))
"""The ASNs that Amazon's side may have (pulumi-aws 7.51.1, directconnect.Gateway.amazonSideAsn)."""
MIXING = "Direct Connect User Guide, direct-connect-gateways-intro.html"
QUOTAS = "Direct Connect User Guide, limits.html"
_LIMITS = {
    "virtualPrivateGateway": ("directConnectGatewayVirtualPrivateGateways", 20, "virtual private gateways"),
    "transitGateway": ("directConnectGatewayTransitGateways", 6, "transit gateways"),
}


def asn_problem(value: Any, path: str, name: str) -> Iterator[Problem]:
    """What terraform-provider-aws validAmazonSideASN says of Amazon's ASN."""
    if value is None or is_unknown(value):
        return
    try:
        number = int(value)
    except ValueError:
        yield Problem(path, f'"{name}" ("{value}") must be a 64-bit integer')
        return
    if not any(low <= number <= high for low, high in PRIVATE_ASNS):
        yield Problem(
            path, f'"{name}" ("{value}") must be in the range 64512 to 65534 or 4200000000 to 4294967294'
        )


def find_gateway(tx: Transaction, id: str) -> dict[str, Any]:
    """The gateway, or Direct Connect's refusal."""
    found = tx.get(kinds.DX_GATEWAY, id)
    if found is None:
        raise rule(f"Direct Connect Gateway {id} does not exist.", "Direct Connect API Reference")
    return found


def associations(tx: Transaction, gateway_id: str) -> list[dict[str, Any]]:
    """What is associated with the gateway."""
    return [each for _, each in tx.find(kinds.DX_ASSOCIATION, dxGatewayId=gateway_id)]


def interfaces_of(tx: Transaction, gateway_id: str, transit: bool) -> list[str]:
    """The ids of the transit virtual interfaces, or of the private ones, that the gateway has."""
    own = kinds.TRANSIT_VIF if transit else kinds.PRIVATE_VIF
    hosted = tx.find(kinds.HOSTED_VIF, dxGatewayId=gateway_id)
    return [id for id, _ in tx.find(own, dxGatewayId=gateway_id)] + [
        id for id, each in hosted if (each["type"] == "transit") == transit
    ]


def refuse_mixing(tx: Transaction, gateway_id: str, transit: bool) -> None:
    """A gateway has virtual private gateways and private interfaces, or transit gateways and transit ones."""
    other_type = "virtualPrivateGateway" if transit else "transitGateway"
    clash = [
        each["associatedGatewayId"]
        for each in associations(tx, gateway_id)
        if each["associatedGatewayType"] == other_type
    ] + interfaces_of(tx, gateway_id, not transit)
    if clash:
        wanted = "a transit gateway or transit" if transit else "a virtual private gateway or private"
        raise rule(
            f"Direct Connect Gateway {gateway_id} is in use by {', '.join(clash)}; it cannot have {wanted} virtual "
            f"interface as well.",
            MIXING,
        )


# Gateways


def create_gateway(call: Call) -> Made:
    number = call.tx.next("directConnectGateway")
    id = f"00000000-0000-4000-8000-{number:012d}"
    return Made(
        id,
        {
            "arn": global_arn("directconnect", region_of(call), f"dx-gateway/{id}"),
            "ownerAccountId": ACCOUNT,
        },
    )


def delete_gateway(call: Call) -> None:
    users = [each["associatedGatewayId"] for each in associations(call.tx, call.id)]
    users += interfaces_of(call.tx, call.id, False) + interfaces_of(call.tx, call.id, True)
    if users:
        raise rule(
            f"Direct Connect Gateway {call.id} has attached resources and cannot be deleted: {', '.join(users)}.",
            "Direct Connect API Reference, DeleteDirectConnectGateway",
        )


GATEWAY = ResourceType(
    token=kinds.DX_GATEWAY,
    title="Direct Connect Gateway",
    service="Direct Connect",
    calls={
        "create": "CreateDirectConnectGateway",
        "update": "UpdateDirectConnectGateway",
        "delete": "DeleteDirectConnectGateway",
    },
    create=create_gateway,
    delete=delete_gateway,
    check=lambda call: asn_problem(call.inputs.get("amazonSideAsn"), "amazonSideAsn", "amazon_side_asn"),
    autoname="name",
    replaces=frozenset({"amazonSideAsn"}),
    replaces_source="terraform-provider-aws service/directconnect/gateway.go at c829a79a, ForceNew; the name changes "
    "in place: from memory, unverified",
)


# Associations


def _associated(tx: Transaction, id: str) -> tuple[str, Mapping[str, Any]]:
    """The type of the gateway with the id, and the gateway."""
    for kind, type in (
        (kinds.VPN_GATEWAY, "virtualPrivateGateway"),
        (kinds.TRANSIT_GATEWAY, "transitGateway"),
    ):
        found = tx.get(kind, id)
        if found is not None:
            return type, found
    raise rule(f"Gateway {id} does not exist.", "Direct Connect API Reference")


def check_association(call: Call) -> Iterator[Problem]:
    """gateway_association.go at 089adc22: AtLeastOneOf, ConflictsWith, RequiredWith."""
    inputs = call.inputs
    given = [
        name
        for name in ("associatedGatewayId", "associatedGatewayOwnerAccountId", "proposalId")
        if inputs.get(name) is not None
    ]
    if not given:
        yield Problem(
            "associatedGatewayId",
            '"associated_gateway_id": one of `associated_gateway_id,associated_gateway_owner_account_id,'
            "proposal_id` must be specified",
        )
    elif "associatedGatewayId" in given and len(given) > 1:
        yield Problem("associatedGatewayId", f'"associated_gateway_id": conflicts with {_snake(given[1])}')
    elif "associatedGatewayOwnerAccountId" in given and "proposalId" not in given:
        yield Problem(
            "associatedGatewayOwnerAccountId",
            '"associated_gateway_owner_account_id": all of `associated_gateway_owner_account_id,proposal_id` must be '
            "specified",
        )


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def _prefixes(call: Call, type: str, gateway: Mapping[str, Any], proposed: list[str]) -> list[str]:
    """The prefixes that the association announces: a VPC's own range where nothing is asked for."""
    wanted = call.inputs.get("allowedPrefixes") or proposed
    for each in wanted:
        try:
            ip_network(each)
        except ValueError as problem:
            raise rule(
                f"{each} is not a valid CIDR: {problem}.", "Direct Connect API Reference, RouteFilterPrefix"
            ) from None
    if wanted or type == "transitGateway":
        return list(wanted)
    vpc = call.tx.need(kinds.VPC, gateway["vpcId"])
    return [vpc["cidrBlock"]]


def announced(tx: Transaction, type: str, gateway: Mapping[str, Any], allowed: list[str]) -> list[str]:
    """What goes out over BGP. For a virtual private gateway the list is a filter on its VPC's range, which it lets
    through where an entry covers it; for a transit gateway it is what is announced (Direct Connect User Guide,
    allowed-to-prefixes.html)."""
    if type == "transitGateway":
        return allowed
    block = ip_network(tx.need(kinds.VPC, gateway["vpcId"])["cidrBlock"])
    covered = any(
        entry.version == block.version and block.subnet_of(entry)  # ty: ignore[invalid-argument-type]
        for entry in map(ip_network, allowed)
    )
    return [str(block)] if covered else []


def create_association(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    dx_id, proposed = inputs["dxGatewayId"], []
    dx = find_gateway(tx, dx_id)
    gateway_id = inputs.get("associatedGatewayId")
    if gateway_id is None:
        proposal = tx.get(kinds.DX_PROPOSAL, inputs["proposalId"])
        if proposal is None or proposal["dxGatewayId"] != dx_id:
            raise rule(
                f"Direct Connect Gateway Association Proposal {inputs['proposalId']} does not exist.",
                "Direct Connect API Reference, AcceptDirectConnectGatewayAssociationProposal",
            )
        gateway_id, proposed = proposal["associatedGatewayId"], proposal.get("allowedPrefixes") or []
    type, gateway = _associated(tx, gateway_id)
    _admit(call, dx_id, dx, type, gateway_id, gateway)
    prefixes = _prefixes(call, type, gateway, proposed)
    outputs: dict[str, Any] = {
        "associatedGatewayId": gateway_id,
        "associatedGatewayOwnerAccountId": ACCOUNT,
        "associatedGatewayType": type,
        "dxGatewayAssociationId": f"00000000-0000-4000-9000-{tx.next('directConnectAssociation'):012d}",
        "dxGatewayOwnerAccountId": ACCOUNT,
        "allowedPrefixes": prefixes,
        "announcedPrefixes": announced(tx, type, gateway, prefixes),
        "transitGatewayAttachmentId": "",
    }
    if type == "transitGateway":
        attachment = derived_id("tgw-attach", f"{dx_id}/{gateway_id}")
        tx.put(
            kinds.TRANSIT_DX_ATTACHMENT,
            attachment,
            {
                "id": attachment,
                "transitGatewayId": gateway_id,
                "dxGatewayId": dx_id,
                "resourceId": dx_id,
                "resourceType": "direct-connect-gateway",
                "region": gateway.get("region"),
            },
        )
        outputs["transitGatewayAttachmentId"] = attachment
    return Made(f"ga-{dx_id}{gateway_id}", outputs)


def _admit(
    call: Call, dx_id: str, dx: Mapping[str, Any], type: str, gateway_id: str, gateway: Mapping[str, Any]
) -> None:
    tx = call.tx
    existing = associations(tx, dx_id)
    if any(each["associatedGatewayId"] == gateway_id for each in existing):
        raise rule(
            f"Gateway {gateway_id} is associated with Direct Connect Gateway {dx_id} already.",
            "Direct Connect API Reference, CreateDirectConnectGatewayAssociation",
        )
    refuse_mixing(tx, dx_id, type == "transitGateway")
    quota, usual, words = _LIMITS[type]
    limit = call.faults.limit(quota, usual)
    if len(existing) >= limit:
        raise rule(f"Direct Connect Gateway {dx_id} has {limit} {words} already.", QUOTAS)
    if type == "transitGateway":
        if str(gateway["amazonSideAsn"]) == str(dx["amazonSideAsn"]):
            raise rule(
                f"Direct Connect Gateway {dx_id} and transit gateway {gateway_id} have the same ASN "
                f"{dx['amazonSideAsn']}; they must differ.",
                "Direct Connect User Guide, direct-connect-transit-gateways.html",
            )
    elif not gateway.get("vpcId"):
        raise rule(
            f"Virtual private gateway {gateway_id} is not attached to a VPC.",
            "Direct Connect User Guide, virtualgateways.html",
        )


def update_association(call: Call) -> dict[str, Any]:
    if not call.changed("allowedPrefixes"):
        return {}
    type, gateway = _associated(call.tx, call.old["associatedGatewayId"])
    prefixes = _prefixes(call, type, gateway, [])
    return {
        "allowedPrefixes": prefixes,
        "announcedPrefixes": announced(call.tx, type, gateway, prefixes),
    }


def delete_association(call: Call) -> None:
    attachment = call.old.get("transitGatewayAttachmentId")
    if attachment:
        call.tx.remove(kinds.TRANSIT_DX_ATTACHMENT, attachment)


ASSOCIATION = ResourceType(
    token=kinds.DX_ASSOCIATION,
    title="Direct Connect Gateway Association",
    service="Direct Connect",
    calls={
        "create": "CreateDirectConnectGatewayAssociation",
        "update": "UpdateDirectConnectGatewayAssociation",
        "delete": "DeleteDirectConnectGatewayAssociation",
    },
    create=create_association,
    update=update_association,
    delete=delete_association,
    check=check_association,
    # The importer takes both ids with a slash between (registry page of aws_dx_gateway_association, Import).
    imported=lambda given: f"ga-{given.replace('/', '')}" if "/" in given else given,
    unordered=frozenset({"allowedPrefixes"}),
    replaces=frozenset({"associatedGatewayId", "associatedGatewayOwnerAccountId", "dxGatewayId", "region"}),
    replaces_source="terraform-provider-aws service/directconnect/gateway_association.go at 089adc22, ForceNew",
)


def create_proposal(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    type, gateway = _associated(tx, inputs["associatedGatewayId"])
    find_gateway(tx, inputs["dxGatewayId"])
    return Made(
        f"00000000-0000-4000-a000-{tx.next('directConnectProposal'):012d}",
        {
            "associatedGatewayOwnerAccountId": ACCOUNT,
            "associatedGatewayType": type,
            "allowedPrefixes": _prefixes(call, type, gateway, []),
        },
    )


PROPOSAL = ResourceType(
    token=kinds.DX_PROPOSAL,
    title="Direct Connect Gateway Association Proposal",
    service="Direct Connect",
    calls={
        "create": "CreateDirectConnectGatewayAssociationProposal",
        "delete": "DeleteDirectConnectGatewayAssociationProposal",
    },
    create=create_proposal,
    unordered=frozenset({"allowedPrefixes"}),
    replaces=frozenset(
        {"allowedPrefixes", "associatedGatewayId", "dxGatewayId", "dxGatewayOwnerAccountId", "region"}
    ),
    replaces_source="terraform-provider-aws service/directconnect/gateway_association_proposal.go at 8160ecc4, "
    "ForceNew",
)


def look_up_gateway(lookup: Lookup) -> dict[str, Any]:
    found = lookup.tx.find(kinds.DX_GATEWAY, name=lookup.args["name"])
    if len(found) != 1:
        what = "not found" if not found else "multiple Direct Connect Gateways matched"
        raise ProviderError(f"reading Direct Connect Gateway ({lookup.args['name']}): {what}")
    id, each = found[0]
    return {**each, "id": id, "tags": each.get("tags") or {}}


TYPES = (GATEWAY, ASSOCIATION, PROPOSAL)
FUNCTIONS = (Function("aws:directconnect/getGateway:getGateway", look_up_gateway),)
