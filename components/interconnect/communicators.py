"""NCCL across the clouds: which communicator goes over sockets, with how many flows, and how a framework is told.

Inside a cloud every group keeps EFA or InfiniBand. Only the group whose members are in both clouds uses sockets: NCCL's
`netName` chooses for one communicator, where NCCL_NET or NCCL_IB_DISABLE would for the whole process (NVIDIA/nccl
src/nccl.h.in 2.30.7, ncclConfig_t). Both sides must have the same numbers: the receiver's win
(src/transport/net_socket.cc).
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_fabric.nccl.environment import flows_of
from gpu_fabric.nccl.environment.flows import flows_needed

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


def communicators(bandwidth_mbps: float) -> dict[str, object]:
    """What a person needs to start training across the link: settings of both sides, files, and what to beware of.

    The settings are those that the nodes are given (nccl/environment/rules.toml, role "stage-boundary").
    """
    flows = flows_of(bandwidth_mbps)
    return {
        "environment": {
            "NCCL_SOCKET_NTHREADS": str(flows.threads),
            "NCCL_NSOCKS_PERTHREAD": str(flows.sockets),
        },
        "flowsPerPair": flows.total,
        "flowsThatFillTheLink": flows_needed(bandwidth_mbps),
        "megatron": MEGATRON,
        "torch": TORCH,
        "beware": dict(WARNINGS),
    }
