"""Predicted over published, row by row, for the rows of `data/collective_measurements.csv`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gpu_fabric.planning.collectives.constants import Constants
from gpu_fabric.planning.collectives.definitions import Collective
from gpu_fabric.planning.collectives.model import Group, predict
from gpu_fabric.planning.collectives.platform import named_platform
from gpu_fabric.planning.tables import read_csv

MIB = 1 << 20
SIZE_CLASSES = ("1 GiB and above", "32 MiB to 1 GiB", "below 32 MiB")
TWO_NODES = ", two nodes"


def size_class(size: float) -> str:
    """The class in which a collective of `size` bytes is judged."""
    return SIZE_CLASSES[(size < 1024 * MIB) + (size < 32 * MIB)]


@dataclass(frozen=True)
class Measurement:
    """One published bus bandwidth. `part`: fit (constants were fitted on it), check, two-node, excluded."""

    platform: str
    nodes: int
    collective: Collective
    size: int
    busbw_gbs: float
    part: str
    source: str
    note: str

    @property
    def size_class(self) -> str:
        return size_class(self.size)

    @property
    def group(self) -> Group:
        platform = named_platform(self.platform)
        return Group(platform, self.nodes, platform.gpus)


def load_measurements() -> tuple[Measurement, ...]:
    """Every row of the file, excluded ones too, in its order."""
    return tuple(
        Measurement(
            platform=row["platform"],
            nodes=int(row["nodes"]),
            collective=Collective(row["collective"]),
            size=int(row["bytes"]),
            busbw_gbs=float(row["busbw_gbs"]),
            part=row["part"],
            source=row["source"],
            note=row["note"],
        )
        for row in read_csv("collective_measurements.csv")
    )


@dataclass(frozen=True)
class Comparison:
    """A published value and the model's."""

    measurement: Measurement
    predicted_gbs: float
    algorithm: str

    @property
    def ratio(self) -> float:
        return self.predicted_gbs / self.measurement.busbw_gbs

    @property
    def error(self) -> float:
        """Unsigned, 0.1 is 10 %; symmetric: half and double are both 1.0."""
        return math.exp(abs(math.log(self.ratio))) - 1


def compare(rows: Iterable[Measurement], constants: Constants | None = None) -> list[Comparison]:
    """The model's value beside each row's."""
    comparisons = []
    for row in rows:
        prediction = predict(row.collective, row.size, row.group, constants=constants)
        comparisons.append(Comparison(row, prediction.busbw_gbs, prediction.algorithm))
    return comparisons


@dataclass(frozen=True)
class ErrorSummary:
    """Errors of a set of rows: 0.1 is 10 %."""

    rows: int
    median: float
    worst: float
    worst_row: Comparison


def summarise(comparisons: Sequence[Comparison]) -> ErrorSummary:
    """Median and worst of one set of rows, which must not be empty."""
    worst = max(comparisons, key=lambda item: item.error)
    return ErrorSummary(len(comparisons), median(item.error for item in comparisons), worst.error, worst)


def summaries(comparisons: Sequence[Comparison]) -> Mapping[tuple[str, str, str, str], ErrorSummary]:
    """By (collective, platform, size class, part)."""
    grouped: dict[tuple[str, str, str, str], list[Comparison]] = {}
    for item in comparisons:
        row = item.measurement
        key = (row.collective.value, row.platform, row.size_class, row.part)
        grouped.setdefault(key, []).append(item)
    return {key: summarise(items) for key, items in sorted(grouped.items())}
