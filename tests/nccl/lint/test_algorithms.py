"""NCCL_ALGO: each value with what it takes from each collective, by release of NCCL and by platform."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from gpu_fabric.nccl.environment import Role
from gpu_fabric.nccl.lint.algorithms import SERVES, SPELLED, effect_of
from tests.nccl.lint.helpers import NDV5, P4D, P5, target, variable

OLD, NEW = "2.23.4", "2.30.7"
NO_ALGORITHM, NO_NVLS, LISTED, GRAMMAR, TOO_NEW = (
    "env-algorithm-none",
    "env-no-nvls",
    "env-algorithm-list",
    "env-algorithm-grammar",
    "env-algorithm-too-new",
)


@pytest.mark.parametrize(
    ("value", "size", "nccl", "expected"),
    [
        # Lists that keep Ring: every collective runs, AllReduce loses NVLSTree.
        ("RING,TREE", P5, NEW, [(NO_NVLS, "error")]),
        ("RING,TREE", NDV5, NEW, [(NO_NVLS, "error")]),
        ("RING,TREE", P4D, NEW, [(LISTED, "warning")]),
        ("RING,TREE", None, NEW, [(NO_NVLS, "warning")]),
        ("RING,TREE", P5, OLD, [(NO_NVLS, "error")]),
        ("NVLS,Ring", P5, NEW, [(NO_NVLS, "error")]),
        ("NVLS,Ring", NDV5, NEW, [(NO_NVLS, "error")]),
        ("Ring,Tree,NVLS,NVLSTree", P5, NEW, []),
        ("Ring,,Tree,", P5, NEW, [(NO_NVLS, "error")]),
        # One algorithm kept away.
        ("^Tree", P5, NEW, []),
        ("^Tree", P4D, NEW, [(LISTED, "warning")]),
        ("^NVLS", P5, NEW, [(NO_NVLS, "warning")]),
        ("^NVLSTree", P5, NEW, [(NO_NVLS, "error")]),
        ("^NVLSTree", NDV5, NEW, [(NO_NVLS, "error")]),
        ("^NVLSTree", P4D, NEW, []),
        ("^NVLS,NVLSTree", P5, NEW, [(NO_NVLS, "error")]),
        ("^CollNetDirect,CollNetChain", P5, NEW, []),
        # Lists without Ring: since 2.24 what only Ring serves fails.
        ("Tree", P5, NEW, [(NO_ALGORITHM, "error"), (NO_NVLS, "error")]),
        ("Tree", P5, OLD, [(NO_NVLS, "error")]),
        ("Tree", P4D, NEW, [(NO_ALGORITHM, "error"), (LISTED, "warning")]),
        ("NVLSTree", P5, NEW, [(NO_ALGORITHM, "error"), (NO_NVLS, "warning")]),
        ("NVLS", P5, NEW, [(NO_ALGORITHM, "error"), (NO_NVLS, "error")]),
        ("NVLS", P4D, NEW, [(NO_ALGORITHM, "error"), (LISTED, "warning")]),
        ("^Ring", P5, NEW, [(NO_ALGORITHM, "error")]),
        ("^Ring,Tree", P5, NEW, [(NO_ALGORITHM, "error")]),
        ("^Ring,Tree", None, NEW, [(NO_ALGORITHM, "error")]),
        # Lists for single collectives.
        ("allreduce:tree;broadcast:ring", P5, NEW, [(NO_NVLS, "error")]),
        ("allreduce:tree;broadcast:tree", P5, NEW, [(NO_ALGORITHM, "error"), (NO_NVLS, "error")]),
        ("broadcast:ring", P5, NEW, []),
        ("allgather:ring", P5, NEW, [(NO_NVLS, "warning")]),
        ("ring;allreduce:ring,tree,nvls,nvlstree", P5, NEW, [(NO_NVLS, "warning")]),
        ("allreduce:^tree", P5, NEW, []),
        # What initialisation refuses is not judged further.
        ("Rings", P5, NEW, [(GRAMMAR, "error")]),
        ("Ring;Tree", P5, NEW, [(GRAMMAR, "error")]),
        ("allreduce:ring,Rings", P5, NEW, [(GRAMMAR, "error")]),
        ("ring:allreduce", P5, NEW, [(GRAMMAR, "error")]),
        ("Rings", P5, OLD, [(GRAMMAR, "error")]),
        ("allreduce:ring", P5, OLD, [(GRAMMAR, "error")]),
        ("Ring,PAT", P5, "2.22.3", [(NO_NVLS, "error"), (TOO_NEW, "error")]),
    ],
)
def test_the_verdict_on_a_value(
    value: str, size: str | None, nccl: str, expected: list[tuple[str, str]]
) -> None:
    wanted: dict[str, Any] = {} if size is None else {"nccl_version": nccl}
    found = [(entry.code, entry.level.value) for entry in variable("NCCL_ALGO", value, size, **wanted)]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            "RING,TREE",
            "takes NVLS and NVLSTree from AllReduce; NVLS and PAT from AllGather and ReduceScatter. "
            "It overrides the plugin's tuner. On 2 × 8 H100, by NCCL's own cost model, a 1 GiB AllReduce takes "
            "5.43 ms without NVLSTree instead of 4.43 ms.",
        ),
        (
            "NVLSTree",
            "takes Ring, Tree and NVLS from AllReduce; Ring, NVLS and PAT from AllGather and ReduceScatter; "
            "Ring from Broadcast and Reduce. It overrides the plugin's tuner. "
            "Within a node NVLS reduces in the NVSwitch.",
        ),
        (
            "^NVLS",
            "takes NVLS from AllReduce, AllGather and ReduceScatter. It overrides the plugin's tuner. "
            "Within a node NVLS reduces in the NVSwitch.",
        ),
        (
            "allreduce:tree;broadcast:ring",
            "takes Ring, NVLS and NVLSTree from AllReduce. It overrides the plugin's tuner. "
            "NVLSTree is what NCCL's cost model takes for large messages between nodes of such GPUs.",
        ),
    ],
)
def test_the_text_names_what_is_taken_and_from_which_collective(value: str, says: str) -> None:
    (finding,) = [entry for entry in variable("NCCL_ALGO", value, P5) if entry.code == NO_NVLS]
    assert finding.what == f"NCCL_ALGO={value} {says}"


@pytest.mark.parametrize(
    ("value", "stranded"),
    [
        ("Tree", "AllGather, ReduceScatter, Broadcast and Reduce"),
        ("NVLS", "Broadcast and Reduce"),
        ("^Ring,Tree", "Broadcast and Reduce"),
        ("PAT", "AllReduce, Broadcast and Reduce"),
        ("CollNetDirect", "AllReduce, AllGather, ReduceScatter, Broadcast and Reduce"),
        ("reduce:tree", "Reduce"),
    ],
)
def test_a_collective_without_an_algorithm_is_named(value: str, stranded: str) -> None:
    (finding,) = [entry for entry in variable("NCCL_ALGO", value, P5) if entry.code == NO_ALGORITHM]
    assert finding.what == (
        f"NCCL_ALGO={value} leaves {stranded} without an algorithm: "
        "the first call of each fails with ncclInvalidUsage."
    )


def test_collnet_counts_where_the_switches_can_have_sharp() -> None:
    assert "CollNetDirect" in variable("NCCL_ALGO", "RING,TREE", NDV5)[0].what
    assert "CollNet" not in variable("NCCL_ALGO", "RING,TREE", P5)[0].what


def test_within_a_single_node_it_is_nvls_that_counts() -> None:
    def levels(value: str) -> list[str]:
        return [entry.level.value for entry in variable("NCCL_ALGO", value, P5, role=Role.SINGLE_NODE)]

    assert levels("^NVLS") == ["error"]
    assert levels("^NVLSTree") == []


@pytest.mark.parametrize("size", [P5, P4D, NDV5])
def test_a_list_and_its_complement_take_everything_between_them(size: str) -> None:
    situation = target(size).situation
    assert situation is not None
    names = tuple(SPELLED)
    for count in range(1, len(names)):
        for words in combinations(names, count):
            kept = effect_of(",".join(words), situation)
            inverse = effect_of("^" + ",".join(words), situation)
            assert kept is not None
            assert inverse is not None
            for function in SERVES:
                left = {*kept.left[function]}
                assert left == {*inverse.lost.get(function, ())}
                assert left <= {*words}
