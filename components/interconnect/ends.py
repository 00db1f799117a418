"""The two networks that the link joins: what is known of them before a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from gpu_fabric.components.aws.checks import address_plan as aws_plan
from gpu_fabric.components.aws.regions import region_of
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.checks import address_plan as azure_plan
from gpu_fabric.components.azure.checks import location_of
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.interconnect.limits import GATEWAY_PREFIX
from gpu_fabric.components.interconnect.settings import CrossCloudSettings
from gpu_fabric.components.subnets import as_block
from gpu_fabric.components.surroundings import Surroundings


@dataclass(frozen=True)
class KnownEnd:
    """One side. A block that only the cloud knows is None."""

    region: str | None
    network: IPv4Network | None
    """The whole VPC or virtual network; where that is not known (`whole`), its nodes' subnet."""
    nodes: IPv4Network | None
    """The nodes' subnet."""
    adopted: bool = False
    whole: bool = True
    """Whether `network` is all of it."""
    taken: tuple[IPv4Network, ...] = ()
    """Other subnets of ours in it."""

    def free_for_gateway(self) -> IPv4Network | None:
        """The first block of a new network that is free for Azure's GatewaySubnet."""
        if (
            self.network is None
            or self.nodes is None
            or self.adopted
            or self.network.prefixlen > GATEWAY_PREFIX
        ):
            return None
        used = (self.nodes, *self.taken)
        blocks = self.network.subnets(new_prefix=GATEWAY_PREFIX)
        return next((block for block in blocks if not any(block.overlaps(one) for one in used)), None)


@dataclass(frozen=True)
class KnownEnds:
    aws: KnownEnd
    azure: KnownEnd


def ends_of(settings: CrossCloudSettings) -> KnownEnds:
    """What a program says of its own networks."""
    aws, azure = settings.aws, settings.azure
    return KnownEnds(
        KnownEnd(aws.region or None, as_block(aws.vpc_cidr), as_block(aws.subnet_cidr), adopted=True),
        KnownEnd(
            azure.location or None, as_block(azure.network_cidr), as_block(azure.subnet_cidr), adopted=True
        ),
    )


def known_aws_end(settings: AwsClusterSettings, around: Surroundings) -> KnownEnd:
    region = region_of(settings.zone) or around.region
    if settings.network.adopted:
        block = as_block(settings.network.subnet_cidr)
        return KnownEnd(region, block, block, adopted=True, whole=False)
    plan, _ = aws_plan(settings, around)
    if plan is None:
        return KnownEnd(region, None, None)
    return KnownEnd(region, plan.vpc, plan.private, taken=() if plan.public is None else (plan.public,))


def known_azure_end(settings: AzureClusterSettings, around: Surroundings) -> KnownEnd:
    region = location_of(settings, around)
    if settings.network.adopted:
        block = as_block(settings.network.subnet_cidr)
        return KnownEnd(region, block, block, adopted=True, whole=False)
    plan, _ = azure_plan(settings)
    if plan is None:
        return KnownEnd(region, None, None)
    return KnownEnd(region, plan.network, plan.private, taken=() if plan.bastion is None else (plan.bastion,))
