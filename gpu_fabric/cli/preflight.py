"""`gpu-fabric preflight`: `gpu-fabric-preflight` with the planner at hand, and the one file for other machines."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(
    "preflight",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--write",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write gpu-fabric-preflight as one file, to copy to nodes without internet.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="node|cluster|link|lint ...")
def command(file: Path | None, arguments: tuple[str, ...]) -> None:
    """Prove a node, a cluster or the link between two clouds before the first training step.

    All arguments are those of gpu-fabric-preflight: `gpu-fabric preflight node --help`. Exit codes: 0 pass, 1 fail,
    2 unknown, 64 wrong usage.
    """
    from gpu_fabric.nccl.preflight.__main__ import main

    if file is not None:
        from gpu_fabric.nccl.preflight.zipapp import write

        click.echo(f"{file}: {write(file, planned_busbw):,} bytes; needs Python 3.8 or later")
        return
    if not arguments:
        click.echo(click.get_current_context().get_help())
        return
    sys.exit(main(arguments, program="gpu-fabric preflight", planner=planned_busbw))


def planned_busbw(size: str, collective: str, nodes: int, bytes_: int) -> float | None:
    """GB/s that the planner predicts; None for what it knows nothing of."""
    from gpu_fabric.planning.collectives import Collective, Group, platform_of, predict
    from gpu_fabric.planning.errors import PlanningError

    try:
        platform = platform_of(size)
        prediction = predict(Collective(collective), bytes_, Group(platform, nodes, platform.gpus))
    except (PlanningError, LookupError, ValueError):
        return None
    return prediction.busbw_gbs if prediction.seconds else None
