"""`gpu-fabric launch`: the commands and files that start a job on a list of nodes."""

from __future__ import annotations

from pathlib import Path

import click

from gpu_fabric.cli.errors import InputError
from gpu_fabric.cli.options import json_option

LAUNCHERS = ("torchrun", "deepspeed", "megatron")


@click.command("launch", context_settings={"ignore_unknown_options": True})
@click.argument("launcher", type=click.Choice(LAUNCHERS))
@click.argument("script", metavar="SCRIPT")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
@click.option(
    "--nodes",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    required=True,
    help="What `gpu-fabric hostfile` wrote as json, openmpi or plain; json keeps the clouds. Twice for two clouds.",
)
@click.option(
    "--tensor", type=click.IntRange(min=1), default=1, show_default=True, help="Megatron-LM: tensor parallel."
)
@click.option(
    "--pipeline",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Megatron-LM: pipeline stages.",
)
@click.option(
    "--context",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Megatron-LM: context parallel.",
)
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=29_500, show_default=True, help="Of the rendezvous."
)
@click.option("--no-entrypoint", is_flag=True, help="Leave gpu-fabric-entrypoint out of the commands.")
@click.option(
    "--write", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write the files here."
)
@json_option
def command(
    launcher: str,
    script: str,
    arguments: tuple[str, ...],
    files: tuple[Path, ...],
    tensor: int,
    pipeline: int,
    context: int,
    port: int,
    no_entrypoint: bool,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Print what to run on which node to start SCRIPT, and the files that go with it.

    The order of the nodes is the order of the ranks. On two clouds the nodes of one come before those of the other,
    and Megatron-LM crosses between pipeline stages alone. Options of SCRIPT follow it as they are.
    """
    from gpu_fabric.nccl.launch import (
        Job,
        LaunchInputError,
        Parallelism,
        deepspeed,
        megatron,
        read_nodes,
        torchrun,
    )
    from gpu_fabric.nccl.launch.nodes import NodeListError, refuse_public

    try:
        nodes = [node for file in files for node in read_nodes(file.read_text(encoding="utf-8"))]
        refuse_public(nodes)
        job = Job(tuple(nodes), script, arguments, port, **({"entrypoint": ""} if no_entrypoint else {}))
        if launcher == "megatron":
            made = megatron(job, Parallelism(tensor, pipeline, context))
        else:
            made = {"torchrun": torchrun, "deepspeed": deepspeed}[launcher](job)
    except (LaunchInputError, NodeListError) as refused:
        raise InputError(str(refused)) from None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.files.items():
            (folder / name).write_text(text, encoding="utf-8")
    if as_json:
        from gpu_fabric.cli.output import print_json

        commands = [{"node": node, "command": text} for node, text in made.commands]
        print_json({"commands": commands, "files": made.files, "notes": list(made.notes)})
        return
    for node, text in made.commands:
        click.echo(f"# on {node}\n{text}\n")
    for name, text in made.files.items():
        if folder is None:
            click.echo(f"# ---- {name}\n{text}")
        else:
            click.echo(f"# wrote {folder / name}")
    for note in made.notes:
        click.echo(f"note: {note}", err=True)
