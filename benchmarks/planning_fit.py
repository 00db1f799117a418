"""Predicted over published: every usable row, and median and worst error by collective, platform and size class.

python benchmarks/planning_fit.py              tables of collectives and training runs, and the guide's table
python benchmarks/planning_fit.py --rows       every row besides
python benchmarks/planning_fit.py --refit      fit the constants again and print them beside those in force
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from statistics import median

import click
from rich.console import Console
from rich.table import Table

from gpu_fabric.planning.accuracy import accuracy_toml
from gpu_fabric.planning.collectives.constants import load_constants
from gpu_fabric.planning.collectives.fitting import FITS, fit_constants, fit_rows, loss
from gpu_fabric.planning.collectives.validation import (
    SIZE_CLASSES,
    Comparison,
    compare,
    load_measurements,
    summaries,
)
from gpu_fabric.planning.compute import step_constants
from gpu_fabric.planning.guide import claims
from gpu_fabric.planning.tables import read_csv
from gpu_fabric.planning.training_fit import COMMON, fit_step_constants, step_loss
from gpu_fabric.planning.training_validation import RunComparison, compare_runs, load_runs, usable

MIB = 1 << 20
PARTS = ("fit", "check", "two-node")


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print one table, numbers to the right."""
    rendered = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        rendered.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        rendered.add_row(*(str(cell) for cell in row))
    Console(width=160).print(rendered)


def percent(value: float) -> str:
    return f"{value:.1%}"


def collective_rows(comparisons: list[Comparison]) -> None:
    table(
        "busbw in GB/s, every row below 32 MiB left out of the goals",
        (
            "platform",
            "nodes",
            "collective",
            "MiB",
            "published",
            "predicted",
            "ratio",
            "algorithm",
            "part",
            "source",
        ),
        (
            (
                item.measurement.platform,
                item.measurement.nodes,
                item.measurement.collective.value,
                f"{item.measurement.size / MIB:g}",
                item.measurement.busbw_gbs,
                f"{item.predicted_gbs:.1f}",
                f"{item.ratio:.2f}",
                item.algorithm,
                item.measurement.part,
                item.measurement.source,
            )
            for item in comparisons
        ),
    )


def collective_summary(comparisons: list[Comparison]) -> None:
    table(
        "busbw, error by collective, platform, size class and part",
        ("collective", "platform", "size", "part", "rows", "median", "worst"),
        (
            (*key, summary.rows, percent(summary.median), percent(summary.worst))
            for key, summary in summaries(comparisons).items()
        ),
    )
    rows = []
    for part in PARTS:
        for name in SIZE_CLASSES:
            errors = [
                i.error
                for i in comparisons
                if i.measurement.part == part and i.measurement.size_class == name
            ]
            if errors:
                rows.append((part, name, len(errors), percent(median(errors)), percent(max(errors))))
    table("busbw, all platforms", ("part", "size", "rows", "median", "worst"), rows)


def training_rows(comparisons: list[RunComparison]) -> None:
    table(
        "step time in seconds",
        ("run", "layout", "published", "predicted", "ratio", "part", "source", "note"),
        (
            (
                item.run.label,
                item.run.layout.describe(),
                f"{item.run.step_seconds:.3f}",
                f"{item.estimate.seconds:.3f}",
                f"{item.ratio:.2f}",
                item.run.part,
                item.run.source,
                item.run.note,
            )
            for item in comparisons
        ),
    )


def training_summary(comparisons: list[RunComparison]) -> None:
    rows = []
    for part in ("fit", "check"):
        for stack in sorted({item.run.stack for item in comparisons}):
            errors = [item.error for item in comparisons if (item.run.stack, item.run.part) == (stack, part)]
            if errors:
                rows.append((stack, part, len(errors), percent(median(errors)), percent(max(errors))))
        errors = [item.error for item in comparisons if item.run.part == part]
        rows.append(("all", part, len(errors), percent(median(errors)), percent(max(errors))))
    table("step time, error by software stack", ("stack", "part", "rows", "median", "worst"), rows)


def left_out() -> None:
    """Every published row that is not used, with its reason."""
    rows = [
        (row.source, f"{row.platform}, {row.nodes} nodes, {row.collective.value}", row.note)
        for row in load_measurements()
        if row.part == "excluded"
    ]
    rows += [(run.source, run.label, run.note) for run in usable(load_runs(), "excluded")]
    rows += [(row["source"], row["what"], row["reason"]) for row in read_csv("training_unusable.csv")]
    table("published rows that are not used", ("source", "what", "why"), sorted(set(rows)))


def refit() -> None:
    """Fit again from the data files and print what moves."""
    measurements, constants = load_measurements(), load_constants()
    rows: list[tuple[object, ...]] = []
    for fit in FITS:
        seen = fit_rows(fit, measurements)
        fitted = fit_constants(fit, measurements, constants)
        for name, value in fit.current(constants).items():
            now = fit.current(fitted)[name]
            rows.append((f"{fit.table}.{fit.row}", name, f"{value:g}", f"{now:.4g}", len(seen)))
        rows.append(
            (
                f"{fit.table}.{fit.row}",
                "loss",
                f"{loss(seen, constants):.4f}",
                f"{loss(seen, fitted):.4f}",
                "",
            )
        )
    table("constants of the collectives", ("row", "constant", "in force", "fitted", "rows"), rows)
    runs, known = load_runs(), step_constants()
    fitted_steps = fit_step_constants(runs, known)
    rows = [(f.name, f"{getattr(known, f.name):g}", f"{getattr(fitted_steps, f.name):.3g}") for f in COMMON]
    for key, fraction in known.fractions.items():
        rows.append((" ".join(key), f"{fraction.value:.4f}", f"{fitted_steps.fractions[key].value:.4f}"))
    seen_runs = usable(runs, "fit")
    rows.append(("loss", f"{step_loss(seen_runs, known):.4f}", f"{step_loss(seen_runs, fitted_steps):.4f}"))
    table("constants of the step time", ("constant", "in force", "fitted"), rows)


@click.command()
@click.option("--rows", is_flag=True, help="Print every row.")
@click.option("--refit", "again", is_flag=True, help="Fit the constants again (about a minute).")
@click.option("--accuracy", "errors", is_flag=True, help="Print the errors that reports state as ranges.")
def main(rows: bool, again: bool, errors: bool) -> None:
    """Predicted over published figures."""
    if errors:
        click.echo(accuracy_toml(), nl=False)
        return
    if again:
        refit()
        return
    comparisons = compare(row for row in load_measurements() if row.part in PARTS)
    runs = compare_runs(usable(load_runs(), "fit", "check"))
    if rows:
        collective_rows(comparisons)
        training_rows(runs)
    collective_summary(comparisons)
    training_summary(runs)
    left_out()
    table(
        "the guide's benchmark table",
        ("figure", "guide", "model", "verdict", "why"),
        ((claim.figure, claim.guide, claim.model, claim.verdict.value, claim.why) for claim in claims()),
    )


if __name__ == "__main__":
    sys.exit(main())
