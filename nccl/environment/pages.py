"""The documentation of the environment: one page a cloud, from the same data as `--explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.environment.build import environment
from gpu_fabric.nccl.environment.model import Environment, LeftOut, Variable
from gpu_fabric.nccl.environment.platforms import platforms
from gpu_fabric.nccl.environment.situation import Role
from gpu_fabric.nccl.hardware import Cloud, NodeSize, load_sizes
from gpu_fabric.nccl.markdown import table

TITLES: Final = {Cloud.AWS: "AWS: EFA", Cloud.AZURE: "Azure: InfiniBand"}


def page(cloud: Cloud) -> str:
    """The page of a cloud, as Markdown. The same to the byte each time."""
    sizes = [size for size in load_sizes().values() if size.cloud is cloud]
    made = {size.name: environment(size) for size in sizes}
    lines = [
        f"# The NCCL environment on {TITLES[cloud]}",
        "",
        "<!-- Written by `python -m gpu_fabric.cli.pages` from nccl/environment/*.toml. Change those. -->",
        "",
        f"What `gpu-fabric environment SIZE` prints and a node gets in `{paths.NCCL_CONF}` and",
        f"`{paths.ENVIRONMENT}`, for NCCL {next(iter(made.values())).situation.nccl}"
        + (f" and EFA plugin {platforms()['plugin']['default_version']}" if cloud is Cloud.AWS else "")
        + ". Other versions: `--nccl-version`,",
        "`--plugin-version`; another role, image or value of your own: `--role`, `--image`, `--set`.",
        "",
        "## Set",
        "",
    ]
    lines += [*_set_table(made), ""]
    lines += ["## Between clouds, and on one node", "", *_roles(sizes, made), ""]
    lines += ["## Left out, and why", "", *_left_out_table(made), ""]
    notes = list(dict.fromkeys(note for entry in made.values() for note in entry.notes))
    if notes:
        lines += ["## Notes", "", *(f"- {note}" for note in notes), ""]
    return "\n".join(lines)


def _set_table(made: dict[str, Environment]) -> list[str]:
    """A row a variable and value, with the sizes that get it and who else sets it there."""
    found: dict[Variable, list[tuple[str, tuple[str, ...]]]] = {}
    for size, environment_ in made.items():
        for entry in environment_.variables:
            found.setdefault(replace(entry, also_set_by=()), []).append((size, entry.also_set_by))
    rows = []
    for entry, places in found.items():
        setters: dict[str, list[str]] = {}
        for size, by in places:
            for setter in by:
                setters.setdefault(setter, []).append(size)
        rows.append(
            (
                f"`{entry.name}={entry.value}`",
                "all" if len(places) == len(made) else ", ".join(f"`{size}`" for size, _ in places),
                entry.why,
                f"NCCL {entry.since}" if entry.since else "",
                "; ".join(
                    setter if len(sizes) == len(places) else f"{setter} ({', '.join(sizes)})"
                    for setter, sizes in setters.items()
                ),
                entry.source,
            )
        )
    return table(("variable", "sizes", "why", "since", "also set by", "source"), rows)


def _roles(sizes: Sequence[NodeSize], made: dict[str, Environment]) -> list[str]:
    """What other roles add to or take from the role inside a cloud, where it is the same for every size."""
    lines = []
    for role, words in (
        (Role.STAGE_BOUNDARY, "where one communicator crosses to the other cloud"),
        (Role.SINGLE_NODE, "where the job fits in one node"),
    ):
        added: dict[Variable, list[str]] = {}
        taken: dict[str, list[str]] = {}
        for size in sizes:
            other, usual = environment(size, role=role), made[size.name]
            for entry in other.variables:
                if entry.name not in usual:
                    added.setdefault(entry, []).append(size.name)
            for name in usual.values:
                if name not in other:
                    taken.setdefault(name, []).append(size.name)
        lines += [f"### `--role {role.value}`, {words}", ""]
        lines += [
            f"- adds `{entry.name}={entry.value}`{_only(names, sizes)}: {entry.why}"
            for entry, names in added.items()
        ]
        lines += [f"- leaves `{name}` out{_only(names, sizes)}" for name, names in taken.items()]
        lines += ["- the same variables"] if not added and not taken else []
        lines.append("")
    return lines[:-1]


def _left_out_table(made: dict[str, Environment]) -> list[str]:
    entries: dict[tuple[tuple[str, ...], str, str], list[tuple[str, LeftOut]]] = {}
    for size, environment_ in made.items():
        for entry in environment_.left_out:
            entries.setdefault((entry.names, entry.why, entry.source), []).append((size, entry))
    rows = []
    for (names, why, source), found in entries.items():
        where = (
            "" if len(found) == len(made) else "Only on " + ", ".join(f"`{size}`" for size, _ in found) + ". "
        )
        setters = list(dict.fromkeys(setter for _, entry in found for setter in entry.set_by))
        rows.append((" ".join(f"`{name}`" for name in names), where + why, "; ".join(setters), source))
    return table(("variable", "why", "set by", "source"), rows)


def _only(names: Sequence[str], sizes: Sequence[NodeSize]) -> str:
    return "" if len(names) == len(sizes) else " on " + ", ".join(f"`{name}`" for name in names)
