"""The cluster gate: nccl-tests on all nodes, judged, and on failure the nodes that cause it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight.bisect import Culprit, Group, Search, Suspect, find_culprits
from gpu_fabric.nccl.preflight.expected import Expected, Planner, expected
from gpu_fabric.nccl.preflight.launchers import Output
from gpu_fabric.nccl.preflight.nccl_tests import TestRun, parse
from gpu_fabric.nccl.preflight.result import (
    Report,
    Result,
    State,
    failed,
    markdown_table,
    passed,
    to_markdown,
    unknown,
    warned,
)
from gpu_fabric.nccl.preflight.transport import check_transport, hints

COLLECTIVES: Final = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv")

PAIR_SHARE: Final = 0.8
"""Of the best pair: a pair below that is bad, where no published value tells."""

#: Start all these groups' runs at once; one output each, in order.
Start = Callable[[Sequence[Group]], Sequence[Output]]


@dataclass(frozen=True)
class Gate:
    """What is demanded of a cluster."""

    size: NodeSize
    collective: str = "all_reduce"
    given_busbw: float | None = None
    """GB/s for all nodes together, where the user knows better than the table."""
    warn: float | None = None
    fail: float | None = None
    planner: Planner | None = None
    check_fabric: bool = True
    sockets_between: bool = False
    """Two clouds: sockets between them are meant."""

    def expected(self, nodes: int, bytes: int, *, given: bool = True) -> Expected | None:
        return expected(
            self.size.name,
            self.collective,
            nodes,
            bytes,
            given=self.given_busbw if given else None,
            warn=self.warn,
            fail=self.fail,
            planner=self.planner,
        )


@dataclass
class GateReport:
    """The results, with the search for the culprit where there was one."""

    report: Report
    search: Search | None = None
    runs: list[dict[str, Any]] = field(default_factory=list)


def judge(gate: Gate, nodes: Sequence[str], output: Output) -> tuple[list[Result], TestRun]:
    """What one run says: whether it ended, its numbers, its correctness, its network."""
    run = parse(output.text)
    results = [*_ended(output, run)]
    if run.rows:
        results.append(_correct(run))
        results += _busbw(gate, len(nodes), run)
    if gate.check_fabric and len(nodes) > 1:
        hosts = run.hosts or ()
        results += check_transport(
            output.text,
            gate.size.fabric,
            hosts,
            gpudirect=gate.size.gpu.gpudirect_rdma,
            sockets_between=gate.sockets_between,
        )
    return results, run


def _ended(output: Output, run: TestRun) -> Iterator[Result]:
    known = [*hints(output.text)]
    remedy = "; ".join(f"{hint.means}: {hint.do} ({hint.source})" for hint in known)
    if output.timed_out:
        yield failed(
            "run",
            f"no end after {output.seconds:.0f} s: it hangs",
            remedy or "The culprit search below names the nodes.",
        )
    elif output.code != 0:
        last = next(
            (line.strip() for line in reversed(output.text.splitlines()) if line.strip()), "it said nothing"
        )
        yield failed("run", f"exit {output.code}: {last[:200]}", remedy or "Read the whole output.")
    elif not run.complete or not run.rows:
        yield failed(
            "run",
            "the output has no averages: it is not that of nccl-tests, or was cut off",
            "Read the whole output.",
        )
    else:
        yield passed("run", f"{len(run.rows)} sizes in {output.seconds:.0f} s")


def _correct(run: TestRun) -> Result:
    if run.wrong or run.in_bounds is False:
        what = f"{run.wrong} wrong elements" if run.wrong else "values out of bounds"
        return failed(
            "correct", what, "A GPU or a link corrupts data: run gpu-fabric-preflight node on every host."
        )
    if run.in_bounds is None:
        return unknown("correct", "the run did not check its results", "Run with -c 1.")
    return passed("correct", "every element")


def _busbw(gate: Gate, nodes: int, run: TestRun) -> Iterator[Result]:
    """Every size that somebody has an expectation for; the worst one speaks."""
    check = f"busbw-{gate.collective}"
    judged = [(row, wanted) for row in run.rows if (wanted := gate.expected(nodes, row.bytes)) is not None]
    if gate.given_busbw is not None:
        # One number is the plateau: it is demanded of the largest size only.
        judged = judged[-1:]
    if not judged:
        largest = max(run.rows, key=lambda row: row.bytes)
        found = f"{largest.busbw:.1f} GB/s at {_size(largest.bytes)}"
        what = f"{found}; no source says what {nodes} nodes of {gate.size.name} reach"
        yield unknown(check, what, "Give what you expect with --expect GB/s.")
        return
    row, wanted = min(judged, key=lambda pair: pair[0].busbw / pair[1].busbw)
    what = f"{row.busbw:.1f} of {wanted.busbw:.1f} GB/s at {_size(row.bytes)} on {nodes} nodes"
    if row.busbw < wanted.fail:
        yield failed(
            check,
            f"{what}: below {wanted.fail:.1f}",
            "The culprit search below names the nodes.",
            wanted.source,
        )
    elif row.busbw < wanted.warn:
        yield warned(
            check,
            f"{what}: below {wanted.warn:.1f}",
            "Compare versions and the tuner's choices with the source's.",
            wanted.source,
        )
    else:
        yield passed(check, what, wanted.source)


def _size(bytes: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if bytes >= 2**power:
            return f"{bytes / 2**power:g} {unit}"
    return f"{bytes} B"


def run_gate(gate: Gate, nodes: Sequence[str], start: Start, *, search: bool = True) -> GateReport:
    """Run on all nodes; where that fails for a reason that nodes can have, look for them."""
    output = start([tuple(nodes)])[0]
    results, run = judge(gate, nodes, output)
    whole = GateReport(Report(f"{len(nodes)} × {gate.size.name}", tuple(results), _facts(gate, nodes, run)))
    causes = {result.check for result in results if result.state is State.FAIL}
    if search and len(nodes) > 1 and causes & {"run", "correct", "fabric-used", f"busbw-{gate.collective}"}:
        judge_group = _GroupJudge(gate, whole)
        whole.search = find_culprits(
            nodes, lambda groups: judge_group(groups, start(groups)), alone=gate.size.gpu.count > 1
        )
        found = (*results, *_culprits(whole.search, judge_group))
        whole.report = Report(whole.report.subject, found, whole.report.facts)
    return whole


class _GroupJudge:
    """Whether small groups pass: by a published value where there is one, else against the best of their kind."""

    def __init__(self, gate: Gate, whole: GateReport) -> None:
        self.gate, self.whole = gate, whole
        self.best: dict[int, float] = {}
        self.hints: dict[Group, list[str]] = {}

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
                    gpudirect=False,
                    sockets_between=self.gate.sockets_between,
                )
                ok = not any(result.state is State.FAIL for result in used)
            self.hints[group] = [f"{hint.means} ({hint.source})" for hint in hints(output.text)]
            self.whole.runs.append(
                {"nodes": list(group), "busbw": speed, "passed": ok, "seconds": round(output.seconds, 1)}
            )
            results.append(ok)
        return results

    def _speed(self, output: Output, run: TestRun) -> float | None:
        if output.code or output.timed_out or not run.rows or run.wrong or run.in_bounds is False:
            return None
        return max(run.rows, key=lambda row: row.bytes).busbw

    def _floor(self, nodes: int, run: TestRun) -> float:
        # What is demanded of all nodes holds for any three or more; two alone reach more than their cards carry.
        wanted = self.gate.expected(nodes, max(row.bytes for row in run.rows), given=nodes > 2)
        return max(wanted.fail if wanted else 0.0, PAIR_SHARE * self.best.get(nodes, 0.0))


def _culprits(search: Search, judge_group: _GroupJudge) -> Iterator[Result]:
    if not search.culprits:
        yield unknown(
            "culprit", "every smaller group passed", "Run the gate again: what failed may have passed by."
        )
    for culprit in search.culprits:
        said = [
            hint
            for group, found in judge_group.hints.items()
            if set(culprit.nodes) <= set(group)
            for hint in found
        ]
        words = f"; the log says: {said[0]}" if said else ""
        yield failed("culprit", f"{_names(culprit)}: {culprit.suspect.value}{words}", _remedy(culprit))


def _names(culprit: Culprit) -> str:
    shown = ", ".join(culprit.nodes[:8])
    return shown if len(culprit.nodes) <= 8 else f"{shown} and {len(culprit.nodes) - 8} more"


def _remedy(culprit: Culprit) -> str:
    node = culprit.nodes[0]
    return {
        Suspect.INSIDE: f"gpu-fabric-preflight node on {node}; leave it out of the job, and replace it.",
        Suspect.NETWORK: f"gpu-fabric-preflight node on {node}; leave it out of the job, and replace it.",
        Suspect.BETWEEN: f"Leave one of them out ({node}); tell the cloud which two they are.",
        Suspect.TOGETHER: "Compare the ranks' order with the network (gpu-fabric hostfile); run with fewer nodes.",
        Suspect.EVERYTHING: "gpu-fabric-preflight node on one of them, and gpu-fabric lint for its settings.",
    }[culprit.suspect]


def _facts(gate: Gate, nodes: Sequence[str], run: TestRun) -> dict[str, Any]:
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
            + markdown_table(("size", "GB/s"), [(_size(row["bytes"]), f"{row['busbw']:.2f}") for row in rows])
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
    from gpu_fabric.nccl.preflight.result import to_dict

    search = whole.search
    return {
        **to_dict(whole.report),
        "culprits": []
        if search is None
        else [{"nodes": list(c.nodes), "suspect": c.suspect.name.lower()} for c in search.culprits],
        "rounds": 0 if search is None else len(search.rounds),
        "runs": whole.runs,
    }


def nodes_of(text: str) -> list[str]:
    """Node names of a hostfile: plain lines, Open MPI's `host slots=8`, or Slurm's `n[1-4,7]`, without comments."""
    found: list[str] = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            found += expand(words[0])
    return list(dict.fromkeys(found))


def expand(text: str) -> list[str]:
    """`a[1-3,07],b` → a1 a2 a3 a07 b, as `scontrol show hostnames` does."""
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?[^,\[]*", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if match is None:
            names.append(part)
            continue
        for piece in match[2].split(","):
            first, _, last = piece.partition("-")
            for number in range(int(first), int(last or first) + 1):
                names.append(f"{match[1]}{number:0{len(first)}d}{match[3]}")
    return names
