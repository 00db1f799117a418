"""`gpu-fabric environment`: what a node's processes are given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpu_fabric.cli.options import complete_size, environment_options, json_option, make_environment
from gpu_fabric.cli.output import print_findings, print_table

if TYPE_CHECKING:
    from gpu_fabric.nccl.environment import Environment

FORMATS = ("conf", "shell", "kubernetes", "slurm", "json")


@click.command("environment")
@click.argument("size", shell_complete=complete_size)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="conf",
    show_default=True,
    help="NCCL's own file, a shell file, a pod's env list, Slurm's --export, or everything as JSON.",
)
@click.option(
    "--explain", is_flag=True, help="A table of what is set and left out, why, since when, by whom else."
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write nccl.conf and environment.sh there, for gpu-fabric-entrypoint --directory.",
)
@environment_options
@json_option
def command(
    size: str, format_: str, explain: bool, directory: Path | None, as_json: bool, **options: Any
) -> None:
    """Print the NCCL environment of a node of SIZE: the smallest set of variables that is right.

    What lint says about your own values goes to standard error.
    """
    from gpu_fabric.nccl import environment as rendering

    made = make_environment(size, **options)
    if directory is not None:
        _write(made, size, directory)
    elif as_json or format_ == "json":
        click.echo(rendering.to_json(made), nl=False)
    elif explain:
        _explain(made)
    else:
        click.echo(getattr(rendering, f"to_{format_}")(made), nl=False)
    if made.findings:
        print_findings(made.findings, err=True)


def _write(made: Environment, size: str, directory: Path) -> None:
    from gpu_fabric.nccl.environment import to_conf, to_node_shell
    from gpu_fabric.nccl.hardware import get_size

    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("nccl.conf", to_conf(made)),
        ("environment.sh", to_node_shell(made, fabric_ports=get_size(size).fabric_ports)),
    ):
        (directory / name).write_text(text, encoding="utf-8")
        click.echo(f"wrote {directory / name}", err=True)


def _explain(made: Environment) -> None:
    from gpu_fabric.nccl.environment.render import describe

    print_table(
        ("variable", "value", "why", "since", "also set by", "source"),
        [
            (
                entry.name,
                entry.value,
                entry.why,
                entry.since or "",
                "; ".join(entry.also_set_by),
                entry.source,
            )
            for entry in made.variables
        ],
        title=describe(made),
    )
    print_table(
        ("left out", "why", "set by", "source"),
        [
            ("\n".join(entry.names), entry.why, "\n".join(entry.set_by), entry.source)
            for entry in made.left_out
        ],
    )
    for note in made.notes:
        click.echo(f"note: {note}")
