"""Numbers that say their unit and their basis, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpu_fabric.planning.collectives.validation import TWO_NODES, size_class
from gpu_fabric.planning.tables import read_toml


class Basis(StrEnum):
    """How a number came about."""

    MEASURED = "measured"
    """By somebody else; the source says by whom."""
    PUBLISHED = "published"
    """Stated by the vendor."""
    FITTED = "fitted"
    """Predicted by the model whose constants were fitted to published rows."""
    ESTIMATED = "estimated"
    GIVEN = "given"
    """In the stack file."""
    COMPUTED = "computed"
    """Arithmetic on other numbers of the report."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Quantity:
    """`value` is None where unknown. `low` and `high` are the range of nine in ten checked rows, where there is one."""

    name: str
    value: float | None
    unit: str
    basis: Basis
    source: str
    low: float | None = None
    high: float | None = None

    @property
    def written(self) -> str:
        return "unknown" if self.value is None else number(self.value, self.unit)

    @property
    def range(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return f"{number(self.low, self.unit)} to {number(self.high, self.unit)}"

    def as_dict(self) -> dict[str, object]:
        document: dict[str, object] = {
            "value": self.value,
            "unit": "share" if self.unit == "%" else self.unit,
            "basis": self.basis.value,
            "source": self.source,
        }
        if self.low is not None and self.high is not None:
            document["range"] = [self.low, self.high]
        return document


def number(value: float, unit: str = "") -> str:
    """A number to three or four digits, as a person writes it; shares as per cent, dollars with their cents."""
    if unit == "%":
        return f"{value:.1%}"
    if value == int(value) and abs(value) < 1000 and not unit.startswith("USD"):
        return f"{value:.0f}"
    if unit.startswith("USD"):
        digits = 0 if abs(value) >= 1000 else 2 if abs(value) >= 1 or not value else 3
        return f"{value:,.{digits}f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}"


def size_words(size: float) -> str:
    """Bytes in binary units: `1 GiB`."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size:g} B"


@dataclass(frozen=True)
class Accuracy:
    """Errors of the model on rows that no constant was fitted on: 0.1 is 10 %."""

    rows: int
    median: float
    nine_in_ten: float
    worst: float

    def around(self, value: float) -> tuple[float, float]:
        """The range that nine in ten checked rows lay in."""
        return value / (1 + self.nine_in_ten), value * (1 + self.nine_in_ten)


@cache
def accuracy() -> Mapping[str, Accuracy]:
    """`data/accuracy.toml`: by size class of collectives, and `step time`."""
    return {
        row["name"]: Accuracy(row["rows"], row["median"], row["nine_in_ten"], row["worst"])
        for row in read_toml("accuracy.toml")["accuracy"]
    }


def busbw_accuracy(size: float, nodes: int) -> Accuracy:
    """The accuracy that holds for a collective of `size` bytes over `nodes` nodes."""
    return accuracy()[size_class(size) + (TWO_NODES if nodes == 2 else "")]
