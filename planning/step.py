"""Step time of a layout on one or two clusters: compute, exposed communication, and the pipeline simulated exactly.

Overlap rules, by parallelism. Data (ZeRO-3): gathers and scatters of a layer run beside its compute; what exceeds it
is exposed, and a share of what is hidden still slows the kernels. Data (ZeRO-0 to 2): the reduction runs beside the
last microbatch's backward pass, the gather beside the first one's forward pass. Tensor: a share stays exposed.
Context: hidden beside attention and the layer, as ZeRO-3. Expert: exposed. Pipeline: simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from gpu_fabric.planning.collectives import Collective, Group, Platform, predict
from gpu_fabric.planning.compute import PLANNER_STACK, StepConstants, stage_compute, step_constants
from gpu_fabric.planning.layout import Layout, Training, split_layers
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.memory import GRADIENT_BYTES, StageShape, stage_parameters, stage_shapes
from gpu_fabric.planning.schedule import (
    Hop,
    Schedule,
    StageTime,
    Timeline,
    makespan,
    simulate,
    steady_seconds,
)
from gpu_fabric.planning.traffic import Dimension, Traffic, When, pipeline_bytes, stage_traffic

TERA = 1e12
EXACT_OPERATIONS = 1 << 18
"""Passes through a stage up to which a pipeline is run whole; a longer one keeps its pace (some percent off)."""


@dataclass(frozen=True)
class Placement:
    """Which nodes run which pipeline stage. `cut` is the first stage on the second cloud; 0 when there is one cloud."""

    platforms: tuple[Platform, ...]
    """One a stage."""
    cut: int = 0
    link: LinkModel | None = None

    @classmethod
    def single(cls, platform: Platform, stages: int) -> Placement:
        return cls((platform,) * stages)


@dataclass(frozen=True)
class StepEstimate:
    """One training step. Seconds unless named otherwise; `parts` sums to `seconds` (mean over the stages)."""

    seconds: float
    parts: Mapping[str, float]
    layout: Layout
    split: tuple[int, ...]
    tokens: int
    gpus: int
    mfu: float
    """Model FLOPs over bf16 peak (attention in full, no recomputation), the published convention."""
    link_share: float = 0.0
    """Share of the step in which the busier direction of the link between clouds carries data."""
    link_bytes: float = 0.0
    """Bytes a step over the link, busier direction."""
    hidden: Mapping[str, float] = field(default_factory=dict)
    """Communication that runs beside compute."""
    timeline: Timeline | None = None

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds

    @property
    def tokens_per_gpu_second(self) -> float:
        return self.tokens_per_second / self.gpus

    @property
    def wait_share(self) -> float:
        """Share of the step in which the GPUs do not compute."""
        return 1 - (self.parts["compute"] + self.parts["optimizer"]) / self.seconds

    @property
    def network_share(self) -> float:
        """Share of the step that waits for communication, the bubble of the schedule not counted."""
        names = ("tensor", "context", "expert", "data", "pipeline transfer")
        return sum(self.parts[name] for name in names) / self.seconds


@dataclass(frozen=True)
class _StageCost:
    forward: float
    backward: float
    step: float
    """Exposed once a step."""
    exposed: dict[str, float]
    hidden: dict[str, float]
    compute: float


def _sum(rows: Sequence[Traffic], dimension: Dimension, when: When) -> float:
    return sum(row.seconds for row in rows if row.dimension is dimension and row.when is when)


def _stage_cost(
    training: Training,
    layout: Layout,
    shape: StageShape,
    platform: Platform,
    stack: str,
    constants: StepConstants,
) -> _StageCost:
    compute = stage_compute(training, layout, shape, platform.gpu, stack=stack, constants=constants)
    traffic = stage_traffic(training, layout, shape, platform)
    microbatches = layout.microbatches(training)
    exposed = {dimension.value: 0.0 for dimension in Dimension}
    hidden = {dimension.value: 0.0 for dimension in Dimension}
    times = {}
    for when, work in ((When.FORWARD, compute.forward), (When.BACKWARD, compute.backward)):
        total = work
        for dimension in (Dimension.DATA, Dimension.CONTEXT):
            busy = _sum(traffic, dimension, when)
            covered = min(busy, work)
            out = busy - covered + constants.overlap_leak * covered
            exposed[dimension.value] += out * microbatches
            hidden[dimension.value] += (busy - out) * microbatches
            total += out
        tensor = _sum(traffic, Dimension.TENSOR, when)
        out = tensor * (constants.tensor_exposed if layout.overlap_tensor else 1.0)
        exposed[Dimension.TENSOR.value] += out * microbatches
        hidden[Dimension.TENSOR.value] += (tensor - out) * microbatches
        expert = _sum(traffic, Dimension.EXPERT, when)
        exposed[Dimension.EXPERT.value] += expert * microbatches
        times[when] = total + out + expert
    busy = _sum(traffic, Dimension.DATA, When.STEP)
    window = compute.forward + compute.backward
    covered = min(busy, window)
    at_end = busy - covered + constants.overlap_leak * covered
    exposed[Dimension.DATA.value] += at_end
    hidden[Dimension.DATA.value] += busy - at_end
    return _StageCost(
        times[When.FORWARD],
        times[When.BACKWARD],
        at_end,
        exposed,
        hidden,
        (compute.forward + compute.backward) * microbatches,
    )


def _stage_costs(
    training: Training,
    layout: Layout,
    placement: Placement,
    split: Sequence[int],
    stack: str,
    constants: StepConstants,
) -> list[_StageCost]:
    """The cost of every stage; equal stages are worked out once."""
    known: dict[tuple[int, bool, bool, bool, str], _StageCost] = {}
    costs = []
    border = training.model.moe.dense_layers if training.model.moe is not None else 0
    for shape, platform in zip(stage_shapes(tuple(split)), placement.platforms, strict=True):
        key = (shape.layers, shape.embedding, shape.head, shape.first < border, platform.name)
        if key not in known:
            known[key] = _stage_cost(training, layout, shape, platform, stack, constants)
        costs.append(known[key])
    return costs


def _hops(
    training: Training, layout: Layout, placement: Placement
) -> tuple[dict[tuple[int, int], Hop], float]:
    """The ways between the stages, and the bytes of one microbatch over the link between clouds."""
    size = pipeline_bytes(training, layout)
    stages = layout.pipeline
    hops: dict[tuple[int, int], Hop] = {}
    crossing = size * layout.data
    last_to_first = [(stages - 1, 0), (0, stages - 1)] if layout.virtual > 1 and stages > 1 else []
    neighbours = [(a, b) for a in range(stages) for b in (a - 1, a + 1) if 0 <= b < stages]
    for a, b in [*neighbours, *last_to_first]:
        if placement.cut and (a < placement.cut) != (b < placement.cut):
            assert placement.link is not None
            link = placement.link.between(layout.stage_gpus)
            hops[a, b] = Hop(link.rtt_ms / 2e3, link.transfer_seconds(crossing), shared="between clouds")
        else:
            # Each tensor rank sends its part over its own NICs.
            part = size / (layout.tensor * layout.context)
            group = Group(
                placement.platforms[a], 2, min(placement.platforms[a].gpus, layout.tensor * layout.context)
            )
            hops[a, b] = Hop(0.0, predict(Collective.SEND_RECEIVE, part, group).seconds)
    return hops, crossing


def _tied_embedding_seconds(training: Training, layout: Layout, placement: Placement) -> float:
    """All-reduce of the embedding's gradients between first and last stage, when they are tied and apart."""
    model = training.model
    if not model.tied_embeddings or layout.pipeline == 1:
        return 0.0
    size = GRADIENT_BYTES * model.head_parameters / (layout.tensor * (layout.data if layout.zero else 1))
    if placement.cut and placement.link is not None:
        link = placement.link.between(layout.stage_gpus)
        return link.transfer_seconds(GRADIENT_BYTES * model.head_parameters) + link.rtt_ms / 1e3
    return predict(Collective.ALL_REDUCE, size, Group(placement.platforms[0], 2, 1)).seconds


def step_bound(
    training: Training,
    layout: Layout,
    placement: Placement,
    *,
    split: tuple[int, ...],
    stack: str = PLANNER_STACK,
) -> float:
    """A lower bound of `estimate_step`'s seconds, without simulation.

    Every stage works through every microbatch; the first one reaches it, and the last one leaves it, through the
    stages before it. Over the link between clouds every microbatch goes, one after another, and the last one still
    has to come back.
    """
    known = step_constants()
    per_stage = _stage_costs(training, layout, placement, split, stack, known)
    microbatches = layout.microbatches(training)
    works = [cost.forward + cost.backward for cost in per_stage]
    passage = sum(works)
    before = accumulate(works, initial=0.0)
    bound = max(
        earlier / layout.virtual + microbatches * work for earlier, work in zip(before, works, strict=False)
    )
    if placement.cut and placement.link is not None:
        link = placement.link.between(layout.stage_gpus)
        transfer = link.transfer_seconds(pipeline_bytes(training, layout) * layout.data)
        bound = max(bound, passage + (microbatches + 1) * transfer + placement.link.rtt_ms / 1e3)
    return bound + max(cost.step for cost in per_stage)


def estimate_step(
    training: Training,
    layout: Layout,
    placement: Placement,
    *,
    split: tuple[int, ...] | None = None,
    stack: str = PLANNER_STACK,
    constants: StepConstants | None = None,
    keep_timeline: bool = False,
    exact: bool = True,
) -> StepEstimate:
    """Step time of `layout`. The caller has checked that it divides (`layout_problems`) and fits (`memory_problem`).

    `exact=False` simulates only the start of a long pipeline and continues at its pace, without the share of the
    pipeline's transfers in the parts: for a search. More than `EXACT_OPERATIONS` are never run whole.
    """
    known = constants or step_constants()
    layers = split or split_layers(training.model, layout.pipeline)
    shapes = stage_shapes(tuple(layers))
    costs = _stage_costs(training, layout, placement, layers, stack, known)
    microbatches = layout.microbatches(training)
    schedule = Schedule(microbatches, layout.virtual, layout.extra_in_flight, placement.cut)
    times = [StageTime(cost.forward, cost.backward) for cost in costs]
    timeline: Timeline | None = None
    hops: dict[tuple[int, int], Hop] = {}
    crossing = 0.0
    if layout.pipeline == 1:
        pipeline = microbatches * (times[0].forward + times[0].backward)
        free = pipeline
    else:
        hops, crossing = _hops(training, layout, placement)
        if exact:
            operations = microbatches * layout.pipeline * layout.virtual
            shared = layout.virtual > 1 and placement.cut > 0
            whole = makespan if operations <= EXACT_OPERATIONS else steady_seconds
            timeline = simulate(times, hops, schedule) if shared or keep_timeline else None
            pipeline = timeline.seconds if timeline else whole(times, hops, schedule)
            # Only tells transfers from bubble; the pace of a short run is enough for that, and several times faster.
            free = steady_seconds(times, {}, schedule)
        else:
            pipeline = free = steady_seconds(times, hops, schedule)
    optimizer = max(
        known.optimizer_bytes
        * stage_parameters(training.model, shape, layout)
        / (layout.shard_gpus if layout.zero else 1)
        / (platform.gpu.hbm_tbs * TERA)
        for shape, platform in zip(shapes, placement.platforms, strict=True)
    )
    ends = max(cost.step for cost in costs) + _tied_embedding_seconds(training, layout, placement)
    seconds = pipeline + ends + optimizer
    stages = len(costs)

    def mean(name: str) -> float:
        return sum(cost.exposed[name] for cost in costs) / stages

    parts = {
        "compute": sum(cost.compute for cost in costs) / stages,
        "tensor": mean("tensor"),
        "context": mean("context"),
        "expert": mean("expert"),
        "data": mean("data"),
        "pipeline transfer": pipeline - free,
        "optimizer": optimizer,
    }
    parts["bubble"] = seconds - sum(parts.values())
    peak = sum(platform.gpu.peak["bf16"] for platform in placement.platforms) * layout.stage_gpus * TERA
    crossings = 1 if layout.virtual == 1 else 2 * layout.virtual - 1
    link_bytes = crossing * microbatches * crossings if placement.cut else 0.0
    link_busy = 0.0
    if placement.cut and placement.link is not None:
        link_busy = placement.link.between(layout.stage_gpus).transfer_seconds(link_bytes)
    return StepEstimate(
        seconds=seconds,
        parts=parts,
        layout=layout,
        split=tuple(layers),
        tokens=training.tokens,
        gpus=layout.stage_gpus * stages,
        mfu=training.model.model_flops(training.sequence) * training.tokens / (peak * seconds),
        link_share=link_busy / seconds,
        link_bytes=link_bytes,
        hidden={name: sum(cost.hidden[name] for cost in costs) / stages for name in costs[0].hidden},
        timeline=timeline,
    )
