"""`gpu-fabric-preflight cluster`: run the gate, or judge a log, or print a manifest."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight import result
from gpu_fabric.nccl.preflight.arguments import UsageError, pairs
from gpu_fabric.nccl.preflight.bisect import Group
from gpu_fabric.nccl.preflight.cluster import (
    GateReport,
    Start,
    facts_of,
    gate_dict,
    gate_markdown,
    run_gate,
)
from gpu_fabric.nccl.preflight.expected import Planner
from gpu_fabric.nccl.preflight.judge import Gate, judge
from gpu_fabric.nccl.preflight.launchers import (
    Job,
    command_builder,
    default_wrapper,
    find_binary,
    find_launcher,
)
from gpu_fabric.nccl.preflight.manifest import mpijob
from gpu_fabric.nccl.preflight.nccl_tests import parse, parse_json
from gpu_fabric.nccl.preflight.nodelist import NodeListError, nodes_of
from gpu_fabric.nccl.preflight.reports import Reports, say
from gpu_fabric.nccl.preflight.runs import Output, run_all


def run_cluster(given: argparse.Namespace, size: NodeSize, planner: Planner | None = None) -> int:
    """The exit code; what was found is printed."""
    collectives = given.collective or ["all_reduce"]
    if given.manifest:
        print(
            "---\n".join(_manifest(given, size, collective, collectives) for collective in collectives),
            end="",
        )
        return result.EXIT_PASS
    reports = Reports(given.report)
    gates = [_gate(given, size, collective, planner) for collective in collectives]
    if given.log:
        whole = [_judge_log(gates[0], given.log, _count(given))]
    else:
        names = _names(given)
        starts = [_starter(given, size, collective) for collective in collectives]
        whole = [
            run_gate(gate, names, start, search=not given.no_search)
            for gate, start in zip(gates, starts, strict=True)
        ]
    documents = [gate_dict(one) for one in whole]
    document = json.dumps(documents[0] if len(documents) == 1 else documents, indent=2) + "\n"
    reports.write("\n".join(gate_markdown(one) for one in whole), document)
    say(document if given.json else "\n".join(result.to_text(one.report) for one in whole))
    codes = [one.report.exit_code for one in whole]
    return result.EXIT_FAIL if result.EXIT_FAIL in codes else max(codes)


def _gate(given: argparse.Namespace, size: NodeSize, collective: str, planner: Planner | None) -> Gate:
    return Gate(
        size,
        collective,
        given_busbw=given.expect,
        warn=given.warn,
        fail=given.fail,
        planner=planner,
        sockets_between=given.two_clouds,
    )


# ---- which nodes ----------------------------------------------------------------------------------------------------


def _names(given: argparse.Namespace) -> list[str]:
    """The nodes that are named, else the Slurm job's. `UsageError` where there are none."""
    if given.nodes is not None:
        option, text = "--nodes", given.nodes
    elif given.hostfile:
        option, text = "--hostfile", read_text("--hostfile", given.hostfile)
    else:
        option, text = "SLURM_JOB_NODELIST", os.environ.get("SLURM_JOB_NODELIST", "")
        if not text:
            raise UsageError("which nodes? give --nodes or --hostfile, or run inside a Slurm job")
    try:
        names = nodes_of(text)
    except NodeListError as error:
        raise UsageError(f"{option}: {error}") from None
    if not names:
        raise UsageError(f"{option}: the list of nodes is empty")
    return names


def _count(given: argparse.Namespace) -> int | None:
    """How many nodes, where their names do not matter; None where nobody says."""
    if given.nodes is not None and re.fullmatch(r"[1-9][0-9]{0,5}", given.nodes):
        return int(given.nodes)
    return len(_names(given)) if given.nodes is not None or given.hostfile else None


def read_text(option: str, path: str) -> str:
    """The text of a file, or of the input where the path is `-`. `UsageError` says why there is none."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option}: {path}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{option}: {path}: this is no text in UTF-8") from None


# ---- what runs ------------------------------------------------------------------------------------------------------


def _job(given: argparse.Namespace, size: NodeSize, binary: str, wrapper: tuple[str, ...]) -> Job:
    sizes = ("-b", given.begin, "-e", given.end, "-f", "2")
    return Job(
        binary,
        (*sizes, "-g", "1", "-c", "1", "-n", str(given.iterations)),
        given.gpus_per_node or size.gpu.count,
        {"NCCL_DEBUG": "INFO", **pairs(given.env, "--env")},
        wrapper,
        tuple(given.launcher_arg),
    )


def _manifest(given: argparse.Namespace, size: NodeSize, collective: str, all_: Sequence[str]) -> str:
    count = _count(given)
    if count is None:
        count = len(_names(given))
    if size.fabric.value == "infiniband" and not given.rdma_resource:
        raise UsageError(
            f"--rdma-resource: {size.name} has InfiniBand, and a pod without its device uses TCP: name the resource of "
            "the cluster's device plugin (kubectl describe node)"
        )
    name = "gpu-fabric-preflight"
    return mpijob(
        _job(given, size, given.binary or f"{collective}_perf", given.wrapper or ()),
        nodes=count,
        image=given.manifest,
        name=name if len(all_) == 1 else f"{name}-{collective.replace('_', '-')}",
        efa_devices=size.fabric_ports if size.fabric.value == "efa" else 0,
        rdma_resource=given.rdma_resource,
    )


def _starter(given: argparse.Namespace, size: NodeSize, collective: str) -> Start:
    """Starts groups with the launcher, and keeps what each printed where that is asked for."""
    kind = find_launcher(given.launcher)
    wrapper = default_wrapper() if given.wrapper is None else given.wrapper
    command = command_builder(kind, _job(given, size, find_binary(collective, given.binary), wrapper))
    rounds = itertools.count(1)
    folder = Path(given.keep) if given.keep is not None else None
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--keep: {folder}: {error.strerror}") from None

    def start(groups: Sequence[Group]) -> list[Output]:
        commands = [command(group) for group in groups]
        outputs = run_all(commands, given.seconds, queue_seconds=given.queue_seconds)
        number = next(rounds)
        for at, (words, output) in enumerate(zip(commands, outputs, strict=True), 1):
            if folder is not None:
                _keep(folder / f"{collective}-round-{number}-group-{at}.log", words, output)
        return outputs

    return start


def _keep(path: Path, words: Sequence[str], output: Output) -> None:
    try:
        path.write_text(f"$ {shlex.join(words)}\n{output.text}", encoding="utf-8")
    except OSError as error:
        # The verdict counts more than what it was made from.
        print(f"--keep: {path}: {error.strerror}", file=sys.stderr)


def _judge_log(gate: Gate, paths: Sequence[str], asked: int | None) -> GateReport:
    """One run from its files: its text, or the JSON of -J with the log that NCCL wrote."""
    texts = []
    for path in paths:
        try:
            text = (
                sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8", errors="replace")
            )
        except OSError as error:
            raise UsageError(f"--log: {path}: {error.strerror}") from None
        texts.append(text)
    documents = [run for text in texts if (run := parse_json(text)) is not None]
    if len(documents) > 1:
        raise UsageError("--log: two files are JSON of -J: judge each run alone")
    run = documents[0] if documents else parse("\n".join(texts))
    results, _ = judge(gate, asked, Output("\n".join(texts), 0, 0.0), run=run)
    return GateReport(result.Report(" + ".join(paths), tuple(results), facts_of(gate, run.hosts, run)))
