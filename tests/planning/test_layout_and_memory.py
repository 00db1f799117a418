"""Layouts that divide, memory part by part, and what to do when it does not fit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.planning.layout import Layout, Precision, Recompute, Training, layout_problems, split_layers
from gpu_fabric.planning.memory import (
    gpu_capacity_gb,
    memory_problem,
    stage_memory,
    stage_parameters,
    stage_shapes,
    worst_memory,
)
from gpu_fabric.planning.tables import read_toml
from gpu_fabric.planning.training_validation import gpu_of, load_runs, usable
from gpu_fabric.planning.transformer import get_model

LLAMA = Training(get_model("llama-3-70b"), sequence=4096, global_batch=256)


def test_a_layout_that_divides_has_no_problems():
    assert layout_problems(LLAMA, Layout(data=4, tensor=8, pipeline=4), gpus=128) == []


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout(tensor=7), "layout.tensor: attention heads: 64 is not divisible by 7; use a divisor of 64"),
        (
            Layout(data=3),
            "training.globalBatch: 256 is not divisible by 3; use a multiple of data * microbatch = 3",
        ),
        (
            Layout(pipeline=64, virtual=2),
            "layout.pipeline: 64 * 2 virtual stages exceed the 80 layers of llama-3-70b; use fewer stages",
        ),
        (Layout(expert=2), "layout.expert: llama-3-70b has no experts; set expert to 1"),
        (
            Layout(context=3),
            "training.sequence: 4096 is not divisible by 6; context parallelism needs 2 * context chunks",
        ),
    ],
)
def test_a_layout_that_does_not_divide_says_what_and_how(layout, message):
    assert layout_problems(LLAMA, layout) == [message]


def test_all_problems_of_a_layout_come_at_once():
    problems = layout_problems(LLAMA, Layout(tensor=7, data=3), gpus=16)
    assert len(problems) == 3
    assert problems[0].startswith("layout: TP7 DP3 ZeRO-1, microbatch 1 needs 21 GPUs, the clusters have 16")


@given(
    stages=st.integers(1, 64),
    name=st.sampled_from(["llama-3-8b", "llama-3-70b", "gpt-3-175b", "deepseek-v2"]),
)
def test_a_split_uses_every_layer_once_and_evenly(stages, name):
    model = get_model(name)
    split = split_layers(model, min(stages, model.layers))
    assert sum(split) == model.layers
    assert min(split) >= 1 or stages > model.layers
    assert max(split) - min(split) <= 1 + model.head_flops / model.linear_flops(model.layers - 1) + 1


def test_a_faster_cloud_gets_more_layers():
    split = split_layers(get_model("llama-3-70b"), 4, (312.0, 312.0, 989.5, 989.5))
    assert sum(split) == 80
    assert split[2] > 2.5 * split[0]


def test_stages_together_hold_every_parameter_once():
    model = get_model("deepseek-v2")
    layout = Layout(pipeline=4)
    shapes = stage_shapes(split_layers(model, 4))
    total = sum(stage_parameters(model, shape, layout) for shape in shapes)
    assert total == pytest.approx(model.parameters, rel=1e-6)


def test_model_states_follow_the_arithmetic_of_zero():
    training = Training(get_model("llama-3-8b"), 4096, 64)
    parameters = training.model.parameters / 1e9
    for zero, weights, gradients, optimizer in ((0, 2, 2, 12), (1, 2, 2, 12 / 8), (2, 2, 2 / 8, 12 / 8)):
        memory = stage_memory(training, Layout(data=8, zero=zero), (32,), 0)
        assert memory.weights == pytest.approx(weights * parameters, rel=1e-3)
        assert memory.gradients == pytest.approx(gradients * parameters, rel=1e-3)
        assert memory.optimizer == pytest.approx(optimizer * parameters, rel=1e-3)
    sharded = stage_memory(training, Layout(data=8, zero=3), (32,), 0)
    assert sharded.weights == pytest.approx(2 * parameters / 8, rel=1e-3)
    assert sharded.gathered > 0


def test_activations_of_a_gpt_layer_are_near_34_bytes_a_token_and_width():
    training = Training(get_model("gpt-3-175b"), 2048, 8)
    memory = stage_memory(training, Layout(pipeline=96, data=8), (1,) * 96, 95)
    per_token = memory.activations * 1e9 / (2048 * 12288)
    assert per_token == pytest.approx(34, rel=0.1), "arXiv 2205.05198, without dropout masks"


def test_the_first_stage_holds_as_many_microbatches_as_there_are_stages():
    layout = Layout(data=1, tensor=8, pipeline=4)
    split = split_layers(LLAMA.model, 4)
    first = stage_memory(LLAMA, layout, split, 0)
    last = stage_memory(LLAMA, layout, split, 3)
    assert first.activations / split[0] == pytest.approx(4 * last.activations / split[3])
    assert last.logits > 0 == first.logits


def test_extra_microbatches_in_flight_cost_memory_before_the_cut_only():
    layout = Layout(tensor=8, pipeline=4)
    split = split_layers(LLAMA.model, 4)
    more = replace(layout, extra_in_flight=2)
    assert stage_memory(LLAMA, more, split, 0, cut=2).activations == pytest.approx(
        stage_memory(LLAMA, layout, split, 0, cut=2).activations * 6 / 4
    )
    assert (
        stage_memory(LLAMA, more, split, 2, cut=2).activations
        == stage_memory(LLAMA, layout, split, 2).activations
    )


def test_the_parts_sum_to_the_total():
    memory = worst_memory(LLAMA, Layout(tensor=8, pipeline=4, recompute=Recompute.FULL), (20, 20, 20, 20))
    assert memory.total == pytest.approx(sum(memory.parts().values()))


def test_recomputation_saves_memory_step_by_step():
    layout = Layout(tensor=8, pipeline=4)
    totals = [
        stage_memory(LLAMA, replace(layout, recompute=level), (20, 20, 20, 20), 0).activations
        for level in Recompute
    ]
    assert totals[0] > totals[1] > totals[2]


def test_what_does_not_fit_names_the_parts_and_what_would():
    training = Training(get_model("llama-3-70b"), 16384, 64)
    problem = memory_problem(training, Layout(data=8, tensor=8), (80,), [80.0])
    assert problem is not None
    assert problem.startswith("layout TP8 DP8 ZeRO-1, microbatch 1: stage 0 needs ")
    assert "GB of 80 GB (" in problem
    assert "would fit: " in problem
    assert "ZeRO-3 with full recomputation" in problem
    assert (
        memory_problem(training, Layout(data=8, tensor=8, zero=3, recompute=Recompute.FULL), (80,), [80.0])
        is None
    )


def test_what_fits_nowhere_says_so():
    training = Training(get_model("llama-3-405b"), 8192, 8)
    problem = memory_problem(training, Layout(tensor=8), (126,), [80.0])
    assert problem is not None
    assert problem.endswith("no single change fits: use more or larger GPUs")


def test_memory_at_the_border_fits_and_a_byte_less_does_not():
    need = worst_memory(LLAMA, Layout(tensor=8, pipeline=4), (20, 20, 20, 20)).total
    layout, split = Layout(tensor=8, pipeline=4), (20, 20, 20, 20)
    assert memory_problem(LLAMA, layout, split, [need] * 4) is None
    assert memory_problem(LLAMA, layout, split, [need * 0.999] * 4) is not None


def test_fp8_keeps_what_only_matrix_products_read_in_fp8():
    narrow = replace(LLAMA, precision=Precision.FP8)
    layout = Layout(tensor=8, pipeline=4)
    wide = stage_memory(LLAMA, layout, (20,) * 4, 0).activations
    assert 0.75 * wide < stage_memory(narrow, layout, (20,) * 4, 0).activations < 0.9 * wide


#: Published runs that the model would refuse, and why.
REFUSED = {"deepspeed-2t": "activations are kept on the host or partitioned; the post does not say"}


def test_no_published_run_is_refused_for_its_memory_unless_a_reason_is_named():
    sizes = {"A100": "p4de.24xlarge", "H100": "p5.48xlarge", "B200": "p6-b200.48xlarge"}
    runs = usable(load_runs(), "fit", "check")
    assert len(runs) > 120
    refused = set()
    for run in runs:
        limit = gpu_capacity_gb(load_sizes()[sizes[gpu_of(run)]].gpu)
        split = split_layers(run.training.model, run.layout.pipeline)
        if worst_memory(run.training, run.layout, split).total > limit:
            refused.add(run.training.model.name)
    assert refused == set(REFUSED)


@pytest.mark.parametrize("name", sorted(load_sizes()))
def test_a_gpu_holds_what_its_driver_reports_and_never_more_than_its_name_says(name):
    gpu = load_sizes()[name].gpu
    row = next(
        r for r in read_toml("gpu_memory.toml")["gpu"] if (r["model"], r["gb"]) == (gpu.model, gpu.memory_gb)
    )
    assert gpu_capacity_gb(gpu) == pytest.approx(0.995 * row["mib"] * 2**20 / 1e9)
    assert 0.95 * gpu.memory_gb < gpu_capacity_gb(gpu) <= 1.08 * gpu.memory_gb


@pytest.mark.parametrize(("name", "fits", "not_"), [
    ("Standard_ND128isr_GB300_v6", 295, 305), ("Standard_ND128isr_NDR_GB200_v6", 196, 200),
    ("p6-b300.48xlarge", 286, 289), ("p5.48xlarge", 84, 86),
])  # fmt: skip
def test_decimal_and_binary_gigabytes_of_sellers_are_told_apart(name, fits, not_):
    assert fits <= gpu_capacity_gb(load_sizes()[name].gpu) < not_


def test_a_gpu_of_the_users_own_is_counted_in_the_smaller_gigabytes():
    own = replace(load_sizes()["p5.48xlarge"].gpu, model="R100", memory_gb=100)
    assert gpu_capacity_gb(own) == pytest.approx(99.5)


def test_experts_are_spread_over_the_expert_group():
    training = Training(get_model("mixtral-8x22b"), 4096, 64)
    together = stage_memory(training, Layout(data=8), (56,), 0).weights
    spread = stage_memory(training, Layout(data=8, expert=8), (56,), 0).weights
    assert spread < together / 5
