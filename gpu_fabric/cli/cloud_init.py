"""`gpu-fabric cloud-init`: the text that a node starts with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from gpu_fabric.cli.errors import InputError
from gpu_fabric.cli.options import complete_size, environment_options, json_option, make_environment
from gpu_fabric.cli.output import print_findings, print_json


@click.command("cloud-init")
@click.argument("size", shell_complete=complete_size)
@click.option(
    "--command",
    "commands",
    metavar="BASH",
    multiple=True,
    help="Runs last, each a step of its own; the first that fails ends the set-up visibly.",
)
@click.option("--package", "packages", metavar="NAME", multiple=True, help="A package to install first.")
@click.option(
    "--topology-xml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Your own topology to install in place of the catalog's.",
)
@click.option("--gzip", "compressed", is_flag=True, help="Print the gzip bytes that the clouds take.")
@environment_options
@json_option
def command(
    size: str,
    commands: tuple[str, ...],
    packages: tuple[str, ...],
    topology_xml: Path | None,
    compressed: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the #cloud-config text that installs the files of a node of SIZE and checks them."""
    from gpu_fabric.nccl.bootstrap import (
        AZURE_CUSTOM_DATA_LIMIT,
        EC2_USER_DATA_LIMIT,
        cloud_config,
        user_data,
    )
    from gpu_fabric.nccl.hardware import Cloud, get_size

    made = make_environment(size, **options)
    topology = None if topology_xml is None else _own_topology(topology_xml, size)
    text = cloud_config(
        size,
        environment=made,
        topology_xml=topology,
        packages=packages,
        extra_commands=commands,
    )
    limit = EC2_USER_DATA_LIMIT if get_size(size).cloud is Cloud.AWS else AZURE_CUSTOM_DATA_LIMIT
    data = user_data(text, limit=limit)
    if as_json:
        print_json(
            {"text": text, "text_bytes": len(text.encode()), "gzip_bytes": len(data), "limit_bytes": limit}
        )
    elif compressed:
        if sys.stdout.isatty():
            raise click.UsageError("--gzip prints bytes; send them to a file or a program.")
        sys.stdout.buffer.write(data)
    else:
        click.echo(text, nl=False)
    if made.findings:
        print_findings(made.findings, err=True)
    click.echo(f"{len(data):,} bytes after gzip, of {limit:,}", err=True)


def _own_topology(file: Path, size: str) -> str:
    """The text of a topology file that NCCL takes on this size; InputError where the lint finds an error in it."""
    from gpu_fabric.nccl.findings import Level
    from gpu_fabric.nccl.hardware import get_size
    from gpu_fabric.nccl.topology.lint import lint
    from gpu_fabric.nccl.topology.read import read_bytes

    # Strictly: what is written on the node is what was linted, to the byte.
    text = read_bytes(file).decode("utf-8")
    found = lint(text, str(file), get_size(size))
    if found:
        print_findings(found, err=True)
    if any(entry.level is Level.ERROR for entry in found):
        raise InputError(f"{file} is not installed: mend the errors, or let `gpu-fabric lint --fix` do it.")
    return text
