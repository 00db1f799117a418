"""What must hold between the two clouds of one fabric."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.problems import InvalidInputError

AWS: dict[str, Any] = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}
AZURE: dict[str, Any] = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4, "location": "eastus"}
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"


def problems(aws: dict[str, Any] | None = None, azure: dict[str, Any] | None = None) -> list[str]:
    """What is wrong with two clusters whose networks are these."""
    given = {"aws": {**AWS, "network": aws or {}}, "azure": {**AZURE, "network": azure or {}}}
    try:
        read_fabric(given, aws_region="us-east-1")
    except InvalidInputError as refused:
        return [str(problem) for problem in refused.problems]
    return []


def test_the_defaults_of_both_clouds_go_together() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("aws", "azure", "message"),
    [
        (
            {},
            {"cidr": "10.100.128.0/17"},
            "fabric.azure.network.cidr: 10.100.128.0/17 overlaps the AWS side's 10.100.0.0/16; give both clouds blocks "
            "of their own, such as 10.100.0.0/16 on AWS and 10.200.0.0/16 on Azure",
        ),
        (
            {"cidr": "10.200.0.0/20"},
            {},
            "fabric.azure.network.cidr: 10.200.0.0/16 overlaps the AWS side's 10.200.0.0/20; give both clouds blocks "
            "of their own, such as 10.100.0.0/16 on AWS and 10.200.0.0/16 on Azure",
        ),
        (
            {"vpcId": "vpc-1", "subnetId": "subnet-1", "subnetCidr": "10.9.1.0/24"},
            {"subnetId": SUBNET, "subnetCidr": "10.9.0.0/23"},
            "fabric.azure.network.subnetCidr: 10.9.0.0/23 overlaps the AWS side's 10.9.1.0/24; give both clouds blocks "
            "of their own, such as 10.100.0.0/16 on AWS and 10.200.0.0/16 on Azure",
        ),
        (
            {"cidr": "172.16.0.0/16"},
            {},
            "fabric.aws.network.cidr: 172.16.0.0/16 overlaps 172.16.0.0/16, which the RDMA network owns on every Azure "
            "node: none could reach this side; give another block, such as 10.100.0.0/16",
        ),
    ],
)
def test_blocks_that_overlap_are_refused(aws: dict[str, Any], azure: dict[str, Any], message: str) -> None:
    assert problems(aws, azure) == [message]


@pytest.mark.parametrize(
    ("aws", "azure"),
    [
        ({"cidr": "10.0.0.0/16"}, {"cidr": "10.1.0.0/16"}),
        ({"cidr": "172.17.0.0/16"}, {}),
        # Unknown before deployment: nothing is claimed.
        ({"vpcId": "vpc-1", "subnetId": "subnet-1"}, {"cidr": "10.100.0.0/16"}),
    ],
)
def test_blocks_that_touch_or_are_unknown_are_taken(aws: dict[str, Any], azure: dict[str, Any]) -> None:
    assert problems(aws, azure) == []


def test_an_aws_cluster_alone_may_use_what_azures_rdma_network_owns() -> None:
    settings = read_fabric({"aws": {**AWS, "network": {"cidr": "172.16.0.0/16"}}})
    assert settings.aws is not None
    assert settings.azure is None


def test_problems_of_both_clouds_are_said_together() -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({"aws": {**AWS, "nodes": 0}, "azure": {**AZURE, "nodes": 101}, "azur": {}})
    assert [str(problem).partition(":")[0] for problem in refused.value.problems] == [
        "fabric.aws.nodes",
        "fabric.azur",
        "fabric.azure.nodes",
    ]


def test_a_fabric_without_a_cloud_says_what_it_may_have() -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_fabric({})
    assert [str(problem) for problem in refused.value.problems] == [
        "fabric: names neither `aws` nor `azure`; describe a cluster in one of them, or both"
    ]
