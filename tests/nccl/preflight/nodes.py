"""Nodes as folders: their sysfs and files, and stand-ins that print what the real tools print.

`healthy` builds one of a size from facts; a test then breaks one thing. The formats are those of nvidia-smi 550 to
580 (`-q -x`, `nvlink --status`), libfabric's fi_info, the EFA installer, the kernel's InfiniBand sysfs, and
azhpc-images' component list.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.environment import environment, to_conf, to_node_shell
from gpu_fabric.nccl.hardware import Fabric, NodeSize, get_size
from gpu_fabric.nccl.hardware.nvlink import nvlink
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.node import check_node
from gpu_fabric.nccl.preflight.result import Report, Result, State
from gpu_fabric.nccl.topology import from_catalog, to_xml

DRIVER = "580.95.05"
UNLIMITED = -1
PRODUCTS = {
    "A100": "NVIDIA A100-SXM4-40GB",
    "H100": "NVIDIA H100 80GB HBM3",
    "H200": "NVIDIA H200",
    "B200": "NVIDIA B200",
    "B300": "NVIDIA B300 SXM6 AC",
    "L40S": "NVIDIA L40S",
}
INTERFACES = {"p4d.24xlarge": "ens32", "p5.48xlarge": "enp71s0", "Standard_ND96asr_v4": "eth0"}


@dataclass
class Node:
    root: Path
    size: NodeSize
    process: dict[str, str] = field(default_factory=dict)
    memlock: int = UNLIMITED
    seconds: float = 20
    """The longest that one of its programs may take."""

    # ---- how it is built ----------------------------------------------------------------------------------------

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if text.endswith("\n") else f"{text}\n")

    def remove(self, path: str) -> None:
        file = self.root / path.lstrip("/")
        shutil.rmtree(file) if file.is_dir() else file.unlink()

    def change(self, path: str, old: str, new: str, count: int = -1) -> None:
        """One thing in a file or a stand-in; the old text must be there."""
        file = self.root / path.lstrip("/")
        text = file.read_text()
        assert old in text, f"{path} has no {old!r}"
        file.write_text(text.replace(old, new, count))

    def program(self, name: str, *answers: tuple[str, str], otherwise: int = 9) -> None:
        """A stand-in that prints the answer to its arguments; a real one has other arguments, so those fail."""
        cases = "".join(f"  '{arguments}') cat <<'END'\n{text}END\n  ;;\n" for arguments, text in answers)
        file = self.root / "bin" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/bash\ncase "$*" in\n{cases}  *) exit {otherwise} ;;\nesac\n')
        file.chmod(0o755)

    @property
    def devices(self) -> list[str]:
        """The names that the fabric's devices have in sysfs."""
        if self.size.fabric is Fabric.EFA:
            return [f"rdmap{79 + number}s0" for number in range(self.size.fabric_ports)]
        return [f"mlx5_ib{number}" for number in range(self.size.fabric_ports)]

    @property
    def interface(self) -> str:
        return INTERFACES.get(self.size.name, "eth0" if self.size.fabric is Fabric.INFINIBAND else "enp71s0")

    # ---- what it says -------------------------------------------------------------------------------------------

    def report(self, pins: Mapping[str, str] | None = None, partition: int | None = None) -> Report:
        before = os.environ["PATH"]
        # What the stand-ins need, and none of this machine's own tools.
        os.environ["PATH"] = f"{self.root / 'bin'}:{self.root / 'tools'}"
        try:
            return check_node(
                self.size,
                host=Host(str(self.root), seconds=self.seconds),
                pins=pins,
                partition=partition,
                process=self.process,
                memlock=self.memlock,
            )
        finally:
            os.environ["PATH"] = before

    def fails(self, **arguments: object) -> dict[str, Result]:
        """Check → result, of those that did not pass."""
        report = self.report(**arguments)  # ty: ignore[invalid-argument-type]
        return {result.check: result for result in report.results if result.state is not State.PASS}


def healthy(root: Path, name: str) -> Node:
    """A node on which every check passes."""
    size = get_size(name)
    node = Node(root, size)
    (root / "tools").mkdir(parents=True, exist_ok=True)
    for name in ("cat", "sleep"):
        (root / "tools" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    _gpus(node)
    _system(node)
    _files(node)
    _pci(node)
    if size.fabric is Fabric.EFA:
        _efa(node)
    else:
        _infiniband(node)
    return node


def _gpus(node: Node) -> None:
    size = node.size
    busids = [place.busid for place in size.pci.places() if place.kind == "gpu"] if size.pci else []
    busids = busids or [f"0000:{number + 0x50:02x}:00.0" for number in range(size.gpu.count)]
    product = PRODUCTS[size.gpu.model]
    body = "".join(smi_gpu(product, busid, newer=size.gpu.model != "A100") for busid in busids)
    log = (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
        "\t<timestamp>Sun Nov 29 10:00:00 2026</timestamp>\n"
        f"\t<driver_version>{DRIVER}</driver_version>\n\t<cuda_version>13.0</cuda_version>\n"
        f"\t<attached_gpus>{size.gpu.count}</attached_gpus>\n{body}</nvidia_smi_log>\n"
    )
    joined = nvlink(size.gpu.model, size.gpu.count)
    assert joined is not None
    links = "".join(
        f"GPU {number}: {product} (UUID: GPU-{number:08d})\n"
        + "".join(f"\t Link {link}: 26.562 GB/s\n" for link in range(joined.links))
        for number in range(size.gpu.count)
    )
    node.program("nvidia-smi", ("-q -x", log), ("nvlink --status", links))
    node.program("nv-fabricmanager", ("--version", f"Fabric Manager version is : {DRIVER}\n"))


def smi_gpu(product: str, busid: str, *, newer: bool) -> str:
    """One GPU as `nvidia-smi -q -x` prints it; drivers before 545 and A100s use the older words."""
    domain, _, rest = busid.partition(":")
    kind = "event" if newer else "throttle"
    sram = ("sram_uncorrectable_parity", "sram_uncorrectable_secded") if newer else ("sram_uncorrectable",)
    counters = "".join(
        f"\t\t\t\t<{name}>0</{name}>\n"
        for name in ("sram_correctable", *sram, "dram_correctable", "dram_uncorrectable")
    )
    names = (
        "gpu_idle",
        "applications_clocks_setting",
        "sw_power_cap",
        "hw_slowdown",
        "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
        "sync_boost",
        "sw_thermal_slowdown",
    )
    reasons = "".join(
        f"\t\t\t<{tag}>{'Active' if tag.endswith('gpu_idle') else 'Not Active'}</{tag}>\n"
        for tag in (f"clocks_{kind}_reason_{name}" for name in names)
    )
    fabric = ("Completed", "Success") if newer else ("N/A", "N/A")
    return (
        f'\t<gpu id="0000{domain.upper()}:{rest.upper()}">\n\t\t<product_name>{product}</product_name>\n'
        f"\t\t<fabric>\n\t\t\t<state>{fabric[0]}</state>\n\t\t\t<status>{fabric[1]}</status>\n\t\t</fabric>\n"
        "\t\t<pci>\n\t\t\t<pci_gpu_link_info>\n\t\t\t\t<pcie_gen>\n\t\t\t\t\t<max_link_gen>5</max_link_gen>\n"
        "\t\t\t\t\t<current_link_gen>1</current_link_gen>\n\t\t\t\t</pcie_gen>\n\t\t\t\t<link_widths>\n"
        "\t\t\t\t\t<max_link_width>16x</max_link_width>\n\t\t\t\t\t<current_link_width>16x</current_link_width>\n"
        "\t\t\t\t</link_widths>\n\t\t\t</pci_gpu_link_info>\n\t\t\t<replay_counter>0</replay_counter>\n\t\t</pci>\n"
        f"\t\t<clocks_{kind}_reasons>\n{reasons}\t\t</clocks_{kind}_reasons>\n"
        "\t\t<ecc_mode>\n\t\t\t<current_ecc>Enabled</current_ecc>\n\t\t\t<pending_ecc>Enabled</pending_ecc>\n\t\t</ecc_mode>\n"
        f"\t\t<ecc_errors>\n\t\t\t<volatile>\n{counters}\t\t\t</volatile>\n\t\t\t<aggregate>\n{counters}\t\t\t</aggregate>\n\t\t</ecc_errors>\n"
        "\t\t<remapped_rows>\n\t\t\t<remapped_row_corr>0</remapped_row_corr>\n\t\t\t<remapped_row_unc>0</remapped_row_unc>\n"
        "\t\t\t<remapped_row_pending>No</remapped_row_pending>\n\t\t\t<remapped_row_failure>No</remapped_row_failure>\n"
        "\t\t</remapped_rows>\n\t</gpu>\n"
    )


def _system(node: Node) -> None:
    node.program("dmesg", ("", "[    0.000000] Linux version 6.8.0-1040-aws\n"))
    node.program("systemctl", ("is-active nvidia-fabricmanager", "active\n"), otherwise=3)
    node.program("timedatectl", ("show --property=NTPSynchronized --value", "yes\n"))
    node.write("/proc/sys/kernel/osrelease", "6.8.0-1040-aws")
    node.write("/proc/sys/kernel/hostname", "node-1")
    node.write("/proc/mounts", "/dev/root / ext4 rw 0 0")
    for number in range(node.size.numa_nodes or 0):
        node.write(f"/sys/devices/system/node/node{number}/cpulist", "0-47")
    for index, name in enumerate(("lo", node.interface, "docker0"), 1):
        node.write(f"/sys/class/net/{name}/ifindex", str(index))
        node.write(f"/sys/class/net/{name}/operstate", "unknown" if name == "lo" else "up")
    node.write(
        "/proc/net/route",
        "Iface\tDestination\tGateway\tFlags\n"
        f"{node.interface}\t00000000\t0101000A\t0003\ndocker0\t000011AC\t00000000\t0001\n",
    )


def _files(node: Node) -> None:
    made = environment(node.size)
    node.write(paths.NCCL_CONF, to_conf(made))
    node.write(paths.ENVIRONMENT, to_node_shell(made, fabric_ports=node.size.fabric_ports))
    node.write(paths.READY, '{"state": "ready"}')
    if node.size.pci is not None:
        topology = from_catalog(node.size)
        assert topology is not None
        node.write(paths.TOPOLOGY, to_xml(topology))


def _pci(node: Node) -> None:
    for place in node.size.pci.places() if node.size.pci else ():
        if not place.busid.startswith("ffff:"):
            node.write(f"/sys/bus/pci/devices/{place.busid}/numa_node", str(place.numa))


def _efa(node: Node) -> None:
    entries = "".join(
        f"provider: efa\n    fabric: efa\n    domain: {device}-{kind}\n    version: 122.0\n    type: {endpoint}\n"
        f"    protocol: FI_PROTO_EFA\n"
        for device in node.devices
        for kind, endpoint in (("rdm", "FI_EP_RDM"), ("dgrm", "FI_EP_DGRAM"))
    )
    node.program("fi_info", ("-p efa", entries))
    for device in node.devices:
        node.write(f"/sys/class/infiniband/{device}/gdr", "1")
    node.write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "5128")
    node.write(
        "/opt/amazon/efa_installed_packages",
        "# EFA installer version: 1.50.0\n# Debug packages installed: no\n# Packages installed:\n"
        "efa_2.17.2-1.amzn1_all libfabric1-aws_2.1.0amzn5.0_amd64 libnccl-ofi_1.21.1-1_amd64",
    )


def _infiniband(node: Node) -> None:
    for device in node.devices:
        _port(node, device, "InfiniBand", node.size.fabric_port_gbps, ("0x8023", "0x7fff"))
    _port(node, "mlx5_an0", "Ethernet", node.size.ethernet_link_gbps or 100, ("0xffff",))
    node.write("/sys/module/nvidia_peermem/initstate", "live")
    node.write("/opt/azurehpc/component_versions.txt", '{"NCCL": "2.30.7", "CUDA": "13.0"}')


def _port(node: Node, device: str, layer: str, gbps: float, keys: tuple[str, ...]) -> None:
    folder = f"/sys/class/infiniband/{device}/ports/1"
    names = {200: "4X HDR", 400: "4X NDR", 100: "4X EDR", 40: "4X QDR"}
    node.write(f"{folder}/link_layer", layer)
    node.write(f"{folder}/state", "4: ACTIVE")
    node.write(f"{folder}/rate", f"{gbps:.0f} Gb/sec ({names.get(int(gbps), '4X')})")
    for number, key in enumerate((*keys, "0x0000")):
        node.write(f"{folder}/pkeys/{number}", key)
