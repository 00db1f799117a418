"""Draw a topology: a tree of text for a terminal, and an SVG for a page. No library, no fonts, no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeVar

from gpu_fabric.nccl.topology.model import Cpu, Net, Nic, Pci, Topology
from gpu_fabric.nccl.topology.subset import gpu_order
from gpu_fabric.nccl.topology.values import affinity_as_read, cpu_list, is_affinity

T = TypeVar("T")

_KINDS = {"gpu": "GPU", "nic": "NIC", "switch": "switch", "nvswitch": "NVSwitch"}


def to_text(topology: Topology) -> str:
    """The tree, one device a line, with the link that NCCL takes to the device above."""
    order = gpu_order(topology)
    lines = [topology.name or "unnamed topology"]
    for cpu, branch, further in _branches(topology.cpus, ""):
        lines.append(f"{branch}{_cpu_label(cpu)}")
        lines.extend(_nic_lines(cpu.nics, further, last=not cpu.pcis))
        lines.extend(_pci_lines(cpu.pcis, further, order))
    return "\n".join(lines) + "\n"


def _branches(items: Sequence[T], prefix: str) -> Iterator[tuple[T, str, str]]:
    """(item, prefix of its own line, prefix of the lines below it)."""
    for item in items:
        last = item is items[-1]
        yield item, f"{prefix}{'└─ ' if last else '├─ '}", f"{prefix}{'   ' if last else '│  '}"


def _pci_lines(pcis: Sequence[Pci], prefix: str, order: Sequence[str]) -> Iterator[str]:
    for pci, branch, further in _branches(pcis, prefix):
        yield f"{branch}{_pci_label(pci, order)} · {_link_label(pci)}"
        yield from _nic_lines(pci.nics, further, last=not pci.pcis)
        yield from _pci_lines(pci.pcis, further, order)


def _nic_lines(nics: Sequence[Nic], prefix: str, *, last: bool) -> Iterator[str]:
    nets = [net for nic in nics for net in nic.nets]
    for net in nets:
        end = last and net is nets[-1]
        yield f"{prefix}{'└─ ' if end else '├─ '}{_net_label(net)}"


def _cpu_label(cpu: Cpu) -> str:
    parts = [f"CPU {cpu.numaid}"]
    if cpu.vendor or cpu.arch:
        parts.append(" ".join(text for text in (cpu.vendor, cpu.arch) if text))
    if cpu.affinity is not None and is_affinity(cpu.affinity):
        parts.append(f"CPUs {cpu_list(affinity_as_read(cpu.affinity))}")
    return " · ".join(parts)


def _pci_label(pci: Pci, order: Sequence[str]) -> str:
    number = f" {order.index(pci.busid)}" if pci.kind == "gpu" and pci.busid in order else ""
    return f"{_KINDS[pci.kind]}{number} {pci.busid}"


def _link_label(pci: Pci) -> str:
    speed = pci.link_speed or "no speed given"
    width = f" ×{pci.link_width}" if pci.link_width is not None else ""
    return f"{speed}{width} · {pci.uplink_gigabytes_per_second:g} GB/s"


def _net_label(net: Net) -> str:
    speed = f" · {net.speed / 1000:g} Gb/s" if net.speed else ""
    return f"net {net.name if net.name is not None else net.dev}{speed}"


# SVG: each CPU is a panel, each device directly below it a column, its devices boxes from the top down.

_BOX_WIDTH, _BOX_HEIGHT, _GAP, _MARGIN, _HEAD = 132, 40, 10, 16, 34
_COLUMNS_A_ROW = 8
_PAGE_WIDTH = 1300
_LONGEST_TITLE = 14
_COLOURS = {"gpu": "#76b900", "nic": "#2f7ed8", "switch": "#e8e8e8", "nvswitch": "#c8e69a", "net": "#cfe3f7"}
_TEXT_COLOURS = {
    "gpu": "#102000",
    "nic": "#ffffff",
    "switch": "#202020",
    "nvswitch": "#102000",
    "net": "#102040",
}


@dataclass(frozen=True)
class _Box:
    kind: str
    depth: int
    title: str
    detail: str


def to_svg(topology: Topology) -> str:
    """A picture for a page or a pull request: CPUs as panels, switches as columns, GPUs green, NICs blue."""
    order = gpu_order(topology)
    body: list[str] = []
    x, y, row_height, width = _MARGIN, _MARGIN + _HEAD, 0, _panel_width(2) + 2 * _MARGIN
    for cpu in topology.cpus:
        columns = _columns(cpu, order)
        panel_width = _panel_width(len(columns))
        if x > _MARGIN and x + panel_width > _PAGE_WIDTH:
            x, y, row_height = _MARGIN, y + row_height + _MARGIN, 0
        panel, height = _panel(cpu, columns, x, y)
        body.extend(panel)
        x += panel_width + _MARGIN
        width, row_height = max(width, x), max(row_height, height)
    height = y + row_height + _MARGIN
    title = escape(topology.name or "unnamed topology")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" role="img" '
            f'aria-label="{title}">',
            f"<title>{title}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="{_MARGIN}" y="{_MARGIN + 14}" font-size="16" font-weight="bold">{title}</text>',
            *body,
            "</svg>\n",
        ]
    )


def _panel_width(columns: int) -> int:
    """Never narrower than two columns, which the CPU's own label needs."""
    return min(max(columns, 2), _COLUMNS_A_ROW) * (_BOX_WIDTH + _GAP) - _GAP + 2 * _MARGIN


def _columns(cpu: Cpu, order: Sequence[str]) -> list[list[_Box]]:
    columns = [[*_boxes(pci, order, 0)] for pci in cpu.pcis]
    loose = [_net_box(net, 0) for nic in cpu.nics for net in nic.nets]
    return [*columns, loose] if loose else columns


def _boxes(pci: Pci, order: Sequence[str], depth: int) -> Iterator[_Box]:
    label = _pci_label(pci, order).removesuffix(f" {pci.busid}")
    link = f"{pci.busid} · {pci.uplink_gigabytes_per_second:g} GB/s"
    yield _Box(pci.kind, depth, label, link)
    for nic in pci.nics:
        for net in nic.nets:
            yield _net_box(net, depth + 1)
    for child in pci.pcis:
        yield from _boxes(child, order, depth + 1)


def _net_box(net: Net, depth: int) -> _Box:
    name, _, speed = _net_label(net).partition(" · ")
    return _Box(
        "net", depth, name if len(name) <= _LONGEST_TITLE else f"{name[: _LONGEST_TITLE - 1]}…", speed
    )


def _panel(cpu: Cpu, columns: Sequence[Sequence[_Box]], left: int, y: int) -> tuple[list[str], int]:
    """The panel's elements, and its height."""
    rows = [columns[at : at + _COLUMNS_A_ROW] for at in range(0, len(columns), _COLUMNS_A_ROW)]
    parts: list[str] = []
    top = y + _HEAD
    for row in rows:
        for index, column in enumerate(row):
            parts.extend(_column(column, left + _MARGIN + index * (_BOX_WIDTH + _GAP), top))
        top += max(len(column) for column in row) * (_BOX_HEIGHT + _GAP) + _GAP
    height = top - y
    frame = [
        f'<rect x="{left}" y="{y}" width="{_panel_width(len(columns))}" height="{height}" rx="6" fill="#fafafa" '
        f'stroke="#9a9a9a"/>',
        f'<text x="{left + _MARGIN}" y="{y + 21}" font-size="13">{escape(_cpu_label(cpu))}</text>',
    ]
    return frame + parts, height


def _column(column: Sequence[_Box], x: int, top: int) -> Iterator[str]:
    deepest = max(box.depth for box in column)
    # Deep trees are indented less, so that every box stays inside its column.
    indent = min(10, (_BOX_WIDTH - 92) // deepest) if deepest else 0
    for index, box in enumerate(column):
        left, y = x + box.depth * indent, top + index * (_BOX_HEIGHT + _GAP)
        width = _BOX_WIDTH - box.depth * indent
        colour = _TEXT_COLOURS[box.kind]
        if box.depth:
            above = top + _last_above(column, index) * (_BOX_HEIGHT + _GAP) + _BOX_HEIGHT
            elbow = left - indent // 2
            yield (
                f'<path d="M{elbow} {above}V{y + _BOX_HEIGHT // 2}H{left}" fill="none" stroke="#707070" '
                f'stroke-width="1"/>'
            )
        yield (
            f'<rect x="{left}" y="{y}" width="{width}" height="{_BOX_HEIGHT}" rx="3" fill="{_COLOURS[box.kind]}" '
            f'stroke="#606060" stroke-width="0.5"/>'
        )
        yield f'<text x="{left + 6}" y="{y + 16}" fill="{colour}" font-weight="bold">{escape(box.title)}</text>'
        if box.detail:
            yield f'<text x="{left + 6}" y="{y + 31}" fill="{colour}" font-size="9">{escape(box.detail)}</text>'


def _last_above(column: Sequence[_Box], index: int) -> int:
    """Index of the box that the box hangs below."""
    return next(at for at in range(index - 1, -1, -1) if column[at].depth < column[index].depth)
