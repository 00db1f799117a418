"""Step time: against published runs, its parts, links between clouds, and the guide's table."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

import pytest

from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.planning.collectives import platform_of
from gpu_fabric.planning.compute import fraction_of, stage_compute, step_constants
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.gpus import get_gpu
from gpu_fabric.planning.guide import (
    GUIDE,
    Verdict,
    claims,
    guide_training,
    implied_tokens,
    optimised_run,
    zero3_volume,
)
from gpu_fabric.planning.layout import Layout, Precision, Recompute, Training, split_layers
from gpu_fabric.planning.link import LinkModel
from gpu_fabric.planning.memory import stage_shapes
from gpu_fabric.planning.step import Placement, estimate_step, step_bound
from gpu_fabric.planning.tables import read_csv, read_toml
from gpu_fabric.planning.traffic import Dimension, pipeline_bytes, stage_traffic
from gpu_fabric.planning.training_fit import COMMON, ceiling
from gpu_fabric.planning.training_validation import compare_runs, load_runs, usable
from gpu_fabric.planning.transformer import get_model

P5 = platform_of("p5.48xlarge")
NDV5 = platform_of("Standard_ND96isr_H100_v5")
LLAMA = Training(get_model("llama-3-70b"), 8192, 256)


def test_published_runs_that_nothing_was_fitted_on_are_met_to_twelve_percent_in_the_median():
    comparisons = compare_runs(usable(load_runs(), "check"))
    assert len(comparisons) >= 90
    assert median(item.error for item in comparisons) <= 0.12
    assert max(item.error for item in comparisons) <= 0.35


@pytest.mark.parametrize("stack", ["megatron", "llm-foundry", "fms-fsdp"])
def test_every_run_of_a_stack_with_several_models_is_met_to_fifteen_percent(stack):
    rows = [run for run in usable(load_runs(), "check") if run.stack == stack]
    worst = max(compare_runs(rows), key=lambda item: item.error)
    assert worst.error <= 0.15, worst.run.label


def test_scaling_from_8_to_512_gpus_loses_what_was_measured():
    rows = {
        r.gpus: r
        for r in load_runs()
        if r.training.model.name == "mpt-7b" and r.platform == "reference-h100-ndr"
    }
    few, many = compare_runs([rows[8], rows[512]])
    predicted = many.estimate.seconds / few.estimate.seconds
    measured = many.run.step_seconds / few.run.step_seconds
    assert predicted == pytest.approx(measured, abs=0.02)


@pytest.mark.parametrize("fit", COMMON, ids=lambda fit: fit.name)
def test_the_common_constants_are_where_the_fit_leaves_them(fit):
    constants = step_constants()
    rows = fit.rows(load_runs())
    assert rows
    now = fit.loss(rows, constants)
    value = getattr(constants, fit.name)
    for factor in (0.8, 1.25):
        assert fit.loss(rows, replace(constants, **{fit.name: value * factor})) > now - 0.002


def test_no_fitted_share_exceeds_what_a_matrix_product_reaches():
    for (_, gpu, precision), fraction in step_constants().fractions.items():
        assert 0.2 < fraction.value <= ceiling(gpu, precision) + 1e-3


def test_every_run_and_every_left_out_row_names_a_source_and_a_reason():
    sources = read_toml("sources.toml")
    assert {run.source for run in load_runs()} <= set(sources)
    assert all(run.note for run in usable(load_runs(), "excluded"))
    rows = read_csv("training_unusable.csv")
    assert rows
    assert all(row["source"] in sources and row["reason"] for row in rows)


def test_a_gpu_without_rows_of_its_own_is_scaled_from_h100_and_says_so():
    share = fraction_of(get_gpu("B300"), Precision.BF16, "megatron", step_constants())
    assert share.basis.startswith("estimated: H100's share")
    assert 0.5 < share.value < 0.8
    with pytest.raises(PlanningError, match="A100 has no fp8; use bf16 or another size"):
        fraction_of(get_gpu("A100"), Precision.FP8, "megatron", step_constants())


def test_the_parts_of_a_step_sum_to_it():
    layout = Layout(data=2, tensor=4, pipeline=4, microbatch=1)
    estimate = estimate_step(LLAMA, layout, Placement.single(P5, 4))
    assert sum(estimate.parts.values()) == pytest.approx(estimate.seconds)
    assert all(value >= -1e-9 for value in estimate.parts.values())
    assert 0 < estimate.network_share < estimate.wait_share < 1
    assert estimate.tokens_per_second * estimate.seconds == pytest.approx(LLAMA.tokens)


def test_mfu_is_model_flops_over_peak():
    layout = Layout(data=4, tensor=8)
    estimate = estimate_step(LLAMA, layout, Placement.single(P5, 1))
    flops = LLAMA.model.model_flops(8192) * LLAMA.tokens
    assert estimate.mfu == pytest.approx(flops / (32 * 989.5e12 * estimate.seconds))


def test_recomputation_costs_a_forward_pass():
    shape = stage_shapes((80,))[0]
    plain = stage_compute(LLAMA, Layout(), shape, get_gpu("H100"))
    full = stage_compute(LLAMA, Layout(recompute=Recompute.FULL), shape, get_gpu("H100"))
    assert plain.backward == pytest.approx(2 * plain.forward)
    assert full.forward == plain.forward
    assert full.backward == pytest.approx(3 * plain.forward, rel=0.02)


def test_zero3_moves_three_times_the_weights_of_a_model():
    rows = stage_traffic(LLAMA, Layout(data=32, zero=3), stage_shapes((80,))[0], P5)
    moved = sum(row.size * row.calls for row in rows if row.dimension is Dimension.DATA)
    assert moved == pytest.approx(zero3_volume(), rel=1e-3)


def test_tensor_parallelism_gathers_and_scatters_twice_a_layer_and_pass():
    rows = stage_traffic(LLAMA, Layout(tensor=8), stage_shapes((80,))[0], P5)
    forward = [row for row in rows if row.when.value == "forward"]
    assert {(row.collective.value, row.calls) for row in forward} == {
        ("all_gather", 160),
        ("reduce_scatter", 160),
    }
    assert all(row.size == 2 * 8192 * 8192 for row in rows)


def test_a_mixture_sends_every_token_to_its_experts_and_back():
    training = Training(get_model("mixtral-8x22b"), 4096, 64)
    rows = stage_traffic(training, Layout(data=8, expert=8), stage_shapes((56,))[0], P5)
    experts = [row for row in rows if row.dimension is Dimension.EXPERT]
    assert {row.size for row in experts} == {2 * 4096 * 2 * 6144}
    assert sum(row.calls for row in experts) == 4 * 56


def _two_clouds(link: LinkModel, stages: int = 8) -> Placement:
    half = stages // 2
    return Placement((P5,) * half + (NDV5,) * half, cut=half, link=link)


def test_a_slow_link_shows_as_pipeline_transfer_and_extra_microbatches_hide_it():
    layout = Layout(tensor=8, pipeline=8)
    ten = LinkModel(10, 3.0)
    plain = estimate_step(LLAMA, layout, _two_clouds(ten))
    more = estimate_step(LLAMA, replace(layout, extra_in_flight=4), _two_clouds(ten))
    hundred = estimate_step(LLAMA, layout, _two_clouds(LinkModel(100, 3.0)))
    assert plain.seconds > 1.3 * hundred.seconds
    assert more.seconds < plain.seconds
    assert plain.parts["pipeline transfer"] > 5 * hundred.parts["pipeline transfer"]
    assert plain.link_bytes == pipeline_bytes(LLAMA, layout) * 256


def test_the_bytes_over_the_link_do_not_depend_on_how_replicas_share_it():
    one = estimate_step(LLAMA, Layout(tensor=8, pipeline=8), _two_clouds(LinkModel(10, 3.0)))
    two = estimate_step(LLAMA, Layout(tensor=8, pipeline=4, data=2), _two_clouds(LinkModel(10, 3.0), 4))
    assert one.link_bytes == two.link_bytes == 2 * 8192 * 8192 * 256


def test_tied_embeddings_across_the_cut_cost_an_all_reduce_over_the_link():
    tied = Training(get_model("gpt-3-175b"), 2048, 64)
    untied = replace(tied, model=replace(tied.model, tied_embeddings=False))
    layout = Layout(tensor=8, pipeline=8)
    link = LinkModel(10, 3.0)
    cost = (
        estimate_step(tied, layout, _two_clouds(link)).seconds
        - estimate_step(untied, layout, _two_clouds(link)).seconds
    )
    assert cost == pytest.approx(link.transfer_seconds(2 * tied.model.head_parameters), rel=0.1)


@pytest.mark.parametrize("pipeline", [1, 4, 8])
def test_the_bound_of_the_search_is_below_the_exact_time(pipeline):
    for data in (1, 2):
        layout = Layout(data=data, tensor=4, pipeline=pipeline)
        split = split_layers(LLAMA.model, pipeline)
        placement = Placement.single(P5, pipeline)
        exact = estimate_step(LLAMA, layout, placement, split=split).seconds
        assert 0.7 * exact < step_bound(LLAMA, layout, placement, split=split) <= exact


def test_a_timeline_is_kept_on_request():
    layout = Layout(tensor=8, pipeline=4)
    estimate = estimate_step(LLAMA, layout, Placement.single(P5, 4), keep_timeline=True)
    assert estimate.timeline is not None
    assert len(estimate.timeline.operations) == 2 * 4 * 256


def test_the_guides_table_is_held_against_the_model():
    verdicts = {claim.figure: claim.verdict for claim in claims()}
    assert verdicts["optimised step"] is Verdict.EXPLAINED, "its batch does not fit the memory"
    assert verdicts["optimised MFU"] is Verdict.EXPLAINED
    assert verdicts["ratio of the two runs"] is verdicts["GPU wait"] is Verdict.CONSISTENT
    assert {c.model for c in claims() if c.verdict is Verdict.CONSISTENT} == {"-"}
    assert verdicts["baseline step"] is Verdict.CONTRADICTED
    assert verdicts["memory of that batch"] is Verdict.CONTRADICTED
    assert verdicts["network tail latency p99"] is Verdict.UNKNOWN
    compute = optimised_run().parts["compute"]
    assert GUIDE["optimised"]["compute"] * 0.98 <= compute <= GUIDE["baseline"]["compute"]


def test_the_guides_two_rows_imply_the_same_batch():
    assert implied_tokens("baseline") == pytest.approx(implied_tokens("optimised"), rel=0.005)
    assert guide_training().tokens == pytest.approx(implied_tokens("optimised"), rel=0.025)


def test_zero3_over_14_gigabytes_a_second_takes_far_longer_than_the_guide_says():
    seconds = zero3_volume() * 31 / 32 / 14.2e9
    assert seconds == pytest.approx(28.9, abs=0.1)
    assert math.isclose(zero3_volume(), 423.3e9, rel_tol=0.001)


@pytest.mark.parametrize("name", sorted(load_sizes()))
def test_every_size_of_the_catalog_has_a_platform_or_says_what_it_lacks(name):
    size = load_sizes()[name]
    if size.fabric_gbps or size.ip_gbps or size.ethernet_gbps:
        platform = platform_of(size)
        assert platform.node_gbs > 0
        assert platform.gpu.peak["bf16"] > 0
    else:
        with pytest.raises(PlanningError, match=r"no rate of its network is known, .* Use Standard_ND96isr"):
            platform_of(size)
