"""Fit the constants of the step-time model to the rows marked `fit` of `data/training_measurements.csv`.

Each software stack gets one achievable share per GPU and precision from its smallest runs; three constants are common
to all. The rest of the rows check them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import pstdev

from gpu_fabric.planning.compute import Fraction, StepConstants
from gpu_fabric.planning.gpus import get_gpu
from gpu_fabric.planning.line_search import line_search
from gpu_fabric.planning.training_validation import TrainingRun, compare_runs, gpu_of, usable


def step_loss(runs: Sequence[TrainingRun], constants: StepConstants) -> float:
    """Root mean square of log(predicted / published): 0.1 is about 10 %."""
    return math.sqrt(sum(math.log(item.ratio) ** 2 for item in compare_runs(runs, constants)) / len(runs))


def scaling_loss(runs: Sequence[TrainingRun], constants: StepConstants) -> float:
    """Standard deviation of log(predicted / published): how badly scaling is matched, whatever the level."""
    return pstdev(math.log(item.ratio) for item in compare_runs(runs, constants))


@dataclass(frozen=True)
class CommonFit:
    """A constant that all stacks share, the stack whose rows show it, and the loss that isolates it."""

    name: str
    stack: str
    model: str
    """Only this model's rows; empty: every model of the stack."""
    loss: Callable[[Sequence[TrainingRun], StepConstants], float]

    def rows(self, runs: Sequence[TrainingRun]) -> list[TrainingRun]:
        h100 = [run for run in usable(runs, "fit") if run.stack == self.stack and gpu_of(run) == "H100"]
        return [run for run in h100 if self.model in ("", run.training.model.name)]


COMMON: Sequence[CommonFit] = (
    # One model on 8 and on 512 GPUs: only communication differs.
    CommonFit("overlap_leak", "llm-foundry", "mpt-7b", scaling_loss),
    # Narrow and wide models: what does not grow with the square of the width.
    CommonFit("activation_passes", "llm-foundry", "", step_loss),
    CommonFit("tensor_exposed", "megatron", "", step_loss),
)


def ceiling(gpu: str, precision: str) -> float:
    """The share of the peak that the GPU's best measured matrix product reaches: no training step exceeds it."""
    model = get_gpu(gpu)
    return model.matmul[precision] / model.peak[precision]


def _fit_fractions(runs: Sequence[TrainingRun], constants: StepConstants) -> StepConstants:
    """Each stack's share, from that stack's rows alone; bf16 before fp8, because fp8 runs use both."""
    fractions = dict(constants.fractions)
    for key in sorted(fractions, key=lambda key: key[2]):
        own = [run for run in runs if (run.stack, gpu_of(run), run.training.precision.value) == key]
        if not own:
            continue

        def cost(value: float, key: tuple[str, str, str] = key, own: list[TrainingRun] = own) -> float:
            trial = {**fractions, key: Fraction(value, fractions[key].basis)}
            return step_loss(own, replace(constants, fractions=trial))

        value = min(line_search(cost, fractions[key].value, first_step=0.05), ceiling(key[1], key[2]))
        fractions[key] = Fraction(value, fractions[key].basis)
    return replace(constants, fractions=fractions)


def fit_step_constants(
    runs: Sequence[TrainingRun], constants: StepConstants, rounds: int = 3
) -> StepConstants:
    """`constants` moved to where the rows marked `fit` are matched best."""
    seen = usable(runs, "fit")
    fitted = constants
    for _ in range(rounds):
        fitted = _fit_fractions(seen, fitted)
        for fit in COMMON:
            rows = fit.rows(runs)

            def cost(
                value: float,
                fit: CommonFit = fit,
                rows: list[TrainingRun] = rows,
                fitted: StepConstants = fitted,
            ) -> float:
                return fit.loss(rows, replace(fitted, **{fit.name: value}))

            fitted = replace(fitted, **{fit.name: line_search(cost, getattr(fitted, fit.name))})
    return _fit_fractions(seen, fitted)
