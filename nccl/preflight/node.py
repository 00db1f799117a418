"""All checks of one node."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight.environment import check_environment, effective, files_read
from gpu_fabric.nccl.preflight.fabric import check_fabric
from gpu_fabric.nccl.preflight.gpus import check_gpus, read_gpus
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.result import Report, Result, unknown
from gpu_fabric.nccl.preflight.system import (
    check_clock,
    check_disk,
    check_interfaces,
    check_memlock,
    check_numa,
    check_setup,
    check_topology,
)
from gpu_fabric.nccl.preflight.versions import check_versions_of_node, read_versions


def check_node(
    size: NodeSize,
    *,
    host: Host | None = None,
    pins: Mapping[str, str] | None = None,
    partition: int | None = None,
    process: Mapping[str, str] | None = None,
    memlock: int | None = None,
) -> Report:
    """Every check that the size calls for. A check that breaks is unknown and says how, and the others go on.

    `partition` is the InfiniBand key that the cluster's other nodes have; `process` the environment of the job.
    """
    host = Host() if host is None else host
    process = dict(os.environ) if process is None else dict(process)
    read = read_gpus(host)
    versions = read_versions(host, read)
    values = effective(files_read(host, process), process)
    checks: list[tuple[str, Callable[[], Iterable[Result]]]] = [
        ("setup", lambda: check_setup(host)),
        ("gpu", lambda: check_gpus(host, size, read)),
        ("fabric", lambda: check_fabric(host, size, partition, versions.get("plugin"))),
        ("versions", lambda: check_versions_of_node(host, versions, pins or {})),
        ("memlock", lambda: [check_memlock(memlock)]),
        ("numa", lambda: check_numa(host, size)),
        ("topology", lambda: check_topology(host, values)),
        ("environment", lambda: check_environment(host, size, versions, process)),
        ("socket-interface", lambda: [check_interfaces(host, values)]),
        ("clock", lambda: [check_clock(host)]),
        ("disk", lambda: check_disk(host)),
    ]
    results = tuple(result for name, check in checks for result in _guarded(name, check))
    name = host.read("/proc/sys/kernel/hostname") or platform.node()
    return Report(f"{name} ({size.name})", results, {"size": size.name, "versions": versions})


def _guarded(name: str, check: Callable[[], Iterable[Result]]) -> Iterator[Result]:
    try:
        yield from check()
    except Exception as error:
        # Whatever a stranger's node holds, one check must not take the others with it.
        yield unknown(
            name,
            f"the check broke: {type(error).__name__}: {error}",
            "Report it, with the file or output that it read.",
        )
