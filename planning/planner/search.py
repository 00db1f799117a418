"""Find the fastest of many trials: bounds without simulation first, the pipeline's simulation for the most promising.

Every trial is bounded from below, by its compute alone, then with its communication; the best bounds are simulated
until no bound can beat the best time found, or enough were simulated.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpu_fabric.planning.compute import stage_compute
from gpu_fabric.planning.layout import Layout, Training
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.memory import memory_problem, stage_memory, stage_shapes
from gpu_fabric.planning.planner.candidates import EXTRA_IN_FLIGHT, Trial, fitting_trials, memory_limit
from gpu_fabric.planning.spec import Cluster, LayoutHints
from gpu_fabric.planning.step import StepEstimate, estimate_step, step_bound

SIMULATE_AT_MOST = 12
"""Trials of one placement whose pipeline is simulated."""
EXACT_OPERATIONS = 32_768
"""Passes through a stage up to which all ranked trials are simulated whole."""
KEEP = 4
"""Trials of one placement that are ranked."""


@dataclass(frozen=True)
class Candidate:
    """A layout on given clusters, with its exact estimate."""

    clusters: tuple[Cluster, ...]
    layout: Layout
    split: tuple[int, ...]
    cut: int
    """The first stage on the second cloud; 0 when one cloud is used."""
    estimate: StepEstimate
    memory_gb: tuple[float, ...]
    """Need of one GPU of each stage, 10^9 bytes."""

    @property
    def label(self) -> str:
        return " + ".join(cluster.label for cluster in self.clusters)

    @property
    def cut_layer(self) -> int:
        """Layers before the cut."""
        return sum(self.split[: self.cut])


def _compute_bound(training: Training, trial: Trial) -> float:
    """The slowest stage's compute alone: cheaper than `step_bound`, and below it."""
    shapes = stage_shapes(trial.split)
    largest = max(shapes, key=lambda shape: shape.layers)
    slowest = min(trial.placement.platforms, key=lambda platform: platform.gpu.peak["bf16"])
    work = stage_compute(training, trial.layout, shapes[-1], trial.placement.platforms[-1].gpu)
    if trial.placement.platforms[shapes.index(largest)] is slowest:
        other = stage_compute(training, trial.layout, largest, slowest.gpu)
        work = max(work, other, key=lambda part: part.forward)
    return trial.layout.microbatches(training) * (work.forward + work.backward)


def _candidate(training: Training, clusters: Sequence[Cluster], trial: Trial, *, exact: bool) -> Candidate:
    """The trial with its estimate."""
    estimate = estimate_step(training, trial.layout, trial.placement, split=trial.split, exact=exact)
    cut = trial.placement.cut
    needs = tuple(
        stage_memory(training, trial.layout, trial.split, stage, cut=cut).total
        for stage in range(trial.layout.pipeline)
    )
    return Candidate(tuple(clusters), trial.layout, trial.split, cut, estimate, needs)


def _is_short(training: Training, trial: Trial) -> bool:
    """Whether the whole pipeline is simulated for every trial that is ranked, not only for the best."""
    return (
        trial.layout.microbatches(training) * trial.layout.pipeline * trial.layout.virtual <= EXACT_OPERATIONS
    )


def most_promising(training: Training, trials: Sequence[Trial]) -> Iterator[tuple[float, Trial]]:
    """Trials by their full bound, best first; a trial's full bound is only computed when its cheap one is due."""
    heap = [(_compute_bound(training, trial), 0, index) for index, trial in enumerate(trials)]
    heapq.heapify(heap)
    while heap:
        bound, level, index = heapq.heappop(heap)
        trial = trials[index]
        if level:
            yield bound, trial
            continue
        full = step_bound(training, trial.layout, trial.placement, split=trial.split)
        heapq.heappush(heap, (max(bound, full), 1, index))


def fastest(training: Training, trials: Sequence[Trial]) -> list[Trial]:
    """The fastest trials, by simulation of the most promising."""
    found: list[tuple[float, int, Trial]] = []
    for count, (bound, trial) in enumerate(most_promising(training, trials)):
        if count == SIMULATE_AT_MOST or (len(found) >= KEEP and bound >= min(item[0] for item in found)):
            break
        estimate = estimate_step(training, trial.layout, trial.placement, split=trial.split, exact=False)
        found.append((estimate.seconds, count, trial))
    found.sort(key=lambda item: item[:2])
    return [trial for _, _, trial in found[:KEEP]]


def refined(training: Training, clusters: Sequence[Cluster], trial: Trial) -> Trial:
    """The trial with other numbers in flight and single layers moved, as long as the step gets shorter."""
    layout, placement = trial.layout, trial.placement
    if layout.pipeline == 1:
        return trial
    counts = (placement.cut, layout.pipeline - placement.cut) if placement.cut else (layout.pipeline,)
    limits = [memory_limit(clusters, counts, stage) for stage in range(layout.pipeline)]

    def seconds(trial: Trial) -> float:
        if memory_problem(training, trial.layout, trial.split, limits, cut=placement.cut):
            return math.inf
        return estimate_step(training, trial.layout, placement, split=trial.split, exact=False).seconds

    best, best_seconds = trial, seconds(trial)
    tries = [replace(trial, layout=replace(layout, extra_in_flight=extra)) for extra in EXTRA_IN_FLIGHT[1:]]
    for changed in tries if placement.cut else []:
        if (now := seconds(changed)) < best_seconds * 0.999:
            best, best_seconds = changed, now
    last = layout.pipeline - 1
    border = placement.cut or last
    for source, target in ((border - 1, border), (border, border - 1), (last, 0), (0, last)):
        split = list(best.split)
        if split[source] <= 1:
            continue
        split[source] -= 1
        split[target] += 1
        changed = replace(best, split=tuple(split))
        if (now := seconds(changed)) < best_seconds * 0.999:
            best, best_seconds = changed, now
    return best


def search(
    training: Training, clusters: Sequence[Cluster], link: LinkModel | None, hints: LayoutHints
) -> tuple[list[Candidate], int, int, str]:
    """The best layouts on `clusters`, fastest first; how many divided and fitted; why the nearest did not fit."""
    trials, considered, fitting, nearest = fitting_trials(training, clusters, link, hints)
    kept = fastest(training, trials)
    if kept:
        kept[0] = refined(training, clusters, kept[0])
    found = [_candidate(training, clusters, t, exact=_is_short(training, t)) for t in kept]
    order = sorted(range(len(found)), key=lambda index: found[index].estimate.seconds)
    if order and not _is_short(training, kept[order[0]]):
        found[order[0]] = _candidate(training, clusters, kept[order[0]], exact=True)
    found = [found[index] for index in order]
    return found, considered, fitting, nearest
