"""The plan of a fabric: the best layout on each cloud alone and on both, ranked, with a verdict on splitting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.layout import Training
from gpu_fabric.planning.memory import gpu_capacity_gb
from gpu_fabric.planning.planner.advice import Advice, advice_for, findings_of, verdict_on
from gpu_fabric.planning.planner.search import Candidate, search
from gpu_fabric.planning.spec import Cluster, FabricSpec

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What the planner found."""

    training: Training
    best: Candidate
    ranked: tuple[Candidate, ...]
    """The best candidates over all placements, fastest first."""
    single: tuple[Candidate, ...]
    """The best of each cloud alone."""
    split: Candidate | None
    """The best over both clouds."""
    verdict: str
    """Whether to split, in a sentence with its numbers; empty when one cloud is given."""
    advice: tuple[Advice, ...]
    findings: tuple[str, ...]
    considered: int
    """Layouts that divide."""
    fitting: int
    """Layouts of those that fit the memory."""

    @property
    def splits(self) -> bool:
        return self.best.cut > 0


def plan(spec: FabricSpec, *, progress: Progress = lambda _: None) -> Plan:
    """The best layout for each cloud alone and for both, ranked, with the verdict on splitting.

    Raises `PlanningError` when nothing divides or nothing fits, with what would.
    """
    training = spec.training.to_training()
    link = spec.link_model()
    hints = spec.training.layout
    single: list[Candidate] = []
    ranked: list[Candidate] = []
    considered = fitting = 0
    problems: list[str] = []
    split: Candidate | None = None
    tries: list[tuple[Cluster, ...]] = [(cluster,) for cluster in spec.clusters]
    if link is not None:
        tries.append(spec.clusters)
    for clusters in tries:
        label = " + ".join(cluster.label for cluster in clusters)
        progress(f"searching layouts on {label}")
        both = len(clusters) > 1
        found, divided, fitted, nearest = search(training, clusters, link if both else None, hints)
        considered += divided
        fitting += fitted
        if not found:
            problems.append(_nothing(training, clusters, divided, nearest))
            continue
        ranked += found
        if both:
            split = found[0]
        else:
            single.append(found[0])
    if not ranked:
        raise PlanningError(problems)
    ranked.sort(key=lambda candidate: candidate.estimate.seconds)
    unused = [cluster.label for cluster in spec.clusters if cluster not in ranked[0].clusters]
    if unused:
        problems.append(
            f"the best layout leaves {' and '.join(unused)} idle: use them for another run, or give them up"
        )
    advice = advice_for(training, split, link, spec) if split is not None and link is not None else []
    return Plan(
        training=training,
        best=ranked[0],
        ranked=tuple(ranked[:10]),
        single=tuple(single),
        split=split,
        verdict=verdict_on(single, split, link, clouds=len(spec.clusters)),
        advice=tuple(advice),
        findings=(*findings_of(training, split, link), *problems),
        considered=considered,
        fitting=fitting,
    )


def _nothing(training: Training, clusters: Sequence[Cluster], divided: int, nearest: str) -> str:
    where = {Cloud.AWS: "fabric.aws", Cloud.AZURE: "fabric.azure"}
    path = " and ".join(where[cluster.cloud] for cluster in clusters)
    if divided == 0:
        gpus = sum(cluster.gpus for cluster in clusters)
        return (
            f"{path}: no layout divides {training.global_batch} sequences of {training.model.name} over {gpus} GPUs; "
            "use a global batch with more divisors, or fewer fixed sizes in training.layout"
        )
    smallest = min(clusters, key=lambda cluster: gpu_capacity_gb(cluster.size.gpu)).size
    capacity = gpu_capacity_gb(smallest.gpu) * STATES_SHARE * 1e9
    states = training.model.parameters * BYTES_OF_STATES / capacity
    nodes = math.ceil(states / smallest.gpu.count)
    return (
        f"{path}: {training.model.name} does not fit; it needs at least {nodes} nodes of {smallest.name} "
        f"for weights, gradients and optimizer; the nearest: {nearest}"
    )


BYTES_OF_STATES = 16
"""Weights, gradients and optimizer of a parameter under ZeRO-3."""
STATES_SHARE = 0.85
"""Of a GPU's memory: the rest is for activations and the runtime."""
