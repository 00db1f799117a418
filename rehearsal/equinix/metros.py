"""Equinix metros, and what of the clouds is reached in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metro:
    """``asn`` is the routers' ASN: Equinix has one for a metro; these are of RFC 5398, which nobody has."""

    name: str
    region: str
    aws_region: str
    aws_location: str
    asn: int


METROS: Mapping[str, Metro] = {
    "DC": Metro("Ashburn", "AMER", "us-east-1", "EqDC2", 64496),
    "SV": Metro("Silicon Valley", "AMER", "us-west-1", "EqSV5", 64497),
    "CH": Metro("Chicago", "AMER", "us-east-2", "EqCH2", 64505),
    "SE": Metro("Seattle", "AMER", "us-west-2", "EqSe2-EQ", 64498),
    "DB": Metro("Dublin", "EMEA", "eu-west-1", "EqDB3", 64499),
    "FR": Metro("Frankfurt", "EMEA", "eu-central-1", "EqFA5", 64500),
    "LD": Metro("London", "EMEA", "eu-west-2", "EqLD5", 64501),
    "TY": Metro("Tokyo", "APAC", "ap-northeast-1", "EqTY2", 64502),
    "SG": Metro("Singapore", "APAC", "ap-southeast-1", "EqSG2", 64503),
    "SY": Metro("Sydney", "APAC", "ap-southeast-2", "EqSY3", 64504),
}
"""Metro codes of Equinix's list; DC is Ashburn. Which AWS location belongs to a metro is unverified but for DC."""
AZURE_METROS = {
    "washington dc": "DC",
    "silicon valley": "SV",
    "seattle": "SE",
    "chicago": "CH",
    "dublin": "DB",
    "frankfurt": "FR",
    "frankfurt2": "FR",
    "london": "LD",
    "tokyo": "TY",
    "tokyo2": "TY",
    "singapore": "SG",
    "sydney": "SY",
}
"""The metro of an ExpressRoute peering location, in small letters."""
