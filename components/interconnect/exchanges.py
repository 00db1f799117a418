"""Where the two clouds meet, and how far a circuit reaches from there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from gpu_fabric.planning.peering import peering_location


@dataclass(frozen=True)
class Exchange:
    """An ExpressRoute peering location with Direct Connect in the same metro."""

    location: str
    """As ExpressRoute names it."""
    metro: str
    """Equinix's code."""
    geography: str
    local: tuple[str, ...]
    """Azure regions that the tier Local reaches."""
    aws: tuple[str, ...]
    """AWS regions whose Direct Connect sites are in this metro."""
    providers: tuple[str, ...]
    """ExpressRoute's names of the partners here."""


@cache
def _document() -> Mapping[str, Any]:
    text = files("gpu_fabric.components.interconnect").joinpath("exchanges.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def exchanges() -> tuple[Exchange, ...]:
    return tuple(_exchange(row) for row in _document()["exchange"])


def _exchange(row: Mapping[str, Any]) -> Exchange:
    there = peering_location(row["location"])
    assert there is not None, row["location"]
    return Exchange(
        there.name, row["metro"], there.geography, there.local, tuple(row["aws"]), tuple(row["providers"])
    )


def exchange_named(location: str) -> Exchange | None:
    return next((row for row in exchanges() if row.location.lower() == location.lower()), None)


def common_exchange(aws: str | None, azure: str | None, provider: str | None) -> Exchange | None:
    """The first location that is near both regions and has the provider (None: any)."""
    return next(
        (
            row
            for row in exchanges()
            if aws in row.aws and azure in row.local and (provider is None or provider in row.providers)
        ),
        None,
    )


def geography_of_location(location: str) -> str | None:
    """The geography of a peering location; None for one that the table lacks."""
    there = peering_location(location)
    return None if there is None else there.geography


def geography_of(azure: str) -> str | None:
    """The geography of an Azure region; None for one that the table lacks."""
    return next((name for name, regions in _document()["geographies"].items() if azure in regions), None)
