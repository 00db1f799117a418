"""What may not be the same twice, what may not be empty, and what an adopted circuit may not be."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.fabric import GpuFabric
from gpu_fabric.components.interconnect.changes import own_circuit, still_held
from gpu_fabric.components.interconnect.derived import exchange_of
from gpu_fabric.components.interconnect.gateway import circuit_sku
from gpu_fabric.components.interconnect.names import CircuitPlace, subscription_of
from gpu_fabric.components.interconnect.settings import Family, InterconnectSettings, Tier
from gpu_fabric.components.problems import InvalidInputError
from tests.components.recorder import Recording, record
from tests.components.test_interconnect import AWS, AZURE, CIRCUIT, CIRCUIT_STATE, CONFIG, SECOND
from tests.components.test_interconnect import MANUAL as BY_HAND
from tests.components.test_interconnect_checks import (
    GROUP,
    LINK,
    MANUAL,
    SUBNET,
    problems,
    said_at_preview,
    settings_of,
)

PROFILE = "00000000-0000-4000-8000-00000000000a"
TWO = {"redundancy": "circuit", "provisioned": True}
ADOPTED_AWS = {
    "vpcId": "vpc-0123456789abcdef0",
    "subnetId": "subnet-0123456789abcdef0",
    "subnetCidr": "10.100.16.0/20",
}
ADOPTED_AZURE = {"subnetId": SUBNET, "subnetCidr": "10.200.16.0/20"}


@pytest.mark.parametrize(
    ("change", "places", "said"),
    [
        (
            {
                **MANUAL,
                **TWO,
                "manual": {"connectionIds": ["dxcon-00000001", "dxcon-00000001"], "vlans": [7, 8]},
            },
            {},
            "manual.connectionIds[1]: stands here twice; give the other connection, or one alone with `redundancy: "
            "none`",
        ),
        (
            {**MANUAL, **TWO, "manual": {"interfaceIds": ["dxvif-00000001", "dxvif-00000001"]}},
            {},
            "manual.interfaceIds[1]: stands here twice; give the other interface, or one alone with `redundancy: "
            "none`",
        ),
        (
            {"awsVpcCidr": "10.100.0.0/16", "awsRouteTableIds": ["rtb-1", "rtb-2", "rtb-1"]},
            {"aws": ADOPTED_AWS},
            "awsRouteTableIds[2]: stands here twice; drop one of the two",
        ),
        (
            {"equinix": {**LINK["equinix"], "awsProfile": PROFILE, "azureProfile": PROFILE.upper()}},
            {},
            "equinix.azureProfile: is that of `equinix.awsProfile` too; give the one of Azure",
        ),
        (
            {"equinix": {**LINK["equinix"], "metro": "dc"}},
            {},
            "equinix.metro: 'dc' is not the code of a metro; give one such as DC",
        ),
        (
            {"awsAccount": "１２３４５６７８９０１２"},
            {},
            "awsAccount: '１２３４５６７８９０１２' is not an account; give its 12 digits, in quotes (a leading "
            "0 counts)",
        ),
        (
            {"asns": {"partner": 70_000}},
            {},
            "asns.partner: 70000 is reserved by IANA; give another, such as 64512 or 65001",
        ),
        ({"asns": {"partner": 131_072}}, {}, None),
        (
            {**MANUAL, "bandwidthMbps": 300},
            {},
            "bandwidthMbps: 300 Mb/s is not sold by ExpressRoute; give the nearest that is: 200 or 500",
        ),
        (
            {"partner": "native", "bandwidthMbps": 1_000},
            {"location": "westeurope"},
            "partner: the native interconnect is in eastus, westus, germanywestcentral, australiaeast, not in "
            "westeurope; choose another partner, or one of these regions",
        ),
        (
            {"exchange": " Washington DC", "rttMs": 2, "equinix": {**LINK["equinix"], "metro": "DC"}},
            {},
            "exchange: ' Washington DC' has blanks around it; give the name alone, or drop the key",
        ),
        (
            {**MANUAL, "manual": {"provider": ""}},
            {},
            "manual.provider: is empty; give the name alone, or drop the key",
        ),
        (
            {"addresses": {"cidr": "240.0.0.0/28"}},
            {},
            "addresses.cidr: the on-link block 240.0.0.0/28 overlaps future use's 240.0.0.0/4; give a free private "
            "block of /28 or larger, such as 192.168.100.0/28",
        ),
        (
            {},
            {"azure": {"cidr": "192.168.0.0/16"}},
            "addresses.cidr: the on-link block 192.168.100.0/28 overlaps the Azure side's 192.168.0.0/16; give a free "
            "private block of /28 or larger, such as 10.255.255.240/28",
        ),
        (
            {"tags": {"a<b": "c"}},
            {},
            "tags.a<b: Azure refuses < in a tag's name; choose another key",
        ),
        (
            {"tags": {"aws:x": "y"}},
            {},
            "tags.aws:x: the prefix `aws:` is reserved by AWS; choose another key",
        ),
        (
            {"tags": {"a": "b" * 257}},
            {},
            "tags.a: a tag's value has 256 characters at most, not 257; give a shorter one",
        ),
        ({"tags": {"a": "b" * 256}}, {}, None),
        (
            {"tags": {str(number): "b" for number in range(47)}},
            {},
            "tags: 47 tags, and with ours both clouds take 46 of yours; drop some",
        ),
    ],
)
def test_what_is_the_same_twice_or_nothing_at_all_is_refused(
    change: dict[str, Any], places: dict[str, Any], said: str | None
) -> None:
    assert problems(change, **places) == ([] if said is None else [said])


@pytest.mark.parametrize(
    ("block", "whose"),
    [
        ("10.100.64.0/27", "the AWS side's 10.100.0.0/16"),
        ("172.16.0.0/27", "the RDMA network's 172.16.0.0/16"),
        ("192.168.100.0/27", "the link's 192.168.100.0/30"),
    ],
)
def test_the_gateways_subnet_of_an_adopted_network_tells_of_the_network(block: str, whose: str) -> None:
    change = {"addresses": {"gatewaySubnetCidr": block}}
    assert problems(change, azure=ADOPTED_AZURE) == [
        f"addresses.gatewaySubnetCidr: {block} overlaps {whose}, so the virtual network that holds it does; join "
        "networks whose blocks are apart"
    ]


def settings(change: dict[str, Any]) -> tuple[InterconnectSettings, Any]:
    found = settings_of({**LINK, **change})
    assert found.interconnect is not None
    assert found.ends is not None
    exchange = exchange_of(found.interconnect, found.ends)
    assert exchange is not None
    return found.interconnect, exchange


def test_the_users_metro_counts_where_the_location_is_known() -> None:
    assert settings({})[1].metro == "DC"
    assert settings({"equinix": {**LINK["equinix"], "metro": "SV"}})[1].metro == "SV"


@pytest.mark.parametrize(
    ("circuit", "sku"),
    [
        ({}, (Tier.LOCAL, Family.UNLIMITED)),
        ({"family": "UnlimitedData"}, (Tier.LOCAL, Family.UNLIMITED)),
        ({"family": "MeteredData"}, (Tier.STANDARD, Family.METERED)),
        ({"tier": "Premium"}, (Tier.PREMIUM, Family.METERED)),
    ],
)
def test_a_metered_circuit_gets_a_tier_that_is_metered(
    circuit: dict[str, str], sku: tuple[Tier, Family]
) -> None:
    found, exchange = settings({"circuit": circuit})
    assert circuit_sku(found, exchange, "eastus") == sku


def circuit(group: str, name: str) -> str:
    return f"/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Network/expressRouteCircuits/{name}"


def test_the_circuit_that_the_stack_makes_is_not_adopted() -> None:
    own = CircuitPlace("fabric-dev-train-link", "train-link-circuit")
    same, other = (
        settings({"circuit": {"id": circuit(group, name)}})[0]
        for group, name in (("Fabric-dev-train-link", "train-link-circuit"), ("hub", "train-link-circuit"))
    )
    assert [str(one) for one in own_circuit(same, own)] == [
        "interconnect.circuit.id: is the circuit that this stack makes itself; drop the key: without it the stack "
        "keeps its circuit"
    ]
    assert list(own_circuit(other, own)) == []
    assert str(still_held(own, "Provisioned")) == (
        "interconnect.circuit.id: this stack has the circuit train-link-circuit in fabric-dev-train-link, which is "
        "Provisioned: Azure deletes none that its provider holds; drop the key and keep it; or drop `provisioned` too "
        "and run `up`, have your partner release that circuit, and then give the other one's id"
    )


@pytest.mark.parametrize("state", ["Provisioned", "Deprovisioning", "NotProvisioned"])
def test_a_live_link_whose_circuit_is_held_is_not_given_another(state: str) -> None:
    second = {**BY_HAND, **SECOND, "circuit": {"id": circuit("hub", "other")}}
    here = {"serviceProviderProvisioningState": state, "id": "c", "name": "c", "peerings": []}

    def program() -> None:
        GpuFabric("train", read_fabric({"aws": AWS, "azure": AZURE, "interconnect": second}))

    def recorded() -> Recording:
        return record(program, config=CONFIG, answers={CIRCUIT_STATE: here})

    if state == "NotProvisioned":
        assert recorded().of_type(CIRCUIT) == []
        return
    with pytest.raises(
        InvalidInputError, match=f"which is {state}: Azure deletes none that its provider holds"
    ):
        recorded()


def test_the_same_vlan_on_two_connections_is_said_and_not_refused() -> None:
    manual = {"connectionIds": ["dxcon-00000001", "dxcon-00000002"], "vlans": [7, 7]}
    said = said_at_preview({**MANUAL, **TWO, "manual": manual})
    assert (
        "manual.vlans: 7 stands here twice. A VLAN belongs to its connection, so both may have it; see that your "
        "partner gave it to both."
    ) in said


def test_isolation_that_is_half_yours_says_which_half() -> None:
    change = {"routeIsolation": True, "addresses": {"gatewaySubnetCidr": "10.200.0.0/27"}}
    adopted = {**ADOPTED_AZURE, "securityGroupId": GROUP}
    (said,) = [one for one in said_at_preview(change, azure=adopted) if "routeIsolation" in one]
    assert said.endswith(
        "to an adopted one add them yourself: allow 10.200.16.0/20 and 10.100.16.0/20 outbound, deny 10.0.0.0/8, "
        "172.16.0.0/12, 192.168.0.0/16."
    )
    assert not [one for one in said_at_preview({"routeIsolation": True}) if "routeIsolation" in one]


def test_the_subscription_of_an_id() -> None:
    assert subscription_of("/Subscriptions/AB-1/resourceGroups/g") == "ab-1"
    assert subscription_of("c") is None
    assert subscription_of(None) is None
