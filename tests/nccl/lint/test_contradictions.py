"""What several variables, files and the topology say together."""

from __future__ import annotations

import pytest

from gpu_fabric.nccl.environment import Role
from gpu_fabric.nccl.findings import Finding
from gpu_fabric.nccl.lint import lint
from tests.nccl.lint.helpers import NDV5, P4D, P5, findings, target


def whats(text: str, code: str, size: str | None = None, **arguments: object) -> list[str]:
    return [entry.what for entry in findings(text, size, **arguments) if entry.code == code]  # ty: ignore[invalid-argument-type]


def test_more_than_64_flows_are_an_error_and_64_are_not() -> None:
    assert whats("export NCCL_SOCKET_NTHREADS=8 NCCL_NSOCKS_PERTHREAD=8\n", "env-socket-flows") == []
    assert whats("export NCCL_SOCKET_NTHREADS=9 NCCL_NSOCKS_PERTHREAD=8\n", "env-socket-flows") == [
        "NCCL_SOCKET_NTHREADS × NCCL_NSOCKS_PERTHREAD is 72; NCCL allows 64."
    ]


def test_one_of_the_two_leaves_the_other_to_the_vendor() -> None:
    (what,) = whats("export NCCL_SOCKET_NTHREADS=4\n", "env-socket-flows")
    assert what.startswith("NCCL_SOCKET_NTHREADS is set without NCCL_NSOCKS_PERTHREAD")


def test_a_stage_boundary_needs_both() -> None:
    text = "export NCCL_DEBUG=WARN\n"
    assert whats(text, "env-socket-flows", NDV5) == []
    (what,) = whats(text, "env-socket-flows", NDV5, role=Role.STAGE_BOUNDARY)
    assert "NCCL takes 16 on AWS and one on Azure" in what
    both = "export NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=8\n"
    assert whats(both, "env-socket-flows", NDV5, role=Role.STAGE_BOUNDARY) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "export NCCL_MIN_CTAS=32 NCCL_MAX_CTAS=16",
            "NCCL_MIN_CTAS=32 and NCCL_MAX_CTAS=16: the minimum exceeds the maximum.",
        ),
        (
            "export NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 NCCL_NVLS_CHUNKSIZE=131072",
            "NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 and NCCL_NVLS_CHUNKSIZE=131072: "
            "a chunk of NVLSTree must not be larger than one of NVLS.",
        ),
        (
            "export NCCL_IB_AR_THRESHOLD=8388609 NCCL_BUFFSIZE=8388608",
            "NCCL_IB_AR_THRESHOLD=8388609 and NCCL_BUFFSIZE=8388608: "
            "above the buffer size adaptive routing is never used.",
        ),
        (
            "export NCCL_GRAPH_STREAM_ORDERING=0 NCCL_GRAPH_MIXING_SUPPORT=1",
            "NCCL_GRAPH_STREAM_ORDERING=0 and NCCL_GRAPH_MIXING_SUPPORT=1: graph mixing needs NCCL's own ordering.",
        ),
        (
            "export NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=0",
            "NCCL_MNNVL_ENABLE=1 and NCCL_CUMEM_ENABLE=0: NVLink between nodes needs cuMem.",
        ),
        (
            "export NCCL_MIN_NCHANNELS=32 NCCL_MIN_CTAS=16",
            "NCCL_MIN_NCHANNELS and NCCL_MIN_CTAS are both set; the higher of the two counts.",
        ),
        (
            "export NCCL_NVLS_ENABLE=1 NCCL_ALGO=Ring",
            "NCCL_NVLS_ENABLE=1 asks for NVLink SHARP, and NCCL_ALGO=Ring excludes it.",
        ),
        (
            "export NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5_ib NCCL_IB_TIMEOUT=22",
            "NCCL_IB_DISABLE=1 switches the transport off that NCCL_IB_HCA, NCCL_IB_TIMEOUT would steer.",
        ),
    ],
)
def test_variables_that_contradict_each_other(text: str, what: str) -> None:
    assert whats(f"{text}\n", "env-contradiction") == [what]


@pytest.mark.parametrize(
    "text",
    [
        "export NCCL_MIN_CTAS=16 NCCL_MAX_CTAS=16",
        "export NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 NCCL_NVLS_CHUNKSIZE=524288",
        "export NCCL_IB_AR_THRESHOLD=8388608 NCCL_BUFFSIZE=8388608",
        "export NCCL_IB_DISABLE=1",
        "export NCCL_MIN_CTAS=$A NCCL_MAX_CTAS=1",
    ],
)
def test_variables_that_agree(text: str) -> None:
    assert whats(f"{text}\n", "env-contradiction") == []


def test_a_filter_for_the_log_needs_a_log() -> None:
    assert whats("export NCCL_DEBUG=WARN NCCL_DEBUG_SUBSYS=NET\n", "env-subsystem") == [
        "NCCL_DEBUG_SUBSYS filters what NCCL_DEBUG=INFO prints; without that it does nothing."
    ]
    assert whats("export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET\n", "env-subsystem") == [
        "NCCL_DEBUG_SUBSYS belongs to a pre-flight run with NCCL_DEBUG=INFO."
    ]


def test_a_variable_set_twice_says_which_wins() -> None:
    assert whats("export NCCL_DEBUG=WARN\nexport NCCL_DEBUG=INFO\n", "env-duplicate") == [
        "NCCL_DEBUG is set in line 1 and again here; where both run the later wins."
    ]
    assert whats("NCCL_DEBUG=WARN\nNCCL_DEBUG=INFO\n", "env-duplicate", path="nccl.conf") == [
        "NCCL_DEBUG is set in line 1 and again here; where both run the first wins, NCCL keeps what is set."
    ]
    assert whats("export NCCL_DEBUG=WARN\nexport NCCL_DEBUG=WARN\n", "env-duplicate") == []


def test_a_shell_variable_that_nobody_exports_is_seen_by_nobody() -> None:
    (what,) = whats("NCCL_DEBUG=WARN\ntorchrun train.py\n", "env-not-exported")
    assert what.startswith("NCCL_DEBUG is a variable of the shell alone")
    assert whats("NCCL_DEBUG=WARN\nexport NCCL_DEBUG\n", "env-not-exported") == []
    assert whats("NCCL_VERSION=2.30.7\n", "env-not-exported") == [], "another program's name"


def test_what_must_be_set_before_nccl_starts_comes_too_late_in_its_file() -> None:
    found = findings("CUDA_DEVICE_ORDER=PCI_BUS_ID\nNCCL_DEBUG=WARN\n", path="nccl.conf")
    assert [(entry.line, entry.code, entry.level.value) for entry in found] == [
        (1, "env-conf-too-late", "error")
    ]


def both(conf: str, script: str) -> list[Finding]:
    return [
        entry for entry in lint({"nccl.conf": conf, "run.sh": script}) if entry.code == "env-different-files"
    ]


def test_the_process_wins_over_nccls_file_and_the_finding_says_where() -> None:
    (finding,) = both("NCCL_DEBUG=WARN\n", "\nexport NCCL_DEBUG=VERSION\n")
    assert (finding.path, finding.line) == ("nccl.conf", 1)
    assert finding.what == (
        "NCCL_DEBUG=WARN is not used: the process has VERSION (run.sh:2), which wins over NCCL's files."
    )
    assert both("NCCL_DEBUG=WARN\n", "export NCCL_DEBUG=WARN\n") == []
    assert both("NCCL_DEBUG=WARN\n", "export NCCL_DEBUG=${NCCL_DEBUG:-INFO}\n") == []


TOPOLOGY = (
    '<system version="1">\n  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">\n'
    '    <nic>\n      <net name="mlx5_0" dev="0" speed="400000" gdr="1"/>\n    </nic>\n  </cpu>\n</system>\n'
)


def with_topology(script: str, size: str | None = None) -> list[tuple[str, str, str]]:
    wanted = target(size)
    found = lint({"topo.xml": TOPOLOGY, "run.sh": script}, situation=wanted.situation, size=wanted.size)
    return [
        (entry.code, entry.what, entry.remedy) for entry in found if entry.code.startswith("env-topology")
    ]


def test_a_topology_that_no_environment_names_is_not_loaded() -> None:
    ((code, _, remedy),) = with_topology("export NCCL_DEBUG=WARN\n", P4D)
    assert (code, remedy) == ("env-topology-unused", "Set NCCL_TOPO_FILE to its path on the node.")
    ((_, _, remedy),) = with_topology("export NCCL_DEBUG=WARN\n", P5)
    assert remedy == "Leave it so: the EFA plugin generates a better one on this size."
    assert with_topology("export NCCL_TOPO_FILE=/opt/topo.xml\n", P4D) == []
    assert with_topology("export NCCL_TOPO_FILE=$WHERE\n", P4D) == []


def test_a_device_of_the_topology_that_the_filter_keeps_out_is_named() -> None:
    ((code, what, _),) = with_topology("export NCCL_TOPO_FILE=/topo.xml NCCL_IB_HCA=mlx5_ib\n")
    assert code == "env-topology-devices"
    assert what == "NCCL_IB_HCA=mlx5_ib keeps mlx5_0 out, which topo.xml has as net."
    assert with_topology("export NCCL_TOPO_FILE=/topo.xml NCCL_IB_HCA=mlx5_0\n") == []


def test_a_topology_file_is_handed_to_the_topology_lint() -> None:
    found = lint({"topo.xml": '<?xml version="1.0"?>\n<system version="1"/>\n'})
    assert found
    assert all(entry.code.startswith("topology-") for entry in found)
