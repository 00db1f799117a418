"""How a training step is spread over GPUs, and whether that divides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.planning.transformer import Transformer


class Recompute(StrEnum):
    """Which activations the backward pass computes again. A flash kernel never stores the score matrix."""

    NONE = "none"
    SELECTIVE = "selective"
    """The feed-forward's inner activations are computed again."""
    FULL = "full"
    """Only the input of each layer is kept."""


class Precision(StrEnum):
    BF16 = "bf16"
    FP8 = "fp8"
    """Matrix products of the layers in fp8; attention and the output projection in bf16."""


@dataclass(frozen=True)
class Training:
    """One training step. `sequence` in tokens, `global_batch` in sequences."""

    model: Transformer
    sequence: int
    global_batch: int
    precision: Precision = Precision.BF16

    @property
    def tokens(self) -> int:
        return self.sequence * self.global_batch


@dataclass(frozen=True)
class Layout:
    """Parallel sizes. GPUs = tensor * context * pipeline * data; expert parallelism lies inside data * context."""

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    virtual: int = 1
    """Virtual pipeline stages a stage."""
    zero: int = 1
    """What data parallelism shards: 0 nothing, 1 optimizer, 2 and gradients, 3 and weights (FSDP)."""
    shard: int = 0
    """GPUs that ZeRO shards over, the rest replicate (hybrid sharding); 0: all of `data`."""
    microbatch: int = 1
    """Sequences."""
    recompute: Recompute = Recompute.NONE
    extra_in_flight: int = 0
    """Extra microbatches in flight before a link between clouds."""
    defer_gradients: bool = False
    """Reduce gradients once a step instead of once a microbatch (ZeRO-3 with `no_sync`)."""
    overlap_tensor: bool = True
    """Tensor-parallel communication runs beside the matrix products it belongs to (user buffers, async TP)."""

    @property
    def gpus(self) -> int:
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def stage_gpus(self) -> int:
        """GPUs of one pipeline stage: as many pairs of ranks talk across a cut."""
        return self.data * self.tensor * self.context

    @property
    def shard_gpus(self) -> int:
        """GPUs that share one copy of what ZeRO shards; context-parallel ranks take part."""
        return self.shard or self.data * self.context

    def microbatches(self, training: Training) -> int:
        """Microbatches a pipeline runs in one step."""
        return training.global_batch // (self.data * self.microbatch)

    def describe(self) -> str:
        """A short name, such as `TP8 PP4 DP2 ZeRO-1`."""
        sizes = [("TP", self.tensor), ("PP", self.pipeline), ("VP", self.virtual), ("CP", self.context)]
        sizes += [("EP", self.expert), ("DP", self.data)]
        sharding = f"ZeRO-{self.zero}" + (f" over {self.shard}" if self.shard else "")
        words = [" ".join([*(f"{name}{value}" for name, value in sizes if value > 1), sharding])]
        words.append(f"microbatch {self.microbatch}")
        if self.recompute is not Recompute.NONE:
            words.append(f"{self.recompute.value} recomputation")
        if self.extra_in_flight:
            words.append(f"{self.extra_in_flight} extra in flight")
        return ", ".join(words)


def _divides(whole: int, part: int, what: str, remedy: str) -> list[str]:
    return [] if whole % part == 0 else [f"{what}: {whole} is not divisible by {part}; {remedy}"]


def layout_problems(training: Training, layout: Layout, gpus: int | None = None) -> list[str]:
    """What does not divide, one line each with a way out; empty when the layout can run on `gpus` GPUs."""
    model = training.model
    problems = []
    if gpus is not None and layout.gpus != gpus:
        problems.append(
            f"layout: {layout.describe()} needs {layout.gpus} GPUs, the clusters have {gpus}; "
            "change data so that tensor * context * pipeline * data matches"
        )
    problems += _divides(
        model.heads, layout.tensor, "layout.tensor: attention heads", f"use a divisor of {model.heads}"
    )
    problems += _divides(
        training.global_batch,
        layout.data * layout.microbatch,
        "training.globalBatch",
        f"use a multiple of data * microbatch = {layout.data * layout.microbatch}",
    )
    if layout.context > 1:
        problems += _divides(
            training.sequence,
            2 * layout.context,
            "training.sequence",
            "context parallelism needs 2 * context chunks",
        )
    if layout.pipeline * layout.virtual > model.layers + 2:
        problems.append(
            f"layout.pipeline: {layout.pipeline} * {layout.virtual} virtual stages exceed the {model.layers} layers "
            f"of {model.name}; use fewer stages"
        )
    if layout.expert > 1 and model.moe is None:
        problems.append(f"layout.expert: {model.name} has no experts; set expert to 1")
    elif layout.expert > 1 and model.moe is not None:
        experts = model.moe.experts
        problems += _divides(experts, layout.expert, "layout.expert: experts", f"use a divisor of {experts}")
        problems += _divides(
            layout.data * layout.context * layout.tensor,
            layout.expert,
            "layout.expert: GPUs of data * context * tensor",
            "expert parallelism lies inside them",
        )
    return problems


def split_layers(
    model: Transformer, stages: int, weights: tuple[float, ...] | None = None
) -> tuple[int, ...]:
    """Layers of each stage, in order; `weights` are the stages' relative speeds.

    The output projection costs as much as some layers: the last stage gets fewer. Every stage gets at least one layer
    where there are enough.
    """
    speeds = weights or (1.0,) * stages
    layer = model.linear_flops(model.layers - 1)
    units = model.layers + model.head_flops / layer
    share = units / sum(speeds)
    wanted = [share * speed for speed in speeds]
    wanted[-1] -= model.head_flops / layer
    counts = [max(0, int(value)) for value in wanted]
    while sum(counts) < model.layers:
        index = max(range(stages), key=lambda stage: (wanted[stage] - counts[stage], -stage))
        counts[index] += 1
    while sum(counts) > model.layers:
        index = max(range(stages), key=lambda stage: (counts[stage] - wanted[stage], -stage))
        counts[index] -= 1
    for index, count in enumerate(counts):
        if count == 0 and max(counts) > 1:
            counts[counts.index(max(counts))] -= 1
            counts[index] = 1
    return tuple(counts)
