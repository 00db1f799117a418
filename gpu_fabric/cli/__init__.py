"""The command line `gpu-fabric`: one file a command, imported when the command is used.

A new command is a file in this folder with a click command named `command`, and a row in `COMMANDS`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

import click

from gpu_fabric import __version__

COMMANDS: Final = {
    "sizes": "GPU node sizes: GPUs, fabric, interfaces, and where each fact comes from.",
    "environment": "The NCCL environment of a node, each variable with its reason.",
    "topology": "The topology file of a node: write, draw, compare, cut down, explain.",
    "lint": "Find what is wrong in NCCL environments and topology files, and mend it.",
    "cloud-init": "The start-up text that installs a node's files.",
    "hostfile": "The nodes of a fleet, ranks in the order of the network, as each launcher reads them.",
    "launch": "Commands and files for torchrun, DeepSpeed and Megatron-LM, on one cloud or two.",
    "preflight": "Prove a node, a cluster or the link between two clouds before the first training step.",
    "plan": "What a stack's fabric will do to step time and cost: the fabric report.",
    "prices": "The prices a plan counts with; refresh them from the clouds' public lists.",
}
"""Name → one line for the list. The module is the name with `_` for `-`."""


class LazyGroup(click.Group):
    """A group that imports a command's module only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"gpu_fabric.cli.{cmd_name.replace('-', '_')}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Commands are {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Shell completion: docs/cli.md. Exit codes: 0 fine, 1 something was found, 2 wrong input.",
)
@click.version_option(__version__, prog_name="gpu-fabric")
def group() -> None:
    """What a GPU node needs so that NCCL finds its fast network."""


def main() -> None:
    """Run the command line. Bad input ends with a message and exit code 2, never with a traceback."""
    from gpu_fabric.cli.errors import explained

    with explained():
        group(prog_name="gpu-fabric")
    sys.exit(0)
