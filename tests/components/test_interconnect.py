"""What a link between the clouds declares: the resources, their properties, and what depends on what."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

import pulumi
import pytest
from pulumi.runtime.config import set_all_config

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.fabric import GpuFabric
from gpu_fabric.components.interconnect import CrossCloudInterconnect
from gpu_fabric.components.problems import InvalidInputError
from tests.components import arm, partners
from tests.components.recorder import GENERATED_BGP_KEY, Declared, Recording, record
from tests.components.test_interconnect_checks import AWS, AZURE, LINK, MANUAL

GATEWAY = "aws:directconnect/gateway:Gateway"
ASSOCIATION = "aws:directconnect/gatewayAssociation:GatewayAssociation"
CONFIRMATION = "aws:directconnect/connectionConfirmation:ConnectionConfirmation"
INTERFACE = "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface"
TRANSIT_INTERFACE = "aws:directconnect/transitVirtualInterface:TransitVirtualInterface"
PROPAGATION = "aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation"
CIRCUIT = "azure-native:network:ExpressRouteCircuit"
PEERING = "azure-native:network:ExpressRouteCircuitPeering"
AZURE_GATEWAY = "azure-native:network:VirtualNetworkGateway"
CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"
ROUTER = "equinix:fabric/cloudRouter:CloudRouter"
FABRIC_CONNECTION = "equinix:fabric/connection:Connection"
PROTOCOL = "equinix:fabric/routingProtocol:RoutingProtocol"
PROFILES = "equinix:fabric/getServiceProfiles:getServiceProfiles"
HOSTED = "aws:directconnect/getConnection:getConnection"
CIRCUIT_STATE = "azure-native:network:getExpressRouteCircuit"
BGP_KEY = "a key of the stack alone"
CONFIG = {"aws:region": "us-east-1", "azure-native:location": "eastus", "gpu-fabric:bgpKey": BGP_KEY}
ANSWERS = {
    PROFILES: {"data": [{"uuid": "profile-1"}], "id": "x"},
    HOSTED: {"id": "dxcon-megaport", "vlanId": 410},
}


def link(
    change: dict[str, Any] | None = None,
    base: dict[str, Any] = LINK,
    state: str = "Provisioned",
    *,
    peered: bool = False,
    own: bool = False,
) -> Recording:
    """The recording of two clusters with a link; made once for the same arguments.

    `own`: the stack's own circuit is there beside the one that it adopts.
    """
    return _recorded(json.dumps({**base, **(change or {})}), state, peered, own)


@cache
def _recorded(text: str, state: str, peered: bool, own: bool) -> Recording:
    def program() -> dict[str, Any]:
        set_all_config(CONFIG, ["gpu-fabric:bgpKey"])
        settings = read_fabric({"aws": AWS, "azure": AZURE, "interconnect": json.loads(text)})
        return GpuFabric("train", settings).exports()["interconnect"]

    peerings = [{"name": "AzurePrivatePeering", "peeringType": "AzurePrivatePeering"}] if peered else []
    circuit = {"serviceProviderProvisioningState": state, "id": "c", "name": "c", "peerings": peerings}
    adopted = json.loads(text).get("circuit", {}).get("id")

    def asked(arguments: Mapping[str, Any]) -> dict[str, Any] | str:
        there = own or adopted is None or adopted.endswith(f"/{arguments['circuitName']}")
        return circuit if there else "Status=404 Code=ResourceNotFound"

    answers = {**ANSWERS, CIRCUIT_STATE: asked}
    try:
        return record(program, config=CONFIG, answers=answers)
    finally:
        set_all_config({}, [])


def inputs(recording: Recording, type_: str, name: str) -> dict[str, Any]:
    (found,) = [one for one in recording.of_type(type_) if one.name == name]
    return dict(found.inputs)


def named(recording: Recording, type_: str, name: str) -> Declared:
    (found,) = [one for one in recording.of_type(type_) if one.name == name]
    return found


def reaches(recording: Recording, later: Declared, earlier: Declared) -> bool:
    """Whether `later` waits for `earlier`, directly or through others."""
    by_urn = {one.urn: one for one in recording.resources}
    waiting, seen = [later.urn], set()
    while waiting:
        urn = waiting.pop()
        if urn == earlier.urn:
            return True
        if urn not in seen and urn in by_urn:
            seen.add(urn)
            waiting += by_urn[urn].depends_on
    return False


def test_one_private_interface_leads_to_the_nodes_vpc() -> None:
    made = link()
    assert made.one(GATEWAY).inputs["amazonSideAsn"] == "64512"
    assert made.one(ASSOCIATION).inputs["allowedPrefixes"] == ["10.100.0.0/16"]
    assert len(made.of_type(PROPAGATION)) == 1
    interface = made.one(INTERFACE).inputs
    assert (interface["amazonAddress"], interface["customerAddress"]) == (
        "192.168.100.9/30",
        "192.168.100.10/30",
    )
    assert interface["mtu"] == 1_500
    assert interface["bgpAsnLong"] == str(partners.EQUINIX_ASN)
    assert interface["vlan"] == 310
    assert interface["connectionId"].startswith("dxcon-")
    assert interface["connectionId"] == made.one(CONFIRMATION).inputs["connectionId"]


def test_the_interface_waits_until_the_hosted_connection_is_confirmed() -> None:
    made = link()
    assert reaches(made, made.one(INTERFACE), made.one(CONFIRMATION))
    assert reaches(made, made.one(INTERFACE), made.one(ASSOCIATION))


def test_the_circuit_has_both_of_its_blocks_and_the_gateway_its_subnet() -> None:
    made = link()
    circuit = made.one(CIRCUIT).inputs
    assert circuit["sku"] == {"name": "Local_UnlimitedData", "tier": "Local", "family": "UnlimitedData"}
    assert circuit["serviceProviderProperties"] == {
        "serviceProviderName": "Equinix",
        "peeringLocation": "Washington DC",
        "bandwidthInMbps": 10_000,
    }
    peering = made.one(PEERING).inputs
    assert peering["primaryPeerAddressPrefix"] == "192.168.100.0/30"
    assert peering["secondaryPeerAddressPrefix"] == "192.168.100.4/30"
    assert (peering["peerASN"], peering["vlanId"]) == (partners.EQUINIX_ASN, 300)
    subnet = inputs(made, "azure-native:network:Subnet", "train-link-gateway")
    assert (subnet["subnetName"], subnet["addressPrefix"]) == ("GatewaySubnet", "10.200.0.0/27")
    gateway = made.one(AZURE_GATEWAY).inputs
    assert gateway["gatewayType"] == "ExpressRoute"
    assert gateway["sku"] == {"name": "ErGw3AZ", "tier": "ErGw3AZ"}
    assert made.one(CONNECTION).inputs["expressRouteGatewayBypass"] is False


def test_the_peering_waits_for_the_partner_and_the_connection_for_the_peering() -> None:
    made = link({"redundancy": "circuit"})
    for number in range(2):
        there = named(made, FABRIC_CONNECTION, f"train-link-azure-{number}")
        assert reaches(made, made.one(PEERING), there)
        assert reaches(made, there, made.one(CIRCUIT))
    assert reaches(made, made.one(CONNECTION), made.one(PEERING))
    assert not reaches(made, made.one(AZURE_GATEWAY), made.one(CIRCUIT))


def test_the_gateways_subnet_waits_for_the_networks_other_subnets() -> None:
    made = link()
    gateway = named(made, "azure-native:network:Subnet", "train-link-gateway")
    assert reaches(made, gateway, named(made, "azure-native:network:Subnet", "train-azure-private"))


def test_equinix_is_given_the_account_and_the_service_key_and_no_key_of_a_cloud() -> None:
    made = link()
    router = made.one(ROUTER).inputs
    assert router["type"] == "XF_ROUTER"
    assert router["location"] == {"metroCode": "DC"}
    assert router["package"] == {"code": "STANDARD"}
    to_aws = inputs(made, FABRIC_CONNECTION, "train-link-aws-0")
    assert to_aws["type"] == "IP_VC"
    assert to_aws["aSide"]["accessPoint"]["type"] == "CLOUD_ROUTER"
    assert to_aws["zSide"]["accessPoint"] == {
        "type": "SP",
        "authenticationKey": "123456789012",
        "sellerRegion": "us-east-1",
        "profile": {"type": "L2_PROFILE", "uuid": "profile-1"},
        "location": {"metroCode": "DC"},
    }
    assert "additionalInfo" not in to_aws
    to_azure = inputs(made, FABRIC_CONNECTION, "train-link-azure-0")
    assert to_azure["zSide"]["accessPoint"]["authenticationKey"] == arm.SERVICE_KEY
    assert to_azure["zSide"]["accessPoint"]["peeringType"] == "PRIVATE"
    assert to_azure["redundancy"] == {"priority": "PRIMARY"}
    assert all(
        len(one.inputs["name"]) <= 24
        for type_ in (ROUTER, FABRIC_CONNECTION, PROTOCOL)
        for one in made.of_type(type_)
    )


def test_each_session_comes_after_its_interface_with_the_addresses_of_the_other_end() -> None:
    made = link()
    direct = inputs(made, PROTOCOL, "train-link-aws-0-direct")
    bgp = inputs(made, PROTOCOL, "train-link-aws-0-bgp")
    assert direct["directIpv4"] == {"equinixIfaceIp": "192.168.100.10/30"}
    assert bgp["bgpIpv4"] == {"customerPeerIp": "192.168.100.9", "enabled": True}
    assert (bgp["customerAsn"], bgp["bgpAuthKey"]) == (64_512, GENERATED_BGP_KEY)
    assert bgp["bfd"] == {"enabled": True, "interval": "100"}
    direct = inputs(made, PROTOCOL, "train-link-azure-0-direct")
    bgp = inputs(made, PROTOCOL, "train-link-azure-0-bgp")
    assert direct["directIpv4"] == {"equinixIfaceIp": "192.168.100.1/30"}
    assert bgp["bgpIpv4"]["customerPeerIp"] == "192.168.100.2"
    assert bgp["customerAsn"] == 12_076
    assert "bgpAuthKey" not in bgp
    for end in ("aws-0", "azure-0"):
        after = named(made, PROTOCOL, f"train-link-{end}-bgp")
        assert reaches(made, after, named(made, PROTOCOL, f"train-link-{end}-direct"))


def test_no_default_route_is_announced_and_none_is_made() -> None:
    made = link({"awsGateway": "transit"})
    routes = [one.inputs for one in made.of_type("aws:ec2/route:Route") if one.name.startswith("train-link")]
    assert [one["destinationCidrBlock"] for one in routes] == ["10.200.16.0/20"]
    assert made.one(ASSOCIATION).inputs["allowedPrefixes"] == ["10.100.16.0/20"]
    assert made.one(TRANSIT_INTERFACE).inputs["mtu"] == 1_500
    assert made.of_type(INTERFACE) == []
    transit = made.one("aws:ec2transitgateway/transitGateway:TransitGateway").inputs
    assert transit["amazonSideAsn"] == 64_513


def test_with_redundancy_there_are_two_of_everything_and_azures_two_are_paired() -> None:
    made = link({"redundancy": "circuit"})
    assert len(made.of_type(ROUTER)) == 2
    assert len(made.of_type(FABRIC_CONNECTION)) == 4
    assert len(made.of_type(PROTOCOL)) == 8
    assert len(made.of_type(CONFIRMATION)) == len(made.of_type(INTERFACE)) == 2
    assert len(made.of_type(CIRCUIT)) == len(made.of_type(PEERING)) == 1
    second = inputs(made, FABRIC_CONNECTION, "train-link-azure-1")["redundancy"]
    first = named(made, FABRIC_CONNECTION, "train-link-azure-0")
    assert second["priority"] == "SECONDARY"
    assert second["group"].startswith("group-")
    assert reaches(made, named(made, FABRIC_CONNECTION, "train-link-azure-1"), first)
    ends = [(one.inputs["amazonAddress"], one.inputs["vlan"]) for one in made.of_type(INTERFACE)]
    assert sorted(ends) == [("192.168.100.13/30", 311), ("192.168.100.9/30", 310)]
    routers = {inputs(made, FABRIC_CONNECTION, f"train-link-{end}-{n}")["aSide"]["accessPoint"]["router"]["uuid"]
               for end in ("aws", "azure") for n in range(2)}  # fmt: skip
    assert len(routers) == 2


def test_each_side_lets_the_others_nodes_in_and_nobody_else() -> None:
    made = link()
    rule = inputs(made, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "train-link-from-azure")
    assert (rule["cidrIpv4"], rule["ipProtocol"]) == ("10.200.16.0/20", "-1")
    rules = made.one("azure-native:network:NetworkSecurityGroup").inputs["securityRules"]
    (allowed,) = [one for one in rules if one["name"] == "from-the-other-cloud-0"]
    assert (allowed["sourceAddressPrefix"], allowed["access"]) == ("10.100.16.0/20", "Allow")
    assert allowed["priority"] < next(one["priority"] for one in rules if one["name"] == "nothing-else")
    assert made.of_type("aws:ec2/networkAcl:NetworkAcl") == []
    assert [one for one in rules if one["direction"] == "Outbound"] == []


def test_isolation_leaves_no_other_private_way() -> None:
    made = link({"routeIsolation": True})
    acl = made.one("aws:ec2/networkAcl:NetworkAcl").inputs
    for direction in ("ingress", "egress"):
        entries = sorted(acl[direction], key=lambda one: one["ruleNo"])
        assert [(one["cidrBlock"], one["action"]) for one in entries] == [
            ("10.100.0.0/16", "allow"),
            ("10.200.16.0/20", "allow"),
            ("10.0.0.0/8", "deny"),
            ("172.16.0.0/12", "deny"),
            ("192.168.0.0/16", "deny"),
            ("0.0.0.0/0", "allow"),
        ]
    rules = made.one("azure-native:network:NetworkSecurityGroup").inputs["securityRules"]
    outbound = sorted(
        (one["priority"], one["destinationAddressPrefix"], one["access"])
        for one in rules
        if one["direction"] == "Outbound"
    )
    assert [one[1:] for one in outbound] == [
        ("10.200.16.0/20", "Allow"),
        ("10.100.16.0/20", "Allow"),
        ("10.0.0.0/8", "Deny"),
        ("172.16.0.0/12", "Deny"),
        ("192.168.0.0/16", "Deny"),
    ]
    assert len({one["priority"] for one in rules}) == len(rules)


def test_the_first_phase_of_manual_stops_before_the_peering_and_says_what_to_order() -> None:
    made = link(base=MANUAL)
    assert made.of_type(PEERING) == made.of_type(CONNECTION) == made.of_type(INTERFACE) == []
    assert len(made.of_type(CIRCUIT)) == len(made.of_type(AZURE_GATEWAY)) == len(made.of_type(GATEWAY)) == 1
    assert made.invokes == []
    assert made.outputs["link"]["connected"] is False
    assert made.outputs["link"]["proof"]["awsNode"].endswith("--rtt-ms 5 --mtu 1400 --flows 32")
    order, routing, then = made.outputs["toDo"]
    assert order == (
        "order from your partner at Washington DC (DC): 1 hosted Direct Connect connection(s) of 10000 Mb/s for "
        "your AWS account, and 1 connection(s) of the same rate to the primary port of the circuit, with its "
        "service key (`pulumi stack output --show-secrets`)"
    )
    assert "AS 65001" in routing
    assert "no default route" in routing
    assert "`provisioned: true`" in then


SECOND: dict[str, Any] = {"provisioned": True, "manual": {"connectionIds": ["dxcon-00000007"], "vlans": [77]}}


def test_the_second_phase_uses_what_was_ordered() -> None:
    made = link(SECOND, base=MANUAL)
    assert made.outputs["link"]["connected"] is True
    assert made.outputs["toDo"] == []
    interface = made.one(INTERFACE).inputs
    assert (interface["connectionId"], interface["vlan"], interface["bgpAsnLong"]) == (
        "dxcon-00000007",
        77,
        "65001",
    )
    assert made.one(PEERING).inputs["peerASN"] == 65_001
    assert [one.token for one in made.invokes] == [CIRCUIT_STATE]


@pytest.mark.parametrize("state", ["NotProvisioned", "Provisioning", "Deprovisioning"])
def test_a_circuit_that_is_not_provisioned_gives_a_message_and_the_first_phase(state: str) -> None:
    made = link(SECOND, base=MANUAL, state=state)
    assert made.of_type(PEERING) == made.of_type(CONNECTION) == made.of_type(INTERFACE) == []
    assert (
        "warning",
        f"provisioned: the circuit is {state}, so this plan stops before the peering, as in the first phase. If the "
        "link was up before, it REMOVES its virtual interfaces, peering and connection: look at the plan. If not, give "
        "the service key to your partner and run `up` again when the circuit is Provisioned.",
    ) in made.messages


def test_a_circuit_that_is_not_where_the_login_looks_is_named() -> None:
    made = link(SECOND, base=MANUAL, state="Absent")
    (said,) = [text for _, text in made.messages if text.startswith("provisioned: ")]
    assert said.startswith(
        "provisioned: no circuit train-link-circuit is in gpu-fabric-test-train-link of the subscription that this "
        "login sees, so this plan is that of the first phase. If the link was up before, it REMOVES its"
    )


@pytest.mark.parametrize("state", ["NotProvisioned", "Deprovisioning"])
def test_a_live_link_stays_in_the_plan_whatever_state_its_circuit_says(state: str) -> None:
    made = link(SECOND, base=MANUAL, state=state, peered=True)
    alive = link(SECOND, base=MANUAL)
    assert sorted(one.name for one in made.custom) == sorted(one.name for one in alive.custom)
    assert (
        "warning",
        f"provisioned: the circuit is {state} and still has its private peering, so the link stays in this plan as it "
        "was. To take it down, drop `provisioned` and run `up` before your partner releases the circuit.",
    ) in made.messages


def test_a_connection_of_ones_own_needs_no_confirmation() -> None:
    change = {**SECOND, "manual": {**SECOND["manual"], "accept": False}}
    made = link(change, base=MANUAL)
    assert made.of_type(CONFIRMATION) == []
    assert made.one(INTERFACE).inputs["connectionId"] == "dxcon-00000007"


def test_the_native_interconnect_is_two_gateways_and_a_list_of_what_to_do() -> None:
    made = link({"partner": "native", "bandwidthMbps": 1_000}, base=MANUAL)
    assert made.of_type(CIRCUIT) == made.of_type(INTERFACE) == []
    assert (
        len(made.of_type(GATEWAY)) == len(made.of_type(AZURE_GATEWAY)) == len(made.of_type(ASSOCIATION)) == 1
    )
    first, second, last = made.outputs["toDo"]
    assert first.startswith(
        "AWS: create an interconnect to Azure eastus with 1000 Mb/s, attached to the Direct Connect gateway "
    )
    assert made.one(AZURE_GATEWAY).id in second
    assert "`provisioned: true`" in last
    assert made.outputs["serviceKey"] is None
    # Whether the clouds joined the ends is not known here, so it is not claimed.
    done = link({"partner": "native", "bandwidthMbps": 1_000, "provisioned": True}, base=MANUAL)
    assert done.outputs["toDo"] == []
    assert made.outputs["link"]["connected"] is done.outputs["link"]["connected"] is False


@pytest.mark.parametrize(("redundancy", "count"), [("none", 21), ("circuit", 30)])
def test_the_number_of_resources_is_that_of_the_page(redundancy: str, count: int) -> None:
    """docs/interconnect.md counts them."""
    made = [one for one in link({"redundancy": redundancy}).custom if one.name.startswith("train-link")]
    assert len(made) == count


class _Bridged(pulumi.CustomResource):
    """A resource of a bridged provider, as far as the component uses the SDK that `pulumi package add` writes."""

    token = ""
    returned: tuple[str, ...] = ()

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None, **given: Any) -> None:
        super().__init__(self.token, name, {**dict.fromkeys(self.returned), **given}, opts)

    def translate_input_property(self, prop: str) -> str:
        head, *rest = prop.split("_")
        return head + "".join(part.capitalize() for part in rest)

    def translate_output_property(self, prop: str) -> str:
        return "".join(f"_{char.lower()}" if char.isupper() else char for char in prop)


class _Mcr(_Bridged):
    token, returned = "megaport:index/mcr:Mcr", ("product_uid",)


class _Vxc(_Bridged):
    token, returned = "megaport:index/vxc:Vxc", ("product_uid",)


#: Megaport names its products by UUIDs.
UID = "00000000-0000-4000-8000-00000000000"
MEGAPORT = {
    "partner": "megaport",
    "bgpKeyFrom": "bgpKey",
    "megaport": {"locationId": 67, "awsProductUid": f"{UID}1", "azureProductUid": f"{UID}2"},
}


def test_megaport_is_told_how_to_be_had_where_its_sdk_is_missing() -> None:
    with pytest.raises(
        pulumi.RunError, match=r"pulumi package add terraform-provider megaport/megaport 1\.9\.1"
    ):
        link(MEGAPORT)


def test_megaport_has_routers_of_a_rate_that_it_sells_and_leaves_the_peering_to_azure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sdk = ModuleType("pulumi_megaport")
    sdk.Mcr, sdk.Vxc = _Mcr, _Vxc  # ty: ignore[missing-attribute]
    monkeypatch.setitem(sys.modules, "pulumi_megaport", sdk)
    made = link({**MEGAPORT, "bandwidthMbps": 2_000, "redundancy": "circuit"})
    routers = made.of_type(_Mcr.token)
    assert [(one.inputs["portSpeed"], one.inputs["asn"]) for one in routers] == [(2_500, 65_001)] * 2
    to_azure = inputs(made, _Vxc.token, "train-link-azure-1")
    assert to_azure["rateLimit"] == 2_000
    azure = to_azure["bEndPartnerConfig"]["azureConfig"]
    assert azure == {"serviceKey": arm.SERVICE_KEY, "portChoice": "secondary"}
    to_aws = inputs(made, _Vxc.token, "train-link-aws-0")["bEndPartnerConfig"]["awsConfig"]
    assert (to_aws["connectType"], to_aws["ownerAccount"]) == ("AWSHC", "123456789012")
    interface = inputs(made, INTERFACE, "train-link-interface-0")
    assert (interface["connectionId"], interface["vlan"]) == ("dxcon-megaport", 410)
    looked_up = [one.arguments["name"] for one in made.invokes if one.token == HOSTED]
    assert sorted(looked_up) == [f"gpu-fabric-test-train-link-aws-{number}" for number in (0, 1)]
    assert reaches(made, made.one(PEERING), named(made, _Vxc.token, "train-link-azure-1"))


def test_the_users_key_is_that_of_every_session() -> None:
    made = link({"bgpKeyFrom": "bgpKey"})
    assert made.one(INTERFACE).inputs["bgpAuthKey"] == BGP_KEY
    assert made.one(PEERING).inputs["sharedKey"] == BGP_KEY
    assert inputs(made, PROTOCOL, "train-link-aws-0-bgp")["bgpAuthKey"] == BGP_KEY
    assert inputs(made, PROTOCOL, "train-link-azure-0-bgp")["bgpAuthKey"] == BGP_KEY


VNET = "/subscriptions/s/resourceGroups/theirs/providers/Microsoft.Network/virtualNetworks/theirs"
ARGUMENTS: dict[str, Any] = {
    "partner": "equinix",
    "bandwidth_mbps": 10_000,
    "aws_account": "123456789012",
    "equinix": {"project_id": "00000000-0000-4000-8000-000000000001", "emails": ["network@example.com"]},
    "aws": {
        "region": "us-east-1",
        "vpc_id": "vpc-7",
        "vpc_cidr": "10.1.0.0/16",
        "subnet_id": "subnet-7",
        "subnet_cidr": "10.1.16.0/20",
    },
    "azure": {
        "location": "eastus",
        "virtual_network_id": VNET,
        "network_cidr": "10.2.0.0/16",
        "subnet_cidr": "10.2.16.0/20",
    },
    "aws_route_table_ids": ["rtb-7", "rtb-8"],
    "addresses": {"gateway_subnet_cidr": "10.2.0.0/27"},
}


def test_a_program_joins_networks_of_its_own() -> None:
    def program() -> None:
        CrossCloudInterconnect("own", ARGUMENTS)  # ty: ignore[invalid-argument-type]

    made = record(program, answers=ANSWERS)
    assert sorted(one.inputs["routeTableId"] for one in made.of_type(PROPAGATION)) == ["rtb-7", "rtb-8"]
    assert made.one(ASSOCIATION).inputs["allowedPrefixes"] == ["10.1.0.0/16"]
    subnet = made.one("azure-native:network:Subnet").inputs
    assert (subnet["resourceGroupName"], subnet["virtualNetworkName"]) == ("theirs", "theirs")
    assert made.of_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule") == []


def test_a_program_is_told_all_problems_in_its_own_spelling() -> None:
    wrong = {**ARGUMENTS, "bandwidth_mbps": 300, "rtt_ms": 9, "bgp_key": "correct-horse"}
    with pytest.raises(InvalidInputError) as refused:
        record(lambda: CrossCloudInterconnect("own", wrong) and None)  # ty: ignore[invalid-argument-type]
    paths = [".".join(map(str, one.path)) for one in refused.value.problems]
    assert sorted(paths) == ["bandwidth_mbps", "bgp_key", "rtt_ms"]
    assert "correct-horse" not in str(refused.value)


def test_every_name_of_the_link_on_azure_is_known_beforehand() -> None:
    """A lost answer then makes the second creation a refusal, and never a second circuit or gateway."""
    made = link()
    ours = [one for one in made.custom if one.type.startswith("azure-native:") and "link" in one.name]
    assert len(ours) == 7
    named_by = {
        "ResourceGroup": "resourceGroupName",
        "ExpressRouteCircuit": "circuitName",
        "Subnet": "subnetName",
        "PublicIPAddress": "publicIpAddressName",
        "VirtualNetworkGateway": "virtualNetworkGatewayName",
        "ExpressRouteCircuitPeering": "peeringName",
        "VirtualNetworkGatewayConnection": "virtualNetworkGatewayConnectionName",
    }
    for one in ours:
        assert one.inputs.get(named_by[one.type.rpartition(":")[2]]), one.type


def _anywhere(
    region: str,
    azure: str,
    sides: dict[str, Any],
    change: dict[str, Any],
    answers: dict[str, Any] | None = None,
) -> Recording:
    def program() -> dict[str, Any]:
        set_all_config({**CONFIG, "aws:region": region, "azure-native:location": azure}, [])
        fabric = {
            "aws": {**AWS, "zone": f"{region}a", **sides},
            "azure": {**AZURE, "location": azure},
            "interconnect": {**LINK, **change},
        }
        return GpuFabric("train", read_fabric(fabric)).exports()["interconnect"]

    try:
        return record(program, config=CONFIG, answers={**ANSWERS, **(answers or {})})
    finally:
        set_all_config({}, [])


def test_the_gateways_address_has_the_zones_of_its_region_and_none_where_there_are_none() -> None:
    address = "azure-native:network:PublicIPAddress"
    assert inputs(link(), address, "train-link-gateway")["zones"] == ["1", "2", "3"]
    made = _anywhere("us-east-2", "northcentralus", {}, {"rttMs": 3})
    assert "zones" not in inputs(made, address, "train-link-gateway")
    assert made.one(AZURE_GATEWAY).inputs["sku"] == {"name": "UltraPerformance", "tier": "UltraPerformance"}


def test_the_block_of_an_adopted_vpc_is_held_against_the_vpc_where_a_look_up_is_asked_for() -> None:
    network = {"vpcId": "vpc-1", "subnetId": "subnet-1", "subnetCidr": "10.40.16.0/20", "verify": True}
    change = {"awsRouteTableIds": ["rtb-1"], "awsVpcCidr": "10.40.0.0/16"}

    def answered(*blocks: str) -> dict[str, Any]:
        more = [{"cidrBlock": one, "associationId": one, "state": "associated"} for one in blocks]
        return {
            "aws:ec2/getSubnet:getSubnet": {"id": "subnet-1", "availabilityZone": "us-east-1a"},
            "aws:ec2/getVpc:getVpc": {
                "id": "vpc-1",
                "cidrBlock": blocks[0],
                "cidrBlockAssociations": more,
            },
        }

    for blocks in (("10.40.0.0/16",), ("10.9.0.0/16", "10.40.0.0/16"), ("10.40.16.0/20",)):
        made = _anywhere("us-east-1", "eastus", {"network": network}, change, answered(*blocks))
        assert made.one(ASSOCIATION).inputs["allowedPrefixes"] == ["10.40.0.0/16"]
    with pytest.raises(
        pulumi.RunError,
        match=r"awsVpcCidr: 10\.40\.0\.0/16 covers no block of vpc-1, which has 10\.32\.0\.0/12: ",
    ):
        _anywhere("us-east-1", "eastus", {"network": network}, change, answered("10.32.0.0/12"))


def test_an_adopted_vpc_announces_its_whole_block() -> None:
    adopted = {
        "network": {"vpcId": "vpc-1", "subnetId": "subnet-1", "subnetCidr": "10.40.16.0/20"},
    }
    change = {"awsRouteTableIds": ["rtb-1"], "awsVpcCidr": "10.40.0.0/16", "routeIsolation": True}
    made = _anywhere("us-east-1", "eastus", adopted, change)
    assert made.one(ASSOCIATION).inputs["allowedPrefixes"] == ["10.40.0.0/16"]
    rules = made.one("aws:ec2/networkAcl:NetworkAcl").inputs["egress"]
    assert [one["cidrBlock"] for one in rules if one["action"] == "allow"] == [
        "10.40.0.0/16",
        "10.200.16.0/20",
        "0.0.0.0/0",
    ]


def test_what_stands_on_something_that_is_replaced_has_a_property_that_comes_from_it() -> None:
    """The engine deletes first what would be replaced by a changed property, and what only waits it leaves."""
    made = link({"redundancy": "circuit"})
    replaced = {
        CIRCUIT: ["sku", "serviceProviderProperties"],
        PEERING: ["peerASN"],
        CONNECTION: ["peer", "virtualNetworkGateway1"],
        AZURE_GATEWAY: ["ipConfigurations"],
        FABRIC_CONNECTION: ["bandwidth", "aSide", "zSide", "project", "redundancy"],
        PROTOCOL: ["connectionUuid", "directIpv4"],
        "equinix:fabric/cloudRouter:CloudRouter": ["location", "project"],
        "aws:ec2/vpnGateway:VpnGateway": ["vpcId"],
    }
    for type_, properties in replaced.items():
        for one in made.of_type(type_):
            assert (list(one.replace_on_changes), one.delete_before_replace) == (properties, True), one.name
    for type_ in (GATEWAY, ASSOCIATION, INTERFACE):
        assert {one.delete_before_replace for one in made.of_type(type_)} == {True}, type_
    # Whoever connects by hand keeps the circuit, whose rate Azure raises in place.
    (kept,) = link(SECOND, base=MANUAL).of_type(CIRCUIT)
    assert list(kept.replace_on_changes) == [
        "serviceProviderProperties.peeringLocation",
        "serviceProviderProperties.serviceProviderName",
    ]
    assert kept.before_update == ("train-link-circuit: what Azure refuses of a circuit",)
    assert made.one(CIRCUIT).before_update == ()


def test_failure_detection_that_is_off_is_said_and_not_left_out() -> None:
    """The provider keeps what is left out, so that a session would keep what an earlier `up` had switched on."""
    made = link({"bfd": False})
    sessions = [one.inputs for one in made.of_type(PROTOCOL) if one.inputs["type"] == "BGP"]
    assert [one["bfd"] for one in sessions] == [{"enabled": False}] * 2


def test_a_connection_that_is_accepted_already_is_not_accepted_again() -> None:
    made = link({"equinix": {**LINK["equinix"], "accept": False}})
    assert made.of_type(CONFIRMATION) == []
    assert made.one(INTERFACE).inputs["connectionId"].startswith("dxcon-")


OFFERED: dict[str, Any] = {"provisioned": True, "manual": {"interfaceIds": ["dxvif-00000007"]}}


@pytest.mark.parametrize(
    ("gateway", "type_"),
    [
        (
            "virtualPrivate",
            "aws:directconnect/hostedPrivateVirtualInterfaceAccepter:HostedPrivateVirtualInterfaceAccepter",
        ),
        (
            "transit",
            "aws:directconnect/hostedTransitVirtualInterfaceAcceptor:HostedTransitVirtualInterfaceAcceptor",
        ),
    ],
)
def test_an_interface_that_the_partner_made_is_accepted_as_it_is(gateway: str, type_: str) -> None:
    made = link({**OFFERED, "awsGateway": gateway}, base=MANUAL)
    assert made.of_type(INTERFACE) == made.of_type(TRANSIT_INTERFACE) == made.of_type(CONFIRMATION) == []
    accepted = made.one(type_)
    assert accepted.inputs["virtualInterfaceId"] == "dxvif-00000007"
    assert accepted.inputs["dxGatewayId"] == made.one(GATEWAY).id
    assert reaches(made, accepted, made.one(ASSOCIATION))
    assert made.one(PEERING).inputs["peerASN"] == 65_001


@pytest.mark.parametrize(
    ("manual", "message"),
    [
        (
            {"interfaceIds": ["dxvif-00000007"], "vlans": [7]},
            "manual.interfaceIds: stands beside connections, on which this stack would make interfaces of its own; "
            "keep `interfaceIds` where your partner made the interfaces, else `connectionIds` and `vlans`",
        ),
        (
            {"interfaceIds": ["dxvif-00000007", "dxvif-00000008"]},
            "manual.interfaceIds: has 2 and must have 1 with `redundancy: none`; give one for each virtual interface "
            "that you ordered",
        ),
        (
            {"interfaceIds": ["dxcon-00000007"]},
            "manual.interfaceIds[0]: is not the id of a virtual interface of Direct Connect; give it as Direct Connect "
            "shows it, dxvif- and eight letters or digits",
        ),
    ],
)
def test_an_interface_of_the_partners_is_named_by_its_id_alone(manual: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        link({"provisioned": True, "manual": manual}, base=MANUAL)
    assert message in str(refused.value)
