"""docs/sizes.md, written from the catalog: `python -m gpu_fabric.nccl.hardware.page > docs/sizes.md`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator

from gpu_fabric.nccl.hardware.catalog import load_sizes
from gpu_fabric.nccl.hardware.interfaces import addresses_per_node, efa_interfaces_per_node, possible_layouts
from gpu_fabric.nccl.hardware.models import Cloud, NodeSize
from gpu_fabric.nccl.markdown import table

_INTRODUCTION = """\
# Sizes

Written from the catalog (`nccl/hardware/aws.toml`, `azure.toml`) by `python -m gpu_fabric.nccl.hardware.page`; a test
holds the two equal. Every row has a source and a date there, and a field of another source names it. A dash means that
no source states it; it never means zero. `gpu-fabric sizes NAME` shows a row with all its sources.
"""

_OWN_SIZE = """
## A size of your own

Describe it under `fabric.sizes` in the stack file with the fields of a catalog row in camelCase, and one more key,
`cloud`. It wins over a catalog row of the same name. On such a node, `gpu-fabric topology --from-host --row` writes it.

```yaml
gpu-fabric:fabric:
  sizes:
    p9.48xlarge:
      cloud: aws
      vcpus: 192
      memoryGib: 2048
      gpu: { model: X100, count: 8, memoryGb: 200, computeCapability: 120, gpudirectRdma: true }
      fabric: efa
      fabricPorts: 8
      fabricPortGbps: 800
      networkCards: 8
      interfacesPerCard: 4
      efaCards: [0, 1, 2, 3, 4, 5, 6, 7]
  aws: { zone: us-east-1a, instanceType: p9.48xlarge, nodes: 4 }
```

"""


def _or_dash(value: object) -> str:
    if value is None or value == "":
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _common(size: NodeSize) -> list[str]:
    gpu = size.gpu
    fabric = f"{size.fabric_ports} × {size.fabric_port_gbps:g} Gb/s" if size.fabric_ports else "none"
    topology = "–" if size.pci is None else "active" if size.topology_active else "installed"
    return [
        f"`{size.name}`",
        f"{gpu.count} × {gpu.model} {gpu.memory_gb:g} GB",
        fabric,
        _or_dash(size.vcpus),
        _or_dash(size.memory_gib),
        topology,
    ]


def _aws(size: NodeSize) -> list[str]:
    layouts = [
        f"{layout.value} {efa_interfaces_per_node(size, layout)}/{addresses_per_node(size, layout)}"
        for layout in possible_layouts(size)
    ]
    cards = f"{_or_dash(size.network_cards)} × {_or_dash(size.interfaces_per_card)}"
    return [cards, ", ".join(layouts) or "–", "yes" if size.supported else "no"]


def _azure(size: NodeSize) -> list[str]:
    return [_or_dash(size.scale_set_nodes), _or_dash(size.ethernet_gbps), "yes" if size.supported else "no"]


_COMMON = ("size", "GPUs", "fabric a node", "vCPUs", "memory GiB", "topology file")
_CLOUDS = {
    Cloud.AWS: (
        ("network cards × interfaces", "layouts: EFA / addresses a node", "laid out"),
        _aws,
    ),
    Cloud.AZURE: (("nodes of one scale set", "Ethernet Gb/s", "laid out"), _azure),
}


def _fields() -> Iterator[tuple[str, str, str]]:
    """Field, whether it must be given, and its docstring, in the order of the model."""
    body = ast.parse(inspect.getsource(NodeSize)).body[0]
    assert isinstance(body, ast.ClassDef)
    about = {
        node.target.id: following.value.value
        for node, following in zip(body.body, body.body[1:], strict=False)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
    }
    for field in dataclasses.fields(NodeSize):
        optional = (
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        )
        if field.name not in ("name", "cloud"):
            yield f"`{field.name}`", "" if optional else "yes", str(about.get(field.name, ""))


def render() -> str:
    """The whole page."""
    lines = [_INTRODUCTION]
    sizes = load_sizes().values()
    for cloud, (columns, cells) in _CLOUDS.items():
        own = [size for size in sizes if size.cloud is cloud]
        lines += [f"## {'AWS' if cloud is Cloud.AWS else 'Azure'}", ""]
        lines += table((*_COMMON, *columns), [[*_common(size), *cells(size)] for size in own])
        lines.append("")
        lines += [
            f"- `{size.name}` is not laid out: {size.unsupported_reason}"
            for size in own
            if not size.supported
        ]
        lines += [f"- `{size.name}`, unverified: {line}" for size in own for line in size.unverified]
        lines.append("")
    page = "\n".join(lines).rstrip() + "\n" + _OWN_SIZE
    return page + "\n".join(table(("field", "needed", "meaning"), _fields())) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
