"""What several variables, files and the topology say together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from gpu_fabric.nccl.environment.situation import PluginTopology, Role, Situation
from gpu_fabric.nccl.findings import Finding, Level
from gpu_fabric.nccl.lint.algorithms import effect_of
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix, about
from gpu_fabric.nccl.lint.filters import parse_filter
from gpu_fabric.nccl.lint.grammar import GUIDE, read_integer
from gpu_fabric.nccl.lint.names import belongs_to_others, known_names
from gpu_fabric.nccl.lint.sources import Assignment, Format, Source

MAX_FLOWS: Final = 64
"""Sockets of one connection: NCCL_SOCKET_NTHREADS × NCCL_NSOCKS_PERTHREAD."""

SECRETS: Final = frozenset({"NCCL_PSK"})
"""Variables whose values are never printed."""

_SOCKETS: Final = "NVIDIA/nccl src/transport/net_socket.cc 2.30.7"
_PARAM: Final = "NVIDIA/nccl src/misc/param.cc 2.30.7"
_TOO_LATE: Final = re.compile(r"NCCL_CONF_FILE|CUDA_DEVICE_ORDER|LD_LIBRARY_PATH|UCX_.*|OMPI_MCA_.*")
_NET_NAME: Final = re.compile(r"<net\b[^>]*\bname=[\"']([^\"']*)[\"']")


def check_file(source: Source) -> Iterator[Diagnosis]:
    """Within one file: what is set twice, what no process sees, what comes too late."""
    first: dict[str, Assignment] = {}
    for entry in source.assignments:
        before = first.get(entry.name)
        if before is not None and before.value != entry.value and not (before.default or entry.default):
            wins = (
                "the first wins, NCCL keeps what is set" if entry.format is Format.CONF else "the later wins"
            )
            yield about(
                entry,
                "env-duplicate",
                Level.WARNING,
                f"{entry.name} is set in line {before.line} and again here; where both run {wins}.",
                "Keep one.",
                _PARAM if entry.format is Format.CONF else "POSIX shell",
            )
        first.setdefault(entry.name, entry)
        if not entry.exported and not entry.default and _is_ours(entry.name):
            yield about(
                entry,
                "env-not-exported",
                Level.WARNING,
                f"{entry.name} is a variable of the shell alone: no process that it starts sees it, "
                "unless the caller had exported it.",
                f"Write export {entry.name}=….",
                "POSIX shell",
                fix=Fix(Change.EXPORT) if entry.alone else None,
            )
        if entry.format is Format.CONF and _TOO_LATE.fullmatch(entry.name):
            nccls = "nccl" in PurePath(source.path).name.lower()
            yield about(
                entry,
                "env-conf-too-late",
                Level.ERROR if nccls else Level.NOTE,
                f"{entry.name} stands in a file that NCCL reads when it starts; what needs it has been set up by then."
                if nccls
                else f"{entry.name} comes too late where NCCL itself reads this file (NCCL_CONF_FILE), and in time "
                "where a script or a container runtime does.",
                "Set it in the environment of the process.",
                _PARAM,
            )


def check_files(sources: Sequence[Source]) -> Iterator[Diagnosis]:
    """Between files: the environment of the process wins over NCCL's own files."""
    conf = {
        entry.name: entry for source in sources for entry in source.assignments if entry.format is Format.CONF
    }
    for source in sources:
        for entry in source.assignments:
            other = conf.get(entry.name)
            if entry.format is Format.CONF or other is None or other.path == entry.path:
                continue
            if None not in (entry.value, other.value) and entry.value != other.value and not entry.default:
                yield about(
                    other,
                    "env-different-files",
                    Level.WARNING,
                    f"{entry.name}={_shown(other)} is not used: the process has {_shown(entry)} "
                    f"({entry.path}:{entry.line}), which wins over NCCL's files.",
                    "Keep one of them.",
                    _PARAM,
                )


def check_together(effective: Mapping[str, Assignment], situation: Situation) -> Iterator[Diagnosis]:
    """Between the variables that hold in the end."""
    yield from _check_flows(effective, situation)
    yield from _check_pairs(effective)
    yield from _check_logging(effective)
    algorithms = effective.get("NCCL_ALGO")
    nvls = effective.get("NCCL_NVLS_ENABLE")
    if algorithms and nvls and algorithms.value and nvls.value == "1":
        effect = effect_of(algorithms.value, situation)
        if effect is not None and "nvls" in effect.lost.get("AllReduce", ()):
            yield about(
                nvls,
                "env-contradiction",
                Level.WARNING,
                f"NCCL_NVLS_ENABLE=1 asks for NVLink SHARP, and NCCL_ALGO={algorithms.value} excludes it.",
                "Delete both.",
                GUIDE,
                more=("NCCL_ALGO",),
            )
    off = effective.get("NCCL_IB_DISABLE")
    if off and off.value == "1":
        others = sorted(
            name for name in effective if name.startswith("NCCL_IB_") and name != "NCCL_IB_DISABLE"
        )
        if others:
            yield about(
                off,
                "env-contradiction",
                Level.WARNING,
                f"NCCL_IB_DISABLE=1 switches the transport off that {', '.join(others)} would steer.",
                "Delete NCCL_IB_DISABLE, or the others.",
                GUIDE,
                more=tuple(others),
            )


def _check_flows(effective: Mapping[str, Assignment], situation: Situation) -> Iterator[Diagnosis]:
    threads, sockets = effective.get("NCCL_SOCKET_NTHREADS"), effective.get("NCCL_NSOCKS_PERTHREAD")
    flows = _number(threads), _number(sockets)
    if threads and None not in flows and (product := (flows[0] or 0) * (flows[1] or 0)) > MAX_FLOWS:
        yield about(
            threads,
            "env-socket-flows",
            Level.ERROR,
            f"NCCL_SOCKET_NTHREADS × NCCL_NSOCKS_PERTHREAD is {product}; NCCL allows {MAX_FLOWS}.",
            "Write 4 and 8.",
            _SOCKETS,
            more=("NCCL_NSOCKS_PERTHREAD",),
        )
    alone = threads if threads and not sockets else sockets if sockets and not threads else None
    if alone:
        other = "NCCL_NSOCKS_PERTHREAD" if alone is threads else "NCCL_SOCKET_NTHREADS"
        yield about(
            alone,
            "env-socket-flows",
            Level.WARNING,
            f"{alone.name} is set without {other}: how many flows a connection has then depends on the vendor "
            "of the network card (16 on AWS, one on Azure).",
            f"Set {other} too, the same on both sides.",
            _SOCKETS,
            more=(other,),
        )
    elif situation.role is Role.STAGE_BOUNDARY and not threads and effective:
        place = next(iter(effective.values()))
        yield Diagnosis(
            Finding(
                "env-socket-flows",
                Level.WARNING,
                place.path,
                None,
                "Nothing sets how many flows the connection between the clouds has: NCCL takes 16 on AWS and one "
                "on Azure, and the receiver's number wins.",
                "Set NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD on both sides, as `gpu-fabric environment --role "
                "stage-boundary --link-mbps` prints them for the link.",
                _SOCKETS,
            ),
            ("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"),
        )


def _check_pairs(effective: Mapping[str, Assignment]) -> Iterator[Diagnosis]:
    """Pairs of numbers of which one must not exceed the other, or of which only one should stand."""
    for low, high, level, effect, source in (
        ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS", Level.ERROR, "the minimum exceeds the maximum", GUIDE),
        ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", Level.ERROR, "the minimum exceeds the maximum", GUIDE),
        (
            "NCCL_NVLSTREE_MAX_CHUNKSIZE",
            "NCCL_NVLS_CHUNKSIZE",
            Level.ERROR,
            "a chunk of NVLSTree must not be larger than one of NVLS",
            "aws-ofi-nccl src/platform-aws.cpp 2daf7d30",
        ),
        (
            "NCCL_IB_AR_THRESHOLD",
            "NCCL_BUFFSIZE",
            Level.WARNING,
            "above the buffer size adaptive routing is never used",
            GUIDE,
        ),
    ):
        first, second = effective.get(low), effective.get(high)
        numbers = _number(first), _number(second)
        if first and second and numbers[0] is not None and numbers[1] is not None and numbers[0] > numbers[1]:
            yield about(
                first,
                "env-contradiction",
                level,
                f"{low}={first.value} and {high}={second.value}: {effect}.",
                "Delete both, or correct one.",
                source,
                more=(high,),
            )
    for old, new, wins in (
        ("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", "higher"),
        ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "lower"),
    ):
        first, second = effective.get(old), effective.get(new)
        if first and second:
            yield about(
                first,
                "env-contradiction",
                Level.WARNING,
                f"{old} and {new} are both set; the {wins} of the two counts.",
                f"Keep {new}.",
                GUIDE,
                fix=Fix(Change.DELETE),
                more=(new,),
            )
    for first_name, first_value, second_name, second_value, effect in (
        (
            "NCCL_GRAPH_STREAM_ORDERING",
            "0",
            "NCCL_GRAPH_MIXING_SUPPORT",
            "1",
            "graph mixing needs NCCL's own ordering",
        ),
        ("NCCL_MNNVL_ENABLE", "1", "NCCL_CUMEM_ENABLE", "0", "NVLink between nodes needs cuMem"),
    ):
        first, second = effective.get(first_name), effective.get(second_name)
        if first and second and first.value == first_value and second.value == second_value:
            yield about(
                first,
                "env-contradiction",
                Level.ERROR,
                f"{first_name}={first_value} and {second_name}={second_value}: {effect}.",
                f"Delete {second_name}.",
                GUIDE,
                more=(second_name,),
            )


def _check_logging(effective: Mapping[str, Assignment]) -> Iterator[Diagnosis]:
    subsystems = effective.get("NCCL_DEBUG_SUBSYS")
    level = effective.get("NCCL_DEBUG")
    if subsystems and (
        level is None or (level.value is not None and level.value.upper() not in ("INFO", "TRACE"))
    ):
        yield about(
            subsystems,
            "env-subsystem",
            Level.NOTE,
            "NCCL_DEBUG_SUBSYS filters what NCCL_DEBUG=INFO prints; without that it does nothing.",
            "Delete it.",
            GUIDE,
            fix=Fix(Change.DELETE),
            more=("NCCL_DEBUG",),
        )
    elif subsystems:
        yield about(
            subsystems,
            "env-subsystem",
            Level.NOTE,
            "NCCL_DEBUG_SUBSYS belongs to a pre-flight run with NCCL_DEBUG=INFO.",
            "Delete it in production; the default INIT,BOOTSTRAP,ENV is enough before that.",
            GUIDE,
            fix=Fix(Change.DELETE),
            more=("NCCL_DEBUG",),
        )


def check_topologies(
    effective: Mapping[str, Assignment], topologies: Mapping[str, str], situation: Situation
) -> Iterator[Diagnosis]:
    """Between the environment and the topology files (path → text) that are looked at with it."""
    if not effective:
        return
    named = effective.get("NCCL_TOPO_FILE")
    devices = effective.get("NCCL_IB_HCA")
    for path, text in topologies.items():
        if named is None or (named.value is not None and PurePath(named.value).name != PurePath(path).name):
            right = situation.plugin_topology is PluginTopology.GENERATED
            yield Diagnosis(
                Finding(
                    "env-topology-unused",
                    Level.NOTE,
                    path,
                    None,
                    "No environment that was looked at names this file in NCCL_TOPO_FILE; NCCL does not load it.",
                    "Leave it so: the EFA plugin generates a better one on this size."
                    if right
                    else "Set NCCL_TOPO_FILE to its path on the node.",
                    "NVIDIA/nccl src/graph/xml.cc 2.30.7",
                ),
                ("NCCL_TOPO_FILE",),
            )
        if devices is not None and devices.value:
            kept_out = [
                name for name in _NET_NAME.findall(text) if not parse_filter(devices.value).selects(name)
            ]
            if kept_out:
                yield about(
                    devices,
                    "env-topology-devices",
                    Level.WARNING,
                    f"NCCL_IB_HCA={devices.value} keeps {', '.join(kept_out[:4])} out, which {path} has as net.",
                    "Name the same devices in both; a topology file needs no net elements.",
                    "NVIDIA/nccl src/graph/topo.cc 2.30.7",
                )


def _number(assignment: Assignment | None) -> int | None:
    if assignment is None or not assignment.value:
        return None
    number, rest = read_integer(assignment.value)
    return None if rest.strip() else number


def _shown(assignment: Assignment) -> str | None:
    return "…" if assignment.name in SECRETS else assignment.value


def _is_ours(name: str) -> bool:
    return not belongs_to_others(name) and (name in known_names() or not name.startswith("NCCL_"))
