"""The shape of a catalog row. A size that the catalog lacks is described with the same fields in the stack file.

Units stand in the field names: `_gbps` is 10^9 bit/s a direction, `_gib` is 2^30 bytes, `_gb` is 10^9 bytes.
`None` means "no source states it"; it never means zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

#: Read by pydantic where a row is checked (see `catalog`): a key that no field has is an error.
_CLOSED: Mapping[str, str] = {"extra": "forbid"}


class Cloud(StrEnum):
    AWS = "aws"
    AZURE = "azure"


class Fabric(StrEnum):
    """The network that carries GPU traffic between nodes of this size."""

    EFA = "efa"
    INFINIBAND = "infiniband"
    SOCKETS = "sockets"


class InterfaceType(StrEnum):
    """EC2's `InterfaceType`: `interface` is ENA alone, `efa` is ENA and EFA, `efa-only` has no IP address."""

    INTERFACE = "interface"
    EFA = "efa"
    EFA_ONLY = "efa-only"


@dataclass(frozen=True)
class Gpu:
    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    model: str
    """Marketing name in NVML's spelling family: A100, H100, H200, B200, …"""
    count: int
    memory_gb: float
    """Memory of one GPU as its vendor names it."""
    compute_capability: int
    """NCCL's `sm`: 80, 90, 100."""
    gpudirect_rdma: bool | None = None
    """Whether the fabric's NICs reach GPU memory without a copy through host memory."""


@dataclass(frozen=True)
class Interface:
    """One network interface of a launch template."""

    network_card: int
    device: int
    type: InterfaceType

    @property
    def has_efa(self) -> bool:
        return self.type is not InterfaceType.INTERFACE

    @property
    def has_address(self) -> bool:
        """Whether the interface takes an IP address of the subnet."""
        return self.type is not InterfaceType.EFA_ONLY


class InterfaceLayout(StrEnum):
    """How the interfaces of a node are laid out over its network cards."""

    ONE_ADDRESS = "oneAddress"
    """AWS's current layout: one ENA interface with an address, EFA-only everywhere else."""
    MAXIMUM_IP_BANDWIDTH = "maximumIpBandwidth"
    """The same, plus ENA interfaces for as much IP bandwidth as the size has."""
    ALL_EFA = "allEfa"
    """The older layout: every EFA interface also has an address."""


@dataclass(frozen=True)
class PciSwitch:
    """A PCI switch with what hangs below it; all in NCCL's spelling, 12 lower-case characters `dddd:bb:dd.f`."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    busid: str
    gpus: tuple[str, ...] = ()
    """Bus ids of the GPUs."""
    nics: tuple[str, ...] = ()
    """Bus ids of the fabric's NICs."""
    switches: tuple[PciSwitch, ...] = ()
    """Switches below this one."""

    @property
    def invented(self) -> bool:
        """Whether the switch stands in the file only: the vendors' files use `ffff:ff:0N.0` for those."""
        return self.busid.startswith("ffff:")


@dataclass(frozen=True)
class NumaNode:
    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    numa: int
    affinity: str | None = None
    """Comma-separated 32-bit hexadecimal words, most significant first; None: NCCL reads it from the host."""
    switches: tuple[PciSwitch, ...] = ()
    gpus: tuple[str, ...] = ()
    """Bus ids of GPUs at a root port of the CPU, below no switch."""
    nics: tuple[str, ...] = ()
    """Bus ids of NICs at a root port of the CPU, below no switch."""


@dataclass(frozen=True)
class CpuModel:
    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    arch: str
    """NCCL's spelling: `x86_64` or `arm64`."""
    vendor: str | None = None
    """As CPUID gives it, such as `GenuineIntel`; None on arm64."""
    family: int | None = None
    model: int | None = None


@dataclass(frozen=True)
class PciUplink:
    """A device's link to the one above it."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    speed: str
    width: int


@dataclass(frozen=True)
class PciPlace:
    """Where a layout has one device."""

    busid: str
    kind: str
    """`switch`, `gpu` or `nic`."""
    numa: int
    switches: tuple[str, ...]
    """Bus ids of the switches above it, from the CPU down."""


@dataclass(frozen=True)
class PciIds:
    """PCI identification of a device, hexadecimal with `0x`."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    vendor: str
    device: str
    subsystem_vendor: str | None = None
    subsystem_device: str | None = None


@dataclass(frozen=True)
class PciLayout:
    """Where GPUs and fabric NICs sit; present only where the vendor publishes it."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    cpu: CpuModel
    numa_nodes: tuple[NumaNode, ...]
    link_speed: str
    """In a spelling that NCCL knows, such as `32 GT/s` or `32.0 GT/s PCIe`."""
    link_width: int
    switch_class: str
    gpu_class: str
    nic_class: str
    source: str
    date: str
    switch_ids: PciIds | None = None
    gpu_ids: PciIds | None = None
    nic_ids: PciIds | None = None
    links: Mapping[str, PciUplink] = field(default_factory=dict, hash=False)
    """Bus id → link, for the devices whose link is not `link_speed` and `link_width`."""
    assumed: tuple[str, ...] = ()
    """What no source states, in words a user can read."""

    def places(self) -> Iterator[PciPlace]:
        """Every switch, GPU and NIC with its place, a switch before what hangs below it."""
        for node in self.numa_nodes:
            stack: list[tuple[tuple[str, ...], NumaNode | PciSwitch]] = [((), node)]
            while stack:
                above, holder = stack.pop()
                if isinstance(holder, PciSwitch):
                    yield PciPlace(holder.busid, "switch", node.numa, above)
                    above = (*above, holder.busid)
                yield from (PciPlace(busid, "gpu", node.numa, above) for busid in holder.gpus)
                yield from (PciPlace(busid, "nic", node.numa, above) for busid in holder.nics)
                stack.extend((above, switch) for switch in reversed(holder.switches))


@dataclass(frozen=True, kw_only=True)
class NodeSize:
    """One instance type or VM size."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = _CLOSED

    name: str
    cloud: Cloud
    vcpus: int
    cpu_vendor: str | None = None
    numa_nodes: int | None = None
    memory_gib: float
    gpu: Gpu
    """`model`, `count`, `memory_gb` of one, `compute_capability` as NCCL's `sm` (90), `gpudirect_rdma`."""
    local_nvme_gb: float | None = None
    fabric: Fabric
    """`efa`, `infiniband` or `sockets`."""
    fabric_ports: int
    """EFA interfaces (EC2 `MaximumEfaInterfaces`) or InfiniBand ports."""
    fabric_port_gbps: float
    """Line rate of one, Gb/s a direction."""
    source: str
    """Where the row comes from; in a stack file it may be left out."""
    date: str
    """When it was read there; in a stack file it may be left out."""
    cpu_arch: str = "x86_64"
    """NCCL's spelling: `x86_64` or `arm64`."""
    network_cards: int | None = None
    """EC2 `MaximumNetworkCards`; None on Azure. Not the number of EFA interfaces: p6-b300 has 17 and 16."""
    interfaces_per_card: int | None = None
    """ENIs that one network card takes: device indexes are below it."""
    efa_cards: tuple[int, ...] | None = None
    """Network cards that accept an EFA interface."""
    efa_generation: str | None = None
    rdma: str | None = None
    """What EFA's RDMA does on this size: `read`, or `read and write`."""
    ip_gbps: float | None = None
    """The most IP traffic the size carries over all its interfaces."""
    primary_ip_gbps: float | None = None
    """The most IP traffic over network card 0 alone, which is all that the `oneAddress` layout has."""
    ip_cards: tuple[int, ...] = ()
    """Cards that take one more ENA interface at device 1 in the `maximumIpBandwidth` layout."""
    layout_source: str | None = None
    """Where the interface layouts of this row come from."""
    usage_classes: tuple[str, ...] = ()
    """EC2's `SupportedUsageClasses`: how the size can be bought; empty on Azure."""
    ethernet_gbps: float | None = None
    """Azure: documented cap of the Ethernet NICs."""
    ethernet_interfaces: int | None = None
    """Azure: most Ethernet NICs; InfiniBand adapters do not count."""
    ethernet_link_gbps: float | None = None
    """Azure: rate that the accelerated-networking link reports."""
    single_placement_group: bool | None = None
    """Azure: value of `singlePlacementGroup` that gives the nodes a common InfiniBand network."""
    scale_set_nodes: int | None = None
    """Azure: most nodes of one such scale set without a request to support."""
    scale_set_nodes_by_request: int | None = None
    local_temporary_gib: float | None = None
    """Azure: the temporary disk."""
    topology_active: bool = False
    """Whether our topology XML is active by default (else it is installed, and used by choice)."""
    topology_note: str = ""
    """Why."""
    pci: PciLayout | None = None
    """Where GPUs and NICs sit; `gpu-fabric topology --from-host --row` writes it on a node."""
    supported: bool = True
    """Whether this release lays out clusters of this size."""
    unsupported_reason: str = ""
    notes: tuple[str, ...] = ()
    """What a buyer or operator of this size should know."""
    field_sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Field → source, for the fields that do not come from `source`."""
    unverified: tuple[str, ...] = ()
    """Statements of this row that no source confirms; shown where a user meets them."""

    @property
    def fabric_gbps(self) -> float:
        """Line rate of the fabric of one node, Gb/s a direction."""
        return self.fabric_ports * self.fabric_port_gbps
