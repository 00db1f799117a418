"""The nodes at both ends of a program's link: told of it by `other_cloud`, and held against it where it is made."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from gpu_fabric.components.aws import AwsGpuCluster
from gpu_fabric.components.azure import AzureGpuCluster
from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.interconnect import CrossCloudInterconnect
from gpu_fabric.components.problems import InvalidInputError
from tests.components.recorder import Recording, record, record_azure_cluster, record_cluster
from tests.components.test_interconnect import ANSWERS, ARGUMENTS

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
GROUP = "azure-native:network:NetworkSecurityGroup"
CONFIG = {"aws:region": "us-east-1", "azure-native:location": "eastus"}
TO_AZURE = {"subnet_cidrs": ["10.2.16.0/20"], "bandwidth_mbps": 10_000, "region": "eastus"}
TO_AWS = {"subnet_cidrs": ["10.1.16.0/20"], "bandwidth_mbps": 10_000, "region": "us-east-1"}
AWS = {
    "zone": "us-east-1a",
    "instance_type": "p5.48xlarge",
    "nodes": 2,
    "network": {"cidr": "10.1.0.0/16"},
    "other_cloud": TO_AZURE,
}
AZURE = {
    "location": "eastus",
    "vm_size": "Standard_ND96isr_H100_v5",
    "nodes": 2,
    "network": {"cidr": "10.2.0.0/16"},
    "other_cloud": TO_AWS,
}


def without(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != "other_cloud"}


def joined(
    aws: dict[str, Any] = AWS,
    azure: dict[str, Any] = AZURE,
    *,
    at: Callable[[], tuple[dict[str, Any], dict[str, Any]]] | None = None,
    link: dict[str, Any] | None = None,
) -> Recording:
    """Both clusters and the link between them, with the clusters' outputs unless `at` names both networks."""

    def program() -> None:
        train, learn = AwsGpuCluster("train", aws), AzureGpuCluster("learn", azure)  # ty: ignore[invalid-argument-type]
        arguments = {**copy.deepcopy(ARGUMENTS), **(link or {})}
        group = train.security_group_ids.apply(lambda ids: ids[0])
        ours: dict[str, Any] = {
            "vpc_id": train.vpc_id,
            "subnet_id": train.subnet_id,
            "security_group_id": group,
        }
        theirs: dict[str, Any] = {"virtual_network_id": learn.virtual_network_id}
        if at is not None:
            ours, theirs = at()
        arguments["aws"] |= ours
        arguments["azure"] |= theirs
        CrossCloudInterconnect("link", arguments)  # ty: ignore[invalid-argument-type]

    return record(program, config=CONFIG, answers=ANSWERS)


def refused(program: Callable[[], Any]) -> list[str]:
    with pytest.raises(InvalidInputError) as wrong:
        program()
    return [str(problem) for problem in wrong.value.problems]


def said(made: Recording) -> list[str]:
    """What is said of the nodes at both ends."""
    words = ("no cluster that this program", "first bulk transfer", "`other_cloud`", "lets ")
    return [text for _, text in made.messages if any(word in text for word in words)]


def start(data: str) -> str:
    return gzip.decompress(base64.b64decode(data)).decode()


def starts(made: Recording) -> tuple[str, str]:
    """What a node of each cloud is given at its start."""
    azure = made.one(SCALE_SET).inputs["virtualMachineProfile"]["osProfile"]["customData"]
    return start(made.one(TEMPLATE).inputs["userData"]), start(azure)


def test_nodes_that_are_told_of_the_link_have_its_routes_flows_and_rules() -> None:
    made = joined()
    for text, other in zip(starts(made), ("10.2.16.0/20", "10.1.16.0/20"), strict=True):
        (plan,) = [line for line in text.splitlines() if line.strip().startswith('{"steps":')]
        (routes,) = [one for one in json.loads(plan)["steps"] if one["name"] == "routes"]
        assert (routes["prefixes"], routes["mtu"], routes["mss"]) == ([other], 1400, 1360)
        assert "NCCL_SOCKET_NTHREADS=4" in text
        assert "NCCL_NSOCKS_PERTHREAD=8" in text
    rules = {one["name"]: one for one in made.one(GROUP).inputs["securityRules"]}
    assert rules["from-the-other-cloud-0"]["sourceAddressPrefix"] == "10.1.16.0/20"
    assert said(made) == []


def test_a_program_gives_its_nodes_what_a_stack_file_gives_them() -> None:
    """To the byte: the same link, once under `interconnect` and once in the arguments of three components."""
    from gpu_fabric.components.fabric import GpuFabric

    link = {"partner": "equinix", "bandwidthMbps": 10_000, "awsAccount": "123456789012"}
    link["equinix"] = {"projectId": "00000000-0000-4000-8000-000000000001", "emails": ["network@example.com"]}
    fabric = {
        "aws": {
            "zone": "us-east-1a",
            "instanceType": "p5.48xlarge",
            "nodes": 2,
            "network": {"cidr": "10.1.0.0/16"},
        },
        "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 2, "network": {"cidr": "10.2.0.0/16"}},
        "interconnect": link,
    }

    def program() -> None:
        GpuFabric("train", read_fabric(fabric, aws_region="us-east-1", azure_location="eastus"))

    assert starts(joined()) == starts(record(program, config=CONFIG, answers=ANSWERS))


HANGS = "so their first bulk transfer would hang; give the cluster `other_cloud="


def test_a_link_refuses_clusters_whose_nodes_are_not_told_of_it() -> None:
    assert refused(lambda: joined(without(AWS), without(AZURE))) == [
        "aws: the nodes of AwsGpuCluster 'train' have no route of the link's packet size to 10.2.16.0/20, "
        f"{HANGS}{TO_AZURE}`",
        "azure: the nodes of AzureGpuCluster 'learn' have no route of the link's packet size to 10.1.16.0/20, "
        f"{HANGS}{TO_AWS}`",
    ]


def test_what_the_refusal_says_to_give_is_taken() -> None:
    """Also where the round trip was measured and the routes are isolated."""
    link = {"rtt_ms": 1.5, "route_isolation": True, "bandwidth_mbps": 2_000}
    found = refused(lambda: joined(without(AWS), without(AZURE), link=link))
    to_azure, to_aws = [eval(text.partition("`other_cloud=")[2].rstrip("`")) for text in found]
    assert to_azure == {
        "subnet_cidrs": ["10.2.16.0/20"],
        "bandwidth_mbps": 2_000,
        "rtt_ms": 1.5,
        "route_isolation": True,
    }
    made = joined({**AWS, "other_cloud": to_azure}, {**AZURE, "other_cloud": to_aws}, link=link)
    assert said(made) == []
    outbound = [one for one in made.one(GROUP).inputs["securityRules"] if one["direction"] == "Outbound"]
    assert [(one["destinationAddressPrefix"], one["access"]) for one in outbound] == [
        ("10.2.16.0/20", "Allow"),
        ("10.1.16.0/20", "Allow"),
        ("10.0.0.0/8", "Deny"),
        ("172.16.0.0/12", "Deny"),
        ("192.168.0.0/16", "Deny"),
    ]


def test_numbers_that_are_not_the_links_are_refused_with_the_links() -> None:
    other = {"subnet_cidrs": ["10.3.0.0/20"], "bandwidth_mbps": 1_000, "rtt_ms": 9, "route_isolation": True}
    aws, azure = refused(lambda: joined({**AWS, "other_cloud": other}, {**AZURE, "other_cloud": other}))
    assert aws == (
        "aws: `other_cloud` of AwsGpuCluster 'train' leads to 10.3.0.0/20 and not to 10.2.16.0/20; it is for 1000 Mb/s "
        "and the link has 10000; it is for a round trip of 9 ms and the link counts with 3; give the cluster "
        f"`other_cloud={TO_AZURE}`"
    )
    assert "; it and the link differ in `route_isolation`; give the cluster" in azure
    wider = {**TO_AZURE, "subnet_cidrs": ["10.9.0.0/20", "10.2.0.0/16"]}
    assert said(joined({**AWS, "other_cloud": wider})) == []


SUBNET = "subnet-0123456789abcdef0"
VNET = "/subscriptions/s/resourceGroups/theirs/providers/Microsoft.Network/virtualNetworks/theirs"


def adopting(network: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "network": network}


def test_adopted_networks_are_known_by_their_ids() -> None:
    aws_network = {"vpc_id": "vpc-7", "subnet_id": SUBNET}
    azure_network = {"subnet_id": f"{VNET}/subnets/nodes", "subnet_cidr": "10.2.16.0/20"}

    def ends() -> tuple[dict[str, Any], dict[str, Any]]:
        return {"subnet_id": SUBNET}, {"virtual_network_id": VNET.replace("theirs", "THEIRS")}

    aws, azure = adopting(aws_network, AWS), adopting(azure_network, AZURE)
    assert said(joined(aws, azure, at=ends))[1:] == []
    assert [
        text.partition(":")[0] for text in refused(lambda: joined(without(aws), without(azure), at=ends))
    ] == [
        "aws",
        "azure",
    ]


def test_a_network_that_may_be_another_is_named_and_not_refused() -> None:
    """The same block in the same region, under an id that the program got elsewhere."""

    def ends() -> tuple[dict[str, Any], dict[str, Any]]:
        return {"subnet_id": pulumi.Output.from_input("subnet-9")}, {"virtual_network_id": VNET}

    made = joined(without(AWS), without(AZURE), at=ends)
    aws, azure, group = said(made)
    assert aws.startswith(
        "routes: the nodes of AwsGpuCluster 'train' have no route of the link's packet size to "
    )
    assert f"would hang, if they are in this network: give the cluster `other_cloud={TO_AZURE}`." in aws
    assert group.startswith(
        "network: the security group of AwsGpuCluster 'train' lets 10.2.16.0/20 in only where"
    )
    assert "AzureGpuCluster 'learn'" in azure


def test_nodes_that_this_program_does_not_start_are_said_to_need_the_same() -> None:
    def program() -> None:
        CrossCloudInterconnect("link", copy.deepcopy(ARGUMENTS))  # ty: ignore[invalid-argument-type]

    assert said(record(program, answers=ANSWERS)) == [
        "routes: no cluster that this program declared before the link is in "
        f"{nodes} on {cloud}. Whoever starts its nodes gives their cluster `other_cloud={wanted}`, or their first bulk "
        "transfer hangs (docs/library.md)."
        for nodes, cloud, wanted in (("10.1.16.0/20", "aws", TO_AZURE), ("10.2.16.0/20", "azure", TO_AWS))
    ]


def test_clusters_of_an_earlier_program_of_the_process_are_not_of_this_one() -> None:
    record(lambda: AwsGpuCluster("train", without(AWS)) and None, config=CONFIG)  # ty: ignore[invalid-argument-type]
    made = record(
        lambda: CrossCloudInterconnect("link", copy.deepcopy(ARGUMENTS)) and None,  # ty: ignore[invalid-argument-type]
        answers=ANSWERS,
    )
    assert "no cluster that this program declared" in said(made)[0]


def test_a_block_that_is_not_the_clusters_is_refused() -> None:
    (found,) = refused(
        lambda: joined({**AWS, "network": {"cidr": "10.1.0.0/16", "subnet_cidr": "10.1.64.0/20"}})
    )
    assert found == (
        "aws.subnet_cidr: 10.1.16.0/20 is not the block of this subnet: AwsGpuCluster 'train' says 10.1.64.0/20; give "
        "10.1.64.0/20"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"subnet_cidrs": []},
            "subnet_cidrs: is empty; give the other side's blocks, such as 10.200.16.0/20",
        ),
        (
            {"subnet_cidrs": ["10.2.16.1/20"]},
            "subnet_cidrs[0]: '10.2.16.1/20' is not an IPv4 address block (10.2.16.1/20 has host bits set); give "
            "10.2.16.0/20",
        ),
        (
            {"subnet_cidrs": ["10.2.16.0/20", "0.0.0.0/0"]},
            "subnet_cidrs[1]: 0.0.0.0/0 is a /0; a subnet takes a size between /8 and /29",
        ),
        (
            {"subnet_cidrs": ["10.1.128.0/20"]},
            "subnet_cidrs[0]: 10.1.128.0/20 overlaps 10.1.0.0/16 of this side; give the other side's, such as "
            "10.200.16.0/20",
        ),
        (
            {"subnet_cidrs": ["172.16.4.0/24"]},
            "subnet_cidrs[0]: 172.16.4.0/24 overlaps 172.16.0.0/16 of the RDMA network, which owns it on every Azure "
            "node; give the other side's, such as 10.200.16.0/20",
        ),
        ({"bandwidth_mbps": 0}, "bandwidth_mbps: 0 is too small; give more than 0"),
        ({"rtt_ms": 0}, "rtt_ms: 0 is too small; give more than 0"),
        (
            {"region": None},
            "rtt_ms: is missing, and how far a socket's buffers grow follows it; give the measured round trip, or the "
            "other side's `region`, such as eastus, for an estimate",
        ),
        (
            {"region": "japaneast"},
            "rtt_ms: is missing: there is no estimate for us-east-1 and japaneast; give the round trip that was "
            "measured, or that your partner states",
        ),
        (
            {"region": "us-east-1"},
            "region: 'us-east-1' is not the name of a region of Azure; give one such as eastus",
        ),
        (
            {"rtt": 2},
            "rtt: is not a key that is known here; did you mean `rtt_ms`? known keys: subnet_cidrs, bandwidth_mbps, "
            "rtt_ms, region, route_isolation",
        ),
    ],
)
def test_what_a_cluster_is_told_of_the_link_is_checked(change: dict[str, Any], message: str) -> None:
    assert refused(lambda: record_cluster({**AWS, "other_cloud": {**TO_AZURE, **change}})) == [
        f"other_cloud.{message}"
    ]


def test_what_is_missing_is_asked_for_and_the_borders_pass() -> None:
    missing = refused(lambda: record_cluster({**AWS, "other_cloud": {"rtt_ms": 2}}))
    assert missing == [
        "other_cloud.subnet_cidrs: is missing; give the blocks of the other cloud's nodes, where a link that this "
        "stack does not make leads to them",
        "other_cloud.bandwidth_mbps: is missing; give 10^6 bit/s of that link, such as 10000",
    ]
    for blocks in (["10.0.0.0/16", "10.2.0.0/29"], ["192.0.0.0/8"]):
        record_cluster({**AWS, "other_cloud": {"subnet_cidrs": blocks, "bandwidth_mbps": 1, "rtt_ms": 0.01}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"subnet_cidrs": ["10.2.16.0/20"]},
            "subnet_cidrs[0]: 10.2.16.0/20 overlaps 10.2.0.0/16 of this side; give the other side's, such as "
            "10.100.16.0/20",
        ),
        (
            {"region": "US East"},
            "region: 'US East' is not the name of a region of AWS; give one such as us-east-1",
        ),
    ],
)
def test_azures_cluster_is_held_to_the_same(change: dict[str, Any], message: str) -> None:
    assert refused(lambda: record_azure_cluster({**AZURE, "other_cloud": {**TO_AWS, **change}})) == [
        f"other_cloud.{message}"
    ]


def test_a_stack_of_one_cloud_is_told_in_its_stack_file_and_a_stacks_own_link_needs_no_telling() -> None:
    aws = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 2}
    other = {"subnetCidrs": ["10.200.16.0/20"], "bandwidthMbps": 10_000, "region": "East US"}
    settings = read_fabric({"aws": {**aws, "otherCloud": other}}, aws_region="us-east-1").aws
    assert settings is not None
    link = {"partner": "equinix", "bandwidthMbps": 10_000, "awsAccount": "123456789012"}
    link["equinix"] = {"projectId": "00000000-0000-4000-8000-000000000001", "emails": ["network@example.com"]}
    azure = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 2}
    both = {"aws": {**aws, "otherCloud": other}, "azure": azure, "interconnect": link}
    assert refused(lambda: read_fabric(both, aws_region="us-east-1", azure_location="eastus")) == [
        "fabric.aws.otherCloud: the link of `fabric.interconnect` says all of it; drop the key"
    ]


def test_a_round_trip_that_is_an_estimate_is_said_to_be_one_and_a_measured_one_is_not() -> None:
    estimated = (
        "warning",
        "otherCloud: the round trip is counted with 3 ms (estimated from distance, 1.5 to 3 ms; not measured); measure "
        "it and give `rttMs`, on both sides and to the link.",
    )
    measured = {"subnet_cidrs": ["10.2.16.0/20"], "bandwidth_mbps": 10_000, "rtt_ms": 1.4}
    assert estimated in record_cluster(AWS).messages
    assert estimated in record_azure_cluster(AZURE).messages
    told = record_cluster({**AWS, "other_cloud": measured}).messages
    assert [text for _, text in told if "otherCloud" in text] == []
