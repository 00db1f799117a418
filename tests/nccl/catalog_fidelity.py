"""Our AWS rows beside EC2's own description of each size, as moto recorded it from DescribeInstanceTypes.

`python -m tests.nccl.catalog_fidelity > docs/fidelity-catalog.md` writes the page that a test holds to this table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from gpu_fabric.nccl.hardware import Cloud, NodeSize, load_sizes


def _cards(ec2: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return sorted(ec2["NetworkInfo"]["NetworkCards"], key=lambda card: card["NetworkCardIndex"])


def _efa_cards(ec2: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [card for card in _cards(ec2) if "efa-only" in card["InterfaceTypes"]]


def _gpu(ec2: Mapping[str, Any]) -> Mapping[str, Any]:
    return ec2["GpuInfo"]["Gpus"][0]


def _one(values: set[Any]) -> Any:
    (value,) = values
    return value


class Field(NamedTuple):
    """A field of a row, and where EC2's description has it."""

    ours: Callable[[NodeSize], Any]
    ec2: Callable[[Mapping[str, Any]], Any]
    ec2_name: str


FIELDS: Mapping[str, Field] = {
    "vcpus": Field(lambda s: s.vcpus, lambda e: e["VCpuInfo"]["DefaultVCpus"], "VCpuInfo.DefaultVCpus"),
    "cpu_vendor": Field(
        lambda s: s.cpu_vendor, lambda e: e["ProcessorInfo"]["Manufacturer"], "ProcessorInfo.Manufacturer"
    ),
    "cpu_arch": Field(
        lambda s: s.cpu_arch,
        lambda e: _one(set(e["ProcessorInfo"]["SupportedArchitectures"])),
        "ProcessorInfo.SupportedArchitectures",
    ),
    "memory_gib": Field(
        lambda s: s.memory_gib, lambda e: e["MemoryInfo"]["SizeInMiB"] / 1024, "MemoryInfo.SizeInMiB / 1024"
    ),
    "gpu.model": Field(lambda s: s.gpu.model, lambda e: _gpu(e)["Name"], "GpuInfo.Gpus.Name"),
    "gpu.count": Field(lambda s: s.gpu.count, lambda e: _gpu(e)["Count"], "GpuInfo.Gpus.Count"),
    "gpu.memory_gb": Field(
        lambda s: s.gpu.memory_gb,
        lambda e: _gpu(e)["MemoryInfo"]["SizeInMiB"] // 1024,
        "GpuInfo.Gpus.MemoryInfo.SizeInMiB // 1024",
    ),
    "local_nvme_gb": Field(
        lambda s: s.local_nvme_gb,
        lambda e: e["InstanceStorageInfo"]["TotalSizeInGB"],
        "InstanceStorageInfo.TotalSizeInGB",
    ),
    "network_cards": Field(
        lambda s: s.network_cards,
        lambda e: e["NetworkInfo"]["MaximumNetworkCards"],
        "NetworkInfo.MaximumNetworkCards",
    ),
    "interfaces_per_card": Field(
        lambda s: s.interfaces_per_card,
        lambda e: _one({card["MaximumNetworkInterfaces"] for card in _cards(e)}),
        "NetworkInfo.NetworkCards.MaximumNetworkInterfaces",
    ),
    "fabric_ports": Field(
        lambda s: s.fabric_ports,
        lambda e: e["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"],
        "NetworkInfo.EfaInfo.MaximumEfaInterfaces",
    ),
    "efa_cards": Field(
        lambda s: s.efa_cards,
        lambda e: tuple(card["NetworkCardIndex"] for card in _efa_cards(e)),
        "NetworkInfo.NetworkCards with InterfaceTypes efa-only",
    ),
    "fabric_port_gbps": Field(
        lambda s: s.fabric_port_gbps,
        lambda e: _one({card["PeakBandwidthInGbps"] for card in _efa_cards(e)}),
        "NetworkInfo.NetworkCards.PeakBandwidthInGbps of the EFA cards",
    ),
    "primary_ip_gbps": Field(
        lambda s: s.primary_ip_gbps,
        lambda e: _cards(e)[0]["PeakBandwidthInGbps"],
        "NetworkInfo.NetworkCards.PeakBandwidthInGbps of card 0",
    ),
    "usage_classes": Field(
        lambda s: s.usage_classes,
        lambda e: tuple(sorted(e["SupportedUsageClasses"])),
        "SupportedUsageClasses",
    ),
}


class Conflict(NamedTuple):
    """One value on which our row and EC2's description differ."""

    ours: Any
    ec2: Any
    reason: str


#: Every difference that exists, with the reason why our row keeps its value.
CONFLICTS: Mapping[tuple[str, str], Conflict] = {
    ("p6-b200.48xlarge", "fabric_port_gbps"): Conflict(
        400,
        200.0,
        "EC2's figure is what ENA carries on a card. EFA has 400 Gb/s a card: 8 cards make the 3,200 Gb/s that EC2 "
        "states as the size's network performance.",
    ),
    ("g6e.48xlarge", "fabric_port_gbps"): Conflict(
        100,
        400.0,
        "EC2's figure is the limit of the whole size, repeated for each of the four cards: 4 × 100 Gb/s make the "
        "400 Gb/s that EC2 states as the size's network performance.",
    ),
    ("g6e.48xlarge", "gpu.memory_gb"): Conflict(
        48, 44, "NVIDIA's data sheet names 48 GB; EC2 gives 45,776 MiB, which are 48.0 × 10⁹ bytes."
    ),
    ("g5.48xlarge", "gpu.memory_gb"): Conflict(
        24, 22, "NVIDIA's data sheet names 24 GB; EC2 gives 22,888 MiB, which are 24.0 × 10⁹ bytes."
    ),
    ("g6e.48xlarge", "primary_ip_gbps"): Conflict(
        None,
        400.0,
        "The same repeated limit of the whole size; no source states the IP bandwidth of one card.",
    ),
}

#: Rows that EC2's description, as recorded, does not have at all.
NOT_RECORDED: Mapping[str, str] = {
    "p6e-gb200.36xlarge": "The size is sold in UltraServers and Capacity Blocks only; the record does not have it.",
}


def ec2_descriptions() -> Mapping[str, Mapping[str, Any]]:
    """Instance type → its DescribeInstanceTypes record."""
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    return INSTANCE_TYPES


def aws_sizes() -> Mapping[str, NodeSize]:
    """Our rows of AWS."""
    return {name: size for name, size in load_sizes().items() if size.cloud is Cloud.AWS}


def differences() -> Iterator[tuple[tuple[str, str], tuple[Any, Any]]]:
    """((size, field), (ours, EC2's)) wherever the two differ."""
    recorded = ec2_descriptions()
    for name, size in aws_sizes().items():
        if name not in recorded:
            continue
        for field, (ours, ec2, _) in FIELDS.items():
            pair = ours(size), ec2(recorded[name])
            if pair[0] != pair[1]:
                yield (name, field), pair


def page() -> str:
    """The Markdown of docs/fidelity-catalog.md."""

    def shown(value: Any) -> str:
        return "not stated" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    compared = [name for name in aws_sizes() if name not in NOT_RECORDED]
    lines = [
        "# The catalog beside EC2's own description",
        "",
        "Every AWS row of `nccl/hardware/aws.toml` is compared, field by field, with what EC2's",
        f"DescribeInstanceTypes says of the size. The record of EC2's answers is the one in moto {version('moto')}",
        "(`moto/ec2/resources/instance_types.json.gz`). `tests/nccl/test_hardware_fidelity.py` fails when a row",
        "and the record differ in a way that this page does not list, and when a difference listed here is gone.",
        "",
        f"{len(compared)} sizes × {len(FIELDS)} fields = {len(compared) * len(FIELDS)} values; "
        f"{len(CONFLICTS)} differ.",
        "",
        "## Fields",
        "",
        "| field of the row | EC2's description |",
        "|---|---|",
        *(f"| `{name}` | `{field.ec2_name}` |" for name, field in FIELDS.items()),
        "",
        "## Differences",
        "",
        "| size | field | our row | EC2 | why our row keeps its value |",
        "|---|---|---|---|---|",
        *(
            f"| {size} | `{field}` | {shown(c.ours)} | {shown(c.ec2)} | {c.reason} |"
            for (size, field), c in CONFLICTS.items()
        ),
        "",
        "## Rows that the record does not have",
        "",
        "| size | why |",
        "|---|---|",
        *(f"| {name} | {reason} |" for name, reason in NOT_RECORDED.items()),
        "",
        "The fields that came from this same record (`usage_classes`; `cpu_vendor` of the g types;",
        "`interfaces_per_card` of g5.48xlarge; five values of `primary_ip_gbps`) are compared too, which guards",
        "against a slip of the pen and proves nothing more.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page())
