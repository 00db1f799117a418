"""The commands that prove the link are those that the preflight takes, with the stack's own numbers."""

from __future__ import annotations

import shlex

import pytest

from gpu_fabric.components.interconnect.proof import proof
from gpu_fabric.nccl.preflight.arguments import parser
from gpu_fabric.planning.link import LinkModel


@pytest.mark.parametrize(
    ("mbps", "rtt_ms", "limit", "allowed"),
    [(10_000, 3.0, 5.0, 5.0), (50, 2.0, 5.0, 5.0), (1_000, 8.0, 5.0, 8.0)],
)
def test_the_preflight_takes_the_command_with_what_the_stack_expects(
    mbps: int, rtt_ms: float, limit: float, allowed: float
) -> None:
    link = LinkModel(mbps / 1000, rtt_ms)
    program, *words = shlex.split(proof(link, limit)["awsNode"])
    given = parser(program).parse_args(words)
    assert (given.bandwidth_mbps, given.rtt_ms, given.mtu, given.flows) == (
        mbps,
        allowed,
        link.mtu,
        link.flows,
    )
    assert (given.peer, given.token) == ("ADDRESS", "TOKEN")


def test_the_other_end_serves_on_the_first_of_its_addresses() -> None:
    serve = proof(LinkModel(1.0, 3.0), 5.0)["azureNode"]
    program, *words = shlex.split(serve)
    assert parser(program).parse_args(words).serve == "$(hostname -I | cut -d' ' -f1)", (
        "the node's shell fills it in"
    )
