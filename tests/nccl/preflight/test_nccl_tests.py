"""Reading what nccl-tests print, of several releases and launchers; and which network NCCL's log proves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import Fabric
from gpu_fabric.nccl.preflight.nccl_tests import nccl_version_of, parse
from gpu_fabric.nccl.preflight.result import State
from gpu_fabric.nccl.preflight.transport import check_transport, hints, read_transport

#: nccl-tests 2.0 to 2.9: `error` instead of `#wrong`, no root.
OLD = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid  10216 on node-1 device  0 [0x0f] NVIDIA A100-SXM4-40GB
#   Rank  1 Pid  10216 on node-2 device  1 [0x15] NVIDIA A100-SXM4-40GB
#
#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   134217728      33554432     float     sum   2587.4   51.87   97.26  5e-07   2581.4   51.99   97.49  5e-07
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 97.375
#
"""

#: 2.10 and later, as srun --label shows it, between NCCL's own lines; the redop of all_gather is `none`.
LABELLED = """\
 0: # nThread 1 nGpus 1 minBytes 67108864 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
 0: #  Rank  0 Group  0 Pid  98165 on ip-10-1-0-1 device  0 [0x53] NVIDIA H100 80GB HBM3
 1: #  Rank  1 Group  0 Pid  98166 on ip-10-1-0-2 device  0 [0x53] NVIDIA H100 80GB HBM3
 0: NCCL version 2.27.7+cuda12.8
 0: #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
 0: #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
 0:     67108864       1048576     float    none      -1    667.7  100.50   94.22    N/A    670.0  100.16   93.90    N/A
 1: ip-10-1-0-2:98166:98200 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA
 0:    134217728       2097152     float    none      -1   1061.1  126.49  118.59    N/A   1058.4  126.82  118.89    N/A
 0: # Out of bounds values : 0 OK
 0: # Avg bus bandwidth    : 106.4
"""

#: 2.19 with per-iteration statistics and timestamps: the columns of `writeResultHeader`.
_STATISTICS = "    time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
_FIRST = "  4259.10  252.11  472.70       0  4240.10  4301.20  4300.00    0.42"
_SECOND = "  4261.00  251.99  472.49       0  4242.00  4311.00  4310.00    0.44"
PER_ITERATION = f"""\
# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid   7771 on     node-1 device  0 [0000:53:00] NVIDIA H100 80GB HBM3
#
#                          out-of-place (+ per-iteration)                                in-place (+ per-iteration)
#       size         count      type   redop    root {_STATISTICS} {_STATISTICS}           timestamp
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)     (us)     (us)      (%)
  1073741824     268435456     float     sum      -1{_FIRST}{_SECOND}  2026-09-18 10:00:02
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 472.595
#
# Collective test concluded: all_reduce_perf
"""

#: A gap where a column is blank: all_gather of old releases.
BLANK_REDOP = """\
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
   134217728       2097152     float             3587.4   37.41   35.07  0e+00   3581.4   37.47   35.13  0e+00
# Avg bus bandwidth    : 35.1
"""


def test_the_old_columns_are_read_and_an_error_is_no_count_of_wrong_elements() -> None:
    run = parse(OLD)
    assert [(row.bytes, row.busbw, row.wrong) for row in run.rows] == [(134217728, 97.26, 0)]
    assert run.rows[0].in_place is not None
    assert run.rows[0].in_place.busbw == 97.49
    assert run.rows[0].out_of_place is not None
    assert run.rows[0].out_of_place.wrong is None
    assert (run.average_busbw, run.in_bounds, run.complete) == (97.375, True, True)
    assert run.hosts == ("node-1", "node-2")


def test_labels_and_lines_of_other_ranks_do_not_matter() -> None:
    run = parse(LABELLED)
    assert [row.busbw for row in run.rows] == [94.22, 118.59]
    assert run.rows[0].out_of_place is not None
    assert run.rows[0].out_of_place.wrong is None, "N/A: the run did not check"
    assert (run.hosts, run.nccl) == (("ip-10-1-0-1", "ip-10-1-0-2"), "2.27.7")
    tagged = "\n".join(f"[1,0]<stdout>:{line.partition(': ')[2]}" for line in LABELLED.splitlines())
    assert [row.busbw for row in parse(tagged).rows] == [94.22, 118.59]


def test_statistics_of_iterations_and_timestamps_are_left_out() -> None:
    row = parse(PER_ITERATION).rows[0]
    assert row.out_of_place is not None
    assert row.in_place is not None
    assert (row.out_of_place.time_us, row.out_of_place.busbw, row.in_place.busbw) == (4259.1, 472.7, 472.49)


def test_a_blank_column_shifts_nothing() -> None:
    assert [(row.busbw, row.in_place and row.in_place.busbw) for row in parse(BLANK_REDOP).rows] == [
        (35.07, 35.13)
    ]


def test_a_run_that_was_cut_off_is_not_complete() -> None:
    cut = OLD[: OLD.index("# Avg")]
    assert parse(cut).complete is False
    assert len(parse(cut).rows) == 1


def test_wrong_elements_are_counted() -> None:
    text = PER_ITERATION.replace("472.70       0 ", "472.70      12 ")
    assert parse(text).wrong == 12


REPORT = {
    "version": 2,
    "start_time": "2026-09-18 10:00:00",
    "args": ["all_reduce_perf", "-J", "out.json"],
    "nccl_version": 23007,
    "config": {
        "nthreads": 1,
        "devices": [
            {
                "rank": number - 1,
                "group": 0,
                "pid": number,
                "hostname": f"node-{number}",
                "device": 0,
                "device_hex": "0000:53:00",
                "device_info": " NVIDIA H100",
            }
            for number in (1, 2)
        ],
    },
    "results": [
        {
            "size": 1073741824,
            "count": 268435456,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
            "out_of_place": {"time": 4259.1, "alg_bw": 252.11, "bus_bw": 472.7, "nwrong": 0.0},
            "in_place": {"time": 4261.0, "alg_bw": 251.99, "bus_bw": 472.49, "nwrong": None},
        }
    ],
    "out_of_bounds": {"count": 0, "okay": "true"},
    "average_bus_bandwidth": {"bandwidth": 472.595, "okay": "unchecked"},
    "end_time": "2026-09-18 10:01:00",
}  # fmt: skip


def test_the_json_of_minus_j_says_the_same_as_the_text() -> None:
    run = parse(json.dumps(REPORT))
    assert [(row.bytes, row.busbw, row.wrong) for row in run.rows] == [(2**30, 472.7, 0)]
    assert (run.hosts, run.nccl, run.complete, run.in_bounds) == (("node-1", "node-2"), "2.30.7", True, True)
    with_cpu_time = json.dumps(REPORT).replace('"time"', '"cpu_time"')
    assert parse(with_cpu_time).rows[0].busbw == 472.7


def test_json_without_an_end_is_not_complete_and_broken_json_is_nothing() -> None:
    assert (
        parse(json.dumps({name: value for name, value in REPORT.items() if name != "end_time"})).complete
        is False
    )
    assert parse('{"results": [{"size": "x"}]}').rows == ()
    assert parse("{").rows == ()


@pytest.mark.parametrize(("code", "version"), [(23007, "2.30.7"), (22703, "2.27.3"), (2805, "2.8.5")])
def test_the_version_code_of_nccl_is_written_out(code: int, version: str) -> None:
    assert nccl_version_of(code) == version


@given(
    st.text(alphabet="# 0123456789.:[]abcdersuwz|\n", max_size=400),
    st.sampled_from([OLD, LABELLED, PER_ITERATION]),
    st.integers(0, 400),
)
def test_no_text_breaks_the_reader(noise: str, text: str, at: int) -> None:
    parse(noise)
    run = parse(text[:at] + noise + text[at:])
    assert all(row.busbw == row.busbw for row in run.rows)


# ---- which network --------------------------------------------------------------------------------------------------

EFA = """\
h1:1:257 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)
h1:1:257 [0] NCCL INFO Using network Libfabric
h1:1:257 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA/flush=None
h2:1:257 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)
h2:1:257 [0] NCCL INFO Channel 01/1 : 1[1] -> 0[0] [receive] via NET/AWS Libfabric/3/GDRDMA/Shared
"""
IB = """\
h1:1:257 [0] NCCL INFO NET/IB : Using [0]mlx5_ib0:1/IB [RO]; OOB eth0:10.1.0.4<0>
h1:1:257 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
h2:1:257 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IBext_v8/0/GDRDMA
"""
SOCKET = "h3:1:257 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n"


def states(log: str, fabric: Fabric, **arguments: object) -> dict[str, tuple[State, str]]:
    found = check_transport(log, fabric, **arguments)  # ty: ignore[invalid-argument-type]
    return {result.check: (result.state, result.what) for result in found}


@pytest.mark.parametrize(("log", "fabric"), [(EFA, Fabric.EFA), (IB, Fabric.INFINIBAND)])
def test_the_fabric_is_proved_host_by_host(log: str, fabric: Fabric) -> None:
    assert states(log, fabric, hosts=["h1", "h2"]) == {
        "fabric-used": (State.PASS, f"{fabric.value} on 2 hosts"),
        "gpudirect-used": (State.PASS, "GDRDMA on 2 hosts"),
    }


def test_one_host_on_sockets_fails_the_run_and_is_named() -> None:
    assert states(EFA + SOCKET, Fabric.EFA) == {
        "fabric-used": (State.FAIL, "NET/Socket on h3: NCCL fell back to TCP"),
    }


def test_two_clouds_may_use_sockets_between_them() -> None:
    assert (
        states(EFA + SOCKET.replace("h3", "h1"), Fabric.EFA, sockets_between=True)["fabric-used"][0]
        is State.PASS
    )


def test_a_host_of_which_the_log_says_nothing_is_unknown_and_not_a_pass() -> None:
    assert states(EFA, Fabric.EFA, hosts=["h1", "h2", "h9"])["fabric-used"] == (
        State.UNKNOWN,
        "no line for h9: which network carried the traffic is not proved",
    )
    assert states("", Fabric.EFA)["fabric-used"][0] is State.UNKNOWN


def test_another_provider_and_missing_gpudirect_fail() -> None:
    tcp = EFA.replace("Selected provider is efa, ", "Selected provider is tcp, ")
    assert states(tcp, Fabric.EFA)["fabric-used"] == (State.FAIL, "libfabric's provider is not efa (h1: tcp)")
    assert states(IB.replace("/GDRDMA", ""), Fabric.INFINIBAND)["gpudirect-used"] == (
        State.FAIL,
        "no /GDRDMA on h1, h2: copies through host memory",
    )
    assert "gpudirect-used" not in states(IB, Fabric.INFINIBAND, gpudirect=False)


def test_infiniband_where_efa_is_meant_is_not_a_pass() -> None:
    assert states(IB, Fabric.EFA)["fabric-used"][0] is State.UNKNOWN


def test_what_a_failing_log_means_is_said_with_its_source() -> None:
    log = "h1:1:1 [0] NCCL WARN NET/OFI Request completed with error. RC: 103. Error: 4126 (Unresponsive receiver"
    assert [hint.means for hint in hints(log)] == ["EFA packets do not reach the peer"]
    assert [*hints(EFA)] == []


@given(st.text(max_size=200))
def test_no_log_breaks_the_reader(text: str) -> None:
    read_transport(f"{text}\n{EFA}")
