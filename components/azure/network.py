"""One private subnet, and the nodes' way out.

Creates: virtual network · private subnet without Azure's default outbound access · for `internet: nat` a public IP
address and a NAT gateway on that subnet · for `bastion` its own subnet, a public IP address and the Bastion host.
Subnets are resources of their own; the virtual network names none of them, so that an update of it deletes none
(pulumi/pulumi-azure-native#611). Creates nothing for an adopted subnet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_azure_native import network

from gpu_fabric.components.azure.addresses import AddressPlan
from gpu_fabric.components.azure.limits import BASTION_SUBNET
from gpu_fabric.components.azure.settings import Internet, Network
from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.component import child


class AzureNetwork(pulumi.ComponentResource):
    """The network of one cluster: created from an address plan, or adopted."""

    virtual_network_id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    bastion_name: pulumi.Output[str] | None
    subnets: list[pulumi.Resource]
    """Those that are declared here: Azure takes one change of a network at a time."""
    ground: list[pulumi.Resource]
    """What the nodes stand on: where one of these is replaced, its nodes are, and go before it."""
    way_out: list[pulumi.Resource]
    """What must exist before a node can reach the outside; nodes depend on it."""

    def __init__(
        self,
        name: str,
        settings: Network,
        *,
        resource_group_name: pulumi.Input[str],
        location: str,
        plan: AddressPlan | None,
        security_group_id: pulumi.Input[str] | None = None,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`plan` is given for a network to create, and None for a subnet to adopt.

        `security_group_id` guards the whole new subnet; an adopted subnet is left as it is.
        """
        super().__init__("gpu-fabric:index:AzureNetwork", name, None, opts)
        self._name = name
        self._common: dict[str, Any] = {"resource_group_name": resource_group_name, "location": location}
        self._tags = tags(extra_tags or {})
        self.bastion_name = None
        self.subnets, self.way_out, self.ground = [], [], []
        if plan is None:
            self._adopt(settings)
        else:
            self._create(settings, plan, resource_group_name, security_group_id)
        self.register_outputs(
            {
                "virtual_network_id": self.virtual_network_id,
                "subnet_id": self.subnet_id,
                "bastion_name": self.bastion_name,
            }
        )

    def _adopt(self, settings: Network) -> None:
        subnet_id: Any = settings.subnet_id
        self.subnet_id = pulumi.Output.from_input(subnet_id)
        self.virtual_network_id = self.subnet_id.apply(lambda found: found.rpartition("/subnets/")[0])

    def _create(
        self,
        settings: Network,
        plan: AddressPlan,
        resource_group_name: pulumi.Input[str],
        security_group_id: pulumi.Input[str] | None,
    ) -> None:
        virtual_network = network.VirtualNetwork(
            f"{self._name}-network",
            **self._common,
            address_space=network.AddressSpaceArgs(address_prefixes=[str(plan.network)]),
            tags=self._tags,
            # Azure changes no block of a subnet in use, and takes no address space that a subnet lies outside of. So
            # other blocks are another network, made beside the old one (its name is Pulumi's), and the nodes move.
            opts=child(
                self,
                ignore_changes=["subnets"],
                replacement_trigger=" ".join(map(str, (plan.network, plan.private, plan.bastion))),
                delete_before_replace=False,
            ),
        )
        nat = None if settings.internet is Internet.NONE else self._create_nat(virtual_network)
        private = network.Subnet(
            f"{self._name}-private",
            resource_group_name=resource_group_name,
            virtual_network_name=virtual_network.name,
            address_prefix=str(plan.private),
            # Settable at creation only; without it a node without a public address still reaches the internet, and
            # nobody can say from which address. azure docs, virtual-network/ip-services/default-outbound-access.md.
            default_outbound_access=False,
            nat_gateway=None if nat is None else network.SubResourceArgs(id=nat.id),
            network_security_group=None
            if security_group_id is None
            else network.NetworkSecurityGroupArgs(id=security_group_id),
            opts=child(
                self,
                replace_on_changes=["defaultOutboundAccess"],
                replace_with=[virtual_network],
                delete_before_replace=False,
            ),
        )
        self.way_out.append(private)
        self.subnets.append(private)
        self.ground = [virtual_network, private]
        if plan.bastion is not None:
            self._create_bastion(virtual_network, private, str(plan.bastion), resource_group_name)
        self.virtual_network_id, self.subnet_id = virtual_network.id, private.id

    def _public_address(self, role: str, virtual_network: network.VirtualNetwork) -> network.PublicIPAddress:
        return network.PublicIPAddress(
            f"{self._name}-{role}",
            **self._common,
            sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
            public_ip_allocation_method=network.IPAllocationMethod.STATIC,
            public_ip_address_version=network.IPVersion.I_PV4,
            tags=self._tags,
            opts=child(self, replace_with=[virtual_network], delete_before_replace=False),
        )

    def _create_nat(self, virtual_network: network.VirtualNetwork) -> network.NatGateway:
        return network.NatGateway(
            f"{self._name}-nat",
            **self._common,
            sku=network.NatGatewaySkuArgs(name=network.NatGatewaySkuName.STANDARD),
            public_ip_addresses=[network.SubResourceArgs(id=self._public_address("nat", virtual_network).id)],
            tags=self._tags,
            # A gateway serves the subnets of one network.
            opts=child(self, replace_with=[virtual_network], delete_before_replace=False),
        )

    def _create_bastion(
        self,
        virtual_network: network.VirtualNetwork,
        private: network.Subnet,
        block: str,
        resource_group_name: pulumi.Input[str],
    ) -> None:
        subnet = network.Subnet(
            f"{self._name}-bastion",
            resource_group_name=resource_group_name,
            virtual_network_name=virtual_network.name,
            subnet_name=BASTION_SUBNET,
            address_prefix=block,
            # ARM takes one change of a virtual network at a time (error AnotherOperationInProgress).
            opts=child(
                self, depends_on=[private], replace_with=[virtual_network], delete_before_replace=False
            ),
        )
        self.subnets.append(subnet)
        bastion = network.BastionHost(
            f"{self._name}-bastion",
            **self._common,
            sku=network.SkuArgs(name=network.BastionHostSkuName.STANDARD),
            # For `az network bastion ssh`, with the key on the user's own machine.
            enable_tunneling=True,
            ip_configurations=[
                network.BastionHostIPConfigurationArgs(
                    name="bastion",
                    subnet=network.SubResourceArgs(id=subnet.id),
                    public_ip_address=network.SubResourceArgs(
                        id=self._public_address("bastion", virtual_network).id
                    ),
                )
            ],
            tags=self._tags,
            opts=child(self, replace_with=[virtual_network], delete_before_replace=False),
        )
        self.bastion_name = bastion.name
