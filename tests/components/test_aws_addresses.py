"""Where the subnets of a new VPC lie, and how many nodes fit."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.components.aws.addresses import (
    DEFAULT_VPC,
    choose_private,
    choose_public,
    nodes_that_fit,
    usable_addresses,
)

vpcs = st.builds(
    lambda address, prefix: IPv4Network((address, prefix), strict=False),
    st.integers(int(IPv4Network("10.0.0.0/8")[0]), int(IPv4Network("10.0.0.0/8")[-1])),
    st.integers(16, 27),
)


@pytest.mark.parametrize(
    ("subnet", "per_node", "others", "nodes"),
    [
        ("10.0.1.0/24", 1, 0, 251),
        ("10.0.1.0/24", 32, 0, 7),  # the all-EFA layout of a p5 node: hardware facts say seven nodes
        ("10.0.1.0/24", 1, 4, 247),
        ("10.0.1.0/28", 1, 0, 11),
        ("10.0.1.0/28", 32, 0, 0),
        ("10.0.1.0/28", 1, 20, 0),
    ],
)
def test_nodes_that_fit_beside_awss_five_reserved_addresses(
    subnet: str, per_node: int, others: int, nodes: int
) -> None:
    assert nodes_that_fit(IPv4Network(subnet), per_node, others) == nodes


def test_the_default_network_does_not_move_while_the_nodes_are_scaled() -> None:
    assert {choose_private(DEFAULT_VPC, nodes) for nodes in (2, 4, 256, 1_000, 4_091)} == {
        IPv4Network("10.100.16.0/20")
    }
    assert choose_private(DEFAULT_VPC, 4_092) == IPv4Network("10.100.128.0/17")


@given(vpcs, st.integers(1, 40_000))
def test_private_and_public_subnets_lie_in_the_vpc_and_never_overlap(
    vpc: IPv4Network, addresses: int
) -> None:
    private = choose_private(vpc, addresses)
    public = choose_public(vpc, private)
    assert private.subnet_of(vpc)
    assert private != vpc
    assert public is not None
    assert public.prefixlen == 28
    assert public.subnet_of(vpc)
    assert not public.overlaps(private)
    half_is_enough = usable_addresses(IPv4Network((0, vpc.prefixlen + 1))) >= addresses
    assert (usable_addresses(private) >= addresses) == half_is_enough
