"""`gpu-fabric sizes`: the catalog."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import click

from gpu_fabric.cli.options import complete_size, json_option
from gpu_fabric.cli.output import print_json, print_table

if TYPE_CHECKING:
    from gpu_fabric.nccl.hardware import NodeSize


@click.command("sizes")
@click.argument("names", metavar="[SIZE]...", nargs=-1, shell_complete=complete_size)
@click.option("--cloud", type=click.Choice(("aws", "azure")), help="Only the sizes of one cloud.")
@json_option
def command(names: tuple[str, ...], cloud: str | None, as_json: bool) -> None:
    """List the GPU node sizes that this library knows; with SIZE, everything about it and where it comes from."""
    from gpu_fabric.nccl.hardware import get_size, load_sizes

    chosen = [get_size(name) for name in names] or [*load_sizes().values()]
    if cloud is not None:
        chosen = [size for size in chosen if size.cloud.value == cloud]
    if as_json:
        print_json([{**asdict(size), "fabric_gbps": size.fabric_gbps} for size in chosen])
    elif names:
        for size in chosen:
            print_table(("field", "value"), _details(size), title=size.name)
    else:
        print_table(
            ("size", "GPUs", "fabric", "Gb/s", "vCPUs", "memory GiB", "topology file", "clusters"),
            [_row(size) for size in chosen],
        )


def _row(size: NodeSize) -> tuple[str, ...]:
    fabric = (
        f"{size.fabric.value} {size.fabric_ports} × {size.fabric_port_gbps:g}"
        if size.fabric_ports
        else "sockets"
    )
    topology = "none" if size.pci is None else "active" if size.topology_active else "by choice"
    return (
        size.name,
        f"{size.gpu.count} × {size.gpu.model} {size.gpu.memory_gb:g} GB",
        fabric,
        f"{size.fabric_gbps:g}",
        str(size.vcpus),
        f"{size.memory_gib:g}",
        topology,
        "yes" if size.supported else "no",
    )


def _details(size: NodeSize) -> list[tuple[str, str]]:
    """Every field that says something. The PCI layout has a command of its own: `topology`."""
    shown = []
    for field in fields(size):
        value = getattr(size, field.name)
        if value is None or value in ((), "", {}) or field.name == "name":
            continue
        if field.name == "gpu":
            gpudirect = {True: "yes", False: "no", None: "not stated"}[size.gpu.gpudirect_rdma]
            value = (
                f"{size.gpu.count} × {size.gpu.model}, {size.gpu.memory_gb:g} GB, "
                f"sm {size.gpu.compute_capability}, GPUDirect RDMA {gpudirect}"
            )
        elif field.name == "pci":
            value = (
                f"known: gpu-fabric topology {size.name} --draw text ({size.pci.source if size.pci else ''})"
            )
        elif field.name == "field_sources":
            value = "; ".join(f"{name}: {source}" for name, source in size.field_sources.items())
        elif isinstance(value, tuple):
            value = "; ".join(map(str, value))
        shown.append((field.name, str(value)))
        if field.name == "pci" and size.pci is not None and size.pci.assumed:
            shown.append(("pci, assumed", "; ".join(size.pci.assumed)))
    return shown
