"""The fabric's own sections: picture, NICs and rails, MTU by hop, addresses, NCCL settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_fabric.nccl.environment import Environment
from gpu_fabric.nccl.hardware import Cloud, NodeSize
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.report import mermaid
from gpu_fabric.planning.report.document import Figure, Paragraph, Section, Table, table
from gpu_fabric.planning.report.svg import Box, clouds_picture
from gpu_fabric.planning.spec import Cluster, FabricSpec
from gpu_fabric.planning.tables import read_toml

CLOUD_NAMES = {Cloud.AWS: "AWS", Cloud.AZURE: "Azure"}
FABRIC_NAMES = {"efa": "EFA", "infiniband": "InfiniBand", "sockets": "TCP sockets"}
PARTNER_NAMES = {
    "equinix": "Equinix Fabric",
    "megaport": "Megaport",
    "manual": "own cross connect",
    "native": "native",
}


@dataclass(frozen=True)
class AddressRow:
    """One range of the address plan."""

    cloud: str
    network: str
    cidr: str
    use: str
    taken: str = ""
    """Addresses in use of those that there are, in words."""


def fabric_words(size: NodeSize) -> str:
    """`32 x 100 Gb/s EFA v2`."""
    generation = f" v{size.efa_generation}" if size.efa_generation else ""
    name = FABRIC_NAMES[size.fabric.value]
    if not size.fabric_ports:
        return name
    return f"{size.fabric_ports} x {size.fabric_port_gbps:g} Gb/s {name}{generation}"


def cluster_box(cluster: Cluster) -> Box:
    """What the picture says about a cluster."""
    size = cluster.size
    together = {
        Cloud.AWS: "capacity block" if cluster.capacity == "capacityBlock" else "cluster placement group",
        Cloud.AZURE: "one scale set, single placement group",
    }[cluster.cloud]
    return Box(
        f"{CLOUD_NAMES[cluster.cloud]} {cluster.region or ''}".strip(),
        (
            f"{cluster.nodes} x {size.name}",
            f"{cluster.gpus} x {size.gpu.model} {size.gpu.memory_gb:g} GB",
            f"{fabric_words(size)} = {size.fabric_gbps:g} Gb/s a node",
            together,
        ),
    )


def link_hops(spec: FabricSpec, link: LinkModel) -> tuple[str, ...]:
    """The hops of the link, in order from AWS; a line end where a name may be broken."""
    assert spec.interconnect is not None
    bandwidth = f"{link.bandwidth_gbps:g} Gb/s"
    if spec.interconnect.partner == "native":
        return (
            "Direct Connect\ngateway",
            f"AWS Interconnect\n{bandwidth}, {link.rtt_ms:g} ms RTT",
            "ExpressRoute\ngateway",
        )
    partner = PARTNER_NAMES[spec.interconnect.partner]
    return (
        f"Direct Connect\n{bandwidth}",
        f"{partner}\n{link.rtt_ms:g} ms RTT",
        f"ExpressRoute\n{bandwidth}",
    )


def picture_section(spec: FabricSpec, link: LinkModel | None) -> Section:
    """Both clouds and the link."""
    boxes = [cluster_box(cluster) for cluster in spec.clusters]
    first, second = boxes[0], boxes[1] if len(boxes) > 1 else None
    hops = link_hops(spec, link) if link is not None else ("no link",)
    words = "; ".join(f"{box.title}: {', '.join(box.lines)}" for box in boxes)
    if link is not None:
        words += f"; link: {', '.join(hop.replace(chr(10), ' ') for hop in hops)} ({link.basis})"
    figure = Figure(
        "fabric",
        words,
        mermaid.clouds(first, second, hops),
        clouds_picture(first, second, hops, title="The fabric"),
    )
    return Section("Picture", (figure,))


def rail_rows(size: NodeSize) -> Iterator[tuple[str, str, str, str, str]]:
    """(rail, GPU, NICs, Gb/s, basis) of every GPU of a node."""
    per_gpu = size.fabric_gbps / size.gpu.count
    if size.pci is None:
        share = size.fabric_ports / size.gpu.count
        words = f"{share:g} of {size.fabric_ports}" if size.fabric_ports else "none"
        for gpu in range(size.gpu.count):
            yield str(gpu), f"GPU {gpu}", words, f"{per_gpu:g}", "computed: no PCI layout is published"
        return
    gpu = 0
    for node in size.pci.numa_nodes:
        for switch in node.switches:
            gbps = len(switch.nics) * size.fabric_port_gbps / max(1, len(switch.gpus))
            for busid in switch.gpus:
                # GPUs below one switch share its NICs.
                shared = f" (shared by {len(switch.gpus)} GPUs)" if len(switch.gpus) > 1 else ""
                nics = ", ".join(switch.nics) + shared
                yield str(gpu), f"GPU {gpu}, {busid}", nics, f"{gbps:g}", f"NUMA node {node.numa}"
                gpu += 1


def rails_section(clusters: Sequence[Cluster]) -> Section:
    """NICs and rails of each size."""
    blocks: list[Table | Paragraph] = []
    for size in {cluster.size.name: cluster.size for cluster in clusters}.values():
        blocks.append(
            table(
                ("rail", "GPU", "NICs", "Gb/s a GPU", "where"),
                tuple(rail_rows(size)),
                caption=f"{size.name}: {fabric_words(size)}",
                numeric=("rail", "Gb/s a GPU"),
            )
        )
        source = size.pci.source if size.pci is not None else size.source
        notes = [*(size.pci.assumed if size.pci is not None else ()), *size.unverified]
        assumed = f" Assumed or unverified: {'; '.join(notes)}." if notes else ""
        blocks.append(Paragraph(f"Published: {source}, {size.date}.{assumed}"))
    return Section("NICs and rails", tuple(blocks))


def mtu_section(spec: FabricSpec) -> Section:
    """The largest packet of each hop, and what is left of it from end to end."""
    wanted = {cluster.cloud.value for cluster in spec.clusters} | ({"link"} if spec.interconnect else set())
    hops = [hop for hop in read_toml("path_mtu.toml")["hop"] if hop["where"] in wanted]
    rows = tuple(
        (hop["hop"], str(hop["mtu"]) if hop["mtu"] else "-", hop["basis"], hop["source"]) for hop in hops
    )
    blocks: list[Table | Paragraph] = [table(("hop", "bytes", "basis", "source"), rows, numeric=("bytes",))]
    if spec.interconnect is not None:
        through = [hop["mtu"] for hop in hops if hop["mtu"] and not hop["hop"].endswith("between nodes")]
        blocks.append(
            Paragraph(
                f"From cloud to cloud the path carries {min(through)} bytes: the routes to the other cloud get that "
                "MTU, locked, and nothing inside a cloud changes. Computed: the smallest of the IP hops."
            )
        )
    return Section("Path MTU", tuple(blocks))


def address_section(addresses: Sequence[AddressRow]) -> Section:
    """The address plan, as the program that lays out the networks gives it."""
    rows = tuple((row.cloud, row.network, row.cidr, row.use, row.taken) for row in addresses)
    return Section("Address plan", (table(("cloud", "network", "range", "for", "taken"), rows),))


def environment_section(environments: Mapping[str, Environment]) -> Section:
    """The NCCL settings in force on the nodes of each size."""
    blocks: list[Table | Paragraph] = []
    for name, made in environments.items():
        rows = tuple((v.name, v.value, v.why, v.source) for v in made.variables)
        blocks.append(table(("variable", "value", "why", "source"), rows, caption=name))
        blocks += [Paragraph(note) for note in made.notes]
    return Section("NCCL settings in force", tuple(blocks))
