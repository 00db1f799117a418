"""Prices: found by region and purchase kind, unknown by name and never zero, and bills that add up."""

from __future__ import annotations

import json

import pytest

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.planner import plan
from gpu_fabric.planning.price import Price, PriceTable, Unknown, bill_of, load_table
from gpu_fabric.planning.price.table import prices_to_json
from gpu_fabric.planning.spec import FabricSpec, fabric_spec

TABLE = load_table()


def _spec(partner: str = "equinix", aws_kind: str = "onDemand", size: str = "p5.48xlarge") -> FabricSpec:
    data = {
        "aws": {"instanceType": size, "nodes": 4, "zone": "us-east-1a", "capacity": {"kind": aws_kind}},
        "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4},
        "interconnect": {"bandwidthMbps": 10000, "partner": partner},
        "training": {"model": "llama-3-8b", "globalBatch": 256},
    }
    return fabric_spec(data, azure_location="eastus")


def _aws_alone(**keys: object) -> FabricSpec:
    return fabric_spec({"aws": {"instanceType": "p5.48xlarge", "nodes": 4, "zone": "us-east-1a", **keys}})


def _usd(item: str, name: str, region: str | None = None, purchase: str = "") -> float:
    price = TABLE.find(item, name, region, purchase)
    assert isinstance(price, Price), price
    return price.usd


def _reason(item: str, name: str, region: str | None = None, purchase: str = "") -> str:
    price = TABLE.find(item, name, region, purchase)
    assert isinstance(price, Unknown), price
    return price.reason


def test_prices_after_the_cut_of_2025_are_in_the_table():
    assert _usd("node", "p5.48xlarge", "us-east-1", "onDemand") == 55.04
    assert _usd("node", "p4d.24xlarge", "us-east-1", "onDemand") == 21.957642
    assert _usd("node", "Standard_ND96isr_H100_v5", "eastus", "onDemand") == 98.32


@pytest.mark.parametrize(
    ("name", "region", "purchase", "date"),
    [
        ("p5.48xlarge", "us-east-1", "onDemand", "2026-07-20"),
        ("Standard_ND96isr_H100_v5", "eastus", "onDemand", "2026-06-18"),
        ("p5.48xlarge", "us-east-1", "capacityBlock", "late 2024"),
    ],
)
def test_a_price_has_the_date_of_its_own_source_and_not_that_of_the_table(name, region, purchase, date):
    price = TABLE.find("node", name, region, purchase)
    assert isinstance(price, Price)
    assert price.date == date


def test_no_p5_price_of_us_east_1_is_that_of_before_the_cut():
    prices = [p.usd for p in TABLE.prices if (p.name, p.region) == ("p5.48xlarge", "us-east-1")]
    assert prices
    assert max(prices) < 60


def test_every_price_is_above_zero_and_has_source_date_and_unit():
    assert len(TABLE.prices) > 50
    for price in TABLE.prices:
        assert price.usd > 0
        assert price.source
        assert price.date
        assert price.unit in {"hour", "month", "GB", "GB-month", "IOPS-month", "MB/s-month"}


@pytest.mark.parametrize(
    ("name", "region", "purchase", "words"),
    [
        (
            "p5e.48xlarge",
            "us-east-1",
            "onDemand",
            "no on demand price of p5e.48xlarge in us-east-1 is known; known as",
        ),
        ("p6-b200.48xlarge", "us-east-1", "capacityBlock", "no capacity block price of p6-b200.48xlarge"),
        ("p5.48xlarge", "eu-west-1", "onDemand", "known in us-east-1; run `gpu-fabric prices --refresh`"),
        (
            "Standard_ND96isr_H200_v5",
            "eastus",
            "onDemand",
            "known in eastus2, northcentralus, westus2, westus3",
        ),
    ],
)
def test_a_price_that_is_not_published_is_unknown_and_says_where_one_is(name, region, purchase, words):
    assert words in _reason("node", name, region, purchase)


def test_fabric_partners_have_no_published_amounts():
    assert "Equinix publishes no amounts" in _reason("equinix-connection", "10000")
    assert "Megaport" in _reason("megaport-connection", "10000")


def test_an_own_price_goes_before_the_published_one(tmp_path):
    own = tmp_path / "prices.json"
    own.write_text(
        prices_to_json(
            [Price("node", "p5.48xlarge", "us-east-1", 30.0, "hour", "contract", "2026-11-01", "onDemand")]
        )
    )
    table = load_table(own=own)
    price = table.find("node", "p5.48xlarge", "us-east-1", "onDemand")
    assert isinstance(price, Price)
    assert (price.usd, price.source) == (30.0, "contract")


ROW = {
    "item": "node",
    "name": "p5.48xlarge",
    "region": "us-east-1",
    "usd": 30.0,
    "unit": "hour",
    "source": "contract",
    "date": "2026-11-01",
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no price file (Expecting property name"),
        ("[]", "is no price file (no list `prices`); correct it, or delete it and refresh"),
        ("[" * 100_000, "is no price file (maximum recursion depth"),
        ('{"prices": [{"item": "node"}]}', "prices.0.name: is missing; correct the row, or take it out"),
        (
            json.dumps({"prices": [{**ROW, "usd": "abc"}]}),
            "prices.0.usd: Input should be a valid number; got 'abc'; ",
        ),
        (
            json.dumps({"prices": [{**ROW, "usd": float("nan")}]}),
            "prices.0.usd: Input should be a finite number; got",
        ),
        (
            json.dumps({"prices": [{**ROW, "usd": -5}]}),
            "prices.0.usd: Input should be greater than or equal to 0",
        ),
        (
            json.dumps({"prices": [{**ROW, "usd": True}]}),
            "prices.0.usd: Input should be a valid number; got True",
        ),
        (json.dumps({"prices": [ROW, 7]}), "prices.1: "),
        (json.dumps({"prices": [{**ROW, "unit": "fortnight"}]}), "prices.0.unit: "),
        (json.dumps({"prices": [{**ROW, "pice": 3}]}), "prices.0.pice: "),
        (
            json.dumps({"prices": [{**ROW, "unit": "GB"}]}),
            "prices.0: node is billed by time, and the row has the unit GB; correct the row, or take it out",
        ),
        (
            json.dumps({"prices": [{**ROW, "item": "expressroute-egress"}]}),
            "prices.0: expressroute-egress is billed by GB, and the row has the unit hour; ",
        ),
    ],
)
def test_a_price_file_with_a_wrong_row_is_an_error_with_file_row_and_value(tmp_path, text, message):
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(PlanningError) as error:
        load_table(own=path)
    assert any(problem.startswith(f"{path}: {message}") for problem in error.value.problems), (
        error.value.problems
    )


def test_every_wrong_row_of_a_price_file_is_named_at_once(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"prices": [{**ROW, "usd": -1}, ROW, {**ROW, "usd": "x", "unit": "y"}]}))
    with pytest.raises(PlanningError) as error:
        load_table(own=path)
    assert len(error.value.problems) == 3


def test_a_price_of_nothing_is_a_price(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"prices": [{**ROW, "usd": 0, "purchase": "onDemand"}]}))
    price = load_table(own=path).find("node", "p5.48xlarge", "us-east-1", "onDemand")
    assert isinstance(price, Price)
    assert price.usd == 0


def test_a_cache_that_is_not_there_is_no_error_but_an_own_file_is(tmp_path):
    assert load_table(cache=tmp_path / "none.json").prices == TABLE.prices
    with pytest.raises(PlanningError, match=r"none\.json: cannot be read"):
        load_table(own=tmp_path / "none.json")


def test_a_bill_adds_up_what_is_known_and_names_what_is_not():
    bill = bill_of(_spec(), TABLE)
    hours = {item.what: item.per_hour for item in bill.items}
    assert hours["p5.48xlarge, on demand"] == pytest.approx(4 * 55.04)
    assert hours["Standard_ND96isr_H100_v5, on demand"] == pytest.approx(4 * 98.32)
    assert hours["root disks (gp3)"] == pytest.approx(4 * 1000 * 0.08 / 730)
    assert hours["IOPS above 3000"] == pytest.approx(4 * 13000 * 0.005 / 730)
    assert hours["Direct Connect hosted connection, 10000 Mb/s"] == pytest.approx(2.48)
    assert hours["ExpressRoute circuit, 10000 Mb/s, metered"] == pytest.approx(3400 / 730)
    assert hours["equinix connections"] is None
    assert bill.per_hour == pytest.approx(sum(value for value in hours.values() if value is not None))
    assert not bill.complete
    assert {item.what for item in bill.unknowns} >= {"equinix connections", "ExpressRoute gateway ErGw3AZ"}
    assert all(item.per_month is None for item in bill.unknowns)


def test_a_node_without_a_price_leaves_the_sum_incomplete():
    bill = bill_of(_spec(size="p5e.48xlarge"), TABLE)
    nodes = next(item for item in bill.unknowns if item.what.startswith("p5e.48xlarge"))
    assert "no on demand price" in nodes.basis
    assert bill.per_hour < bill_of(_spec(), TABLE).per_hour


def test_nodes_off_leave_ports_circuits_and_disks_on_the_bill():
    bill = bill_of(_spec(), TABLE)
    assert 0 < bill.idle_per_hour < 10
    standing = {item.what for item in bill.items if item.standing}
    assert "p5.48xlarge, on demand" not in standing
    assert "Direct Connect hosted connection, 10000 Mb/s" in standing


def test_a_step_costs_its_time_and_the_bytes_over_the_link():
    spec = _spec()
    split = plan(spec).split
    assert split is not None
    bill = bill_of(spec, TABLE, split.estimate)
    volume = split.estimate.link_bytes / 1e9
    assert bill.volume_per_step == pytest.approx(volume * (0.02 + 0.025))
    assert bill.per_step == pytest.approx(
        bill.per_hour * split.estimate.seconds / 3600 + bill.volume_per_step
    )
    assert bill.per_step is not None
    assert bill.per_billion_tokens == pytest.approx(bill.per_step * 1e9 / split.estimate.tokens)
    assert bill.per_month(idle_hours=100) < bill.per_month()
    assert bill.per_month(idle_hours=730) == pytest.approx(bill.per_hour * 730)


def test_without_an_estimate_there_is_no_price_of_a_step():
    bill = bill_of(_spec(), TABLE)
    assert bill.per_step is None
    assert bill.per_billion_tokens is None


def test_a_capacity_block_is_priced_as_one_and_a_reservation_as_on_demand():
    block = bill_of(_spec(aws_kind="capacityBlock"), TABLE).items[0]
    assert block.per_hour == pytest.approx(4 * 39.33)
    assert "DescribeCapacityBlockOfferings" in block.basis
    assert bill_of(_spec(aws_kind="reservation"), TABLE).items[0].per_hour == pytest.approx(4 * 55.04)


@pytest.mark.parametrize(
    ("volume", "lines"),
    [
        ({}, {"root disks (gp3)": 4000, "IOPS above 3000": 52_000, "MB/s above 125": 3500}),
        (
            {"sizeGib": 20, "iops": 3000, "throughputMibps": 125},
            {"root disks (gp3)": 80},
        ),
        (
            {"sizeGib": 500, "iops": 3001, "throughputMibps": 126},
            {"root disks (gp3)": 2000, "IOPS above 3000": 4, "MB/s above 125": 4},
        ),
    ],
)
def test_the_disks_of_the_stack_file_are_billed_and_what_gp3_includes_is_not(volume, lines):
    bill = bill_of(_aws_alone(rootVolume=volume), TABLE)
    disks = ("root disks", "IOPS", "MB/s")
    assert {i.what: i.quantity for i in bill.items if i.what.startswith(disks)} == lines


@pytest.mark.parametrize(
    ("network", "lines"),
    [
        ({}, {"NAT gateway (aws)", "data through NAT (aws)"}),
        ({"internet": "nat"}, {"NAT gateway (aws)", "data through NAT (aws)"}),
        ({"internet": "endpoints"}, {"VPC interface endpoints"}),
        ({"vpcId": "vpc-1", "subnetId": "subnet-1"}, set()),
    ],
)
def test_a_network_is_billed_for_the_gateways_that_the_stack_file_asks_for(network, lines):
    bill = bill_of(_aws_alone(network=network), TABLE)
    others = ("p5", "root", "IOPS", "MB/s")
    assert {item.what for item in bill.items if not item.what.startswith(others)} == lines


def test_the_bill_counts_the_endpoints_that_the_program_makes():
    from gpu_fabric.components.aws.endpoints import INTERFACE_ENDPOINTS

    (line,) = (
        item
        for item in bill_of(_aws_alone(network={"internet": "endpoints"}), TABLE).items
        if "endpoints" in item.what
    )
    assert line.quantity == len(INTERFACE_ENDPOINTS)
    assert isinstance(line.price, Unknown)


def test_a_network_on_azure_without_a_gateway_has_none_on_the_bill_and_a_bastion_is_named():
    section = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 1}
    closed = bill_of(fabric_spec({"azure": {**section, "network": {"internet": "none"}}}), TABLE)
    assert not any("NAT" in item.what for item in closed.items)
    watched = bill_of(fabric_spec({"azure": {**section, "network": {"bastion": True}}}), TABLE)
    assert "Azure Bastion" in {item.what for item in watched.unknowns}


def test_a_price_by_volume_has_no_price_by_the_hour():
    egress = TABLE.find("direct-connect-egress", "aws", "us-east-1")
    assert isinstance(egress, Price)
    with pytest.raises(ValueError, match="priced by GB, not by time"):
        _ = egress.per_hour


def test_the_tables_file_and_the_cache_have_one_format():
    text = prices_to_json(TABLE.prices)
    rows = json.loads(text)["prices"]
    assert len(rows) == len(TABLE.prices)
    assert PriceTable(tuple(Price(**row) for row in rows), {}).prices == TABLE.prices
