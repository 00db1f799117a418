"""The five renderings of an environment, and its explanation. All are deterministic to the byte."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from gpu_fabric.nccl.environment.model import Environment, Variable
from gpu_fabric.nccl.findings import to_dicts

_WIDTH: Final = 100


def to_conf(environment: Environment) -> str:
    """A file for NCCL_CONF_FILE in NCCL's own grammar: `KEY=VALUE`, no quotes, no `export`, `#` in column 0.

    Variables that must be in the process's environment before NCCL starts are not in it; they are in
    `to_node_shell`. Source of the grammar: NVIDIA/nccl src/misc/param.cc 2.30.7.
    """
    lines = [
        *_header(
            environment, "Read by NCCL through NCCL_CONF_FILE. A value set in the job's environment wins."
        )
    ]
    for variable in environment.variables:
        if not variable.process_only:
            lines += ["", *_comment(variable), f"{variable.name}={variable.value}"]
    return "\n".join(lines) + "\n"


def to_shell(environment: Environment) -> str:
    """Every variable as POSIX shell, to be sourced where our files are not installed. A value that is set stays.

    NCCL_CONF_FILE is left out: the file that it would name holds nothing more.
    """
    lines = [*_header(environment, "Source this file. A variable that is already set keeps its value.")]
    for variable in _everywhere(environment):
        lines += ["", *_comment(variable), _export_if_unset(variable)]
    return "\n".join(lines) + "\n"


def to_node_shell(environment: Environment, *, fabric_ports: int) -> str:
    """`/etc/gpu-fabric/environment.sh`: what NCCL's file cannot carry, and what the entrypoint checks.

    `fabric_ports` is the number of EFA devices or InfiniBand ports that the node must have.
    """
    fabric = environment.situation.fabric
    lines = [
        *_header(
            environment, "Sourced by gpu-fabric-entrypoint. A variable that is already set keeps its value."
        ),
        "",
        "# What this node must have.",
        f"GPU_FABRIC_SIZE={shlex.quote(environment.size)}",
        f"GPU_FABRIC_FABRIC={fabric.value if fabric else ''}",
        f"GPU_FABRIC_PORTS={fabric_ports}",
        f"GPU_FABRIC_ROLE={environment.situation.role.value}",
        "export GPU_FABRIC_SIZE GPU_FABRIC_FABRIC GPU_FABRIC_PORTS GPU_FABRIC_ROLE",
    ]
    for variable in environment.variables:
        if variable.process_only:
            lines += ["", *_comment(variable), _export_if_unset(variable)]
    return "\n".join(lines) + "\n"


def to_kubernetes(environment: Environment) -> str:
    """The `env` list of a container, as YAML."""
    lines = [*_header(environment, "For spec.containers[].env of the pod.")]
    for variable in _everywhere(environment):
        lines += [*_comment(variable), f"- name: {variable.name}", f"  value: {json.dumps(variable.value)}"]
    return "\n".join(lines) + "\n"


def to_slurm(environment: Environment) -> str:
    """One line for sbatch or srun: `--export="ALL,NAME=value,'NAME=a,b'"`.

    A value with a comma is quoted together with its name, because Slurm splits the list at commas outside
    quotes and takes off quotes that enclose a whole entry (SchedMD/slurm src/sbatch/sbatch.c).
    Raises ValueError for a value that holds both kinds of quote.
    """
    entries = ["ALL"]
    for variable in _everywhere(environment):
        entry = f"{variable.name}={variable.value}"
        entries.append(_slurm_quoted(entry) if set(entry) & set(",'\"") else entry)
    option = ",".join(entries)
    # Double quotes read better than what shlex makes of single ones, where the shell leaves the text alone.
    quoted = shlex.quote(option) if set(option) & set('"$`\\!') else f'"{option}"'
    return f"--export={quoted}\n"


def to_json(environment: Environment) -> str:
    """Every field of the environment, for other programs."""
    return json.dumps(as_dict(environment), indent=2, ensure_ascii=False) + "\n"


def as_dict(environment: Environment) -> dict[str, Any]:
    """The environment as plain values."""
    situation = environment.situation
    return {
        "size": environment.size,
        "cloud": situation.cloud,
        "fabric": situation.fabric,
        "role": situation.role,
        "image": situation.image,
        "framework": situation.framework,
        "nccl_version": str(situation.nccl),
        "plugin_version": str(situation.plugin) if situation.plugin else None,
        "preset": environment.preset,
        "variables": [asdict(variable) for variable in environment.variables],
        "left_out": [asdict(entry) for entry in environment.left_out],
        "notes": list(environment.notes),
        "findings": to_dicts(environment.findings),
    }


def explain(environment: Environment) -> str:
    """What is set and why, what is left out and why, as plain text."""
    lines = [describe(environment), "", "Set"]
    for variable in environment.variables:
        lines += [f"  {variable.name}={variable.value}", *_paragraph(variable.why)]
        details = [f"since NCCL {variable.since}"] if variable.since else []
        details += [f"replaces {setter}" for setter in variable.also_set_by]
        lines += _paragraph("; ".join([*details, f"source: {variable.source}"]))
    if environment.left_out:
        lines += ["", "Left out"]
    for entry in environment.left_out:
        lines += [f"  {', '.join(entry.names)}", *_paragraph(entry.why)]
        details = [f"set by {setter}" for setter in entry.set_by]
        lines += _paragraph("; ".join([*details, f"source: {entry.source}"]))
    if environment.notes:
        lines += [
            "",
            "Notes",
            *(line for note in environment.notes for line in _paragraph(note, "  - ", "    ")),
        ]
    return "\n".join(lines) + "\n"


def describe(environment: Environment) -> str:
    """One line: size, fabric, role, versions, image."""
    situation = environment.situation
    parts = [
        f"{environment.size} ({situation.fabric.value if situation.fabric else 'unknown fabric'})",
        f"role {situation.role.value}",
        f"NCCL {situation.nccl}",
        f"EFA plugin {situation.plugin}" if situation.plugin else "",
        f"image {situation.image}" if situation.image else "",
        f"preset {environment.preset}" if environment.preset else "",
    ]
    return ", ".join(part for part in parts if part)


def _everywhere(environment: Environment) -> Iterator[Variable]:
    """The variables of a rendering that stands alone."""
    return (variable for variable in environment.variables if variable.name != "NCCL_CONF_FILE")


def _header(environment: Environment, use: str) -> list[str]:
    return [f"# NCCL environment of {describe(environment)}.", f"# Written by gpu-fabric. {use}"]


def _comment(variable: Variable) -> list[str]:
    return textwrap.wrap(
        variable.why, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def _paragraph(text: str, first: str = "      ", rest: str = "      ") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _export_if_unset(variable: Variable) -> str:
    return f'[ -n "${{{variable.name}+set}}" ] || export {variable.name}={shlex.quote(variable.value)}'


def _slurm_quoted(entry: str) -> str:
    for quote in "'\"":
        if quote not in entry:
            return f"{quote}{entry}{quote}"
    raise ValueError(f"{entry}: Slurm's --export cannot carry a value with both kinds of quote")
