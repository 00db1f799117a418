"""The gate's judgement, and the search for the nodes that make a cluster fail, on simulated clusters."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import get_size
from gpu_fabric.nccl.preflight import expected as table_of_expectations
from gpu_fabric.nccl.preflight import launchers
from gpu_fabric.nccl.preflight.bisect import Group, Suspect, find_culprits
from gpu_fabric.nccl.preflight.cluster import GateReport, gate_dict, gate_markdown, run_gate
from gpu_fabric.nccl.preflight.expected import expected, measured, predicted
from gpu_fabric.nccl.preflight.judge import Gate, judge, reason
from gpu_fabric.nccl.preflight.launchers import (
    Job,
    Kind,
    LauncherError,
    find_launcher,
    openmpi_command,
    openmpi_tag,
    slurm_command,
)
from gpu_fabric.nccl.preflight.manifest import mpijob
from gpu_fabric.nccl.preflight.result import Result, State
from gpu_fabric.nccl.preflight.runs import Output
from tests.node_real import stand_in_perf
from tests.node_real.stand_in_perf import nccl_lines, table, whole

P5 = get_size("p5.48xlarge")
SIXTY_FOUR = [f"n{number:02d}" for number in range(64)]


class Simulated:
    """A cluster of a scenario; counts how often it was asked."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self.scenario, self.rounds = scenario, 0

    def __call__(self, groups: Sequence[Group]) -> list[Output]:
        self.rounds += 1
        nodes = [node for group in groups for node in group]
        assert len(nodes) == len(set(nodes)), "groups of a round run at the same time and share no node"
        return [self.run(list(group)) for group in groups]

    def run(self, nodes: list[str]) -> Output:
        if set(nodes) & set(self.scenario.get("hang", ())):
            return Output("", -15, 600.0, timed_out=True)
        if set(nodes) & set(self.scenario.get("crash", ())):
            return Output(
                "x:1:1 [0] NCCL WARN Error: 4126 (Unresponsive receiver, handshake failed)\n", 3, 1.0
            )
        return Output(whole(nodes, 8, self.scenario), 0, 20.0)


def gate(scenario: dict[str, Any], nodes: Sequence[str], **arguments: Any) -> tuple[GateReport, Simulated]:
    cluster = Simulated(scenario)
    arguments.setdefault("given_busbw", 355.0)
    return run_gate(Gate(P5, **arguments), nodes, cluster), cluster


def culprits(report: GateReport) -> set[tuple[str, ...]]:
    assert report.search is not None
    return {culprit.nodes for culprit in report.search.culprits}


def test_a_healthy_cluster_passes_in_one_round() -> None:
    report, cluster = gate({}, SIXTY_FOUR[:16])
    assert (report.report.state, report.report.exit_code, cluster.rounds) == (State.PASS, 0, 1)
    found = {result.check: result.what for result in report.report.results}
    assert found["busbw-all_reduce"] == "355.0 of 355.0 GB/s at 8 GiB on 16 nodes"
    assert found["fabric-used"] == "efa on 16 hosts"


@pytest.mark.parametrize("kind", ["slow", "alone", "socket", "wrong", "hang", "crash"])
@pytest.mark.parametrize(
    "bad", [("n00",), ("n37",), ("n63",), ("n00", "n01"), ("n10", "n53"), ("n62", "n63")]
)
def test_one_or_two_bad_nodes_of_64_are_found_in_few_rounds(kind: str, bad: tuple[str, ...]) -> None:
    report, cluster = gate({kind: bad}, SIXTY_FOUR)
    assert report.report.exit_code == 1
    assert culprits(report) == {(node,) for node in bad}
    assert cluster.rounds - 1 <= math.ceil(math.log2(64)), "rounds after the run on all nodes"
    said = [result.what for result in report.report.results if result.check == "culprit"]
    assert [what.partition(":")[0] for what in said] == list(bad)


def test_what_is_wrong_inside_a_node_is_told_from_what_is_wrong_with_its_network() -> None:
    report, _ = gate({"alone": ["n03"], "slow": ["n09"]}, SIXTY_FOUR)
    assert report.search is not None
    assert {c.nodes: c.suspect for c in report.search.culprits} == {
        ("n03",): Suspect.INSIDE,
        ("n09",): Suspect.NETWORK,
    }


def test_two_nodes_that_are_slow_only_with_each_other_are_named_together() -> None:
    # They meet in the second arrangement of pairs or in the first: the gate pairs neighbours.
    report, _ = gate({"between": [["n04", "n05"]]}, SIXTY_FOUR[:8])
    assert report.search is not None
    assert [(c.nodes, c.suspect) for c in report.search.culprits] == [(("n04", "n05"), Suspect.BETWEEN)]


def test_a_fault_that_only_many_nodes_show_ends_with_the_smallest_group_that_has_it() -> None:
    report, cluster = gate({"slow_above": 8}, SIXTY_FOUR)
    assert report.search is not None
    assert all(c.suspect is Suspect.TOGETHER and len(c.nodes) == 16 for c in report.search.culprits)
    assert cluster.rounds <= 2 + math.ceil(math.log2(64))


def test_where_no_node_passes_even_alone_no_single_node_is_blamed() -> None:
    search = find_culprits(SIXTY_FOUR, lambda groups: [False] * len(groups))
    assert [(len(c.nodes), c.suspect) for c in search.culprits] == [(64, Suspect.EVERYTHING)]
    assert len(search.rounds) == 1


def test_where_no_pair_passes_no_single_node_is_blamed() -> None:
    search = find_culprits(SIXTY_FOUR, lambda groups: [False] * len(groups), alone=False)
    assert [(len(c.nodes), c.suspect) for c in search.culprits] == [(64, Suspect.EVERYTHING)]
    assert len(search.rounds) <= 6


@settings(max_examples=200, deadline=None)
@given(st.integers(3, 96), st.data())
def test_every_set_of_bad_nodes_is_found_exactly_as_long_as_half_are_good(
    count: int, data: st.DataObject
) -> None:
    nodes = [f"n{number}" for number in range(count)]
    bad = set(data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=(count - 1) // 2, unique=True)))
    played: list[Sequence[Group]] = []

    def play(groups: Sequence[Group]) -> list[bool]:
        played.append(groups)
        flat = [node for group in groups for node in group]
        assert len(flat) == len(set(flat))
        return [not bad & set(group) for group in groups]

    search = find_culprits(nodes, play, alone=False)
    if any(c.suspect is Suspect.EVERYTHING for c in search.culprits):
        # Only where each arrangement put a bad node into every pair.
        assert all(not any(result for _, result in step.groups) for step in search.rounds)
        return
    assert {node for c in search.culprits for node in c.nodes} == bad
    assert set(search.good) == set(nodes) - bad
    assert len(played) <= 2 + math.ceil(math.log2(count)) + len(bad)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 128), st.data())
def test_up_to_two_bad_nodes_take_three_rounds(count: int, data: st.DataObject) -> None:
    nodes = [f"n{number}" for number in range(count)]
    bad = set(
        data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=2 if count > 4 else 1, unique=True))
    )
    search = find_culprits(nodes, lambda groups: [not bad & set(group) for group in groups])
    assert {node for c in search.culprits for node in c.nodes} == bad
    assert len(search.rounds) <= 3


@pytest.mark.parametrize("count", range(3, 10))
def test_of_a_few_nodes_each_bad_one_is_found_wherever_it_stands(count: int) -> None:
    nodes = [f"n{number}" for number in range(count)]
    for bad in chain.from_iterable(combinations(nodes, many) for many in (1, 2) if many + 2 <= count):
        search = find_culprits(
            nodes, lambda groups, bad=bad: [len(group) == 1 or not {*bad} & {*group} for group in groups]
        )
        assert sorted(culprit.nodes for culprit in search.culprits) == [(node,) for node in bad], bad
        assert {culprit.suspect for culprit in search.culprits} == {Suspect.NETWORK}


# ---- judgement ------------------------------------------------------------------------------------------------------


def result_of(scenario: dict[str, Any], nodes: int, check: str, **arguments: Any) -> tuple[State, str]:
    results, _ = judge(Gate(P5, **arguments), nodes, Output(whole(SIXTY_FOUR[:nodes], 8, scenario), 0, 9.0))
    return next((result.state, result.what) for result in results if result.check == check)


@pytest.mark.parametrize(
    ("busbw", "state"),
    [(90.0, State.PASS), (89.9, State.WARN), (75.0, State.WARN), (74.9, State.FAIL)],
)
def test_the_thresholds_are_shares_of_what_is_expected(busbw: float, state: State) -> None:
    found, what = result_of({"busbw": {4: busbw}}, 4, "busbw-all_reduce", given_busbw=100.0)
    assert found is state
    assert what.startswith(f"{busbw:.1f} of 100.0 GB/s at 8 GiB on 4 nodes")


def test_thresholds_can_be_set() -> None:
    assert (
        result_of({"busbw": {4: 74}}, 4, "busbw-all_reduce", given_busbw=100.0, warn=0.7, fail=0.5)[0]
        is State.PASS
    )
    assert result_of({"busbw": {4: 74}}, 4, "busbw-all_reduce", given_busbw=100.0, fail=0.8)[0] is State.FAIL


def test_the_table_judges_every_size_that_somebody_measured_and_the_worst_one_speaks() -> None:
    state, what = result_of({}, 4, "busbw-all_reduce")
    assert state is State.PASS
    state, what = result_of({"busbw": {4: 255}}, 4, "busbw-all_reduce")
    assert state is State.FAIL
    assert what == "255.0 of 357.0 GB/s at 8 GiB on 4 nodes: below 267.8"


def test_what_nobody_measured_is_unknown_and_says_what_to_give() -> None:
    size = get_size("g6e.48xlarge")
    results, _ = judge(Gate(size), 4, Output(whole(SIXTY_FOUR[:4], 8, {}), 0, 9.0))
    found = next(result for result in results if result.check == "busbw-all_reduce")
    assert found.state is State.UNKNOWN
    assert "no source says what 4 nodes of g6e.48xlarge reach" in found.what
    assert found.remedy == "Give what you expect with --expect GB/s."


def test_a_planner_is_asked_where_the_table_is_silent() -> None:
    assert result_of({}, 32, "busbw-all_reduce")[0] is State.UNKNOWN
    state, what = result_of({}, 32, "busbw-all_reduce", planner=lambda *_: 355.0)
    assert state is not State.UNKNOWN
    assert "of 355.0 GB/s" in what


def test_a_run_that_hangs_or_dies_says_so_and_what_its_log_means() -> None:
    hung, _ = judge(Gate(P5), 2, Output("", -15, 600.0, timed_out=True))
    assert hung[0].what == "no end after 600 s: it hangs"
    died, _ = judge(Gate(P5), 2, Output("NCCL WARN Error: 4126 (Unresponsive receiver)\n", 3, 1.0))
    assert died[0].what == "exit 3: NCCL WARN Error: 4126 (Unresponsive receiver)"
    assert "security group" in died[0].remedy
    cut, _ = judge(Gate(P5), 2, Output("nothing of nccl-tests\n", 0, 1.0))
    assert cut[0].what.startswith("the output has no averages")


def test_the_report_has_numbers_rounds_and_culprits() -> None:
    report, _ = gate({"slow": ["n05"]}, SIXTY_FOUR[:8])
    text = gate_markdown(report)
    assert text.startswith("# 8 × p5.48xlarge: FAIL: ")
    assert "| 8 GiB | 177.50 |" in text
    assert "| 2 | pairs | 4 | n04+n05 |" in text
    assert "n05: the node's way to the network" in text
    document = json.loads(json.dumps(gate_dict(report)))
    assert document["culprits"] == [{"nodes": ["n05"], "suspect": "network"}]
    assert document["rounds"] == 3
    assert document["state"] == "fail"


# ---- what the launcher, the log and a second try say -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "srun: error: Unable to create step for job 5: Invalid node name specified\n",
            "srun: error: Unable to create step for job 5: Invalid node name specified",
        ),
        (
            "srun: error: Unable to allocate resources: Requested node configuration is not available\n",
            "srun: error: Unable to allocate resources: Requested node configuration is not available",
        ),
        (
            "ssh: connect to host n05 port 22: Connection refused\n"
            + "-" * 70
            + "\nORTE was unable to reliably start one or more daemons.\n",
            "ORTE was unable to reliably start one or more daemons.",
        ),
    ],
)
def test_a_node_that_the_launcher_refuses_is_not_called_broken_inside(words: str, told: str) -> None:
    class Refusing(Simulated):
        def run(self, nodes: list[str]) -> Output:
            return Output(words, 1, 0.5) if "n05" in nodes else super().run(nodes)

    report = run_gate(Gate(P5, given_busbw=355.0), SIXTY_FOUR[:8], Refusing({}))
    assert report.search is not None
    assert [(c.nodes, c.suspect) for c in report.search.culprits] == [(("n05",), Suspect.LAUNCHER)]
    said = next(result for result in report.report.results if result.check == "culprit")
    assert said.what.startswith("n05: the launcher does not start there")
    assert told in said.what
    assert "sinfo -R" in said.remedy


def test_a_search_whose_runs_stay_in_the_queue_is_unknown_and_blames_nobody() -> None:
    cluster = Simulated({"slow": ["n01"]})
    queued = Output("srun: job 7 queued and waiting for resources\n", -15, 600.0, started=False)

    def start(groups: Sequence[Group]) -> list[Output]:
        # The first run had the nodes, and then another job got them.
        return cluster(groups) if cluster.rounds == 0 else [queued for _ in groups]

    report = run_gate(Gate(P5, given_busbw=355.0), SIXTY_FOUR[:4], start)
    found = next(result for result in report.report.results if result.check == "culprit")
    assert found.state is State.UNKNOWN
    assert found.what.startswith("the search's runs were still in the queue")
    assert found.remedy == "Run the gate inside an allocation of these nodes."


def test_ranks_that_each_ran_alone_start_no_search() -> None:
    one = whole(SIXTY_FOUR[:1], 8, {})
    cluster = Simulated({})
    report = run_gate(
        Gate(P5, given_busbw=355.0),
        SIXTY_FOUR[:4],
        lambda groups: [Output(one * 4, 0, 20.0) for _ in cluster(groups)],
    )
    assert (cluster.rounds, report.search) == (1, None)
    assert any("tables" in result.what for result in report.report.results if result.check == "run")


def test_on_two_clouds_nobody_is_blamed_by_pairs_across_them() -> None:
    report, cluster = gate({"slow": ["n02"]}, SIXTY_FOUR[:6], given_busbw=355.0, sockets_between=True)
    assert (cluster.rounds, report.search) == (1, None)
    found = next(result for result in report.report.results if result.check == "culprit")
    assert found.state is State.UNKNOWN
    assert found.remedy.startswith("Give one cloud's nodes at a time (--nodes) without --two-clouds")
    assert report.report.state is State.FAIL


def test_a_value_that_is_given_wins_over_the_published_ones_of_one_and_two_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster whose owner knows that it reaches less: the published 477 GB/s of a pair would blame all alike."""

    def speed_of(group: Group) -> float:
        return 60.0 if "n03" in group and len(group) > 1 else {1: 330.0, 2: 300.0}.get(len(group), 200.0)

    def start(groups: Sequence[Group]) -> list[Output]:
        return [Output(whole(list(group), 8, {}), 0, 20.0) for group in groups]

    monkeypatch.setattr(stand_in_perf, "busbw_of", lambda nodes, scenario: speed_of(tuple(nodes)))
    report = run_gate(Gate(P5, given_busbw=200.0), SIXTY_FOUR[:8], start)
    assert culprits(report) == {("n03",)}


@pytest.mark.parametrize("given", [355.0, None])
@pytest.mark.parametrize("count", range(3, 10))
def test_bad_nodes_among_a_few_are_found_by_their_numbers_too(count: int, given: float | None) -> None:
    """A round may have a single pair, which has no other of its kind to be compared with."""
    nodes = SIXTY_FOUR[:count]
    for bad in chain.from_iterable(combinations(nodes, many) for many in (1, 2) if many + 2 <= count):
        report, _ = gate({"slow": bad}, nodes, given_busbw=given)
        assert culprits(report) == {(node,) for node in bad}, bad


def test_a_run_that_stays_in_the_queue_is_unknown_and_blames_nobody() -> None:
    queued = Output("srun: job 7 queued and waiting for resources\n", -15, 600.0, started=False)
    report = run_gate(Gate(P5, given_busbw=355.0), ["a", "b"], lambda groups: [queued for _ in groups])
    assert (report.search, report.report.exit_code) == (None, 2)
    assert report.report.results[0].what == (
        "still in the launcher's queue after 600 s: srun: job 7 queued and waiting for resources"
    )


@pytest.mark.parametrize("count", [2, 3, 8])
def test_what_fails_once_and_never_again_blames_nobody(count: int) -> None:
    class Once(Simulated):
        def run(self, nodes: list[str]) -> Output:
            slow = {"slow": nodes[:1]} if self.rounds == 1 else {}
            return Output(whole(nodes, 8, slow), 0, 20.0)

    report = run_gate(Gate(P5, given_busbw=355.0), SIXTY_FOUR[:count], Once({}))
    assert report.search is not None
    assert report.search.culprits == []
    assert report.search.rounds[-1].why == "all of them again"
    said = next(result for result in report.report.results if result.check == "culprit")
    assert (said.state, said.what) == (
        State.UNKNOWN,
        "every smaller group passed, and so did all nodes when they ran again",
    )
    assert report.report.exit_code == 1, "it did fail"


def test_one_card_without_gpudirect_is_found_like_any_other_fault() -> None:
    class Copies(Simulated):
        def run(self, nodes: list[str]) -> Output:
            text = whole(nodes, 8, {})
            return Output(re.sub(r"^(n03:.*NET/Libfabric/0)/GDRDMA", r"\1", text, flags=re.M), 0, 20.0)

    report = run_gate(Gate(P5, given_busbw=355.0), SIXTY_FOUR[:8], Copies({}))
    assert culprits(report) == {("n03",)}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "it said nothing"),
        ("-----\n\n=====\n", "it said nothing"),
        ("a\nb\n" + "-" * 74 + "\n", "b"),
        (
            "srun: error: n3: task 4: Segmentation fault\nsrun: launch/slurm: _step_signal: Terminating StepId=14.0\n"
            "slurmstepd: error: *** STEP 14.0 ON n1 CANCELLED ***\n",
            "srun: error: n3: task 4: Segmentation fault",
        ),
        (
            "x\nmpirun noticed that process rank 3 with PID 0 on node n3 exited on signal 11.\n---\n",
            "mpirun noticed that process rank 3 with PID 0 on node n3 exited on signal 11.",
        ),
    ],
)
def test_the_line_that_names_a_node_or_a_reason_is_shown_before_the_last_one(text: str, line: str) -> None:
    assert reason(text) == line


@pytest.mark.parametrize(("searched", "remedy"), [(True, "below names the nodes"), (False, "--nodes")])
def test_a_search_is_promised_only_where_one_follows(searched: bool, remedy: str) -> None:
    text = whole(SIXTY_FOUR[:4], 8, {"slow": ["n00"]})
    results, _ = judge(Gate(P5, given_busbw=355.0), 4, Output(text, 0, 1.0), searched=searched)
    assert remedy in next(result.remedy for result in results if result.check == "busbw-all_reduce")


def test_the_table_says_nothing_about_a_part_of_the_gpus_or_about_two_clouds() -> None:
    half = whole(SIXTY_FOUR[:4], 4, {})
    results, _ = judge(Gate(P5), 4, Output(half, 0, 1.0))
    found = next(result for result in results if result.check == "busbw-all_reduce")
    assert found.state is State.UNKNOWN
    assert found.what.endswith("no source says what 4 nodes of p5.48xlarge reach with 16 of 32 GPUs")
    both, _ = judge(Gate(P5, sockets_between=True), 4, Output(whole(SIXTY_FOUR[:4], 8, {}), 0, 1.0))
    assert next(r for r in both if r.check == "busbw-all_reduce").state is State.UNKNOWN


def two_clouds(*alone: str) -> dict[str, Result]:
    """A run over two hosts of each cloud, with sockets between; `alone` have nothing but sockets."""
    aws = [line for host in ("a1", "a2") for line in nccl_lines(host, 0, {}, several=True)]
    azure = [
        line for host in ("z1", "z2") for line in nccl_lines(host, 0, {"fabric": "infiniband"}, several=True)
    ]
    lines = [line for line in (*aws, *azure) if not line.startswith(alone or "-")]
    between = [
        f"{host}:1:1 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/Socket/0"
        for host in ("a1", "a2", "z1", "z2")
    ]
    text = "\n".join([*lines, *between, *table(["a1", "a2", "z1", "z2"], 8, {}), ""])
    results, _ = judge(Gate(P5, given_busbw=355.0, sockets_between=True), None, Output(text, 0, 1.0))
    return {result.check: result for result in results}


def test_on_two_clouds_each_host_has_its_own_clouds_fabric_and_sockets_beside_it() -> None:
    found = two_clouds()
    assert {result.state for result in found.values()} == {State.PASS}
    assert found["fabric-used"].what == "efa and infiniband on 4 hosts"
    fallen = two_clouds("a2", "z1")["fabric-used"]
    assert (fallen.state, fallen.what) == (State.FAIL, "NET/Socket on a2, z1: NCCL fell back to TCP")


# ---- expectations ---------------------------------------------------------------------------------------------------


def test_every_row_of_the_table_is_one_of_the_published_rows() -> None:
    """The gate's table and the planner's data set are about the same measurements."""
    path = Path(__file__).parents[3] / "planning" / "data" / "collective_measurements.csv"
    with path.open(newline="") as file:
        published = {
            (row["platform"], row["collective"], int(row["nodes"]), int(row["bytes"]), row["source"]): row
            for row in csv.DictReader(file)
        }
    compared = 0
    for (size, collective, nodes), row in measured().items():
        for bytes_, (busbw, source) in row.items():
            twin = published.get((size, collective, nodes, bytes_, source))
            if twin is not None:
                assert busbw == float(twin["busbw_gbs"]), (size, collective, nodes, bytes_, source)
                compared += 1
    assert compared >= 40


@pytest.mark.parametrize(
    ("size", "nodes", "gib", "busbw"),
    [
        ("p5.48xlarge", 16, 8, 356.3),
        ("p5.48xlarge", 16, 16, 356.3),  # larger than measured: at least the largest measured
        ("p5.48xlarge", 12, 8, 355.4),  # between 8 and 16 nodes: the lower
        ("p5.48xlarge", 3, 8, 357.0),  # two nodes say nothing about more
        ("p5e.48xlarge", 4, 8, 357.0),
        ("p5.48xlarge", 32, 8, None),
        ("p5.48xlarge", 4, 0.5, None),
        ("Standard_ND96isr_H100_v5", 8, 16, 450.0),
    ],
)
def test_the_table_is_read_with_care(size: str, nodes: int, gib: float, busbw: float | None) -> None:
    found = expected(size, "all_reduce", nodes, int(gib * 2**30))
    assert (found.busbw if found else None) == busbw
    if found:
        assert found.source, "no number without its source"


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 12, 100, 127, 128])
def test_what_the_planner_said_when_the_one_file_was_made_is_there_for_every_number_of_nodes(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for the table: the lower of two neighbours, and the largest size that is not larger."""
    gib = 2**30
    said = {str(n): {str(gib): 300.0 - n, str(8 * gib): 400.0 - n} for n in (1, 2, 4, 128)}
    monkeypatch.setattr(table_of_expectations, "_predicted", lambda: {"some-size": {"all_reduce": said}})
    above = min(n for n in (1, 2, 4, 128) if n >= nodes)
    assert predicted("some-size", "all_reduce", nodes, 8 * gib) == 400.0 - above
    assert predicted("some-size", "all_reduce", nodes, 4 * gib) == 300.0 - above
    assert predicted("some-size", "all_reduce", nodes, gib // 2) is None
    assert predicted("some-size", "all_reduce", 129, gib) is None
    assert predicted("other", "all_reduce", nodes, gib) is None


# ---- launchers ------------------------------------------------------------------------------------------------------

JOB = Job("/opt/all_reduce_perf", ("-b", "1G"), 8, {"NCCL_DEBUG": "INFO"}, ("gpu-fabric-entrypoint", "--"))


def test_a_slurm_step_runs_on_exactly_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    command = slurm_command(JOB, ["n1", "n2"], mpi="pmix")
    assert command[:6] == [
        "srun",
        "--nodes=2",
        "--nodelist=n1,n2",
        "--ntasks=16",
        "--ntasks-per-node=8",
        "--cpu-bind=none",
    ]
    assert "--overlap" not in command
    assert command[-7:] == [
        "env",
        "NCCL_DEBUG=INFO",
        "gpu-fabric-entrypoint",
        "--",
        "/opt/all_reduce_perf",
        "-b",
        "1G",
    ]
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "--overlap" in slurm_command(JOB, ["n1"])


def test_mpirun_gets_the_clouds_own_settings() -> None:
    command = openmpi_command(JOB, ["n1", "n2"], root=False)
    text = " ".join(command)
    assert "--host n1:8,n2:8 -np 16 --map-by ppr:8:node --bind-to none" in text
    assert "--mca pml ^cm --mca btl tcp,self --mca btl_tcp_if_exclude lo,docker0" in text
    assert "-x NCCL_DEBUG=INFO" in text
    assert "--allow-run-as-root" not in text
    assert "--allow-run-as-root" in openmpi_command(JOB, ["n1"], root=True)


def test_the_mpijob_asks_for_gpus_efa_and_hugepages() -> None:
    document = json.loads(mpijob(JOB, nodes=4, image="repo/nccl-tests:1", efa_devices=32))
    worker = document["spec"]["mpiReplicaSpecs"]["Worker"]
    assert worker["replicas"] == 4
    limits = worker["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {
        "nvidia.com/gpu": 8,
        "vpc.amazonaws.com/efa": 32,
        "hugepages-2Mi": "5120Mi",
        "memory": "32Gi",
    }
    launcher = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0][
        "command"
    ][-1]
    assert "-np 32" in launcher
    azure = json.loads(mpijob(JOB, nodes=2, image="i", rdma_resource="rdma/ib"))
    limits = azure["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"][
        "limits"
    ]
    assert limits == {"nvidia.com/gpu": 8, "rdma/ib": 1}


def test_a_job_of_its_own_asks_for_its_gpus_where_slurm_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert "--gpus-per-node=8" in slurm_command(JOB, ["n1"], gres=True)
    assert "--gpus-per-node=8" not in slurm_command(JOB, ["n1"])
    own = replace(JOB, extra=("--gres=gpu:4",))
    assert "--gpus-per-node=8" not in slurm_command(own, ["n1"], gres=True), "what the user says is enough"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "--gpus-per-node=8" not in slurm_command(JOB, ["n1"], gres=True), "a step has its job's"


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ({"srun": 0, "sinfo": 0, "mpirun": 0}, Kind.SLURM),
        ({"srun": 0, "sinfo": 1, "mpirun": 0}, Kind.OPENMPI),
        ({"srun": 0, "mpirun": 0}, Kind.OPENMPI),
        ({"mpirun": 0}, Kind.OPENMPI),
        ({"srun": 0, "sinfo": 1}, "no Slurm controller answers"),
        ({}, "write an MPIJob with --manifest IMAGE"),
    ],
)
def test_a_launcher_that_is_only_installed_is_not_taken(
    programs: dict[str, int], found: Kind | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(launchers, "_ours", lambda _program: None)
    for name, code in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    if isinstance(found, Kind):
        assert find_launcher() is found
        return
    with pytest.raises(LauncherError, match=found):
        find_launcher()


@pytest.mark.parametrize(
    ("version", "tag"),
    [
        ("mpirun (Open MPI) 4.1.4", ("--tag-output",)),
        ("mpirun (Open MPI) 5.0.5", ("--output", "tag")),
        ("HYDRA build details", ()),
        ("", ()),
    ],
)
def test_open_mpi_names_the_rank_of_each_piece_in_the_words_of_its_release(
    version: str, tag: tuple[str, ...], tmp_path: Path
) -> None:
    program = tmp_path / "mpirun"
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    assert openmpi_tag(str(program)) == tag
    command = openmpi_command(JOB, ["n1"], root=False, tag=tag)
    assert command[1 : 1 + len(tag)] == list(tag)
