"""NCCL across the clouds: which communicator goes over sockets, with how many flows, and how a framework is told.

Inside a cloud every group keeps EFA or InfiniBand. Only the group whose members are in both clouds uses sockets: NCCL's
`netName` chooses for one communicator, where NCCL_NET or NCCL_IB_DISABLE would for the whole process (NVIDIA/nccl
src/nccl.h.in 2.30.7, ncclConfig_t). Both sides must have the same numbers: the receiver's win
(src/transport/net_socket.cc).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpu_fabric.planning.link import FLOW_LIMIT_GBPS

MOST_THREADS, MOST_FLOWS = 16, 64
"""NCCL_SOCKET_NTHREADS, and its product with NCCL_NSOCKS_PERTHREAD. NVIDIA/nccl src/transport/net_socket.cc 2.30.7."""
FLOWS_OF_THE_NODES = {"NCCL_SOCKET_NTHREADS": 4, "NCCL_NSOCKS_PERTHREAD": 8}
"""What the nodes of a fabric with a link are given, on both sides (nccl/environment/rules.toml, role "
"stage-boundary)."""

MEGATRON = """\
# nccl_communicator_config_path of Megatron-LM. Only the pipeline group crosses to the other cloud.
pp:
  net_name: Socket
"""
"""Megatron-LM takes IB and Socket alone as names, so EFA cannot be named: the other groups keep the default, which is
the fast network of each side. megatron/core/parallel_state.py."""

TORCH = """\
options = torch.distributed.ProcessGroupNCCL.Options()
options.config.net_name = "Socket"
stages = torch.distributed.new_group(ranks_of_the_stage_boundary, pg_options=options)
"""
"""PyTorch ProcessGroupNCCL.Options; ncclConfig_t.netName."""

WARNINGS: Mapping[str, str] = {
    "megatron": (
        "Megatron-LM has one `pp` communicator for all stages: with `net_name: Socket` the hops inside a cloud go "
        "over TCP too, unless the group is split at the boundary. Keep tensor, data and expert groups inside one "
        "cloud, and untie the embeddings: tied ones need an all-reduce between the first and the last stage."
    ),
    "deepspeed": (
        "DeepSpeed's pipeline sends stages point to point through one group for all of them: hops inside a cloud go "
        "over TCP as well where that group is told to use sockets."
    ),
    "torch": (
        "torch.distributed's default group spans both clouds: collectives on it go the slowest way. Make a group for "
        "the boundary and one for each side, and use these alone."
    ),
}
"""Where a framework uses one communicator inside and between the clouds."""


def flows_needed(bandwidth_gbps: float) -> int:
    """TCP flows that fill the link at AWS's limit of 5 Gb/s a flow; at least one."""
    return max(1, math.ceil(bandwidth_gbps / FLOW_LIMIT_GBPS))


def flows_of_a_pair() -> int:
    """TCP flows that a pair of ranks opens with the nodes' settings."""
    return math.prod(FLOWS_OF_THE_NODES.values())


def communicators(bandwidth_gbps: float) -> dict[str, object]:
    """What a person needs to start training across the link: settings of both sides, files, and what to beware of."""
    return {
        "environment": {name: str(value) for name, value in FLOWS_OF_THE_NODES.items()},
        "flowsPerPair": flows_of_a_pair(),
        "flowsThatFillTheLink": flows_needed(bandwidth_gbps),
        "megatron": MEGATRON,
        "torch": TORCH,
        "beware": dict(WARNINGS),
    }
