"""The operating system of one node: limits, NUMA and PCI layout, interface names, clock, disk."""

from __future__ import annotations

import json
import os
import re
import resource
from collections.abc import Iterator
from typing import Any, Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Result, failed, passed, some, unknown, warned
from gpu_fabric.nccl.text import without_suffix
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
    places = [*_places(topology)]
    wrong = [what for busid, numa in places if (what := _wrong_place(host, busid, numa))]
    mute = [busid for busid, _ in places if host.read(f"/sys/bus/pci/devices/{busid}/numa_node") is None]
    remedy = "Write the file of this very node: gpu-fabric topology --from-host."
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        yield failed("pci-layout", "; ".join(wrong[:3]) + more, remedy)
    elif mute or not places:
        what = f"the kernel does not say the NUMA node of {some(mute)}" if mute else "the file has no device"
        yield unknown("pci-layout", what, "Compare with `lspci -vv` and `lscpu`.")
    else:
        yield passed("pci-layout", "every device of the topology file is where the file has it")


def _places(topology: Topology) -> Iterator[tuple[str, int]]:
    """Bus id and NUMA node of every device of a file; invented switches (ffff:…) are none."""
    for cpu in topology.cpus:
        stack = [*cpu.pcis]
        while stack:
            pci: Pci = stack.pop(0)
            stack = [*pci.pcis, *stack]
            if not pci.busid.startswith("ffff:"):
                yield pci.busid, cpu.numaid


def _wrong_place(host: Host, busid: str, numaid: int) -> str:
    """What is wrong with the place of a device; empty where nothing is."""
    place = f"/sys/bus/pci/devices/{busid}"
    if not host.exists(place):
        return f"{busid} is not on this node"
    numa = host.read(f"{place}/numa_node")
    # A virtual machine that hides it says -1: nothing to compare.
    if numa is not None and numa.isdigit() and int(numa) != numaid:
        return f"{busid} is on NUMA node {numa}, and the file has it on {numaid}"
    return ""


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
    wanted = environment.get("NCCL_SOCKET_IFNAME", "")
    # NCCL takes a value of one character for none.
    if len(wanted) <= 1:
        named_ib = [name for name in names if name.startswith("ib")]
        others = [name for name in names if not name.startswith(("docker", "lo", "virbr"))]
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
    said = ran.out.strip() if ran is not None and ran.ok else ""
    if said in ("yes", "no"):
        return (
            passed("clock", "synchronised") if said == "yes" else failed("clock", "not synchronised", remedy)
        )
    ran = host.run("chronyc", "-n", "tracking")
    leap = re.search(r"Leap status\s*: (.+)", ran.out) if ran is not None and ran.ok else None
    if leap is not None:
        normal = leap[1].strip() == "Normal"
        return (
            passed("clock", "synchronised (chrony)")
            if normal
            else failed("clock", "chrony is not synchronised", remedy)
        )
    return unknown("clock", "neither timedatectl nor chronyc answers", "Compare `date` on all nodes.")


def check_disk(host: Host) -> Iterator[Result]:
    try:
        status = os.statvfs(host.root)
        share = status.f_bavail / status.f_blocks
    except (OSError, ZeroDivisionError) as error:
        yield unknown("disk", f"how full / is, is not known: {error}", "Compare with `df /`.")
        return
    if share < FREE_SHARE:
        yield failed("disk", f"{share:.0%} of / is free", "Remove old checkpoints and logs.")
    else:
        yield passed("disk", f"{share:.0%} of / is free")
    plan = read_object(host, paths.SETUP_PLAN)
    if plan is None:
        return
    steps = plan.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        what = f"{paths.SETUP_PLAN} cannot be read: where the local disks belong is not known"
        yield unknown("scratch", what, "Launch the node again, or compare with another node's.")
        return
    mount = next((step.get("mount") for step in steps if step.get("do", step.get("name")) == "scratch"), None)
    if mount is None:
        return
    notes = [read_object(host, path) or {} for path in host.glob(f"{paths.STEPS}/*-scratch.json")]
    note = str(next((found["reason"] for found in notes if found.get("reason")), ""))
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


def read_object(host: Host, path: str) -> dict[str, Any] | None:
    """A JSON object of our own files; empty where the file is damaged, None where it is not there."""
    if not host.exists(path):
        return None
    try:
        document = json.loads(host.read(path) or "")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def check_setup(host: Host) -> Iterator[Result]:
    """What our own setup says, where the node has it."""
    document = read_object(host, paths.READY)
    if document is None:
        if host.exists(paths.SETUP_PLAN):
            what = f"{paths.READY} is not there: the setup of this boot has not begun"
            yield unknown("setup", what, "systemctl status gpu-fabric-ready says why.")
        return
    state, step = document.get("state"), document.get("step")
    if state not in ("ready", "failed", "running"):
        what = f"{paths.READY} cannot be read"
        yield unknown("setup", what, "systemctl restart gpu-fabric-ready writes it anew.")
    elif state == "running" and "gpu-fabric-ready.service" in (host.read("/proc/self/cgroup") or ""):
        yield _steps_before(host, str(step))
    elif state == "ready":
        yield passed("setup", "ready")
    elif state == "failed":
        remedy = "Mend what the log in /var/log/gpu-fabric says, then systemctl restart gpu-fabric-ready."
        yield failed("setup", f"failed at {step}: {document.get('reason')}", remedy)
    else:
        yield unknown("setup", f"still at {step}", "Wait for gpu-fabric-ready.service.")


def _steps_before(host: Host, step: str) -> Result:
    """This very check is a step of the setup: it waits for itself nowhere, and looks at the steps before it."""
    states = {
        without_suffix(path.rpartition("/")[2], ".json"): str((read_object(host, path) or {}).get("state"))
        for path in host.glob(f"{paths.STEPS}/*.json")
    }
    before = {name: state for name, state in states.items() if name < step}
    open_ = [f"{name} is {state}" for name, state in before.items() if state not in ("ok", "skipped")]
    if open_ or not before:
        what = "; ".join(open_) or f"nothing is known of the steps before {step}"
        return unknown("setup", what, f"Compare with the status files in {paths.STEPS}.")
    return passed("setup", f"{len(before)} steps before {step} are through; this check is that step's")
