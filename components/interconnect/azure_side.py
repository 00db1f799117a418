"""The link's end on Azure.

Creates: resource group and ExpressRoute circuit, unless one is adopted · GatewaySubnet, public address and ExpressRoute
gateway in the nodes' virtual network · once the circuit is provisioned: private peering with two /30s and the gateway's
connection.
The circuit has a resource group of its own, whose name is known beforehand: a later `up` can then ask for its state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

import pulumi
from pulumi_azure_native import network, resources

from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.component import child
from gpu_fabric.components.interconnect.addresses import LinkPlan
from gpu_fabric.components.interconnect.changes import Ordered, refuse_before_update
from gpu_fabric.components.interconnect.derived import PROVIDERS
from gpu_fabric.components.interconnect.gateway import ChosenGateway
from gpu_fabric.components.interconnect.limits import GATEWAY_SUBNET
from gpu_fabric.components.interconnect.names import (
    CircuitPlace,
    circuit_place,
    in_nodes_group,
    subscription_of,
)
from gpu_fabric.components.interconnect.partner import standing_on
from gpu_fabric.components.interconnect.settings import Family, InterconnectSettings, Tier
from gpu_fabric.components.lookups import looked_up

PEERING = "AzurePrivatePeering"
PROVIDED = "serviceProviderProperties"
PROVIDED_FOR_LIFE = [f"{PROVIDED}.peeringLocation", f"{PROVIDED}.serviceProviderName"]
#: A gateway takes about 30 to 45 minutes (azure docs, expressroute-howto-add-gateway-portal-resource-manager.md).
SLOW = pulumi.CustomTimeouts(create="90m", update="90m", delete="90m")
#: The tag of a gateway that Azure makes no smaller in place. It goes with a change to a smaller size and stays through
#: none, so a loss of it is the change that needs a new gateway.
ONLY_GROWS = "gpu-fabric-gateway-only-grows"
NOT_PROVISIONED = "NotProvisioned"
#: The state of a circuit that is not where Azure's login looks.
ABSENT = "Absent"
NOT_OURS = [
    # Resources of their own: an update of the circuit must not drop them.
    "peerings",
    "authorizations",
    # The partner's and Azure's to change. The specification has them among a circuit's inputs, so pulumi-azure-native
    # takes what a refresh finds changed into the program's inputs (provider/pkg/provider/provider.go, Read), and the
    # next preview would want it back.
    "serviceProviderProvisioningState",
    "circuitProvisioningState",
    "gatewayManagerEtag",
]


@dataclass(frozen=True)
class AzureEnd:
    """The network on Azure's side."""

    virtual_network_id: pulumi.Input[str]
    location: str
    subnets: Sequence[pulumi.Resource] = ()
    """Other subnets of the network that are declared: Azure takes one change of a network at a time."""


@dataclass(frozen=True)
class _Circuit:
    """Made or adopted."""

    id: pulumi.Output[str]
    name: pulumi.Output[str]


@dataclass(frozen=True)
class CircuitNow:
    """What Azure says of the circuit."""

    state: str
    """`NotProvisioned`, `Provisioning`, `Provisioned`, `Deprovisioning`, or `ABSENT`."""
    peered: bool = False
    """Whether it has its private peering, so that the link was up before."""
    ordered: Ordered | None = None

    @property
    def held(self) -> bool:
        """Whether its provider has it, so that Azure does not delete it."""
        return self.peered or self.state not in (ABSENT, NOT_PROVISIONED)


def _ask(place: CircuitPlace, parent: pulumi.Resource | None) -> network.GetExpressRouteCircuitResult:
    return network.get_express_route_circuit(
        circuit_name=place.name, resource_group_name=place.group, opts=pulumi.InvokeOptions(parent=parent)
    )


def circuit_now(
    place: CircuitPlace, parent: pulumi.Resource | None = None, *, key: str = "provisioned"
) -> CircuitNow:
    """A look-up, which needs a login; made only where the user's `key` of the link asks for one."""

    def ask() -> network.GetExpressRouteCircuitResult | None:
        try:
            return _ask(place, parent)
        except Exception as error:
            # The SDK raises a bare Exception for every failed look-up.
            if "NotFound" in str(error):
                return None
            raise

    found = looked_up(
        ask,
        where=f"interconnect.{key}",
        what=str(place),
        remedy="log in, or drop the key until you can",
    )
    if found is None:
        return CircuitNow(ABSENT)
    peerings, sku, provided = found.peerings or [], found.sku, found.service_provider_properties
    return CircuitNow(
        found.service_provider_provisioning_state or NOT_PROVISIONED,
        any(one.peering_type == PEERING or one.name == PEERING for one in peerings),
        None
        if sku is None or provided is None
        else Ordered(
            int(provided.bandwidth_in_mbps or 0),
            sku.family or "",
            provided.service_provider_name or "",
            provided.peering_location or "",
            found.location or "",
        ),
    )


class AzureLinkEnd(pulumi.ComponentResource):
    """Circuit, gateway and, with `connect`, what joins them."""

    service_key: pulumi.Output[str] | None
    """Of the circuit; a secret. None without a circuit."""
    gateway_id: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        settings: InterconnectSettings,
        end: AzureEnd,
        *,
        gateway: ChosenGateway,
        gateway_block: IPv4Network,
        sku: tuple[Tier, Family] | None,
        provider: str,
        peering_location: str,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`sku` is the circuit's tier and family; None for a link without a circuit of ours."""
        super().__init__("gpu-fabric:index:AzureLinkEnd", name, None, opts)
        self._name, self._settings, self._end = name, settings, end
        self._tags = tags(extra_tags or {})
        self._location = end.location
        self._place = circuit_place(name, settings.circuit.id)
        self._circuit, self.service_key = None, None
        if sku is not None:
            own = settings.circuit.id is None
            circuit = self._create_circuit(sku, provider, peering_location) if own else self._look_up()
            later = pulumi.Output.from_input
            self._circuit = _Circuit(later(circuit.id), later(circuit.name))
            self.service_key = pulumi.Output.secret(circuit.service_key).apply(lambda key: key or "")
        self._gateway = self._create_gateway(gateway, gateway_block)
        self.gateway_id = self._gateway.id
        self.register_outputs({"service_key": self.service_key, "gateway_id": self.gateway_id})

    def _look_up(self) -> network.GetExpressRouteCircuitResult:
        """The adopted circuit, which needs a login at preview. Raises RunError."""
        found = looked_up(
            lambda: _ask(self._place, self),
            where="interconnect.circuit.id",
            what=str(self._place),
            remedy="log in, and give the id of a circuit of the login's subscription that it may read (`az network "
            "express-route show --query id`), or drop the key for a new circuit",
        )
        wanted, asked = subscription_of(self._settings.circuit.id), subscription_of(found.id)
        if wanted is not None and asked is not None and wanted != asked:
            raise pulumi.RunError(
                f"interconnect.circuit.id: names a circuit of subscription {wanted}, and this stack's login works in "
                f"{asked}, which has one of the same name. A circuit of another subscription needs an authorization, "
                "which this release does not take; run the stack in that subscription, or give a circuit of its own"
            )
        return found

    def _create_circuit(
        self, sku: tuple[Tier, Family], provider: str, peering_location: str
    ) -> network.ExpressRouteCircuit:
        group = resources.ResourceGroup(
            f"{self._name}-circuit",
            resource_group_name=self._place.group,
            location=self._location,
            tags=self._tags,
            opts=child(self),
        )
        tier, family = sku
        own = self._settings.partner in PROVIDERS
        return network.ExpressRouteCircuit(
            f"{self._name}-circuit",
            circuit_name=self._place.name,
            resource_group_name=group.name,
            location=self._location,
            sku=network.ExpressRouteCircuitSkuArgs(
                name=f"{tier.value}_{family.value}", tier=tier.value, family=family.value
            ),
            service_provider_properties=network.ExpressRouteCircuitServiceProviderPropertiesArgs(
                service_provider_name=provider,
                peering_location=peering_location,
                bandwidth_in_mbps=self._settings.bandwidth_mbps,
            ),
            tags=self._tags,
            opts=child(
                self,
                ignore_changes=NOT_OURS,
                # What Azure refuses to change. A partner that connects by itself replaces its connections with the
                # circuit; with one that does not, the circuit stays and Azure takes a higher bandwidth.
                replace_on_changes=["sku", PROVIDED] if own else PROVIDED_FOR_LIFE,
                delete_before_replace=True,
                additional_secret_outputs=["serviceKey"],
                custom_timeouts=SLOW,
                hooks=None if own else refuse_before_update(self._place.name),
            ),
        )

    def _create_gateway(self, gateway: ChosenGateway, block: IPv4Network) -> network.VirtualNetworkGateway:
        where = pulumi.Output.from_input(self._end.virtual_network_id).apply(lambda id_: id_.split("/"))
        place: dict[str, Any] = {
            "resource_group_name": where.apply(lambda parts: parts[4]),
            "location": self._location,
        }
        subnet = network.Subnet(
            f"{self._name}-gateway",
            resource_group_name=place["resource_group_name"],
            virtual_network_name=where.apply(lambda parts: parts[-1]),
            subnet_name=GATEWAY_SUBNET,
            address_prefix=str(block),
            # A gateway's subnet changes its block only without the gateway.
            opts=child(
                self,
                depends_on=list(self._end.subnets),
                replace_on_changes=["addressPrefix"],
                delete_before_replace=True,
            ),
        )
        address = network.PublicIPAddress(
            f"{self._name}-gateway",
            public_ip_address_name=in_nodes_group(self._name, "gateway"),
            **place,
            sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
            public_ip_allocation_method=network.IPAllocationMethod.STATIC,
            zones=list(gateway.zones) or None,
            tags=self._tags,
            # An address stays in its zones.
            opts=child(self, replace_on_changes=["zones"], delete_before_replace=True),
        )
        more: dict[str, Any] = {}
        if gateway.units is not None:
            more["auto_scale_configuration"] = {"bounds": {"min": gateway.units, "max": gateway.units}}
        return network.VirtualNetworkGateway(
            f"{self._name}-gateway",
            virtual_network_gateway_name=in_nodes_group(self._name, "gateway"),
            **place,
            gateway_type=network.VirtualNetworkGatewayType.EXPRESS_ROUTE,
            sku=network.VirtualNetworkGatewaySkuArgs(name=gateway.sku, tier=gateway.sku),
            ip_configurations=[
                network.VirtualNetworkGatewayIPConfigurationArgs(
                    name="gateway",
                    subnet=network.SubResourceArgs(id=subnet.id),
                    public_ip_address=network.SubResourceArgs(id=address.id),
                    private_ip_allocation_method=network.IPAllocationMethod.DYNAMIC,
                )
            ],
            tags=self._tags if gateway.shrinks else {**self._tags, ONLY_GROWS: gateway.sku},
            # A gateway stays in its subnet, and a virtual network has one. In place it becomes what `limits` says.
            opts=child(
                self,
                replace_on_changes=["ipConfigurations", *([f"tags.{ONLY_GROWS}"] if gateway.shrinks else [])],
                replacement_trigger=gateway.kind,
                delete_before_replace=True,
                custom_timeouts=SLOW,
            ),
            **more,
        )

    def connect(
        self,
        links: LinkPlan,
        *,
        partner_asn: pulumi.Input[int],
        ready_when: Sequence[pulumi.CustomResource],
        bgp_key: pulumi.Input[str] | None,
    ) -> network.VirtualNetworkGatewayConnection:
        """The private peering, after `ready_when` has provisioned the circuit, and the gateway's connection."""
        assert self._circuit is not None
        peering = network.ExpressRouteCircuitPeering(
            f"{self._name}-peering",
            resource_group_name=self._place.group,
            circuit_name=self._circuit.name,
            peering_name=PEERING,
            peering_type=PEERING,
            peer_asn=standing_on(partner_asn, ready_when),
            primary_peer_address_prefix=str(links.azure[0].block),
            secondary_peer_address_prefix=str(links.azure[1].block),
            vlan_id=self._settings.azure_vlan,
            shared_key=bgp_key,
            opts=child(
                self,
                depends_on=list(ready_when),
                # A partner lets the circuit go only where there is no peering.
                replace_on_changes=["peerASN"],
                delete_before_replace=True,
                additional_secret_outputs=["sharedKey"],
            ),
        )
        return network.VirtualNetworkGatewayConnection(
            f"{self._name}-connection",
            virtual_network_gateway_connection_name=in_nodes_group(self._name, "connection"),
            resource_group_name=pulumi.Output.from_input(self._end.virtual_network_id).apply(
                lambda id_: id_.split("/")[4]
            ),
            location=self._location,
            connection_type=network.VirtualNetworkGatewayConnectionType.EXPRESS_ROUTE,
            virtual_network_gateway1=network.VirtualNetworkGatewayArgs(id=self._gateway.id),
            peer=network.SubResourceArgs(id=standing_on(self._circuit.id, [peering])),
            express_route_gateway_bypass=self._settings.gateway.fast_path,
            tags=self._tags,
            opts=child(
                self,
                depends_on=[peering],
                replace_on_changes=["peer", "virtualNetworkGateway1"],
                delete_before_replace=True,
                custom_timeouts=SLOW,
            ),
        )
