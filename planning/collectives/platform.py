"""What the collectives model needs to know of a node, taken from the catalog or from a reference table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpu_fabric.nccl.hardware import Fabric, NodeSize, get_size
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.gpus import GpuModel, get_gpu
from gpu_fabric.planning.tables import read_toml


@dataclass(frozen=True)
class Platform:
    """One node and the transport that its collectives use between nodes."""

    name: str
    gpus: int
    gpu: GpuModel
    transport: str
    """A row of `collective_constants.toml`: efa-v1 … efa-v4, infiniband, sockets."""
    node_gbs: float
    """Line rate of that transport, 10^9 byte/s a node and direction."""
    ip_gbs: float
    """Line rate of ordinary IP traffic over the node's first interface, 10^9 byte/s a direction."""
    nics: int = 1
    """NICs that share `node_gbs`."""

    @property
    def efa(self) -> str | None:
        """The EFA generation, `v2` and so on; None elsewhere."""
        return self.transport.removeprefix("efa-") if self.transport.startswith("efa-") else None

    def over_sockets(self, ip_gbps: float | None = None, nics: int = 1) -> Platform:
        """The same node with its fast network off: NCCL over TCP on `nics` NICs of `ip_gbps` Gb/s in all."""
        rate = self.ip_gbs if ip_gbps is None else ip_gbps / 8
        return replace(self, transport="sockets", node_gbs=rate, nics=nics)


def transport_of(size: NodeSize) -> str:
    """The row of constants for a size of the catalog."""
    if size.fabric is Fabric.EFA:
        return f"efa-v{size.efa_generation}"
    return size.fabric.value


def platform_of(size: NodeSize | str) -> Platform:
    """The platform of a catalog size, by name or as a model (a custom size is described with the same fields)."""
    node = get_size(size) if isinstance(size, str) else size
    ip_gbps = node.primary_ip_gbps or node.ip_gbps or node.ethernet_gbps or 0.0
    transport = transport_of(node)
    line = node.fabric_gbps if node.fabric is not Fabric.SOCKETS else ip_gbps
    if line <= 0:
        way = node.unsupported_reason or "Use a size with a fabric."
        raise PlanningError(
            [
                f"{node.name}: no rate of its network is known, so nothing can be predicted. {way} Or describe the "
                "size under fabric.sizes with its `ethernetGbps`."
            ]
        )
    return Platform(
        name=node.name,
        gpus=node.gpu.count,
        gpu=get_gpu(node.gpu.model),
        transport=transport,
        node_gbs=line / 8,
        ip_gbs=ip_gbps / 8,
        nics=max(1, node.fabric_ports),
    )


@cache
def reference_platforms() -> Mapping[str, Platform]:
    """Clusters of published measurements that the catalog does not have."""
    return {
        name: Platform(
            name=name,
            gpus=row["gpus"],
            gpu=get_gpu(row["gpu"]),
            transport=row["transport"],
            node_gbs=row["node_gbps"] / 8,
            ip_gbs=row["node_gbps"] / 8,
        )
        for name, row in read_toml("reference_platforms.toml").items()
    }


def named_platform(name: str) -> Platform:
    """A reference platform or a size of the catalog, by name."""
    return reference_platforms().get(name) or platform_of(name)
