"""`gpu-fabric topology`: the XML that tells NCCL what shares a PCI switch."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpu_fabric.cli.errors import InputError
from gpu_fabric.cli.options import complete_size, json_option
from gpu_fabric.cli.output import print_findings, print_json, print_table

if TYPE_CHECKING:
    from gpu_fabric.nccl.topology import Topology
    from gpu_fabric.nccl.topology.paths import Path as DevicePath


@click.command("topology")
@click.argument("what", metavar="SIZE|FILE", required=False, shell_complete=complete_size)
@click.option("--draw", type=click.Choice(("text", "svg")), help="A picture in place of the file.")
@click.option(
    "--paths", is_flag=True, help="How NCCL gets from each GPU to each network card: PIX, PXB, PHB, SYS."
)
@click.option(
    "--compare", metavar="SIZE|FILE", help="Every difference to another topology; exit code 1 if any."
)
@click.option(
    "--subset", metavar="GPU,...", help="Only these GPUs (indexes or bus ids) and the cards nearest to them."
)
@click.option("--from-host", is_flag=True, help="Read the machine that this runs on, from its /sys.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("/"),
    show_default=True,
    help="With --from-host: where its file system is seen.",
)
@click.option("--row", is_flag=True, help="With --from-host: a row for the catalog of sizes, as TOML.")
@click.option(
    "--name", default="this-host", show_default=True, help="With --from-host: the name of the size."
)
@json_option
def command(
    what: str | None,
    draw: str | None,
    paths: bool,
    compare: str | None,
    subset: str | None,
    from_host: bool,
    root: Path,
    row: bool,
    name: str,
    as_json: bool,
) -> None:
    """Print the topology file of SIZE, or look at FILE (`-` is standard input).

    Of a file, what the lint finds goes to standard error; one with errors is not printed again (exit code 1).

    Sizes without a published PCI layout have none; `--from-host` makes one on the machine itself.
    """
    if (what is None) == (not from_host):
        raise click.UsageError("Give a size, a file, or --from-host.")
    if sum((draw is not None, paths, compare is not None)) > 1:
        raise click.UsageError("--draw, --paths and --compare exclude each other.")
    if row:
        if not from_host:
            raise click.UsageError("--row describes the machine itself: add --from-host.")
        click.echo(_describe_host(root, name, row=True), nl=False)
        return
    text = None if from_host else _text(what or "")
    if text is not None:
        broken = _report(text, what or "")
        # A file is printed as NCCL takes it; one that NCCL refuses, or takes otherwise than written, is not.
        if broken and not (draw or paths or compare or subset):
            sys.exit(1)
    topology = _parse_host(root, name) if from_host else _read(what or "", text)
    if subset is not None:
        topology = _subset(topology, subset)
    if compare is not None:
        _compare(topology, _read(compare, _text(compare)), as_json)
    elif paths:
        _paths(topology, as_json)
    elif draw is not None:
        from gpu_fabric.nccl.topology.draw import to_svg, to_text

        click.echo((to_svg if draw == "svg" else to_text)(topology), nl=False)
    elif as_json:
        print_json(asdict(topology))
    else:
        from gpu_fabric.nccl.topology import to_xml

        click.echo(to_xml(topology), nl=False)


def _text(what: str) -> str | None:
    """The text of a topology file, of which no more is read than is looked at; None for a size."""
    from gpu_fabric.nccl.hardware import load_sizes
    from gpu_fabric.nccl.topology.read import read_bytes
    from gpu_fabric.nccl.topology.syntax import MAX_CHARACTERS, decode

    if what == "-":
        return decode(sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1))
    path = Path(what)
    if what in load_sizes() or not (path.exists() or "/" in what or path.suffix.lower() == ".xml"):
        return None
    return decode(read_bytes(path))


def _report(text: str, what: str) -> bool:
    """Print what the lint finds in a file to standard error, notes left out; whether there is an error."""
    from gpu_fabric.nccl.findings import Level
    from gpu_fabric.nccl.topology.lint import lint

    found = [entry for entry in lint(text, what) if entry.level is not Level.NOTE]
    if found:
        print_findings(found, err=True)
    return any(entry.level is Level.ERROR for entry in found)


def _read(what: str, text: str | None) -> Topology:
    """The topology of a file's text, or without one that of the size."""
    from gpu_fabric.nccl.hardware import get_size
    from gpu_fabric.nccl.topology import TopologyError, from_catalog, parse

    if text is not None:
        try:
            return parse(text)
        except TopologyError as refused:
            raise InputError(f"{what}: {refused}") from None
    size = get_size(what)
    topology = from_catalog(size)
    if topology is None:
        raise InputError(
            f"{size.name} has no published PCI layout. On a node of it: gpu-fabric topology --from-host"
        )
    return topology


def _parse_host(root: Path, name: str) -> Topology:
    from gpu_fabric.nccl.topology import parse

    return parse(_describe_host(root, name, row=False))


def _describe_host(root: Path, name: str, *, row: bool) -> str:
    from gpu_fabric.nccl.node import topology_from_host

    ask = topology_from_host.ask_nvidia_smi if root == Path("/") else None
    try:
        host = topology_from_host.read_host(root, gpu_query=ask)
    except topology_from_host.NoTopologyError as error:
        raise InputError(f"{error}. Run this on the node itself.") from error
    for note in host.notes:
        click.echo(f"note: {note}", err=True)
    return topology_from_host.to_row(host, name) if row else topology_from_host.to_xml(host, name)


def _subset(topology: Topology, wanted: str) -> Topology:
    from gpu_fabric.nccl.topology.subset import subset

    return subset(topology, [int(gpu) if gpu.isdecimal() else gpu for gpu in wanted.split(",")])


def _compare(first: Topology, second: Topology, as_json: bool) -> None:
    from gpu_fabric.nccl.topology.compare import compare

    differences = compare(first, second)
    if as_json:
        print_json([asdict(difference) for difference in differences])
    else:
        for difference in differences:
            click.echo(str(difference))
        if not differences:
            click.echo("the same to NCCL")
    if differences:
        sys.exit(1)


def _paths(topology: Topology, as_json: bool) -> None:
    from gpu_fabric.nccl.topology.paths import all_paths

    found = all_paths(topology)
    if as_json:
        print_json(
            [
                {
                    "gpu": path.gpu,
                    "nic": path.nic,
                    "type": path.type.name,
                    "gigabytes_per_second": path.gigabytes_per_second,
                    "hops": [asdict(hop) for hop in path.hops],
                }
                for path in found
            ]
        )
        return
    nics = list(dict.fromkeys(path.nic for path in found))
    types = {(path.gpu, path.nic): _shown(path) for path in found}
    gpus = list(dict.fromkeys(path.gpu for path in found))
    print_table(("network card", *gpus), [(nic, *(types[gpu, nic] for gpu in gpus)) for nic in nics])
    click.echo("The number is the bandwidth of the narrowest hop that NCCL reckons with, in GB/s.")


def _shown(path: DevicePath) -> str:
    """`PIX 48`; the type alone where no hop has a rate."""
    rate = path.gigabytes_per_second
    return path.type.name if rate is None else f"{path.type.name} {rate:g}"
