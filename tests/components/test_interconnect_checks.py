"""The rules for the private link: for each, an input that passes, one at the border, and one that fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
from pulumi.runtime.config import set_all_config
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.config import FabricSettings, read_fabric
from gpu_fabric.components.interconnect.checks.ids import SHAPES
from gpu_fabric.components.interconnect.derived import exchange_of
from gpu_fabric.components.interconnect.exchanges import exchanges
from gpu_fabric.components.interconnect.gateway import circuit_sku, gateway_of, tiers_that_reach
from gpu_fabric.components.interconnect.limits import CIRCUIT_MBPS
from gpu_fabric.components.interconnect.notes import notes
from gpu_fabric.components.interconnect.settings import (
    CrossCloudSettings,
    Family,
    InterconnectSettings,
    Tier,
)
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.components.settings import leaf_types
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.regions import region_pairs
from tests.components.recorder import record

AWS: dict[str, Any] = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
AZURE: dict[str, Any] = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4, "location": "eastus"}
PROJECT = "00000000-0000-4000-8000-000000000001"
LINK: dict[str, Any] = {
    "partner": "equinix",
    "bandwidthMbps": 10_000,
    "awsAccount": "123456789012",
    "equinix": {"projectId": PROJECT, "emails": ["network@example.com"]},
}
MANUAL: dict[str, Any] = {"partner": "manual", "bandwidthMbps": 10_000}
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"

GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/g"


def settings_of(
    link: dict[str, Any], *, zone: str = "us-east-1a", location: str = "eastus", **sides: Any
) -> FabricSettings:
    given = {
        "aws": {**AWS, "zone": zone, "network": sides.get("aws", {})},
        "azure": {**AZURE, "location": location, "network": sides.get("azure", {})},
        "interconnect": link,
    }
    return read_fabric(given)


def problems(link: dict[str, Any] | None = None, **places: Any) -> list[str]:
    """What is wrong with a good link after the changes `link`."""
    try:
        settings_of({**LINK, **(link or {})}, **places)
    except InvalidInputError as refused:
        return [str(problem).removeprefix("fabric.interconnect.") for problem in refused.problems]
    return []


def test_a_link_of_the_defaults_is_taken() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"mtu": 9000},
            "mtu: ExpressRoute carries 1500 bytes at most and fragments above 1400: with 9000 small packets pass, "
            "and bulk transfers hang wherever the ICMP message that says so is filtered; set 1500 or drop the key. "
            "The routes to the other cloud are locked at 1400; inside AWS 9001 and EFA, and inside Azure InfiniBand, "
            "stay as they are without any setting here",
        ),
        (
            {"mtu": 1400},
            "mtu: a virtual interface has 1500, 8500 or 9001 bytes, not 1400; set 1500 or drop the key; smaller "
            "packets are made by the routes of the hosts",
        ),
        (
            {"bandwidthMbps": 300},
            "bandwidthMbps: 300 Mb/s is not sold by all of Direct Connect, ExpressRoute and equinix; give the "
            "nearest that is: 200 or 500",
        ),
        (
            {"bandwidthMbps": 10},
            "bandwidthMbps: 10 Mb/s is not sold by all of Direct Connect, ExpressRoute and equinix; give the nearest "
            "that is: 50",
        ),
        (
            {"bandwidthMbps": 25_000},
            "bandwidthMbps: 25000 Mb/s is more than a circuit through a provider carries (10000); give 10000; above "
            "it is ExpressRoute Direct, which this release does not lay out",
        ),
        (
            {"gateway": {"sku": "ErGw1AZ"}},
            "gateway.sku: ErGw1AZ carries 1000 Mb/s, and the link is to have 10000; give ErGw3AZ or ErGwScale with 10 "
            "scale units, or drop the key",
        ),
        (
            {"gateway": {"sku": "ErGwScale", "scaleUnits": 9}},
            "gateway.scaleUnits: ErGwScale carries 9000 Mb/s, and the link is to have 10000; give ErGw3AZ or "
            "ErGwScale with 10 scale units, or drop the key",
        ),
        (
            {"gateway": {"sku": "VpnGw1AZ"}},
            "gateway.sku: 'VpnGw1AZ' is not a gateway of ExpressRoute; give one of ErGw1AZ, ErGw2AZ, ErGw3AZ, "
            "Standard, HighPerformance, UltraPerformance, ErGwScale",
        ),
        (
            {"gateway": {"zones": ["1", "4"]}},
            "gateway.zones: '4' is no zone of Azure; give some of '1', '2', '3', or [] for a gateway without",
        ),
        (
            {"gateway": {"zones": ["1", "1"]}},
            "gateway.zones: names a zone twice; give some of '1', '2', '3', or [] for a gateway without",
        ),
        (
            {"gateway": {"zones": ["1"], "sku": "UltraPerformance"}},
            "gateway.zones: UltraPerformance stands in no zone; drop the key, or give ErGw1AZ or ErGw2AZ or ErGw3AZ as "
            "`gateway.sku`",
        ),
        (
            {"exchange": "Tokyo"},
            "exchange: the Direct Connect sites at Tokyo belong to ap-northeast-1, not to us-east-1, and the estimate "
            "of the round trip is not of this way; give Washington DC, drop the key, or give the measured `rttMs` if "
            "you have a link there",
        ),
        (
            {"equinix": {"projectId": PROJECT, "emails": ["network@example.com", "nope"]}},
            "equinix.emails[1]: 'nope' is no address of electronic mail; give it as name@example.com",
        ),
        (
            {"equinix": {**LINK["equinix"], "package": "LAB"}},
            "equinix.package: a LAB router has connections of 10 Mb/s at most (an older page of Equinix); give one of "
            "BASIC, STANDARD, ADVANCED",
        ),
        ({"awsVpcCidr": "10.0.0.0/8"}, "awsVpcCidr: the VPC's block is known; drop the key"),
        (
            {"gateway": {"scaleUnits": 4}},
            "gateway.scaleUnits: ErGw3AZ has no scale units; drop the key, or set `sku: ErGwScale` and 1 to 40 units",
        ),
        (
            {"gateway": {"sku": "ErGwScale", "scaleUnits": 41}},
            "gateway.scaleUnits: 41 is outside 1 to 40; drop the key, or set `sku: ErGwScale` and 1 to 40 units",
        ),
        (
            {"bandwidthMbps": 2_000, "gateway": {"fastPath": True}},
            "gateway.fastPath: ErGw2AZ has no FastPath; set `gateway.sku: ErGw3AZ`, or ErGwScale with 10 units or "
            "more, or drop `fastPath`",
        ),
        (
            {"asns": {"partner": 65_515}},
            "asns.partner: 65515 is reserved by Azure for its gateways; give another, such as 64512 or 65001",
        ),
        (
            {"asns": {"amazon": 65_515}},
            "asns.amazon: 65515 is reserved by Azure for its gateways; give another, such as 64512 or 65001",
        ),
        (
            {"asns": {"partner": 12_076}},
            "asns.partner: 12076 is Microsoft's side of ExpressRoute; give another, such as 64512 or 65001",
        ),
        (
            {"asns": {"amazon": 7_224}},
            "asns.amazon: 7224 is not one that the Amazon side may have; give 64512 to 65534 or 4200000000 to "
            "4294967294",
        ),
        (
            {"asns": {"partner": 64_512}},
            "asns.partner: 64512 is that of `asns.amazon` too; BGP between them would be internal and drop the other's "
            "routes; give another number",
        ),
        (
            {"asns": {"gateway": 64_512}},
            "asns.gateway: 64512 is that of `asns.amazon` too; a transit gateway must differ from its Direct Connect "
            "gateway; give another number",
        ),
        (
            {"addresses": {"cidr": "10.200.8.0/28"}},
            "addresses.cidr: the on-link block 10.200.8.0/28 overlaps the Azure side's 10.200.0.0/16; give a free "
            "private block of /28 or larger, such as 192.168.100.0/28",
        ),
        (
            {"addresses": {"cidr": "10.100.8.0/28"}},
            "addresses.cidr: the on-link block 10.100.8.0/28 overlaps the AWS side's 10.100.0.0/16; give a free "
            "private block of /28 or larger, such as 192.168.100.0/28",
        ),
        (
            {"addresses": {"cidr": "172.16.9.0/28"}},
            "addresses.cidr: the on-link block 172.16.9.0/28 overlaps the RDMA network's 172.16.0.0/16; give a free "
            "private block of /28 or larger, such as 192.168.100.0/28",
        ),
        (
            {"addresses": {"cidr": "192.168.0.0/30"}},
            "addresses.cidr: 192.168.0.0/30 is a /30; the link takes a size between /8 and /28",
        ),
        (
            {"addresses": {"gatewaySubnetCidr": "10.200.16.0/27"}},
            "addresses.gatewaySubnetCidr: 10.200.16.0/27 overlaps the subnet 10.200.16.0/20; give a free part of the "
            "network",
        ),
        (
            {"addresses": {"gatewaySubnetCidr": "10.9.0.0/27"}},
            "addresses.gatewaySubnetCidr: 10.9.0.0/27 is not inside the virtual network 10.200.0.0/16; give a part "
            "of it",
        ),
        ({"azureVlan": 4_095}, "azureVlan: 4095 is not a VLAN; give 2 to 4094"),
        ({"azureVlan": 1}, "azureVlan: 1 is not a VLAN; give 2 to 4094"),
        (
            {"exchange": "Ashburn"},
            "exchange: 'Ashburn' is not in the table of peering locations; give one of Washington DC, Silicon Valley, "
            "Seattle, Chicago, Dublin, Frankfurt, Frankfurt2, London, Tokyo, Singapore, Sydney; or give its metro as "
            "`equinix.metro` too",
        ),
        (
            {"exchange": "Seattle", "circuit": {"tier": "Local"}},
            "circuit.tier: the tier Local at Seattle reaches westus2, not eastus; set it to Standard, or drop the key",
        ),
        (
            {"exchange": "Dublin", "circuit": {"tier": "Standard"}},
            "circuit.tier: the tier Standard at Dublin reaches Europe only, not eastus; set it to Premium, or drop "
            "the key",
        ),
        (
            {"bandwidthMbps": 500, "circuit": {"tier": "Local"}},
            "circuit.tier: the tier Local begins at 1000 Mb/s, and 500 are asked for; set it to Standard, or drop "
            "the key",
        ),
        (
            {"circuit": {"tier": "Local", "family": "MeteredData"}},
            "circuit.family: the tier Local is sold as UnlimitedData only; drop the key",
        ),
        (
            {"awsAccount": "12345"},
            "awsAccount: '12345' is not an account; give its 12 digits, in quotes (a leading 0 counts)",
        ),
        (
            {"awsAccount": None},
            "awsAccount: is missing; give the 12 digits of the AWS account that equinix connects",
        ),
        (
            {"equinix": {"projectId": PROJECT}},
            "equinix.emails: is empty; give at least one address that Equinix may write to",
        ),
        (
            {"partner": "megaport"},
            "bgpKeyFrom: is missing: AWS's sessions always have a key, and Megaport's router is set up before AWS "
            "makes one; set one with `pulumi config set --secret gpu-fabric:bgpKey` and write `bgpKeyFrom: bgpKey`",
        ),
        (
            {"partner": "megaport"},
            "megaport.locationId: is missing; give it as Megaport's portal shows it; nothing is looked up",
        ),
        (
            {"provisioned": True},
            "provisioned: equinix provisions the circuit itself; drop the key; `manual` and `native` need it",
        ),
        (
            {"rttMs": 7.5},
            "rttMs: the measured 7.5 ms exceed the limit of 5 ms; choose closer regions, or raise `rttLimitMs` knowing "
            "that each stage boundary waits that long",
        ),
        (
            {"awsRouteTableIds": ["rtb-1"]},
            "awsRouteTableIds: a new VPC's route table is ours and needs no naming; drop the key",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason_and_a_way_out(change: dict[str, Any], message: str) -> None:
    assert message in problems(change)


@pytest.mark.parametrize(
    "change",
    [
        {"mtu": 1_500},
        {"bandwidthMbps": 50},
        {"gateway": {"sku": "ErGwScale", "scaleUnits": 10}},
        {"gateway": {"sku": "ergw3az", "fastPath": True}},
        {"gateway": {"sku": "ErGwScale", "fastPath": True}},
        {"asns": {"partner": 65_514, "amazon": 65_534}},
        {"asns": {"partner": 65_521, "amazon": 4_200_000_000}},
        {"addresses": {"cidr": "10.201.0.0/28", "gatewaySubnetCidr": "10.200.255.224/27"}},
        {"azureVlan": 4_094},
        {"azureVlan": 2},
        {"bandwidthMbps": 1_000, "circuit": {"tier": "Local"}},
        {"exchange": "Dublin", "circuit": {"tier": "Premium"}, "rttMs": 5},
        {"gateway": {"zones": ["2"]}},
        {"gateway": {"zones": [], "sku": "UltraPerformance"}},
        {"gateway": {"sku": "UltraPerformance", "fastPath": True}},
        {"gateway": {"zones": [], "sku": "ErGw3AZ"}},
        {"exchange": "Elsewhere", "equinix": {**LINK["equinix"], "metro": "EW"}, "rttMs": 5},
        {"rttMs": 5.0},
        {"redundancy": "circuit"},
    ],
)
def test_what_is_at_the_border_is_taken(change: dict[str, Any]) -> None:
    assert problems(change) == []


MUMBAI = {"exchange": "Mumbai", "equinix": {**LINK["equinix"], "metro": "MB"}, "rttMs": 2}


@pytest.mark.parametrize("tier", ["Local", "Standard", "Premium"])
def test_the_user_vouches_for_the_tier_of_a_location_without_a_row(tier: str) -> None:
    change = {**MUMBAI, "circuit": {"tier": tier}}
    assert problems(change, zone="ap-south-1a", location="centralindia") == []


def test_the_geography_of_a_location_without_a_row_is_known_all_the_same() -> None:
    link = settings_of({**LINK, **MUMBAI}, zone="ap-south-1a", location="centralindia")
    assert link.interconnect is not None
    assert link.ends is not None
    exchange = exchange_of(link.interconnect, link.ends)
    assert exchange is not None
    assert exchange.geography == "India"
    assert circuit_sku(link.interconnect, exchange, "centralindia") == (Tier.STANDARD, Family.METERED)
    assert problems({**MUMBAI, "circuit": {"tier": "Standard"}}) == [
        "circuit.tier: the tier Standard at Mumbai reaches India only, not eastus; set it to Premium, or drop the key"
    ]


def test_a_pair_above_the_limit_is_refused_with_the_closer_region() -> None:
    assert problems(location="eastus2") == [
        "rttLimitMs: us-east-1 to eastus2 is estimated at 4.5 to 6 ms round trip (from distance, not measured), and "
        "the limit is 5; use eastus (1.5 to 3 ms) on Azure, or measure it and give `rttMs`, or raise `rttLimitMs`"
    ]
    assert problems({"rttLimitMs": 6}, location="eastus2") == []
    assert problems({"rttMs": 4.4}, location="eastus2") == []


def test_regions_that_meet_nowhere_are_refused_with_the_nearest_pairs() -> None:
    assert problems(location="northeurope") == [
        "exchange: no known location is near both us-east-1 and northeurope; the nearest pairs are, with us-east-1: "
        "eastus, eastus2; with northeurope: eu-west-1; or give a peering location as `exchange` and the measured "
        "`rttMs`"
    ]
    assert (
        problems({"exchange": "Washington DC", "rttMs": 70, "rttLimitMs": 80}, location="northeurope") == []
    )


def test_a_key_in_plain_text_is_refused_and_never_repeated() -> None:
    said = problems({"bgpKey": "correct-horse"})
    assert said == [
        "bgpKey: a key stands here in plain text; take it out of the file and out of its history, choose another, "
        "set it with `pulumi config set --secret gpu-fabric:bgpKey` and write `bgpKeyFrom: bgpKey`"
    ]
    assert "correct-horse" not in "".join(said)


@pytest.fixture
def configuration() -> Any:
    """Set the stack's configuration; empty before and after the test."""
    set_all_config({}, [])
    yield lambda values, secret=(): set_all_config(values, list(secret))
    set_all_config({}, [])


def test_the_name_of_a_key_must_be_that_of_a_secret(configuration: Any) -> None:
    # The key itself, written where its name belongs, is not repeated.
    for written in ("bgpKey", "correct-horse", "correct horse!"):
        assert problems({"bgpKeyFrom": written}) == [
            "bgpKeyFrom: this stack has no value under `gpu-fabric:` with the name that stands here; give a name, such "
            "as bgpKey, and set it with `pulumi config set --secret gpu-fabric:bgpKey`; a key itself never stands in "
            "the file"
        ]
    configuration({"gpu-fabric:bgpKey": "correct-horse"})
    assert problems({"bgpKeyFrom": "bgpKey"}) == [
        "bgpKeyFrom: gpu-fabric:bgpKey stands in plain text in the stack file; take it out of the file and of its "
        "history, and set another with `pulumi config set --secret gpu-fabric:bgpKey`"
    ]
    for characters in (5, 26):
        configuration({"gpu-fabric:bgpKey": "x" * characters}, ["gpu-fabric:bgpKey"])
        assert problems({"bgpKeyFrom": "bgpKey"}) == [
            f"bgpKeyFrom: the key that gpu-fabric:bgpKey holds has {characters} characters, and both clouds together "
            "take 6 to 25; set another with `pulumi config set --secret gpu-fabric:bgpKey`"
        ]
    for characters in (6, 25):
        configuration({"gpu-fabric:bgpKey": "x" * characters}, ["gpu-fabric:bgpKey"])
        assert problems({"bgpKeyFrom": "bgpKey"}) == []
    configuration({"gpu-fabric:bgpKey": "correct-horse"}, ["gpu-fabric:bgpKey"])
    assert problems({"bgpKeyFrom": "bgpKey"}) == []


def test_a_key_of_the_projects_own_namespace_is_not_read_and_the_one_that_is_is_named() -> None:
    found: list[str] = []

    def program() -> None:
        own = {f"{other}:bgpKey": "correct-horse", "gpu-fabric:otherKey": "correct-horse"}
        set_all_config(own, list(own))
        found.extend(
            problem
            for name in ("bgpKey", "gpu-fabric:otherKey", f"{other}:bgpKey")
            for problem in problems({"bgpKeyFrom": name})
        )

    other = "two-clouds"
    try:
        record(program, project=other)
    finally:
        set_all_config({}, [])
    assert found == [
        "bgpKeyFrom: the stack has two-clouds:bgpKey, and what is read is gpu-fabric:bgpKey; set it with `pulumi "
        "config set --secret gpu-fabric:bgpKey`, and take the other away with `pulumi config rm two-clouds:bgpKey`",
        "bgpKeyFrom: `gpu-fabric:` is added to what stands here: gpu-fabric:otherKey is set; write otherKey",
        "bgpKeyFrom: this stack has no value under `gpu-fabric:` with the name that stands here; give a name, such as "
        "bgpKey, and set it with `pulumi config set --secret gpu-fabric:bgpKey`; a key itself never stands in the file",
    ]


def _may_be_empty(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the keys that may have nothing behind them."""
    for name, field in model.model_fields.items():
        here = (*path, to_camel(name))
        below = [one for one in leaf_types(field.annotation) if issubclass(one, BaseModel)]
        if type(None) in leaf_types(field.annotation):
            yield here
        if len(below) == 1:
            yield from _may_be_empty(below[0], here)


EMPTY = {
    "aws": [*_may_be_empty(AwsClusterSettings)],
    "azure": [*_may_be_empty(AzureClusterSettings)],
    "interconnect": [*_may_be_empty(InterconnectSettings)],
}


@pytest.mark.parametrize("section", EMPTY)
def test_a_key_that_may_be_left_out_may_have_nothing_behind_it_for_the_planner_too(section: str) -> None:
    """Each alone, beside what is given: a value that was commented out."""
    assert EMPTY[section]
    for path in EMPTY[section]:
        fabric: dict[str, Any] = {"aws": {**AWS}, "azure": {**AZURE}, "interconnect": {**LINK}}
        *before, last = path
        here = fabric[section]
        for part in before:
            here[part] = {**here.get(part, {})}
            here = here[part]
        if last in here or path[0] == "otherCloud":
            continue
        here[last] = None
        try:
            read_fabric(fabric, aws_region="us-east-1", azure_location="eastus")
        except InvalidInputError as refused:
            raise AssertionError(f"{section}.{'.'.join(path)}: {refused}") from refused


def test_what_only_the_planner_refuses_is_a_problem_of_the_stack_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PlanningError(["fabric.aws.nodes: 7 is odd: it is not even; give 8", "fabric.azure: no"])

    monkeypatch.setattr("gpu_fabric.components.config.fabric_spec", refuse)
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({"aws": AWS}, aws_region="us-east-1")
    assert [str(one) for one in refused.value.problems] == [
        "fabric.aws.nodes: 7 is odd: it is not even; give 8",
        "fabric.azure: no; mend the value",
    ]


def test_a_link_needs_both_clouds() -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({"aws": AWS, "interconnect": LINK})
    assert "fabric.interconnect: joins two clouds, and one is missing; describe both, or drop the key" in str(
        refused.value
    )


def test_adopted_networks_must_say_what_nobody_can_look_up() -> None:
    said = problems(
        aws={"vpcId": "vpc-1", "subnetId": "subnet-1"},
        azure={"subnetId": SUBNET, "securityGroupId": GROUP},
    )
    assert said == [
        "fabric.interconnect: the block of the adopted subnet on aws and azure is not known, and the hosts' routes "
        "need it; give `aws.network.subnetCidr` and `azure.network.subnetCidr`",
        "addresses.gatewaySubnetCidr: is missing, and the free blocks of an adopted virtual network are not known; "
        "give a free /27 of it",
        "awsRouteTableIds: is missing, and the route tables of an adopted VPC are not known; give the ids of the "
        "tables that are to learn the way to Azure",
        "awsVpcCidr: is missing: a virtual private gateway announces its VPC's whole block, and nothing at all where a "
        "narrower one is allowed; give the block of the adopted VPC, or set `awsGateway: transit`",
    ]


def test_an_adopted_vpcs_whole_block_is_apart_from_the_virtual_network() -> None:
    near = {"cidr": "10.40.0.0/20", "subnetCidr": "10.40.8.0/21"}
    change = {"awsRouteTableIds": ["rtb-1"], "awsVpcCidr": "10.40.0.0/16"}
    assert problems(change, aws=ADOPTED, azure=near) == [
        "awsVpcCidr: 10.40.0.0/16 overlaps the Azure side's 10.40.0.0/20; join networks whose blocks are apart, or set "
        "`awsGateway: transit`, which announces the nodes' subnet alone"
    ]


ADOPTED = {"vpcId": "vpc-1", "subnetId": "subnet-1", "subnetCidr": "10.40.16.0/20"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"awsVpcCidr": "10.40.0.0/20"},
            "awsVpcCidr: the nodes' subnet 10.40.16.0/20 is not in 10.40.0.0/20; give the VPC's block",
        ),
        (
            {"awsVpcCidr": "10.0.0.0/8"},
            "awsVpcCidr: 10.0.0.0/8 is a /8; a VPC takes a size between /16 and /28",
        ),
        (
            {"awsGateway": "transit", "routeIsolation": True},
            "awsVpcCidr: is missing: `routeIsolation` would cut the nodes off from the rest of the adopted VPC; give "
            "its block",
        ),
        ({"awsVpcCidr": "10.40.0.0/16"}, None),
        ({"awsGateway": "transit"}, None),
    ],
)
def test_the_whole_block_of_an_adopted_vpc_is_asked_for_where_it_is_announced(
    change: dict[str, Any], message: str | None
) -> None:
    said = problems({"awsRouteTableIds": ["rtb-1"], **change}, aws=ADOPTED)
    assert said == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            {"provisioned": True},
            "manual.connectionIds: has 0 and must have 1 with `redundancy: none`; give one for each Direct Connect "
            "connection that you ordered",
        ),
        (
            {
                "provisioned": True,
                "redundancy": "circuit",
                "manual": {"connectionIds": ["dxcon-00000001", "dxcon-00000002"], "vlans": [7]},
            },
            "manual.vlans: has 1 and must have 2 with `redundancy: circuit`; give one for each Direct Connect "
            "connection that you ordered",
        ),
        ({"manual": {"vlans": [5_000]}}, "manual.vlans[0]: 5000 is not a VLAN; give 2 to 4094"),
        (
            {"manual": {"connectionIds": ["foo"]}},
            "manual.connectionIds[0]: is not the id of a Direct Connect connection; give it as Direct Connect "
            "shows it, dxcon- and eight letters or digits",
        ),
        (
            {"manual": {"connectionIds": ["dxcon-00000001", "dxcon-00000001"]}},
            "manual.connectionIds[1]: stands here twice; give the other connection, or one alone with `redundancy: "
            "none`",
        ),
    ],
)
def test_what_was_ordered_by_hand_must_be_told(link: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        settings_of({**MANUAL, **link})
    assert message in [str(one).removeprefix("fabric.interconnect.") for one in refused.value.problems]


def test_manual_needs_nothing_more_in_its_first_phase() -> None:
    assert settings_of(MANUAL).interconnect is not None


@pytest.mark.parametrize(
    ("change", "places", "message"),
    [
        (
            {},
            {},
            "bandwidthMbps: Azure's preview of the native interconnect has 1000 Mb/s only; set it to 1000",
        ),
        (
            {"bandwidthMbps": 1_000},
            {"location": "eastus2"},
            "partner: the native interconnect is in eastus, westus, germanywestcentral, australiaeast, not in "
            "eastus2; choose another partner, or one of these regions",
        ),
        (
            {"bandwidthMbps": 1_000, "redundancy": "circuit"},
            {},
            "redundancy: the native interconnect brings its own and takes one connection a gateway; drop the key",
        ),
    ],
)
def test_the_limits_of_the_native_interconnect_are_said(
    change: dict[str, Any], places: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        settings_of({**MANUAL, "partner": "native", **change}, **places)
    assert message in [str(one).removeprefix("fabric.interconnect.") for one in refused.value.problems]


@pytest.mark.parametrize(
    ("mbps", "sku"),
    [(50, "ErGw1AZ"), (1_000, "ErGw1AZ"), (2_000, "ErGw2AZ"), (5_000, "ErGw3AZ"), (10_000, "ErGw3AZ")],
)
def test_the_gateway_is_the_smallest_that_carries_the_bandwidth(mbps: int, sku: str) -> None:
    link = settings_of({**LINK, "bandwidthMbps": mbps}).interconnect
    assert link is not None
    chosen = gateway_of(link, "eastus")
    assert chosen is not None
    assert (chosen.sku, chosen.zones) == (sku, ("1", "2", "3"))
    assert chosen.mbps >= mbps


@pytest.mark.parametrize(
    ("mbps", "sku"),
    [(50, "Standard"), (1_000, "Standard"), (2_000, "HighPerformance"), (10_000, "UltraPerformance")],
)
def test_a_region_without_zones_gets_a_gateway_and_an_address_without_them(mbps: int, sku: str) -> None:
    """northcentralus, which meets us-east-2 at Chicago, has none."""
    given = {**LINK, "bandwidthMbps": mbps, "rttMs": 3}
    link = settings_of(given, zone="us-east-2a", location="northcentralus").interconnect
    assert link is not None
    chosen = gateway_of(link, "northcentralus")
    assert chosen is not None
    assert (chosen.sku, chosen.zones) == (sku, ())
    assert chosen.mbps >= mbps
    # A region that got zones after the list was made.
    later = settings_of(
        {**given, "gateway": {"zones": ["1", "2", "3"]}}, zone="us-east-2a", location="northcentralus"
    ).interconnect
    assert later is not None
    newer = gateway_of(later, "northcentralus")
    assert newer is not None
    assert newer.zones == ("1", "2", "3")
    assert newer.sku.endswith("AZ")


def test_every_region_of_the_table_of_locations_gets_a_gateway() -> None:
    for row in exchanges():
        for azure in row.local:
            zone = f"{row.aws[0]}a"
            given = {**LINK, "exchange": row.location, "rttMs": 3}
            assert problems({**given, "circuit": {}}, zone=zone, location=azure) == [], (row.location, azure)


def test_the_circuits_tier_follows_place_region_and_bandwidth() -> None:
    found = settings_of(LINK)
    assert found.interconnect is not None
    assert found.ends is not None
    exchange = exchange_of(found.interconnect, found.ends)
    assert exchange is not None
    assert exchange.location == "Washington DC"
    assert circuit_sku(found.interconnect, exchange, "eastus") == (Tier.LOCAL, Family.UNLIMITED)
    assert tiers_that_reach(exchange, "eastus", 500) == (Tier.STANDARD, Tier.PREMIUM)
    assert tiers_that_reach(exchange, "westus", 10_000) == (Tier.STANDARD, Tier.PREMIUM)
    assert tiers_that_reach(exchange, "northeurope", 10_000) == (Tier.PREMIUM,)


def test_every_pair_of_the_planner_meets_somewhere() -> None:
    """The planner's table of latencies and this table of locations speak of the same pairs."""
    for pair in region_pairs():
        assert [row for row in exchanges() if pair.aws in row.aws and pair.azure in row.local], pair


def test_the_plan_says_numbers_their_basis_and_the_narrowest_place() -> None:
    found = settings_of(LINK)
    assert found.interconnect is not None
    assert found.ends is not None
    said = list(notes(found.interconnect, found.ends, exchange_of(found.interconnect, found.ends)))
    assert said[0].startswith("redundancy: none. One connection: Direct Connect promises 95 %")
    for sentence in (
        "round trip: 3 ms (estimated from distance, 1.5 to 3 ms; not measured)",
        "usable: 9.46 of 10 Gb/s a direction after the headers of packets of 1400 bytes (94.6%); limited by 10 Gb/s",
        "packets: 869,263 a second fill the link; ErGw3AZ takes 1,000,000",
        "activations: 64 MiB (4096 tokens of hidden size 8192 in bf16) take 58.3 ms across",
        "buffers: 3.8 MB in flight fill the link; a socket may grow to twice that",
        "flows: AWS limits one TCP flow to 5 Gb/s outside a placement group, so a single flow leaves 5 of 10 Gb/s "
        "unused; the nodes' NCCL settings open 32",
    ):
        assert sentence in said
    (month,) = [one for one in said if one.startswith("a month at full use: ")]
    assert month == (
        "a month at full use: 63,950 USD (Direct Connect hosted connection, 10000 Mb/s: 1,810; public IP of the "
        "ExpressRoute gateway: 4; egress from AWS: 62,136)"
    )
    (unpriced,) = [one for one in said if one.startswith("not priced, and in no sum: ")]
    for part in (
        "equinix cloud routers, STANDARD (Equinix publishes no amounts; ",
        "2 x equinix connections (Equinix publishes no amounts; ",
        "ExpressRoute Local circuit, 10000 Mb/s (no published price found for ExpressRoute Local; ",
        "ExpressRoute gateway ErGw3AZ (no price of ErGw3AZ in eastus is known; known in australiaeast; ",
    ):
        assert part in unpriced
    assert unpriced.endswith(" Prices of your own are read from the file that $GPU_FABRIC_PRICES names")


def said_at_preview(change: dict[str, Any], **places: Any) -> list[str]:
    found = settings_of({**LINK, **change}, **places)
    assert found.interconnect is not None
    assert found.ends is not None
    return list(notes(found.interconnect, found.ends, exchange_of(found.interconnect, found.ends)))


@pytest.mark.parametrize(
    ("change", "places", "sentence"),
    [
        (
            {"rttMs": 3},
            {"zone": "us-west-1a", "location": "westus"},
            "gateway: westus has no zones that are known, so it gets UltraPerformance and an address without zones. "
            "Whether Azure also takes a size with AZ there is unverified; `gateway.sku` with `gateway.zones: []` asks "
            "for one.",
        ),
        (
            {"gateway": {"sku": "UltraPerformance"}},
            {},
            "gateway: UltraPerformance does not spread over zones, and eastus has them.",
        ),
        (
            {"rttMs": 3, "gateway": {"sku": "ErGwScale"}},
            {"zone": "us-west-2a", "location": "westus2"},
            "gateway: ErGwScale was not in westus2 when its page was last read (azure docs, 2025-11-06).",
        ),
        (
            {"exchange": "Dublin", "rttMs": 5},
            {},
            "routes: the Direct Connect sites at Dublin belong to eu-west-1. The connection is asked for and confirmed "
            "in us-east-1; find out whether it is sold there.",
        ),
        (
            {"addresses": {"cidr": "8.8.8.0/28"}},
            {},
            "routes: the on-link block has public addresses (8.8.8.0/30). Unless they are yours, both sides lose the "
            "part of the internet that has them; private ones are those of RFC 1918.",
        ),
        (
            {},
            {"aws": {"cidr": "52.0.0.0/16"}},
            "routes: the VPC has public addresses (52.0.0.0/16). Unless they are yours, both sides lose the part of "
            "the internet that has them; private ones are those of RFC 1918.",
        ),
    ],
)
def test_what_is_legal_and_seldom_meant_is_said(
    change: dict[str, Any], places: dict[str, Any], sentence: str
) -> None:
    assert sentence in said_at_preview(change, **places)
    assert sentence not in said_at_preview({})


def test_a_month_without_any_published_price_is_not_called_free() -> None:
    said = said_at_preview({"rttMs": 3}, zone="ap-northeast-1a", location="japaneast")
    (month,) = [one for one in said if one.startswith("a month at full use: ")]
    assert month == "a month at full use: no part of it has a known price"


def test_no_gateway_of_the_table_is_short_of_packets_at_its_own_bandwidth() -> None:
    for mbps in CIRCUIT_MBPS:
        found = (
            settings_of({**LINK, "bandwidthMbps": mbps})
            if mbps != 100
            else settings_of({**MANUAL, "bandwidthMbps": 100})
        )
        assert found.interconnect is not None
        assert found.ends is not None
        said = notes(found.interconnect, found.ends, exchange_of(found.interconnect, found.ends))
        assert [one for one in said if one.startswith("gateway:")] == []


def test_both_sides_nodes_get_the_way_to_the_other_and_nothing_wider() -> None:
    found = settings_of(LINK)
    assert found.around_aws.other_cloud is not None
    assert found.around_azure.other_cloud is not None
    to_azure, to_aws = found.around_aws.other_cloud.routes, found.around_azure.other_cloud.routes
    assert to_azure.prefixes == ("10.200.16.0/20",)
    assert to_aws.prefixes == ("10.100.16.0/20",)
    assert (to_azure.mtu, to_azure.mss, to_azure.bandwidth_mbps, to_azure.rtt_ms) == (
        1_400,
        1_360,
        10_000,
        3.0,
    )
    assert (to_aws.mtu, to_aws.mss) == (to_azure.mtu, to_azure.mss)
    alone = read_fabric({"aws": AWS, "azure": AZURE})
    assert alone.around_aws.other_cloud is None


def test_a_secret_output_is_taken_as_a_key() -> None:
    found: list[str] = ["not asked"]

    def program() -> None:
        found[:] = problems({"bgpKey": pulumi.Output.secret("made in a program")})

    record(program)
    assert found == []


def keys_of_ids(model: type[BaseModel], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key that names something which exists, by its name."""
    for name, field in model.model_fields.items():
        for below in leaf_types(field.annotation):
            if issubclass(below, BaseModel):
                yield from keys_of_ids(below, (*before, name))
        if re.search(r"(^|_)(id|ids|uid|profile)$", name) and int not in leaf_types(field.annotation):
            yield (*before, name)


def test_every_id_of_the_link_has_a_shape() -> None:
    assert set(keys_of_ids(CrossCloudSettings)) == set(SHAPES)


@pytest.mark.parametrize("path", [path for path in SHAPES if path[0] not in ("aws", "azure")])
def test_no_id_is_taken_that_is_none_and_none_is_repeated(path: tuple[str, ...]) -> None:
    key = ".".join(map(to_camel, path))
    for wrong in ("foo", "", "foo-1", " "):
        value: Any = [wrong] if path[-1].endswith("ids") else wrong
        for name in reversed(path[1:]):
            value = {to_camel(name): value}
        said = problems({**LINK, "partner": "manual", to_camel(path[0]): value})
        mine = [one for one in said if one.startswith(key)]
        assert mine, (key, wrong, said)
        assert "foo" not in "".join(mine)


@pytest.mark.parametrize("section", ["aws", "azure", "interconnect", "sizes", "training"])
def test_a_section_with_nothing_under_it_is_refused_and_never_taken_for_none(section: str) -> None:
    """Its lines may have been commented out: a plan without it would remove what stands."""
    given = {"aws": AWS, "azure": AZURE | {"location": "eastus"}, "interconnect": LINK, section: None}
    with pytest.raises(InvalidInputError) as refused:
        read_fabric(given)
    assert [str(one) for one in refused.value.problems] == [
        f"fabric.{section}: is empty; describe it, or take the key out"
    ]


def numbers(model: type[BaseModel], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        leaves = leaf_types(field.annotation)
        for below in leaves:
            if issubclass(below, BaseModel):
                yield from numbers(below, (*before, to_camel(name)))
        if {int, float} & set(leaves) and bool not in leaves:
            yield (*before, to_camel(name))


@pytest.mark.parametrize("path", sorted(numbers(InterconnectSettings)), ids=".".join)
def test_every_number_that_is_none_says_what_one_looks_like(path: tuple[str, ...]) -> None:
    value: Any = ["jumbo"] if path[-1] == "vlans" else "jumbo"
    for name in reversed(path[1:]):
        value = {name: value}
    (said,) = [one for one in problems({path[0]: value}) if one.startswith(".".join(path))]
    assert re.search(r"'jumbo' is not a (whole )?number; give (a number in digits|.*\d)", said), said
