"""Read the catalog's TOML rows into frozen models."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from gpu_fabric.nccl.hardware.models import (
    Cloud,
    CpuModel,
    Fabric,
    Gpu,
    NodeSize,
    NumaNode,
    PciDevice,
    PciIds,
    PciLayout,
    PciSwitch,
)


class UnknownSizeError(LookupError):
    """A size that neither the catalog nor the caller describes."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        near = get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}? " if near else ""
        super().__init__(f"unknown size {name!r}: {hint}known sizes are {', '.join(known)}")


def _pci_layout(row: Mapping[str, Any]) -> PciLayout:
    def device(busid: str) -> PciDevice:
        return PciDevice(busid)

    nodes = tuple(
        NumaNode(
            numa=node["numa"],
            affinity=node.get("affinity"),
            switches=tuple(
                PciSwitch(
                    busid=switch["busid"],
                    invented=switch["busid"].startswith("ffff:"),
                    gpus=tuple(map(device, switch.get("gpus", ()))),
                    nics=tuple(map(device, switch.get("nics", ()))),
                )
                for switch in node["switches"]
            ),
        )
        for node in row["numa_nodes"]
    )
    return PciLayout(
        **{
            **row,
            "cpu": CpuModel(**row["cpu"]),
            "numa_nodes": nodes,
            **{ids: PciIds(*row[ids]) for ids in ("switch_ids", "gpu_ids", "nic_ids") if ids in row},
            "assumed": tuple(row.get("assumed", ())),
        }
    )


def size_from_row(name: str, cloud: Cloud, row: Mapping[str, Any], layouts: Mapping[str, Any]) -> NodeSize:
    """One `[sizes."name"]` table as a model; `pci` names an entry of `layouts`."""
    fields: dict[str, Any] = dict(row)
    fields["gpu"] = Gpu(**{"gpudirect_rdma": None, **row["gpu"]})
    fields["fabric"] = Fabric(row["fabric"])
    for plural in ("efa_cards", "ip_cards", "usage_classes", "notes", "unverified"):
        if plural in row:
            fields[plural] = tuple(row[plural])
    fields["field_sources"] = tuple(row.get("field_sources", {}).items())
    if "pci" in row:
        layout = dict(layouts[row["pci"]])
        layout |= row.get("pci_override", {})
        fields["pci"] = _pci_layout(layout)
    fields.pop("pci_override", None)
    for optional in ("cpu_vendor", "numa_nodes", "local_nvme_gb"):
        fields.setdefault(optional, None)
    return NodeSize(name=name, cloud=cloud, **fields)


@cache
def load_sizes() -> Mapping[str, NodeSize]:
    """Every size of the catalog by name, AWS before Azure, in the order of the files."""
    sizes: dict[str, NodeSize] = {}
    for cloud in Cloud:
        text = files(__package__).joinpath(f"{cloud.value}.toml").read_text(encoding="utf-8")
        document = tomllib.loads(text)
        layouts = document.get("pci_layouts", {})
        for name, row in document["sizes"].items():
            sizes[name] = size_from_row(name, cloud, {**document["defaults"], **row}, layouts)
    return sizes


def get_size(name: str) -> NodeSize:
    """The size of that name; `UnknownSizeError` names the nearest."""
    sizes = load_sizes()
    if name not in sizes:
        raise UnknownSizeError(name, tuple(sizes))
    return sizes[name]
