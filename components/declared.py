"""The clusters that the running program has declared, for what joins their networks afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from pulumi.runtime import get_root_resource

from gpu_fabric.components.surroundings import OtherCloud
from gpu_fabric.nccl.hardware import Cloud

_KEPT = "_gpu_fabric_clusters"
"""On the stack's own resource, which lives as long as the program: one process may run several, one after another."""


@dataclass(frozen=True)
class DeclaredCluster:
    component: str
    """Type and name, such as AwsGpuCluster 'train'."""
    cloud: Cloud
    region: str | None
    nodes: IPv4Network | None
    """The nodes' subnet; None where only the cloud knows its block."""
    network_ids: tuple[Any, ...]
    """Ids of the nodes' subnet (AWS) or virtual network (Azure), as outputs and as text."""
    other_cloud: OtherCloud | None
    own_group: bool
    """Whether the nodes' security group is the cluster's own."""

    def is_in(self, network_id: Any) -> bool:
        """Whether the network that a program names so is this cluster's, as far as that is known at once."""
        return any(
            one is network_id
            or (isinstance(one, str) and isinstance(network_id, str) and one.lower() == network_id.lower())
            for one in self.network_ids
        )


def remember(cluster: DeclaredCluster) -> None:
    root = get_root_resource()
    if root is not None:
        vars(root).setdefault(_KEPT, []).append(cluster)


def declared_clusters(cloud: Cloud) -> Sequence[DeclaredCluster]:
    """Those that this program has declared until now, whatever component they are part of."""
    root = get_root_resource()
    return [one for one in vars(root).get(_KEPT, ()) if one.cloud is cloud] if root is not None else []
