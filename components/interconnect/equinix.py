"""Equinix Fabric between the clouds.

Creates, for each of one or two routers: cloud router · connection to AWS · connection to one port of the ExpressRoute
circuit · for each connection the routing protocols DIRECT and, after it, BGP.

No key of a cloud account is given to Equinix: AWS's connection is offered to the account and accepted there, and
Azure's is authorised by the circuit's service key, which is a secret in the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_equinix.fabric as fabric

from gpu_fabric.components.component import child
from gpu_fabric.components.interconnect.addresses import OnLink
from gpu_fabric.components.interconnect.limits import EQUINIX_NAME_CHARACTERS, MICROSOFT_ASN
from gpu_fabric.components.interconnect.partner import AwsPort, Joined, Order, standing_on
from gpu_fabric.components.lookups import looked_up

AWS_PROFILE, AZURE_PROFILE = "AWS Direct Connect", "Azure ExpressRoute"
PRIORITIES = ("PRIMARY", "SECONDARY")
BFD_MS = "100"
"""Milliseconds between packets."""


def _short(name: str, role: str) -> str:
    """A name within Equinix's limit; the role's end is what tells two apart."""
    return f"{name[: EQUINIX_NAME_CHARACTERS - len(role) - 1]}-{role}"


def equinix(order: Order) -> Joined:
    """Routers, connections and their routing protocols."""
    settings = order.settings
    routers = [_router(order, number) for number in range(settings.connections)]
    to_aws = [_aws_connection(order, router, number) for number, router in enumerate(routers)]
    to_azure: list[fabric.Connection] = []
    for number, router in enumerate(routers):
        to_azure.append(_azure_connection(order, router, number, to_azure[0] if to_azure else None))

    def finish(aws_keys: Sequence[pulumi.Input[str]]) -> None:
        for number, key in enumerate(aws_keys):
            on_link = order.links.aws[number]
            _protocols(
                order,
                f"aws-{number}",
                to_aws[number],
                on_link.second,
                on_link.first_host,
                settings.asns.amazon,
                key,
            )
            azure: OnLink = order.links.azure[number]
            _protocols(
                order,
                f"azure-{number}",
                to_azure[number],
                azure.first,
                azure.second_host,
                MICROSOFT_ASN,
                order.bgp_key,
            )

    return Joined(
        aws=[
            AwsPort(
                connection.z_side.apply(_connection_id),
                connection.z_side.apply(_vlan),
                settings.equinix.accept,
            )
            for connection in to_aws
        ],
        asns=[router.equinix_asn for router in routers],
        circuit_ready=to_azure,
        finish=finish,
    )


def _later(value: Any) -> Any:
    """The value, or an output that is not known yet where a preview has none."""
    return (
        pulumi.Output.from_input(pulumi.UNKNOWN) if value is None and pulumi.runtime.is_dry_run() else value
    )


def _connection_id(side: fabric.outputs.ConnectionZSide) -> Any:
    """Direct Connect's id of the connection."""
    point = side.access_point
    return _later(point.provider_connection_id if point is not None else None)


def _vlan(side: fabric.outputs.ConnectionZSide) -> Any:
    """The VLAN that Equinix gave the connection, which its virtual interface must have."""
    protocol = side.access_point.link_protocol if side.access_point is not None else None
    return _later(protocol.vlan_tag if protocol is not None else None)


def _group(given: fabric.outputs.ConnectionRedundancy | None) -> str | None:
    return given.group if given is not None else None


def _common(order: Order) -> dict[str, Any]:
    own = order.settings.equinix
    common: dict[str, Any] = {
        "notifications": [{"type": fabric.NotificationsType.ALL, "emails": list(own.emails)}],
        "project": {"project_id": own.project_id},
    }
    if own.purchase_order is not None:
        common["order"] = {"purchase_order_number": own.purchase_order}
    return common


#: Options of a router: it stays in its metro and in its project.
_ROUTER_FOR_LIFE: dict[str, Any] = {
    "replace_on_changes": ["location", "project"],
    "delete_before_replace": True,
}
#: Of a connection. What it was ordered with is its cloud's too, so a new one is ordered; a circuit's port and a name
#: have room for one. Equinix resizes some in place, once in 24 hours (docs.equinix.com,
#: fabric-connections-resize-bandwidth), and its API lists none to AWS among
#: them (developer.equinix.com, update-bandwidth-or-speed-of-connection).
_FOR_LIFE: dict[str, Any] = {
    "replace_on_changes": ["bandwidth", "aSide", "zSide", "project", "redundancy"],
    "delete_before_replace": True,
}
#: Of a routing protocol.
_OF_ONE_CONNECTION: dict[str, Any] = {
    "replace_on_changes": ["connectionUuid", "directIpv4"],
    "delete_before_replace": True,
}


def _router(order: Order, number: int) -> fabric.CloudRouter:
    return fabric.CloudRouter(
        f"{order.name}-router-{number}",
        **_common(order),
        name=_short(order.name, f"router-{number}"),
        type="XF_ROUTER",
        package={"code": order.settings.equinix.package},
        location={"metro_code": order.exchange.metro},
        opts=child(order.parent, **_ROUTER_FOR_LIFE),
    )


def _profile(order: Order, given: Any, wanted: str, router: fabric.CloudRouter) -> Any:
    if given is not None:
        return given

    # The look-up waits for a router, so that a preview makes none and needs no login.
    def only(_: str) -> str:
        result = looked_up(
            lambda: fabric.get_service_profiles(
                filter={"property": "/name", "operator": "=", "values": [wanted]},
                opts=pulumi.InvokeOptions(parent=order.parent),
            ),
            where="interconnect.equinix",
            what=f"the service profile {wanted!r}",
            remedy="give its UUID as `awsProfile` or `azureProfile`",
        )
        if not result.data:
            raise pulumi.RunError(
                f"interconnect.equinix: Equinix has no service profile named {wanted!r}; give its UUID as `awsProfile` "
                "or `azureProfile`"
            )
        return result.data[0].uuid

    return router.uuid.apply(only)


def _a_side(router: fabric.CloudRouter) -> Any:
    # The SDK's enums lack CLOUD_ROUTER and IP_VC, which its own examples give as text.
    return {"access_point": {"type": "CLOUD_ROUTER", "router": {"uuid": router.uuid}}}


def _aws_connection(order: Order, router: fabric.CloudRouter, number: int) -> fabric.Connection:
    settings = order.settings
    return fabric.Connection(
        f"{order.name}-aws-{number}",
        **_common(order),
        name=_short(order.name, f"aws-{number}"),
        type="IP_VC",
        bandwidth=settings.bandwidth_mbps,
        a_side=_a_side(router),
        z_side={
            "access_point": {
                "type": fabric.AccessPointType.SP,
                "authentication_key": settings.aws_account,
                "seller_region": order.aws_region,
                "profile": {
                    "type": fabric.ProfileType.L2_PROFILE,
                    "uuid": _profile(order, settings.equinix.aws_profile, AWS_PROFILE, router),
                },
                "location": {"metro_code": order.exchange.metro},
            }
        },
        opts=child(order.parent, **_FOR_LIFE),
    )


def _azure_connection(
    order: Order, router: fabric.CloudRouter, number: int, primary: fabric.Connection | None
) -> fabric.Connection:
    settings = order.settings
    redundancy: dict[str, Any] = {"priority": PRIORITIES[number]}
    if primary is not None:
        # Equinix pairs the two by the group that it gave the first.
        redundancy["group"] = primary.redundancy.apply(_group)
    return fabric.Connection(
        f"{order.name}-azure-{number}",
        **_common(order),
        name=_short(order.name, f"azure-{number}"),
        type="IP_VC",
        bandwidth=settings.bandwidth_mbps,
        redundancy=redundancy,  # ty: ignore[invalid-argument-type]
        a_side=_a_side(router),
        z_side={
            "access_point": {
                "type": fabric.AccessPointType.SP,
                "authentication_key": order.service_key,
                "peering_type": fabric.AccessPointPeeringType.PRIVATE,
                "profile": {
                    "type": fabric.ProfileType.L2_PROFILE,
                    "uuid": _profile(order, settings.equinix.azure_profile, AZURE_PROFILE, router),
                },
                "location": {"metro_code": order.exchange.metro},
            }
        },
        # The service key stands in it.
        opts=child(order.parent, **_FOR_LIFE, additional_secret_outputs=["zSide"]),
    )


def _protocols(
    order: Order,
    role: str,
    connection: fabric.Connection,
    our_address: str,
    their_address: str,
    their_asn: int,
    key: pulumi.Input[str] | None,
) -> None:
    direct = fabric.RoutingProtocol(
        f"{order.name}-{role}-direct",
        connection_uuid=connection.uuid,
        type="DIRECT",
        name=_short(order.name, f"{role}-direct"),
        direct_ipv4={"equinix_iface_ip": our_address},
        opts=child(order.parent, **_OF_ONE_CONNECTION),
    )
    fabric.RoutingProtocol(
        f"{order.name}-{role}-bgp",
        # Equinix takes BGP only after the addresses of its own interface, and lets these go only after it.
        connection_uuid=standing_on(connection.uuid, [direct]),
        type="BGP",
        name=_short(order.name, f"{role}-bgp"),
        bgp_ipv4={"customer_peer_ip": their_address, "enabled": True},
        customer_asn=their_asn,
        bgp_auth_key=key,
        # Said in both cases: what is left out stays as it was.
        bfd={"enabled": True, "interval": BFD_MS} if order.settings.bfd else {"enabled": False},
        opts=child(
            order.parent,
            **_OF_ONE_CONNECTION,
            # A key that is left out stays as it was.
            replacement_trigger="no key" if key is None else "a key",
            additional_secret_outputs=["bgpAuthKey"],
        ),
    )
