"""Decide a node's environment from the rules in `rules.toml`."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.environment.flows import LARGEST_MBPS, flows_of
from gpu_fabric.nccl.environment.model import Environment, LeftOut, Origin, Variable
from gpu_fabric.nccl.environment.platforms import (
    SetElsewhere,
    default_plugin_version,
    image_key,
    plugin_topology,
    set_elsewhere,
)
from gpu_fabric.nccl.environment.situation import Role, Situation, matches
from gpu_fabric.nccl.findings import Finding
from gpu_fabric.nccl.hardware import NodeSize, get_size
from gpu_fabric.nccl.versions import Version, parse_version

DEFAULT_NCCL_VERSION: Final = "2.30.7"
FRAMEWORKS: Final = ("torch", "deepspeed", "megatron")
VALUE_LIMIT: Final = 1023
"""Characters; NCCL cuts names and values of its files there. NVIDIA/nccl src/misc/param.cc 2.30.7."""

_NVLS_COMPUTE_CAPABILITY: Final = 90
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvironmentInputError(ValueError):
    """The request cannot be met; `problems` lists every reason."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


@cache
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def presets() -> tuple[str, ...]:
    """Names of the environments of others that can be asked for."""
    return tuple(_table("presets.toml"))


def preset_values(name: str, situation: Situation) -> dict[str, str]:
    """What a preset sets on a node with this fabric, in the order of its script."""
    row = _table("presets.toml")[name]
    fabric = row.get(situation.fabric.value, {}) if situation.fabric else {}
    return {**row["always_before"], **fabric, **row["always_after"], "NCCL_TOPO_FILE": row["topology_file"]}


def situation_of(
    size: str | NodeSize,
    *,
    image: str | None = None,
    role: Role = Role.INSIDE_CLOUD,
    framework: str | None = None,
    nccl_version: str = DEFAULT_NCCL_VERSION,
    plugin_version: str | None = None,
    topology_file: str | bool | None = None,
    link_mbps: float | None = None,
    format: str | None = None,
) -> Situation:
    """The situation that rules are tried against. `EnvironmentInputError` lists every unusable argument.

    `topology_file`: None follows the catalog row (`topology_active`), True names our installed file, False names
    none, text is a path of the caller's own. `plugin_version` is the EFA plugin's, and unused without EFA.
    `link_mbps` is the bandwidth of the link at a stage boundary, 10^6 bit/s; without it the largest is counted with.
    """
    row = size if isinstance(size, NodeSize) else get_size(size)
    problems: list[str] = []

    def version(what: str, text: str | None) -> Version | None:
        if text is None:
            return None
        try:
            return parse_version(text)
        except ValueError as error:
            problems.append(f"{what}: {error}")
            return None

    nccl = version("nccl_version", nccl_version)
    plugin = version("plugin_version", plugin_version or default_plugin_version(row.fabric))
    if framework is not None and framework not in FRAMEWORKS:
        problems.append(f"framework: {framework!r} is not one of {', '.join(FRAMEWORKS)}")
    if topology_file is True and row.pci is None:
        problems.append(
            f"topology_file: no PCI layout of {row.name} is published; give the path of your own file"
        )
    if link_mbps is not None and role is not Role.STAGE_BOUNDARY:
        problems.append(f"link_mbps: the role {role.value} crosses no link; leave it out")
    elif link_mbps is not None and not 0 < link_mbps < math.inf:
        problems.append(f"link_mbps: {link_mbps:g} is no bandwidth; give 10^6 bit/s, such as 10000")
    if problems:
        raise EnvironmentInputError(problems)
    if topology_file is None:
        topology_file = row.topology_active
    return Situation(
        cloud=row.cloud,
        fabric=row.fabric,
        size=row.name,
        role=role,
        nccl=nccl,
        plugin=plugin if row.fabric.value == "efa" else None,
        image=image_key(image, row.cloud),
        framework=framework,
        plugin_topology=plugin_topology(row.name, row.fabric) if row.cloud.value == "aws" else None,
        gpudirect=row.gpu.gpudirect_rdma,
        topology_file=paths.TOPOLOGY if topology_file is True else topology_file or None,
        link_mbps=link_mbps,
        nvlink_sharp=row.gpu.count > 1 and row.gpu.compute_capability >= _NVLS_COMPUTE_CAPABILITY,
        format=format,
    )


def environment(
    size: str | NodeSize,
    *,
    image: str | None = None,
    role: Role = Role.INSIDE_CLOUD,
    framework: str | None = None,
    nccl_version: str = DEFAULT_NCCL_VERSION,
    plugin_version: str | None = None,
    overrides: Mapping[str, str] | None = None,
    topology_file: str | bool | None = None,
    link_mbps: float | None = None,
    preset: str | None = None,
) -> Environment:
    """The smallest set of variables that is right for a node, each with its reason.

    `size` is a catalog name or a row of the caller's own. `overrides` win over every rule and are linted: see
    `Environment.findings`; an empty value leaves a variable of ours out. `preset="guide"` gives the variables of
    a published guide instead of ours, for comparison. The other arguments are those of `situation_of`.
    Raises `UnknownSizeError`, and `EnvironmentInputError` with every problem of the other arguments.
    """
    situation = situation_of(
        size,
        image=image,
        role=role,
        framework=framework,
        nccl_version=nccl_version,
        plugin_version=plugin_version,
        topology_file=topology_file,
        link_mbps=link_mbps,
    )
    changes = dict(overrides or {})
    problems = [problem for name, value in changes.items() for problem in _override_problems(name, value)]
    if preset is not None and preset not in presets():
        problems.append(f"preset: {preset!r} is not one of {', '.join(presets())}")
    if problems:
        raise EnvironmentInputError(problems)

    elsewhere = set_elsewhere(situation)
    ours = (
        _preset_variables(preset, situation, elsewhere) if preset else _rule_variables(situation, elsewhere)
    )
    chosen = {variable.name: variable for variable in ours}
    for name, value in changes.items():
        if value == "":
            chosen.pop(name, None)
        else:
            chosen[name] = _override(name, value, chosen.get(name), elsewhere)
    return Environment(
        size=situation.size or "",
        situation=situation,
        variables=tuple(chosen.values()),
        left_out=() if preset else _left_out(situation, elsewhere, set(chosen)),
        notes=notes(situation),
        preset=preset,
        findings=_lint(situation, changes if preset is None else {**_values(chosen), **changes}, chosen),
    )


def notes(situation: Situation) -> tuple[str, ...]:
    """What a person should know in this situation and no variable says, each with its source."""
    return tuple(
        f"{row['text']} ({row['source']})"
        for row in _table("rules.toml")["note"]
        if matches(row["when"], situation)
    )


def _values(variables: Mapping[str, Variable]) -> dict[str, str]:
    return {name: variable.value for name, variable in variables.items()}


def _rule_variables(situation: Situation, elsewhere: list[SetElsewhere]) -> list[Variable]:
    places = {
        "topology_file": situation.topology_file,
        "conf_file": paths.NCCL_CONF,
        **_flow_words(situation.link_mbps),
    }
    return [
        Variable(
            name=row["name"],
            value=row["value"].format(**places),
            why=row["why"].format(**places),
            since=row.get("since"),
            also_set_by=_setters(row["name"], elsewhere),
            source=row["source"],
            process_only=row.get("process_only", False),
        )
        for row in _table("rules.toml")["set"]
        if matches(row["when"], situation)
    ]


def _flow_words(link_mbps: float | None) -> dict[str, object]:
    """What a rule may say of the flows over the link."""
    flows = flows_of(link_mbps or LARGEST_MBPS)
    link = (
        f"{link_mbps:g} Mb/s"
        if link_mbps
        else f"{LARGEST_MBPS} Mb/s, the largest (`--link-mbps` names another)"
    )
    return {"threads": flows.threads, "sockets": flows.sockets, "flows": flows.total, "link": link}


def _preset_variables(preset: str, situation: Situation, elsewhere: list[SetElsewhere]) -> list[Variable]:
    row = _table("presets.toml")[preset]
    return [
        Variable(
            name=name,
            value=value,
            why=f"Set by {row['title']}.",
            since=None,
            also_set_by=_setters(name, elsewhere),
            source=row["source"],
            origin=Origin.PRESET,
            process_only=not name.startswith("NCCL_"),
        )
        for name, value in preset_values(preset, situation).items()
    ]


def _override(name: str, value: str, before: Variable | None, elsewhere: list[SetElsewhere]) -> Variable:
    replaced = f" It replaces {before.value}." if before and before.value != value else ""
    return Variable(
        name=name,
        value=value,
        why=f"Your own value.{replaced}",
        since=before.since if before else None,
        also_set_by=_setters(name, elsewhere),
        source="your override",
        origin=Origin.OVERRIDE,
        process_only=not name.startswith("NCCL_") or name == "NCCL_CONF_FILE",
    )


def _left_out(situation: Situation, elsewhere: list[SetElsewhere], chosen: set[str]) -> tuple[LeftOut, ...]:
    entries = []
    for row in _table("rules.toml")["leave_out"]:
        names = tuple(name for name in row["names"] if name not in chosen)
        if names and matches(row["when"], situation):
            entries.append(
                LeftOut(
                    names=names,
                    why=row["why"],
                    source=row["source"],
                    set_by=tuple(f"{entry.name}, {entry}" for entry in elsewhere if entry.name in names),
                )
            )
    return tuple(entries)


def _setters(name: str, elsewhere: list[SetElsewhere]) -> tuple[str, ...]:
    return tuple(str(entry) for entry in elsewhere if entry.name == name)


def _override_problems(name: str, value: str) -> list[str]:
    where = f"overrides.{name}"
    problems = []
    if not _NAME.fullmatch(name):
        problems.append(f"{where}: a variable's name has letters, digits and underscores only")
    if not isinstance(value, str):
        return [*problems, f"{where}: {value!r} must be text; write it in quotes"]
    if any(ord(character) < ord(" ") or character == "\x7f" for character in value):
        problems.append(f"{where}: the value holds a control character or a line end; write it on one line")
    if len(value) > VALUE_LIMIT:
        problems.append(f"{where}: {len(value)} characters; NCCL cuts a value at {VALUE_LIMIT}")
    return problems


def _lint(
    situation: Situation, checked: Mapping[str, str], chosen: Mapping[str, Variable]
) -> tuple[Finding, ...]:
    if not checked:
        return ()
    from gpu_fabric.nccl.lint import lint_values

    return tuple(lint_values(_values(chosen), situation=situation, path="overrides", only=checked))
