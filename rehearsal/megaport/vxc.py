"""Virtual cross connects of a cloud router: hosted connections and interfaces in AWS, circuits in Azure.

The partner configurations hold keys. They go to the engine as secrets and are not in the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Interface
from typing import Any

from .. import partner
from ..aws import kinds as aws_kinds
from ..core.errors import Problem, ProviderError
from ..core.fingerprint import fingerprint
from ..core.resource import Call, Made, ResourceType
from .errors import rule
from .locations import LOCATIONS, port
from .mcr import TERMS, TOKEN, VXC, new_uid, one_of, product

_DOCS = "megaport/terraform-provider-megaport docs/resources/vxc.md"
_FIRST_VLAN = 500
_IMPOSSIBLE = "the clouds' own rules"


def check(call: Call) -> Iterator[Problem]:
    yield from one_of(call.inputs, "contractTermMonths", "contract_term_months", TERMS)


def create(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    router_uid = (inputs["aEnd"] or {}).get("requestedProductUid") or ""
    router = tx.get(TOKEN, router_uid)
    if router is None:
        raise rule("VXC", f"A-End {router_uid} is no MCR of the simulation", _DOCS)
    if inputs["rateLimit"] > router["portSpeed"]:
        raise rule(
            "VXC",
            f"rate limit {inputs['rateLimit']:g} is more than the MCR's {router['portSpeed']:g} Mb/s",
            _DOCS,
        )
    config = inputs.get("bEndPartnerConfig") or {}
    reach = {"aws": _to_aws, "azure": _to_azure}.get(str(config.get("partner")))
    if reach is None:
        raise ProviderError(
            f"the simulated Megaport knows VXCs of partner aws and azure, not {config.get('partner')}"
        )
    uid = new_uid(tx, "vxc", "9")
    vlan = _FIRST_VLAN + tx.next("vlan") % 3000
    try:
        cloud, target, way = reach(call, uid, vlan, config)
    except partner.Impossible as problem:
        raise rule("VXC", str(problem), _IMPOSSIBLE) from None
    tx.put(
        partner.CROSS_CONNECT,
        uid,
        {
            "kind": VXC,
            "cloud": cloud,
            "target": target,
            "port": way,
            "router": router_uid,
            "routerAsn": router["asn"],
        },
    )
    _peer(call, uid)
    return Made(
        uid,
        {
            **product(tx, uid, "VXC"),
            "routerUid": router_uid,
            "target": target,
            "aEnd": {**inputs["aEnd"], "vlan": (inputs["aEnd"] or {}).get("orderedVlan") or vlan},
            "bEnd": {**(inputs["bEnd"] or {}), "vlan": vlan},
            "cspConnections": [
                {"connectType": str(config["partner"]).upper(), "resourceName": "b_csp_connection"}
            ],
            "costCentre": inputs.get("costCentre", ""),
            "shutdown": inputs.get("shutdown", False),
        },
    )


def _to_aws(call: Call, uid: str, vlan: int, config: Mapping[str, Any]) -> tuple[str, str, str]:
    aws = config.get("awsConfig") or {}
    owner, connect = str(aws.get("ownerAccount") or ""), aws.get("connectType")
    found = port((call.inputs["bEnd"] or {}).get("requestedProductUid") or "")
    if found is None:
        # terraform-provider-megaport#200
        raise rule("VXC", "Validation failed Valid B-End is required", "terraform-provider-megaport#200")
    number, offered = found
    if connect != offered:
        raise rule("VXC", f"connect_type {connect} does not fit the B-End, a port of {offered}", _DOCS)
    if not (owner.isdigit() and len(owner) == 12):
        raise rule("VXC", "owner_account is not the 12 digits of an AWS account", _DOCS)
    place = LOCATIONS[number]
    if connect == "AWS":
        return partner.AWS, _hosted_interface(call, uid, vlan, aws, place.aws_region), ""
    megabits = int(call.inputs["rateLimit"])
    id = partner.order_hosted_connection(
        call.tx,
        name=str(aws.get("name") or call.inputs["productName"]),
        region=place.aws_region,
        location=place.aws_location,
        bandwidth=f"{megabits}Mbps" if megabits < 1000 else f"{megabits / 1000:g}Gbps",
        vlan=vlan,
        partner="Megaport",
        accepted=False,
        faults=call.faults,
    )
    return partner.AWS, id, ""


def _hosted_interface(call: Call, uid: str, vlan: int, aws: Mapping[str, Any], region: str) -> str:
    """A virtual interface on the partner's own connection, which the customer has to accept."""
    from ..aws.account import new_id

    type = aws.get("type")
    if type not in ("private", "transit"):
        raise rule("VXC", f"type {type} is neither private nor transit", _DOCS)
    tx = call.tx.beside(partner.AWS)
    id, line = new_id(tx, "dxvif", 8), f"dxcon-megaport-{uid[-4:]}"
    tx.put(
        aws_kinds.HOSTED_VIF,
        id,
        {
            "id": id,
            "type": type,
            "state": "confirming",
            "connectionId": line,
            "vlan": vlan,
            "addressFamily": "ipv4",
            "bgpAsn": int(aws.get("asn") or 0)
            or call.tx.need(TOKEN, call.inputs["aEnd"]["requestedProductUid"])["asn"],
            "amazonAddress": aws.get("amazonIpAddress") or "169.254.200.1/30",
            "customerAddress": aws.get("customerIpAddress") or "169.254.200.2/30",
            "amazonSideAsn": str(aws.get("amazonAsn") or 64512),
            "keyFingerprint": fingerprint(aws.get("authKey")),
            "region": region,
        },
    )
    return id


def _to_azure(call: Call, uid: str, vlan: int, config: Mapping[str, Any]) -> tuple[str, str, str]:
    azure = config.get("azureConfig") or {}
    choice = azure.get("portChoice")
    if choice not in ("primary", "secondary"):
        raise rule("VXC", f"port_choice {choice} is neither primary nor secondary", _DOCS)
    if azure.get("peers"):
        raise ProviderError(
            "the simulated Megaport makes no peering in Azure: leave azureConfig.peers out and make an "
            "ExpressRouteCircuitPeering, which can be deleted before the VXC (terraform-provider-megaport#43)"
        )
    id = partner.provision_circuit(
        call.tx,
        str(azure.get("serviceKey") or ""),
        partner="Megaport",
        megabits=call.inputs["rateLimit"],
        port=choice,
        by=uid,
        faults=call.faults,
    )
    return partner.AZURE, id, str(choice)


def _peer(call: Call, uid: str) -> None:
    """The router's BGP sessions, from the A-End's interfaces."""
    call.tx.remove_all(partner.ROUTER_SESSION, parentId=uid)
    config = (call.inputs.get("aEndPartnerConfig") or {}).get("vrouterConfig") or {}
    for interface in config.get("interfaces") or []:
        own = [IPv4Interface(each) for each in interface.get("ipAddresses") or []]
        for index, bgp in enumerate(interface.get("bgpConnections") or []):
            if bgp.get("localIpAddress") not in {str(each.ip) for each in own}:
                raise rule(
                    "VXC",
                    f"local_ip_address {bgp.get('localIpAddress')} is none of the interface's ip_addresses",
                    _DOCS,
                )
            call.tx.put(
                partner.ROUTER_SESSION,
                f"{uid}/{index}",
                {
                    "parentId": uid,
                    "localAddress": bgp["localIpAddress"],
                    "peerAddress": bgp.get("peerIpAddress"),
                    "peerAsn": int(bgp.get("peerAsn") or 0),
                    "keyFingerprint": fingerprint(bgp.get("password")),
                    "bfd": bool(bgp.get("bfdEnabled")),
                },
            )


def read(call: Call) -> dict[str, Any] | None:
    stored = call.tx.get(VXC, call.id)
    return stored and {**stored, **{name: call.old.get(name) for name in SECRETS}}


def update(call: Call) -> dict[str, Any]:
    for name in ("bEndPartnerConfig", "aEnd", "bEnd"):
        if call.inputs.get(name) != call.old_inputs.get(name):
            raise rule("VXC", f"{name} cannot change on a live VXC", _DOCS, verb="Updating")
    _peer(call, call.id)
    return {name: call.old[name] for name in ("aEnd", "bEnd")}


def delete(call: Call) -> None:
    tx, target = call.tx, call.old["target"]
    try:
        if target.startswith("/"):
            partner.release_circuit(tx, target, by=call.id, faults=call.faults)
        elif target.startswith("dxvif-"):
            tx.beside(partner.AWS).remove(aws_kinds.HOSTED_VIF, target)
        else:
            partner.withdraw_hosted_connection(tx, target)
    except partner.Impossible as problem:
        raise rule("VXC", str(problem), "terraform-provider-megaport#43", verb="Deleting") from None
    tx.remove(partner.CROSS_CONNECT, call.id)
    tx.remove_all(partner.ROUTER_SESSION, parentId=call.id)


SECRETS = frozenset({"aEndPartnerConfig", "bEndPartnerConfig", "serviceKey"})
TYPES = (
    ResourceType(
        token=VXC,
        title="VXC",
        create=create,
        read=read,
        update=update,
        delete=delete,
        check=check,
        secrets=SECRETS,
        absent=SECRETS,
        unknown_within={"aEnd": frozenset({"vlan"}), "bEnd": frozenset({"vlan"})},
        replaces_source="megaport/terraform-provider-megaport docs/resources/vxc.md at 00e5da5f: changes are made in "
        "place or fail; from memory, unverified",
    ),
)
