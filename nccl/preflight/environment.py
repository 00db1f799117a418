"""What NCCL will read on this node, as NCCL reads it, and what the lint says of it with the node's real versions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.environment import DEFAULT_NCCL_VERSION, situation_of
from gpu_fabric.nccl.findings import Finding, Level
from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.lint import lint
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Result, failed, passed, some, unknown, warned

PREFIXES: Final = ("NCCL_", "FI_", "CUDA_DEVICE_ORDER", "UCX_", "OMPI_MCA_", "RDMAV_", "SHARP_")


def files_read(host: Host, process: Mapping[str, str]) -> dict[str, str]:
    """Path → text of NCCL's files, the one that wins first. NVIDIA/nccl src/misc/param.cc 2.30.7."""
    named = process.get("NCCL_CONF_FILE") or (paths.NCCL_CONF if host.exists(paths.NCCL_CONF) else None)
    found = {}
    for path in (named, "/etc/nccl.conf"):
        text = host.read(path) if path else None
        if path and text:
            found[path] = text + "\n"
    return found


def effective(files: Mapping[str, str], process: Mapping[str, str]) -> dict[str, str]:
    """Variable → value: the process's own wins, then the files in their order."""
    values = {name: value for name, value in process.items() if name.startswith(PREFIXES)}
    for text in files.values():
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                values.setdefault(name, value)
    return values


def check_environment(
    host: Host, size: NodeSize, versions: Mapping[str, str], process: Mapping[str, str] | None = None
) -> Iterator[Result]:
    process = os.environ if process is None else process
    files = files_read(host, process)
    shell = "".join(
        f"{name}={value}\n" for name, value in sorted(process.items()) if name.startswith(PREFIXES)
    )
    unread = [
        path for path in (paths.NCCL_CONF, "/etc/nccl.conf") if host.exists(path) and host.read(path) is None
    ]
    if unread:
        what = f"{some(unread)} cannot be read: what NCCL will read is not known"
        yield unknown("environment", what, "Run as the user of the job, or as root.")
        return
    texts = {**files, **({"process.env": shell} if shell else {})}
    situation = situation_of(
        size, nccl_version=versions.get("nccl", DEFAULT_NCCL_VERSION), plugin_version=versions.get("plugin")
    )
    findings = lint(texts, situation=situation, size=size)
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    warnings = [finding for finding in findings if finding.level is Level.WARNING]
    for finding in errors:
        yield failed("environment", _what(finding), finding.remedy, finding.source)
    for finding in warnings:
        yield warned("environment", _what(finding), finding.remedy, finding.source)
    if not errors and not warnings:
        yield passed("environment", f"nothing to say about {', '.join(texts) or 'an empty environment'}")


def _what(finding: Finding) -> str:
    return f"{finding.place}: {finding.what} [{finding.code}]"
