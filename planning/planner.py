"""Search layouts and the cut of layers between clouds; rank by step time; say what would help, and when not to split.

Tensor, context, expert and data groups stay inside a cloud; only pipeline stages cross. Every candidate that divides
and fits is bounded from below, first by its compute alone, then with its communication; the most promising are
simulated, best bound first, until no bound can beat the best time found.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.planning.collectives import Platform, platform_of
from gpu_fabric.planning.compute import stage_compute
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.layout import Layout, Recompute, Training, layout_problems, split_layers
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.memory import (
    GRADIENT_BYTES,
    gpu_capacity_gb,
    memory_problem,
    stage_memory,
    stage_shapes,
)
from gpu_fabric.planning.regions import closest_partner
from gpu_fabric.planning.spec import Cluster, FabricSpec, LayoutHints
from gpu_fabric.planning.step import Placement, StepEstimate, estimate_step, step_bound
from gpu_fabric.planning.transformer import Transformer

Progress = Callable[[str], None]

SIMULATE_AT_MOST = 12
"""Candidates of one placement whose pipeline is simulated."""
MOST_STAGES = 32
"""Pipeline stages that are searched: more leave too little work a stage."""
KEEP = 4
"""Candidates of one placement that are ranked."""
EXTRA_IN_FLIGHT = (2, 0, 1, 4, 8)
"""Extra microbatches before a link between clouds: the first is searched with, the others refine the best."""


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


@dataclass(frozen=True)
class Advice:
    """One change and what it would do to the step time of the split."""

    change: str
    seconds: float
    gain: float
    """Share of the step time saved; 0.1 is 10 %."""


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


def _powers(limit: int) -> list[int]:
    return [2**exponent for exponent in range(limit.bit_length()) if 2**exponent <= limit]


def _divisors(number: int) -> list[int]:
    return [value for value in range(1, number + 1) if number % value == 0]


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


@dataclass(frozen=True)
class _Trial:
    layout: Layout
    placement: Placement
    split: tuple[int, ...]


def _placement(platforms: Sequence[Platform], counts: Sequence[int], link: LinkModel | None) -> Placement:
    stages = tuple(platform for platform, count in zip(platforms, counts, strict=True) for _ in range(count))
    return Placement(stages, cut=counts[0] if len(counts) > 1 else 0, link=link)


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


def _candidates(
    training: Training, clusters: Sequence[Cluster], link: LinkModel | None, hints: LayoutHints
) -> tuple[list[_Trial], int, int, str]:
    """Fitting layouts with their lower bounds; how many divided and fitted; why the nearest did not fit."""
    platforms = [platform_of(cluster.size) for cluster in clusters]
    trials: list[_Trial] = []
    considered = fitting = 0
    nearest: tuple[float, _Trial | None, list[float]] = (math.inf, None, [])
    for data, tensor, context, counts in _shapes(training, clusters):
        placement = _placement(platforms, counts, link)
        pipeline = sum(counts)
        speeds = tuple(platform.gpu.peak["bf16"] for platform in placement.platforms)
        split = split_layers(training.model, pipeline, speeds)
        limits = [_memory_limit(clusters, counts, stage) for stage in range(pipeline)]
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
                    trials.append(_Trial(variant, placement, split))
                    break
            if 0 < over < nearest[0]:
                nearest = (over, _Trial(replace(layout, recompute=Recompute.FULL), placement, split), limits)
    problem = ""
    if not trials and nearest[1] is not None:
        trial = nearest[1]
        problem = (
            memory_problem(training, trial.layout, trial.split, nearest[2], cut=trial.placement.cut) or ""
        )
    return trials, considered, fitting, problem


def _memory_limit(clusters: Sequence[Cluster], counts: Sequence[int], stage: int) -> float:
    cluster = clusters[0] if stage < counts[0] else clusters[-1]
    return gpu_capacity_gb(cluster.size.gpu.memory_gb)


def _compute_bound(training: Training, trial: _Trial) -> float:
    """The slowest stage's compute alone: cheaper than `step_bound`, and below it."""
    shapes = stage_shapes(trial.split)
    largest = max(shapes, key=lambda shape: shape.layers)
    slowest = min(trial.placement.platforms, key=lambda platform: platform.gpu.peak["bf16"])
    work = stage_compute(training, trial.layout, shapes[-1], trial.placement.platforms[-1].gpu)
    if trial.placement.platforms[shapes.index(largest)] is slowest:
        other = stage_compute(training, trial.layout, largest, slowest.gpu)
        work = max(work, other, key=lambda part: part.forward)
    return trial.layout.microbatches(training) * (work.forward + work.backward)


def _candidate(training: Training, clusters: Sequence[Cluster], trial: _Trial) -> Candidate:
    """The trial with its exact estimate."""
    estimate = estimate_step(training, trial.layout, trial.placement, split=trial.split)
    cut = trial.placement.cut
    needs = tuple(
        stage_memory(training, trial.layout, trial.split, stage, cut=cut).total
        for stage in range(trial.layout.pipeline)
    )
    return Candidate(tuple(clusters), trial.layout, trial.split, cut, estimate, needs)


def _most_promising(training: Training, trials: Sequence[_Trial]) -> Iterator[tuple[float, _Trial]]:
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


def _fastest(training: Training, trials: Sequence[_Trial]) -> list[_Trial]:
    """The fastest trials, by simulation of the most promising."""
    found: list[tuple[float, int, _Trial]] = []
    for count, (bound, trial) in enumerate(_most_promising(training, trials)):
        if count == SIMULATE_AT_MOST or (len(found) >= KEEP and bound >= min(item[0] for item in found)):
            break
        estimate = estimate_step(training, trial.layout, trial.placement, split=trial.split, exact=False)
        found.append((estimate.seconds, count, trial))
    found.sort(key=lambda item: item[:2])
    return [trial for _, _, trial in found[:KEEP]]


def _refined(training: Training, clusters: Sequence[Cluster], trial: _Trial) -> _Trial:
    """The trial with other numbers in flight and single layers moved, as long as the step gets shorter."""
    layout, placement = trial.layout, trial.placement
    if layout.pipeline == 1:
        return trial
    counts = (placement.cut, layout.pipeline - placement.cut) if placement.cut else (layout.pipeline,)
    limits = [_memory_limit(clusters, counts, stage) for stage in range(layout.pipeline)]

    def seconds(trial: _Trial) -> float:
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


def _search(
    training: Training, clusters: Sequence[Cluster], link: LinkModel | None, hints: LayoutHints
) -> tuple[list[Candidate], int, int, str]:
    trials, considered, fitting, nearest = _candidates(training, clusters, link, hints)
    fastest = _fastest(training, trials)
    if fastest:
        fastest[0] = _refined(training, clusters, fastest[0])
    found = [_candidate(training, clusters, trial) for trial in fastest]
    found.sort(key=lambda candidate: candidate.estimate.seconds)
    return found, considered, fitting, nearest


def _again(training: Training, candidate: Candidate, link: LinkModel, **changes: int) -> StepEstimate:
    """The split's step with another link, or another layout of the same GPUs."""
    platforms = [platform_of(cluster.size) for cluster in candidate.clusters]
    counts = (candidate.cut, candidate.layout.pipeline - candidate.cut)
    layout = replace(candidate.layout, **changes)
    return estimate_step(
        training, layout, _placement(platforms, counts, link), split=candidate.split, exact=False
    )


def _advice(training: Training, split: Candidate, link: LinkModel, spec: FabricSpec) -> list[Advice]:
    """What would help the split, the most helpful first; changes that gain less than 0.5 % are left out."""
    now = split.estimate.seconds
    changes: list[tuple[str, float]] = []
    for factor in (2, 4, 10):
        wider = replace(link, bandwidth_gbps=link.bandwidth_gbps * factor)
        changes.append((f"a link of {wider.bandwidth_gbps:g} Gb/s", _again(training, split, wider).seconds))
    near = closest_partner(spec.aws.region if spec.aws else None)
    if near is not None and near.rtt_ms < link.rtt_ms:
        nearer = replace(link, rtt_ms=near.rtt_ms)
        words = f"the region pair {near.aws} and {near.azure} ({near.rtt_ms:g} ms, estimated)"
        changes.append((words, _again(training, split, nearer).seconds))
    if link.loss > 0:
        changes.append(("a link without loss", _again(training, split, replace(link, loss=0.0)).seconds))
    layout = split.layout
    for extra in (layout.extra_in_flight + 1, layout.extra_in_flight + 2, layout.extra_in_flight + 4):
        again = _again(training, split, link, extra_in_flight=extra).seconds
        changes.append((f"{extra} microbatches in flight before the link beyond 1F1B (more memory)", again))
    doubled = replace(training, global_batch=2 * training.global_batch)
    changes.append(
        (
            f"twice the global batch ({doubled.global_batch}), per token",
            _again(doubled, split, link).seconds / 2,
        )
    )
    advice = [Advice(words, seconds, 1 - seconds / now) for words, seconds in changes]
    return sorted((item for item in advice if item.gain > 0.005), key=lambda item: -item.gain)


def _verdict(single: Sequence[Candidate], split: Candidate | None, link: LinkModel | None) -> str:
    if link is None:
        return ""
    if not single and split is not None:
        b = split.estimate
        return (
            f"Neither cloud alone has the memory for this training: only the split runs, at {b.seconds:.2f} s a step; "
            f"the cut carries {b.link_bytes / 1e9:.1f} GB a step and direction over {link.limit} (the link is busy "
            f"{b.link_share:.0%} of the step)."
        )
    if split is None:
        return "No layout over both clouds divides and fits; each cloud alone does."
    alone = min(single, key=lambda candidate: candidate.estimate.seconds)
    a, b = alone.estimate, split.estimate
    carries = f"{b.link_bytes / 1e9:.1f} GB a step and direction over {link.limit}"
    busy = f"the link is busy {b.link_share:.0%} of the step"
    gpus = f"{b.gpus} GPUs against {a.gpus}"
    if b.seconds >= a.seconds:
        return (
            f"Do not split this across clouds: {alone.label} alone takes {a.seconds:.2f} s a step, both clouds "
            f"{b.seconds:.2f} s with {gpus}, because the cut carries {carries} ({busy})."
        )
    speed = a.seconds / b.seconds
    ratio = b.gpus / a.gpus
    efficiency = speed / ratio
    lead = (
        f"Splitting makes a step {speed:.2f} times as fast: {b.seconds:.2f} s on both clouds with {gpus}, "
        f"{a.seconds:.2f} s on {alone.label} alone; the cut carries {carries} ({busy})."
    )
    if efficiency < WORTH_SPLITTING:
        return (
            f"{lead} Each GPU does {efficiency:.0%} of what it does alone: two separate runs, or one cloud, "
            "use the money better unless one run must end sooner."
        )
    return f"{lead} Each GPU keeps {efficiency:.0%} of its speed."


WORTH_SPLITTING = 0.7
"""Share of its speed alone that a GPU must keep for a split to be called worth it."""


def _findings(training: Training, split: Candidate | None, link: LinkModel | None) -> list[str]:
    found = []
    model = training.model
    if split is not None and link is not None and model.tied_embeddings:
        size = float(GRADIENT_BYTES * model.head_parameters)
        found.append(
            f"{model.name} ties its output projection to the embedding, and the cut puts them on two clouds: "
            f"{size / 1e9:.2f} GB of gradients are reduced over the link each step "
            f"({link.transfer_seconds(size) + link.rtt_ms / 1e3:.2f} s); untie the embeddings"
        )
    if link is not None and link.limit.endswith("Gb/s") and "flows" in link.limit:
        found.append(
            f"the link's {link.bandwidth_gbps:g} Gb/s are not reached: {link.limit} carry {link.goodput_gbps:.2f} Gb/s"
        )
    return found


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
        found, divided, fitted, nearest = _search(training, clusters, link if both else None, hints)
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
    advice = _advice(training, split, link, spec) if split is not None and link is not None else []
    return Plan(
        training=training,
        best=ranked[0],
        ranked=tuple(ranked[:10]),
        single=tuple(single),
        split=split,
        verdict=_verdict(single, split, link),
        advice=tuple(advice),
        findings=(*_findings(training, split, link), *problems),
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
    smallest = min(clusters, key=lambda cluster: cluster.size.gpu.memory_gb).size
    capacity = gpu_capacity_gb(smallest.gpu.memory_gb) * STATES_SHARE * 1e9
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
