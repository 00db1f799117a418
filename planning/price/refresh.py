"""Read today's prices from the clouds' public lists, without a login, and cache them.

AWS: the bulk offer files, `offers/v1.0/aws/AmazonEC2/current/<region>/index.csv`; read as a stream, because a
region's file has hundreds of MB. Rows kept: on demand, shared tenancy, Linux without extra software, capacity in
use, market option on demand (capacity blocks stand in the file at 0.00 and are left out).
Azure: the retail prices API, followed page by page; Windows, spot and low-priority meters are left out.
Direct Connect's ports and egress stay as published: their offer file is not read.
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

from gpu_fabric.nccl.hardware import Cloud, load_sizes
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.price.table import Price, Unit, prices_to_json

AWS_LISTS = "https://pricing.us-east-1.amazonaws.com"
AZURE_LISTS = "https://prices.azure.com"
AZURE_VERSION = "2023-01-01-preview"
TIMEOUT_S = 60
MAXIMUM_PAGES = 50
MAXIMUM_WAIT_S = 60.0
ATTEMPTS = 4

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Lists:
    """Where the lists are; replaced in tests."""

    aws: str = AWS_LISTS
    azure: str = AZURE_LISTS


def _open(url: str, sleep: Callable[[float], None] = time.sleep) -> HTTPResponse:
    """A response; waits and tries again when told to slow down (429, 503). Raises `PlanningError`."""
    request = urllib.request.Request(url, headers={"User-Agent": "gpu-fabric"})
    for attempt in range(ATTEMPTS):
        try:
            return urllib.request.urlopen(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or attempt == ATTEMPTS - 1:
                raise PlanningError(
                    [f"{url}: the price list answered {error.code}; try again later"]
                ) from None
            wait = error.headers.get("Retry-After", "")
            sleep(min(MAXIMUM_WAIT_S, float(wait) if wait.isdigit() else 2.0**attempt))
        except (OSError, HTTPException) as error:
            raise PlanningError(
                [f"{url}: the price list cannot be reached ({error}); check the network"]
            ) from None
    raise AssertionError("the last attempt raises")


def _lines(response: HTTPResponse) -> Iterator[str]:
    for line in response:
        yield line.decode("utf-8")


AWS_FILTER: Mapping[str, str] = {
    "TermType": "OnDemand",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "CapacityStatus": "Used",
    "Pre Installed S/W": "NA",
    "MarketOption": "OnDemand",
    "Unit": "Hrs",
}
"""Columns of the offer file that make a row the price of a node by the hour (dstackai/gpuhunt, providers/aws.py)."""

AWS_STORAGE: Mapping[str, tuple[str, str, Unit]] = {
    "EBS:VolumeUsage.gp3": ("disk", "gp3", "GB-month"),
    "EBS:VolumeP-IOPS.gp3": ("disk-iops", "gp3", "IOPS-month"),
    "EBS:VolumeP-Throughput.gp3": ("disk-throughput", "gp3", "MB/s-month"),
    "NatGateway-Hours": ("nat-gateway", "aws", "hour"),
    "NatGateway-Bytes": ("nat-data", "aws", "GB"),
}
"""End of a usage type → what it prices. Outside us-east-1 usage types have a region prefix."""

THROUGHPUT_PER_GIBPS = 1024
"""The list prices throughput by GiB/s; the table has MB/s."""


def aws_prices(
    region: str, sizes: Iterable[str], *, lists: Lists | None = None, progress: Progress = lambda _: None
) -> list[Price]:
    """Prices of `sizes`, gp3 and NAT in `region`. Raises `PlanningError` when the list has another shape."""
    base = (lists or Lists()).aws
    url = f"{base}/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"
    wanted = set(sizes)
    prices: list[Price] = []
    progress(f"reading {url}")
    with closing(_open(url)) as response:
        lines = _lines(response)
        date = _aws_header(lines, url)
        rows = csv.DictReader(lines)
        missing = {"Instance Type", "PricePerUnit", "usageType", *AWS_FILTER} - set(rows.fieldnames or ())
        if missing:
            raise PlanningError(
                [f"{url}: has no columns {', '.join(sorted(missing))}; the list's format has changed"]
            )
        for count, row in enumerate(rows, 1):
            if count % 200_000 == 0:
                progress(f"{count} rows of {region} read")
            price = _aws_price(row, region, wanted, date, url)
            if price is not None:
                prices.append(price)
    return prices


def _aws_header(lines: Iterator[str], url: str) -> str:
    """The publication date from the five lines before the table."""
    date = ""
    for _ in range(5):
        name, _, value = next(lines, "").partition(",")
        if name.strip('"') == "Publication Date":
            date = value.strip().strip('"')[:10]
    if not date:
        raise PlanningError([f"{url}: does not begin like an offer file; the list's format has changed"])
    return date


def _aws_price(row: Mapping[str, str], region: str, wanted: set[str], date: str, url: str) -> Price | None:
    usd = float(row["PricePerUnit"] or 0)
    if usd <= 0 or row["TermType"] != "OnDemand":
        return None
    source = f"AWS price list, {url}"
    if row["Instance Type"] in wanted:
        if any(row[column] != value for column, value in AWS_FILTER.items()):
            return None
        return Price("node", row["Instance Type"], region, usd, "hour", source, date, "onDemand")
    for ending, (item, name, unit) in AWS_STORAGE.items():
        if row["usageType"] == ending or row["usageType"].endswith(f"-{ending}"):
            value = (
                usd / THROUGHPUT_PER_GIBPS if item == "disk-throughput" and "GiBps" in row["Unit"] else usd
            )
            return Price(item, name, region, value, unit, source, date)
    return None


def _azure_query(condition: str, base: str) -> str:
    query = urllib.parse.urlencode({"api-version": AZURE_VERSION, "$filter": condition})
    return f"{base}/api/retail/prices?{query}"


def _azure_rows(url: str, base: str, progress: Progress) -> Iterator[Mapping[str, Any]]:
    for _ in range(MAXIMUM_PAGES):
        progress(f"reading {url.partition('?')[0]}")
        with closing(_open(url)) as response:
            try:
                page = json.load(response)
                rows, following = page["Items"], page.get("NextPageLink")
            except (ValueError, KeyError, TypeError):
                raise PlanningError(
                    [f"{url}: is no page of retail prices; the API's format has changed"]
                ) from None
        yield from rows
        if not following:
            return
        if not following.startswith(f"{base}/"):
            raise PlanningError(
                [f"{url}: points to {following} as its next page, another host; not followed"]
            )
        url = following
    raise PlanningError([f"{url}: has more than {MAXIMUM_PAGES} pages; narrow the sizes"])


def azure_prices(
    region: str, sizes: Iterable[str], *, lists: Lists | None = None, progress: Progress = lambda _: None
) -> list[Price]:
    """Prices of `sizes` in `region`, of its ExpressRoute gateways, and of circuits and egress in every billing zone."""
    base = (lists or Lists()).azure
    prices: list[Price] = []
    for size in sizes:
        condition = (
            "serviceName eq 'Virtual Machines' and priceType eq 'Consumption' "
            f"and armRegionName eq '{region}' and armSkuName eq '{size}'"
        )
        prices += filter(
            None,
            (_azure_node(row, base) for row in _azure_rows(_azure_query(condition, base), base, progress)),
        )
    for condition in (
        "serviceName eq 'ExpressRoute' and priceType eq 'Consumption' and productName eq 'ExpressRoute'",
        f"serviceName eq 'ExpressRoute' and priceType eq 'Consumption' and armRegionName eq '{region}'",
    ):
        rows = _azure_rows(_azure_query(condition, base), base, progress)
        prices += filter(None, (_azure_express_route(row, base) for row in rows))
    return prices


def _azure_node(row: Mapping[str, Any], base: str) -> Price | None:
    if "Windows" in row["productName"] or any(word in row["meterName"] for word in ("Spot", "Low Priority")):
        return None
    if row["retailPrice"] <= 0 or row["unitOfMeasure"] != "1 Hour":
        return None
    source = f"Azure retail prices API, {base}"
    date = str(row["effectiveStartDate"])[:10]
    return Price(
        "node", row["armSkuName"], row["armRegionName"], row["retailPrice"], "hour", source, date, "onDemand"
    )


GATEWAY_METERS: Mapping[str, str] = {
    "Standard Gateway": "Standard",
    "High Performance Gateway": "HighPerformance",
    "Ultra High Performance Gateway": "UltraPerformance",
    "Ultra Performance Gateway": "UltraPerformance",
    "ErGw1AZ Gateway": "ErGw1AZ",
    "ErGw2AZ Gateway": "ErGw2AZ",
    "ErGw3AZ Gateway": "ErGw3AZ",
    "ErGwScale Unit": "ErGwScale",
}
"""The meter of a gateway → its SKU; ErGwScale is billed by the scale unit."""

CIRCUITS: Mapping[str, str] = {
    "Standard": "expressroute-circuit",
    "Premium": "expressroute-circuit-premium",
    "Local": "expressroute-local",
}
"""The first word of a circuit's meter → what it prices."""

CIRCUIT_METER = re.compile(
    r"(?P<tier>Standard|Premium|Local) (?:(?P<family>Metered|Unlimited) Data )?"
    r"(?P<rate>\d+) (?P<unit>[GM])bps Circuit"
)
"""Such as `Standard Metered Data 10 Gbps Circuit`, and `Local 1 Gbps Circuit`, which is unlimited always."""


def _azure_express_route(row: Mapping[str, Any], base: str) -> Price | None:
    """A circuit by month and egress by GB, by billing zone; a gateway by region."""
    usd, meter, zone = row["retailPrice"], row["meterName"], row.get("location", "")
    if usd <= 0:
        return None
    source, date = f"Azure retail prices API, {base}", str(row["effectiveStartDate"])[:10]
    if "Gateway" in row["productName"]:
        sku = GATEWAY_METERS.get(meter)
        if sku is None or row["unitOfMeasure"] != "1 Hour":
            return None
        return Price("expressroute-gateway", sku, row["armRegionName"], usd, "hour", source, date)
    if not zone.startswith("Zone"):
        return None
    if meter == "Metered Data - Data Transfer Out":
        return Price("expressroute-egress", "azure", zone, usd, "GB", source, date, "metered")
    found = CIRCUIT_METER.fullmatch(meter)
    if found is None:
        return None
    bandwidth = str(int(found["rate"]) * (1000 if found["unit"] == "G" else 1))
    family = "" if found["tier"] == "Local" else (found["family"] or "").lower()
    return Price(CIRCUITS[found["tier"]], bandwidth, zone, usd, "month", source, date, family)


def refresh(
    aws_regions: Iterable[str],
    azure_regions: Iterable[str],
    cache: Path,
    *,
    lists: Lists | None = None,
    progress: Progress = lambda _: None,
) -> list[Price]:
    """Read both clouds' lists for every size of the catalog and write the cache, whole or not at all."""
    sizes = load_sizes().values()
    prices: list[Price] = []
    for region in aws_regions:
        names = [size.name for size in sizes if size.cloud is Cloud.AWS]
        prices += aws_prices(region, names, lists=lists, progress=progress)
    for region in azure_regions:
        names = [size.name for size in sizes if size.cloud is Cloud.AZURE]
        prices += azure_prices(region, names, lists=lists, progress=progress)
    if not prices:
        raise PlanningError(["prices: the lists hold no price of a known size; the cache is left as it was"])
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=cache.parent, delete=False, encoding="utf-8") as file:
        file.write(prices_to_json(prices))
    Path(file.name).replace(cache)
    return prices
