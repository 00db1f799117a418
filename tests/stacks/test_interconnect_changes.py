"""Changes of links that are up, on the real engine: one `up`, what it replaces, and the sessions after it.

A stack has a link for each change, so that every key is changed alone, and all of them in one run. The tables of
docs/interconnect.md ("Changing a link that is up") say the same.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.simulated import SimulatedStack
from tests.stacks.test_interconnect import (
    AWS,
    AZURE,
    CIRCUIT,
    EQUINIX,
    MEGAPORT_SDK,
    fails,
    held,
    sessions,
)

pytestmark = pytest.mark.engine

#: Networks of its own for each link, and the link: the argument of `CrossCloudInterconnect`, without the networks.
PROGRAM = """
import json
import pathlib

import pulumi
import pulumi_aws as aws
from pulumi_azure_native import network, resources

from gpu_fabric.components.interconnect import CrossCloudInterconnect

group = resources.ResourceGroup("networks", location="eastus")
other = aws.ec2transitgateway.TransitGateway("other", amazon_side_asn=64900)
providers = {region: aws.Provider(region, region=region) for region in ("us-east-1", "eu-central-1")}
for name, link in json.loads(pathlib.Path("links.json").read_text()).items():
    region, location = link.pop("regions")
    in_region = pulumi.ResourceOptions(provider=providers[region])
    vpc = aws.ec2.Vpc(name, cidr_block="10.100.0.0/16", opts=in_region)
    table = aws.ec2.RouteTable(name, vpc_id=vpc.id, opts=in_region)
    more = aws.ec2.RouteTable(f"{name}-more", vpc_id=vpc.id, opts=in_region)
    nodes = aws.ec2.Subnet(name, vpc_id=vpc.id, cidr_block="10.100.16.0/20", opts=in_region)
    virtual_network = network.VirtualNetwork(
        name,
        resource_group_name=group.name,
        location=location,
        address_space={"address_prefixes": ["10.200.0.0/16"]},
    )
    if (key := link.pop("bgp_key", None)) is not None:
        link["bgp_key"] = pulumi.Output.secret(key)
    tables = [table.id, more.id][: link.pop("tables", 1)]
    if link.pop("adopts", False):
        link["aws_transit_gateway_id"] = other.id
    CrossCloudInterconnect(
        name,
        {
            **link,
            "aws": {
                "region": region,
                "vpc_id": vpc.id,
                "vpc_cidr": "10.100.0.0/16",
                "subnet_id": nodes.id,
                "subnet_cidr": "10.100.16.0/20",
            },
            "azure": {
                "location": location,
                "virtual_network_id": virtual_network.id,
                "network_cidr": "10.200.0.0/16",
                "subnet_cidr": "10.200.16.0/20",
            },
            "aws_route_table_ids": tables,
        },
        opts=pulumi.ResourceOptions(providers=[providers[region]]),
    )
"""

LINK = {
    "partner": "equinix",
    "bandwidth_mbps": 1_000,
    "aws_account": "000000000000",
    "equinix": {
        "project_id": "00000000-0000-0000-0000-000000000000",
        "emails": ["network@example.com"],
    },
    "addresses": {"gateway_subnet_cidr": "10.200.0.0/27"},
    "regions": ("us-east-1", "eastus"),
}


@dataclass(frozen=True)
class Change:
    """A change of one link, what the link is besides, and the types of what is replaced for it."""

    change: Mapping[str, Any]
    replaced: frozenset[str] = frozenset()
    before: Mapping[str, Any] = field(default_factory=dict)


LINE_TO_AWS = frozenset(
    {"Connection", "ConnectionConfirmation", "PrivateVirtualInterface", "RoutingProtocol"}
)
ON_THE_CIRCUIT = frozenset({"ExpressRouteCircuitPeering", "VirtualNetworkGatewayConnection"})
A_CIRCUIT = ON_THE_CIRCUIT | {"ExpressRouteCircuit", "Connection", "RoutingProtocol"}
A_GATEWAY = frozenset({"VirtualNetworkGateway", "VirtualNetworkGatewayConnection"})

CHANGES: Mapping[str, Mapping[str, Change]] = {
    "partner": {
        "faster": Change({"bandwidth_mbps": 2_000}, A_CIRCUIT | LINE_TO_AWS),
        "slower": Change({"bandwidth_mbps": 500}, A_CIRCUIT | LINE_TO_AWS),
        "redundancy": Change({"redundancy": "circuit"}),
        "project": Change(
            {"equinix": {"project_id": "00000000-0000-0000-0000-000000000001"}},
            ON_THE_CIRCUIT | LINE_TO_AWS | {"CloudRouter"},
        ),
        "account": Change({"aws_account": "000000000001"}, LINE_TO_AWS),
        "exchange": Change(
            {"exchange": "Frankfurt2"},
            A_CIRCUIT,
            before={"regions": ("eu-central-1", "germanywestcentral"), "rtt_ms": 3},
        ),
        "partner": Change({"partner": "manual"}),
        "in-place": Change(
            {
                "azure_vlan": 400,
                "gateway": {"sku": "ErGw3AZ"},
                "bfd": False,
                "route_isolation": True,
                "tags": {"for": "a test"},
                "tables": 2,
                "rtt_ms": 2,
                "rtt_limit_ms": 4,
                "equinix": {"package": "ADVANCED", "purchase_order": "4711", "emails": ["b@example.com"]},
            }
        ),
    },
    "aws": {
        "amazon-asn": Change(
            {"asns": {"amazon": 64_600}},
            frozenset({"Gateway", "GatewayAssociation", "PrivateVirtualInterface"}),
        ),
        "gateway-asn": Change(
            {"asns": {"gateway": 64_601}},
            frozenset({"VpnGateway", "VpnGatewayRoutePropagation", "GatewayAssociation"}),
        ),
        # The private virtual interface goes, and a transit one comes.
        "transit": Change({"aws_gateway": "transit"}, frozenset({"Gateway", "GatewayAssociation"})),
        "transit-asn": Change(
            {"asns": {"gateway": 64_601}},
            frozenset({"TransitGateway", "VpcAttachment", "GatewayAssociation"}),
            before={"aws_gateway": "transit"},
        ),
        "transit-adopted": Change(
            {"adopts": True},
            frozenset({"VpcAttachment", "GatewayAssociation"}),
            before={"aws_gateway": "transit"},
        ),
        "on-link": Change(
            {"addresses": {"cidr": "192.168.200.0/28"}},
            frozenset({"PrivateVirtualInterface", "RoutingProtocol"}),
        ),
        "key": Change(
            {"bgp_key": "a-key-of-ours"}, frozenset({"PrivateVirtualInterface", "RoutingProtocol"})
        ),
        "no-key": Change(
            {"bgp_key": None},
            frozenset({"PrivateVirtualInterface", "RoutingProtocol"}),
            before={"bgp_key": "a-key-of-ours"},
        ),
    },
    "azure": {
        "gateway-subnet": Change(
            {"addresses": {"gateway_subnet_cidr": "10.200.0.64/27"}}, A_GATEWAY | {"Subnet"}
        ),
        "larger": Change({"gateway": {"sku": "ErGw3AZ"}}),
        "smaller": Change({"gateway": {"sku": "ErGw1AZ"}}, before={"gateway": {"sku": "ErGw2AZ"}}),
        "shrink": Change({"gateway": {"sku": "ErGw2AZ"}}, A_GATEWAY, before={"gateway": {"sku": "ErGw3AZ"}}),
        "scalable": Change({"gateway": {"sku": "ErGwScale"}}, A_GATEWAY),
        "scale-units": Change(
            {"gateway": {"scale_units": 4}}, before={"gateway": {"sku": "ErGwScale", "scale_units": 10}}
        ),
        "zones": Change({"gateway": {"zones": ["1"]}}, A_GATEWAY | {"PublicIPAddress"}),
        "fast-path": Change({"gateway": {"fast_path": True}}, before={"gateway": {"sku": "ErGw3AZ"}}),
        "tier": Change({"circuit": {"tier": "Standard"}}, A_CIRCUIT),
        "family": Change({"circuit": {"family": "UnlimitedData"}}, A_CIRCUIT, before={"bandwidth_mbps": 500}),
        "location": Change(
            {"regions": ("us-east-1", "eastus2"), "rtt_limit_ms": 7},
            A_CIRCUIT | A_GATEWAY | {"PublicIPAddress", "ResourceGroup", "Subnet", "VirtualNetwork"},
        ),
    },
}


MEGAPORT = {
    "partner": "megaport",
    "bgp_key": "a-key-of-ours",
    "megaport": {
        "location_id": 9001,
        "aws_product_uid": "00000000-0000-4000-8000-000100009001",
        "azure_product_uid": "00000000-0000-4000-8000-000000000001",
    },
}
ON_ITS_ROUTER = (
    frozenset({"Mcr", "Vxc", "ConnectionConfirmation", "PrivateVirtualInterface"}) | ON_THE_CIRCUIT
)
INTERFACE = frozenset({"PrivateVirtualInterface"})
THROUGH_MEGAPORT: Mapping[str, Change] = {
    "rate": Change({"bandwidth_mbps": 2_000}, ON_ITS_ROUTER | {"ExpressRouteCircuit"}, before=MEGAPORT),
    "asn": Change({"asns": {"partner": 65_002}}, ON_ITS_ROUTER, before=MEGAPORT),
    "on-link": Change({"addresses": {"cidr": "192.168.200.0/28"}}, INTERFACE, before=MEGAPORT),
    "other-key": Change({"bgp_key": "another-of-ours"}, INTERFACE, before=MEGAPORT),
    "no-bfd": Change({"bfd": False}, before=MEGAPORT),
}
#: What is replaced on both sides and what is not, in one run; all of them by `make test-slow`.
A_FEW = {
    "key": CHANGES["aws"]["key"],
    "shrink": CHANGES["azure"]["shrink"],
    "in-place": CHANGES["partner"]["in-place"],
}
GROUPS: Mapping[str, Mapping[str, Change]] = {**CHANGES, "megaport": THROUGH_MEGAPORT, "a few": A_FEW}


def link_of(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """The link with each layer over it, key by key."""
    result: dict[str, Any] = json.loads(json.dumps(LINK))
    for layer in layers:
        for key, value in layer.items():
            result[key] = {**result.get(key, {}), **value} if isinstance(value, dict) else value
    return result


def prepare(stack: SimulatedStack) -> None:
    stack.program(PROGRAM)
    stack.configure({})
    (stack.project / "pulumi_megaport.py").write_text(MEGAPORT_SDK)


DONE = re.compile(r"^\s*(\+-|\+|-|~)\s+\S*:(\w+) (\S+) (?:replaced|updated|created|deleted)\b")


def done_for(links: Mapping[str, Any], said: str) -> dict[str, dict[str, set[str]]]:
    """What the engine said that it did, by link: types of what was replaced (`+-`), created, updated and deleted."""
    result: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in links}
    longest_first = sorted(links, key=len, reverse=True)
    for line in said.splitlines():
        found = DONE.match(line)
        if found is None:
            continue
        name = next((one for one in longest_first if found[3] == one or found[3].startswith(f"{one}-")), None)
        if name is not None:
            result[name][found[1]].add(found[2])
    return result


def down(stack: SimulatedStack) -> dict[str, list[str]]:
    """Why sessions are down, by the name of the partner's connection; empty where all are up."""
    reasons = {one["connection"]: one["reasons"] for one in sessions(stack) if one["reasons"]}
    if not reasons:
        return {}
    names = {one.get("id"): one["urn"].rpartition("::")[2] for one in stack.resources()}
    return {names.get(id_, id_): why for id_, why in reasons.items()}


def expected_sessions(links: Mapping[str, Mapping[str, Any]]) -> int:
    joined = [one for one in links.values() if one["partner"] != "manual"]
    return sum(4 if one.get("redundancy") == "circuit" else 2 for one in joined)


def up(stack: SimulatedStack, links: Mapping[str, Any]) -> dict[str, dict[str, set[str]]]:
    """One `up` with these links, after which every session is up; what it did for each."""
    (stack.project / "links.json").write_text(json.dumps(links))
    done = done_for(links, stack.ok("up"))
    assert down(stack) == {}
    assert len(sessions(stack)) == expected_sessions(links)
    return done


@pytest.mark.parametrize(
    "group", ["a few", *(pytest.param(one, marks=pytest.mark.slow) for one in GROUPS if one != "a few")]
)
def test_each_change_of_a_link_goes_through_in_one_up(simulated: SimulatedStack, group: str) -> None:
    changes = GROUPS[group]
    prepare(simulated)
    up(simulated, {name: link_of(one.before) for name, one in changes.items()})
    done = up(simulated, {name: link_of(one.before, one.change) for name, one in changes.items()})
    assert {name: sorted(what["+-"]) for name, what in done.items()} == {
        name: sorted(one.replaced) for name, one in changes.items()
    }
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


@pytest.mark.slow
@pytest.mark.parametrize("group", [one for one in GROUPS if one != "a few"])
def test_each_change_of_a_link_can_be_taken_back(simulated: SimulatedStack, group: str) -> None:
    changes = GROUPS[group]
    prepare(simulated)
    before = {name: link_of(one.before) for name, one in changes.items()}
    up(simulated, before)
    up(simulated, {name: link_of(one.before, one.change) for name, one in changes.items()})
    up(simulated, before)
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_a_circuit_ordered_by_hand_is_raised_in_place_and_a_lower_rate_is_refused_at_preview(
    simulated: SimulatedStack,
) -> None:
    def configure(megabits: int) -> None:
        links = {"by-hand": link_of({"partner": "manual", "bandwidth_mbps": megabits})}
        (simulated.project / "links.json").write_text(json.dumps(links))

    prepare(simulated)
    configure(1_000)
    simulated.ok("up")
    configure(500)
    refused = simulated.run("preview")
    assert refused.returncode != 0
    assert (
        "interconnect.bandwidthMbps: the circuit has 1000 Mb/s, and Azure lowers none to 500; keep it as it is; or"
        in refused.stdout
    )
    configure(2_000)
    done = done_for({"by-hand": {}}, simulated.ok("up"))["by-hand"]
    assert done["~"] >= {"ExpressRouteCircuit", "VirtualNetworkGateway"}
    assert done["+-"] == set()
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_both_networks_may_get_other_blocks_under_a_link_that_is_up(simulated: SimulatedStack) -> None:
    """The networks of a stack file, which the nodes stand in and the link with them."""
    fabric = {"aws": AWS, "azure": AZURE, "interconnect": EQUINIX}
    simulated.configure(fabric)
    simulated.ok("up")
    blocks = {"aws": "10.110.0.0/16", "azure": "10.210.0.0/16"}
    simulated.configure(
        {**fabric, **{cloud: {**fabric[cloud], "network": {"cidr": cidr}} for cloud, cidr in blocks.items()}}
    )
    simulated.ok("up")
    assert down(simulated) == {}
    (to_aws,) = (one for one in sessions(simulated) if one["cloud"] == "aws")
    assert to_aws["announced"] == ["10.110.0.0/16"]
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


@pytest.mark.slow
@pytest.mark.parametrize("then", ["goes on", "is taken back"])
def test_a_change_that_stopped_in_the_middle_ends_well_with_the_next_up(
    simulated: SimulatedStack, then: str
) -> None:
    """The old circuit is gone and the new one refused: at the worst moment."""
    before, after = ({"link": link_of({"bandwidth_mbps": megabits})} for megabits in (1_000, 2_000))
    prepare(simulated)
    up(simulated, before)
    (simulated.project / "links.json").write_text(json.dumps(after))
    fails(simulated, CIRCUIT, when="before")
    assert simulated.run("up").returncode != 0
    assert held(simulated, CIRCUIT) == []
    up(simulated, after if then == "goes on" else before)
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []
