"""What a private link between clouds carries: bandwidth, packets, flows, latency and loss.

ExpressRoute carries 1400-byte packets unfragmented (MicrosoftDocs azure-docs, expressroute-faqs). What limits a flow,
and how many the nodes open, is in `nccl.environment.flows`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_fabric.nccl.environment.flows import FLOW_LIMIT_GBPS, flows_of, mathis_gbps

TCP_IP_HEADER = 40
ETHERNET_OVERHEAD = 38
"""Header, checksum, preamble and gap of an Ethernet frame."""
DEFAULT_MTU = 1400


@dataclass(frozen=True)
class LinkModel:
    """A link and how it is used. Both directions have the whole bandwidth."""

    bandwidth_gbps: float
    rtt_ms: float
    loss: float = 0.0
    """Share of packets lost."""
    flows: int = 0
    """TCP flows at once: of one pair of ranks, or of all (`between`). Without it: what the nodes' settings open for a
    pair at this bandwidth."""
    mtu: int = DEFAULT_MTU
    basis: str = ""

    def __post_init__(self) -> None:
        if not self.flows:
            object.__setattr__(self, "flows", flows_of(self.bandwidth_gbps * 1000).total)

    def between(self, pairs: int) -> LinkModel:
        """The link as `pairs` pairs of ranks use it together, each with flows of its own."""
        return replace(self, flows=self.flows * pairs)

    @property
    def payload_share(self) -> float:
        """Payload of the bits on the wire."""
        return (self.mtu - TCP_IP_HEADER) / (self.mtu + ETHERNET_OVERHEAD)

    @property
    def flow_gbps(self) -> float:
        """What one flow carries at most."""
        if self.loss <= 0 or self.rtt_ms <= 0:
            return FLOW_LIMIT_GBPS
        return min(FLOW_LIMIT_GBPS, mathis_gbps(self.rtt_ms, self.loss, self.mtu - TCP_IP_HEADER))

    @property
    def goodput_gbps(self) -> float:
        """Payload that all flows together carry, 10^9 bit/s a direction."""
        return min(self.bandwidth_gbps * self.payload_share, self.flows * self.flow_gbps)

    @property
    def limited_by_flows(self) -> bool:
        """Whether the flows together carry less than the link."""
        return self.flows * self.flow_gbps < self.bandwidth_gbps * self.payload_share

    @property
    def limit(self) -> str:
        """What holds the goodput down, in words."""
        if self.limited_by_flows:
            return f"{self.flows} flows of {self.flow_gbps:.2f} Gb/s"
        return f"{self.bandwidth_gbps:g} Gb/s"

    @property
    def bandwidth_delay_mb(self) -> float:
        """Bytes in flight that fill the link, 10^6: what TCP buffers must hold over all flows."""
        return self.bandwidth_gbps * 1e9 / 8 * self.rtt_ms * 1e-3 / 1e6

    def transfer_seconds(self, size: float) -> float:
        """How long `size` bytes occupy the link, latency not included."""
        return size * 8 / (self.goodput_gbps * 1e9)
