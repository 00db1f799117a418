"""Every pair of regions of the table of peering locations comes up in the simulated clouds: one program, many links."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_fabric.components.interconnect.exchanges import exchanges
from tests.simulated import SimulatedStack
from tests.stacks.test_interconnect import sessions

pytestmark = pytest.mark.engine

GATEWAY = "azure-native:network:VirtualNetworkGateway"

PROGRAM = """
import json

import pulumi
import pulumi_aws as aws
from pulumi_azure_native import network, resources

from gpu_fabric.components.interconnect import CrossCloudInterconnect

for number, (location, region, azure) in enumerate(json.loads(pulumi.Config("pairs").require("rows"))):
    name, ours = f"pair-{number}", f"10.{100 + number}"
    provider = aws.Provider(name, region=region)
    there = pulumi.ResourceOptions(provider=provider)
    vpc = aws.ec2.Vpc(name, cidr_block=f"{ours}.0.0/17", opts=there)
    subnet = aws.ec2.Subnet(name, vpc_id=vpc.id, cidr_block=f"{ours}.16.0/20", opts=there)
    table = aws.ec2.RouteTable(name, vpc_id=vpc.id, opts=there)
    group = resources.ResourceGroup(name, location=azure)
    net = network.VirtualNetwork(
        name,
        resource_group_name=group.name,
        location=azure,
        address_space={"address_prefixes": [f"{ours}.128.0/17"]},
        opts=pulumi.ResourceOptions(ignore_changes=["subnets"]),
    )
    CrossCloudInterconnect(
        name,
        {
            "partner": "equinix",
            "bandwidth_mbps": 10_000,
            "exchange": location,
            "rtt_ms": 4,
            "aws_account": "000000000000",
            "equinix": {"project_id": "776847000642406", "emails": ["network@example.com"]},
            "aws": {
                "region": region,
                "vpc_id": vpc.id,
                "vpc_cidr": f"{ours}.0.0/17",
                "subnet_id": subnet.id,
                "subnet_cidr": f"{ours}.16.0/20",
            },
            "azure": {
                "location": azure,
                "virtual_network_id": net.id,
                "network_cidr": f"{ours}.128.0/17",
                "subnet_cidr": f"{ours}.144.0/20",
            },
            "aws_route_table_ids": [table.id],
            "addresses": {"gateway_subnet_cidr": f"{ours}.128.0/27"},
        },
        opts=pulumi.ResourceOptions(providers=[provider]),
    )
"""


ROWS = [(row.location, aws, azure) for row in exchanges() for aws in row.aws for azure in row.local]
WITHOUT_ZONES = ("westus", "northcentralus")


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([ROWS[0], *(row for row in ROWS if row[2] in WITHOUT_ZONES)], id="without zones"),
        pytest.param(ROWS, id="all", marks=pytest.mark.slow),
    ],
)
def test_every_pair_of_the_table_comes_up_with_a_gateway_that_its_region_has(
    simulated: SimulatedStack, rows: list[tuple[str, str, str]]
) -> None:
    assert len({azure for _, _, azure in ROWS}) > 8
    simulated.program(PROGRAM)
    stack: dict[str, Any] = {"pairs:rows": json.dumps(rows), "azure-native:location": "eastus"}
    simulated.configure({}, **stack)
    simulated.ok("up")
    found = sessions(simulated)
    assert len(found) == 2 * len(rows)
    assert [one for one in found if one["state"] != "up"] == []
    announced = {tuple(one["announced"]) for one in found if one["cloud"] == "aws"}
    assert announced == {(f"10.{100 + number}.0.0/17",) for number in range(len(rows))}
    gateways = [one["inputs"] for one in simulated.resources() if one["type"] == GATEWAY]
    without_zones = {one["location"] for one in gateways if not one["sku"]["name"].endswith("AZ")}
    assert without_zones == set(WITHOUT_ZONES)
