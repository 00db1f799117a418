"""The address plan: the on-link block, Azure's GatewaySubnet, and the two networks that are joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from gpu_fabric.components.aws import limits as aws_limits
from gpu_fabric.components.azure.limits import RDMA_NETWORK, SUBNET_PREFIXES, UNUSABLE_BLOCKS
from gpu_fabric.components.interconnect.addresses import DEFAULT_LINK, SMALLEST_LINK_BLOCK
from gpu_fabric.components.interconnect.derived import planned_links, vpc_block
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.limits import GATEWAY_PREFIX, UNUSABLE_ON_LINK
from gpu_fabric.components.interconnect.settings import AwsGateway, CrossCloudSettings, InterconnectSettings
from gpu_fabric.components.problems import Problem
from gpu_fabric.components.subnets import read_block


def on_link(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    found: list[Problem] = []
    where, text = ("addresses", "cidr"), settings.addresses.cidr
    sizes = range(8, SMALLEST_LINK_BLOCK + 1)
    block = read_block(where, text, sizes, "the link", found, str(DEFAULT_LINK))
    yield from found
    if text is None:
        block = DEFAULT_LINK
    if block is not None:
        others = {
            "the AWS side's": vpc_block(settings, ends),
            "the Azure side's": ends.azure.network,
            "the RDMA network's": RDMA_NETWORK,
        } | {f"{purpose}'s": one for one, purpose in (UNUSABLE_BLOCKS | UNUSABLE_ON_LINK).items()}
        for whose, other in others.items():
            if other is not None and block.overlaps(other):
                yield Problem(
                    where,
                    f"the on-link block {block} overlaps {whose} {other}",
                    f"give a free private block of /{SMALLEST_LINK_BLOCK} or larger, such as {_free(others.values())}",
                )


#: Offered in place of an on-link block that is taken.
_OFFERED = (DEFAULT_LINK, IPv4Network("10.255.255.240/28"), IPv4Network("172.31.255.240/28"))


def _free(taken: Iterable[IPv4Network | None]) -> IPv4Network:
    known = [one for one in taken if one is not None]
    return next((one for one in _OFFERED if not any(one.overlaps(other) for other in known)), DEFAULT_LINK)


def gateway_subnet(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    where, text, azure = (
        ("addresses", "gateway_subnet_cidr"),
        settings.addresses.gateway_subnet_cidr,
        ends.azure,
    )
    if text is None:
        if azure.adopted:
            yield Problem(
                where,
                "is missing, and the free blocks of an adopted virtual network are not known",
                f"give a free /{GATEWAY_PREFIX} of it",
            )
        elif azure.network is not None and azure.free_for_gateway() is None:
            yield Problem(
                where,
                f"{azure.network} has no /{GATEWAY_PREFIX} free for Azure's GatewaySubnet",
                "give `azure.network` a larger `cidr` or a smaller `subnetCidr`",
            )
        return
    found: list[Problem] = []
    block = read_block(where, text, range(8, GATEWAY_PREFIX + 1), "GatewaySubnet", found, "10.200.0.0/27")
    yield from found
    if block is None:
        return
    if azure.network is not None and azure.whole and not block.subnet_of(azure.network):
        yield Problem(
            where, f"{block} is not inside the virtual network {azure.network}", "give a part of it"
        )
    for used in filter(None, (azure.nodes, *azure.taken)):
        if block.overlaps(used):
            yield Problem(where, f"{block} overlaps the subnet {used}", "give a free part of the network")
    if azure.network is not None and azure.whole:
        return
    # A subnet lies in its network, which then overlaps too.
    links = planned_links(settings)
    others = [("the AWS side's", vpc_block(settings, ends)), ("the RDMA network's", RDMA_NETWORK)]
    if links is not None:
        others += [("the link's", link.block) for link in (*links.azure, *links.aws)]
    for whose, other in others:
        if other is not None and block.overlaps(other):
            yield Problem(
                where,
                f"{block} overlaps {whose} {other}, so the virtual network that holds it does",
                "join networks whose blocks are apart",
            )
            break


def networks(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    if ends.aws.adopted and not settings.aws_route_table_ids:
        yield Problem(
            ("aws_route_table_ids",),
            "is missing, and the route tables of an adopted VPC are not known",
            "give the ids of the tables that are to learn the way to Azure",
        )
    if not ends.aws.adopted and settings.aws_route_table_ids:
        yield Problem(
            ("aws_route_table_ids",), "a new VPC's route table is ours and needs no naming", "drop the key"
        )
    if isinstance(settings, CrossCloudSettings):
        yield from _of_a_program(settings)
        return
    unknown = [
        cloud
        for cloud, end in (("aws", ends.aws), ("azure", ends.azure))
        if end.adopted and end.nodes is None
    ]
    if unknown:
        yield Problem(
            (),
            f"the block of the adopted subnet on {' and '.join(unknown)} is not known, and the hosts' routes need it",
            "give " + " and ".join(f"`{cloud}.network.subnetCidr`" for cloud in unknown),
        )


def _of_a_program(settings: CrossCloudSettings) -> Iterator[Problem]:
    """Both networks of a program: blocks, each subnet in its network, and the networks apart."""
    found: list[Problem] = []
    aws, azure = settings.aws, settings.azure
    vpc_cidr = read_block(
        ("aws", "vpc_cidr"), aws.vpc_cidr, aws_limits.SUBNET_PREFIXES, "a VPC", found, "10.100.0.0/16"
    )
    network = read_block(
        ("azure", "network_cidr"), azure.network_cidr, SUBNET_PREFIXES, "Azure", found, "10.200.0.0/16"
    )
    for cloud, text, whole, name, sizes, example in (
        ("aws", aws.subnet_cidr, vpc_cidr, "VPC", aws_limits.SUBNET_PREFIXES, "10.100.16.0/20"),
        ("azure", azure.subnet_cidr, network, "virtual network", SUBNET_PREFIXES, "10.200.16.0/20"),
    ):
        where = (cloud, "subnet_cidr")
        nodes = read_block(where, text, sizes, "a subnet", found, example)
        if nodes is not None and whole is not None and not nodes.subnet_of(whole):
            found.append(Problem(where, f"{nodes} is not inside the {name} {whole}", "give a part of it"))
    if vpc_cidr is not None and network is not None and vpc_cidr.overlaps(network):
        found.append(
            Problem(
                ("azure", "network_cidr"),
                f"{network} overlaps the AWS side's {vpc_cidr}",
                "join networks whose blocks are apart",
            )
        )
    unusable = {RDMA_NETWORK: "the RDMA network, which owns it on every Azure node", **UNUSABLE_BLOCKS}
    for where, block in ((("aws", "vpc_cidr"), vpc_cidr), (("azure", "network_cidr"), network)):
        for other, purpose in unusable.items():
            if block is not None and block.overlaps(other):
                found.append(Problem(where, f"{block} overlaps {other} of {purpose}", "join another network"))
    yield from found


def vpc(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    where, text = ("aws_vpc_cidr",), settings.aws_vpc_cidr
    if ends.aws.whole:
        if text is not None:
            yield Problem(where, "the VPC's block is known", "drop the key")
        return
    if text is None:
        if settings.aws_gateway is AwsGateway.VIRTUAL_PRIVATE:
            yield Problem(
                where,
                "is missing: a virtual private gateway announces its VPC's whole block, and nothing at all where a "
                "narrower one is allowed",
                "give the block of the adopted VPC, or set `awsGateway: transit`",
            )
        elif settings.route_isolation:
            yield Problem(
                where,
                "is missing: `routeIsolation` would cut the nodes off from the rest of the adopted VPC",
                "give its block",
            )
        return
    found: list[Problem] = []
    block = read_block(where, text, aws_limits.SUBNET_PREFIXES, "a VPC", found, "10.100.0.0/16")
    yield from found
    if block is None:
        return
    if ends.aws.nodes is not None and not ends.aws.nodes.subnet_of(block):
        yield Problem(where, f"the nodes' subnet {ends.aws.nodes} is not in {block}", "give the VPC's block")
    for whose, other in {"the Azure side's": ends.azure.network, "the RDMA network's": RDMA_NETWORK}.items():
        if other is not None and block.overlaps(other):
            yield Problem(
                where,
                f"{block} overlaps {whose} {other}",
                "join networks whose blocks are apart, or set `awsGateway: transit`, which announces the nodes' subnet "
                "alone",
            )
