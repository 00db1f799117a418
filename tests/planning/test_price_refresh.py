"""Refreshing prices from the clouds' public lists: recorded excerpts from a local server, and the real ones online."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.price import load_table
from gpu_fabric.planning.price.refresh import AWS_FILTER, Lists, _open, aws_prices, azure_prices, refresh
from gpu_fabric.planning.price.table import REFRESHED

COLUMNS = ["Instance Type", "PricePerUnit", "usageType", *AWS_FILTER]
HEADER = (
    '"FormatVersion","v1.0"\n"Disclaimer","x, y"\n"Publication Date","2026-11-20T01:02:03Z"\n'
    '"Version","20261120"\n"OfferCode","AmazonEC2"\n'
)


def _row(size: str, usd: str, usage: str = "", **changes: str) -> str:
    values = {**AWS_FILTER, **changes}
    return ",".join(f'"{value}"' for value in (size, usd, usage, *(values[column] for column in AWS_FILTER)))


OFFER = HEADER + "\n".join(
    [
        ",".join(f'"{column}"' for column in COLUMNS),
        _row("p5.48xlarge", "0.0000000000", MarketOption="CapacityBlock"),
        _row("p5.48xlarge", "56.0400000000", "BoxUsage:p5.48xlarge"),
        _row("p5.48xlarge", "99.0", **{"Operating System": "Windows"}),
        _row("p5.48xlarge", "77.0", TermType="Reserved"),
        _row("p5.48xlarge", "88.0", Tenancy="Dedicated"),
        _row("m5.large", "0.096", "BoxUsage:m5.large"),
        _row("", "0.08", "EBS:VolumeUsage.gp3", Unit="GB-Mo"),
        _row("", "0.005", "EBS:VolumeP-IOPS.gp3", Unit="IOPS-Mo"),
        _row("", "40.96", "EBS:VolumeP-Throughput.gp3", Unit="GiBps-mo"),
        _row("", "0.045", "USW2-NatGateway-Hours"),
    ]
)


def _meter(name: str, price: float, **fields: object) -> dict[str, object]:
    return {
        "productName": "Virtual Machines NDsr H100 v5 Series",
        "meterName": name,
        "armSkuName": "Standard_ND96isr_H100_v5",
        "armRegionName": "eastus",
        "location": "US East",
        "unitOfMeasure": "1 Hour",
        "effectiveStartDate": "2026-10-01T00:00:00Z",
        "retailPrice": price,
        **fields,
    }


NODE_PAGES = [
    [_meter("ND96isr H100 v5 Spot", 20.0), _meter("ND96isr H100 v5", 150.0, productName="VM Windows")],
    [_meter("ND96isr H100 v5", 97.5), _meter("ND96isr H100 v5 Low Priority", 30.0)],
]
EXPRESS_ROUTE = [
    _meter("Standard Metered Data 10 Gbps Circuit", 3500.0, location="Zone 1", unitOfMeasure="1/Month"),
    _meter("Standard Unlimited Data 1 Gbps Circuit", 5800.0, location="Zone 1", unitOfMeasure="1/Month"),
    _meter("Premium Metered Data 10 Gbps Circuit", 9999.0, location="Zone 1", unitOfMeasure="1/Month"),
    _meter("Local 1 Gbps Circuit", 1234.0, location="Zone 2", unitOfMeasure="1/Month"),
    _meter("Local Unlimited Data 500 Mbps Circuit", 4321.0, location="Zone 1", unitOfMeasure="1/Month"),
    _meter("Global Reach 1 Gbps Circuit", 7.0, location="Zone 1", unitOfMeasure="1/Month"),
    _meter("Metered Data - Data Transfer Out", 0.026, location="Zone 1", unitOfMeasure="1 GB"),
]
GATEWAYS = [
    _meter("ErGw3AZ Gateway", 2.2, productName="ExpressRoute Gateway"),
    _meter("ErGwScale Unit", 0.4, productName="ExpressRoute Gateway"),
    _meter("Standard Gateway", 0.2, productName="ExpressRoute Standard Gateway"),
    _meter("Ultra High Performance Gateway", 1.9, productName="ExpressRoute Ultra High Performance Gateway"),
    _meter("ErGw9AZ Gateway", 9.0, productName="ExpressRoute Gateway"),
    _meter("ErGw3AZ Gateway", 900.0, productName="ExpressRoute Gateway", unitOfMeasure="1/Month"),
]


class _Handler(BaseHTTPRequestHandler):
    """Answers with recorded excerpts; `/busy` says 429 twice before it answers."""

    busy = 2

    def do_GET(self) -> None:
        url = urlparse(self.path)
        query = parse_qs(url.query)
        asked = query.get("$filter", [""])[0]
        base = f"http://{self.headers['Host']}"
        if url.path == "/offers/v1.0/aws/AmazonEC2/current/us-west-2/index.csv":
            self._answer(OFFER)
        elif url.path == "/offers/v1.0/aws/AmazonEC2/current/odd/index.csv":
            self._answer(HEADER + '"A","B"\n1,2\n')
        elif url.path == "/offers/v1.0/aws/AmazonEC2/current/html/index.csv":
            self._answer("<html></html>\n")
        elif url.path == "/api/retail/prices" and "away" in asked:
            self._answer(json.dumps({"Items": [], "NextPageLink": "http://example.org/next"}))
        elif (
            url.path == "/api/retail/prices"
            and "ExpressRoute" in (asked := asked)
            and "armRegionName" in asked
        ):
            self._answer(json.dumps({"Items": GATEWAYS, "NextPageLink": None}))
        elif url.path == "/api/retail/prices" and "ExpressRoute" in asked:
            self._answer(json.dumps({"Items": EXPRESS_ROUTE, "NextPageLink": None}))
        elif url.path == "/api/retail/prices":
            page = int(query.get("page", ["0"])[0])
            node = "ND96isr_H100_v5" in asked or page
            following = f"{base}/api/retail/prices?page=1" if page == 0 and node else None
            self._answer(json.dumps({"Items": NODE_PAGES[page] if node else [], "NextPageLink": following}))
        elif url.path == "/busy" and type(self).busy:
            type(self).busy -= 1
            self._answer("", 429, {"Retry-After": "7"})
        elif url.path == "/busy":
            self._answer("ok")
        else:
            self._answer("", 404)

    def _answer(self, text: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def lists() -> Iterator[Lists]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    yield Lists(aws=base, azure=base)
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_only_the_on_demand_row_of_a_node_is_taken_and_free_capacity_blocks_are_not(lists):
    prices = aws_prices("us-west-2", ["p5.48xlarge"], lists=lists)
    nodes = [price for price in prices if price.item == "node"]
    assert [(p.name, p.region, p.usd, p.unit, p.purchase, p.date) for p in nodes] == [
        ("p5.48xlarge", "us-west-2", 56.04, "hour", "onDemand", "2026-11-20")
    ]


def test_storage_and_nat_are_taken_with_and_without_a_region_prefix(lists):
    found = {p.item: (p.usd, p.unit) for p in aws_prices("us-west-2", [], lists=lists)}
    assert found == {
        "disk": (0.08, "GB-month"),
        "disk-iops": (0.005, "IOPS-month"),
        "disk-throughput": (0.04, "MB/s-month"),
        "nat-gateway": (0.045, "hour"),
    }


def test_azures_pages_are_followed_and_windows_and_spot_meters_left_out(lists):
    prices = azure_prices("eastus", ["Standard_ND96isr_H100_v5"], lists=lists)
    assert [p.usd for p in prices if p.item == "node"] == [97.5]
    items = {
        "expressroute-circuit": {
            ("10000", "Zone 1", "metered"): 3500.0,
            ("1000", "Zone 1", "unlimited"): 5800.0,
        },
        "expressroute-circuit-premium": {("10000", "Zone 1", "metered"): 9999.0},
        "expressroute-local": {("1000", "Zone 2", ""): 1234.0, ("500", "Zone 1", ""): 4321.0},
    }
    for item, rows in items.items():
        assert {(p.name, p.region, p.purchase): p.usd for p in prices if p.item == item} == rows
    assert [p.usd for p in prices if p.item == "expressroute-egress"] == [0.026]
    gateways = [(p.name, p.region, p.usd, p.unit) for p in prices if p.item == "expressroute-gateway"]
    assert gateways == [
        ("ErGw3AZ", "eastus", 2.2, "hour"),
        ("ErGwScale", "eastus", 0.4, "hour"),
        ("Standard", "eastus", 0.2, "hour"),
        ("UltraPerformance", "eastus", 1.9, "hour"),
    ]


def test_a_reason_sends_the_user_to_a_refresh_for_what_a_refresh_reads_and_for_nothing_else(lists):
    read = {("nat-data", "aws")} | {
        (price.item, price.name)
        for price in [
            *aws_prices("us-west-2", ["p5.48xlarge"], lists=lists),
            *azure_prices("eastus", ["Standard_ND96isr_H100_v5"], lists=lists),
        ]
    }
    assert {name for item, name in read if item == "nat-gateway"} == {"aws"}
    words = {item if not item.startswith("nat-") else f"{item} {name}" for item, name in read}
    assert words == REFRESHED
    table = load_table()
    for item, name, sent in (("expressroute-gateway", "ErGw3AZ", True), ("public-ip", "azure", False)):
        reason = getattr(table.find(item, name, "nowhere"), "reason", "")
        assert ("gpu-fabric prices --refresh" in reason) is sent
        assert reason.endswith("give your own price")


def test_a_refresh_is_cached_and_goes_before_the_published_table(lists, tmp_path):
    cache = tmp_path / "deep" / "prices.json"
    said: list[str] = []
    written = refresh(["us-west-2"], ["eastus"], cache, lists=lists, progress=said.append)
    assert said
    table = load_table(cache=cache)
    assert table.prices[: len(written)] == tuple(written)
    price = table.find("node", "Standard_ND96isr_H100_v5", "eastus", "onDemand")
    assert getattr(price, "usd", None) == 97.5
    assert list(cache.parent.iterdir()) == [cache], "no half-written file stays behind"


def test_lists_without_a_known_price_leave_the_cache_as_it_was(lists, tmp_path):
    cache = tmp_path / "prices.json"
    with pytest.raises(PlanningError, match="the cache is left as it was"):
        refresh([], [], cache, lists=lists)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("odd", "has no columns CapacityStatus, Instance Type"),
        ("html", "does not begin like an offer file; the list's format has changed"),
        ("nowhere", "the price list answered 404; try again later"),
    ],
)
def test_a_list_of_another_shape_is_an_error_with_its_address(lists, region, message):
    with pytest.raises(PlanningError) as error:
        aws_prices(region, ["p5.48xlarge"], lists=lists)
    assert message in str(error.value)
    assert f"/current/{region}/index.csv" in str(error.value)


def test_a_next_page_on_another_host_is_not_followed(lists):
    with pytest.raises(
        PlanningError, match=r"points to http://example\.org/next as its next page, another host"
    ):
        azure_prices("away", ["Standard_ND96isr_H100_v5"], lists=lists)


def test_a_list_that_asks_to_slow_down_is_waited_for(lists):
    waits: list[float] = []
    with _open(f"{lists.aws}/busy", sleep=waits.append) as response:
        assert response.read() == b"ok"
    assert waits == [7.0, 7.0]


def test_a_list_that_cannot_be_reached_says_so():
    with pytest.raises(PlanningError, match=r"the price list cannot be reached .*; check the network"):
        aws_prices("us-east-1", [], lists=Lists(aws="http://127.0.0.1:9", azure=""))


@pytest.mark.online
def test_the_real_azure_list_has_ndv5():
    prices = azure_prices("eastus", ["Standard_ND96isr_H100_v5"])
    assert [p for p in prices if p.item == "node" and p.usd > 20]
    assert [p for p in prices if p.item == "expressroute-circuit"]


@pytest.mark.online
def test_the_real_aws_list_has_p5():
    prices = aws_prices("us-east-1", ["p5.48xlarge"])
    assert [p.usd for p in prices if p.item == "node"] == [pytest.approx(55, abs=40)]
