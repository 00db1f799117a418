"""How many flows a connection has across a link of a bandwidth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.environment import EnvironmentInputError, Role, environment, flows_of
from gpu_fabric.nccl.environment.flows import (
    FLOW_LIMIT_GBPS,
    LOSS,
    MOST_FLOWS,
    MOST_THREADS,
    RTT_MS,
    flows_needed,
    mathis_gbps,
)

P5 = "p5.48xlarge"


@pytest.mark.parametrize(
    ("mbps", "threads", "sockets"),
    [
        (50, 1, 2),
        (100, 1, 2),
        (200, 1, 2),
        (500, 1, 2),
        (839, 1, 2),
        (840, 1, 4),
        (1_000, 1, 4),
        (2_000, 1, 8),
        (5_000, 2, 8),
        (10_000, 4, 8),
        (25_000, 8, 8),
        (50_000, 8, 8),
        (100_000, 8, 8),
    ],
)
def test_the_flows_follow_the_bandwidth(mbps: int, threads: int, sockets: int) -> None:
    flows = flows_of(mbps)
    assert (flows.threads, flows.sockets, flows.total) == (threads, sockets, threads * sockets)


@given(st.floats(1e-3, 1e8), st.floats(1e-3, 1e8))
def test_flows_stay_within_what_nccl_takes_and_never_fall_as_the_link_grows(one: float, other: float) -> None:
    small, large = (flows_of(mbps) for mbps in sorted((one, other)))
    assert 2 <= small.total <= large.total <= MOST_FLOWS
    assert small.threads <= large.threads <= MOST_THREADS
    assert small.total & (small.total - 1) == 0


@given(st.floats(50, 10_000))
def test_half_of_the_flows_fill_every_circuit_that_is_sold_though_packets_are_lost(mbps: float) -> None:
    half = flows_of(mbps).total // 2
    assert half >= flows_needed(mbps)
    assert half * mathis_gbps(RTT_MS, LOSS) >= mbps / 1000


@given(st.floats(10_000, 160_000))
def test_half_of_the_most_flows_fill_larger_links_at_amazons_limit(mbps: float) -> None:
    assert flows_of(mbps).total / 2 * FLOW_LIMIT_GBPS >= mbps / 1000


@pytest.mark.parametrize(("mbps", "flows"), [(50, 1), (5_000, 1), (5_100, 2), (10_000, 2), (100_000, 20)])
def test_a_flow_carries_five_gigabits_at_most(mbps: int, flows: int) -> None:
    assert flows_needed(mbps) == flows


@pytest.mark.parametrize("mbps", [0, -1, float("nan"), float("inf")])
def test_a_link_without_bandwidth_is_refused(mbps: float) -> None:
    with pytest.raises(ValueError, match=rf"^a link of {mbps:g} Mb/s cannot be$"):
        flows_of(mbps)


def test_the_reason_names_the_link_or_says_that_the_largest_was_counted_with() -> None:
    def why(mbps: float | None) -> str:
        made = environment(P5, role=Role.STAGE_BOUNDARY, link_mbps=mbps)
        (entry,) = [one for one in made.variables if one.name == "NCCL_SOCKET_NTHREADS"]
        return entry.why.partition(". ")[0]

    assert why(1_000) == ("With 4 sockets a thread, one connection has 4 flows: for a link of 1000 Mb/s")
    assert why(None) == (
        "With 8 sockets a thread, one connection has 32 flows: for a link of 10000 Mb/s, the largest (`--link-mbps` "
        "names another)"
    )


@pytest.mark.parametrize(
    ("role", "mbps", "problem"),
    [
        (Role.INSIDE_CLOUD, 1_000, "link_mbps: the role inside-cloud crosses no link; leave it out"),
        (Role.SINGLE_NODE, 1_000, "link_mbps: the role single-node crosses no link; leave it out"),
        (Role.STAGE_BOUNDARY, 0, "link_mbps: 0 is no bandwidth; give 10^6 bit/s, such as 10000"),
        (Role.STAGE_BOUNDARY, float("inf"), "link_mbps: inf is no bandwidth; give 10^6 bit/s, such as 10000"),
    ],
)
def test_a_link_that_cannot_be_is_refused(role: Role, mbps: float, problem: str) -> None:
    with pytest.raises(EnvironmentInputError) as refused:
        environment(P5, role=role, link_mbps=mbps)
    assert refused.value.problems == (problem,)
