"""Predicted over published step time, row by row, for the rows of `data/training_measurements.csv`.

Compute is fitted on the smallest run of each software stack, so that what is checked is communication and scaling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpu_fabric.planning.collectives import named_platform
from gpu_fabric.planning.compute import StepConstants
from gpu_fabric.planning.layout import Layout, Precision, Recompute, Training
from gpu_fabric.planning.step import Placement, StepEstimate, estimate_step
from gpu_fabric.planning.tables import read_csv
from gpu_fabric.planning.transformer import get_model


@dataclass(frozen=True)
class TrainingRun:
    """One published step time. `part`: fit, check, excluded."""

    source: str
    stack: str
    training: Training
    layout: Layout
    platform: str
    gpus: int
    step_seconds: float
    part: str
    note: str

    @property
    def label(self) -> str:
        return f"{self.training.model.name} {self.training.precision.value} {self.gpus} GPUs"


def _run(row: dict[str, str]) -> TrainingRun:
    model = get_model(row["model"])
    if row["layers"]:
        model = replace(model, layers=int(row["layers"]))
    number = {
        name: int(row[name])
        for name in ("tensor", "pipeline", "virtual", "context", "expert", "zero", "shard", "microbatch")
    }
    gpus = int(row["gpus"])
    layout = Layout(
        data=gpus // (number["tensor"] * number["pipeline"] * number["context"]),
        recompute=Recompute(row["recompute"]),
        defer_gradients=row["defer_gradients"] == "1",
        overlap_tensor=row["overlap_tensor"] == "1",
        **number,
    )
    training = Training(model, int(row["sequence"]), int(row["global_batch"]), Precision(row["precision"]))
    return TrainingRun(
        source=row["source"],
        stack=row["stack"],
        training=training,
        layout=layout,
        platform=row["platform"],
        gpus=gpus,
        step_seconds=float(row["step_seconds"]),
        part=row["part"],
        note=row["note"],
    )


def load_runs() -> tuple[TrainingRun, ...]:
    """Every row of the file, excluded ones too."""
    return tuple(_run(dict(row)) for row in read_csv("training_measurements.csv"))


@dataclass(frozen=True)
class RunComparison:
    run: TrainingRun
    estimate: StepEstimate

    @property
    def ratio(self) -> float:
        return self.estimate.seconds / self.run.step_seconds

    @property
    def error(self) -> float:
        """Unsigned and symmetric: 0.1 is 10 %."""
        return math.exp(abs(math.log(self.ratio))) - 1


def compare_runs(runs: Iterable[TrainingRun], constants: StepConstants | None = None) -> list[RunComparison]:
    """The model's step time beside each row's."""
    return [
        RunComparison(
            run,
            estimate_step(
                run.training,
                run.layout,
                Placement.single(named_platform(run.platform), run.layout.pipeline),
                stack=run.stack,
                constants=constants,
            ),
        )
        for run in runs
    ]


def usable(runs: Sequence[TrainingRun], *parts: str) -> list[TrainingRun]:
    """The rows of the given parts."""
    return [run for run in runs if run.part in parts]


def gpu_of(run: TrainingRun) -> str:
    """The GPU model of a row's platform."""
    return named_platform(run.platform).gpu.name
