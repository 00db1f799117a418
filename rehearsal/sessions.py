"""Which BGP sessions of a private link are up, and why the others are not.

A session is up when the line is there, both ends are configured, and what each end expects of the other is so:
addresses, ASNs, the key. Nothing is stored: the two ends are compared whenever somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from . import partner
from .aws import kinds as aws_kinds
from .azure import kinds as azure_kinds
from .core.store import Transaction

MICROSOFT_ASN = 12076


@dataclass(frozen=True)
class End:
    """How a cloud's end is configured: its own address and ASN, and what it expects of the customer's."""

    address: str
    asn: int
    customer_address: str
    customer_asn: int
    key: str


@dataclass(frozen=True)
class Session:
    """One session between a partner's router and a cloud. ``reasons`` is empty where it is up."""

    partner: str
    connection: str
    cloud: str
    port: str
    target: str
    reasons: tuple[str, ...]
    announced: tuple[str, ...] = ()
    """What the cloud announces, where it says so: the prefixes of Direct Connect gateway associations."""

    @property
    def up(self) -> bool:
        return not self.reasons

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "state": "up" if self.up else "down"}


def sessions(tx: Transaction) -> list[Session]:
    """Every session of every partner's cross-connects, in the order in which they were made."""
    found = []
    for name in partner.PARTNERS:
        own = tx.beside(name)
        for id, line in own.find(partner.CROSS_CONNECT):
            router = [each for _, each in own.find(partner.ROUTER_SESSION, parentId=id)]
            found.append(_session(tx, name, id, line, router))
    return found


def _session(
    tx: Transaction, name: str, id: str, line: Mapping[str, Any], router: list[dict[str, Any]]
) -> Session:
    look = _aws_end if line["cloud"] == partner.AWS else _azure_end
    end, reasons, announced = look(tx, line)
    if not router:
        reasons.append("the router has no BGP session on it")
    if end is not None and router:
        reasons += _differences(end, line, router[0])
    return Session(
        name, id, line["cloud"], line.get("port", ""), line["target"], tuple(reasons), tuple(announced)
    )


def _differences(end: End, line: Mapping[str, Any], router: Mapping[str, Any]) -> Iterator[str]:
    """What one end has and the other does not expect."""
    for what, here, there in (
        ("the router's address", router["localAddress"], end.customer_address),
        ("the router's ASN", int(line["routerAsn"]), end.customer_asn),
    ):
        if here != there:
            yield f"{what} is {here}; the cloud's end expects {there}"
    for what, here, there in (
        ("address", router["peerAddress"], end.address),
        ("ASN", int(router["peerAsn"]), end.asn),
    ):
        if here != there:
            yield f"the router expects {what} {here} of the cloud's end; it has {there}"
    if router["keyFingerprint"] != end.key:
        yield "the two ends have different BGP keys"


def _aws_end(tx: Transaction, line: Mapping[str, Any]) -> tuple[End | None, list[str], list[str]]:
    from .aws.direct_connect import interfaces_on, state_of
    from .aws.virtual_interface import asn_of

    aws = tx.beside(partner.AWS)
    connection = aws.get(aws_kinds.DX_CONNECTION, line["target"])
    if connection is None:
        return None, [f"AWS connection {line['target']} is gone"], []
    reasons = []
    if (state := state_of(connection)) != "available":
        reasons.append(f"AWS connection {line['target']} is {state}")
    there = interfaces_on(aws, line["target"])
    if not there:
        return None, [*reasons, f"AWS connection {line['target']} has no virtual interface"], []
    _, vif = there[0]
    announced = [
        prefix
        for _, each in aws.find(aws_kinds.DX_ASSOCIATION, dxGatewayId=vif.get("dxGatewayId"))
        for prefix in each.get("announcedPrefixes") or []
    ]
    end = End(
        address=_ip(vif["amazonAddress"]),
        asn=int(vif["amazonSideAsn"]),
        customer_address=_ip(vif["customerAddress"]),
        customer_asn=asn_of(vif),
        key=vif["keyFingerprint"],
    )
    return end, reasons, announced


def _azure_end(tx: Transaction, line: Mapping[str, Any]) -> tuple[End | None, list[str], list[str]]:
    from .azure.express_route import state_of

    azure = tx.beside(partner.AZURE)
    circuit = azure.get(azure_kinds.CIRCUIT.token, line["target"])
    if circuit is None:
        return None, ["the ExpressRoute circuit is gone"], []
    reasons = []
    if (state := state_of(circuit)) != "Provisioned":
        reasons.append(f"circuit {circuit['name']} is {state}")
    there = azure.find(azure_kinds.PEERING.token, parentId=line["target"])
    if not there:
        return None, [*reasons, f"circuit {circuit['name']} has no private peering"], []
    _, peering = there[0]
    if peering.get("state") == "Disabled":
        reasons.append(f"the peering of circuit {circuit['name']} is Disabled")
    customer, microsoft = list(IPv4Network(peering[f"{line['port']}PeerAddressPrefix"]).hosts())
    end = End(
        address=str(microsoft),
        asn=MICROSOFT_ASN,
        customer_address=str(customer),
        customer_asn=int(peering["peerASN"]),
        key=peering["keyFingerprint"],
    )
    return end, reasons, []


def _ip(text: str) -> str:
    return str(IPv4Interface(text).ip) if "." in text else text
