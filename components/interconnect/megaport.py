"""Megaport Cloud Routers between the clouds.

Creates, for each of one or two routers: Megaport Cloud Router · virtual cross connect to AWS as a hosted connection ·
virtual cross connect to one port of the ExpressRoute circuit. BGP is part of each cross connect.

There is no Pulumi provider of Megaport's own: `pulumi package add terraform-provider megaport/megaport 1.9.1` writes
the SDK `pulumi_megaport` into the project, and the component uses it where it is.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pulumi
import pulumi_aws as aws

from gpu_fabric.components.component import child
from gpu_fabric.components.interconnect.limits import MEGAPORT_MCR_MBPS, MICROSOFT_ASN
from gpu_fabric.components.interconnect.names import own_name
from gpu_fabric.components.interconnect.partner import AwsPort, Joined, Order
from gpu_fabric.components.lookups import looked_up

SDK = "pulumi_megaport"
ADD = "pulumi package add terraform-provider megaport/megaport 1.9.1"
PORTS = ("primary", "secondary")
SECRETS = ["aEndPartnerConfig", "bEndPartnerConfig", "cspConnections"]
"""Of a cross connect: BGP keys, the circuit's service key, and what the clouds answered, which repeats both
(megaport/megaport 1.9.1, vxc_resource.go: `csp_connections` has `auth_key` and `service_key`, neither sensitive)."""

#: Options of a cross connect: the hosted connection and the port at its end are ordered with the rate, and keep it.
_FOR_LIFE: dict[str, Any] = {
    "replace_on_changes": ["rateLimit", "aEnd", "bEnd", "bEndPartnerConfig"],
    "delete_before_replace": True,
}


def sdk_is_there() -> bool:
    """Whether the bridged SDK is in this environment."""
    try:
        import_module(SDK)
    except ImportError:
        return False
    return True


def _sdk() -> ModuleType:
    try:
        return import_module(SDK)
    except ImportError:
        raise pulumi.RunError(
            f"interconnect.partner: the SDK of Megaport is not in this project; run `{ADD}` in its folder, install "
            "what it writes, and run again"
        ) from None


def megaport(order: Order) -> Joined:
    """Routers and cross connects."""
    sdk, settings = _sdk(), order.settings
    own, whole = settings.megaport, own_name(order.name)
    rate = next(one for one in MEGAPORT_MCR_MBPS if one >= settings.bandwidth_mbps)
    ports: list[AwsPort] = []
    to_azure: list[Any] = []
    for number in range(settings.connections):
        router = sdk.Mcr(
            f"{order.name}-router-{number}",
            product_name=f"{whole}-router-{number}",
            location_id=own.location_id,
            contract_term_months=own.term_months,
            port_speed=rate,
            asn=settings.asns.partner,
            opts=child(order.parent),
        )
        on_aws, on_azure = order.links.aws[number], order.links.azure[number]
        to_aws = sdk.Vxc(
            f"{order.name}-aws-{number}",
            product_name=f"{whole}-aws-{number}",
            rate_limit=settings.bandwidth_mbps,
            contract_term_months=own.term_months,
            a_end={"requested_product_uid": router.product_uid},
            a_end_partner_config=_router_side(
                order, on_aws.second, on_aws.first_host, settings.asns.amazon, order.bgp_key
            ),
            b_end={"requested_product_uid": own.aws_product_uid},
            b_end_partner_config={
                "partner": "aws",
                "aws_config": {
                    "name": f"{whole}-aws-{number}",
                    "connect_type": "AWSHC",
                    "owner_account": settings.aws_account,
                },
            },
            opts=child(order.parent, **_FOR_LIFE, additional_secret_outputs=SECRETS),
        )
        to_azure.append(
            sdk.Vxc(
                f"{order.name}-azure-{number}",
                product_name=f"{whole}-azure-{number}",
                rate_limit=settings.bandwidth_mbps,
                contract_term_months=own.term_months,
                a_end={"requested_product_uid": router.product_uid},
                a_end_partner_config=_router_side(
                    order, on_azure.first, on_azure.second_host, MICROSOFT_ASN, order.bgp_key
                ),
                b_end={"requested_product_uid": own.azure_product_uid},
                b_end_partner_config={
                    "partner": "azure",
                    # The peering is Azure's to keep: one made here would block the deletion of the cross connect.
                    "azure_config": {"service_key": order.service_key, "port_choice": PORTS[number]},
                },
                opts=child(order.parent, **_FOR_LIFE, additional_secret_outputs=SECRETS),
            )
        )
        ports.append(_hosted(order, to_aws, f"{whole}-aws-{number}"))
    return Joined(aws=ports, asns=[settings.asns.partner] * len(ports), circuit_ready=to_azure)


def _router_side(
    order: Order, our_address: str, their_address: str, their_asn: int, key: pulumi.Input[str] | None
) -> Any:
    """The router's interface with its BGP session."""
    session: dict[str, Any] = {
        "peer_asn": their_asn,
        "local_ip_address": our_address.partition("/")[0],
        "peer_ip_address": their_address,
        "bfd_enabled": order.settings.bfd,
    }
    if key is not None:
        session["password"] = key
    interface = {"ip_addresses": [our_address], "bgp_connections": [session]}
    return {"partner": "vrouter", "vrouter_config": {"interfaces": [interface]}}


def _hosted(order: Order, connect: Any, name: str) -> AwsPort:
    """The hosted connection that a cross connect made in the account, found by its name.

    The look-up waits for the cross connect, so that a preview makes none and needs no login.
    """

    def ask(_: str) -> tuple[str, str]:
        found = looked_up(
            lambda: aws.directconnect.get_connection(
                name=name, opts=pulumi.InvokeOptions(parent=order.parent)
            ),
            where="interconnect.awsAccount",
            what=f"the hosted connection {name}",
            remedy="Megaport gives it to this account: log in to it, wait until Direct Connect lists it, and run `up` "
            "again",
        )
        return found.id, found.vlan_id

    found = connect.product_uid.apply(ask)
    return AwsPort(found[0], found[1], order.settings.megaport.accept)
