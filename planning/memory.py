"""Memory of one GPU in a training step, part by part.

Mixed precision with Adam: weights 2 bytes (bf16, or fp8 with its transpose), gradients 2 bytes, optimizer 12 bytes
(fp32 weight, two moments). Activations by arXiv 2205.05198 with a flash kernel: no score matrix, no dropout masks;
sequence parallelism spreads everything over the tensor group. Estimated, not measured; checked against published
runs, none of which may be refused (`training_measurements.csv`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gpu_fabric.nccl.hardware import Gpu
from gpu_fabric.planning.layout import Layout, Precision, Recompute, Training
from gpu_fabric.planning.tables import read_toml
from gpu_fabric.planning.transformer import Transformer

GB = 1e9
OPTIMIZER_BYTES = 12
WEIGHT_BYTES = 2
GRADIENT_BYTES = 2
LIVE_PARAMETERS = 1e9
"""Gathered parameters that are kept besides the module at work (DeepSpeed's stage3_max_live_parameters)."""
LOGIT_BYTES = 6
"""A logit in bf16 and its fp32 copy for the loss."""
RUNTIME_GB = 3.0
"""CUDA context, NCCL's buffers, workspaces of the kernels; estimated."""
ALLOCATOR_SHARE = 0.03
"""Lost to fragmentation; estimated."""


def gpu_capacity_gb(gpu: Gpu) -> float:
    """10^9 bytes that a training may fill: what the driver reports (`gpu_memory.toml`), less what it keeps.

    A GPU that the table lacks is counted with 10^9 bytes a GB: nobody sells less.
    """
    reported = _reported_mib().get((gpu.model, gpu.memory_gb))
    size = gpu.memory_gb if reported is None else reported * 2**20 / GB
    return size * USABLE_SHARE


@cache
def _reported_mib() -> Mapping[tuple[str, float], int]:
    return {(row["model"], row["gb"]): row["mib"] for row in read_toml("gpu_memory.toml")["gpu"]}


USABLE_SHARE = 0.995
"""Of the memory that nvidia-smi reports, what a process sees: PyTorch names 79.2 of an H100's 79.6 GiB."""


@dataclass(frozen=True)
class Memory:
    """10^9 bytes of one GPU of one stage."""

    stage: int
    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    gathered: float
    """Weights that ZeRO-3 holds whole for the layers at work."""
    runtime: float
    fragmentation: float

    @property
    def total(self) -> float:
        return sum(self.parts().values())

    def parts(self) -> dict[str, float]:
        """Every part by name."""
        return {
            "weights": self.weights,
            "gradients": self.gradients,
            "optimizer": self.optimizer,
            "activations": self.activations,
            "logits": self.logits,
            "gathered weights": self.gathered,
            "runtime": self.runtime,
            "fragmentation": self.fragmentation,
        }


@dataclass(frozen=True)
class StageShape:
    """Which layers a stage holds, and whether embedding and output projection are among its weights."""

    first: int
    layers: int
    embedding: bool
    head: bool

    def kinds(self, model: Transformer) -> tuple[tuple[int, int], ...]:
        """(a layer of the kind, how many of it the stage has): dense and mixture layers."""
        border = model.moe.dense_layers if model.moe is not None else 0
        dense = min(max(border - self.first, 0), self.layers)
        last = self.first + self.layers - 1
        return tuple(
            (layer, count) for layer, count in ((self.first, dense), (last, self.layers - dense)) if count
        )


@cache
def stage_shapes(split: tuple[int, ...]) -> tuple[StageShape, ...]:
    """The stages of a split of layers, such as (20, 20, 20, 20)."""
    shapes, first = [], 0
    for index, layers in enumerate(split):
        shapes.append(StageShape(first, layers, embedding=index == 0, head=index == len(split) - 1))
        first += layers
    return tuple(shapes)


def stage_parameters(model: Transformer, shape: StageShape, layout: Layout) -> float:
    """Parameters of one stage that one GPU is responsible for before data-parallel sharding."""
    total = 0.0
    for layer, count in shape.kinds(model):
        whole = model.layer_parameters(layer)
        experts = model.expert_parameters() if model.is_moe_layer(layer) else 0
        # Experts are spread over the expert group, which may include the tensor group.
        total += count * ((whole - experts) / layout.tensor + experts / max(layout.expert, layout.tensor))
    if shape.embedding:
        total += model.embedding_parameters / layout.tensor
    if shape.head and not (model.tied_embeddings and shape.embedding):
        total += model.head_parameters / layout.tensor
    return total


def layer_activation_bytes(training: Training, layout: Layout, layer: int) -> float:
    """Bytes that one layer keeps of one microbatch on one GPU."""
    model = training.model
    tokens = training.sequence * layout.microbatch / (layout.context * layout.tensor)
    if layout.recompute is Recompute.FULL:
        return 2.0 * tokens * model.hidden
    kv = 2 * model.kv_heads * model.head_dim
    # bf16: inputs of both norms, queries, keys, values, attention's output, feed-forward's first product.
    plain = 4 * model.hidden + kv
    if model.latent_attention is not None:
        latent = model.latent_attention
        plain = 2 * model.hidden + model.heads * (
            2 * (latent.nope_dim + latent.rope_dim) + 2 * latent.value_dim
        )
    # What only matrix products read: outputs of both norms, and the feed-forward's activation. fp8 keeps them in fp8.
    read = 2 * model.hidden
    first = 2 if model.gated else 1
    if layout.recompute is not Recompute.SELECTIVE:
        if model.is_moe_layer(layer) and model.moe is not None:
            experts = model.moe.top_k + model.moe.shared
            plain += experts * first * model.moe.ffn + model.moe.top_k * model.hidden
            read += experts * model.moe.ffn + model.moe.top_k * model.hidden
        else:
            plain += first * model.ffn
            read += model.ffn
    return tokens * (2.0 * plain + (1.0 if training.precision is Precision.FP8 else 2.0) * read)


def in_flight(stage: int, layout: Layout, microbatches: int, cut: int = 0) -> float:
    """Microbatches whose activations a stage holds at once (the schedule's warm-up plus one)."""
    stages = layout.pipeline
    if layout.virtual == 1:
        count = stages - stage
    else:
        count = (2 * (stages - stage - 1) + (layout.virtual - 1) * stages + 1) / layout.virtual
    extra = layout.extra_in_flight / layout.virtual if stage < cut else 0
    return min(microbatches, count + extra)


def stage_memory(
    training: Training, layout: Layout, split: Sequence[int], stage: int, *, cut: int = 0
) -> Memory:
    """Memory of one GPU of `stage`; `cut` is the first stage behind a link between clouds (0: none)."""
    model = training.model
    shape = stage_shapes(tuple(split))[stage]
    parameters = stage_parameters(model, shape, layout)
    shards = layout.shard_gpus
    microbatches = layout.microbatches(training)
    kept = sum(count * layer_activation_bytes(training, layout, layer) for layer, count in shape.kinds(model))
    activations = kept * in_flight(stage, layout, microbatches, cut)
    if layout.recompute is Recompute.FULL and shape.layers:
        whole = layer_activation_bytes(training, replace(layout, recompute=Recompute.NONE), shape.first)
        activations += whole
    tokens = training.sequence * layout.microbatch / layout.context
    logits = LOGIT_BYTES * tokens * model.vocab / layout.tensor if shape.head else 0.0
    gathered = 0.0
    if layout.zero == 3 and shape.layers and shards > 1:
        dense = max(model.layer_parameters(layer) for layer, _ in shape.kinds(model))
        if model.moe is not None and layout.expert > 1:
            dense -= model.expert_parameters() * (1 - 1 / layout.expert)
        matrix = model.hidden * max(model.ffn, model.hidden)
        alive = min(2.0 * dense, max(2.0 * LIVE_PARAMETERS, matrix + LIVE_PARAMETERS))
        gathered = WEIGHT_BYTES * alive / layout.tensor
    weights = WEIGHT_BYTES * parameters / (shards if layout.zero == 3 else 1)
    gradients = GRADIENT_BYTES * parameters / (shards if layout.zero >= 2 else 1)
    optimizer = OPTIMIZER_BYTES * parameters / (shards if layout.zero >= 1 else 1)
    used = (weights + gradients + optimizer + activations + logits + gathered) / GB
    return Memory(
        stage=stage,
        weights=weights / GB,
        gradients=gradients / GB,
        optimizer=optimizer / GB,
        activations=activations / GB,
        logits=logits / GB,
        gathered=gathered / GB,
        runtime=RUNTIME_GB,
        fragmentation=used * ALLOCATOR_SHARE,
    )


def worst_memory(training: Training, layout: Layout, split: Sequence[int], *, cut: int = 0) -> Memory:
    """The stage that needs most."""
    stages = (stage_memory(training, layout, split, stage, cut=cut) for stage in range(len(split)))
    return max(stages, key=lambda memory: memory.total)


def memory_problem(
    training: Training, layout: Layout, split: Sequence[int], gpu_gb: Sequence[float], *, cut: int = 0
) -> str | None:
    """Why the layout does not fit GPUs of `gpu_gb` (one value a stage), with what would; None when it fits."""
    needs = [stage_memory(training, layout, split, stage, cut=cut) for stage in range(len(split))]
    over = [(memory, limit) for memory, limit in zip(needs, gpu_gb, strict=True) if memory.total > limit]
    if not over:
        return None
    memory, limit = max(over, key=lambda pair: pair[0].total - pair[1])
    parts = sorted(memory.parts().items(), key=lambda part: -part[1])
    named = ", ".join(f"{name} {size:.1f}" for name, size in parts if size >= 0.05)
    ways = would_fit(training, layout, split, gpu_gb, cut=cut)
    remedy = f"would fit: {'; '.join(ways)}" if ways else "no single change fits: use more or larger GPUs"
    return (
        f"layout {layout.describe()}: stage {memory.stage} needs {memory.total:.1f} GB of {limit:.0f} GB "
        f"({named}); {remedy}"
    )


def would_fit(
    training: Training, layout: Layout, split: Sequence[int], gpu_gb: Sequence[float], *, cut: int = 0
) -> list[str]:
    """Single changes of the layout with the same GPUs that fit, in words."""
    changes: list[tuple[str, Layout]] = [
        ("selective recomputation", replace(layout, recompute=Recompute.SELECTIVE)),
        ("full recomputation", replace(layout, recompute=Recompute.FULL)),
        ("ZeRO-3 with full recomputation", replace(layout, zero=3, recompute=Recompute.FULL)),
    ]
    changes += [(f"ZeRO-{level}", replace(layout, zero=level)) for level in range(layout.zero + 1, 4)]
    if layout.microbatch > 1:
        changes.append(("microbatch 1", replace(layout, microbatch=1)))
    if layout.data % 2 == 0 and training.model.heads % (2 * layout.tensor) == 0:
        wider = replace(layout, tensor=2 * layout.tensor, data=layout.data // 2)
        changes.append((f"tensor {wider.tensor}, data {wider.data}", wider))
    fitting = []
    for words, changed in changes:
        if changed == layout:
            continue
        needs = (stage_memory(training, changed, split, stage, cut=cut).total for stage in range(len(split)))
        if all(need <= limit for need, limit in zip(needs, gpu_gb, strict=True)):
            fitting.append(words)
    return fitting
