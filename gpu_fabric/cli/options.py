"""Arguments and options that several commands share, with completion of sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])

ROLES = ("inside-cloud", "stage-boundary", "single-node")
FRAMEWORKS = ("torch", "deepspeed", "megatron")


def complete_size(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Sizes that begin with what is typed, in any case."""
    from gpu_fabric.nccl.hardware import load_sizes

    return [
        CompletionItem(name, help=f"{size.gpu.count} × {size.gpu.model}")
        for name, size in load_sizes().items()
        if name.lower().startswith(incomplete.lower())
    ]


def situation_options(function: Function) -> Function:
    """--role, --image, --nccl-version, --plugin-version."""
    for option in reversed(
        (
            click.option(
                "--role",
                type=click.Choice(ROLES),
                default="inside-cloud",
                show_default=True,
                help="What the processes talk to: their own cluster, the other cloud too, or nobody.",
            ),
            click.option(
                "--image",
                metavar="NAME",
                help="Image name or URN, where it is not the cloud's GPU image.",
            ),
            click.option("--nccl-version", metavar="X.Y.Z", help="Release of NCCL.  [default: 2.30.7]"),
            click.option(
                "--plugin-version", metavar="X.Y.Z", help="Release of the EFA plugin.  [default: 1.21.1]"
            ),
        )
    ):
        function = option(function)
    return function


def environment_options(function: Function) -> Function:
    """The options that decide an environment: those of the situation, and --link-mbps, --topology-file, --set,
    --preset."""
    for option in reversed(
        (
            click.option(
                "--framework", type=click.Choice(FRAMEWORKS), help="Adds what its users should know."
            ),
            click.option(
                "--link-mbps",
                type=click.FloatRange(min=0, min_open=True),
                metavar="NUMBER",
                help="With --role stage-boundary: bandwidth of the link, which decides the flows.  [default: 10000, "
                "the largest]",
            ),
            click.option(
                "--topology-file",
                metavar="PATH|ours|none",
                help="What NCCL_TOPO_FILE names: a path, our installed file, or nothing.  [default: what the size "
                "needs]",
            ),
            click.option(
                "--set",
                "overrides",
                metavar="NAME=VALUE",
                multiple=True,
                help="A variable of your own; wins over ours and is linted. An empty value leaves one of ours out.",
            ),
            click.option("--preset", metavar="NAME", help="Somebody else's environment, to compare: guide."),
        )
    ):
        function = option(function)
    return situation_options(function)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def read_overrides(overrides: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` arguments as a mapping. click.BadParameter lists every argument that is none."""
    wrong = [entry for entry in overrides if not entry.partition("=")[0] or "=" not in entry]
    if wrong:
        raise click.BadParameter(f"{', '.join(map(repr, wrong))}: write NAME=VALUE", param_hint="--set")
    return {name: value for name, _, value in (entry.partition("=") for entry in overrides)}


def read_topology_file(written: str | None) -> str | bool | None:
    """`ours`, `none` or a path, as `environment` takes it."""
    return {None: None, "ours": True, "none": False}.get(written, written)


def versions(nccl_version: str | None, plugin_version: str | None) -> dict[str, str]:
    """The versions that were given, as keyword arguments; the others keep their defaults."""
    given = {"nccl_version": nccl_version, "plugin_version": plugin_version}
    return {name: value for name, value in given.items() if value is not None}


def make_environment(
    size: str,
    *,
    role: str,
    image: str | None,
    framework: str | None,
    nccl_version: str | None,
    plugin_version: str | None,
    topology_file: str | None,
    link_mbps: float | None,
    overrides: tuple[str, ...],
    preset: str | None,
) -> Any:
    """The environment that `environment_options` describe."""
    from gpu_fabric.nccl.environment import Role, environment

    return environment(
        size,
        role=Role(role),
        image=image,
        framework=framework,
        overrides=read_overrides(overrides),
        topology_file=read_topology_file(topology_file),
        link_mbps=link_mbps,
        preset=preset,
        **versions(nccl_version, plugin_version),
    )
