"""What a user says about the private link between the clouds: the shape and its defaults. The rules are in `checks`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import pulumi
from pydantic import AfterValidator, BeforeValidator, Field

from gpu_fabric.components.azure.regions import location_name
from gpu_fabric.components.settings import Identifier, Number, Settings, Switch, Text, WholeNumber


class Partner(StrEnum):
    """Who connects Direct Connect with ExpressRoute."""

    EQUINIX = "equinix"
    """Equinix Fabric: cloud routers and connections."""
    MEGAPORT = "megaport"
    """Megaport Cloud Routers, through Pulumi's bridge of the Terraform provider."""
    MANUAL = "manual"
    """Anybody: you order, in two phases."""
    NATIVE = "native"
    """AWS Interconnect – multicloud, which Azure has in preview: 1 Gb/s in few regions."""


class Redundancy(StrEnum):
    NONE = "none"
    """One connection on each side; for development."""
    CIRCUIT = "circuit"
    """Two connections to AWS, both ports of the circuit, two cloud routers."""


class AwsGateway(StrEnum):
    VIRTUAL_PRIVATE = "virtualPrivate"
    """A virtual private gateway and private virtual interfaces: one VPC, fewest hops."""
    TRANSIT = "transit"
    """A transit gateway and transit virtual interfaces: many VPCs, and only the nodes' subnet is announced."""


class Tier(StrEnum):
    LOCAL = "Local"
    STANDARD = "Standard"
    PREMIUM = "Premium"


class Family(StrEnum):
    METERED = "MeteredData"
    UNLIMITED = "UnlimitedData"


def setting(name: str = "bgpKey") -> str:
    """The command that sets the secret which `bgpKeyFrom: name` reads.

    A key without a namespace is in the project's own (Pulumi docs, concepts/config, "Configuration keys").
    """
    return f"`pulumi config set --secret gpu-fabric:{name}`"


def _secret(value: Any) -> Any:
    # Never in a message: whatever was written here may be the key.
    if not isinstance(value, pulumi.Output):
        raise ValueError(  # noqa: TRY004 - pydantic reports ValueError alone as a problem of the value
            "a key stands here in plain text; take it out of the file and out of its history, choose another, set it "
            f"with {setting()} and write `bgpKeyFrom: bgpKey`"
        )
    # Whoever made the output may not have marked it.
    return pulumi.Output.secret(value)


SecretKey = Annotated[Any, BeforeValidator(_secret)]


def _name_of_a_secret(value: Any) -> Any:
    # Not in a message either: a key is easily written where its name belongs.
    if not isinstance(value, str):
        raise ValueError("is not a name; write `bgpKeyFrom: bgpKey`")  # noqa: TRY004 - as in _secret
    return value


NameOfSecret = Annotated[Text, BeforeValidator(_name_of_a_secret)]


class Asns(Settings):
    amazon: WholeNumber = 64_512
    """Of the Direct Connect gateway: 64512 to 65534 or 4200000000 to 4294967294."""
    gateway: WholeNumber = 64_513
    """Of the virtual private or transit gateway behind it."""
    partner: WholeNumber = 65_001
    """Of the routers between. Equinix assigns its own, which is used instead."""


class Addresses(Settings):
    cidr: Text | None = None
    """Block of the on-link /30s, /28 or larger. Without it: 192.168.100.0/28."""
    gateway_subnet_cidr: Text | None = None
    """Block of Azure's GatewaySubnet, /27 or larger. Without it: the first free /27 of a new virtual network."""


class Circuit(Settings):
    id: Text | None = None
    """Resource id of an existing circuit without a private peering, used instead of a new one. The other keys then say
    what it is, for the numbers."""
    tier: Tier | None = None
    """Without it: the cheapest that reaches the region and has the family (Local from 1 Gb/s on, unlimited only; then
    Standard, then Premium)."""
    family: Family | None = None
    """Without it: metered; Local is always unlimited."""


class Gateway(Settings):
    sku: Text | None = None
    """ErGw1AZ, ErGw2AZ, ErGw3AZ or ErGwScale; without zones Standard, HighPerformance or UltraPerformance. Without it:
    the smallest that carries the bandwidth."""
    scale_units: WholeNumber | None = None
    """Of ErGwScale, 1 to 40. Without it: one a Gb/s."""
    zones: tuple[Text, ...] | None = None
    """Of its public address. Without it: 1, 2 and 3 where the region has zones, as far as is known."""
    fast_path: Switch = False
    """Let traffic from AWS pass the gateway by. Needs ErGw3AZ, or ErGwScale from 10 units on."""


class Equinix(Settings):
    project_id: Text | None = None
    """The project that is billed."""
    emails: tuple[Text, ...] = ()
    """Whom Equinix tells; at least one."""
    package: Text = "STANDARD"
    """Of the cloud routers: LAB, BASIC, STANDARD, ADVANCED."""
    purchase_order: Text | None = None
    """Your number of the order, for Equinix's invoice."""
    metro: Text | None = None
    """Code of the metro. Without it: that of the exchange."""
    aws_profile: Identifier | None = None
    """UUID of the service profile `AWS Direct Connect`. Without it: looked up during the deployment."""
    azure_profile: Identifier | None = None
    """UUID of the service profile `Azure ExpressRoute`. Without it: looked up during the deployment."""
    accept: Switch = True
    """Confirm the hosted connections. False where they are confirmed already, by hand or by an `up` whose answer was
    lost."""


class Megaport(Settings):
    location_id: WholeNumber | None = None
    """Megaport's number of the data center of the cloud routers."""
    aws_product_uid: Text | None = None
    """The product that Megaport lists for AWS hosted connections at the location."""
    azure_product_uid: Text | None = None
    """The same for ExpressRoute."""
    term_months: WholeNumber = 1
    """1, 12, 24 or 36."""
    accept: Switch = True
    """Confirm the hosted connections. False where they are confirmed already, by hand or by an `up` whose answer was
    lost."""


class Manual(Settings):
    provider: Text = "Equinix"
    """ExpressRoute's name of the provider of your circuit."""
    connection_ids: tuple[Identifier, ...] = ()
    """Of the Direct Connect connections that you ordered, dxcon-…: one, or two with `redundancy: circuit`."""
    vlans: tuple[WholeNumber, ...] = ()
    """Of these connections, in the same order; a hosted connection has the one that your partner gave it."""
    accept: Switch = True
    """Confirm the connections, which a partner's hosted connection waits for. False for a connection of your own."""
    interface_ids: tuple[Identifier, ...] = ()
    """In place of connections: virtual interfaces that your partner made for your account, dxvif-…; they are accepted
    as they are, with the partner's addresses and key."""


class InterconnectSettings(Settings):
    partner: Partner = Field(
        description="equinix, megaport, manual or native: who connects the clouds", examples=["equinix"]
    )
    bandwidth_mbps: Annotated[
        WholeNumber, Field(description="10^6 bit/s of the link, such as 10000", examples=[10_000])
    ]
    redundancy: Redundancy = Redundancy.NONE
    """Nothing, or two of everything; the plan says what SLA that is."""
    exchange: Text | None = None
    """ExpressRoute's name of the peering location. Without it: the one near both regions."""
    mtu: WholeNumber = 1_500
    """Of the virtual interfaces; 1500 is what the whole way carries."""
    rtt_ms: Annotated[Number, Field(gt=0)] | None = None
    """Measured round-trip time. Without it: the region pair's estimate."""
    rtt_limit_ms: Annotated[Number, Field(gt=0)] = 5.0
    """A pair of regions whose round-trip time is above it is refused."""
    aws_account: Text | None = None
    """The 12 digits of the AWS account: the partner gives its connections to it."""
    aws_gateway: AwsGateway = AwsGateway.VIRTUAL_PRIVATE
    """A virtual private gateway for one VPC, or a transit gateway for many."""
    aws_transit_gateway_id: Identifier | None = None
    """With `awsGateway: transit`: an existing transit gateway, used instead of a new one."""
    aws_route_table_ids: tuple[Identifier, ...] = ()
    """For an adopted VPC: the route tables that learn the way to Azure."""
    aws_vpc_cidr: Text | None = None
    """For an adopted VPC: its whole block, which a virtual private gateway announces. `aws.network.verify` holds it
    against the VPC at preview."""
    asns: Asns = Asns()
    azure_vlan: WholeNumber = 300
    """VLAN of the private peering, 2 to 4094."""
    addresses: Addresses = Addresses()
    circuit: Circuit = Circuit()
    gateway: Gateway = Gateway()
    bgp_key_from: NameOfSecret | None = None
    """The name of a secret of this stack with the key of the BGP sessions: `bgpKey` after `pulumi config set --secret
    gpu-fabric:bgpKey`. Without it: AWS makes one for its sessions, and Azure's have none."""
    bgp_key: SecretKey | None = None
    """For programs: the key as a secret output. A stack file never holds it."""
    bfd: Switch = True
    """Failure detection below a second on the partner's routers, where the partner has it; 90 s without."""
    route_isolation: Switch = False
    """A network ACL and network security rules that leave stage traffic no private way but this link."""
    provisioned: Switch = False
    """`manual` and `native`: what the first `up` told you to order is there; go on."""
    equinix: Equinix = Equinix()
    megaport: Megaport = Megaport()
    manual: Manual = Manual()
    tags: dict[str, Text] = Field(default_factory=dict)
    """On everything that carries tags."""

    @property
    def connections(self) -> int:
        """Connections on each side."""
        return 2 if self.redundancy is Redundancy.CIRCUIT else 1


UNKNOWN = ""
"""Stands in for a region or a block that a program left out: whatever would follow from one is not checked."""


class AwsNetwork(Settings):
    """The network on AWS, where a program joins networks of its own."""

    region: Text = Field(description="the region, such as us-east-1", examples=[UNKNOWN])
    vpc_id: Identifier = Field(description="the id of the VPC", examples=["vpc-0"])
    vpc_cidr: Text = Field(description="the VPC's block", examples=[UNKNOWN])
    subnet_id: Identifier = Field(description="the id of the nodes' subnet", examples=["subnet-0"])
    subnet_cidr: Text = Field(description="the block of the nodes' subnet", examples=[UNKNOWN])
    security_group_id: Identifier | None = None
    """A group that is to let the other side's nodes in."""


class AzureNetwork(Settings):
    """The network on Azure, where a program joins networks of its own."""

    location: Annotated[Text, AfterValidator(location_name)] = Field(
        description="the region, such as eastus", examples=[UNKNOWN]
    )
    virtual_network_id: Identifier = Field(description="the id of the virtual network", examples=["/v"])
    network_cidr: Text = Field(description="the virtual network's block", examples=[UNKNOWN])
    subnet_cidr: Text = Field(description="the block of the nodes' subnet", examples=[UNKNOWN])


def _example(network: type[Settings]) -> dict[str, Any]:
    """Stands in for a network that is missing, so that the rest is still checked."""
    return {
        field.alias or name: field.examples[0]
        for name, field in network.model_fields.items()
        if field.examples
    }


class CrossCloudSettings(InterconnectSettings):
    """The link together with the networks that it joins."""

    aws: AwsNetwork = Field(
        description="the network on AWS: its region, ids and blocks", examples=[_example(AwsNetwork)]
    )
    azure: AzureNetwork = Field(
        description="the network on Azure: its location, id and blocks", examples=[_example(AzureNetwork)]
    )
