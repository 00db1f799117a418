"""GPUs: how many, of which model, and whether one is ill. Everything from one `nvidia-smi -q -x`."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.hardware.nvlink import nvlink
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Result, failed, passed, unknown

SOURCE_XID: Final = "NVIDIA, XID Errors"

#: XIDs that a program causes by itself; every other one is about the hardware or the driver.
PROGRAM_XIDS: Final[Mapping[int, str]] = {
    13: "graphics engine exception",
    31: "memory page fault",
    43: "GPU stopped processing",
    45: "preemptive cleanup",
    68: "video processor exception",
}

#: Reasons to run slower that are faults; a power cap under load and an idle clock are not.
FAULTY_SLOWDOWNS: Final = (
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sw_thermal_slowdown",
)


@dataclass(frozen=True)
class GpuReading:
    """One `gpu` element; None where nvidia-smi says N/A or leaves it out."""

    index: int
    busid: str
    """NCCL's spelling, `dddd:bb:dd.f`."""
    model: str
    ecc: str | None
    uncorrectable: int | None
    """Uncorrectable ECC errors since the driver was loaded."""
    remap_pending: bool | None
    remap_failed: bool | None
    slowdowns: tuple[str, ...]
    slowdowns_known: bool
    link_width: tuple[int, int] | None
    """Lanes now and at most."""
    fabric_state: str | None
    fabric_status: str | None
    recovery: str | None
    """What the driver wants to be done about the GPU, `None` for nothing; drivers before 570 do not say."""


@dataclass(frozen=True)
class GpuReadings:
    driver: str | None
    gpus: tuple[GpuReading, ...]
    problem: str = ""
    """Why there are none."""
    facts: Mapping[str, str] = field(default_factory=dict)


def read_gpus(host: Host) -> GpuReadings:
    ran = host.run("nvidia-smi", "-q", "-x")
    if ran is None:
        return GpuReadings(None, (), "nvidia-smi is not installed")
    if not ran.ok:
        return GpuReadings(None, (), f"nvidia-smi: {ran.said}")
    return parse_gpus(ran.out)


def parse_gpus(text: str) -> GpuReadings:
    """Both spellings of the clock reasons and of the ECC counters, old drivers' and new."""
    try:
        log = ET.fromstring(text)
    except ET.ParseError as error:
        return GpuReadings(None, (), f"nvidia-smi -q -x printed no XML: {error}")
    gpus = tuple(_reading(number, gpu) for number, gpu in enumerate(log.iter("gpu")))
    return GpuReadings(_text(log, "driver_version"), gpus, "" if gpus else "nvidia-smi lists no GPU")


def _text(element: ET.Element, path: str) -> str | None:
    found = element.findtext(path)
    return None if found is None or found.strip() in ("N/A", "[N/A]", "") else found.strip()


def _yes(element: ET.Element, path: str) -> bool | None:
    """None for every other word: what is not understood is not known."""
    return {"Yes": True, "No": False}.get(_text(element, path) or "")


def _reading(number: int, gpu: ET.Element) -> GpuReading:
    volatile = gpu.find("ecc_errors/volatile")
    counters = (
        []
        if volatile is None
        else [_text(volatile, item.tag) for item in volatile if "uncorrectable" in item.tag]
    )
    known = [int(counter) for counter in counters if counter is not None and counter.isdigit()]
    reasons = gpu.find("clocks_event_reasons")
    if reasons is None:
        reasons = gpu.find("clocks_throttle_reasons")
    active = {
        re.sub(r"^clocks_(event|throttle)_reason_", "", item.tag): (item.text or "").strip()
        for item in (reasons if reasons is not None else ())
    }
    widths = [
        _text(gpu, f"pci/pci_gpu_link_info/link_widths/{which}_link_width") for which in ("current", "max")
    ]
    lanes = [int(width.rstrip("x")) for width in widths if width is not None and width.rstrip("x").isdigit()]
    domain, _, rest = gpu.get("id", "").lower().partition(":")
    return GpuReading(
        index=number,
        busid=f"{domain[-4:]}:{rest}",
        model=_text(gpu, "product_name") or "",
        ecc=_text(gpu, "ecc_mode/current_ecc"),
        uncorrectable=sum(known) if known else None,
        remap_pending=_yes(gpu, "remapped_rows/remapped_row_pending"),
        remap_failed=_yes(gpu, "remapped_rows/remapped_row_failure"),
        slowdowns=tuple(name for name in FAULTY_SLOWDOWNS if active.get(name) == "Active"),
        slowdowns_known=all(active.get(name) in ("Active", "Not Active") for name in FAULTY_SLOWDOWNS),
        link_width=(lanes[0], lanes[1]) if len(lanes) == 2 else None,
        fabric_state=_text(gpu, "fabric/state"),
        fabric_status=_text(gpu, "fabric/status"),
        recovery=_text(gpu, "gpu_recovery_action"),
    )


def check_gpus(host: Host, size: NodeSize, read: GpuReadings) -> Iterator[Result]:
    if read.problem:
        remedy = (
            "Load the driver of the image (nvidia-smi must list the GPUs); reboot the node, else replace it."
        )
        yield failed("gpu-count", read.problem, remedy)
        return
    found, wanted = len(read.gpus), size.gpu.count
    yield (
        passed("gpu-count", f"{found} GPUs")
        if found == wanted
        else failed(
            "gpu-count",
            f"{found} of {wanted} GPUs",
            "Look for the missing one in dmesg (XID 79: fallen off the bus); reboot, else replace the node."
            if found < wanted
            else f"This node is larger than {size.name}: give its own --size.",
        )
    )
    others = sorted(
        {
            gpu.model
            for gpu in read.gpus
            if size.gpu.model not in gpu.model.split() and size.gpu.model not in re.split(r"[ -]", gpu.model)
        }
    )
    yield (
        failed(
            "gpu-model",
            f"{', '.join(others)}, and {size.name} has {size.gpu.model}",
            "Give the right --size.",
        )
        if others
        else passed("gpu-model", read.gpus[0].model)
    )
    yield _ecc(read)
    yield _remapping(read)
    yield from _recovery(read)
    yield _throttling(read)
    yield _pcie(read)
    yield _xids(host)
    yield from _nvlink(host, size)
    yield from _fabric_manager(host, size, read)


def _list(gpus: list[GpuReading]) -> str:
    return ", ".join(f"GPU {gpu.index} ({gpu.busid})" for gpu in gpus)


def _ecc(read: GpuReadings) -> Result:
    remedy = "Reset the GPU (nvidia-smi -r) or reboot; if errors come back, replace the node."
    bad = [gpu for gpu in read.gpus if gpu.uncorrectable]
    if bad:
        counts = ", ".join(f"GPU {gpu.index} ({gpu.busid}): {gpu.uncorrectable}" for gpu in bad)
        return failed("gpu-ecc", f"uncorrectable memory errors: {counts}", remedy)
    off = [gpu for gpu in read.gpus if gpu.ecc == "Disabled"]
    if off:
        return failed("gpu-ecc", f"ECC is off: {_list(off)}", "Switch it on (nvidia-smi -e 1) and reboot.")
    if any(gpu.uncorrectable is None or gpu.ecc != "Enabled" for gpu in read.gpus):
        return unknown("gpu-ecc", "nvidia-smi does not say", "Compare with `nvidia-smi -q -d ECC`.")
    return passed("gpu-ecc", "on, no uncorrectable errors")


def _remapping(read: GpuReadings) -> Result:
    broken = [gpu for gpu in read.gpus if gpu.remap_failed]
    if broken:
        return failed("gpu-memory-rows", f"row remapping failed: {_list(broken)}", "Replace the node.")
    pending = [gpu for gpu in read.gpus if gpu.remap_pending]
    if pending:
        return failed(
            "gpu-memory-rows", f"row remapping is pending: {_list(pending)}", "Reset the GPU, or reboot."
        )
    if any(gpu.remap_failed is None or gpu.remap_pending is None for gpu in read.gpus):
        return unknown(
            "gpu-memory-rows", "nvidia-smi does not say", "Compare with `nvidia-smi -q -d ROW_REMAPPER`."
        )
    return passed("gpu-memory-rows", "none pending or failed")


def _recovery(read: GpuReadings) -> Iterator[Result]:
    """nvidia-smi's gpu_recovery_action; nothing where no GPU has it."""
    check = "gpu-recovery"
    if all(gpu.recovery is None for gpu in read.gpus):
        return
    wanted = [
        f"GPU {gpu.index} ({gpu.busid}): {gpu.recovery}"
        for gpu in read.gpus
        if gpu.recovery not in (None, "None")
    ]
    if wanted:
        remedy = "Do what it says (nvidia-smi -r for a reset); if it comes back, replace the node."
        yield failed(check, f"the driver asks for {', '.join(wanted)}", remedy)
    elif any(gpu.recovery is None for gpu in read.gpus):
        yield unknown(check, "nvidia-smi says it of some GPUs only", "Compare with `nvidia-smi -q`.")
    else:
        yield passed(check, "the driver asks for nothing")


def _throttling(read: GpuReadings) -> Result:
    slow = [gpu for gpu in read.gpus if gpu.slowdowns]
    if slow:
        what = ", ".join(f"GPU {gpu.index} ({gpu.busid}): {' and '.join(gpu.slowdowns)}" for gpu in slow)
        return failed(
            "gpu-throttling", what, "The node is too hot or short of power: take it out and tell the cloud."
        )
    if not all(gpu.slowdowns_known for gpu in read.gpus):
        return unknown(
            "gpu-throttling", "nvidia-smi does not say", "Compare with `nvidia-smi -q -d PERFORMANCE`."
        )
    return passed("gpu-throttling", "none")


def _pcie(read: GpuReadings) -> Result:
    narrow = [gpu for gpu in read.gpus if gpu.link_width and gpu.link_width[0] < gpu.link_width[1]]
    if narrow:
        what = ", ".join(
            f"GPU {g.index} ({g.busid}): x{g.link_width[0]} of x{g.link_width[1]}"
            for g in narrow
            if g.link_width
        )
        return failed("gpu-pcie", what, "Reboot; if it stays, replace the node.")
    if any(gpu.link_width is None for gpu in read.gpus):
        return unknown("gpu-pcie", "the width of a link is not known", "Compare with `nvidia-smi -q`, PCI.")
    return passed("gpu-pcie", "every link at its full width")


def _kernel_logs(host: Host) -> Iterator[str]:
    """What may be read of this boot's kernel log. Who may not read it gets an error, or no line and exit code 0."""
    for argv in (("dmesg",), ("journalctl", "--dmesg", "--boot", "--no-pager", "--quiet")):
        ran = host.run(*argv)
        if ran is not None and ran.ok and ran.out.strip():
            yield ran.out


def _xids(host: Host) -> Result:
    """A pass needs a log that reaches back to the boot: the ring buffer forgets."""
    check, logs = "gpu-xid", [*_kernel_logs(host)]
    found = {
        (match[1].lower(), int(match[2]))
        for log in logs
        for match in re.finditer(r"NVRM: Xid \(([^)]*)\): (\d+)", log)
    }
    hardware = sorted((where, xid) for where, xid in found if xid not in PROGRAM_XIDS)
    if hardware:
        what = ", ".join(f"XID {xid} on {where}" for where, xid in hardware)
        return failed(check, what, "Reboot; if it comes back, replace the node.", SOURCE_XID)
    remedy = "Run as root, or look for `NVRM: Xid` in it."
    if not logs:
        return unknown(check, "the kernel's log cannot be read", remedy)
    if not any("Linux version " in log for log in logs):
        return unknown(check, "the kernel's log does not reach back to the boot", remedy)
    return passed(check, f"none but {len(found)} that programs cause" if found else "none")


def _nvlink(host: Host, size: NodeSize) -> Iterator[Result]:
    wanted = nvlink(size.gpu.model, size.gpu.count)
    if wanted is not None and wanted.links == 0:
        return
    ran = host.run("nvidia-smi", "nvlink", "--status")
    if ran is None or not ran.ok or wanted is None:
        why = (
            f"how many links {size.gpu.model} has is not known"
            if wanted is None
            else "nvidia-smi does not say"
        )
        yield unknown("nvlink", why, "Compare with `nvidia-smi nvlink --status`.")
        return
    up: dict[int, int] = {}
    for line in ran.out.splitlines():
        head = re.match(r"GPU (\d+):", line)
        if head:
            up[int(head[1])] = 0
        elif up and re.match(r"\s*Link \d+: [\d.]+ GB/s", line):
            up[max(up)] += 1
    short = {gpu: count for gpu, count in up.items() if count != wanted.links}
    if short or len(up) != size.gpu.count:
        told = [f"GPU {gpu}: {count} of {wanted.links} links" for gpu, count in short.items()]
        if len(up) != size.gpu.count:
            told.append(f"links of {len(up)} of {size.gpu.count} GPUs are listed")
        what = ", ".join(told)
        remedy = (
            "Reload the driver or reboot (azhpc-images#443: a race at boot); if it stays, replace the node."
        )
        yield failed("nvlink", what, remedy, wanted.source)
    else:
        yield passed("nvlink", f"{wanted.links} links up on each of {len(up)} GPUs", wanted.source)


def _fabric_manager(host: Host, size: NodeSize, read: GpuReadings) -> Iterator[Result]:
    joined = nvlink(size.gpu.model, size.gpu.count)
    if joined is None or not joined.switched:
        return
    check = "fabricmanager"
    remedy = (
        "systemctl restart nvidia-fabricmanager; its version must be the driver's (azhpc-images#86, #334)."
    )
    ran = host.run("systemctl", "is-active", "nvidia-fabricmanager")
    state = ran.out.strip() if ran is not None else ""
    if not state:
        yield unknown(check, "systemctl does not say", "Look for the process nv-fabricmanager.")
        return
    if state != "active":
        yield failed(check, f"the service is {state}", remedy)
        return
    states = [(gpu.fabric_state, gpu.fabric_status) for gpu in read.gpus if gpu.fabric_state]
    bad = sorted({f"{now}, {status}" for now, status in states if (now, status) != ("Completed", "Success")})
    version = host.run("nv-fabricmanager", "--version")
    number = re.search(r"(\d+\.\d+\.\d+)", version.out + version.err) if version else None
    if bad:
        yield failed(check, f"the GPUs' fabric state is {bad[0]}", remedy)
    elif states and len(states) < len(read.gpus):
        what = f"active, and {len(states)} of {len(read.gpus)} GPUs say their fabric state"
        yield unknown(check, what, "Compare with `nvidia-smi -q`, Fabric.")
    elif number is None or read.driver is None:
        what = "active; its version and the driver's cannot be compared"
        yield unknown(check, what, "Compare `nv-fabricmanager --version` with nvidia-smi.")
    elif number[1] != read.driver:
        yield failed(check, f"version {number[1]}, and the driver is {read.driver}", remedy)
    else:
        yield passed(check, "active")
