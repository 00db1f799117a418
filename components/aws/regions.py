"""Regions, zones and partitions, as far as a plan without a login needs them."""

from __future__ import annotations

import re

#: EC2 User Guide, "Availability Zones" and "Local Zones": a zone's name is its region and a letter, or its region,
#: a place and a number with a letter (us-east-1-atl-2a).
_ZONE = re.compile(r"^(?P<region>[a-z]{2,3}(-[a-z]+)+-\d)(?P<rest>[a-z]|-[a-z]{3,}-\d[a-z])$")

#: AWS General Reference, "Amazon Resource Names"; longest first.
_PARTITIONS = (
    ("us-gov-", "aws-us-gov"),
    ("us-isob-", "aws-iso-b"),
    ("us-isof-", "aws-iso-f"),
    ("us-iso-", "aws-iso"),
    ("eu-isoe-", "aws-iso-e"),
    ("eusc-", "aws-eusc"),
    ("cn-", "aws-cn"),
)


def region_of(zone: str) -> str | None:
    """The region in a zone's name; None where `zone` is not a zone's name."""
    match = _ZONE.match(zone)
    return match["region"] if match else None


def partition_of(region: str) -> str:
    """`aws`, `aws-cn`, `aws-us-gov`, …"""
    return next((name for prefix, name in _PARTITIONS if region.startswith(prefix)), "aws")
