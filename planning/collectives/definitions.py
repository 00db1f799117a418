"""What a collective moves, in the definitions of nccl-tests.

Source: NVIDIA/nccl-tests doc/PERFORMANCE.md. `algbw` is size / time; `busbw` is algbw times a factor that makes it
comparable with the hardware's line rate. Sizes: all-reduce and send/receive: the buffer; all-gather and
reduce-scatter: the whole gathered (or unreduced) buffer; all-to-all: the send buffer of one rank.
"""

from __future__ import annotations

from enum import StrEnum


class Collective(StrEnum):
    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"
    SEND_RECEIVE = "sendrecv"


def busbw_factor(collective: Collective, ranks: int) -> float:
    """busbw / algbw for `ranks` ranks; 1 for send/receive and for a single rank (nothing moves)."""
    if ranks < 2 or collective is Collective.SEND_RECEIVE:
        return 1.0
    share = (ranks - 1) / ranks
    return 2 * share if collective is Collective.ALL_REDUCE else share


def ring_bytes_per_node(collective: Collective, size: float, nodes: int) -> float:
    """Bytes that each node sends over the network, a direction, when one ring passes once through every node.

    With one rank a node this is the guide's 2 (N-1)/N * size for an all-reduce.
    """
    return busbw_factor(collective, nodes) * size if nodes > 1 else 0.0
