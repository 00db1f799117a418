"""What one run of nccl-tests says: whether it ended, where it ran, its numbers, its correctness, its network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.preflight.expected import Expected, Planner, expected
from gpu_fabric.nccl.preflight.nccl_tests import TestRun, parse
from gpu_fabric.nccl.preflight.result import Result, State, counted, failed, passed, some, unknown, warned
from gpu_fabric.nccl.preflight.runs import Output, queue_words
from gpu_fabric.nccl.preflight.transport import check_transport, hints

COLLECTIVES: Final = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv")

SEARCHED: Final = "The culprit search below names the nodes."
UNSEARCHED: Final = "Give the gate the nodes (--nodes), and it searches for those that cause it."

_TELLING: Final = re.compile(
    r"(?:srun|slurmstepd): error: \S+: tasks? |noticed that process rank|Test (?:NCCL|CUDA) failure|NCCL WARN"
    r"|srun: error: (?!Application)|Invalid node name|unable to reliably start|not enough slots|^bash: |^env: "
)
_EMPTY: Final = re.compile(
    r"\W*|srun: (?:launch/slurm|Terminating|Job step aborted|Force Terminated).*|slurmstepd: error: \*\*\*.*"
)


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

    @property
    def busbw_check(self) -> str:
        return f"busbw-{self.collective}"

    def expected(self, nodes: int | None, bytes: int, *, given: bool = True) -> Expected | None:
        """Where nobody knows how many nodes took part, or two clouds did, only a given number says anything."""
        wanted = self.given_busbw if given else None
        if wanted is None and (nodes is None or self.sockets_between):
            return None
        return expected(
            self.size.name,
            self.collective,
            nodes or 0,
            bytes,
            given=wanted,
            warn=self.warn,
            fail=self.fail,
            planner=self.planner,
        )


def judge(
    gate: Gate, asked: int | None, output: Output, *, run: TestRun | None = None, searched: bool = False
) -> tuple[list[Result], TestRun]:
    """Every check of one run. `asked` is the number of nodes it was started on, None where only its log is there.

    `run` is what its JSON says, where that lies beside the log; `searched`: a search for the culprit follows.
    """
    run = parse(output.text) if run is None else run
    find = SEARCHED if searched else UNSEARCHED
    ended = _ended(output, run, find)
    results = [ended]
    nodes = len(run.hosts) if run.lists_all_ranks else asked
    if run.complete:
        results.append(_placed(asked, run))
    if run.rows:
        results.append(_correct(run))
        results.append(_busbw(gate, nodes, run, find))
    if gate.check_fabric and (nodes != 1 or asked not in (None, 1)):
        results += check_transport(
            output.text,
            gate.size.fabric,
            run.hosts,
            gpudirect=gate.size.gpu.gpudirect_rdma,
            sockets_between=gate.sockets_between,
        )
    return results, run


def _ended(output: Output, run: TestRun, find: str) -> Result:
    said = "; ".join(f"{hint.means}: {hint.do} ({hint.source})" for hint in hints(output.text))
    if not output.started:
        what = f"still in the launcher's queue after {output.seconds:.0f} s: {queue_words(output.text)}"
        remedy = "Run inside an allocation of whole nodes, or wait longer (--queue-seconds); sinfo says who is down."
        return unknown("run", what, remedy)
    if output.timed_out:
        return failed("run", f"no end after {output.seconds:.0f} s: it hangs", said or find)
    if output.code != 0:
        return failed("run", f"exit {output.code}: {reason(output.text)}", said or "Read the whole output.")
    if run.tables > 1:
        remedy = (
            "Give each run a log of its own. If this was one run, every rank ran alone: build nccl-tests with MPI=1, "
            "and choose the launcher's PMI (--launcher-arg=--mpi=pmix)."
        )
        return failed("run", f"the output holds {run.tables} tables", remedy)
    if not run.complete or not run.rows:
        what = "the output has no averages: it is not that of nccl-tests, or was cut off"
        if run.complete:
            what = "no row of the table can be read"
        return failed("run", what, said or "Read the whole output.")
    if not run.consistent:
        lost = (
            f"{counted(run.lost_rows, 'row')} of it torn"
            if run.lost_rows
            else "its rows do not have its average"
        )
        remedy = "Run again with whole lines (srun --label, mpirun --tag-output), and keep all of the output."
        return unknown("run", f"the table cannot be read whole: {lost}", remedy)
    return passed("run", f"{counted(len(run.rows), 'size')} in {output.seconds:.0f} s")


def reason(text: str) -> str:
    """The line of a failed run's output that says most: who names a node before who only says that it is over."""
    lines = [line.strip() for line in text.splitlines() if not _EMPTY.fullmatch(line.strip())]
    telling = (line for line in lines if _TELLING.search(line))
    return next(telling, lines[-1] if lines else "it said nothing")[:200]


def _placed(asked: int | None, run: TestRun) -> Result:
    """Whether the run was where it should be: ranks of four nodes may all have started on one."""
    check, count = "nodes", len(run.hosts)
    if not run.lists_all_ranks:
        remedy = "Keep the output from its first line on: nccl-tests lists its ranks there (# Rank …)."
        return unknown(check, "on which nodes it ran is not in the output", remedy)
    if asked is None or asked == count:
        return passed(check, f"{counted(count, 'node')}, {counted(len(run.ranks), 'rank')}")
    what = f"ran on {count} of {asked} nodes ({some(run.hosts)})"
    if len({(rank.host, rank.device) for rank in run.ranks}) < len(run.ranks):
        return unknown(check, f"{what}, or several have one name", "Give every node a host name of its own.")
    remedy = (
        "Compare the launcher's own words on hosts and slots: its list of nodes must reach mpirun or srun."
    )
    return failed(check, what, remedy)


def _correct(run: TestRun) -> Result:
    if run.wrong or run.in_bounds is False:
        what = f"{counted(run.wrong, 'wrong element')}" if run.wrong else "values out of bounds"
        return failed(
            "correct", what, "A GPU or a link corrupts data: run gpu-fabric-preflight node on every host."
        )
    if run.in_bounds is None or not all(row.checked for row in run.rows):
        return unknown("correct", "the run did not check its results", "Run with -c 1.")
    return passed("correct", "every element")


def _busbw(gate: Gate, nodes: int | None, run: TestRun, find: str) -> Result:
    """Every size that somebody has an expectation for; the worst one speaks."""
    check = gate.busbw_check
    largest = max(run.rows, key=lambda row: row.bytes)
    on = "" if nodes is None else f" on {counted(nodes, 'node')}"
    gpus = nodes * gate.size.gpu.count if nodes and run.lists_all_ranks else len(run.ranks)
    judged = [(row, wanted) for row in run.rows if (wanted := gate.expected(nodes, row.bytes)) is not None]
    if gate.given_busbw is not None:
        # One number is the plateau: it is demanded of the largest size only.
        judged = [(row, wanted) for row, wanted in judged if row is largest]
    elif len(run.ranks) != gpus:
        judged = []
    if not judged:
        found = f"{largest.busbw:.1f} GB/s at {size_text(largest.bytes)}"
        who = "so many nodes" if nodes is None else counted(nodes, "node")
        what = f"{found}; no source says what {who} of {gate.size.name} reach"
        if len(run.ranks) != gpus:
            what += f" with {len(run.ranks)} of {gpus} GPUs"
        return unknown(check, what, "Give what you expect with --expect GB/s.")
    row, wanted = min(judged, key=lambda pair: pair[0].busbw / pair[1].busbw)
    what = f"{row.busbw:.1f} of {wanted.busbw:.1f} GB/s at {size_text(row.bytes)}{on}"
    if row.busbw < wanted.fail:
        return failed(check, f"{what}: below {wanted.fail:.1f}", find, wanted.source)
    if row.busbw < wanted.warn:
        remedy = "Compare versions and the tuner's choices with the source's."
        return warned(check, f"{what}: below {wanted.warn:.1f}", remedy, wanted.source)
    return passed(check, what, wanted.source)


def size_text(bytes: int) -> str:
    """8589934592 → 8 GiB."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if bytes >= 2**power:
            return f"{bytes / 2**power:g} {unit}"
    return f"{bytes} B"


def causes_search(gate: Gate, results: list[Result]) -> bool:
    """Whether something failed that single nodes can be the reason of."""
    reasons = {"run", "correct", "fabric-used", "gpudirect-used", gate.busbw_check}
    return any(result.check in reasons for result in results if result.state is State.FAIL)
