"""The real engine against three simulated clouds at once: a private link by hand, up, unchanged, refused, down."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.simulated import ROOT, SimulatedStack

pytestmark = pytest.mark.engine

KEY = "correct-horse-battery"
# A link as somebody would write it by hand: one region of each cloud, one circuit, one router between them.
HAND_WRITTEN = """
import pulumi
import pulumi_aws as aws
import pulumi_azure_native as azure
import pulumi_equinix as equinix

settings = pulumi.Config("gpu-fabric").require_object("fabric")
key = pulumi.Output.secret(settings["key"])
after = pulumi.ResourceOptions

# Azure: the circuit first, for its service key.
group = azure.resources.ResourceGroup("train")
names = {"resource_group_name": group.name}
network = azure.network.VirtualNetwork("net", address_space={"address_prefixes": ["10.0.0.0/16"]}, **names)
door = azure.network.Subnet(
    "GatewaySubnet",
    subnet_name="GatewaySubnet",
    virtual_network_name=network.name,
    address_prefix="10.0.255.0/27",
    **names,
)
circuit = azure.network.ExpressRouteCircuit(
    "link",
    sku={"name": "Standard_MeteredData", "tier": "Standard", "family": "MeteredData"},
    service_provider_properties={
        "service_provider_name": "Equinix",
        "peering_location": "Washington DC",
        "bandwidth_in_mbps": 10000,
    },
    opts=after(ignore_changes=["serviceProviderProvisioningState"]),
    **names,
)

# Equinix: the router, and a line to each cloud.
notes = [{"type": "ALL", "emails": ["net@example.com"]}]
router = equinix.fabric.CloudRouter(
    "router",
    type="XF_ROUTER",
    location={"metro_code": "DC"},
    package={"code": "STANDARD"},
    project={"project_id": "291639000636552"},
    notifications=notes,
)


def line(name, z_side):
    return equinix.fabric.Connection(
        name,
        name=name,
        type="IP_VC",
        bandwidth=10000,
        notifications=notes,
        a_side={"access_point": {"type": "CLOUD_ROUTER", "router": {"uuid": router.id}}},
        z_side={"access_point": {"type": "SP", "location": {"metro_code": "DC"}, **z_side}},
    )


def profile(name):
    found = equinix.fabric.get_service_profiles(
        filter={"property": "/name", "operator": "=", "values": [name]}
    )
    return {"type": "L2_PROFILE", "uuid": found.data[0].uuid}


to_aws = line(
    "to-aws",
    {
        "profile": profile("AWS Direct Connect"),
        "authentication_key": "123456789012",
        "seller_region": "us-east-1",
    },
)
to_azure = line(
    "to-azure",
    {
        "profile": profile("Azure ExpressRoute"),
        "authentication_key": circuit.service_key,
        "peering_type": "PRIVATE",
    },
)


def sessions(name, connection, own, peer, asn):
    direct = equinix.fabric.RoutingProtocol(
        f"{name}-direct",
        connection_uuid=connection.id,
        type="DIRECT",
        direct_ipv4={"equinix_iface_ip": own},
    )
    equinix.fabric.RoutingProtocol(
        f"{name}-bgp",
        connection_uuid=connection.id,
        type="BGP",
        bgp_ipv4={"customer_peer_ip": peer},
        customer_asn=asn,
        bgp_auth_key=key,
        opts=after(depends_on=[direct]),
    )


sessions("aws", to_aws, "169.254.7.2/30", "169.254.7.1", 64512)
sessions("azure", to_azure, "192.168.15.17/30", "192.168.15.18", 12076)

# AWS: accept the hosted connection, then the interface.
vpc = aws.ec2.Vpc("net", cidr_block="10.100.0.0/16")
table = aws.ec2.RouteTable("routes", vpc_id=vpc.id)
vgw = aws.ec2.VpnGateway("vgw", vpc_id=vpc.id)
aws.ec2.VpnGatewayRoutePropagation("routes", route_table_id=table.id, vpn_gateway_id=vgw.id)
gateway = aws.directconnect.Gateway("dx", amazon_side_asn="64512")
aws.directconnect.GatewayAssociation("dx", dx_gateway_id=gateway.id, associated_gateway_id=vgw.id)
point = to_aws.z_side.access_point
accepted = aws.directconnect.ConnectionConfirmation("yes", connection_id=point.provider_connection_id)
vif = aws.directconnect.PrivateVirtualInterface(
    "vif",
    connection_id=accepted.connection_id,
    dx_gateway_id=gateway.id,
    vlan=point.link_protocol.vlan_tag,
    address_family="ipv4",
    amazon_address="169.254.7.1/30",
    customer_address="169.254.7.2/30",
    bgp_asn=router.equinix_asn,
    bgp_auth_key=key,
    mtu=settings.get("mtu", 1500),
)

# Azure again: what waits for the provider.
peering = azure.network.ExpressRouteCircuitPeering(
    "peering",
    circuit_name=circuit.name,
    peering_name="AzurePrivatePeering",
    peering_type="AzurePrivatePeering",
    peer_asn=router.equinix_asn,
    primary_peer_address_prefix="192.168.15.16/30",
    secondary_peer_address_prefix="192.168.15.20/30",
    vlan_id=200,
    shared_key=key,
    opts=after(depends_on=[to_azure]),
    **names,
)
ergw = azure.network.VirtualNetworkGateway(
    "gw",
    gateway_type="ExpressRoute",
    sku={"name": "ErGw3AZ", "tier": "ErGw3AZ"},
    ip_configurations=[{"name": "default", "subnet": {"id": door.id}}],
    **names,
)
linked = azure.network.VirtualNetworkGatewayConnection(
    "to-aws",
    connection_type="ExpressRoute",
    virtual_network_gateway1={"id": ergw.id},
    peer={"id": circuit.id},
    opts=after(depends_on=[peering]),
    **names,
)
pulumi.export("status", linked.connection_status)
"""


def configure(stack: SimulatedStack, **more: object) -> None:
    stack.configure({"key": KEY, **more}, **{"azure-native:location": "eastus"})


def states(stack: SimulatedStack) -> list[str]:
    line = [
        sys.executable,
        "-m",
        "gpu_fabric.rehearsal",
        "--database",
        str(stack.database),
        "sessions",
        "--json",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
    return [each["state"] for each in json.loads(done.stdout)]


def test_a_hand_written_link_lives_from_a_first_preview_to_three_empty_clouds(simulated: SimulatedStack):
    simulated.program(HAND_WRITTEN)
    configure(simulated)
    simulated.ok("preview")
    simulated.ok("up")
    assert simulated.outputs()["status"] == "Connected"
    assert states(simulated) == ["up", "up"]
    simulated.ok("refresh")
    simulated.ok("preview", "--expect-no-changes")
    for path in simulated.database.parent.glob(f"{simulated.database.name}*"):
        assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in json.dumps(simulated.exported())
    configure(simulated, mtu=8500)
    refused = simulated.run("preview")
    assert refused.returncode != 0
    assert "expected mtu to be one of [1500 9001], got 8500" in refused.stdout + refused.stderr
    configure(simulated)
    simulated.ok("destroy")
    assert [each["kind"] for each in simulated.holdings()] == []
