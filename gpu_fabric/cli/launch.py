"""`gpu-fabric launch`: the commands and files that start a job on a list of nodes.

One command a launcher, whose options end at SCRIPT: what follows it is the script's own, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpu_fabric.cli.errors import InputError
from gpu_fabric.cli.files import nodes_in
from gpu_fabric.cli.options import json_option

if TYPE_CHECKING:
    from gpu_fabric.nccl.launch import Job, Launch

Function = TypeVar("Function", bound=Callable[..., Any])

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SETTINGS = {"ignore_unknown_options": False, "allow_interspersed_args": False}


def _job_options(function: Function) -> Function:
    """The nodes, the script with its own arguments, and where to write what is made."""
    for option in reversed(
        (
            click.argument("script", metavar="SCRIPT"),
            click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]..."),
            click.option(
                "--nodes",
                "files",
                type=_FILE,
                multiple=True,
                required=True,
                help="What `gpu-fabric hostfile` wrote as json, openmpi or plain; json keeps the clouds. Twice for two "
                "clouds, with `cloud=` on the lines.",
            ),
            click.option(
                "--port",
                type=click.IntRange(1, 65_535),
                default=29_500,
                show_default=True,
                help="Of the rendezvous.",
            ),
            click.option(
                "--no-entrypoint", is_flag=True, help="Leave gpu-fabric-entrypoint out of the commands."
            ),
            click.option(
                "--write",
                "folder",
                type=click.Path(file_okay=False, path_type=Path),
                help="Write the files here.",
            ),
            json_option,
        )
    ):
        function = option(function)
    return function


def _size_option(name: str, about: str) -> Callable[[Function], Function]:
    return click.option(f"--{name}", type=click.IntRange(min=1), default=1, show_default=True, help=about)


@click.group("launch")
def command() -> None:
    """Print what to run on which node to start a job, and the files that go with it.

    The order of the nodes is the order of the ranks. On two clouds the nodes of one come before those of the other,
    and Megatron-LM crosses between pipeline stages alone.
    """


@command.command("torchrun", context_settings=_SETTINGS)
@_job_options
def torchrun(script: str, arguments: tuple[str, ...], **given: Any) -> None:
    """One torchrun command a node. What follows SCRIPT is SCRIPT's own."""
    from gpu_fabric.nccl.launch import torchrun as made

    _print(made, script, arguments, **given)


@command.command("deepspeed", context_settings=_SETTINGS)
@_job_options
def deepspeed(script: str, arguments: tuple[str, ...], **given: Any) -> None:
    """One deepspeed command on the first node, and the communication part of its configuration.

    What follows SCRIPT is SCRIPT's own. Merge the part into your configuration.
    """
    from gpu_fabric.nccl.launch import deepspeed as made

    _print(made, script, arguments, **given)


@command.command("megatron", context_settings=_SETTINGS)
@_size_option("tensor", "Tensor parallel.")
@_size_option("pipeline", "Pipeline stages.")
@_size_option("context", "Context parallel.")
@_job_options
def megatron(
    script: str, arguments: tuple[str, ...], tensor: int, pipeline: int, context: int, **given: Any
) -> None:
    """One torchrun command a node with Megatron-LM's own arguments.

    What follows SCRIPT is SCRIPT's own.
    """
    from gpu_fabric.nccl.launch import Parallelism
    from gpu_fabric.nccl.launch import megatron as made

    parallel = Parallelism(tensor, pipeline, context)
    _print(lambda job: made(job, parallel), script, arguments, **given)


def _print(
    make: Callable[[Job], Launch],
    script: str,
    arguments: tuple[str, ...],
    *,
    files: tuple[Path, ...],
    port: int,
    no_entrypoint: bool,
    folder: Path | None,
    as_json: bool,
) -> None:
    from gpu_fabric.nccl.launch import Job, LaunchInputError
    from gpu_fabric.nccl.launch.nodes import NodeListError, refuse_public, twice

    try:
        nodes = [node for file in files for node in nodes_in(file)]
        if len(files) > 1 and not any(node.cloud for node in nodes):
            raise InputError(
                f"{', '.join(map(str, files))}: no line says which cloud it is, and two files are two clouds; write "
                "`cloud=aws` or `cloud=azure` behind the addresses, or give what `gpu-fabric hostfile --format json` "
                "wrote"
            )
        refuse_public(nodes)
        if again := twice(nodes):
            raise InputError("; ".join(again))
        job = Job(tuple(nodes), script, arguments, port, **({"entrypoint": ""} if no_entrypoint else {}))
        made = make(job)
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
