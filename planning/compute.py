"""How long a stage computes on one microbatch: FLOPs over an achievable share of the GPU's peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.gpus import GpuModel, get_gpu
from gpu_fabric.planning.layout import Layout, Precision, Recompute, Training
from gpu_fabric.planning.memory import LOGIT_BYTES, StageShape, layer_activation_bytes
from gpu_fabric.planning.tables import read_toml

TERA = 1e12
PLANNER_STACK = "megatron"


@dataclass(frozen=True)
class Fraction:
    """The share of a GPU's dense peak that a training step reaches without communication."""

    value: float
    basis: str


@dataclass(frozen=True)
class StepConstants:
    """The constants of the step-time model, `data/step_constants.toml`."""

    overlap_leak: float
    """Share of hidden communication that still slows the kernels beside it."""
    tensor_exposed: float
    """Share of tensor-parallel communication that overlapping leaves exposed."""
    activation_passes: float
    """How often the memory-bound kernels of a pass read or write what the layer keeps of its activations."""
    optimizer_bytes: float
    """Bytes read and written per parameter by the optimizer."""
    fractions: Mapping[tuple[str, str, str], Fraction]
    """(stack, GPU, precision) → achievable share of the peak."""
    basis: str


@cache
def step_constants() -> StepConstants:
    """The constants in force."""
    row = read_toml("step_constants.toml")
    return StepConstants(
        overlap_leak=row["overlap_leak"],
        tensor_exposed=row["tensor_exposed"],
        activation_passes=row["activation_passes"],
        optimizer_bytes=row["optimizer_bytes"],
        fractions={
            (f["stack"], f["gpu"], f["precision"]): Fraction(f["value"], f["basis"]) for f in row["fraction"]
        },
        basis=row["basis"],
    )


def fraction_of(gpu: GpuModel, precision: Precision, stack: str, constants: StepConstants) -> Fraction:
    """The fitted share; for a GPU without training rows, H100's scaled by what their matrix products reach.

    Raises `PlanningError` for a GPU that does not have the precision.
    """
    if precision.value not in gpu.peak:
        raise PlanningError(
            [f"training.precision: {gpu.name} has no {precision.value}; use bf16 or another size"]
        )
    fitted = constants.fractions.get((stack, gpu.name, precision.value))
    if fitted is not None:
        return fitted
    reference = constants.fractions[stack, "H100", precision.value]

    def reached(gpu: GpuModel) -> float:
        return gpu.matmul.get(precision.value, 0.8 * gpu.peak[precision.value]) / gpu.peak[precision.value]

    value = reference.value * reached(gpu) / reached(get_gpu("H100"))
    return Fraction(value, f"estimated: H100's share ({stack}) scaled by the best measured matrix products")


@dataclass(frozen=True)
class Pass:
    """Seconds of one microbatch of one stage, forward and backward, communication not included."""

    forward: float
    backward: float


def stage_compute(
    training: Training,
    layout: Layout,
    shape: StageShape,
    gpu: GpuModel,
    *,
    stack: str = PLANNER_STACK,
    constants: StepConstants | None = None,
) -> Pass:
    """Compute of one microbatch on each GPU of a stage: matrix products and memory-bound kernels."""
    known = constants or step_constants()

    def per_flop(precision: Precision) -> float:
        share = fraction_of(gpu, precision, stack, known).value
        return 1.0 / (share * gpu.peak[precision.value] * TERA)

    model = training.model
    tokens = training.sequence * layout.microbatch / (layout.context * layout.tensor)
    kinds = shape.kinds(model)
    linear = sum(count * model.linear_flops(layer) for layer, count in kinds)
    matrices = linear * tokens * per_flop(training.precision)
    exact = per_flop(Precision.BF16)
    attention = shape.layers * model.attention_flops(training.sequence, causal=True) * tokens * exact
    plain = replace(layout, recompute=Recompute.NONE)
    moved = sum(count * layer_activation_bytes(training, plain, layer) for layer, count in kinds)
    bandwidth = gpu.hbm_tbs * TERA / known.activation_passes
    layers = matrices + attention + moved / bandwidth
    head = (
        model.head_flops * tokens * exact + LOGIT_BYTES * tokens * model.vocab / bandwidth
        if shape.head
        else 0.0
    )
    forward = layers + head
    again = {
        Recompute.NONE: 0.0,
        Recompute.SELECTIVE: 0.5 * matrices * _feed_forward_share(training),
        Recompute.FULL: layers,
    }[layout.recompute]
    return Pass(forward, 2 * forward + again)


def _feed_forward_share(training: Training) -> float:
    """Share of a layer's matrix FLOPs that the feed-forward has."""
    model = training.model
    return 1 - model.attention_parameters() / model.active_layer_parameters(model.layers - 1)
