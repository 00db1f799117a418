#!/usr/bin/env python3
"""Describe the GPUs and fabric NICs of the machine this runs on, from its sysfs.

Writes a topology file for NCCL, or a row for gpu-fabric's catalog of sizes. Needs the standard library alone, so this
one file can be copied to a node and run there:

    python3 topology_from_host.py --row --name my-size

Follows what NCCL does on a host (NVIDIA/nccl 2.30.7, src/graph/xml.cc): of the ports between a device and its CPU
only each switch's upstream port counts, and the slower of a device's link and its port's is taken. What the machine
does not say is left out of the file, and named in the row as to be filled in.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
NVIDIA, AMAZON = "0x10de", "0x1d0f"
IDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")
CPU_NAMES = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits")


@dataclass
class Device:
    """A GPU, a NIC or a switch, with what hangs below it."""

    busid: str
    kind: str
    attributes: dict[str, str]
    """NCCL's attributes of `pci`, those that sysfs knows."""
    below: list[Device] = field(default_factory=list)
    gbps: float | None = None
    """Rate of a NIC's port, Gb/s."""


@dataclass
class NumaNode:
    numa: int
    affinity: str | None
    devices: list[Device] = field(default_factory=list)


@dataclass
class Host:
    """What the machine says of itself."""

    arch: str
    cpu_vendor: str | None
    cpu_family: str | None
    cpu_model: str | None
    vcpus: int
    memory_gib: float
    nodes: list[NumaNode]
    fabric: str
    """`efa`, `infiniband` or `sockets`."""
    gpu_model: str | None = None
    gpu_memory_gb: float | None = None
    compute_capability: int | None = None
    notes: list[str] = field(default_factory=list)
    """What had to be assumed, in words."""

    def devices(self) -> Iterator[Device]:
        """Every device, a switch before what hangs below it."""
        stack = [device for node in reversed(self.nodes) for device in reversed(node.devices)]
        while stack:
            device = stack.pop()
            yield device
            stack.extend(reversed(device.below))

    def of(self, kind: str) -> list[Device]:
        """The devices of that kind."""
        return [device for device in self.devices() if device.kind == kind]


class NoTopologyError(Exception):
    """The machine has nothing to describe; the message says what was looked for."""


# --- Reading -----------------------------------------------------------------------------------------------------


def read_host(root: Path = Path("/"), *, gpu_query: Callable[[], str] | None = None) -> Host:
    """The host whose `sys` and `proc` lie below `root`.

    RDMA devices on Ethernet are no fabric NICs: on Azure the accelerated-networking function is one.
    `gpu_query` returns nvidia-smi's answer to `NVIDIA_SMI`.
    Raises `NoTopologyError` where there is no NVIDIA GPU.
    """
    devices_folder = root / "sys/bus/pci/devices"
    entries = sorted(devices_folder.iterdir()) if devices_folder.is_dir() else []
    gpus = [entry.name for entry in entries if _is_gpu(entry)]
    if not gpus:
        raise NoTopologyError(f"no NVIDIA GPU among the {len(entries)} devices of {devices_folder}")
    fabric, nics = _fabric_nics(root)
    cpu = _cpu_info(root)
    host = Host(
        arch="x86_64" if "vendor_id" in cpu else "arm64",
        cpu_vendor=cpu.get("vendor_id"),
        cpu_family=cpu.get("cpu family"),
        cpu_model=cpu.get("model"),
        vcpus=int(cpu["processors"]),
        memory_gib=_memory_gib(root),
        nodes=[],
        fabric=fabric,
    )
    wanted = [(busid, "gpu", None) for busid in gpus] + [(busid, "nic", rate) for busid, rate in nics.items()]
    _place(host, root, wanted)
    _ask_gpus(host, gpu_query)
    return host


def _is_gpu(entry: Path) -> bool:
    return _text(entry / "vendor") == NVIDIA and (_text(entry / "class") or "").startswith(
        ("0x0300", "0x0302")
    )


def _fabric_nics(root: Path) -> tuple[str, dict[str, float | None]]:
    """(kind of fabric, bus id → Gb/s): EFA devices if there are any, else InfiniBand."""
    found: dict[str, dict[str, float | None]] = {"efa": {}, "infiniband": {}}
    folder = root / "sys/class/infiniband"
    for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
        pci = (entry / "device").resolve()
        if not BUS_ID.fullmatch(pci.name):
            continue
        port = next(iter(sorted((entry / "ports").glob("*"))), entry / "ports/1")
        layer = _text(port / "link_layer")
        kind = "efa" if _text(pci / "vendor") == AMAZON else "infiniband" if layer == "InfiniBand" else None
        if kind is not None:
            found[kind].setdefault(pci.name, _rate(_text(port / "rate")))
    for kind in ("efa", "infiniband"):
        if found[kind]:
            return kind, found[kind]
    return "sockets", {}


def _rate(text: str | None) -> float | None:
    match = re.match(r"(\d+(?:\.\d+)?) Gb/sec", text or "")
    return float(match.group(1)) if match else None


def _cpu_info(root: Path) -> dict[str, str]:
    """The first processor's fields, and `processors`: how many there are."""
    fields: dict[str, str] = {}
    processors = 0
    for line in (_text(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        processors += name.strip() == "processor"
        fields.setdefault(name.strip(), value.strip())
    fields["processors"] = str(processors)
    return fields


def _memory_gib(root: Path) -> float:
    match = re.search(r"^MemTotal:\s+(\d+) kB", _text(root / "proc/meminfo") or "", re.MULTILINE)
    return round(int(match.group(1)) / 2**20, 1) if match else 0.0


def _place(host: Host, root: Path, wanted: Iterable[tuple[str, str, float | None]]) -> None:
    """Hang every wanted device below its switches and its NUMA node."""
    nodes: dict[int, NumaNode] = {}
    switches: dict[str, Device] = {}
    for busid, kind, gbps in wanted:
        path = (root / "sys/bus/pci/devices" / busid).resolve()
        numa = _numa(path, busid, host.notes)
        node = nodes.setdefault(numa, NumaNode(numa, _affinity(root, numa)))
        holder = node.devices
        for switch in _switches_above(path):
            if switch.name not in switches:
                switches[switch.name] = Device(switch.name, "switch", _attributes(switch))
                holder.append(switches[switch.name])
            holder = switches[switch.name].below
        holder.append(Device(busid, kind, _attributes(path), gbps=gbps))
    host.nodes = [nodes[numa] for numa in sorted(nodes)]


def _switches_above(path: Path) -> list[Path]:
    """Upstream ports of the switches above a device, from the CPU down; root and downstream ports left out."""
    ports = [parent for parent in path.parents if BUS_ID.fullmatch(parent.name)]
    # ports[0] is the port that the device is plugged into, ports[1] the upstream port of that switch, and so on.
    return list(reversed(ports[1::2]))


def _numa(path: Path, busid: str, notes: list[str]) -> int:
    numa = int(_text(path / "numa_node") or "-1")
    if numa >= 0:
        return numa
    notes.append(f"NUMA node of {busid}: the firmware names none, so 0 is taken")
    return 0


def _affinity(root: Path, numa: int) -> str | None:
    text = _text(root / f"sys/devices/system/node/node{numa}/cpumap")
    return ",".join(word.rjust(8, "0") for word in text.split(",")) if text else None


def _attributes(path: Path) -> dict[str, str]:
    """NCCL's attributes of a device, in NCCL's order."""
    values = {"class": _text(path / "class"), **{name: _text(path / name) for name in IDS}}
    values["link_speed"] = _lesser(path, "max_link_speed")
    values["link_width"] = _lesser(path, "max_link_width")
    return {name: value for name, value in values.items() if value}


def _lesser(path: Path, name: str) -> str | None:
    """The lesser of a device's value and its port's; a value that is no number does not count."""
    texts = (_text(path / name), _text(path.parent / name))
    numbers = [(float(m.group()), text) for text in texts if text and (m := re.match(r"\d+(\.\d+)?", text))]
    # A width of 255 means that the device does not say.
    numbers = [pair for pair in numbers if pair[1] not in ("0", "255")]
    return min(numbers)[1] if numbers else None


def _ask_gpus(host: Host, query: Callable[[], str] | None) -> None:
    """Model, memory and compute capability, which sysfs does not have."""
    try:
        answer = query() if query is not None else ""
        name, memory, capability = answer.splitlines()[0].rsplit(",", 2)
        host.gpu_memory_gb = round(float(memory) / 1024)
        host.compute_capability = int(capability.strip().replace(".", ""))
        host.gpu_model = name.strip().removeprefix("NVIDIA ").split()[0]
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        host.notes.append("model, memory and compute capability of the GPUs: nvidia-smi did not say")


def ask_nvidia_smi() -> str:
    """nvidia-smi's answer; OSError or SubprocessError where it is not there or fails."""
    done = subprocess.run(NVIDIA_SMI, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


# --- Writing -----------------------------------------------------------------------------------------------------


def to_xml(host: Host, name: str) -> str:
    """The topology file, in the form that gpu-fabric writes."""
    lines = [f'<system version="1" name="{name}">']
    for node in host.nodes:
        cpu = {
            "numaid": str(node.numa),
            "affinity": node.affinity,
            "arch": host.arch,
            "vendor": host.cpu_vendor,
            "familyid": host.cpu_family,
            "modelid": host.cpu_model,
        }
        lines.append(f"  <cpu {_joined(cpu)}>")
        for device in _ordered(node.devices):
            lines.extend(_pci_lines(device, "    "))
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>\n"])


def _pci_lines(device: Device, indent: str) -> Iterator[str]:
    tag = f"{indent}<pci {_joined({'busid': device.busid, **device.attributes})}"
    if not device.below:
        yield f"{tag}/>"
        return
    yield f"{tag}>"
    for child in _ordered(device.below):
        yield from _pci_lines(child, indent + "  ")
    yield f"{indent}</pci>"


def _ordered(devices: Iterable[Device]) -> list[Device]:
    """Switches, then GPUs, then NICs, each by bus id."""
    return sorted(devices, key=lambda d: (("switch", "gpu", "nic").index(d.kind), d.busid))


def _joined(attributes: dict[str, str | None] | dict[str, str]) -> str:
    return " ".join(f'{name}="{value}"' for name, value in attributes.items() if value is not None)


def to_row(host: Host, name: str, *, today: date | None = None) -> str:
    """A row of the catalog, with its layout; what the machine does not say stands as a comment to fill in."""
    gpus, nics = host.of("gpu"), host.of("nic")
    rates = {nic.gbps for nic in nics}
    size = f"[sizes.{_quoted(name)}"
    day = (today or date.today()).isoformat()
    lines = [
        f"{size}]",
        f"vcpus = {host.vcpus}",
        f"cpu_vendor = {_quoted(CPU_NAMES.get(host.cpu_vendor or '', host.cpu_vendor or 'ARM'))}",
        f"cpu_arch = {_quoted(host.arch)}",
        f"numa_nodes = {len(host.nodes)}",
        f"memory_gib = {host.memory_gib:g} # what the guest sees; the vendor's figure is larger",
        f"fabric = {_quoted(host.fabric)}",
        f"fabric_ports = {len(nics)}",
        _known("fabric_port_gbps", next(iter(rates)) if len(rates) == 1 else None if nics else 0),
        'source = "topology_from_host.py on a node of this size"',
        f'date = "{day}"',
    ]
    if host.fabric == "efa":
        lines.append(
            "# network_cards, interfaces_per_card, efa_cards: fill in from EC2's DescribeInstanceTypes"
        )
    if host.notes:
        lines.append(f"unverified = {_list(host.notes)}")
    lines += ["", f"{size}.gpu]", _known("model", host.gpu_model), f"count = {len(gpus)}"]
    lines += [_known("memory_gb", host.gpu_memory_gb), _known("compute_capability", host.compute_capability)]
    lines += ["", *_layout_lines(host, f"{size}.pci", day)]
    return "\n".join(lines) + "\n"


def _layout_lines(host: Host, table: str, day: str) -> Iterator[str]:
    """`[sizes.NAME.pci]`: what most devices have, then what differs."""
    links = Counter((d.attributes.get("link_speed"), d.attributes.get("link_width")) for d in host.devices())
    (speed, width), _ = links.most_common(1)[0]
    yield f"{table}]"
    yield 'source = "topology_from_host.py on a node of this size"'
    yield f'date = "{day}"'
    yield _known("link_speed", speed)
    yield _known("link_width", int(width) if width else None)
    for kind in ("switch", "gpu", "nic"):
        classes = Counter(device.attributes.get("class") for device in host.of(kind))
        usual = {"switch": "0x060400", "gpu": "0x030200", "nic": "0x020000"}[kind]
        yield f"{kind}_class = {_quoted(next(iter(classes), None) or usual)}"
        ids = Counter(tuple(d.attributes.get(name) for name in IDS) for d in host.of(kind))
        values = next(iter(ids)) if len(ids) == 1 else ()
        if values and all(values):
            pairs = ", ".join(f"{IDS[at]} = {_quoted(value or '')}" for at, value in enumerate(values))
            yield f"{kind}_ids = {{ {pairs} }}"
    cpu = [f"arch = {_quoted(host.arch)}"]
    if host.cpu_vendor and host.cpu_family and host.cpu_model:
        cpu += [
            f"vendor = {_quoted(host.cpu_vendor)}",
            f"family = {host.cpu_family}",
            f"model = {host.cpu_model}",
        ]
    yield f"cpu = {{ {', '.join(cpu)} }}"
    yield "numa_nodes = ["
    for node in host.nodes:
        affinity = f", affinity = {_quoted(node.affinity)}" if node.affinity else ""
        yield f"  {{ numa = {node.numa}{affinity}, {_held(node.devices)} }},"
    yield "]"
    yield from _differing_links(host, (speed, width), table)


def _differing_links(host: Host, usual: tuple[str | None, str | None], table: str) -> Iterator[str]:
    head = ["", f"{table}.links]"]
    for device in host.devices():
        speed, width = device.attributes.get("link_speed"), device.attributes.get("link_width")
        if speed and width and (speed, width) != usual:
            yield from head
            head = []
            yield f"{_quoted(device.busid)} = {{ speed = {_quoted(speed)}, width = {width} }}"


def _held(devices: Iterable[Device]) -> str:
    """Inline `switches`, `gpus` and `nics` of one holder."""
    ordered = _ordered(devices)
    parts = []
    switches = [d for d in ordered if d.kind == "switch"]
    if switches:
        inner = ", ".join(f"{{ busid = {_quoted(s.busid)}, {_held(s.below)} }}" for s in switches)
        parts.append(f"switches = [{inner}]")
    for kind in ("gpu", "nic"):
        busids = [d.busid for d in ordered if d.kind == kind]
        if busids:
            parts.append(f"{kind}s = {_list(busids)}")
    return ", ".join(parts)


def _known(name: str, value: str | float | None) -> str:
    """A line of TOML; a comment where the machine did not say."""
    if value is None:
        return f"# {name}: fill in, the machine does not say"
    return f"{name} = {_quoted(value) if isinstance(value, str) else f'{value:g}'}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def main(arguments: list[str] | None = None) -> int:
    """Print the topology file, or with `--row` the catalog row; 1 with a message where there is nothing."""
    parser = argparse.ArgumentParser(
        description="Describe this machine's GPUs and fabric NICs from its sysfs."
    )
    parser.add_argument(
        "--row", action="store_true", help="print a row for the catalog of sizes, not a topology file"
    )
    parser.add_argument("--name", default="this-host", help="name of the size (default: %(default)s)")
    parser.add_argument(
        "--root", type=Path, default=Path("/"), help="folder that holds sys and proc (default: /)"
    )
    parser.add_argument(
        "--ethernet", action="store_true", help="take RDMA devices on Ethernet for fabric NICs too"
    )
    options = parser.parse_args(arguments)
    ask = ask_nvidia_smi if options.root == Path("/") else None
    try:
        host = read_host(options.root, gpu_query=ask)
    except NoTopologyError as nothing:
        print(f"topology_from_host: {nothing}", file=sys.stderr)
        return 1
    for note in host.notes:
        print(f"topology_from_host: {note}", file=sys.stderr)
    sys.stdout.write(to_row(host, options.name) if options.row else to_xml(host, options.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
