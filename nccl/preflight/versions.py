"""Versions of what carries the traffic, and whether they are those that were pinned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.preflight.gpus import GpuReadings
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Result, failed, passed, unknown

COMPONENTS: Final = ("driver", "cuda", "efa", "libfabric", "plugin", "nccl", "kernel")
"""What `--pin` and `bootstrap.versions` may name."""

_COMMANDS: Final[Mapping[str, str]] = {
    "driver": "nvidia-smi",
    "cuda": "nvidia-smi",
    "efa": "cat /opt/amazon/efa_installed_packages",
    "libfabric": "fi_info --version",
    "plugin": "the log line `Initializing aws-ofi-nccl` of a run with NCCL_DEBUG=INFO",
    "nccl": "ls -l of libnccl.so.2",
    "kernel": "uname -r",
}


def read_versions(host: Host, gpus: GpuReadings) -> dict[str, str]:
    """Component → version, those that can be found without starting anything on a GPU."""
    found = {
        "driver": gpus.driver,
        "kernel": host.read("/proc/sys/kernel/osrelease"),
        "nccl": _nccl(host),
        **_efa(host),
        **_azure(host),
    }
    return {name: version for name, version in sorted(found.items()) if version}


def _efa(host: Host) -> dict[str, str]:
    text = host.read("/opt/amazon/efa_installed_packages") or ""
    patterns = {
        "efa": r"EFA installer version: ([\d.]+)",
        "libfabric": r"libfabric\d*-aws[-_]([\d.]+)",
        "plugin": r"libnccl-ofi[-_]([\d.]+)",
    }
    return {
        name: match[1].rstrip(".")
        for name, pattern in patterns.items()
        if (match := re.search(pattern, text))
    }


def _azure(host: Host) -> dict[str, str]:
    try:
        listed = json.loads(host.read("/opt/azurehpc/component_versions.txt") or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(listed, dict):
        return {}
    names = {"NCCL": "nccl", "CUDA": "cuda"}
    found = {
        names[key]: re.match(r"\d+(?:\.\d+)+", str(value)) for key, value in listed.items() if key in names
    }
    return {name: match[0] for name, match in found.items() if match}


def _nccl(host: Host) -> str | None:
    """From the name of the library that the loader would take."""
    ran = host.run("ldconfig", "-p")
    listed = re.findall(r"libnccl\.so\.2 .*=> (\S+)", ran.out if ran else "")
    for path in listed:
        match = re.search(r"libnccl\.so\.(\d+\.\d+\.\d+)", str(host.path(path).resolve()))
        if match:
            return match[1]
    return None


def is_pinned(version: str, pin: str) -> bool:
    """Whether a version is the pinned one, or begins with it component by component: 580 takes 580.173.02."""
    parts, wanted = re.split(r"[.-]", version), re.split(r"[.-]", pin)
    return parts[: len(wanted)] == wanted


def version_problem(text: str) -> str | None:
    """Why a text is no version that a node can be held to; None where it is one."""
    if re.fullmatch(r"[0-9]+([.-][0-9A-Za-z+~_]+)*", text):
        return None
    return f"{text!r} is no version such as '580' or '2.27.5'"


def pins_of_node(host: Host) -> dict[str, str] | None:
    """What the node's own setup demands; empty where it demands nothing, None where its file cannot be read."""
    if not host.exists(paths.VERSIONS):
        return {}
    try:
        document = json.loads(host.read(paths.VERSIONS) or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not all(isinstance(pin, str) for pin in document.values()):
        return None
    return {name: pin for name, pin in document.items() if name in COMPONENTS}


def check_versions_of_node(
    host: Host, found: Mapping[str, str], given: Mapping[str, str]
) -> Iterator[Result]:
    """What was found against what the node's setup demands; `given` wins, name by name."""
    own = pins_of_node(host)
    if own is None:
        what = f"{paths.VERSIONS} cannot be read: which versions are demanded is not known"
        yield unknown("versions", what, "Launch the node again, or compare with another node's.")
    yield from check_versions(found, {**(own or {}), **given})


def check_versions(found: Mapping[str, str], pins: Mapping[str, str]) -> Iterator[Result]:
    for name, pin in pins.items():
        check = f"version-{name}"
        version = found.get(name)
        if version is None:
            yield unknown(check, f"not found; {pin} is pinned", f"Compare with {_COMMANDS[name]}.")
        elif is_pinned(version, pin):
            yield passed(check, version)
        else:
            remedy = "Launch the node from the pinned image, and hold its packages."
            yield failed(check, f"{version}, and {pin} is pinned", remedy)
