"""The guide's script and topology: what each of their lines costs, on both clouds."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.findings import Finding, to_text
from gpu_fabric.nccl.lint import lint_for
from tests.nccl.lint.helpers import NDV5, P5, target

DATA = Path(__file__).parents[2] / "data" / "guide"
SCRIPT, TOPOLOGY = "entrypoint.sh", "nccl-topo-p5.xml"


def guide(*sizes: str) -> list[Finding]:
    texts = {name: (DATA / name).read_text() for name in (SCRIPT, TOPOLOGY)}
    return lint_for(texts, [target(size) for size in sizes])


def at(variable: str) -> int:
    lines = (DATA / SCRIPT).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"export {variable}" in line)


@pytest.mark.parametrize(
    ("variable", "size", "code"),
    [
        ("NCCL_IB_CUDA_SUPPORT", P5, "env-removed"),
        ("NCCL_IB_CUDA_SUPPORT", NDV5, "env-removed"),
        ("NCCL_IB_GID_INDEX", NDV5, "env-ignored-on-infiniband"),
        ("NCCL_IB_TC", NDV5, "env-ignored-on-infiniband"),
        ("NCCL_IB_SL", NDV5, "env-service-level"),
        ("NCCL_ALGO", P5, "env-no-nvls"),
        ("NCCL_ALGO", NDV5, "env-no-nvls"),
        ("NCCL_MIN_NCHANNELS", P5, "env-channels"),
        ("NCCL_SOCKET_IFNAME", P5, "env-interfaces-miss"),
        ("NCCL_TOPO_FILE", P5, "env-topology-replaces-plugin"),
    ],
)
def test_what_the_guide_has_wrong_is_found_on_its_line_with_a_remedy(
    variable: str, size: str, code: str
) -> None:
    hits = [entry for entry in guide(size) if entry.path == SCRIPT and entry.line == at(variable)]
    assert code in [entry.code for entry in hits]
    assert all(entry.remedy and entry.source for entry in hits)


def test_the_topology_that_nccl_rejects_is_found_in_the_same_run() -> None:
    hits = [entry for entry in guide(P5) if entry.path == TOPOLOGY]
    assert any("NCCL rejects the file" in entry.what for entry in hits)


def test_for_both_clouds_at_once_what_holds_on_one_names_it() -> None:
    both = guide(P5, NDV5)
    removed = [entry for entry in both if entry.code == "env-removed"]
    assert [entry.what for entry in removed] == [
        "NCCL_IB_CUDA_SUPPORT is removed in NCCL 2.4: it does nothing."
    ]
    (topology,) = [entry for entry in both if entry.code == "env-topology-replaces-plugin"]
    assert topology.what.endswith(f"({P5})")
    service = [entry for entry in both if entry.code == "env-service-level"]
    assert [entry.what.endswith(f"({NDV5})") for entry in service] == [True]


@pytest.mark.parametrize("size", [P5, NDV5])
def test_the_report_on_the_guides_script_reads_as_intended(size: str, snapshot: SnapshotAssertion) -> None:
    assert to_text(entry for entry in guide(size) if entry.path == SCRIPT) == snapshot
