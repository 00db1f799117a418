"""The fast fabric of one node: EFA devices as libfabric opens them, InfiniBand ports, and the way into GPU memory."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gpu_fabric.nccl.hardware.models import Fabric, NodeSize
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Result, failed, passed, unknown

SOURCE_PKEY: Final = "Azure/ai-infrastructure-on-azure a01b073, skills/slurm/ib_link_validation"
SOURCE_EFA_COUNT: Final = "awslabs/awsome-distributed-training 0edaf152, health check 6: count with fi_info"
SOURCE_EFA_DMABUF: Final = (
    "Linux 5.16, drivers/infiniband/hw/efa (DMABUF support); google/gvisor#13882, rdma.md (plugin)"
)
EFA_DMABUF_PLUGIN: Final = (1, 19, 2)
"""Earlier releases of aws-ofi-nccl do not use DMA-BUF on EFA's generations 1 to 3."""
DMABUF, EFA_DMABUF = (5, 12), (5, 16)
"""Linux releases from which GPU memory can be registered without a peer memory module; EFA's driver came later."""
HUGEPAGES: Final = 5128
"""2 MiB pages that the EFA software preallocates. EKS User Guide, node-efa.html."""


def check_fabric(
    host: Host, size: NodeSize, partition: int | None = None, plugin: str | None = None
) -> Iterator[Result]:
    """`plugin` is the release of aws-ofi-nccl, where it is known."""
    if size.fabric is Fabric.EFA:
        yield from _efa(host, size, plugin)
    elif size.fabric is Fabric.INFINIBAND:
        yield from _infiniband(host, size, partition)


def has_dmabuf(host: Host, since: tuple[int, int]) -> bool:
    """NVIDIA's open kernel modules on such a kernel. NCCL user guide, NCCL_DMABUF_ENABLE."""
    driver = host.read("/proc/driver/nvidia/version") or ""
    kernel = re.match(r"(\d+)\.(\d+)", host.read("/proc/sys/kernel/osrelease") or "")
    return "Open Kernel Module" in driver and kernel is not None and (int(kernel[1]), int(kernel[2])) >= since


def numbers(version: str) -> tuple[int, ...]:
    """`1.21.1-1` → (1, 21, 1)."""
    return tuple(map(int, re.findall(r"[0-9]{1,6}", version.partition("-")[0])))


def _kernel_text(since: tuple[int, int]) -> str:
    return f"Linux {since[0]}.{since[1]} or later"


# ---- EFA ------------------------------------------------------------------------------------------------------------


def efa_devices(host: Host) -> list[str] | None:
    """RDMA devices that are EFA; None where libfabric is not there. Blackwell nodes list others beside them."""
    program = shutil.which("fi_info") or str(host.path("/opt/amazon/efa/bin/fi_info"))
    ran = host.run(program, "-p", "efa")
    if ran is None:
        return None
    names = re.findall(r"^\s*domain: (\S+?)(?:-(?:rdm|dgrm))?$", ran.out, re.M)
    return list(dict.fromkeys(names))


def _efa(host: Host, size: NodeSize, plugin: str | None) -> Iterator[Result]:
    devices = efa_devices(host)
    if devices is None:
        yield failed(
            "efa-devices",
            "fi_info is not installed",
            "Install EFA (aws-efa-installer), or use the AWS image.",
        )
        return
    found, wanted = len(devices), size.fabric_ports
    if found == wanted:
        yield passed("efa-devices", f"{found} devices", SOURCE_EFA_COUNT)
    else:
        remedy = "EFA cannot be attached to a running instance: launch it with a template that has all its interfaces."
        if found > wanted:
            remedy = f"This node is larger than {size.name}: give its own --size."
        elif found == 0:
            remedy = f"Is the driver loaded (lsmod | grep efa)? {remedy}"
        yield failed("efa-devices", f"{found} of {wanted} devices", remedy, SOURCE_EFA_COUNT)
    if size.gpu.gpudirect_rdma and devices:
        yield _efa_gpudirect(host, devices, plugin)
    yield _hugepages(host)


def _efa_gpudirect(host: Host, devices: list[str], plugin: str | None) -> Result:
    check = "gpudirect"
    source = "aws-ofi-nccl#803; libfabric-ci-scripts#176"
    remedy = "Use the open NVIDIA kernel modules and load efa_nv_peermem (modprobe); the AWS image has both."
    without, silent = [], 0
    for device in devices:
        base = f"/sys/class/infiniband/{device}"
        says = [host.read(f"{base}/{name}") for name in ("gdr", "device/p2p", "p2p")]
        if all(text is None for text in says):
            silent += 1
        elif not any(text not in (None, "", "0", "none", "NA", "N/A") for text in says):
            without.append(device)
    if without:
        return failed(
            check,
            f"{len(without)} of {len(devices)} devices without peer memory: {without[0]}",
            remedy,
            source,
        )
    if silent:
        # nvidia_peermem is InfiniBand's: EFA's driver does not know it.
        if host.exists("/sys/module/efa_nv_peermem"):
            return passed(check, "efa_nv_peermem is loaded", source)
        if has_dmabuf(host, EFA_DMABUF) and plugin and numbers(plugin) >= EFA_DMABUF_PLUGIN:
            what = f"DMA-BUF: open kernel modules on {_kernel_text(EFA_DMABUF)}, EFA plugin {plugin}"
            return passed(check, what, SOURCE_EFA_DMABUF)
        what = "the EFA driver does not say, efa_nv_peermem is not loaded, and DMA-BUF is not proved"
        return unknown(check, what, remedy, source)
    return passed(check, f"peer memory on {len(devices)} devices", source)


def _hugepages(host: Host) -> Result:
    source = "EKS User Guide, node-efa.html"
    text = host.read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
    if text is None or not text.isdigit():
        return unknown(
            "hugepages", "the kernel does not say", "Look at /proc/meminfo, HugePages_Total.", source
        )
    if int(text) < HUGEPAGES:
        remedy = f"sysctl -w vm.nr_hugepages={HUGEPAGES}; reboot if the kernel gives fewer."
        return failed("hugepages", f"{text} of {HUGEPAGES} pages of 2 MiB", remedy, source)
    return passed("hugepages", f"{text} pages of 2 MiB", source)


# ---- InfiniBand -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Port:
    device: str
    port: str
    state: str
    gbps: float
    pkeys: tuple[str, ...]
    """Partition keys, lower case with 0x, the empty ones left out."""


def infiniband_ports(host: Host) -> list[Port]:
    """By link layer, not by name: Azure's Ethernet device is an mlx5 device too (azhpc-images#327)."""
    ports = []
    for path in host.glob("/sys/class/infiniband/*/ports/*"):
        if host.read(f"{path}/link_layer") != "InfiniBand":
            continue
        parts = path.split("/")
        rate = re.match(r"[\d.]+", host.read(f"{path}/rate") or "")
        keys = [(host.read(key) or "").lower() for key in host.glob(f"{path}/pkeys/*")]
        ports.append(
            Port(
                parts[-3],
                parts[-1],
                (host.read(f"{path}/state") or "unknown").partition(": ")[2] or "unknown",
                float(rate[0]) if rate else 0.0,
                tuple(key for key in keys if key not in ("", "0x0000")),
            )
        )
    return ports


def _infiniband(host: Host, size: NodeSize, partition: int | None) -> Iterator[Result]:
    ports = infiniband_ports(host)
    active = [port for port in ports if port.state == "ACTIVE"]
    down = ", ".join(f"{port.device} is {port.state}" for port in ports if port.state != "ACTIVE")
    wanted = size.fabric_ports
    if len(active) == wanted:
        yield passed("infiniband-ports", f"{wanted} ports are active")
    else:
        remedy = "systemctl restart openibd; if a port stays down, replace the node."
        if not ports:
            remedy = f"Are the drivers loaded (systemctl status openibd), and is this really a {size.name}?"
        what = f"{len(active)} of {wanted} ports are active" + (f" ({down})" if down else "")
        yield failed("infiniband-ports", what, remedy)
    if not ports:
        return
    slow = [port for port in active if port.gbps < size.fabric_port_gbps]
    if slow:
        what = ", ".join(f"{port.device}: {port.gbps:g} of {size.fabric_port_gbps:g} Gb/s" for port in slow)
        yield failed("infiniband-rate", what, "Reboot; if the rate stays, replace the node.")
    elif active:
        yield passed("infiniband-rate", f"{size.fabric_port_gbps:g} Gb/s on every active port")
    yield _partition(active or ports, partition)
    yield _peer_memory(host)


FULL_MEMBER, DEFAULT_KEY = 0x8000, 0xFFFF
"""The first bit of a partition key, and the default partition with it. InfiniBand Architecture 1.4, 10.9.1."""


def _is_full_member(key: str) -> bool:
    """Of a partition of its own: every port may be in the default one."""
    number = int(key, 16) if re.fullmatch(r"0x[0-9a-f]{4}", key) else 0
    return bool(number & FULL_MEMBER) and number != DEFAULT_KEY


def _partition(ports: list[Port], partition: int | None) -> Result:
    """Ports talk to each other in a common partition only, as full members."""
    check = "partition-key"
    remedy = (
        "Nodes share a partition in one Uniform scale set with singlePlacementGroup, or one availability set."
    )
    joined = {port.device: {key for key in port.pkeys if _is_full_member(key)} for port in ports}
    without = [device for device, keys in joined.items() if not keys]
    if without:
        keys = sorted({key for port in ports for key in port.pkeys}) or ["none"]
        return failed(
            check, f"{', '.join(without)} joined no partition (keys: {', '.join(keys)})", remedy, SOURCE_PKEY
        )
    if partition is not None:
        wanted = partition & ~FULL_MEMBER
        wrong = [
            dev for dev, keys in joined.items() if wanted not in {int(key, 16) & ~FULL_MEMBER for key in keys}
        ]
        if wrong:
            has = sorted(set().union(*joined.values()))
            what = f"{', '.join(wrong)}: partition {', '.join(has)}, and the cluster's is {partition:#06x}"
            return failed(check, what, remedy, SOURCE_PKEY)
    common = set.intersection(*joined.values())
    if not common:
        what = "; ".join(f"{device}: {', '.join(sorted(keys))}" for device, keys in joined.items())
        return failed(check, f"the ports are in different partitions ({what})", remedy, SOURCE_PKEY)
    most = Counter(key for keys in joined.values() for key in keys).most_common(1)[0][0]
    return passed(check, most, SOURCE_PKEY)


def _peer_memory(host: Host) -> Result:
    check, source = "gpudirect", "Azure/azhpc-images 8e9d055, setup_sku_customizations.sh"
    loaded = [name for name in ("nvidia_peermem", "nv_peer_mem") if host.exists(f"/sys/module/{name}")]
    if loaded:
        return passed(check, f"{loaded[0]} is loaded", source)
    if has_dmabuf(host, DMABUF):
        what = f"DMA-BUF: open kernel modules on {_kernel_text(DMABUF)}"
        return passed(check, what, "NCCL user guide, NCCL_DMABUF_ENABLE")
    return failed(
        check, "no peer memory module is loaded, and DMA-BUF is not there", "modprobe nvidia_peermem", source
    )
