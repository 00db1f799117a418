"""Layouts that divide and fit: sizes of the parallel groups, stages on each cloud, the least recomputation that fits.

Tensor, context, expert and data groups stay inside a cloud; only pipeline stages cross.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gpu_fabric.planning.collectives import Platform, platform_of
from gpu_fabric.planning.layout import Layout, Recompute, Training, layout_problems, split_layers
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.memory import gpu_capacity_gb, memory_problem, stage_memory
from gpu_fabric.planning.spec import Cluster, LayoutHints
from gpu_fabric.planning.step import Placement
from gpu_fabric.planning.transformer import Transformer

MOST_STAGES = 32
"""Pipeline stages that are searched: more leave too little work a stage."""
EXTRA_IN_FLIGHT = (2, 0, 1, 4, 8)
"""Extra microbatches before a link between clouds: the first is searched with, the others refine the best."""


@dataclass(frozen=True)
class Trial:
    """A layout that fits, on given stages."""

    layout: Layout
    placement: Placement
    split: tuple[int, ...]


def placement_of(platforms: Sequence[Platform], counts: Sequence[int], link: LinkModel | None) -> Placement:
    """The stages of each cluster, in order; `counts` are the stages on each."""
    stages = tuple(platform for platform, count in zip(platforms, counts, strict=True) for _ in range(count))
    return Placement(stages, cut=counts[0] if len(counts) > 1 else 0, link=link)


def memory_limit(clusters: Sequence[Cluster], counts: Sequence[int], stage: int) -> float:
    """10^9 bytes of a GPU of that stage."""
    cluster = clusters[0] if stage < counts[0] else clusters[-1]
    return gpu_capacity_gb(cluster.size.gpu)


def _powers(limit: int) -> list[int]:
    return [2**exponent for exponent in range(limit.bit_length()) if 2**exponent <= limit]


@cache
def _divisors(number: int) -> tuple[int, ...]:
    small = [value for value in range(1, math.isqrt(number) + 1) if number % value == 0]
    return tuple(sorted({*small, *(number // value for value in small)}))


def _virtual_sizes(model: Transformer, pipeline: int, microbatches: int) -> list[int]:
    """Interleaving that keeps at least one layer a virtual stage and has enough microbatches."""
    if pipeline == 1 or microbatches % pipeline:
        return [1]
    per_stage = (model.layers + 2) // pipeline
    return [size for size in (1, 2, 4, 8) if size == 1 or size <= per_stage]


def _variants(
    training: Training, data: int, tensor: int, pipeline: int, context: int, cut: int
) -> Iterator[Layout]:
    """Everything that does not change the number of GPUs, but recomputation: the least that fits is the fastest."""
    model = training.model
    expert = 1
    if model.moe is not None:
        expert = math.gcd(model.moe.experts, data * context * tensor)
    levels = (1, 3) if pipeline == 1 and data * context > 1 else (1,)
    for microbatch in (1, 2, 4):
        if training.global_batch % (data * microbatch):
            continue
        microbatches = training.global_batch // (data * microbatch)
        virtuals = [1] if cut else _virtual_sizes(model, pipeline, microbatches)
        for zero in levels:
            for virtual in virtuals:
                yield Layout(
                    data=data,
                    tensor=tensor,
                    pipeline=pipeline,
                    context=context,
                    expert=expert,
                    virtual=virtual,
                    zero=zero,
                    microbatch=microbatch,
                    extra_in_flight=EXTRA_IN_FLIGHT[0] if cut else 0,
                )


def _contexts(training: Training) -> list[int]:
    """Context parallelism helps from 8192 tokens a sequence on."""
    return [size for size in (1, 2, 4, 8, 16) if size == 1 or training.sequence // size >= 4096]


def _stages_per_cloud(first: Cluster, second: Cluster, stage_gpus: int) -> tuple[int, int] | None:
    """Stages on each cloud when every stage has `stage_gpus` GPUs; None where that does not divide."""
    if first.gpus % stage_gpus or second.gpus % stage_gpus:
        return None
    return first.gpus // stage_gpus, second.gpus // stage_gpus


def _shapes(
    training: Training, clusters: Sequence[Cluster]
) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """(data, tensor, context, stages on each cluster) that use every GPU."""
    per_node = min(cluster.size.gpu.count for cluster in clusters)
    for tensor in _powers(per_node):
        if training.model.heads % tensor:
            continue
        for context in _contexts(training):
            if len(clusters) == 1:
                whole = clusters[0].gpus // (tensor * context)
                if whole * tensor * context != clusters[0].gpus:
                    continue
                for pipeline in _divisors(whole):
                    if pipeline <= min(training.model.layers, MOST_STAGES):
                        yield whole // pipeline, tensor, context, (pipeline,)
                continue
            common = math.gcd(clusters[0].gpus, clusters[1].gpus)
            for data in _divisors(max(1, common // (tensor * context))):
                counts = _stages_per_cloud(clusters[0], clusters[1], tensor * context * data)
                if counts is not None and sum(counts) <= min(training.model.layers, MOST_STAGES):
                    yield data, tensor, context, counts


def fitting_trials(
    training: Training, clusters: Sequence[Cluster], link: LinkModel | None, hints: LayoutHints
) -> tuple[list[Trial], int, int, str]:
    """Fitting layouts with their lower bounds; how many divided and fitted; why the nearest did not fit."""
    platforms = [platform_of(cluster.size) for cluster in clusters]
    trials: list[Trial] = []
    considered = fitting = 0
    nearest: tuple[float, Trial | None, list[float]] = (math.inf, None, [])
    for data, tensor, context, counts in _shapes(training, clusters):
        placement = placement_of(platforms, counts, link)
        pipeline = sum(counts)
        speeds = tuple(platform.gpu.peak["bf16"] for platform in placement.platforms)
        split = split_layers(training.model, pipeline, speeds)
        limits = [memory_limit(clusters, counts, stage) for stage in range(pipeline)]
        # A stage's memory is highest at the first stages and, with its logits, at the last; the cut starts anew.
        checked = sorted({0, placement.cut, pipeline - 1})
        for layout in _variants(training, data, tensor, pipeline, context, placement.cut):
            if not hints.allows(layout) or layout_problems(training, layout):
                continue
            considered += 1
            over = math.inf
            for recompute in Recompute:
                variant = replace(layout, recompute=recompute)
                need = {
                    stage: stage_memory(training, variant, split, stage, cut=placement.cut).total
                    for stage in checked
                }
                over = max(need[stage] - limits[stage] for stage in checked)
                if over <= 0:
                    fitting += 1
                    trials.append(Trial(variant, placement, split))
                    break
            if 0 < over < nearest[0]:
                nearest = (over, Trial(replace(layout, recompute=Recompute.FULL), placement, split), limits)
    problem = ""
    if not trials and nearest[1] is not None:
        trial = nearest[1]
        problem = (
            memory_problem(training, trial.layout, trial.split, nearest[2], cut=trial.placement.cut) or ""
        )
    return trials, considered, fitting, problem
