"""Preview and plan take the link's bill from one place: over partners, tiers, gateways and regions they are equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.runtime.config import set_all_config

from gpu_fabric.components.config import FabricSettings, read_fabric, read_stack
from gpu_fabric.components.interconnect.billing import link_parts
from gpu_fabric.components.interconnect.numbers import link_numbers
from gpu_fabric.components.report import fabric_report
from gpu_fabric.planning.price import LinkParts, Price, Unknown, load_table
from gpu_fabric.planning.price.link import CircuitParts, Port, spec_parts
from gpu_fabric.planning.price.table import prices_to_json

TABLE = load_table()
COMMON: dict[str, Any] = {"bandwidthMbps": 10_000, "rttMs": 2, "awsAccount": "123456789012"}
PARTNERS: dict[str, dict[str, Any]] = {
    "equinix": {
        **COMMON,
        "partner": "equinix",
        "equinix": {"projectId": "00000000-0000-0000-0000-000000000001", "emails": ["n@example.com"]},
    },
    "megaport": {
        **COMMON,
        "partner": "megaport",
        "bgpKeyFrom": "bgpKey",
        "megaport": {
            "locationId": 67,
            "awsProductUid": "00000000-0000-0000-0000-000000000002",
            "azureProductUid": "00000000-0000-0000-0000-000000000003",
        },
    },
    "manual": {**COMMON, "partner": "manual"},
    "native": {"partner": "native", "bandwidthMbps": 1_000},
}
PLACES = {
    "Washington DC": ("us-east-1", "eastus"),
    "Silicon Valley": ("us-west-1", "westus"),
    "Tokyo": ("ap-northeast-1", "japaneast"),
    "Sydney": ("ap-southeast-2", "australiaeast"),
}


@pytest.fixture(autouse=True)
def _a_secret_of_the_stack() -> Iterator[None]:
    set_all_config({"gpu-fabric:bgpKey": "not-a-real-key"}, ["gpu-fabric:bgpKey"])
    yield
    set_all_config({}, [])


def stack(partner: str, place: str = "Washington DC", **changes: Any) -> FabricSettings:
    aws, azure = PLACES[place]
    return read_fabric(
        {
            "aws": {"zone": f"{aws}a", "instanceType": "p5.48xlarge", "nodes": 1},
            "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 1},
            "interconnect": {**PARTNERS[partner], **changes},
            "training": {"model": "llama-3-8b", "globalBatch": 64},
        },
        aws_region=aws,
        azure_location=azure,
    )


def parts(settings: FabricSettings) -> LinkParts:
    assert settings.interconnect is not None
    assert settings.ends is not None
    return link_parts(settings.interconnect, settings.ends)


LINKS: list[tuple[str, str, dict[str, Any]]] = [
    ("equinix", "Washington DC", {}),
    ("equinix", "Washington DC", {"redundancy": "circuit", "awsGateway": "transit"}),
    ("equinix", "Washington DC", {"circuit": {"tier": "Standard"}, "bandwidthMbps": 1_000}),
    ("equinix", "Washington DC", {"circuit": {"tier": "Standard", "family": "UnlimitedData"}}),
    ("equinix", "Washington DC", {"circuit": {"tier": "Premium"}, "bandwidthMbps": 500}),
    ("equinix", "Washington DC", {"circuit": {"tier": "Premium", "family": "UnlimitedData"}}),
    ("equinix", "Washington DC", {"exchange": "Dublin", "circuit": {"tier": "Premium"}}),
    ("equinix", "Silicon Valley", {"gateway": {"sku": "ErGwScale", "scaleUnits": 12}}),
    ("megaport", "Silicon Valley", {"redundancy": "circuit", "bandwidthMbps": 2_000}),
    ("megaport", "Sydney", {"awsGateway": "transit", "gateway": {"sku": "ErGw3AZ"}}),
    ("manual", "Tokyo", {}),
    ("manual", "Sydney", {"circuit": {"tier": "Standard"}, "manual": {"accept": False}}),
    ("manual", "Sydney", {"gateway": {"sku": "UltraPerformance"}}),
    ("native", "Washington DC", {}),
]


@pytest.mark.parametrize(("partner", "place", "changes"), LINKS)
def test_preview_and_plan_have_the_same_lines_at_the_same_prices(
    partner: str, place: str, changes: dict[str, Any]
) -> None:
    settings = stack(partner, place, **changes)
    assert settings.interconnect is not None
    assert settings.ends is not None
    preview = link_numbers(settings.interconnect, settings.ends, TABLE)
    made = fabric_report(settings, prices=TABLE)
    planned = {item.what: item for item in made.bill.items}
    # A plan over a slow link leaves it alone, and then no volume is on its bill.
    crossed = made.plan is not None and made.plan.best.estimate.link_bytes > 0
    lines = [item for item in preview.bill if crossed or not item.by_volume]
    for item in lines:
        other = planned[item.what]
        assert (other.price, other.standing, other.by_volume) == (item.price, item.standing, item.by_volume)
        assert item.by_volume or other.quantity == item.quantity
    said = "\n".join(preview.sentences())
    for item in preview.bill:
        if isinstance(item.price, Unknown):
            assert f"{item.what} ({item.price.reason})" in said
        else:
            assert f"{item.what}: {item.per_month:,.0f}" in said
    links_own = (
        "Direct Connect",
        "ExpressRoute",
        "egress",
        "transit",
        "interconnect",
        "connections",
        "routers",
    )
    assert {what for what in planned if any(word in what for word in links_own)} == {
        item.what for item in lines
    }


@pytest.mark.parametrize(
    ("partner", "place", "changes", "expected"),
    [
        (
            "equinix",
            "Washington DC",
            {},
            {"circuit": CircuitParts("Local", False, "Zone 1"), "transit": False},
        ),
        ("equinix", "Washington DC", {"awsGateway": "transit"}, {"transit": True, "egress": "us-east-1"}),
        (
            "equinix",
            "Washington DC",
            {"bandwidthMbps": 500},
            {"circuit": CircuitParts("Standard", True, "Zone 1"), "gateway": "ErGw1AZ"},
        ),
        (
            "equinix",
            "Washington DC",
            {"exchange": "Dublin"},
            {"circuit": CircuitParts("Premium", True, "Zone 1"), "egress": "us-east-1 to Dublin"},
        ),
        ("equinix", "Tokyo", {}, {"port_area": "Japan"}),
        (
            "equinix",
            "Sydney",
            {"circuit": {"tier": "Standard"}},
            {"circuit": CircuitParts("Standard", True, "Zone 2")},
        ),
        ("equinix", "Silicon Valley", {}, {"gateway": "UltraPerformance", "router": "STANDARD"}),
        (
            "equinix",
            "Silicon Valley",
            {"gateway": {"sku": "ergwscale"}},
            {"gateway": "ErGwScale", "gateway_units": 10},
        ),
        ("megaport", "Washington DC", {"bandwidthMbps": 2_000}, {"router": "2500 Mb/s", "connections": 1}),
        ("manual", "Washington DC", {"redundancy": "circuit"}, {"router": None, "connections": 2}),
        ("manual", "Washington DC", {"manual": {"accept": False}}, {"port": Port.DEDICATED}),
        ("native", "Washington DC", {}, {"circuit": None, "router": None, "gateway": "ErGw1AZ"}),
    ],
)
def test_the_parts_are_what_the_program_chooses(
    partner: str, place: str, changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = parts(stack(partner, place, **changes))
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_location_of_south_america_is_billed_in_its_own_zone_by_preview_and_plan() -> None:
    settings = read_fabric(
        {
            "aws": {"zone": "sa-east-1a", "instanceType": "p5.48xlarge", "nodes": 1},
            "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 1},
            "interconnect": {
                **PARTNERS["equinix"],
                "exchange": "Sao Paulo",
                "equinix": {**PARTNERS["equinix"]["equinix"], "metro": "SP"},
                "circuit": {"tier": "Standard"},
            },
        },
        aws_region="sa-east-1",
        azure_location="brazilsouth",
    )
    assert parts(settings).circuit == CircuitParts("Standard", True, "Zone 3")
    alone = spec_parts(settings.spec)
    assert alone is not None
    assert alone.circuit == parts(settings).circuit
    assert settings.interconnect is not None
    assert settings.ends is not None
    bill = {item.what: item for item in link_numbers(settings.interconnect, settings.ends, TABLE).bill}
    assert bill["egress from Azure"].per_month == pytest.approx(434_955, abs=1)


OWN = Price("expressroute-gateway", "ErGw3AZ", "eastus", 2.151, "hour", "mine", "2026-11-01")


@pytest.mark.parametrize("place", ["cache", "own"])
def test_a_refreshed_price_and_one_of_the_users_own_count_at_preview_and_in_the_report(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "gpu-fabric" / "prices.json"
    file.parent.mkdir()
    file.write_text(prices_to_json([OWN]))
    if place == "cache":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("GPU_FABRIC_PRICES", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
        monkeypatch.setenv("GPU_FABRIC_PRICES", str(file))
    settings = stack("equinix")
    assert settings.interconnect is not None
    assert settings.ends is not None
    said = "\n".join(link_numbers(settings.interconnect, settings.ends).sentences())
    assert "ExpressRoute gateway ErGw3AZ: 1,570" in said
    planned = {item.what: item.price for item in fabric_report(settings).bill.items}
    assert planned["ExpressRoute gateway ErGw3AZ"] == OWN


def test_a_price_file_that_cannot_be_read_is_a_message_at_preview(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_FABRIC_PRICES", str(tmp_path / "none.json"))
    settings = stack("equinix")
    assert settings.interconnect is not None
    assert settings.ends is not None
    with pytest.raises(pulumi.RunError, match=r"GPU_FABRIC_PRICES: .*none\.json: cannot be read"):
        link_numbers(settings.interconnect, settings.ends)
    with pytest.raises(pulumi.RunError, match=r"GPU_FABRIC_PRICES: .*none\.json: cannot be read"):
        fabric_report(settings)
    # Before anything is declared.
    with pytest.raises(pulumi.RunError, match=r"GPU_FABRIC_PRICES: .*none\.json: cannot be read"):
        read_stack()
