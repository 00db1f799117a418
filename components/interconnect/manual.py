"""Any partner, ordered by hand, in two phases.

Creates nothing. The first `up` makes both clouds' ends that can stand alone and says what to order; with
`provisioned: true` the connections that came of it are accepted and used.
"""

from __future__ import annotations

from gpu_fabric.components.interconnect.partner import AwsPort, Joined, Order


def manual(order: Order) -> Joined:
    """The connections, or the virtual interfaces, that the user ordered."""
    own = order.settings.manual
    if own.interface_ids:
        return Joined(
            aws=[AwsPort("", 0, interface_id=one) for one in own.interface_ids],
            asns=[order.settings.asns.partner] * len(own.interface_ids),
        )
    return Joined(
        aws=[
            AwsPort(connection_id, vlan, own.accept)
            for connection_id, vlan in zip(own.connection_ids, own.vlans, strict=True)
        ],
        asns=[order.settings.asns.partner] * len(own.connection_ids),
    )
