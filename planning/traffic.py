"""What a training step communicates: collective, bytes and calls of each parallel group, for one GPU of one stage.

Sources of the volumes: arXiv 1910.02054 (ZeRO), 2205.05198 (tensor and sequence parallelism), 2104.04473 (pipeline),
2006.16668 (experts). Sizes are nccl-tests' sizes of the collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpu_fabric.planning.collectives import Collective, Group, Platform, busbw_factor, predict
from gpu_fabric.planning.layout import Layout, Recompute, Training
from gpu_fabric.planning.memory import GRADIENT_BYTES, WEIGHT_BYTES, StageShape, stage_parameters
from gpu_fabric.planning.parallel import groups_of
from gpu_fabric.planning.transformer import Transformer


class Dimension(StrEnum):
    TENSOR = "tensor"
    CONTEXT = "context"
    EXPERT = "expert"
    DATA = "data"


class When(StrEnum):
    """The part of a step beside which a collective runs."""

    FORWARD = "forward"
    BACKWARD = "backward"
    STEP = "step"
    """Once a step, at its ends."""


@dataclass(frozen=True)
class Traffic:
    """`calls` times a collective of `size` bytes; per microbatch for forward and backward, else per step."""

    dimension: Dimension
    collective: Collective
    size: float
    calls: float
    when: When
    group: Group

    @property
    def seconds(self) -> float:
        """All calls, one after another."""
        return self.calls * predict(self.collective, self.size, self.group).seconds

    @property
    def bus_bytes(self) -> float:
        """Bytes that each rank sends by the busbw definition, all calls."""
        return self.calls * self.size * busbw_factor(self.collective, self.group.ranks)


def layer_gather_bytes(model: Transformer, layer: int, layout: Layout) -> float:
    """bf16 weights of one layer that ZeRO-3 gathers on each GPU."""
    whole = float(model.layer_parameters(layer))
    experts = float(model.expert_parameters()) if model.is_moe_layer(layer) else 0.0
    return WEIGHT_BYTES * ((whole - experts) / layout.tensor + experts / max(layout.expert, layout.tensor))


def _tensor(training: Training, layout: Layout, shape: StageShape, group: Group) -> list[Traffic]:
    """Sequence parallelism: gather before and scatter after attention and feed-forward, both passes."""
    size = 2.0 * training.sequence * layout.microbatch * training.model.hidden / layout.context
    again = 1 if layout.recompute is Recompute.FULL else 0
    rows = []
    for when, passes in ((When.FORWARD, 1), (When.BACKWARD, 1 + again)):
        calls = 2.0 * shape.layers * passes
        # The backward pass gathers the saved inputs once more for the weight gradients.
        gathers = calls * 1.5 if when is When.BACKWARD else calls
        rows.append(Traffic(Dimension.TENSOR, Collective.ALL_GATHER, size, gathers, when, group))
        rows.append(Traffic(Dimension.TENSOR, Collective.REDUCE_SCATTER, size, calls, when, group))
    return rows


def _context(training: Training, layout: Layout, shape: StageShape, group: Group) -> list[Traffic]:
    """Keys and values travel once round the context group forward, and with their gradients backward."""
    model = training.model
    kv = 2 * model.kv_heads * model.head_dim / layout.tensor
    if model.latent_attention is not None:
        kv = model.latent_attention.kv_rank + model.latent_attention.rope_dim
    size = 2.0 * training.sequence * layout.microbatch * kv
    rows = [Traffic(Dimension.CONTEXT, Collective.ALL_GATHER, size, shape.layers, When.FORWARD, group)]
    rows.append(
        Traffic(Dimension.CONTEXT, Collective.ALL_GATHER, size, 2.0 * shape.layers, When.BACKWARD, group)
    )
    return rows


def _expert(training: Training, layout: Layout, shape: StageShape, group: Group) -> list[Traffic]:
    """Dispatch and combine of every mixture layer, forward and backward."""
    model = training.model
    if model.moe is None:
        return []
    layers = sum(count for layer, count in shape.kinds(model) if model.is_moe_layer(layer))
    tokens = training.sequence * layout.microbatch / (layout.context * layout.tensor)
    size = 2.0 * tokens * model.moe.top_k * model.hidden
    again = 1 if layout.recompute is Recompute.FULL else 0
    return [
        Traffic(Dimension.EXPERT, Collective.ALL_TO_ALL, size, 2.0 * layers * passes, when, group)
        for when, passes in ((When.FORWARD, 1), (When.BACKWARD, 1 + again))
    ]


def _data(
    training: Training, layout: Layout, shape: StageShape, shard: Group, replica: Group
) -> list[Traffic]:
    model = training.model
    local = stage_parameters(model, shape, layout)
    rows: list[Traffic] = []
    if layout.zero < 3:
        gradients, weights = float(GRADIENT_BYTES) * local, float(WEIGHT_BYTES) * local
        if layout.zero == 0:
            return [Traffic(Dimension.DATA, Collective.ALL_REDUCE, gradients, 1, When.STEP, shard)]
        rows.append(Traffic(Dimension.DATA, Collective.REDUCE_SCATTER, gradients, 1, When.STEP, shard))
        rows.append(Traffic(Dimension.DATA, Collective.ALL_GATHER, weights, 1, When.STEP, shard))
        return rows
    ends = (
        WEIGHT_BYTES
        / layout.tensor
        * (
            (model.embedding_parameters if shape.embedding else 0)
            + (model.head_parameters if shape.head and not (model.tied_embeddings and shape.embedding) else 0)
        )
    )
    calls_of = [
        (layer_gather_bytes(model, layer, layout), float(count)) for layer, count in shape.kinds(model)
    ]
    if ends:
        calls_of.append((ends, 1.0))
    scatters = When.STEP if layout.defer_gradients else When.BACKWARD
    for size, calls in calls_of:
        rows.append(Traffic(Dimension.DATA, Collective.ALL_GATHER, size, calls, When.FORWARD, shard))
        rows.append(Traffic(Dimension.DATA, Collective.ALL_GATHER, size, calls, When.BACKWARD, shard))
        rows.append(Traffic(Dimension.DATA, Collective.REDUCE_SCATTER, size, calls, scatters, shard))
        if replica.ranks > 1:
            part = size / shard.ranks
            rows.append(Traffic(Dimension.DATA, Collective.ALL_REDUCE, part, calls, scatters, replica))
    return rows


def stage_traffic(
    training: Training, layout: Layout, shape: StageShape, platform: Platform
) -> Sequence[Traffic]:
    """Every collective of one GPU of a stage; groups of one rank are left out."""
    groups = groups_of(layout, platform)
    rows = (
        _tensor(training, layout, shape, groups.tensor)
        + _context(training, layout, shape, groups.context)
        + _expert(training, layout, shape, groups.expert)
        + _data(training, layout, shape, groups.shard, groups.replica)
    )
    return [row for row in rows if row.group.ranks > 1 and row.calls > 0]


def pipeline_bytes(training: Training, layout: Layout) -> float:
    """Bytes of one microbatch's activations between two stages, of all tensor and context ranks together."""
    return 2.0 * training.sequence * layout.microbatch * training.model.hidden
