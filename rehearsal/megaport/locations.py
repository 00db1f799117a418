"""Where Megaport is, and its ports into AWS. The numbers and ids are the simulation's: a program looks them up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import ProviderError
from ..core.resource import Function, Lookup


@dataclass(frozen=True)
class Location:
    name: str
    metro: str
    country: str
    aws_region: str
    aws_location: str


LOCATIONS: Mapping[int, Location] = {
    9001: Location("Equinix DC2/DC11", "Ashburn", "USA", "us-east-1", "EqDC2"),
    9002: Location("Equinix SV1/SV5/SV10", "San Jose", "USA", "us-west-1", "EqSV5"),
    9003: Location("Equinix SE2/SE3", "Seattle", "USA", "us-west-2", "EqSe2-EQ"),
    9004: Location("Equinix DB2", "Dublin", "Ireland", "eu-west-1", "EqDB3"),
    9005: Location("Equinix FR5", "Frankfurt", "Germany", "eu-central-1", "EqFA5"),
    9006: Location("Equinix LD5", "London", "United Kingdom", "eu-west-2", "EqLD5"),
    9007: Location("Equinix TY2", "Tokyo", "Japan", "ap-northeast-1", "EqTY2"),
    9008: Location("Equinix SG1", "Singapore", "Singapore", "ap-southeast-1", "EqSG2"),
    9009: Location("Equinix SY1/2", "Sydney", "Australia", "ap-southeast-2", "EqSY3"),
}
CONNECT_TYPES = ("AWS", "AWSHC")


def port_uid(location: int, connect_type: str) -> str:
    """The id of the port into AWS at a location."""
    return f"00000000-0000-4000-8000-{CONNECT_TYPES.index(connect_type):04d}{location:08d}"


def port(uid: str) -> tuple[int, str] | None:
    """The location and the connect type of a port into AWS."""
    return next(
        (
            (number, connect)
            for number in LOCATIONS
            for connect in CONNECT_TYPES
            if port_uid(number, connect) == uid
        ),
        None,
    )


def look_up_location(lookup: Lookup) -> dict[str, Any]:
    number, name = lookup.args.get("id"), lookup.args.get("name")
    found = [
        (each, place)
        for each, place in LOCATIONS.items()
        if (number is None or each == int(number)) and (name is None or place.name == name)
    ]
    if len(found) != 1 or (number is None and name is None):
        known = ", ".join(f"{each} ({place.name})" for each, place in LOCATIONS.items())
        raise ProviderError(f"no such Megaport location; the simulation knows {known}")
    each, place = found[0]
    return {
        "id": each,
        "name": place.name,
        "metro": place.metro,
        "market": place.country,
        "country": place.country,
        "status": "Active",
        "address": {},
        "products": {"mcr": True},
    }


def look_up_partner(lookup: Lookup) -> dict[str, Any]:
    args = lookup.args
    connect = args.get("connectType")
    if connect not in CONNECT_TYPES:
        raise ProviderError(
            f"the simulated Megaport has partner ports of connectType AWS and AWSHC, not {connect}; a VXC to Azure "
            f"needs none"
        )
    for number, place in LOCATIONS.items():
        product = f"({place.aws_region})"
        if args.get("locationId") in (None, number) and product in args.get("productName", product):
            return {
                **args,
                "locationId": number,
                "companyName": "AWS",
                "productName": args.get("productName") or f"{place.metro} {product}",
                "productUid": port_uid(number, connect),
                "vxcPermitted": True,
                "rank": 1,
                "speed": 10000,
            }
    raise ProviderError("no partner port matches the criteria")


FUNCTIONS = (
    Function("megaport:index/getLocation:getLocation", look_up_location),
    Function("megaport:index/getPartner:getPartner", look_up_partner),
)
