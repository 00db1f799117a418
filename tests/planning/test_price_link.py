"""The bill of the link between the clouds: each part by its own price, and what has none by name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpu_fabric.planning.planner import plan
from gpu_fabric.planning.price import LineItem, LinkParts, Price, Unknown, bill_of, link_items, load_table
from gpu_fabric.planning.price.link import CircuitParts, Port, billing_zone, port_area, port_of, spec_parts
from gpu_fabric.planning.spec import FabricSpec, fabric_spec

TABLE = load_table()
STANDARD = CircuitParts("Standard", metered=True, zone="Zone 1")


def parts(**changes: Any) -> LinkParts:
    """Between us-east-1 and eastus through a partner in Washington DC."""
    given: dict[str, Any] = {
        "partner": "equinix",
        "bandwidth_mbps": 10_000,
        "connections": 1,
        "aws_region": "us-east-1",
        "azure_region": "eastus",
        "gateway": "ErGw3AZ",
        "circuit": STANDARD,
        "egress": "us-east-1",
        "router": "STANDARD",
    }
    return LinkParts(**{**given, **changes})


def lines(volume: float | None = None, **changes: Any) -> dict[str, LineItem]:
    return {item.what: item for item in link_items(parts(**changes), TABLE, volume)}


def stack(link: dict[str, Any], azure: str = "eastus") -> FabricSpec:
    data = {
        "aws": {"instanceType": "p5.48xlarge", "nodes": 4, "zone": "us-east-1a"},
        "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4},
        "interconnect": {"bandwidthMbps": 10_000, **link},
        "training": {"model": "llama-3-8b", "globalBatch": 256},
    }
    return fabric_spec(data, azure_location=azure)


@pytest.mark.parametrize(
    ("mbps", "usd"),
    [
        (50, 0.03),
        (100, 0.06),
        (200, 0.08),
        (500, 0.20),
        (1_000, 0.33),
        (2_000, 0.66),
        (5_000, 1.65),
        (10_000, 2.48),
    ],
)
def test_a_partners_connection_is_billed_as_a_hosted_one_of_its_capacity(mbps: int, usd: float) -> None:
    line = lines(bandwidth_mbps=mbps)[f"Direct Connect hosted connection, {mbps} Mb/s"]
    assert line.per_hour == pytest.approx(usd)
    assert isinstance(line.price, Price)
    assert line.price.date == "2026-09-20"


@pytest.mark.parametrize(
    ("mbps", "port", "usd"),
    [(500, 1_000, 0.30), (1_000, 1_000, 0.30), (2_000, 10_000, 2.25), (10_000, 10_000, 2.25)],
)
def test_a_port_of_ones_own_is_the_smallest_dedicated_one_that_carries_the_link(
    mbps: int, port: int, usd: float
) -> None:
    line = lines(bandwidth_mbps=mbps, partner="manual", router=None, port=Port.DEDICATED)[
        f"Direct Connect dedicated port, {port} Mb/s"
    ]
    assert line.per_hour == pytest.approx(usd)


def test_a_port_on_the_partners_bill_is_no_line_of_ours_and_what_leaves_through_it_is() -> None:
    found = lines(1.0, partner="manual", router=None, port=None)
    assert not [what for what in found if what.startswith("Direct Connect")]
    assert found["egress from AWS"].by_quantity == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("partner", "accept", "interfaces", "port"),
    [
        ("equinix", False, (), Port.HOSTED),
        ("megaport", True, (), Port.HOSTED),
        ("manual", True, (), Port.HOSTED),
        ("manual", False, (), Port.DEDICATED),
        ("manual", True, ("dxvif-1",), None),
    ],
)
def test_whose_the_port_is_follows_the_partner(
    partner: str, accept: bool, interfaces: tuple[str, ...], port: Port | None
) -> None:
    assert port_of(partner, accept, interfaces) is port


@pytest.mark.parametrize(
    ("location", "aws", "area"),
    [
        ("Washington DC", "us-east-1", "all but Japan"),
        ("Frankfurt", "eu-central-1", "all but Japan"),
        ("Tokyo", "ap-northeast-1", "Japan"),
        (None, "ap-northeast-1", "Japan"),
        (None, "ap-northeast-3", "Japan"),
        ("Tokyo", "us-west-2", "Japan"),
        ("Seoul", "ap-northeast-2", "all but Japan"),
        (None, "cn-north-1", "cn-north-1"),
        (None, None, "all but Japan"),
    ],
)
def test_a_port_is_billed_in_the_area_of_its_location(
    location: str | None, aws: str | None, area: str
) -> None:
    assert port_area(location, aws) == area


def test_in_japan_a_hosted_connection_has_no_price_and_a_dedicated_port_its_own() -> None:
    line = lines(port_area="Japan")["Direct Connect hosted connection, 10000 Mb/s"]
    assert isinstance(line.price, Unknown)
    assert line.price.reason == (
        "no hosted price of 10000 in Japan is known; known in all but Japan; give your own price"
    )
    own = lines(port_area="Japan", port=Port.DEDICATED)["Direct Connect dedicated port, 10000 Mb/s"]
    assert own.per_hour == pytest.approx(2.142)


@pytest.mark.parametrize(
    ("circuit", "line", "usd"),
    [
        (STANDARD, "ExpressRoute circuit, 10000 Mb/s, metered", 3400.0),
        (CircuitParts("Standard", False, "Zone 1"), "ExpressRoute circuit, 10000 Mb/s, unlimited", 51300.0),
        (CircuitParts("Standard", True, "Zone 2"), "ExpressRoute circuit, 10000 Mb/s, metered", 3400.0),
        (CircuitParts("Standard", False, "Zone 2"), "ExpressRoute circuit, 10000 Mb/s, unlimited", 82000.0),
        (CircuitParts("Standard", True, "Zone 3"), "ExpressRoute circuit, 10000 Mb/s, metered", None),
        (CircuitParts("Premium", True, "Zone 1"), "ExpressRoute Premium circuit, 10000 Mb/s, metered", None),
        (
            CircuitParts("Premium", False, "Zone 1"),
            "ExpressRoute Premium circuit, 10000 Mb/s, unlimited",
            None,
        ),
        (CircuitParts("Local", False, "Zone 1"), "ExpressRoute Local circuit, 10000 Mb/s", None),
    ],
)
def test_a_circuit_has_the_price_of_its_own_tier_family_and_zone_or_none(
    circuit: CircuitParts, line: str, usd: float | None
) -> None:
    (item,) = (item for item in lines(circuit=circuit).values() if "circuit" in item.what)
    assert (item.what, item.quantity) == (line, 1)
    assert item.per_month == (usd if usd is None else pytest.approx(usd))


@pytest.mark.parametrize(
    ("zone", "usd"), [("Zone 1", 0.025), ("Zone 2", 0.05), ("Zone 3", 0.14), ("Zone 4", 0.10)]
)
def test_what_leaves_azure_is_billed_by_the_zone_of_the_circuit(zone: str, usd: float) -> None:
    found = lines(1000.0, circuit=CircuitParts("Standard", True, zone))
    assert found["egress from Azure"].by_quantity == pytest.approx(1000 * usd)


@pytest.mark.parametrize(
    "circuit", [CircuitParts("Local", False, "Zone 1"), CircuitParts("Standard", False, "Zone 1")]
)
def test_an_unlimited_circuit_has_no_egress_on_the_bill(circuit: CircuitParts) -> None:
    assert "egress from Azure" not in lines(1000.0, circuit=circuit)


@pytest.mark.parametrize(
    ("location", "azure", "zone"),
    [
        ("Sao Paulo", "brazilsouth", "Zone 3"),
        ("Canberra", "australiacentral", "Zone 1"),
        (None, "eastus", "Zone 1"),
        (None, "northeurope", "Zone 1"),
        (None, "japaneast", "Zone 2"),
        (None, "koreacentral", "Zone 2"),
        (None, "centralindia", "Zone 2"),
        (None, "israelcentral", "Zone 2"),
        (None, "newzealandnorth", "Zone 2"),
        (None, "southafricanorth", "Zone 3"),
        (None, "mexicocentral", "Zone 4"),
        ("Reykjavik", "eastus", "Reykjavik"),
        (None, "nowhere", "nowhere"),
    ],
)
def test_the_billing_zone_is_that_of_the_location_and_never_guessed(
    location: str | None, azure: str, zone: str
) -> None:
    assert billing_zone(location, azure) == zone


def test_a_location_without_a_known_zone_is_named_and_takes_a_price_of_the_users_own() -> None:
    circuit = CircuitParts("Standard", metered=True, zone="Reykjavik")
    unknown = lines(circuit=circuit)["ExpressRoute circuit, 10000 Mb/s, metered"]
    assert "no metered price of 10000 in Reykjavik is known; known in Zone 1, Zone 2; " in unknown.basis
    own = Price(
        "expressroute-circuit", "10000", "Reykjavik", 9.0, "month", "contract", "2026-11-01", "metered"
    )
    (item,) = (
        item for item in link_items(parts(circuit=circuit), TABLE.over([own]), None) if "circuit" in item.what
    )
    assert item.per_month == pytest.approx(9)


def test_a_site_of_another_region_has_no_guessed_price_of_egress() -> None:
    item = lines(1.0, egress="us-east-1 to Dublin")["egress from AWS"]
    assert item.basis == (
        "unknown: no price in us-east-1 to Dublin is known; known in ap-southeast-2, us-east-1, us-east-2; give your "
        "own price"
    )


def test_a_transit_gateway_is_billed_for_two_attachments_and_for_both_directions() -> None:
    found, without = lines(1000.0, transit=True), lines(1000.0)
    assert set(found) - set(without) == {"transit gateway attachments", "data through the transit gateway"}
    assert found["transit gateway attachments"].per_month == pytest.approx(73)
    assert found["data through the transit gateway"].by_quantity == pytest.approx(2 * 1000 * 0.02)


@pytest.mark.parametrize("region", ["eu-central-1", "ap-northeast-1"])
def test_a_transit_gateway_elsewhere_is_named_as_not_priced(region: str) -> None:
    found = lines(1.0, transit=True, aws_region=region)
    for what in ("transit gateway attachments", "data through the transit gateway"):
        assert f"no price in {region} is known; known in us-east-1, us-east-2" in found[what].basis


@pytest.mark.parametrize(
    ("partner", "router", "line"),
    [
        ("equinix", "STANDARD", "equinix cloud routers, STANDARD"),
        ("megaport", "10000 Mb/s", "megaport cloud routers, 10000 Mb/s"),
    ],
)
def test_cloud_routers_are_named_beside_the_connections(partner: str, router: str, line: str) -> None:
    found = lines(partner=partner, router=router, connections=2)
    assert (found[line].quantity, found[f"{partner} connections"].quantity) == (2, 4)
    assert isinstance(found[line].price, Unknown)
    own = Price(f"{partner}-router", router, "anywhere", 500.0, "month", "contract", "2026-11-01")
    priced = {
        item.what: item
        for item in link_items(parts(partner=partner, router=router, connections=2), TABLE.over([own]), None)
    }
    assert priced[line].per_month == pytest.approx(1000)


def test_the_gateways_public_address_is_on_the_bill() -> None:
    line = "public IP of the ExpressRoute gateway"
    assert lines()[line].per_hour == pytest.approx(0.005)
    assert isinstance(lines(azure_region="westus2")[line].price, Unknown)


def test_a_gateway_is_billed_by_its_scale_units_and_the_sizes_without_zones_have_prices_of_their_own() -> (
    None
):
    assert lines(gateway="ErGwScale", gateway_units=10)["ExpressRoute gateway ErGwScale"].quantity == 10
    for sku, usd in (("Standard", 0.19), ("HighPerformance", 0.49), ("UltraPerformance", 1.87)):
        found = lines(gateway=sku, azure_region="australiaeast")[f"ExpressRoute gateway {sku}"]
        assert found.per_hour == pytest.approx(usd)


def test_the_native_interconnect_has_no_volume_charge_and_no_known_price() -> None:
    found = lines(1000.0, partner="native", router=None, circuit=None)
    assert set(found) == {
        "interconnect",
        "ExpressRoute gateway ErGw3AZ",
        "public IP of the ExpressRoute gateway",
    }
    assert isinstance(found["interconnect"].price, Unknown)


def test_without_a_volume_the_bill_has_what_is_billed_by_time_alone() -> None:
    assert not [item for item in lines(transit=True).values() if item.by_volume]
    assert not [item for item in lines(0.0, transit=True).values() if item.by_volume]


def test_the_links_parts_are_all_named_with_their_reasons_and_none_counts_as_zero() -> None:
    for item in lines(1.0, transit=True, aws_region="eu-west-1", egress="eu-west-1").values():
        if isinstance(item.price, Unknown):
            assert item.per_month is None
            assert re.search(r"publishes no amounts|no published price|no .*price", item.basis)
        else:
            assert item.per_month is not None
            assert item.per_month > 0


def test_a_plan_bills_the_parts_that_it_is_given_and_a_steps_volume() -> None:
    spec = stack({})
    split = plan(spec).split
    assert split is not None
    given = parts(transit=True, circuit=CircuitParts("Local", False, "Zone 1"))
    bill = bill_of(spec, TABLE, split.estimate, link=given)
    volume = split.estimate.link_bytes / 1e9
    assert bill.volume_per_step == pytest.approx(volume * (0.02 + 2 * 0.02))
    whats = {item.what for item in bill.items}
    assert whats >= {item.what for item in link_items(given, TABLE, volume)}
    assert "egress from Azure" not in whats


@pytest.mark.parametrize(
    ("link", "changes"),
    [
        ({}, {}),
        ({"partner": "equinix", "equinix": {"package": "ADVANCED"}}, {"router": "ADVANCED"}),
        ({"redundancy": "circuit"}, {"connections": 2}),
        ({"partner": "megaport"}, {"partner": "megaport", "router": "10000 Mb/s"}),
        ({"partner": "manual"}, {"partner": "manual", "router": None}),
        (
            {"partner": "manual", "manual": {"accept": False}},
            {"partner": "manual", "router": None, "port": Port.DEDICATED},
        ),
        (
            {"partner": "manual", "manual": {"interfaceIds": ["dxvif-1"]}},
            {"partner": "manual", "router": None, "port": None},
        ),
        ({"partner": "native"}, {"partner": "native", "router": None, "circuit": None}),
        ({"circuit": {"tier": "Premium"}}, {"circuit": CircuitParts("Premium", True, "Zone 1")}),
        ({"circuit": {"tier": "Local"}}, {"circuit": CircuitParts("Local", False, "Zone 1")}),
        (
            {"exchange": "Sao Paulo"},
            {"circuit": CircuitParts("Standard", True, "Zone 3"), "egress": "us-east-1 to Sao Paulo"},
        ),
        ({"awsGateway": "transit"}, {"transit": True}),
        ({"bandwidthMbps": 1000}, {"bandwidth_mbps": 1000, "gateway": "ErGw1AZ"}),
        ({"bandwidthMbps": 1001}, {"bandwidth_mbps": 1001, "gateway": "ErGw2AZ"}),
        ({"gateway": {"sku": "ErGwScale", "scaleUnits": 12}}, {"gateway": "ErGwScale", "gateway_units": 12}),
    ],
)
def test_the_planner_alone_reads_the_parts_off_the_stack_file(
    link: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert spec_parts(stack(link)) == parts(**changes)


def test_a_stack_without_a_link_has_no_link_on_the_bill() -> None:
    spec = fabric_spec({"aws": {"instanceType": "p5.48xlarge", "nodes": 1, "zone": "us-east-1a"}})
    assert spec_parts(spec) is None
    assert not [item for item in bill_of(spec, TABLE).items if "ExpressRoute" in item.what]
