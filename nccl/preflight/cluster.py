"""The cluster gate: nccl-tests on all nodes, judged, and on failure the nodes that cause it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from gpu_fabric.nccl.preflight.bisect import Culprit, Group, Search, Step, Suspect, find_culprits
from gpu_fabric.nccl.preflight.judge import Gate, causes_search, judge, reason, size_text
from gpu_fabric.nccl.preflight.launchers import REFUSALS
from gpu_fabric.nccl.preflight.nccl_tests import TestRun, parse
from gpu_fabric.nccl.preflight.result import (
    Report,
    Result,
    State,
    failed,
    markdown_table,
    some,
    to_dict,
    to_markdown,
    unknown,
)
from gpu_fabric.nccl.preflight.runs import Output, queue_words
from gpu_fabric.nccl.preflight.transport import check_transport, hints

PAIR_SHARE: Final = 0.8
"""Of the best pair: a pair below that is bad, where no published value tells."""

#: Start all these groups' runs at once; one output each, in order.
Start: TypeAlias = "Callable[[Sequence[Group]], Sequence[Output]]"


@dataclass
class GateReport:
    """The results, with the search for the culprit where there was one."""

    report: Report
    search: Search | None = None
    runs: list[dict[str, Any]] = field(default_factory=list)


_ONE_CLOUD_AT_A_TIME = unknown(
    "culprit",
    "nodes are compared with nodes of their own cloud, and here are two clouds",
    "Give one cloud's nodes at a time (--nodes) without --two-clouds; for what lies between:"
    " gpu-fabric-preflight link.",
)


def run_gate(gate: Gate, nodes: Sequence[str], start: Start, *, search: bool = True) -> GateReport:
    """Run on all nodes; where that fails for a reason that nodes can have, look for them."""
    search = search and len(nodes) > 1
    results, run = judge(gate, len(nodes), start([tuple(nodes)])[0], searched=search)
    whole = GateReport(Report(f"{len(nodes)} × {gate.size.name}", tuple(results), facts_of(gate, nodes, run)))
    # Several tables are of how the run is started, which is the same on every node.
    wanted = search and run.tables <= 1 and causes_search(gate, results)
    if wanted and gate.sockets_between:
        # Pairs across the clouds are slower than pairs inside one, whatever the nodes are like.
        whole.report = replace(whole.report, results=(*results, _ONE_CLOUD_AT_A_TIME))
    elif wanted:
        judge_group = _GroupJudge(gate, whole)
        found = find_culprits(
            nodes, lambda groups: judge_group(groups, start(groups)), alone=gate.size.gpu.count > 1
        )
        found.culprits = [judge_group.suspected(culprit) for culprit in found.culprits]
        if found.culprits == [Culprit(tuple(nodes), Suspect.TOGETHER)]:
            _again(gate, nodes, start, found)
        whole.search = found
        whole.report = replace(whole.report, results=(*results, *_culprits(found, judge_group)))
    return whole


def _again(gate: Gate, nodes: Sequence[str], start: Start, search: Search) -> None:
    """No smaller group failed. That all fail together is said only of what fails twice."""
    results, _ = judge(gate, len(nodes), start([tuple(nodes)])[0])
    passes = not causes_search(gate, results)
    search.rounds.append(Step("all of them again", ((tuple(nodes), passes),)))
    if passes:
        search.culprits = []


class _GroupJudge:
    """Whether small groups pass: by a published value where there is one, else against the best of their kind."""

    def __init__(self, gate: Gate, whole: GateReport) -> None:
        self.gate, self.whole = gate, whole
        self.best: dict[int, float] = {}
        self.hints: dict[Group, list[str]] = {}
        self.refused: dict[Group, str] = {}
        """Groups that the launcher did not start, and its words."""
        self.queued: dict[Group, str] = {}
        """Of these, the groups that were still in the queue."""

    def suspected(self, culprit: Culprit) -> Culprit:
        """A node that the launcher does not start on is not known to be broken inside."""
        refused = any(set(culprit.nodes) <= set(group) for group in self.refused)
        return replace(culprit, suspect=Suspect.LAUNCHER) if refused else culprit

    def __call__(self, groups: Sequence[Group], outputs: Sequence[Output]) -> list[bool]:
        runs = [parse(output.text) for output in outputs]
        speeds = [self._speed(output, run) for output, run in zip(outputs, runs, strict=True)]
        for group, speed in zip(groups, speeds, strict=True):
            if speed is not None:
                self.best[len(group)] = max(self.best.get(len(group), 0.0), speed)
        results = []
        for group, output, run, speed in zip(groups, outputs, runs, speeds, strict=True):
            ok = speed is not None and speed >= self._floor(len(group), run)
            if ok and self.gate.check_fabric and len(group) > 1:
                used = check_transport(
                    output.text,
                    self.gate.size.fabric,
                    run.hosts,
                    gpudirect=self.gate.size.gpu.gpudirect_rdma,
                    sockets_between=self.gate.sockets_between,
                )
                ok = not any(result.state is State.FAIL for result in used)
            if not output.started or (output.code and REFUSALS.search(output.text)):
                self.refused[group] = reason(output.text) if output.started else queue_words(output.text)
            if not output.started:
                self.queued[group] = queue_words(output.text)
            self.hints[group] = [f"{hint.means} ({hint.source})" for hint in hints(output.text)]
            self.whole.runs.append(
                {"nodes": list(group), "busbw": speed, "passed": ok, "seconds": round(output.seconds, 1)}
            )
            results.append(ok)
        return results

    def _speed(self, output: Output, run: TestRun) -> float | None:
        ended = output.started and not output.timed_out and not output.code and run.complete
        if not ended or not run.rows or run.tables > 1 or run.wrong or run.in_bounds is False:
            return None
        return max(run.rows, key=lambda row: row.bytes).busbw

    def _floor(self, nodes: int, run: TestRun) -> float:
        # Two nodes reach at least what all together do, so a value given for all holds for them, too: the only pair of
        # three nodes has no other to be compared with. Who gives it knows of cards or settings that no published value
        # of one or two nodes is for; of one node, which no network slows, it says nothing.
        largest = max(row.bytes for row in run.rows)
        known = nodes > 1 or self.gate.given_busbw is None
        wanted = self.gate.expected(nodes, largest) if known else None
        return max(wanted.fail if wanted else 0.0, PAIR_SHARE * self.best.get(nodes, 0.0))


def _culprits(search: Search, judge_group: _GroupJudge) -> Iterator[Result]:
    tried = {group for step in search.rounds for group, _ in step.groups}
    if tried and tried <= judge_group.queued.keys():
        words = next(iter(judge_group.queued.values()))
        what = f"the search's runs were still in the queue: {words}"
        yield unknown("culprit", what, "Run the gate inside an allocation of these nodes.")
        return
    if not search.culprits:
        yield unknown(
            "culprit",
            "every smaller group passed, and so did all nodes when they ran again",
            "Run the gate again: what failed may have passed by.",
        )
    for culprit in search.culprits:
        # What the launcher says of a node that it refuses comes before what else its words may mean.
        refusals = [(group, [words]) for group, words in judge_group.refused.items()]
        said = [
            words
            for group, found in (*refusals, *judge_group.hints.items())
            if set(culprit.nodes) <= set(group)
            for words in found
        ]
        words = f"; the log says: {said[0]}" if said else ""
        yield failed("culprit", f"{some(culprit.nodes)}: {culprit.suspect.value}{words}", _remedy(culprit))


def _remedy(culprit: Culprit) -> str:
    node = culprit.nodes[0]
    return {
        Suspect.INSIDE: f"gpu-fabric-preflight node on {node}; leave it out of the job, and replace it.",
        Suspect.NETWORK: f"gpu-fabric-preflight node on {node}; leave it out of the job, and replace it.",
        Suspect.LAUNCHER: f"Ask the launcher about {node} (sinfo -R, scontrol show node, ssh); leave it out meanwhile.",
        Suspect.BETWEEN: f"Leave one of them out ({node}); tell the cloud which two they are.",
        Suspect.TOGETHER: "Compare the ranks' order with the network (gpu-fabric hostfile); run with fewer nodes.",
        Suspect.EVERYTHING: "gpu-fabric-preflight node on one of them, and gpu-fabric lint for its settings.",
    }[culprit.suspect]


def facts_of(gate: Gate, nodes: Sequence[str], run: TestRun) -> dict[str, Any]:
    rows = [{"bytes": row.bytes, "busbw": row.busbw} for row in run.rows]
    return {
        "size": gate.size.name,
        "collective": gate.collective,
        "nodes": list(nodes),
        "nccl": run.nccl,
        "rows": rows,
    }


def gate_markdown(whole: GateReport) -> str:
    """The report for people: verdict, numbers, rounds."""
    parts = [to_markdown(whole.report)]
    rows = whole.report.facts.get("rows") or []
    if rows:
        parts.append(
            "## Bus bandwidth\n\n"
            + markdown_table(
                ("size", "GB/s"), [(size_text(row["bytes"]), f"{row['busbw']:.2f}") for row in rows]
            )
        )
    if whole.search is not None:
        lines = [
            (
                number,
                step.why,
                len(step.groups),
                ", ".join("+".join(group) for group, ok in step.groups if not ok) or "none",
            )
            for number, step in enumerate(whole.search.rounds, 1)
        ]
        parts.append(
            "## Search for the culprit\n\n" + markdown_table(("round", "what ran", "groups", "failed"), lines)
        )
    return "\n".join(parts)


def gate_dict(whole: GateReport) -> dict[str, Any]:
    search = whole.search
    return {
        **to_dict(whole.report),
        "culprits": []
        if search is None
        else [{"nodes": list(c.nodes), "suspect": c.suspect.name.lower()} for c in search.culprits],
        "rounds": 0 if search is None else len(search.rounds),
        "runs": whole.runs,
    }
