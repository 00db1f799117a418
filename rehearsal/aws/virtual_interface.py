"""Virtual interfaces: private and transit ones, their BGP peers, and accepting those that a partner made.

A BGP key goes to the engine as a secret and is not in the database: there is a fingerprint of it, so that both ends of
a session can be compared. Whether a session is up depends on the other end as well: ``rehearsal/sessions.py``.

The MTU of a jumbo private interface is a conflict of sources: pulumi-aws 7.51.1 takes 1500 and 9001 and nothing else
(terraform-provider-aws#8841 is about 8500), the API page CreatePrivateVirtualInterface names 1500 and 8500. The
simulation has the provider's rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Interface, NetmaskValueError
from typing import Any

from ..core.errors import Problem, ProviderError, Refusal
from ..core.fingerprint import fingerprint
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from ..core.values import is_unknown
from . import kinds
from .account import arn, new_id, region_of
from .direct_connect import devices, interfaces_on, need_available
from .direct_connect_gateway import find_gateway, refuse_mixing
from .errors import DX, rule

PRIVATE_ACCEPTER = (
    "aws:directconnect/hostedPrivateVirtualInterfaceAccepter:HostedPrivateVirtualInterfaceAccepter"
)
TRANSIT_ACCEPTER = (
    "aws:directconnect/hostedTransitVirtualInterfaceAcceptor:HostedTransitVirtualInterfaceAcceptor"
)
ASNS = (1, 4294967294)
"""Direct Connect API Reference, NewPrivateVirtualInterface.asnLong."""
_CREATE = "Direct Connect API Reference, CreatePrivateVirtualInterface"


@dataclass(frozen=True)
class Family:
    """What tells a private virtual interface from a transit one."""

    word: str
    token: str
    name: str
    mtus: tuple[int, int]


PRIVATE = Family("private", kinds.PRIVATE_VIF, "PrivateVirtualInterface", (1500, 9001))
TRANSIT = Family("transit", kinds.TRANSIT_VIF, "TransitVirtualInterface", (1500, 8500))


def check(family: Family) -> Any:
    """The provider's validators (private_virtual_interface.go, transit_virtual_interface.go)."""

    def problems(call: Call) -> Iterator[Problem]:
        inputs = call.inputs
        mtu, vlan, address = inputs.get("mtu"), inputs.get("vlan"), inputs.get("addressFamily")
        if mtu is not None and not is_unknown(mtu) and mtu not in family.mtus:
            yield Problem(
                "mtu", f"expected mtu to be one of [{family.mtus[0]} {family.mtus[1]}], got {mtu:g}"
            )
        if vlan is not None and not is_unknown(vlan) and not 1 <= vlan <= 4094:
            yield Problem("vlan", f"expected vlan to be in the range (1 - 4094), got {vlan:g}")
        yield from _family_problem(address)
        if family is PRIVATE and None not in (inputs.get("dxGatewayId"), inputs.get("vpnGatewayId")):
            yield Problem("dxGatewayId", '"dx_gateway_id": conflicts with vpn_gateway_id')
        yield from _asn_problem(inputs)

    return problems


def _family_problem(value: Any) -> Iterator[Problem]:
    if value is not None and not is_unknown(value) and value not in ("ipv4", "ipv6"):
        yield Problem("addressFamily", f'expected address_family to be one of ["ipv4" "ipv6"], got {value}')


def _asn_problem(inputs: Mapping[str, Any]) -> Iterator[Problem]:
    if sum(inputs.get(name) is not None for name in ("bgpAsn", "bgpAsnLong")) != 1:
        yield Problem("bgpAsn", '"bgp_asn": one of `bgp_asn,bgp_asn_long` must be specified')


def asn_of(properties: Mapping[str, Any]) -> int:
    """The customer's ASN, in whichever of the two properties it is."""
    return int(properties.get("bgpAsn") or properties.get("bgpAsnLong") or 0)


def _addresses(call: Call) -> tuple[str, str]:
    """Amazon's and the customer's address with their prefix length; assigned where none is given.

    The sentences are AWS's (terraform-provider-aws public_virtual_interface_test.go).
    """
    amazon, customer = call.inputs.get("amazonAddress"), call.inputs.get("customerAddress")
    if not amazon and not customer:
        number = call.tx.next("bgpAddresses")
        base = f"169.254.{96 + (number - 1) // 64 % 64}"
        last = (number - 1) % 64 * 4
        return f"{base}.{last + 1}/30", f"{base}.{last + 2}/30"
    if not amazon or not customer:
        raise rule("Amazon Address and Customer Address must both be given, or neither.", _CREATE)
    both = []
    for name, text in (("Amazon Address", amazon), ("Customer Address", customer)):
        try:
            interface = IPv4Interface(text)
        except (AddressValueError, NetmaskValueError, ValueError):
            raise rule(
                f"{name} {text} is not a valid IPv4 address with its prefix length.", _CREATE
            ) from None
        if interface.network.prefixlen < 31 and interface.ip == interface.network.network_address:
            raise Refusal(DX, f"{name} is address 0 on its subnet.")
        if interface.network.prefixlen < 31 and interface.ip == interface.network.broadcast_address:
            raise Refusal(DX, f"{name} is the broadcast address on its subnet.")
        both.append(interface)
    if both[0].network != both[1].network or both[0].ip == both[1].ip:
        raise Refusal(DX, "Amazon Address and Customer Address must be in the same CIDR")
    return amazon, customer


def _amazon_asn(call: Call, family: Family) -> tuple[str, dict[str, Any]]:
    """Amazon's ASN, that of the gateway the interface leads to."""
    tx, inputs = call.tx, call.inputs
    dx_id, vgw_id = inputs.get("dxGatewayId"), inputs.get("vpnGatewayId")
    if dx_id:
        gateway = find_gateway(tx, dx_id)
        refuse_mixing(tx, dx_id, family is TRANSIT)
        return str(gateway["amazonSideAsn"]), {}
    if not vgw_id:
        # private_virtual_interface.go, resourcePrivateVirtualInterfaceCreate
        raise ProviderError(
            "One of ['vpn_gateway_id', 'dx_gateway_id'] must be set to create a Direct Connect private virtual "
            "interface"
        )
    vgw = tx.get(kinds.VPN_GATEWAY, vgw_id)
    if vgw is None:
        raise Refusal(DX, f"The VirtualGateway {vgw_id} is not available")
    return str(vgw["amazonSideAsn"]), {}


def refuse_asns(customer: int, amazon: str) -> None:
    """The customer's ASN is one there is, and not Amazon's own."""
    if not ASNS[0] <= customer <= ASNS[1]:
        raise rule(f"BGP ASN {customer} is not between {ASNS[0]} and {ASNS[1]}.", _CREATE)
    if str(customer) == amazon:
        raise rule(
            f"BGP ASN {customer} is the ASN of Amazon's side as well; an external BGP session needs two.",
            "Direct Connect User Guide, WorkingWithVirtualInterfaces.html",
        )


def generated_key(id: str) -> str:
    """The key that AWS makes where the customer gives none: the same for the same interface, and kept nowhere."""
    return hashlib.sha256(f"bgpAuthKey/{id}".encode()).hexdigest()[:24]


def create(family: Family) -> Any:
    def make(call: Call) -> Made:
        tx, inputs, region = call.tx, call.inputs, region_of(call)
        connection_id = inputs["connectionId"]
        if connection_id.startswith("dxlag-"):
            connection = tx.get(kinds.DX_LAG, connection_id) or {}
            if not connection:
                raise rule(f"LAG ID {connection_id} does not exist.", _CREATE)
        elif not connection_id.startswith("dxcon-"):
            raise Refusal(DX, f"ConnectionID {connection_id} has an invalid format.")
        else:
            connection = need_available(tx, connection_id)
        _admit(tx, connection_id, connection, int(inputs["vlan"]), inputs)
        amazon_asn, _ = _amazon_asn(call, family)
        refuse_asns(asn_of(inputs), amazon_asn)
        amazon, customer = _addresses(call)
        id = new_id(tx, "dxvif", 8)
        key = inputs.get("bgpAuthKey") or generated_key(id)
        return Made(
            id,
            {
                "amazonAddress": amazon,
                "amazonSideAsn": amazon_asn,
                "arn": arn("directconnect", region, f"dxvif/{id}"),
                "awsDevice": connection.get("awsDevice") or devices(str(connection["location"])),
                "bgpAuthKey": key,
                "customerAddress": customer,
                "jumboFrameCapable": True,
                "keyFingerprint": fingerprint(key),
                "prefixPoolAllocatedCountIpv4": inputs.get("prefixPoolAllocatedCountIpv4", 100),
                "prefixPoolAllocatedCountIpv6": inputs.get("prefixPoolAllocatedCountIpv6", 100),
                "rateLimit": inputs.get("rateLimit", ""),
                "type": family.word,
            },
        )

    return make


def _admit(
    tx: Transaction, connection_id: str, connection: Mapping[str, Any], vlan: int, inputs: Mapping[str, Any]
) -> None:
    there = interfaces_on(tx, connection_id)
    if connection.get("hosted"):
        if there:
            raise rule(
                f"Hosted connection {connection_id} has virtual interface {there[0][0]} already; it can have one.",
                "Direct Connect User Guide, WorkingWithVirtualInterfaces.html",
            )
        if vlan != connection["vlanId"]:
            raise rule(
                f"VLAN {vlan} is not the VLAN {connection['vlanId']} of hosted connection {connection_id}.",
                "Direct Connect User Guide, hosted_connection.html",
            )
        if inputs.get("rateLimit"):
            raise rule(
                f"A rate limit needs a dedicated connection or a LAG; {connection_id} is hosted.",
                "pulumi-aws 7.51.1, PrivateVirtualInterface.rateLimit",
            )
    if any(each["vlan"] == vlan for _, each in there):
        raise rule(f"VLAN {vlan} is already in use on connection {connection_id}.", _CREATE)


def read(family: Family) -> Any:
    def properties(call: Call) -> dict[str, Any] | None:
        stored = call.tx.get(family.token, call.id)
        if stored is None:
            return None
        key = next(
            (
                each
                for each in (call.old.get("bgpAuthKey"), generated_key(call.id))
                if fingerprint(each) == stored["keyFingerprint"]
            ),
            None,
        )
        return {**stored, "bgpAuthKey": key}

    return properties


def delete(call: Call) -> None:
    call.tx.remove_all(kinds.BGP_PEER, virtualInterfaceId=call.id)


def _type(family: Family) -> ResourceType:
    optional = frozenset({"vpnGatewayId"}) if family is PRIVATE else frozenset()
    return ResourceType(
        token=family.token,
        title=f"Direct Connect {family.word.title()} Virtual Interface",
        service="Direct Connect",
        calls={
            "create": f"Create{family.name}",
            "update": "UpdateVirtualInterfaceAttributes",
            "delete": "DeleteVirtualInterface",
        },
        doing={"create": f"creating Direct Connect {family.word} virtual interface"},
        create=create(family),
        read=read(family),
        delete=delete,
        check=check(family),
        autoname="name",
        defaults={"mtu": 1500, "sitelinkEnabled": False},
        secrets=frozenset({"bgpAuthKey"}),
        replaces=frozenset(
            {
                "addressFamily",
                "amazonAddress",
                "bgpAsn",
                "bgpAsnLong",
                "bgpAuthKey",
                "connectionId",
                "customerAddress",
                "dxGatewayId",
                "name",
                "region",
                "vlan",
            }
        )
        | optional,
        replaces_source=f"terraform-provider-aws service/directconnect/{family.word}_virtual_interface.go at 050ac111, "
        "ForceNew; bgpAsnLong came later: from memory, unverified",
    )


# BGP peers


def check_peer(call: Call) -> Iterator[Problem]:
    """The validators of bgp_peer.go at 8a0b630a."""
    yield from _family_problem(call.inputs.get("addressFamily"))
    yield from _asn_problem(call.inputs)


def _interface(tx: Transaction, id: str) -> tuple[str, dict[str, Any]]:
    for kind in (kinds.PRIVATE_VIF, kinds.TRANSIT_VIF, kinds.HOSTED_VIF):
        found = tx.get(kind, id)
        if found is not None:
            return kind, found
    raise rule(f"Virtual Interface {id} does not exist.", "Direct Connect API Reference")


def create_peer(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    vif_id, family = inputs["virtualInterfaceId"], inputs["addressFamily"]
    _, vif = _interface(tx, vif_id)
    others = [each["addressFamily"] for _, each in tx.find(kinds.BGP_PEER, virtualInterfaceId=vif_id)]
    if family in (vif["addressFamily"], *others):
        raise rule(
            f"Virtual Interface {vif_id} has a BGP peer of family {family} already.",
            "Direct Connect API Reference, CreateBGPPeer",
        )
    refuse_asns(asn_of(inputs), str(vif["amazonSideAsn"]))
    if family == "ipv4":
        amazon, customer = _addresses(call)
    else:
        number = tx.next("bgpAddresses6")
        amazon, customer = (f"2001:db8:d0::{number:x}:{end}/125" for end in (1, 2))
    id = new_id(tx, "dxpeer", 8)
    key = inputs.get("bgpAuthKey") or generated_key(id)
    return Made(
        f"{vif_id}-{family}-{asn_of(inputs)}",
        {
            "amazonAddress": amazon,
            "awsDevice": vif["awsDevice"],
            "bgpAuthKey": key,
            "bgpPeerId": id,
            "bgpStatus": "down",
            "customerAddress": customer,
            "keyFingerprint": fingerprint(key),
        },
    )


def read_peer(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(kinds.BGP_PEER, call.id)
    if stored is None:
        return None
    keys = (call.old.get("bgpAuthKey"), generated_key(stored["bgpPeerId"]))
    key = next((each for each in keys if fingerprint(each) == stored["keyFingerprint"]), None)
    return {**stored, "bgpAuthKey": key}


PEER = ResourceType(
    token=kinds.BGP_PEER,
    title="Direct Connect BGP Peer",
    service="Direct Connect",
    calls={"create": "CreateBGPPeer", "delete": "DeleteBGPPeer"},
    create=create_peer,
    read=read_peer,
    check=check_peer,
    secrets=frozenset({"bgpAuthKey"}),
    replaces=frozenset(
        {
            "addressFamily",
            "amazonAddress",
            "bgpAsn",
            "bgpAsnLong",
            "bgpAuthKey",
            "customerAddress",
            "region",
            "virtualInterfaceId",
        }
    ),
    replaces_source="terraform-provider-aws service/directconnect/bgp_peer.go at 8a0b630a, ForceNew; bgpAsnLong came "
    "later: from memory, unverified",
)


# Accepting a partner's virtual interface


def create_accepter(family: Family) -> Any:
    def accept(call: Call) -> Made:
        tx, inputs, id = call.tx, call.inputs, call.inputs["virtualInterfaceId"]
        vif = tx.get(kinds.HOSTED_VIF, id)
        if vif is None or vif["type"] != family.word:
            raise rule(f"Virtual Interface {id} does not exist.", "Direct Connect API Reference")
        if vif["state"] != "confirming":
            raise rule(
                f"Virtual Interface {id} is in state {vif['state']}; only one in state confirming can be accepted.",
                f"Direct Connect API Reference, Confirm{family.name}",
            )
        amazon_asn, _ = _amazon_asn(call, family)
        refuse_asns(asn_of(vif), amazon_asn)
        tx.patch(
            kinds.HOSTED_VIF,
            id,
            state="available",
            amazonSideAsn=amazon_asn,
            dxGatewayId=inputs.get("dxGatewayId"),
            vpnGatewayId=inputs.get("vpnGatewayId"),
        )
        return Made(
            id,
            {
                "arn": arn("directconnect", region_of(call), f"dxvif/{id}"),
                "prefixPoolAllocatedCountIpv4": inputs.get("prefixPoolAllocatedCountIpv4", 100),
                "prefixPoolAllocatedCountIpv6": inputs.get("prefixPoolAllocatedCountIpv6", 100),
            },
        )

    return accept


def read_accepter(call: Call) -> dict[str, Any] | None:
    stored, vif = call.tx.get(call.type.kind, call.id), call.tx.get(kinds.HOSTED_VIF, call.id)
    return None if vif is None or vif["state"] in ("deleted", "rejected") else stored


def _accepter(family: Family, token: str) -> ResourceType:
    more = frozenset({"vpnGatewayId"}) if family is PRIVATE else frozenset()
    return ResourceType(
        token=token,
        title=f"Direct Connect Hosted {family.word.title()} Virtual Interface Accepter",
        service="Direct Connect",
        calls={"create": f"Confirm{family.name}"},
        create=create_accepter(family),
        read=read_accepter,
        replaces=frozenset({"dxGatewayId", "region", "virtualInterfaceId"}) | more,
        replaces_source=f"terraform-provider-aws directconnect/hosted_{family.word}_virtual_interface_accepter.go "
        "at 4e81648b and 7348a903, ForceNew. Deleting it leaves the interface as it is (same files)",
    )


TYPES = (
    _type(PRIVATE),
    _type(TRANSIT),
    PEER,
    _accepter(PRIVATE, PRIVATE_ACCEPTER),
    _accepter(TRANSIT, TRANSIT_ACCEPTER),
)
