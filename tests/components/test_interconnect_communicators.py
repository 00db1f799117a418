"""What a framework is told about the communicator that crosses between the clouds."""

from __future__ import annotations

import pytest
import yaml

from gpu_fabric.components.interconnect.communicators import MEGATRON, TORCH, communicators
from gpu_fabric.components.interconnect.limits import CIRCUIT_MBPS
from gpu_fabric.nccl.environment import Role, environment
from gpu_fabric.planning.link import LinkModel


@pytest.mark.parametrize("mbps", CIRCUIT_MBPS)
def test_both_sides_nodes_have_the_same_flows_and_the_planner_counts_with_them(mbps: int) -> None:
    told = communicators(mbps)
    for size in ("p5.48xlarge", "Standard_ND96isr_H100_v5"):
        values = environment(size, role=Role.STAGE_BOUNDARY, link_mbps=mbps).values
        assert told["environment"] == {
            name: values[name] for name in ("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD")
        }
        assert not {"NCCL_NET", "NCCL_IB_DISABLE"} & set(values)
    assert told["flowsPerPair"] == LinkModel(mbps / 1000, 3.0).flows


def test_megatrons_file_names_sockets_for_the_pipeline_group_alone() -> None:
    assert yaml.safe_load(MEGATRON) == {"pp": {"net_name": "Socket"}}


def test_the_snippet_for_torch_is_python() -> None:
    compile(TORCH, "torch", "exec")


def test_every_framework_with_one_communicator_for_both_is_warned_of() -> None:
    found = communicators(10_000)
    assert set(found["beware"]) == {"megatron", "deepspeed", "torch"}  # ty: ignore[invalid-argument-type]
    assert found["flowsThatFillTheLink"] == 2
