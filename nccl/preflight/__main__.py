"""`gpu-fabric-preflight`: prove a node, a cluster, or the link between two clouds, before the first training step."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_fabric import __version__
from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight import result
from gpu_fabric.nccl.preflight.bisect import Group
from gpu_fabric.nccl.preflight.cluster import (
    COLLECTIVES,
    Gate,
    GateReport,
    Start,
    gate_dict,
    gate_markdown,
    nodes_of,
    run_gate,
)
from gpu_fabric.nccl.preflight.expected import Planner
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.identify import METADATA, MetadataError, size_of_node
from gpu_fabric.nccl.preflight.launchers import (
    Job,
    Kind,
    LauncherError,
    Output,
    command_builder,
    default_wrapper,
    find_binary,
    find_launcher,
    mpijob,
    run_all,
)
from gpu_fabric.nccl.preflight.link import PORT, Demand, LinkError, check_link, probe, serve
from gpu_fabric.nccl.preflight.node import check_node
from gpu_fabric.nccl.preflight.versions import COMPONENTS

EPILOG = "Exit codes: 0 pass or warn, 1 fail, 2 unknown and nothing failed, 64 wrong usage."


class UsageError(Exception):
    """The arguments cannot be met; the message says what to give."""


def parser(program: str = "gpu-fabric-preflight") -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(program, description=__doc__, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"{program} {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="node|cluster|link|lint")
    _node_parser(commands)
    _cluster_parser(commands)
    _link_parser(commands)
    lint = commands.add_parser(
        "lint", help="the lint of gpu-fabric, for nodes that have only this file", epilog=EPILOG
    )
    lint.add_argument("files", nargs="+", metavar="FILE")
    lint.add_argument("--size", metavar="SIZE", help="what the files are meant for")
    lint.add_argument("--json", action="store_true", help="print JSON")
    return top


def _node_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    node = commands.add_parser("node", help="every check of this node", epilog=EPILOG)
    node.add_argument(
        "--size", metavar="SIZE", help="instance type or VM size [the cloud's metadata service]"
    )
    node.add_argument(
        "--pin",
        action="append",
        default=[],
        metavar="NAME=VERSION",
        help=f"a version that the node must have, as far as it is written out; of {', '.join(COMPONENTS)}",
    )
    node.add_argument(
        "--partition", metavar="0x8…", help="InfiniBand partition key of the cluster's other nodes"
    )
    node.add_argument("--json", action="store_true", help="print JSON")
    node.add_argument(
        "--report", metavar="FILE", help="also write Markdown, or JSON where the name ends in .json"
    )
    node.add_argument("--metadata", default=METADATA, help=argparse.SUPPRESS)
    node.add_argument("--root", default="/", help=argparse.SUPPRESS)


def _cluster_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cluster = commands.add_parser(
        "cluster", help="nccl-tests on all nodes, and the nodes that make them fail", epilog=EPILOG
    )
    cluster.add_argument("--size", metavar="SIZE", help="size of the nodes [that of this one]")
    where = cluster.add_mutually_exclusive_group()
    where.add_argument("--nodes", metavar="LIST", help="names, such as n[1-4,7],m1 [the Slurm job's]")
    where.add_argument(
        "--hostfile", metavar="FILE", help="one name a line, Open MPI's slots= allowed; - reads input"
    )
    cluster.add_argument("--launcher", choices=("auto", *Kind), default="auto")
    cluster.add_argument(
        "--collective", choices=COLLECTIVES, action="append", help="repeat for several [all_reduce]"
    )
    cluster.add_argument(
        "--binary", metavar="PATH", help="the nccl-tests program, or their folder [PATH, the images']"
    )
    cluster.add_argument("--begin", default="1G", metavar="BYTES", help="smallest message [%(default)s]")
    cluster.add_argument("--end", default="8G", metavar="BYTES", help="largest message [%(default)s]")
    cluster.add_argument("--iterations", type=int, default=20, metavar="N")
    cluster.add_argument("--gpus-per-node", type=int, metavar="N", help="[the size's]")
    cluster.add_argument("--expect", type=float, metavar="GB/s", help="bus bandwidth of the largest message")
    cluster.add_argument("--warn", type=float, metavar="SHARE", help="of what is expected [0.9]")
    cluster.add_argument("--fail", type=float, metavar="SHARE", help="of what is expected [0.75]")
    cluster.add_argument("--seconds", type=float, default=600, help="longest time of one run [%(default)g]")
    cluster.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the ranks")
    cluster.add_argument(
        "--launcher-arg", action="append", default=[], metavar="WORD", help="for srun or mpirun"
    )
    cluster.add_argument(
        "--wrapper", metavar="COMMAND", help="put before the program [gpu-fabric-entrypoint if here]"
    )
    cluster.add_argument("--keep", metavar="FOLDER", help="keep what every run printed")
    cluster.add_argument(
        "--no-search", action="store_true", help="do not look for the nodes that make it fail"
    )
    cluster.add_argument("--two-clouds", action="store_true", help="sockets between the two clouds are meant")
    cluster.add_argument("--log", metavar="FILE", help="judge this output of a run instead of running")
    cluster.add_argument(
        "--manifest", metavar="IMAGE", help="print an MPIJob with this image instead of running"
    )
    cluster.add_argument(
        "--rdma-resource", metavar="NAME", help="of the manifest, where nodes have InfiniBand"
    )
    cluster.add_argument("--json", action="store_true", help="print JSON")
    cluster.add_argument(
        "--report", metavar="FILE", help="also write Markdown, or JSON where the name ends in .json"
    )


def _link_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    link = commands.add_parser(
        "link", help="the way to the other cloud, measured from both ends", epilog=EPILOG
    )
    role = link.add_mutually_exclusive_group(required=True)
    role.add_argument("--serve", metavar="ADDRESS", help="answer on this address of this node")
    role.add_argument("--peer", metavar="HOST", help="measure to the node that serves")
    link.add_argument("--port", type=int, default=PORT, help="TCP and UDP [%(default)s]")
    link.add_argument("--token", help="of the server, which prints one where none is given")
    link.add_argument(
        "--for", dest="lifetime", type=float, default=600, metavar="SECONDS", help="how long to serve"
    )
    link.add_argument(
        "--rtt-ms", type=float, default=Demand.rtt_ms, help="highest median round trip [%(default)g]"
    )
    link.add_argument("--mtu", type=int, default=Demand.mtu, help="what the routes promise [%(default)s]")
    link.add_argument("--bandwidth-mbps", type=float, help="of the link, as ordered")
    link.add_argument("--flows", type=int, default=Demand.flows, help="connections at a time [%(default)s]")
    link.add_argument("--seconds", type=float, default=5, help="of each transfer [%(default)g]")
    link.add_argument("--packets", type=int, default=500, help="for round trip and loss [%(default)s]")
    link.add_argument("--json", action="store_true", help="print JSON")
    link.add_argument(
        "--report", metavar="FILE", help="also write Markdown, or JSON where the name ends in .json"
    )


# ---- commands -------------------------------------------------------------------------------------------------------


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


def _pairs(entries: Sequence[str], option: str, known: Sequence[str] = ()) -> dict[str, str]:
    found = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not name or not equals:
            raise UsageError(f"{option}: {entry!r} is not NAME=VALUE")
        if known and name not in known:
            raise UsageError(f"{option}: {name!r} is not one of {', '.join(known)}")
        found[name] = value
    return found


def run_node(given: argparse.Namespace) -> int:
    host = Host(given.root)
    pins = _pairs(given.pin, "--pin", COMPONENTS)
    if given.partition is not None and not given.partition.lower().startswith("0x"):
        raise UsageError(f"--partition: {given.partition!r} is not a key such as 0x8023")
    report = check_node(
        _size(given.size, host, given.metadata),
        host=host,
        pins=pins,
        partition=given.partition,
    )
    print(result.to_json(report) if given.json else result.to_text(report), end="")
    _write(given.report, result.to_markdown(report), result.to_json(report))
    return report.exit_code


def _write(path: str | None, markdown: str, document: str) -> None:
    if path is not None:
        try:
            Path(path).write_text(document if path.endswith(".json") else markdown, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--report: {path}: {error.strerror}") from None


def _node_names(given: argparse.Namespace) -> list[str]:
    if given.nodes:
        return nodes_of(given.nodes)
    if given.hostfile:
        try:
            text = (
                sys.stdin.read()
                if given.hostfile == "-"
                else Path(given.hostfile).read_text(encoding="utf-8")
            )
        except OSError as error:
            raise UsageError(f"--hostfile: {given.hostfile}: {error.strerror}") from None
        return nodes_of(text)
    listed = os.environ.get("SLURM_JOB_NODELIST")
    if listed:
        return nodes_of(listed)
    raise UsageError("which nodes? give --nodes or --hostfile, or run inside a Slurm job")


def run_cluster(given: argparse.Namespace, planner: Planner | None = None) -> int:
    size = _size(given.size, Host())
    names = _node_names(given) if not given.log else []
    if not given.log and not names:
        raise UsageError("the list of nodes is empty")
    collectives = given.collective or ["all_reduce"]
    if given.log and len(collectives) > 1:
        raise UsageError("--log holds one run: name its --collective alone")
    gpus = given.gpus_per_node or size.gpu.count
    wrapper = tuple(given.wrapper.split()) if given.wrapper is not None else default_wrapper()
    environment = {"NCCL_DEBUG": "INFO", **_pairs(given.env, "--env")}
    whole: list[GateReport] = []
    for collective in collectives:
        gate = Gate(
            size,
            collective,
            given_busbw=given.expect,
            warn=given.warn,
            fail=given.fail,
            planner=planner,
            sockets_between=given.two_clouds,
        )
        if given.log:
            whole.append(_judge_log(gate, given.log))
            continue
        options = (
            "-b",
            given.begin,
            "-e",
            given.end,
            "-f",
            "2",
            "-g",
            "1",
            "-c",
            "1",
            "-n",
            str(given.iterations),
        )
        if given.manifest:
            job = Job(
                given.binary or f"{collective}_perf",
                options,
                gpus,
                environment,
                wrapper=(),
                extra=tuple(given.launcher_arg),
            )
            efa = size.fabric_ports if size.fabric.value == "efa" else 0
            print(
                mpijob(
                    job,
                    nodes=len(names),
                    image=given.manifest,
                    efa_devices=efa,
                    rdma_resource=given.rdma_resource,
                ),
                end="",
            )
            continue
        job = Job(
            find_binary(collective, given.binary),
            options,
            gpus,
            environment,
            wrapper,
            tuple(given.launcher_arg),
        )
        start = _starter(find_launcher(given.launcher), job, given.seconds, given.keep, collective)
        whole.append(run_gate(gate, names, start, search=not given.no_search))
    if given.manifest:
        return result.EXIT_PASS
    documents = [gate_dict(one) for one in whole]
    document = json.dumps(documents[0] if len(documents) == 1 else documents, indent=2) + "\n"
    markdown = "\n".join(gate_markdown(one) for one in whole)
    print(document if given.json else "\n".join(result.to_text(one.report) for one in whole), end="")
    _write(given.report, markdown, document)
    codes = [one.report.exit_code for one in whole]
    return result.EXIT_FAIL if result.EXIT_FAIL in codes else max(codes)


def _starter(kind: Kind, job: Job, seconds: float, keep: str | None, collective: str) -> Start:
    """Starts groups with the launcher, and keeps what each printed where that is asked for."""
    command = command_builder(kind, job)
    rounds = itertools.count(1)
    folder = Path(keep) if keep is not None else None
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--keep: {keep}: {error.strerror}") from None

    def start(groups: Sequence[Group]) -> list[Output]:
        commands = [command(group) for group in groups]
        outputs = run_all(commands, seconds)
        number = next(rounds)
        if folder is not None:
            for at, (words, output) in enumerate(zip(commands, outputs, strict=True), 1):
                text = f"$ {shlex.join(words)}\n{output.text}"
                (folder / f"{collective}-round-{number}-group-{at}.log").write_text(text, encoding="utf-8")
        return outputs

    return start


def _judge_log(gate: Gate, path: str) -> GateReport:
    from gpu_fabric.nccl.preflight.cluster import judge
    from gpu_fabric.nccl.preflight.nccl_tests import parse

    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"--log: {path}: {error.strerror}") from None
    hosts = parse(text).hosts
    results, run = judge(gate, hosts or ("?",), Output(text, 0, 0.0))
    rows = [{"bytes": row.bytes, "busbw": row.busbw} for row in run.rows]
    facts = {
        "size": gate.size.name,
        "collective": gate.collective,
        "nodes": list(hosts),
        "nccl": run.nccl,
        "rows": rows,
    }
    return GateReport(result.Report(path, tuple(results), facts))


def run_link(given: argparse.Namespace) -> int:
    if given.serve is not None:
        try:
            serve(
                given.serve,
                given.port,
                token=given.token,
                seconds=given.lifetime,
                ready=lambda token, port: print(
                    f"serving on {given.serve} port {port}, token {token}", flush=True
                ),
            )
        except OSError as error:
            raise UsageError(f"--serve: {given.serve}:{given.port}: {error.strerror}") from None
        return result.EXIT_PASS
    if given.token is None:
        raise UsageError("--token: give the one that the server printed")
    demand = Demand(
        rtt_ms=given.rtt_ms, mtu=given.mtu, bandwidth_mbps=given.bandwidth_mbps, flows=given.flows
    )
    measure = probe(
        given.peer,
        given.port,
        token=given.token,
        packets=given.packets,
        seconds=given.seconds,
        flows=given.flows,
    )
    report = check_link(measure, demand, given.peer)
    print(result.to_json(report) if given.json else result.to_text(report), end="")
    _write(given.report, result.to_markdown(report), result.to_json(report))
    return report.exit_code


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
    try:
        given = parser(program).parse_args(argv)
    except SystemExit as stop:
        # argparse gives 2 for wrong usage, which is ours for unknown.
        return result.EXIT_USAGE if stop.code else result.EXIT_PASS
    try:
        if given.command == "cluster":
            return run_cluster(given, planner)
        return {"node": run_node, "link": run_link, "lint": run_lint}[given.command](given)
    except (UsageError, LauncherError, LinkError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return result.EXIT_USAGE
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
