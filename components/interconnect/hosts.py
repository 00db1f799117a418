"""Whether the nodes at both ends of a program's link are set up for it: without routes of its packet size they hang.

A program makes the clusters first, so their nodes cannot learn of the link from it; they are told by `other_cloud`.
Here the clusters that the program has declared are held against the link. A stack file's link tells its clusters
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from gpu_fabric.components.declared import DeclaredCluster, declared_clusters
from gpu_fabric.components.interconnect.derived import estimate
from gpu_fabric.components.interconnect.ends import KnownEnds, ends_of
from gpu_fabric.components.interconnect.numbers import round_trip
from gpu_fabric.components.interconnect.settings import CrossCloudSettings, InterconnectSettings
from gpu_fabric.components.problems import Problem
from gpu_fabric.nccl.hardware import Cloud


@dataclass(frozen=True)
class _Side:
    """One end of the link as its program describes it."""

    cloud: Cloud
    key: str
    region: str | None
    network_id: Any
    nodes: IPv4Network | None
    other_nodes: IPv4Network | None
    other_region: str | None


def _sides(settings: CrossCloudSettings, ends: KnownEnds) -> tuple[_Side, _Side]:
    aws, azure = ends.aws, ends.azure
    return (
        _Side(Cloud.AWS, "aws", aws.region, settings.aws.subnet_id, aws.nodes, azure.nodes, azure.region),
        _Side(
            Cloud.AZURE,
            "azure",
            azure.region,
            settings.azure.virtual_network_id,
            azure.nodes,
            aws.nodes,
            aws.region,
        ),
    )


def _at(side: _Side) -> Iterator[tuple[DeclaredCluster, bool]]:
    """The program's clusters at this end, and whether it is sure: a block alone may be that of another network."""
    for cluster in declared_clusters(side.cloud):
        named = cluster.is_in(side.network_id)
        if named and side.cloud is Cloud.AWS:
            yield cluster, True
        elif cluster.nodes == side.nodes and cluster.region == side.region:
            yield cluster, named
        elif named and cluster.nodes is None:
            yield cluster, False


def _wanted(side: _Side, settings: CrossCloudSettings, ends: KnownEnds) -> dict[str, Any]:
    """The cluster's `other_cloud` that fits the link."""
    wanted: dict[str, Any] = {
        "subnet_cidrs": [str(side.other_nodes)],
        "bandwidth_mbps": settings.bandwidth_mbps,
    }
    if settings.rtt_ms is None and estimate(settings, ends) is not None:
        wanted["region"] = side.other_region
    else:
        wanted["rtt_ms"] = round_trip(settings, ends)[0]
    if settings.route_isolation:
        wanted["route_isolation"] = True
    return wanted


def _wrong(
    cluster: DeclaredCluster, side: _Side, settings: CrossCloudSettings, ends: KnownEnds
) -> str | None:
    """What the nodes of a cluster lack for the link; None where they are set up for it."""
    other = cluster.other_cloud
    if other is None:
        return (
            f"the nodes of {cluster.component} have no route of the link's packet size to {side.other_nodes}, so their "
            "first bulk transfer would hang"
        )
    differs = []
    reached = [IPv4Network(prefix) for prefix in other.routes.prefixes]
    if side.other_nodes is not None and not any(side.other_nodes.subnet_of(one) for one in reached):
        differs.append(f"leads to {', '.join(map(str, reached))} and not to {side.other_nodes}")
    if other.routes.bandwidth_mbps != settings.bandwidth_mbps:
        differs.append(
            f"is for {other.routes.bandwidth_mbps:g} Mb/s and the link has {settings.bandwidth_mbps}"
        )
    rtt = round_trip(settings, ends)[0]
    if other.routes.rtt_ms != rtt:
        differs.append(f"is for a round trip of {other.routes.rtt_ms:g} ms and the link counts with {rtt:g}")
    if side.cloud is Cloud.AZURE and cluster.own_group and other.isolated != settings.route_isolation:
        differs.append("and the link differ in `route_isolation`")
    return f"`other_cloud` of {cluster.component} {'; it '.join(differs)}" if differs else None


def _findings(settings: CrossCloudSettings, ends: KnownEnds, *, sure: bool) -> Iterator[Problem]:
    for side in _sides(settings, ends):
        if side.nodes is None or side.other_nodes is None:
            continue
        for cluster, known in _at(side):
            wrong = _wrong(cluster, side, settings, ends)
            if known is sure and wrong is not None:
                remedy = f"give the cluster `other_cloud={_wanted(side, settings, ends)}`"
                yield Problem((side.key,), wrong, remedy)


def hosts(settings: InterconnectSettings, ends: KnownEnds) -> Iterator[Problem]:
    """The clusters of a program that are at an end of the link for sure, and not set up for it."""
    if not isinstance(settings, CrossCloudSettings):
        return
    for side in _sides(settings, ends):
        for cluster, sure in _at(side):
            if sure and None not in (cluster.nodes, side.nodes) and cluster.nodes != side.nodes:
                yield Problem(
                    (side.key, "subnet_cidr"),
                    f"{side.nodes} is not the block of this subnet: {cluster.component} says {cluster.nodes}",
                    f"give {cluster.nodes}",
                )
    yield from _findings(settings, ends, sure=True)


def host_notes(settings: CrossCloudSettings) -> Iterator[str]:
    """What is worth knowing of the nodes at both ends, where it cannot be held against the link for sure."""
    ends = ends_of(settings)
    for problem in _findings(settings, ends, sure=False):
        yield f"routes: {problem.what}, if they are in this network: {problem.remedy}."
    for side in _sides(settings, ends):
        at = [cluster for cluster, _ in _at(side)]
        if not at:
            yield (
                f"routes: no cluster that this program declared before the link is in {side.nodes} on {side.key}. "
                f"Whoever starts its nodes gives their cluster `other_cloud={_wanted(side, settings, ends)}`, or their "
                "first bulk transfer hangs (docs/library.md)."
            )
        if side.cloud is Cloud.AWS and settings.aws.security_group_id is None:
            for cluster in at:
                if cluster.own_group:
                    yield (
                        f"network: the security group of {cluster.component} lets {side.other_nodes} in only where the "
                        "link is given it: `aws.security_group_id`, the first of the cluster's `security_group_ids`."
                    )
