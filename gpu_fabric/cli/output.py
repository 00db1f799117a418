"""What commands print: JSON, tables (rich, imported when one is printed), and findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gpu_fabric.nccl.findings import Finding

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def print_json(document: Any) -> None:
    """A document as JSON, two-space indent, text as it is."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table as wide as the terminal; on a pipe without colours and without lines that are cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for row in rows:
        # Text, not markup: values such as [^][=]name would be taken for styles.
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(table)


def print_findings(findings: Sequence[Finding], *, err: bool = False) -> None:
    """Findings as text, coloured by level on a terminal, and the count."""
    from gpu_fabric.nccl.findings import ordered, summary

    for finding in ordered(findings):
        level = click.style(finding.level.value, fg=_COLOURS[finding.level.value], bold=True)
        code = click.style(f"[{finding.code}]", dim=True)
        click.echo(f"{click.style(finding.place, bold=True)}: {level}: {finding.what} {code}", err=err)
        click.echo(f"    do: {finding.remedy}", err=err)
        click.echo(click.style(f"    source: {finding.source}", dim=True), err=err)
    click.echo(summary(findings), err=err)
