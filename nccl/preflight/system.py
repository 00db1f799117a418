"""The operating system of one node: limits, NUMA and PCI layout, interface names, clock, disk."""

from __future__ import annotations

import json
import os
import re
import resource
from collections.abc import Iterator
from typing import Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Result, failed, passed, unknown, warned
from gpu_fabric.nccl.topology import Pci, Topology, TopologyError, parse

MEMLOCK_BYTES: Final = 16 * 2**30
"""awslabs/awsome-distributed-training 0edaf152: its health check wants at least 16 GiB."""

FREE_SHARE: Final = 0.05
"""Of the root file system: checkpoints that fill it stop the node's services."""


def check_memlock(limit: int | None = None) -> Result:
    """The limit of this very process: what a job started the same way gets. `limit` in bytes, -1 for none."""
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] if limit is None else limit
    source = "awslabs/awsome-distributed-training 0edaf152, health check"
    if soft == resource.RLIM_INFINITY:
        return passed("memlock", "unlimited", source)
    if soft >= MEMLOCK_BYTES:
        return passed("memlock", f"{soft / 2**30:.0f} GiB", source)
    remedy = (
        "Set `* - memlock unlimited` in /etc/security/limits.d, DefaultLimitMEMLOCK=infinity for services, "
        "--ulimit memlock=-1 for containers; start the shell or the Slurm daemon anew."
    )
    return failed(
        "memlock",
        f"{soft // 1024} KiB may be locked, and RDMA wants {MEMLOCK_BYTES / 2**30:.0f} GiB",
        remedy,
        source,
    )


def check_numa(host: Host, size: NodeSize) -> Iterator[Result]:
    if size.numa_nodes is None:
        return
    found = len(
        [path for path in host.glob("/sys/devices/system/node/node*") if path.rpartition("node")[2].isdigit()]
    )
    if found == size.numa_nodes:
        yield passed("numa", f"{found} nodes")
    elif found == 0:
        yield unknown("numa", "the kernel lists no NUMA node", "Compare with `lscpu`.")
    else:
        remedy = "Is this the size that was asked for? The affinity masks of its topology file do not fit."
        yield failed("numa", f"{found} nodes, and {size.name} has {size.numa_nodes}", remedy)


def active_topology(host: Host, environment: dict[str, str]) -> tuple[str | None, str]:
    """The file that NCCL will load, and who names it; None where none is named."""
    path = environment.get("NCCL_TOPO_FILE")
    if path:
        return path, "NCCL_TOPO_FILE"
    fallback = "/var/run/nvidia-topologyd/virtualTopology.xml"
    return (fallback, "NCCL's default") if host.exists(fallback) else (None, "")


def check_topology(host: Host, environment: dict[str, str]) -> Iterator[Result]:
    """NCCL says at INFO level only that the file is absent, and then detects what it can."""
    path, who = active_topology(host, environment)
    if path is None:
        if host.exists(paths.TOPOLOGY):
            yield from _layout(host, paths.TOPOLOGY, "installed, not active")
        return
    if path.startswith("/proc/"):
        yield passed("topology-file", f"{path}: written by the EFA plugin at run time")
        return
    if not host.exists(path):
        remedy = "Put the file there (gpu-fabric topology SIZE), mount it into the container, or unset the variable."
        yield failed(
            "topology-file",
            f"{who} names {path}, which does not exist",
            remedy,
            "NVIDIA/nccl src/graph/xml.cc",
        )
        return
    yield from _layout(host, path, f"{path}, named by {who}")


def _layout(host: Host, path: str, what: str) -> Iterator[Result]:
    source = "NVIDIA/nccl src/graph/xml.cc"
    try:
        topology = parse(host.read(path) or "")
    except TopologyError as error:
        yield failed("topology-file", f"{path}: {error}", "gpu-fabric lint FILE says how to mend it.", source)
        return
    yield passed("topology-file", what, source)
    wrong = [*_wrong_places(host, topology)]
    remedy = "Write the file of this very node: gpu-fabric topology --from-host."
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        yield failed("pci-layout", "; ".join(wrong[:3]) + more, remedy)
    else:
        yield passed("pci-layout", "every device of the topology file is where the file has it")


def _wrong_places(host: Host, topology: Topology) -> Iterator[str]:
    """Devices of the file that the node lacks, or has on another NUMA node; invented switches do not count."""
    for cpu in topology.cpus:
        stack = [*cpu.pcis]
        while stack:
            pci: Pci = stack.pop(0)
            stack = [*pci.pcis, *stack]
            if pci.busid.startswith("ffff:"):
                continue
            place = f"/sys/bus/pci/devices/{pci.busid}"
            if not host.exists(place):
                yield f"{pci.busid} is not on this node"
                continue
            numa = host.read(f"{place}/numa_node")
            # A virtual machine that hides it says -1: nothing to compare.
            if numa is not None and numa.isdigit() and int(numa) != cpu.numaid:
                yield f"{pci.busid} is on NUMA node {numa}, and the file has it on {cpu.numaid}"


# ---- interfaces -----------------------------------------------------------------------------------------------------


def matches_name(name: str, wanted: str) -> bool:
    """Whether NCCL takes an interface: `^` excludes, `=` compares whole names, else prefixes.

    NVIDIA/nccl src/misc/socket.cc, ncclFindInterfaces, and src/misc/utils.cc, matchIfList, 2.30.7.
    """
    exclude, exact = wanted.startswith("^"), "=" in wanted[:2]
    entries = [entry.partition(":")[0] for entry in wanted.lstrip("^").lstrip("=").split(",") if entry]
    hit = any(name == entry if exact else name.startswith(entry) for entry in entries)
    return not hit if exclude else hit


def interfaces(host: Host) -> list[str]:
    """Names in the kernel's order, which is NCCL's."""
    found = []
    for path in host.glob("/sys/class/net/*"):
        index = host.read(f"{path}/ifindex") or ""
        if host.exists(f"{path}/operstate"):
            found.append(
                (
                    int(index) if index.isdigit() else 10**6,
                    path.rpartition("/")[2],
                    host.read(f"{path}/operstate"),
                )
            )
    return [name for _, name, state in sorted(found) if state in ("up", "unknown")]


def check_interfaces(host: Host, environment: dict[str, str]) -> Result:
    """Which interface NCCL takes for its first words with the other ranks, and whether the others can reach it."""
    check, source = "socket-interface", "NVIDIA/nccl src/misc/socket.cc 2.30.7"
    names = interfaces(host)
    routes = [line.split() for line in (host.read("/proc/net/route") or "").splitlines()[1:]]
    default = next((row[0] for row in routes if len(row) > 2 and row[1] == "00000000"), None)
    wanted = environment.get("NCCL_SOCKET_IFNAME")
    if wanted is None:
        named_ib = [name for name in names if name.startswith("ib")]
        others = [name for name in names if not name.startswith(("docker", "lo"))]
        chosen = named_ib or others or [name for name in names if name.startswith("docker")]
        how = "NCCL_SOCKET_IFNAME is not set, and NCCL takes"
    else:
        chosen = [name for name in names if matches_name(name, wanted)]
        how = f"NCCL_SOCKET_IFNAME={wanted} gives"
    if not names or default is None:
        return unknown(
            check, "the interfaces or the default route are not known", "Compare with `ip -4 route`.", source
        )
    remedy = f"Set NCCL_SOCKET_IFNAME=={default} (the whole name), or exclude the others with ^."
    if not chosen:
        return failed(
            check,
            f"{how} none of {', '.join(names)}: NCCL stops with an obscure error (nccl#1837)",
            remedy,
            source,
        )
    if chosen[0] != default:
        return failed(
            check,
            f"{how} {chosen[0]}, which other nodes cannot reach; the way out is {default}",
            remedy,
            source,
        )
    return passed(check, f"{how} {chosen[0]}", source)


# ---- the rest -------------------------------------------------------------------------------------------------------


def check_clock(host: Host) -> Result:
    ran = host.run("timedatectl", "show", "--property=NTPSynchronized", "--value")
    remedy = "Start chrony or systemd-timesyncd: timeouts and logs of a thousand ranks are compared by time."
    if ran is not None and ran.ok:
        said = ran.out.strip()
        return (
            passed("clock", "synchronised") if said == "yes" else failed("clock", "not synchronised", remedy)
        )
    ran = host.run("chronyc", "-n", "tracking")
    if ran is not None and ran.ok:
        normal = re.search(r"Leap status\s*: Normal", ran.out)
        return (
            passed("clock", "synchronised (chrony)")
            if normal
            else failed("clock", "chrony is not synchronised", remedy)
        )
    return unknown("clock", "neither timedatectl nor chronyc answers", "Compare `date` on all nodes.")


def check_disk(host: Host) -> Iterator[Result]:
    try:
        status = os.statvfs(host.root)
        share = status.f_bavail / status.f_blocks if status.f_blocks else 1.0
    except OSError as error:
        yield unknown("disk", str(error), "Compare with `df /`.")
        return
    if share < FREE_SHARE:
        yield failed("disk", f"{share:.0%} of / is free", "Remove old checkpoints and logs.")
    else:
        yield passed("disk", f"{share:.0%} of / is free")
    plan = host.read(paths.SETUP_PLAN)
    steps = json.loads(plan).get("steps", []) if plan else []
    mount = next((step.get("mount") for step in steps if step.get("do") == "scratch"), None)
    if mount is None:
        return
    note = next(
        (
            json.loads(host.read(path) or "{}").get("reason") or ""
            for path in host.glob(f"{paths.STEPS}/*-scratch.json")
        ),
        "",
    )
    mounts = [
        line.split()[1] for line in (host.read("/proc/mounts") or "").splitlines() if len(line.split()) > 1
    ]
    if mount not in mounts:
        yield failed(
            "scratch", f"{mount} is not mounted", "systemctl restart gpu-fabric-ready; its log says why."
        )
    elif "DEGRADED" in note:
        yield warned("scratch", note, "A local disk is missing: replace the node when the job allows.")
    else:
        yield passed("scratch", note or mount)


def check_setup(host: Host) -> Iterator[Result]:
    """What our own setup says, where the node has it."""
    text = host.read(paths.READY)
    if text is None:
        return
    document = json.loads(text)
    state = document.get("state")
    if state == "ready":
        yield passed("setup", "ready")
    elif state == "failed":
        remedy = "Mend what the log in /var/log/gpu-fabric says, then systemctl restart gpu-fabric-ready."
        yield failed("setup", f"failed at {document.get('step')}: {document.get('reason')}", remedy)
    else:
        yield unknown("setup", f"still at {document.get('step')}", "Wait for gpu-fabric-ready.service.")
