"""`gpu-fabric-preflight`: prove a node, a cluster, or the link between two clouds, before the first training step."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight import result
from gpu_fabric.nccl.preflight.arguments import UsageError, checked, pairs, parser
from gpu_fabric.nccl.preflight.cluster_command import run_cluster
from gpu_fabric.nccl.preflight.expected import Planner
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.identify import METADATA, MetadataError, size_of_node
from gpu_fabric.nccl.preflight.launchers import LauncherError
from gpu_fabric.nccl.preflight.link import Demand, LinkError, RefusedError, check_link, probe, serve
from gpu_fabric.nccl.preflight.node import check_node
from gpu_fabric.nccl.preflight.reports import Reports, say
from gpu_fabric.nccl.preflight.runs import Stopped
from gpu_fabric.nccl.preflight.versions import COMPONENTS


def size_named(name: str) -> NodeSize:
    """A size of the catalog; `UsageError` lists what is near."""
    from difflib import get_close_matches

    from gpu_fabric.nccl.hardware.plain import plain_sizes

    sizes = plain_sizes()
    if name not in sizes:
        near = get_close_matches(name, sizes, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sizes)}"
        raise UsageError(f"--size: {name!r} is not in the catalog; {hint}")
    return sizes[name]


def _size(given: str | None, host: Host, metadata: str = METADATA) -> NodeSize:
    try:
        return size_named(given or size_of_node(host, metadata))
    except MetadataError as error:
        raise UsageError(str(error)) from None


def _finish(given: argparse.Namespace, reports: Reports, report: result.Report) -> int:
    reports.write(result.to_markdown(report), result.to_json(report))
    say(result.to_json(report) if given.json else result.to_text(report))
    return report.exit_code


def run_node(given: argparse.Namespace) -> int:
    host = Host(given.root)
    pins = pairs(given.pin, "--pin", COMPONENTS)
    size = _size(given.size, host, given.metadata)
    reports = Reports(given.report)
    return _finish(given, reports, check_node(size, host=host, pins=pins, partition=given.partition))


def run_link(given: argparse.Namespace) -> int:
    if given.serve is not None:
        return _serve(given)
    if given.token is None:
        raise UsageError("--token: give the one that the server printed")
    demand = Demand(
        rtt_ms=given.rtt_ms, mtu=given.mtu, bandwidth_mbps=given.bandwidth_mbps, flows=given.flows
    )
    reports = Reports(given.report)
    try:
        measure = probe(
            given.peer,
            given.port,
            token=given.token,
            packets=given.packets,
            seconds=given.seconds,
            flows=given.flows,
        )
    except RefusedError as error:
        raise UsageError(f"{error}: {error.remedy}") from None
    except LinkError as error:
        found = result.failed("peer", str(error), error.remedy)
        return _finish(given, reports, result.Report(f"link to {given.peer}", (found,)))
    return _finish(given, reports, check_link(measure, demand, given.peer))


def _serve(given: argparse.Namespace) -> int:
    def ready(token: str, port: int) -> None:
        print(f"serving on {given.serve} port {port}, token {token}", flush=True)

    try:
        serve(given.serve, given.port, token=given.token, seconds=given.lifetime, ready=ready)
    except OSError as error:
        raise UsageError(f"--serve: {given.serve}:{given.port}: {error.strerror}") from None
    return result.EXIT_PASS


def run_lint(given: argparse.Namespace) -> int:
    from gpu_fabric.nccl import findings
    from gpu_fabric.nccl.environment import situation_of
    from gpu_fabric.nccl.lint import lint

    texts = {}
    for path in given.files:
        try:
            texts[path] = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
    size = size_named(given.size) if given.size else None
    try:
        found = lint(texts, situation=situation_of(size) if size else None, size=size)
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"YAML files need {missing.name}, which this Python lacks: lint them elsewhere"
        ) from None
    print(findings.to_json(found) if given.json else findings.to_text(found), end="")
    return findings.exit_code(found)


def main(
    argv: Sequence[str] | None = None,
    *,
    program: str = "gpu-fabric-preflight",
    planner: Planner | None = None,
) -> int:
    """The exit code of one call. A signal that asks it to end gives 128 and its number, with no run left behind."""
    try:
        given = parser(program).parse_args(argv)
    except SystemExit as stop:
        # argparse gives 2 for wrong usage, which is ours for unknown.
        return result.EXIT_USAGE if stop.code else result.EXIT_PASS
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that knows no `…` shows a question mark.
        sys.stdout.reconfigure(errors="replace")
    try:
        checked(given)
        if given.command == "cluster":
            code = run_cluster(given, _size(given.size, Host()), planner)
        else:
            code = {"node": run_node, "link": run_link, "lint": run_lint}[given.command](given)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (UsageError, LauncherError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return result.EXIT_USAGE
    except Stopped as stopped:
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read has what he wanted; Python would complain once more while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code


if __name__ == "__main__":
    sys.exit(main())
