"""Where ExpressRoute is joined: each peering location, its geography, its billing zone and the regions beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpu_fabric.planning.tables import read_toml


@dataclass(frozen=True)
class PeeringLocation:
    """A location as ExpressRoute names it."""

    name: str
    geography: str
    """The tier Standard reaches every region of it."""
    zone: str
    """By which circuits and egress are billed: `Zone 1` to `Zone 4`."""
    local: tuple[str, ...]
    """Azure regions that the tier Local reaches."""


def _key(name: str) -> str:
    """A name without what its spellings differ in: case, blanks, and the country that two names have in brackets."""
    return "".join(name.partition("(")[0].lower().split())


@cache
def _by_key() -> Mapping[str, PeeringLocation]:
    rows = read_toml("peering_locations.toml")["location"]
    return {
        _key(name): PeeringLocation(name, row["geography"], f"Zone {row['zone']}", tuple(row["local"]))
        for name, row in rows.items()
    }


def peering_locations() -> tuple[PeeringLocation, ...]:
    return tuple(_by_key().values())


def peering_location(name: str) -> PeeringLocation | None:
    """The location of that name; None for one that the table lacks."""
    return _by_key().get(_key(name))


def location_beside(azure: str | None) -> PeeringLocation | None:
    """The first location from which the tier Local reaches an Azure region; None where none is known."""
    return next((row for row in peering_locations() if azure in row.local), None)
