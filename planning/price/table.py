"""The price table: published figures with source, region, purchase kind and date, and the caller's own over them."""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.files import text_of
from gpu_fabric.planning.tables import read_toml

HOURS_PER_MONTH = 730
"""The hours of a month in both clouds' price lists."""

PURCHASE_WORDS = {
    "onDemand": "on demand",
    "spot": "spot",
    "reservation": "on demand (a capacity reservation is billed as on demand, used or not)",
    "capacityBlock": "capacity block",
}


BY_VOLUME = frozenset({"direct-connect-egress", "expressroute-egress", "nat-data", "transit-gateway-data"})
"""Items billed by GB; everything else is billed by time."""

REFRESHED = frozenset(
    {
        "node",
        "disk",
        "disk-iops",
        "disk-throughput",
        "nat-gateway aws",
        "nat-data aws",
        "expressroute-circuit",
        "expressroute-circuit-premium",
        "expressroute-local",
        "expressroute-egress",
        "expressroute-gateway",
    }
)
"""Items, or items with a name, that `gpu-fabric prices --refresh` reads."""

Unit = Literal["hour", "month", "GB", "GB-month", "IOPS-month", "MB/s-month"]


@dataclass(frozen=True)
class Price:
    """US dollars for one `unit`, without tax and discounts."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    item: str
    """What is priced: node, disk, nat-gateway, expressroute-circuit, …"""
    name: str
    region: str
    usd: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
    unit: Unit
    source: str
    date: str
    """When the source was true, as it says itself: a day, `late 2024`, or `undated`."""
    purchase: str = ""
    note: str = ""

    @property
    def per_hour(self) -> float:
        """US dollars an hour of something billed by time; raises `ValueError` for a price by volume."""
        if self.unit == "hour":
            return self.usd
        if self.unit.endswith("month"):
            return self.usd / HOURS_PER_MONTH
        raise ValueError(f"{self.item} {self.name} is priced by {self.unit}, not by time")


@dataclass(frozen=True)
class Unknown:
    """No published price. Never counted as zero."""

    item: str
    name: str
    reason: str


@dataclass(frozen=True)
class PriceTable:
    """Prices in the order in which they are believed: the first match counts."""

    prices: tuple[Price, ...]
    reasons: Mapping[str, str]
    """Why an item has no price, by item."""

    def find(self, item: str, name: str, region: str | None = None, purchase: str = "") -> Price | Unknown:
        """The price of `item`; of a region where one is given."""
        same = [
            price
            for price in self.prices
            if (price.item, price.name, price.purchase) == (item, name, purchase)
        ]
        for price in same:
            if region is None or price.region == region:
                return price
        if item in self.reasons:
            return Unknown(item, name, self.reasons[item])
        elsewhere = sorted({price.region for price in same})
        kinds = sorted({p.purchase for p in self.prices if (p.item, p.name) == (item, name) and p.purchase})
        where = f" in {region}" if region else ""
        kind = f" {PURCHASE_WORDS.get(purchase, purchase)}" if purchase else ""
        ways = []
        if elsewhere:
            ways.append(f"known in {', '.join(elsewhere)}")
        elif kinds:
            ways.append(f"known as {', '.join(PURCHASE_WORDS.get(kind, kind) for kind in kinds)}")
        refreshed = not REFRESHED.isdisjoint((item, f"{item} {name}"))
        ways.append(
            "run `gpu-fabric prices --refresh` or give your own price" if refreshed else "give your own price"
        )
        # The name of what a cloud has one of is the cloud's.
        of = "" if name in ("aws", "azure") else f" of {name}"
        return Unknown(item, name, f"no{kind} price{of}{where} is known; {'; '.join(ways)}")

    def over(self, own: Iterable[Price]) -> PriceTable:
        """This table with other prices before it."""
        return PriceTable((*own, *self.prices), self.reasons)


def _published() -> PriceTable:
    document = read_toml("prices.toml")
    prices = (
        Price(
            item=row["item"],
            name=row["name"],
            region=row["region"],
            usd=row["usd"],
            unit=row["unit"],
            source=document["sources"][row["source"]]["text"],
            date=document["sources"][row["source"]]["date"],
            purchase=row.get("purchase", ""),
            note=row.get("note", ""),
        )
        for row in document["price"]
    )
    return PriceTable(tuple(prices), {row["item"]: row["reason"] for row in document["unknown"]})


def cache_path() -> Path:
    """Where refreshed prices are kept: `$XDG_CACHE_HOME/gpu-fabric/prices.json`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gpu-fabric" / "prices.json"


class _PriceFile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    prices: tuple[Price, ...]


def _row_problem(error: Mapping[str, Any], where: str) -> str:
    place = ".".join(str(part) for part in error["loc"])
    what = (
        "is missing" if error["type"] == "missing" else f"{error['msg']}; got {reprlib.repr(error['input'])}"
    )
    return f"{where}: {place or 'the file'}: {what}; correct the row, or take it out"


def prices_from_json(text: str, where: str) -> tuple[Price, ...]:
    """Prices of a file that `prices_to_json` wrote, or that a user wrote alike. Raises `PlanningError`.

    `where` names the file in messages.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"{where}: is no price file ({error}); correct it, or delete it and refresh"
        raise PlanningError([problem]) from None
    if not isinstance(document, Mapping) or not isinstance(document.get("prices"), list):
        raise PlanningError(
            [f"{where}: is no price file (no list `prices`); correct it, or delete it and refresh"]
        )
    try:
        prices = _PriceFile.model_validate({"prices": tuple(document["prices"])}).prices
    except ValidationError as error:
        raise PlanningError([_row_problem(item, where) for item in error.errors(include_url=False)]) from None
    problems = [
        f"{where}: prices.{index}: {price.item} is billed by {'GB' if price.item in BY_VOLUME else 'time'}, and the "
        f"row has the unit {price.unit}; correct the row, or take it out"
        for index, price in enumerate(prices)
        if (price.unit == "GB") != (price.item in BY_VOLUME)
    ]
    if problems:
        raise PlanningError(problems)
    return prices


def prices_to_json(prices: Iterable[Price]) -> str:
    return json.dumps({"prices": [asdict(price) for price in prices]}, indent=1) + "\n"


def load_table(cache: Path | None = None, own: Path | None = None) -> PriceTable:
    """The published table, refreshed prices of `cache` before it, and the user's `own` file before both.

    A cache that does not exist is no error; an `own` file that does not is.
    """
    table = _published()
    if cache is not None and cache.is_file():
        table = table.over(prices_from_json(text_of(cache, "a price file"), str(cache)))
    if own is not None:
        table = table.over(prices_from_json(text_of(own, "a price file"), str(own)))
    return table


OWN_PRICES = "GPU_FABRIC_PRICES"
"""The environment variable with the place of a price file of the user's own."""


def prices_in_force(own: Path | None = None) -> PriceTable:
    """What plan and preview count with: the published prices, refreshed ones before them, and the user's before both.

    `own`: by default the file that `$GPU_FABRIC_PRICES` names, if it names one. Raises `PlanningError`.
    """
    table, named = load_table(cache=cache_path(), own=own), os.environ.get(OWN_PRICES)
    if own is not None or not named:
        return table
    try:
        return table.over(prices_from_json(text_of(Path(named), "a price file"), named))
    except PlanningError as error:
        raise PlanningError([f"{OWN_PRICES}: {problem}" for problem in error.problems]) from None
