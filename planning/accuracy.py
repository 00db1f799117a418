"""How far the model is off on the rows that check it; `data/accuracy.toml` keeps the result for the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from gpu_fabric.planning.collectives.validation import SIZE_CLASSES, TWO_NODES, compare, load_measurements
from gpu_fabric.planning.training_validation import compare_runs, load_runs, usable


def nine_in_ten(errors: Sequence[float]) -> float:
    """The error that nine in ten rows stay below (nearest rank)."""
    ordered = sorted(errors)
    return ordered[min(len(ordered) - 1, -(-9 * len(ordered) // 10) - 1)]


def checked_errors() -> Mapping[str, list[float]]:
    """Errors of every row that no constant was fitted on, by name of `accuracy.toml`; two-node rows on their own."""
    rows = compare(row for row in load_measurements() if row.part in ("check", "two-node"))
    errors = {}
    for part, suffix in (("check", ""), ("two-node", TWO_NODES)):
        for name in SIZE_CLASSES:
            chosen = (i for i in rows if i.measurement.part == part and i.measurement.size_class == name)
            errors[name + suffix] = [item.error for item in chosen]
    errors["step time"] = [item.error for item in compare_runs(usable(load_runs(), "check"))]
    return errors


def accuracy_toml() -> str:
    """The text of `data/accuracy.toml`."""
    lines = [
        "# Errors of the model on published rows that no constant was fitted on; 0.1 is 10 %.",
        "# Written by `benchmarks/planning_fit.py --accuracy`; a test holds it to what the model does today.",
    ]
    for name, errors in checked_errors().items():
        lines += [
            "",
            "[[accuracy]]",
            f'name = "{name}"',
            f"rows = {len(errors)}",
            f"median = {median(errors):.3f}",
            f"nine_in_ten = {nine_in_ten(errors):.3f}",
            f"worst = {max(errors):.3f}",
        ]
    return "\n".join(lines) + "\n"
