"""Which network interfaces a node gets, worked out from its catalog row. Pure; knows no size by name.

Sources: EC2 User Guide, "Maximize network bandwidth on EC2 instances with multiple network cards"
(efa-acc-inst-types.html) for `oneAddress` and `maximumIpBandwidth`; eksctl's network_interfaces.go for `allEfa`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_fabric.nccl.hardware.models import Fabric, Interface, InterfaceLayout, InterfaceType, NodeSize

_PRIMARY = Interface(0, 0, InterfaceType.INTERFACE)


class InterfaceLayoutError(ValueError):
    """The size cannot have that layout; the message names those it can have."""

    def __init__(self, size: NodeSize, layout: InterfaceLayout, why: str) -> None:
        self.size = size.name
        self.layout = layout
        self.possible = possible_layouts(size)
        choice = f"use {' or '.join(self.possible)}" if self.possible else "it has no EFA layout at all"
        super().__init__(f"{size.name} has no interface layout {layout.value!r}: {why}; {choice}")


def _one_address(size: NodeSize) -> tuple[Interface, ...]:
    """One ENA interface with the node's only address; EFA without addresses everywhere else."""
    # Card 0 already carries the primary interface at device 0, so its EFA sits at device 1.
    efa = (Interface(card, 1 if card == 0 else 0, InterfaceType.EFA_ONLY) for card in size.efa_cards or ())
    return (_PRIMARY, *efa)


def _maximum_ip_bandwidth(size: NodeSize) -> tuple[Interface, ...]:
    """`oneAddress`, and one more ENA interface on every card that adds IP bandwidth."""
    more = (Interface(card, 1, InterfaceType.INTERFACE) for card in size.ip_cards)
    return tuple(sorted((*_one_address(size), *more), key=_place))


def _all_efa(size: NodeSize) -> tuple[Interface, ...]:
    """Every EFA interface has an address; on cards other than the primary's they sit at device 1."""
    efa = tuple(Interface(card, min(card, 1), InterfaceType.EFA) for card in size.efa_cards or ())
    return efa if 0 in (size.efa_cards or ()) else (_PRIMARY, *efa)


_LAYOUTS: Mapping[InterfaceLayout, Callable[[NodeSize], tuple[Interface, ...]]] = {
    InterfaceLayout.ONE_ADDRESS: _one_address,
    InterfaceLayout.MAXIMUM_IP_BANDWIDTH: _maximum_ip_bandwidth,
    InterfaceLayout.ALL_EFA: _all_efa,
}


def _place(interface: Interface) -> tuple[int, int]:
    return interface.network_card, interface.device


def _obstacle(size: NodeSize, layout: InterfaceLayout) -> str | None:
    """Why the row does not allow the layout; None if it does."""
    if size.fabric is not Fabric.EFA or not size.efa_cards:
        return "the size has no EFA"
    if layout is InterfaceLayout.MAXIMUM_IP_BANDWIDTH and not size.ip_cards:
        return "no source gives the cards that would add IP bandwidth"
    # A limit that no source states is taken as the smallest there can be.
    slots = size.interfaces_per_card or 1
    beyond = [place for place in map(_place, _LAYOUTS[layout](size)) if place[1] >= slots]
    if beyond:
        card, device = beyond[0]
        limit = size.interfaces_per_card if size.interfaces_per_card is not None else "an unknown number of"
        return f"it needs device {device} on card {card}, and a card of this size takes {limit} interfaces"
    return None


def possible_layouts(size: NodeSize) -> tuple[InterfaceLayout, ...]:
    """The layouts that the size's row allows; empty where it has no EFA."""
    return tuple(layout for layout in InterfaceLayout if _obstacle(size, layout) is None)


def interfaces(
    size: NodeSize, layout: InterfaceLayout = InterfaceLayout.ONE_ADDRESS
) -> tuple[Interface, ...]:
    """The node's interfaces, primary first, then by (network card, device).

    Raises `InterfaceLayoutError` where the size has no such layout.
    """
    obstacle = _obstacle(size, layout)
    if obstacle is not None:
        raise InterfaceLayoutError(size, layout, obstacle)
    return _LAYOUTS[layout](size)


def addresses_per_node(size: NodeSize, layout: InterfaceLayout = InterfaceLayout.ONE_ADDRESS) -> int:
    """IP addresses of the subnet that one node takes."""
    return sum(interface.has_address for interface in interfaces(size, layout))


def efa_interfaces_per_node(size: NodeSize, layout: InterfaceLayout = InterfaceLayout.ONE_ADDRESS) -> int:
    """EFA interfaces of one node."""
    return sum(interface.has_efa for interface in interfaces(size, layout))


def efa_gbps_per_node(size: NodeSize, layout: InterfaceLayout = InterfaceLayout.ONE_ADDRESS) -> float:
    """Line rate of one node's EFA interfaces, Gb/s a direction."""
    return efa_interfaces_per_node(size, layout) * size.fabric_port_gbps


def ip_gbps_per_node(size: NodeSize, layout: InterfaceLayout = InterfaceLayout.ONE_ADDRESS) -> float | None:
    """IP traffic that one node carries at most, Gb/s; None where no source states it."""
    # Under `allEfa` the addresses lie on EFA interfaces; no source says what IP traffic that carries together.
    known = {
        InterfaceLayout.ONE_ADDRESS: size.primary_ip_gbps,
        InterfaceLayout.MAXIMUM_IP_BANDWIDTH: size.ip_gbps,
    }
    interfaces(size, layout)
    return known.get(layout)
