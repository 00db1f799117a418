"""The price table: published figures with source, region, purchase kind and date, and the caller's own over them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.tables import read_toml

HOURS_PER_MONTH = 730
"""The hours of a month in both clouds' price lists."""

PURCHASE_WORDS = {
    "onDemand": "on demand",
    "spot": "spot",
    "reservation": "on demand (a capacity reservation is billed as on demand, used or not)",
    "capacityBlock": "capacity block",
}


@dataclass(frozen=True)
class Price:
    """US dollars for one `unit` (hour, month, GB, GB-month, …), without tax and discounts."""

    item: str
    """What is priced: node, disk, nat-gateway, expressroute-circuit, …"""
    name: str
    region: str
    usd: float
    unit: str
    source: str
    date: str
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
        ways.append("run `gpu-fabric prices --refresh` or give your own price")
        return Unknown(item, name, f"no{kind} price of {name}{where} is known; {'; '.join(ways)}")

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
            source=document["sources"][row["source"]],
            date=document["date"],
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


def prices_from_json(text: str, where: str) -> tuple[Price, ...]:
    """Prices of a file that `prices_to_json` wrote, or that a user wrote alike. Raises `PlanningError`."""
    try:
        rows: list[Mapping[str, Any]] = json.loads(text)["prices"]
        return tuple(Price(**row) for row in rows)
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{where}: is no price file ({error}); correct it, or delete it and refresh"
        raise PlanningError([problem]) from None


def prices_to_json(prices: Iterable[Price]) -> str:
    return json.dumps({"prices": [asdict(price) for price in prices]}, indent=1) + "\n"


def load_table(cache: Path | None = None, own: Path | None = None) -> PriceTable:
    """The published table, refreshed prices of `cache` before it, and the user's `own` file before both.

    A cache that does not exist is no error; an `own` file that does not is.
    """
    table = _published()
    if cache is not None and cache.is_file():
        table = table.over(prices_from_json(cache.read_text(encoding="utf-8"), str(cache)))
    if own is not None:
        try:
            text = own.read_text(encoding="utf-8")
        except OSError as error:
            raise PlanningError([f"{own}: cannot be read ({error.strerror}); give a price file"]) from None
        table = table.over(prices_from_json(text, str(own)))
    return table
