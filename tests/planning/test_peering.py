"""The peering locations of ExpressRoute: their billing zones as Microsoft's table has them."""

from __future__ import annotations

import pytest

from gpu_fabric.planning.peering import location_beside, peering_location, peering_locations


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Washington DC", "Zone 1"),
        ("Frankfurt2", "Zone 1"),
        ("Canberra", "Zone 1"),
        ("Sydney", "Zone 2"),
        ("Seoul", "Zone 2"),
        ("Tel Aviv", "Zone 2"),
        ("Pune", "Zone 2"),
        ("Auckland", "Zone 2"),
        ("Sao Paulo", "Zone 3"),
        ("Santiago", "Zone 3"),
        ("Johannesburg", "Zone 3"),
        ("Dubai", "Zone 3"),
        ("Doha", "Zone 3"),
        ("Queretaro(Mexico)", "Zone 4"),
    ],
)
def test_a_location_has_the_billing_zone_of_microsofts_table(name: str, zone: str) -> None:
    there = peering_location(name)
    assert there is not None
    assert (there.name, there.zone) == (name, zone)


@pytest.mark.parametrize("written", ["queretaro", "Queretaro (Mexico)", "QUERETARO(MEXICO)"])
def test_a_location_is_found_by_each_of_its_spellings(written: str) -> None:
    found = peering_location(written)
    assert found is not None
    assert found.name == "Queretaro(Mexico)"


def test_no_two_locations_are_one_by_their_spelling_and_no_zone_is_missing() -> None:
    assert len(peering_locations()) == 105
    assert {row.zone for row in peering_locations()} == {"Zone 1", "Zone 2", "Zone 3", "Zone 4"}
    assert all(row.geography for row in peering_locations())


def test_a_location_that_the_table_lacks_has_no_zone() -> None:
    assert peering_location("Reykjavik") is None
    assert location_beside("icelandcentral") is None
    assert location_beside(None) is None


def test_the_location_beside_a_region_is_one_that_local_reaches_it_from() -> None:
    there = location_beside("koreacentral")
    assert there is not None
    assert (there.name, there.local) == ("Seoul", ("koreacentral",))
