"""`gpu-fabric lint`: environments and topology files of anybody."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpu_fabric import __version__
from gpu_fabric.cli.options import complete_size, json_option, situation_options, versions
from gpu_fabric.cli.output import print_findings

if TYPE_CHECKING:
    from gpu_fabric.nccl.findings import Finding
    from gpu_fabric.nccl.lint import Target

STDIN = "<stdin>"


@click.command("lint")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--for",
    "sizes",
    metavar="SIZE",
    multiple=True,
    shell_complete=complete_size,
    help="The size that the files are for. Several: what holds for some of them names them.",
)
@click.option("--strict", is_flag=True, help="Warnings too end with exit code 1.")
@click.option("--ignore", metavar="CODE", multiple=True, help="Leave findings with this code out.")
@click.option("--fix", "mend", is_flag=True, help="Write the mended files, where it is certain how.")
@click.option("--sarif", is_flag=True, help="Print SARIF 2.1.0, for code scanning.")
@situation_options
@json_option
def command(
    files: tuple[Path, ...],
    sizes: tuple[str, ...],
    strict: bool,
    ignore: tuple[str, ...],
    mend: bool,
    sarif: bool,
    as_json: bool,
    role: str,
    image: str | None,
    nccl_version: str | None,
    plugin_version: str | None,
) -> None:
    """Find what is wrong in FILEs: shell and Slurm scripts, nccl.conf, Dockerfiles, Kubernetes YAML, the output of
    `env`, topology XML. `-` is standard input.

    Ends with exit code 1 if there is an error (with --strict also a warning).
    """
    from gpu_fabric.nccl.findings import exit_code, to_json, to_sarif
    from gpu_fabric.nccl.lint import fix, lint_for

    _check_codes(ignore)
    if sarif and as_json:
        raise click.UsageError("--sarif and --json exclude each other.")
    targets = _targets(sizes, role, image, versions(nccl_version, plugin_version))
    texts = {_name(file): _text(file) for file in files}
    if mend:
        for path, text in fix(texts, targets).items():
            if path == STDIN:
                raise click.UsageError("--fix cannot write to standard input; give the file's name.")
            Path(path).write_bytes(text.encode("utf-8", "surrogateescape"))
            click.echo(f"mended {path}", err=True)
            texts[path] = text
    found = [_printable(entry) for entry in lint_for(texts, targets) if entry.code not in ignore]
    if sarif:
        click.echo(to_sarif(found, tool_version=__version__, rules=_descriptions()), nl=False)
    elif as_json:
        click.echo(to_json(found), nl=False)
    else:
        print_findings(found)
        _hint(sizes, found)
    sys.exit(exit_code(found, strict=strict))


def _name(file: Path) -> str:
    return STDIN if str(file) == "-" else str(file)


def _text(file: Path) -> str:
    """The file's text; bytes that are no UTF-8 are kept for writing back.

    Of a file that is too large, or never ends, just enough is read for lint to say so.
    """
    from gpu_fabric.nccl.lint import MAX_BYTES

    if str(file) == "-":
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    return raw.decode("utf-8", "surrogateescape")


def _printable(finding: Finding) -> Finding:
    """The finding with a mark in place of every byte that is no text."""
    plain = {
        name: text.encode("utf-8", "replace").decode()
        for name, text in (("path", finding.path), ("what", finding.what), ("remedy", finding.remedy))
    }
    return replace(finding, **plain)


def _targets(sizes: tuple[str, ...], role: str, image: str | None, given: dict[str, str]) -> list[Target]:
    from gpu_fabric.nccl.environment import (
        DEFAULT_NCCL_VERSION,
        EnvironmentInputError,
        Role,
        Situation,
        situation_of,
    )
    from gpu_fabric.nccl.hardware import get_size
    from gpu_fabric.nccl.lint import Target
    from gpu_fabric.nccl.versions import parse_version

    if sizes:
        return [
            Target(situation_of(size, role=Role(role), image=image, link_mbps=None, **given), get_size(size))
            for size in sizes
        ]
    read, problems = {}, []
    for what, written in ({"nccl_version": DEFAULT_NCCL_VERSION} | given).items():
        try:
            read[what] = parse_version(written)
        except ValueError as error:
            problems.append(f"{what}: {error}")
    if problems:
        raise EnvironmentInputError(problems)
    return [Target(Situation(nccl=read["nccl_version"], plugin=read.get("plugin_version"), role=Role(role)))]


def _descriptions() -> dict[str, str]:
    from gpu_fabric.nccl.lint import codes
    from gpu_fabric.nccl.topology.rules import RULES

    return {**codes(), **{code: rule.summary for code, rule in RULES.items()}}


def _check_codes(ignore: tuple[str, ...]) -> None:
    if not ignore:
        return
    known = _descriptions()
    unknown = [code for code in ignore if code not in known]
    if unknown:
        raise click.BadParameter(
            f"{', '.join(unknown)}: no such code; docs/lint.md lists them",
            param_hint="--ignore",
        )


def _hint(sizes: tuple[str, ...], found: list[Finding]) -> None:
    if not sizes:
        click.echo(
            "Checked what holds on every platform. With --for SIZE also what this size ignores or has by itself.",
            err=True,
        )
