"""A fabric's bill: nodes, disks, NAT, link and what crosses it; what has no price is named and never counted as 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.planning.price.line_item import LineItem
from gpu_fabric.planning.price.link import LinkParts, link_items, spec_parts
from gpu_fabric.planning.price.table import HOURS_PER_MONTH, PURCHASE_WORDS, PriceTable, Unknown
from gpu_fabric.planning.spec import Cluster, FabricSpec
from gpu_fabric.planning.step import StepEstimate

GB = 1e9


GP3_IOPS = 3000
GP3_THROUGHPUT = 125
"""What a gp3 volume has without extra charge (EBS User Guide)."""


@dataclass(frozen=True)
class Bill:
    """US dollars without tax and discounts. Sums are of what is known: `unknowns` says what is missing in them."""

    items: tuple[LineItem, ...]
    step_seconds: float | None
    tokens: int | None

    @property
    def unknowns(self) -> tuple[LineItem, ...]:
        return tuple(item for item in self.items if isinstance(item.price, Unknown))

    @property
    def complete(self) -> bool:
        return not self.unknowns

    @property
    def unpriced_nodes(self) -> tuple[LineItem, ...]:
        """Nodes without a known price: a sum without them says nothing."""
        return tuple(item for item in self.unknowns if item.price.item == "node")

    @property
    def per_hour(self) -> float:
        """Everything billed by time, with the nodes running."""
        return sum(item.per_hour or 0.0 for item in self.items)

    @property
    def idle_per_hour(self) -> float:
        """What goes on being billed with the nodes off: ports, circuits, gateways, disks."""
        return sum(item.per_hour or 0.0 for item in self.items if item.standing)

    @property
    def idle_is_known(self) -> bool:
        """Whether `idle_per_hour` says anything: some of it has a price, or nothing of it lacks one."""
        standing = [item for item in self.items if item.standing]
        return any(item.per_hour is not None for item in standing) or not standing

    @property
    def volume_per_step(self) -> float:
        return sum(item.by_quantity or 0.0 for item in self.items)

    @property
    def per_step(self) -> float | None:
        """Time and volume of one step; None without an estimate of the step."""
        if self.step_seconds is None:
            return None
        return self.per_hour * self.step_seconds / 3600 + self.volume_per_step

    @property
    def training_per_hour(self) -> float:
        """An hour of training: time, and the volume of the steps in it."""
        volume = self.volume_per_step * 3600 / self.step_seconds if self.step_seconds else 0.0
        return self.per_hour + volume

    def per_month(self, idle_hours: float = 0.0) -> float:
        """730 hours, of which `idle_hours` with nodes that run but do not train: they cost the same, without egress."""
        volume = self.training_per_hour - self.per_hour
        return self.per_hour * HOURS_PER_MONTH + volume * (HOURS_PER_MONTH - idle_hours)

    @property
    def per_billion_tokens(self) -> float | None:
        """What 10^9 tokens cost at the estimated step time."""
        if self.per_step is None or not self.tokens:
            return None
        return self.per_step * 1e9 / self.tokens


def _node_items(cluster: Cluster, table: PriceTable) -> Iterator[LineItem]:
    kind = "onDemand" if cluster.capacity == "reservation" else cluster.capacity
    price = table.find("node", cluster.size.name, cluster.region, kind)
    words = PURCHASE_WORDS.get(cluster.capacity, cluster.capacity)
    yield LineItem(f"{cluster.size.name}, {words}", cluster.nodes, price, standing=False)


def _disk_items(cluster: Cluster, table: PriceTable) -> Iterator[LineItem]:
    disk, nodes, region = cluster.root_volume, cluster.nodes, cluster.region
    if disk is None:
        reason = "no published price of the operating system disk in the table"
        yield LineItem("operating system disks", nodes, Unknown("os-disk", "azure", reason), standing=True)
        return
    price = table.find("disk", "gp3", region)
    yield LineItem("root disks (gp3)", nodes * disk.size_gib, price, standing=True)
    extra = {
        f"IOPS above {GP3_IOPS}": ("disk-iops", disk.iops - GP3_IOPS),
        f"MB/s above {GP3_THROUGHPUT}": ("disk-throughput", disk.throughput_mibps - GP3_THROUGHPUT),
    }
    for what, (item, above) in extra.items():
        if above > 0:
            yield LineItem(what, nodes * above, table.find(item, "gp3", region), standing=True)


def _network_items(cluster: Cluster, table: PriceTable) -> Iterator[LineItem]:
    """What the cluster's own network is billed for; an adopted one is on somebody else's bill."""
    cloud, region, network = cluster.cloud.value, cluster.region, cluster.network
    if network.has_nat:
        price = table.find("nat-gateway", cloud, region)
        yield LineItem(f"NAT gateway ({cloud})", 1, price, standing=True)
        address = table.find("public-ip", cloud, region)
        if cluster.cloud is Cloud.AZURE:
            yield LineItem("public IP of the NAT gateway", 1, address, standing=True)
        reason = "depends on what the nodes download; 0.045 USD per GB where known"
        volume = Unknown("nat-volume", cloud, reason)
        yield LineItem(f"data through NAT ({cloud})", 0, volume, standing=False)
    if network.has_endpoints:
        price = table.find("interface-endpoint", cloud, region)
        yield LineItem("VPC interface endpoints", INTERFACE_ENDPOINTS, price, standing=True)
    if network.has_bastion:
        yield LineItem("Azure Bastion", 1, table.find("bastion", cloud, region), standing=True)


INTERFACE_ENDPOINTS = 4
"""Of a network without internet; each is billed by the hour and by what it carries."""


def bill_of(
    spec: FabricSpec, table: PriceTable, step: StepEstimate | None = None, *, link: LinkParts | None = None
) -> Bill:
    """The bill of a fabric; with a step estimate also per step and per token.

    `link`: what the link is made of, by the program's own rules; by default as the planner alone reads the stack file.
    """
    items: list[LineItem] = []
    for cluster in spec.clusters:
        items.extend(_node_items(cluster, table))
        items.extend(_disk_items(cluster, table))
        items.extend(_network_items(cluster, table))
    parts = link or spec_parts(spec)
    if parts is not None:
        items.extend(link_items(parts, table, None if step is None else step.link_bytes / GB))
    return Bill(tuple(items), step.seconds if step else None, step.tokens if step else None)
