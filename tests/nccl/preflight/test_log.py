"""Logs as they really come: cut anywhere, with NCCL's lines anywhere, behind every launcher's labels."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import get_size
from gpu_fabric.nccl.preflight.judge import Gate, judge
from gpu_fabric.nccl.preflight.log import split
from gpu_fabric.nccl.preflight.nccl_tests import TestRun, parse
from gpu_fabric.nccl.preflight.result import Report, Result, State
from gpu_fabric.nccl.preflight.runs import Output
from tests.nccl.preflight.test_nccl_tests import BLANK_REDOP, LABELLED, OLD, PER_ITERATION, REPORT
from tests.node_real.stand_in_perf import nccl_lines, table, whole

P5, NDV5 = get_size("p5.48xlarge"), get_size("Standard_ND96isr_H100_v5")
HOSTS = ["ip-10-0-0-1", "ip-10-0-0-2"]
#: Every rank speaks, as in a real log.
LOG = "".join(
    f"{line}\n" for rank in range(4) for line in nccl_lines(HOSTS[rank // 2], rank, {}, several=True)
) + "\n".join([*table(HOSTS, 2, {}), ""])
#: Lazy connections and new algorithms: NCCL's words between two sizes, from one's own host and from another.
NCCL_LINES = (
    "ip-10-0-0-1:4000:4100 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA",
    "ip-10-0-0-2:4002:4102 [1] NCCL INFO comm 0x55 rank 2 nranks 4 cudaDev 0 busId 53000 - Init COMPLETE",
    "ip-10-0-0-1:4000:4100 [0] transport/net.cc:355 NCCL WARN a word of warning",
    "ip-10-0-0-2:4002:4102 [1] 12.345678 init.cc:12 NCCL TRACE a word",
)


def report(text: str, *, size: Any = P5, **arguments: Any) -> Report:
    arguments.setdefault("given_busbw", 355.0)
    results, _ = judge(Gate(size, **arguments), None, Output(text, 0, 0.0))
    return Report("log", tuple(results))


def found(text: str, check: str, **arguments: Any) -> Result:
    return next(result for result in report(text, **arguments).results if result.check == check)


def rows(run: TestRun) -> list[tuple[int, float, int]]:
    return [(row.bytes, row.busbw, row.wrong) for row in run.rows]


def test_the_log_itself_passes() -> None:
    assert report(LOG).state is State.PASS
    assert found(LOG, "nodes").what == "2 nodes, 4 ranks"


# ---- cut anywhere ---------------------------------------------------------------------------------------------------


def test_a_log_cut_at_any_byte_never_passes_unless_only_the_last_line_is_missing() -> None:
    end = LOG.index("# Avg bus bandwidth")
    for at in range(len(LOG)):
        state = report(LOG[:at]).state
        if at <= end:
            assert state is State.FAIL, (at, LOG[:at][-60:])
        else:
            # The number of the average may be cut: then it is not that of the rows.
            whole_number = at >= LOG.index("\n", end) - 1
            assert state is State.PASS or not whole_number, (at, LOG[:at][-60:])


def test_a_log_that_lacks_its_beginning_never_passes() -> None:
    for at in range(1, len(LOG)):
        tail = LOG[at:]
        told = [
            f"{host}:.*{words}"
            for host in HOSTS
            for words in ("Selected provider", "Using network", "via NET")
        ]
        if "#  Rank  0" in tail and all(re.search(words, tail) for words in told):
            continue  # only words that nothing hangs on are missing
        assert report(tail).state is not State.PASS, (at, tail[:60])


@pytest.mark.parametrize("lost", range(len(LOG.splitlines())))
def test_a_line_that_is_missing_is_never_taken_for_a_pass_where_the_verdict_hangs_on_it(lost: int) -> None:
    lines = LOG.splitlines()
    gone = lines.pop(lost)
    state = report("\n".join(lines) + "\n").state
    needed = re.search(r"# +Rank|# +size|via NET|Selected provider|Out of bounds|Avg|^ +[0-9]+ ", gone)
    if needed is None:
        assert state is State.PASS, gone
    elif "Selected provider" in gone or "via NET" in gone:
        # Each host has two processes that say it.
        assert state is State.PASS, gone
    else:
        assert state is not State.PASS, gone


def test_without_the_devices_the_number_of_nodes_and_the_fabric_are_unknown_and_not_one_node() -> None:
    alone = "\n".join(line for line in LOG.splitlines() if "Rank" not in line and "NCCL" not in line) + "\n"
    assert found(alone, "nodes").state is State.UNKNOWN
    assert found(alone, "fabric-used").state is State.UNKNOWN
    assert found(alone, "busbw-all_reduce").what == "470.0 of 355.0 GB/s at 8 GiB"
    assert report(alone).exit_code == 2
    with_nccl = "\n".join(line for line in LOG.splitlines() if "Rank" not in line) + "\n"
    assert found(with_nccl, "fabric-used").what == "efa on 2 hosts", "hosts are taken from NCCL's lines"
    assert report(with_nccl).exit_code == 2, "whether these are all is not known"
    document = {**REPORT, "config": {}}
    assert report(json.dumps(document), given_busbw=400).exit_code == 2
    assert found(alone, "busbw-all_reduce", given_busbw=None).state is State.UNKNOWN


# ---- NCCL's lines anywhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begins", ["", "\n"], ids=["in the line", "on a line of its own"])
def test_a_line_of_nccl_at_any_byte_changes_no_number(begins: str) -> None:
    expected = rows(parse(LOG))
    for at in range(LOG.index("# nThread"), len(LOG)):
        text = f"{LOG[:at]}{begins}{NCCL_LINES[at % len(NCCL_LINES)]}\n{LOG[at:]}"
        run = parse(text)
        if begins and LOG[at - 1] not in "\n" and run.consistent is False:
            assert report(text).state is not State.PASS  # a word was torn in two: nobody can know
            continue
        assert rows(run) == expected, (at, text[max(0, at - 40) : at + 40])


@pytest.mark.parametrize(
    "text", [OLD, PER_ITERATION, BLANK_REDOP, LABELLED], ids=["old", "new", "blank", "label"]
)
def test_a_row_in_two_halves_is_one_row_in_every_release(text: str) -> None:
    """nccl-tests prints sizes first and numbers after the run; NCCL speaks in between."""
    text = f"{NCCL_LINES[0]}\n" * 2 + text
    expected = rows(parse(text))
    broken = re.sub(
        r"^((?: [01]:)? +[0-9]+ +[0-9]+ +[a-z]\w*(?: +[a-z]+)?(?: +-?1(?= ))?)(  .*)$",
        rf"\1{NCCL_LINES[0]}\n\2",
        text,
        flags=re.M,
    )
    assert broken != text
    assert rows(parse(broken)) == expected
    own_line = broken.replace(NCCL_LINES[0], f"\n{NCCL_LINES[0]}")
    assert rows(parse(own_line)) == expected


def test_a_row_that_stays_torn_is_counted_and_the_run_is_unknown() -> None:
    torn = re.sub(r"(8589934592.*?-1).*", r"\1", LOG)
    run = parse(torn)
    assert (run.lost_rows, len(run.rows)) == (1, 3)
    assert found(torn, "run").what == "the table cannot be read whole: 1 row of it torn"
    shifted = LOG.replace(" 470.00 ", " 270.00 ", 1)
    assert found(shifted, "run").what == "the table cannot be read whole: its rows do not have its average"
    assert "--label" in found(torn, "run").remedy


def test_numbers_alone_are_no_row() -> None:
    text = LOG.replace("# Out of bounds", "  46882 183.23 355.00 0 46882 183.23 355.00 0\n# Out of bounds")
    assert rows(parse(text)) == rows(parse(LOG))


def test_a_message_glued_to_the_end_of_a_number_has_its_own_host() -> None:
    text = LOG.replace("-1  ", f"-1{NCCL_LINES[0]}\n  ", 1)
    assert {message.host for message in split(text).messages} == set(HOSTS)


def test_several_tables_are_ranks_that_ran_alone_or_several_runs() -> None:
    failure = found(LOG + LOG, "run")
    assert (failure.state, failure.what) == (State.FAIL, "the output holds 2 tables")
    assert "MPI=1" in failure.remedy


# ---- labels ---------------------------------------------------------------------------------------------------------

LABELS: dict[str, Callable[[int], str]] = {
    "srun --label": lambda _: " 0: ",
    "srun --label, many": lambda _: "000: ",
    "Open MPI 4": lambda _: "[1,0]<stdout>:",
    "Open MPI 4 with a blank": lambda _: "[1,0]<stdout>: ",
    "Open MPI 5": lambda _: "[prterun-head-7@1,0]<stdout>: ",
    "Open MPI 5 detailed": lambda _: "[prterun-head-7@1,0][ip-10-0-0-1:55]<stdout>: ",
    "Hydra": lambda _: "[0] ",
    "kubectl --prefix": lambda _: "[pod/gpu-fabric-preflight-launcher-x/launcher] ",
    "kubectl --timestamps": lambda n: f"2026-11-30T00:00:{n % 60:02d}.123456789Z ",
    "a pod's name": lambda _: "gpu-fabric-preflight-launcher-x ",
    "stern": lambda _: "gpu-fabric-preflight-launcher-x launcher ",
    "compose": lambda _: "gpu-fabric-launcher-1 | ",
    "ts": lambda n: f"2026-11-30 00:00:{n % 60:02d} ",
    "NCCL's own time": lambda n: f"[2026-11-30 00:00:{n % 60:02d}] ",
    "journal": lambda n: f"Nov 30 00:00:{n % 60:02d} ip-10-0-0-1 job.sh[77]: ",
    "time and rank": lambda n: f"2026-11-30T00:00:{n % 60:02d}Z 0: ",
    "colours": lambda _: "\x1b[31m 0: \x1b[0m",
}


@pytest.mark.parametrize("name", LABELS)
def test_every_known_label_leaves_the_verdict_as_it_is(name: str) -> None:
    label = LABELS[name]
    text = "".join(f"{label(number)}{line}\n" for number, line in enumerate(LOG.splitlines()))
    assert rows(parse(text)) == rows(parse(LOG))
    assert report(text).results == report(LOG).results


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, len(LOG) - 1), min_size=1, max_size=12), st.booleans())
def test_open_mpi_may_cut_anywhere_and_let_another_rank_speak_there(cuts: list[int], five: bool) -> None:
    """Its pieces end where its buffers end; each begins with the tag of its rank."""
    tag = "[prterun-h-7@1,{}]<stdout>: " if five else "[1,{}]<stdout>:"
    places = sorted({0, *cuts, len(LOG)})
    text = ""
    for begin, end in itertools.pairwise(places):
        piece = LOG[begin:end]
        lines = piece.split("\n")
        text += "\n".join(tag.format(0) + line if line or not at else "" for at, line in enumerate(lines))
        text += tag.format(3) + NCCL_LINES[1] + "\n"
    assert rows(parse(text)) == rows(parse(LOG))
    assert report(text).results == report(LOG).results


@pytest.mark.parametrize("change", [
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\ufeff" + text,
    lambda text: "{launcher says hello}\n" + text,
    lambda text: "\n\n" + text,
    lambda text: text.replace("\n", "\n\n"),
], ids=["CRLF", "BOM", "brace", "blank lines", "double spaced"])  # fmt: skip
def test_what_editors_and_banners_do_leaves_the_verdict_as_it_is(change: Callable[[str], str]) -> None:
    assert report(change(LOG)).results == report(LOG).results


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(0, len(LOG)))
def test_no_bytes_break_the_reader_nor_make_a_row(noise: bytes, at: int) -> None:
    text = LOG[:at] + noise.decode("latin-1") + LOG[at:]
    assert report(text).exit_code in (0, 1, 2)
    assert all(row.busbw == row.busbw and row.bytes >= 0 for row in parse(text).rows)


# ---- correctness and the fabric -------------------------------------------------------------------------------------


def test_a_run_that_did_not_check_its_results_is_unknown() -> None:
    unchecked = re.sub(r"(GB/s.*?)$", r"\1", LOG)
    unchecked = re.sub(r" {4}0(?=\s)", "  N/A", unchecked)
    assert parse(unchecked).rows[0].checked is False
    assert found(unchecked, "correct").state is State.UNKNOWN
    assert found(unchecked, "correct").remedy == "Run with -c 1."


def test_in_place_may_be_unchecked_as_alltoall_prints_it() -> None:
    in_place = re.sub(r" {4}0$", "  N/A", LOG, flags=re.M)
    assert parse(in_place).rows[0].in_place is not None
    assert found(in_place, "correct").state is State.PASS


def test_one_card_without_gpudirect_fails_with_its_share_and_a_host_that_does_not_say_is_unknown() -> None:
    partly = LOG.replace("via NET/Libfabric/0/GDRDMA", "via NET/Libfabric/0", 1)
    what = "no /GDRDMA on ip-10-0-0-1 (1 of 2 connections): copies through host memory"
    assert (found(partly, "gpudirect-used").state, found(partly, "gpudirect-used").what) == (State.FAIL, what)
    silent = re.sub(r"^ip-10-0-0-2.*via NET.*\n", "", LOG, flags=re.M)
    assert found(silent, "gpudirect-used").state is State.UNKNOWN
    assert found(silent, "gpudirect-used").what == "no connection of ip-10-0-0-2 is in the log"


@pytest.mark.parametrize(
    "via", ["NET/IB/0(3)/GDRDMA", "NET/IBext_v8/0(12)/GDRDMA(PCI)/Shared", "NET/IB/3/GDRDMA/flush=None"]
)
def test_gpudirect_is_seen_with_and_without_another_rank_that_forwards(via: str) -> None:
    text = whole(HOSTS, 2, {"fabric": "infiniband"}).replace("NET/IB/0/GDRDMA", via)
    assert found(text, "gpudirect-used", size=NDV5).state is State.PASS


def test_a_network_that_nobody_knows_is_named() -> None:
    text = LOG.replace("NET/Libfabric/0", "NET/FasTrak/0").replace(
        "Using network Libfabric", "Using network FasTrak"
    )
    assert found(text, "fabric-used").what.startswith(
        "no line for ip-10-0-0-1 (NET/FasTrak), ip-10-0-0-2 (NET/FasTrak)"
    )


def test_one_host_without_a_provider_is_not_proved_by_the_other() -> None:
    text = re.sub(r"^ip-10-0-0-2.*Selected provider.*\n", "", LOG, flags=re.M)
    assert found(text, "fabric-used").what == "no line `Selected provider is efa` of ip-10-0-0-2"


# ---- where it ran ---------------------------------------------------------------------------------------------------


def placed(asked: int, text: str) -> tuple[State, str]:
    results, _ = judge(Gate(P5, given_busbw=355.0), asked, Output(text, 0, 0.0))
    return next((result.state, result.what) for result in results if result.check == "nodes")


def test_ranks_that_all_started_on_fewer_nodes_fail_the_run() -> None:
    assert placed(2, LOG) == (State.PASS, "2 nodes, 4 ranks")
    assert placed(4, whole(["a"], 8, {})) == (State.FAIL, "ran on 1 of 4 nodes (a)")
    same_name = LOG.replace("ip-10-0-0-2", "ip-10-0-0-1")
    assert placed(2, same_name) == (
        State.UNKNOWN,
        "ran on 1 of 2 nodes (ip-10-0-0-1), or several have one name",
    )


# ---- JSON -----------------------------------------------------------------------------------------------------------

ODD: list[Any] = [
    None,
    "",
    "x",
    "nan",
    "N/A",
    float("nan"),
    float("inf"),
    -1,
    True,
    10**400,
    [],
    {},
    [[]],
    [None],
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deep for key, item in items for deep in paths(item, (*path, key)))]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


NUMBERS = {"bus_bw", "alg_bw", "time", "size", "rank", "hostname", "device", "bandwidth", "count"}


@pytest.mark.parametrize("path", paths(REPORT), ids=lambda path: ".".join(map(str, path)) or "all")
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:12])
def test_any_value_of_the_json_may_be_anything_and_none_that_is_no_number_counts(
    path: tuple[Any, ...], value: Any
) -> None:
    run = parse(json.dumps(changed(REPORT, path, value)))
    assert all(0 <= row.busbw < float("inf") for row in run.rows) or value == -1
    judge(Gate(P5, given_busbw=400), None, Output(json.dumps(changed(REPORT, path, value)), 0, 0.0))
    if path[-1:] == ("bus_bw",) and value != -1:
        assert run.lost_rows == 0
        assert run.rows[0].out_of_place is None or run.rows[0].in_place is None


def test_a_row_of_the_json_without_numbers_is_lost_and_not_zero() -> None:
    empty = changed(REPORT, ("results", 0), {"size": 8, "out_of_place": None, "in_place": None})
    assert (parse(json.dumps(empty)).rows, parse(json.dumps(empty)).lost_rows) == ((), 1)
    whole_run = {**empty, "average_bus_bandwidth": {"bandwidth": 1.0}}
    assert found(json.dumps(whole_run), "run").what == "no row of the table can be read"
    deep = '{"results":' + "[" * 1_000_000
    assert parse(deep).rows == ()


@pytest.mark.parametrize(
    "unit",
    ["[", "a", "a-", "a.b-", "a:1:", "1 ", "1", " ", "# Rank 1 on ", " on ", "9: ", "\x1b[0;", "[1@2,"],
)
def test_a_line_however_long_takes_its_length_in_time(unit: str) -> None:
    """A pattern that tries every pair of places takes minutes for this; the limit is far above what a line needs."""
    for end in ("", " NCCL INFO x"):
        begun = time.process_time()
        parse(f"# Rank 1{unit * (100_000 // len(unit))}{end}")
        assert time.process_time() - begun < 5
