"""The account that does not exist: its id, its names for things, its regions and zones."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..core.resource import Call
from ..core.store import Transaction
from ..core.values import UNKNOWN

ACCOUNT = "000000000000"
"""No real account has this id: whatever carries it was made here."""

PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
"""Partitions by the beginning of the region's name; all other regions are ``aws`` (AWS General Reference, ARNs)."""


def partition(region: str) -> str:
    """The partition of a region: ``aws``, ``aws-cn`` or ``aws-us-gov``."""
    return next((name for prefix, name in PARTITIONS.items() if region.startswith(prefix)), "aws")


def dns_suffix(region: str) -> str:
    """The domain of a region's services."""
    return "amazonaws.com.cn" if partition(region) == "aws-cn" else "amazonaws.com"


def arn(service: str, region: str, resource: str, account: str = ACCOUNT) -> str:
    """``arn:aws:ec2:us-east-1:000000000000:vpc/vpc-0…``. IAM's have no region: give ``global_arn`` instead."""
    return f"arn:{partition(region)}:{service}:{region}:{account}:{resource}"


def global_arn(service: str, region: str, resource: str, account: str = ACCOUNT) -> str:
    """An ARN without a region, of the partition that ``region`` belongs to."""
    return f"arn:{partition(region)}:{service}::{account}:{resource}"


def new_id(tx: Transaction, prefix: str, length: int = 17) -> str:
    """A new id in EC2's form, ``vpc-0`` and 16 hexadecimal digits. The same history gives the same ids."""
    return new_ids(tx, prefix, 1, length)[0]


def new_ids(tx: Transaction, prefix: str, count: int, length: int = 17) -> list[str]:
    """Several ids at once."""
    last = tx.next(f"id/{prefix}", count)
    return [
        f"{prefix}-0{hashlib.sha256(f'{prefix}/{number}'.encode()).hexdigest()[: length - 1]}"
        for number in range(last - count + 1, last + 1)
    ]


def derived_id(prefix: str, seed: str) -> str:
    """An id in EC2's form that belongs to something else: the same for the same seed."""
    return f"{prefix}-0{hashlib.sha256(f'{prefix}/{seed}'.encode()).hexdigest()[:16]}"


def region_of(call: Call) -> str:
    """The region a resource is in: its own, or the provider's."""
    return str(call.inputs.get("region") or call.old.get("region") or configured_region(call.config))


def configured_region(config: Mapping[str, Any]) -> str:
    """The provider's region. Empty if none is set."""
    return str(
        config.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    )


@cache
def _zone_table() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "zones.toml").read_text())


def regions() -> list[str]:
    """Every region with a known list of zones."""
    return sorted(_zone_table())


def zones(region: str) -> dict[str, str]:
    """The zones of a region and their zone ids, ``{"us-east-1a": "use1-az6"}``. Empty for an unknown region."""
    return {f"{region}{letter}": zone_id for letter, zone_id in _zone_table().get(region, {}).items()}


def all_tags(call: Call) -> Any:
    """The resource's tags over the provider's default tags."""
    tags = call.inputs.get("tags")
    if tags is UNKNOWN:
        return UNKNOWN
    defaults = call.config.get("defaultTags") or {}
    return {**(defaults.get("tags") or {}), **(tags or {})}
