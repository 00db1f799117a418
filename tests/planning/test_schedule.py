"""Pipeline schedules: known truths of links between clouds, exactness, and orders."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.schedule import (
    Hop,
    Schedule,
    StageTime,
    makespan,
    simulate,
    slowdown,
    steady_seconds,
)

STAGES = [StageTime(0.020, 0.040)] * 8
ACTIVATIONS = 64 * 2**20


def _cut(gbps: float, rtt_ms: float) -> dict[tuple[int, int], Hop]:
    hop = Hop(rtt_ms / 2e3, ACTIVATIONS * 8 / (gbps * 1e9))
    return {(3, 4): hop, (4, 3): hop}


def _slowdown(gbps: float, rtt_ms: float, extra: int) -> float:
    schedule = Schedule(64, extra_in_flight=extra, cut=4)
    return slowdown(simulate(STAGES, _cut(gbps, rtt_ms), schedule), STAGES, schedule)


def test_1f1b_without_a_link_has_the_textbook_bubble():
    timeline = simulate(STAGES, {}, Schedule(64))
    assert timeline.seconds == pytest.approx((64 + 7) * 0.060)
    assert timeline.idle_share == pytest.approx(7 / 71)
    assert timeline.in_flight == (8, 7, 6, 5, 4, 3, 2, 1)


@pytest.mark.parametrize(
    ("gbps", "rtt_ms", "plain", "extra"),
    [(100, 3.5, 0.10, 0.003), (100, 10, 0.15, 0.005), (10, 3.5, 0.81, 0.026)],
)
def test_two_more_microbatches_in_flight_hide_a_link_that_plain_1f1b_stalls_on(gbps, rtt_ms, plain, extra):
    assert _slowdown(gbps, rtt_ms, 0) == pytest.approx(plain, abs=0.005)
    assert _slowdown(gbps, rtt_ms, 2) == pytest.approx(extra, abs=0.0005)


def test_one_gigabit_is_hopeless_either_way():
    assert 7.5 < _slowdown(1, 3.5, 0) < 9
    assert 7.5 < _slowdown(1, 3.5, 2) < 9
    assert 7.5 < _slowdown(1, 3.5, 8) < 9


def test_latency_alone_costs_little():
    wide = 1e6
    assert _slowdown(wide, 3.5, 0) == pytest.approx(0.025, abs=0.006)
    assert _slowdown(wide, 10, 0) == pytest.approx(0.07, abs=0.015)


def test_interleaving_divides_the_bubble_by_the_virtual_stages():
    plain = simulate(STAGES, {}, Schedule(64)).seconds - 64 * 0.060
    four = simulate(STAGES, {}, Schedule(64, virtual=4)).seconds - 64 * 0.060
    assert plain / four == pytest.approx(4)


def test_interleaving_needs_microbatches_in_multiples_of_the_stages():
    with pytest.raises(
        PlanningError, match="60 microbatches, 8 stages; change globalBatch or set virtual stages to 1"
    ):
        simulate(STAGES, {}, Schedule(60, virtual=2))


@st.composite
def _runs(draw):
    count = draw(st.sampled_from([2, 3, 4, 8]))
    virtual = draw(st.sampled_from([1, 1, 2, 3]))
    microbatches = count * draw(st.integers(1, 4))
    seconds = st.floats(0.001, 1, allow_nan=False)
    stages = [StageTime(draw(seconds), draw(seconds)) for _ in range(count)]
    ways = [(a, b) for a in range(count) for b in range(count) if a != b]
    hops = {way: Hop(draw(st.floats(0, 0.5)), draw(st.floats(0, 0.5))) for way in ways}
    schedule = Schedule(microbatches, virtual, draw(st.sampled_from([0, 2])), draw(st.integers(0, count - 1)))
    return stages, hops, schedule


@settings(deadline=None, max_examples=60)
@given(run=_runs())
def test_every_operation_runs_once_in_order_and_the_fast_way_finds_the_same_makespan(run):
    stages, hops, schedule = run
    timeline = simulate(stages, hops, schedule)
    assert len(timeline.operations) == 2 * len(stages) * schedule.microbatches * schedule.virtual
    assert len({operation[:4] for operation in timeline.operations}) == len(timeline.operations)
    for stage in range(len(stages)):
        own = sorted((o.start, o.end) for o in timeline.operations if o.stage == stage)
        assert all(b[0] >= a[1] - 1e-12 for a, b in pairwise(own))
    assert makespan(stages, hops, schedule) == pytest.approx(timeline.seconds, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(run=_runs())
def test_a_stage_is_never_faster_than_its_work_and_a_link_never_helps(run):
    stages, hops, schedule = run
    seconds = makespan(stages, hops, schedule)
    assert seconds >= max(schedule.microbatches * (s.forward + s.backward) for s in stages) - 1e-9
    assert (
        seconds >= makespan(stages, {}, schedule) * 0.999 or schedule.virtual > 1 or schedule.extra_in_flight
    )


@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("gbps", [1, 10, 100])
def test_a_long_schedule_goes_on_at_its_pace(gbps, extra):
    schedule = Schedule(512, extra_in_flight=extra, cut=4)
    exact = makespan(STAGES, _cut(gbps, 3.5), schedule)
    assert steady_seconds(STAGES, _cut(gbps, 3.5), schedule) == pytest.approx(exact, rel=0.005)


def test_stages_that_share_a_link_wait_for_each_other():
    own = {(1, 2): Hop(0, 0.05), (2, 1): Hop(0, 0.05), (3, 0): Hop(0, 0.05), (0, 3): Hop(0, 0.05)}
    shared = {way: Hop(0, 0.05, shared="between clouds") for way in own}
    stages = [StageTime(0.02, 0.04)] * 4
    schedule = Schedule(16, virtual=2)
    assert simulate(stages, shared, schedule).seconds > simulate(stages, own, schedule).seconds
    with pytest.raises(ValueError, match="share a link"):
        makespan(stages, shared, schedule)
