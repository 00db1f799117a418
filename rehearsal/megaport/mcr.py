"""Megaport Cloud Routers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from ..core.values import is_unknown
from .errors import rule
from .locations import LOCATIONS

TOKEN = "megaport:index/mcr:Mcr"
VXC = "megaport:index/vxc:Vxc"
SPEEDS = (1000, 2500, 5000, 10000, 25000, 50000, 100000)
"""Mb/s (docs/resources/mcr.md)."""
TERMS = (1, 12, 24, 36, 48, 60)
"""Months (docs/resources/vxc.md)."""
DEFAULT_ASN = 133937
AZURES_ASN = 65515
_DOCS = "megaport/terraform-provider-megaport docs/resources/mcr.md"


def new_uid(tx: Transaction, what: str, digit: str) -> str:
    return f"00000000-0000-4000-{digit}000-{tx.next(what):012d}"


def one_of(inputs: dict[str, Any], property: str, name: str, allowed: tuple[int, ...]) -> Iterator[Problem]:
    """The validator int64validator.OneOf."""
    value = inputs.get(property)
    if value is not None and not is_unknown(value) and value not in allowed:
        words = " ".join(f'"{each}"' for each in allowed)
        yield Problem(
            property,
            f"Invalid Attribute Value Match. Attribute {name} value must be one of: [{words}], got: {value:g}",
        )


def check(call: Call) -> Iterator[Problem]:
    yield from one_of(call.inputs, "portSpeed", "port_speed", SPEEDS)
    yield from one_of(call.inputs, "contractTermMonths", "contract_term_months", TERMS)


def product(tx: Transaction, uid: str, type: str) -> dict[str, Any]:
    """What the provider answers of every product."""
    return {
        "productUid": uid,
        "productId": tx.next("product"),
        "productType": type,
        "provisioningStatus": "LIVE",
        "createdBy": "simulation",
        "companyName": "simulation",
        "adminLocked": False,
        "cancelable": True,
        "locked": False,
    }


def create(call: Call) -> Made:
    inputs = call.inputs
    if int(inputs["locationId"]) not in LOCATIONS:
        raise rule(
            "MCR", f"Location {inputs['locationId']:g} has no MCR; look one up with getLocation", _DOCS
        )
    if inputs.get("asn") == AZURES_ASN:
        raise rule("MCR", f"ASN {AZURES_ASN} is Azure's", _DOCS)
    uid = new_uid(call.tx, "mcr", "8")
    return Made(
        uid,
        {
            **product(call.tx, uid, "MCR2"),
            "asn": inputs.get("asn", DEFAULT_ASN),
            "costCentre": inputs.get("costCentre", ""),
        },
    )


def delete(call: Call) -> None:
    used = [id for id, each in call.tx.find(VXC) if each.get("routerUid") == call.id]
    if used:
        raise rule(
            "MCR", f"MCR {call.id} has VXCs and cannot be deleted: {', '.join(used)}", _DOCS, verb="Deleting"
        )


TYPES = (
    ResourceType(
        token=TOKEN,
        title="MCR",
        create=create,
        delete=delete,
        check=check,
        replaces=frozenset({"asn", "diversityZone", "locationId", "portSpeed"}),
        replaces_source="megaport/terraform-provider-megaport internal/provider/mcr_resource.go at 7e53490a, "
        "RequiresReplace of portSpeed and locationId; asn and diversityZone: from memory, unverified",
    ),
)
