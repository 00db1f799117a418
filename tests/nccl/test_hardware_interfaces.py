"""The network interfaces of a node: the exact list of each size, and EC2's rules for sizes nobody has seen."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import (
    Cloud,
    Fabric,
    Gpu,
    InterfaceLayout,
    InterfaceLayoutError,
    NodeSize,
    addresses_per_node,
    efa_gbps_per_node,
    efa_interfaces_per_node,
    get_size,
    interfaces,
    ip_gbps_per_node,
    load_sizes,
    possible_layouts,
)

ONE_ADDRESS = InterfaceLayout.ONE_ADDRESS
MAXIMUM_IP = InterfaceLayout.MAXIMUM_IP_BANDWIDTH
ALL_EFA = InterfaceLayout.ALL_EFA

Place = tuple[int, int, str]


def efa_only(cards: range, device: int = 0) -> list[Place]:
    return [(card, device, "efa-only") for card in cards]


def efa(cards: range, device: int = 1) -> list[Place]:
    return [(card, device, "efa") for card in cards]


CARD_0: list[Place] = [(0, 0, "interface"), (0, 1, "efa-only")]

#: What the EC2 User Guide prints for p5: an ENA interface beside the EFA one on every fourth card.
P5_MAXIMUM_IP: list[Place] = CARD_0 + [
    place
    for card in range(1, 32)
    for place in (
        [(card, 0, "efa-only"), (card, 1, "interface")] if card % 4 == 0 else [(card, 0, "efa-only")]
    )
]

EXPECTED: dict[tuple[str, InterfaceLayout], list[Place]] = {
    ("p4d.24xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 4)),
    ("p4d.24xlarge", ALL_EFA): [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa"), (3, 1, "efa")],
    ("p4de.24xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 4)),
    ("p4de.24xlarge", ALL_EFA): [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa"), (3, 1, "efa")],
    ("p5.4xlarge", ONE_ADDRESS): CARD_0,
    ("p5.4xlarge", ALL_EFA): [(0, 0, "efa")],
    ("p5.48xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 32)),
    ("p5.48xlarge", MAXIMUM_IP): P5_MAXIMUM_IP,
    ("p5.48xlarge", ALL_EFA): [(0, 0, "efa"), *efa(range(1, 32))],
    ("p5e.48xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 32)),
    ("p5e.48xlarge", MAXIMUM_IP): P5_MAXIMUM_IP,
    ("p5e.48xlarge", ALL_EFA): [(0, 0, "efa"), *efa(range(1, 32))],
    ("p5en.48xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 16)),
    ("p5en.48xlarge", ALL_EFA): [(0, 0, "efa"), *efa(range(1, 16))],
    ("p6-b200.48xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 8)),
    ("p6-b200.48xlarge", MAXIMUM_IP): CARD_0
    + [place for card in range(1, 8) for place in [(card, 0, "efa-only"), (card, 1, "interface")]],
    ("p6-b200.48xlarge", ALL_EFA): [(0, 0, "efa"), *efa(range(1, 8))],
    ("p6-b300.48xlarge", ONE_ADDRESS): [(0, 0, "interface"), *efa_only(range(1, 17))],
    ("p6-b300.48xlarge", MAXIMUM_IP): [(0, 0, "interface")]
    + [place for card in range(1, 17) for place in [(card, 0, "efa-only"), (card, 1, "interface")]],
    ("p6-b300.48xlarge", ALL_EFA): [(0, 0, "interface"), *efa(range(1, 17))],
    ("p6e-gb200.36xlarge", ONE_ADDRESS): [
        (0, 0, "interface"),
        (1, 0, "efa-only"),
        (5, 0, "efa-only"),
        (9, 0, "efa-only"),
        (13, 0, "efa-only"),
    ],
    ("g6e.48xlarge", ONE_ADDRESS): CARD_0 + efa_only(range(1, 4)),
    ("g6e.48xlarge", ALL_EFA): [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa"), (3, 1, "efa")],
    ("g5.48xlarge", ONE_ADDRESS): CARD_0,
    ("g5.48xlarge", ALL_EFA): [(0, 0, "efa")],
}


@pytest.mark.parametrize(("name", "layout"), EXPECTED)
def test_the_exact_interfaces_of_each_size(name: str, layout: InterfaceLayout) -> None:
    found = [(i.network_card, i.device, i.type.value) for i in interfaces(get_size(name), layout)]
    assert found == EXPECTED[name, layout]


def test_no_size_has_a_layout_beyond_the_table() -> None:
    possible = {(name, layout) for name, size in load_sizes().items() for layout in possible_layouts(size)}
    assert possible == set(EXPECTED)


@pytest.mark.parametrize(
    ("name", "layout", "interface_count", "efa_count", "address_count", "efa_gbps", "ip_gbps"),
    [
        ("p4d.24xlarge", ONE_ADDRESS, 5, 4, 1, 400, 100),
        ("p5.48xlarge", ONE_ADDRESS, 33, 32, 1, 3200, 100),
        ("p5.48xlarge", MAXIMUM_IP, 40, 32, 8, 3200, 800),
        ("p5.48xlarge", ALL_EFA, 32, 32, 32, 3200, None),
        ("p5en.48xlarge", ONE_ADDRESS, 17, 16, 1, 3200, 200),
        ("p6-b200.48xlarge", ONE_ADDRESS, 9, 8, 1, 3200, 200),
        ("p6-b200.48xlarge", MAXIMUM_IP, 16, 8, 8, 3200, 1600),
        ("p6-b300.48xlarge", ONE_ADDRESS, 17, 16, 1, 6400, 350),
        ("p6-b300.48xlarge", MAXIMUM_IP, 33, 16, 17, 6400, 3870),
    ],
)
def test_what_a_layout_costs_and_gives(
    name: str,
    layout: InterfaceLayout,
    interface_count: int,
    efa_count: int,
    address_count: int,
    efa_gbps: float,
    ip_gbps: float | None,
) -> None:
    size = get_size(name)
    assert len(interfaces(size, layout)) == interface_count
    assert efa_interfaces_per_node(size, layout) == efa_count
    assert addresses_per_node(size, layout) == address_count
    assert efa_gbps_per_node(size, layout) == efa_gbps
    assert ip_gbps_per_node(size, layout) == ip_gbps


def test_an_ena_only_card_0_carries_no_efa_in_any_layout() -> None:
    size = get_size("p6-b300.48xlarge")
    for layout in possible_layouts(size):
        assert not [i for i in interfaces(size, layout) if i.network_card == 0 and i.has_efa]


@pytest.mark.parametrize(
    ("name", "layout", "message"),
    [
        (
            "p4d.24xlarge",
            MAXIMUM_IP,
            "p4d.24xlarge has no interface layout 'maximumIpBandwidth': no source gives the cards that would "
            "add IP bandwidth; use oneAddress or allEfa",
        ),
        (
            "p6e-gb200.36xlarge",
            ALL_EFA,
            "p6e-gb200.36xlarge has no interface layout 'allEfa': it needs device 1 on card 1, and a card of "
            "this size takes an unknown number of interfaces; use oneAddress",
        ),
        (
            "Standard_ND96isr_H100_v5",
            ONE_ADDRESS,
            "Standard_ND96isr_H100_v5 has no interface layout 'oneAddress': the size has no EFA; it has no EFA "
            "layout at all",
        ),
    ],
)
def test_a_layout_that_does_not_exist_names_those_that_do(
    name: str, layout: InterfaceLayout, message: str
) -> None:
    with pytest.raises(InterfaceLayoutError) as refused:
        interfaces(get_size(name), layout)
    assert str(refused.value) == message
    assert isinstance(refused.value, ValueError)


@st.composite
def invented_sizes(draw: st.DrawFn) -> NodeSize:
    cards = draw(st.integers(1, 40))
    efa_cards = draw(st.sets(st.integers(0, cards - 1), min_size=1))
    ip_cards = draw(st.sets(st.integers(1, cards - 1))) if cards > 1 else set()
    return NodeSize(
        name="invented",
        cloud=Cloud.AWS,
        vcpus=1,
        memory_gib=1,
        gpu=Gpu("G", 1, 1, 90),
        fabric=Fabric.EFA,
        fabric_ports=len(efa_cards),
        fabric_port_gbps=100,
        source="invented",
        date="2026-11-29",
        network_cards=cards,
        interfaces_per_card=draw(st.none() | st.integers(1, 15)),
        efa_cards=tuple(sorted(efa_cards)),
        ip_cards=tuple(sorted(ip_cards)),
    )


@given(invented_sizes(), st.sampled_from(InterfaceLayout))
def test_every_layout_of_any_size_keeps_the_rules_of_ec2(size: NodeSize, layout: InterfaceLayout) -> None:
    if layout not in possible_layouts(size):
        with pytest.raises(InterfaceLayoutError) as refused:
            interfaces(size, layout)
        assert all(other.value in str(refused.value) for other in possible_layouts(size))
        return
    found = interfaces(size, layout)
    places = [(i.network_card, i.device) for i in found]
    assert len(set(places)) == len(places), "the pair of card and device index is unique"
    assert places[0] == (0, 0), "the primary interface is device 0 of card 0, and comes first"
    assert found[0].has_address, "an efa-only interface cannot be the primary"
    assert places == sorted(places), "the order is that of the cards"
    assert all(0 <= card < (size.network_cards or 0) for card, _ in places)
    assert all(0 <= device < (size.interfaces_per_card or 1) for _, device in places)
    efa_on_card = Counter(i.network_card for i in found if i.has_efa)
    assert efa_on_card == dict.fromkeys(size.efa_cards or (), 1), "one EFA on each card that takes one"


@given(invented_sizes())
def test_one_address_is_one_address_on_any_size(size: NodeSize) -> None:
    if ONE_ADDRESS in possible_layouts(size):
        assert addresses_per_node(size, ONE_ADDRESS) == 1


@given(invented_sizes())
def test_more_ip_bandwidth_keeps_every_interface_of_the_one_address_layout(size: NodeSize) -> None:
    if MAXIMUM_IP in possible_layouts(size):
        assert set(interfaces(size, ONE_ADDRESS)) < set(interfaces(size, MAXIMUM_IP))
        assert efa_interfaces_per_node(size, MAXIMUM_IP) == size.fabric_ports
