"""What a framework is told about the communicator that crosses between the clouds."""

from __future__ import annotations

import pytest
import yaml

from gpu_fabric.components.interconnect.communicators import (
    FLOWS_OF_THE_NODES,
    MEGATRON,
    MOST_FLOWS,
    MOST_THREADS,
    TORCH,
    communicators,
    flows_needed,
    flows_of_a_pair,
)
from gpu_fabric.nccl.environment import Role, environment
from gpu_fabric.planning.link import DEFAULT_FLOWS


@pytest.mark.parametrize("size", ["p5.48xlarge", "Standard_ND96isr_H100_v5"])
def test_both_sides_nodes_have_the_same_flows_and_the_planner_counts_with_them(size: str) -> None:
    values = environment(size, role=Role.STAGE_BOUNDARY).values
    assert {name: int(values[name]) for name in FLOWS_OF_THE_NODES} == FLOWS_OF_THE_NODES
    assert flows_of_a_pair() == DEFAULT_FLOWS
    assert not {"NCCL_NET", "NCCL_IB_DISABLE"} & set(values)


def test_the_flows_are_within_what_nccl_takes() -> None:
    assert FLOWS_OF_THE_NODES["NCCL_SOCKET_NTHREADS"] <= MOST_THREADS
    assert flows_of_a_pair() <= MOST_FLOWS


@pytest.mark.parametrize(("gbps", "flows"), [(0.05, 1), (5, 1), (5.1, 2), (10, 2), (100, 20)])
def test_a_flow_carries_five_gigabits_at_most(gbps: float, flows: int) -> None:
    assert flows_needed(gbps) == flows


def test_megatrons_file_names_sockets_for_the_pipeline_group_alone() -> None:
    assert yaml.safe_load(MEGATRON) == {"pp": {"net_name": "Socket"}}


def test_the_snippet_for_torch_is_python() -> None:
    compile(TORCH, "torch", "exec")


def test_every_framework_with_one_communicator_for_both_is_warned_of() -> None:
    found = communicators(10)
    assert set(found["beware"]) == {"megatron", "deepspeed", "torch"}  # ty: ignore[invalid-argument-type]
    assert found["flowsThatFillTheLink"] == 2
