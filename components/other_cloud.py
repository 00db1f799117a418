"""The link to the other cloud's nodes, as a cluster is told of it where no `fabric.interconnect` says it.

A program that joins clusters by `CrossCloudInterconnect`, or a stack of one cloud alone, gives every cluster the other
side's blocks and the link's numbers: a node's routes and NCCL settings follow them. The rules for both clouds are here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field

from gpu_fabric.components.aws.regions import region_of
from gpu_fabric.components.azure.limits import RDMA_NETWORK, UNUSABLE_BLOCKS
from gpu_fabric.components.azure.regions import is_location, location_name
from gpu_fabric.components.problems import Path, Problem
from gpu_fabric.components.settings import Number, Settings, Switch, Text, WholeNumber
from gpu_fabric.components.subnets import read_block
from gpu_fabric.components.surroundings import OtherCloud, Surroundings
from gpu_fabric.nccl.bootstrap import CrossCloudRoutes
from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.planning.regions import RegionPair, region_pair

WHERE = ("other_cloud",)
#: Of a subnet on either cloud.
_PREFIXES = range(8, 30)
_EXAMPLES = {Cloud.AWS: ("10.200.16.0/20", "eastus"), Cloud.AZURE: ("10.100.16.0/20", "us-east-1")}
"""Block and region of the other side, by the cluster's own cloud."""


class OtherCloudLink(Settings):
    subnet_cidrs: tuple[Text, ...] = Field(
        description="the blocks of the other cloud's nodes, where a link that this stack does not make leads to them",
        examples=[("192.0.2.0/24",)],
    )
    bandwidth_mbps: Annotated[
        WholeNumber, Field(gt=0, description="10^6 bit/s of that link, such as 10000", examples=[10_000])
    ]
    rtt_ms: Annotated[Number, Field(gt=0)] | None = None
    """Measured round-trip time over that link. Without it: the estimate for both regions."""
    region: Text | None = None
    """The other cloud's region, for the estimate of the round trip."""
    route_isolation: Switch = False
    """That link's own `routeIsolation`. On Azure a new security group then leaves stage traffic no other private way;
    on AWS the link makes what does."""


def _pair(cloud: Cloud, own: str | None, other: str | None) -> RegionPair | None:
    if other is None:
        return None
    return region_pair(own, location_name(other)) if cloud is Cloud.AWS else region_pair(other, own)


def _blocks(given: OtherCloudLink, found: list[Problem], example: str) -> dict[Path, IPv4Network]:
    """Where each block stands → the block; what is none goes to `found`."""
    blocks: dict[Path, IPv4Network] = {}
    for number, text in enumerate(given.subnet_cidrs):
        where = (*WHERE, "subnet_cidrs", number)
        block = read_block(where, text, _PREFIXES, "a subnet", found, example)
        if block is not None:
            blocks[where] = block
    return blocks


def problems(
    given: OtherCloudLink | None,
    around: Surroundings,
    *,
    cloud: Cloud,
    region: str | None,
    own: Sequence[IPv4Network],
) -> Iterator[Problem]:
    """What is wrong with what a cluster of `cloud` in `region` is told. `own` are its blocks, as far as known."""
    if given is None:
        return
    if around.other_cloud is not None:
        yield Problem(WHERE, "the link of `fabric.interconnect` says all of it", "drop the key")
        return
    example, _ = _EXAMPLES[cloud]
    if not given.subnet_cidrs:
        yield Problem(
            (*WHERE, "subnet_cidrs"), "is empty", f"give the other side's blocks, such as {example}"
        )
    found: list[Problem] = []
    blocks = _blocks(given, found, example)
    yield from found
    for where, block in blocks.items():
        yield from _overlaps(where, block, own, example)
    yield from _round_trip(given, cloud, region)


def _overlaps(where: Path, block: IPv4Network, own: Sequence[IPv4Network], example: str) -> Iterator[Problem]:
    taken = {RDMA_NETWORK: "the RDMA network, which owns it on every Azure node", **UNUSABLE_BLOCKS}
    for mine in own:
        taken[mine] = "this side"
    for other, whose in taken.items():
        if block.overlaps(other):
            yield Problem(
                where, f"{block} overlaps {other} of {whose}", f"give the other side's, such as {example}"
            )


def _round_trip(given: OtherCloudLink, cloud: Cloud, own: str | None) -> Iterator[Problem]:
    other, (_, example) = given.region, _EXAMPLES[cloud]
    if other is not None:
        name = location_name(other)
        right = is_location(name) if cloud is Cloud.AWS else region_of(f"{other}a") == other
        if not right:
            whose = "Azure" if cloud is Cloud.AWS else "AWS"
            yield Problem(
                (*WHERE, "region"),
                f"{other!r} is not the name of a region of {whose}",
                f"give one such as {example}",
            )
            return
    if given.rtt_ms is not None:
        return
    where = (*WHERE, "rtt_ms")
    if other is None:
        yield Problem(
            where,
            "is missing, and how far a socket's buffers grow follows it",
            f"give the measured round trip, or the other side's `region`, such as {example}, for an estimate",
        )
    elif own is not None and _pair(cloud, own, other) is None:
        yield Problem(
            where,
            f"is missing: there is no estimate for {own} and {other}",
            "give the round trip that was measured, or that your partner states",
        )


def beside(
    given: OtherCloudLink | None, around: Surroundings, *, cloud: Cloud, region: str | None
) -> OtherCloud | None:
    """The link of the stack, or the one that the cluster is told of; None where there is none, or one with problems."""
    if given is None or around.other_cloud is not None:
        return around.other_cloud
    found: list[Problem] = []
    blocks = _blocks(given, found, "")
    pair = _pair(cloud, region, given.region)
    rtt = given.rtt_ms or (pair.rtt_ms if pair is not None else None)
    if found or not blocks or rtt is None:
        return None
    routes = CrossCloudRoutes(tuple(map(str, blocks.values())), given.bandwidth_mbps, rtt)
    return OtherCloud(routes, given.route_isolation)


def notes(given: OtherCloudLink | None, *, cloud: Cloud, region: str | None) -> Iterator[str]:
    """That the numbers of the link are an estimate, where they are."""
    pair = None if given is None or given.rtt_ms is not None else _pair(cloud, region, given.region)
    if pair is not None:
        yield (
            f"otherCloud: the round trip is counted with {pair.rtt_ms:g} ms ({pair.basis}); measure it and give "
            "`rttMs`, on both sides and to the link."
        )
