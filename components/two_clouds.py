"""What must hold between the two clouds of a fabric. No SDK is loaded."""

from __future__ import annotations

from gpu_fabric.components.aws.checks import own_blocks as aws_blocks
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.addresses import DEFAULT_NETWORK
from gpu_fabric.components.azure.checks import own_blocks as azure_blocks
from gpu_fabric.components.azure.limits import RDMA_NETWORK
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.problems import Path, Problem
from gpu_fabric.components.surroundings import Surroundings


def check(
    aws: AwsClusterSettings, around_aws: Surroundings, azure: AzureClusterSettings, path: Path
) -> list[Problem]:
    """Problems of the address blocks: both sides' nodes must be able to reach each other by address."""
    problems: list[Problem] = []
    aws_side, azure_side = aws_blocks(aws, around_aws), azure_blocks(azure)
    azure_key = (*path, "azure", "network", "subnetCidr" if azure.network.adopted else "cidr")
    aws_key = (*path, "aws", "network", "subnetCidr" if aws.network.adopted else "cidr")
    for theirs in aws_side:
        problems += [
            Problem(
                azure_key,
                f"{ours} overlaps the AWS side's {theirs}",
                f"give both clouds blocks of their own, such as 10.100.0.0/16 on AWS and {DEFAULT_NETWORK} on Azure",
            )
            for ours in azure_side
            if ours.overlaps(theirs)
        ]
        if theirs.overlaps(RDMA_NETWORK):
            problems.append(
                Problem(
                    aws_key,
                    f"{theirs} overlaps {RDMA_NETWORK}, which the RDMA network owns on every Azure node: none could "
                    "reach this side",
                    "give another block, such as 10.100.0.0/16",
                )
            )
    return problems
