"""What a circuit that was ordered by hand cannot become, and what of a link is replaced for a change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.fabric import GpuFabric
from gpu_fabric.components.interconnect.changes import ANEW, Ordered, refusals
from gpu_fabric.components.problems import InvalidInputError
from tests.components.recorder import Recording, record
from tests.components.test_interconnect import AWS, AZURE, CIRCUIT, CIRCUIT_STATE, CONFIG, MANUAL, SECOND

CIRCUIT_OF = Ordered(1_000, "UnlimitedData", "Equinix", "Washington DC", "eastus")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"bandwidth_mbps": 999},
            f"interconnect.bandwidthMbps: the circuit has 1000 Mb/s, and Azure lowers none to 999; {ANEW}",
        ),
        ({"bandwidth_mbps": 1_000}, None),
        ({"bandwidth_mbps": 2_000}, None),
        (
            {"family": "MeteredData"},
            "interconnect.circuit.family: the circuit is UnlimitedData, and Azure makes none MeteredData; write "
            f"`circuit: {{ family: UnlimitedData }}`, with a `tier` other than Local; or {ANEW}",
        ),
        (
            {"provider": "Megaport"},
            f"interconnect.manual.provider: the provider of a circuit is for life: Equinix, not Megaport; {ANEW}",
        ),
        (
            {"peering_location": "Washington DC2"},
            "interconnect.exchange: the location of a circuit is for life: Washington DC, not Washington DC2; "
            + ANEW,
        ),
        (
            {"location": "eastus2"},
            f"azure.location: the region of a circuit is for life: eastus, not eastus2; {ANEW}",
        ),
        ({"location": "EastUS", "provider": "equinix"}, None),
    ],
)
def test_what_azure_refuses_of_a_circuit_is_named_with_the_way_around(
    change: dict[str, Any], said: str | None
) -> None:
    found = [str(one) for one in refusals(CIRCUIT_OF, replace(CIRCUIT_OF, **change))]
    assert found == ([] if said is None else [said])


def test_a_metered_circuit_becomes_unlimited_and_all_refusals_come_at_once() -> None:
    metered = replace(CIRCUIT_OF, family="MeteredData")
    assert list(refusals(metered, CIRCUIT_OF)) == []
    assert len(list(refusals(CIRCUIT_OF, Ordered(50, "MeteredData", "Megaport", "Chicago", "eastus2")))) == 5


def _live(change: dict[str, Any], state: str = "Provisioned") -> Recording:
    """The second phase of a link by hand, whose circuit Azure has at 10 Gb/s."""
    circuit = {
        "serviceProviderProvisioningState": state,
        "id": "c",
        "name": "c",
        "location": "eastus",
        "peerings": [],
        "sku": {"name": "Local_UnlimitedData", "tier": "Local", "family": "UnlimitedData"},
        "serviceProviderProperties": {
            "bandwidthInMbps": 10_000,
            "peeringLocation": "Washington DC",
            "serviceProviderName": "Equinix",
        },
    }

    def program() -> None:
        GpuFabric(
            "train",
            read_fabric({"aws": AWS, "azure": AZURE, "interconnect": {**MANUAL, **SECOND, **change}}),
        )

    return record(program, config=CONFIG, answers={CIRCUIT_STATE: circuit})


def test_a_change_that_would_take_a_held_circuit_away_is_refused_before_anything_of_the_link_is_declared() -> (
    None
):
    assert len(_live({}).of_type(CIRCUIT)) == 1
    with pytest.raises(
        InvalidInputError, match=r"interconnect\.bandwidthMbps: the circuit has 10000 Mb/s, and"
    ):
        _live({"bandwidthMbps": 5_000})
    with pytest.raises(InvalidInputError, match=r"interconnect\.manual\.provider: .* Equinix, not Megaport"):
        _live({"manual": {**SECOND["manual"], "provider": "Megaport"}})


def test_a_circuit_that_nobody_holds_may_be_replaced() -> None:
    made = _live({"manual": {**SECOND["manual"], "provider": "Megaport"}}, state="NotProvisioned")
    assert made.one(CIRCUIT).inputs["serviceProviderProperties"]["serviceProviderName"] == "Megaport"
