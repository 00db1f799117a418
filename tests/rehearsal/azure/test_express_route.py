"""ExpressRoute: service key first, provisioned later; what waits for it, what is refused, and the order of deletion."""

from __future__ import annotations

import json
import time

import pytest

from ..small_engine import Failed
from . import link as l
from .link import circuit, connection, gateway, gateway_subnet, linked, marked, peering, set_state
from .world import NETWORK, SECURITY_GROUP, SUBNET

ROUTING = "azure-docs expressroute-routing.md"
GATEWAYS = "azure-docs expressroute-about-virtual-network-gateways.md"
LINKING = "azure-docs expressroute-howto-linkvnet-arm.md"
LOCATIONS = "azure-docs expressroute-locations-providers.md"


# The life of a circuit


def test_a_circuit_comes_with_a_service_key_and_not_provisioned(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    assert len(made["serviceKey"]) == 36
    assert (made["circuitProvisioningState"], made["serviceProviderProvisioningState"]) == (
        "Enabled",
        "NotProvisioned",
    )


def test_a_peering_waits_until_the_provider_has_provisioned_the_circuit(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    for state in ("NotProvisioned", "Provisioning"):
        set_state(world, made, state)
        assert world.refused(l.PEERING, "peering", peering()) == marked(
            f"Circuit link is {state}: a peering can be configured once the connectivity provider has provisioned "
            f"service key {made['serviceKey']}.",
            "azure-docs expressroute-workflows.md; terraform-provider-azurerm#5342",
        )
    set_state(world, made, "Provisioned")
    there = world.up(l.PEERING, "peering", peering())
    assert (there["azureASN"], there["state"]) == (12076, "Enabled")
    assert world.engine.refresh("link")["serviceProviderProvisioningState"] == "Provisioned"
    assert [each["name"] for each in world.engine.resources["link"]["peerings"]] == [l.PRIVATE]
    # As with the real provider, the refreshed state is among the inputs until the program is applied again.
    again = {"resourceGroupName": "fabric", **circuit()}
    assert world.engine.diff(l.CIRCUIT, "link", again).changes == ["serviceProviderProvisioningState"]
    assert world.up(l.CIRCUIT, "link", circuit())["serviceProviderProvisioningState"] == "Provisioned"
    assert world.engine.diff(l.CIRCUIT, "link", again).changes == []


def test_a_circuit_stays_until_the_provider_lets_go(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    for state in ("Provisioned", "Deprovisioning"):
        set_state(world, made, state)
        with pytest.raises(Failed) as failed:
            world.engine.destroy("link")
        assert failed.value.text == (
            'Status=409 Code="ConflictError" Message="The specified dedicated circuit is not in Deprovisioned state. '
            'Please initiate the deprovisioning process with your service provider."'
        )
    set_state(world, made, "NotProvisioned")
    world.engine.destroy("link")


def test_an_update_leaves_the_state_as_it_is(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    set_state(world, made, "Provisioned")
    after = world.up(l.CIRCUIT, "link", circuit(tags={"a": "b"}))
    assert (after["serviceKey"], after["serviceProviderProvisioningState"]) == (
        made["serviceKey"],
        "Provisioned",
    )


# What a circuit may be


@pytest.mark.parametrize("bandwidth", [50, 10000])
def test_a_providers_circuit_has_a_speed_that_is_sold(world, bandwidth):
    of = lambda value: circuit(serviceProviderProperties={"bandwidthInMbps": value})  # noqa: E731
    assert world.refused(l.CIRCUIT, "bad", of(25000)) == marked(
        "bandwidthInMbps 25000 is none of 50, 100, 200, 500, 1000, 2000, 5000, 10000.",
        "azure-docs expressroute-faqs.md",
    )
    world.up(l.CIRCUIT, "good", of(bandwidth))


def test_the_local_tier_starts_at_one_gigabit(world):
    local = {"name": "Local_UnlimitedData", "tier": "Local", "family": "UnlimitedData"}
    assert world.refused(
        l.CIRCUIT, "bad", circuit(sku=local, serviceProviderProperties={"bandwidthInMbps": 500})
    ) == marked(
        "The Local tier starts at 1000 Mb/s; circuit link asks for 500.", "third party, DE-CIX: unverified"
    )
    world.up(l.CIRCUIT, "good", circuit(sku=local, serviceProviderProperties={"bandwidthInMbps": 1000}))


@pytest.mark.parametrize(
    ("change", "message", "source"),
    [
        (
            {"peeringLocation": "Ashburn"},
            "peeringLocation 'Ashburn' is not known. The simulation knows Washington DC, Washington DC2, Seattle, "
            "Quincy, Chicago, Silicon Valley, Dublin, Frankfurt, Frankfurt2, London, Tokyo, Tokyo2, Singapore, Sydney.",
            LOCATIONS,
        ),
        (
            {"peeringLocation": "Washington DC2"},
            "serviceProviderName 'Equinix' is not at Washington DC2. The simulation knows Megaport there.",
            LOCATIONS,
        ),
    ],
)
def test_a_provider_is_at_its_peering_locations(world, change, message, source):
    assert world.refused(l.CIRCUIT, "bad", circuit(serviceProviderProperties=change)) == marked(
        message, source
    )


def test_a_sku_is_named_after_tier_and_family(world):
    assert world.refused(l.CIRCUIT, "bad", circuit(sku={"name": "Premium_MeteredData"})) == marked(
        "sku.name 'Premium_MeteredData' is not 'Standard_MeteredData', which its tier and family make.",
        "Microsoft.Network 2024-05-01, ExpressRouteCircuitSku",
    )
    assert world.refused(l.CIRCUIT, "bad2", circuit(sku={"tier": "Gold"})) == marked(
        "sku.tier 'Gold' is none of Standard, Premium, Local.", "Microsoft.Network 2024-05-01"
    )


def test_a_circuit_has_a_provider_or_a_port(world):
    assert world.refused(l.CIRCUIT, "bad", circuit(serviceProviderProperties=None)) == marked(
        "Circuit link needs either serviceProviderProperties or expressRoutePort.",
        "Microsoft.Network 2024-05-01, ExpressRouteCircuitPropertiesFormat",
    )


def test_a_circuit_grows_and_does_not_shrink(world):
    at = lambda value: circuit(serviceProviderProperties={"bandwidthInMbps": value})  # noqa: E731
    world.up(l.CIRCUIT, "link", at(1000))
    world.up(l.CIRCUIT, "link", at(2000))
    with pytest.raises(Failed) as failed:
        world.up(l.CIRCUIT, "link", at(1000))
    assert failed.value.text == marked(
        "The bandwidth of circuit link cannot go down from 2000 to 1000 Mb/s: a new circuit is needed.",
        "azure-docs expressroute-howto-circuit-arm.md; terraform-provider-azurerm#3983",
    )


def test_unlimited_data_does_not_become_metered(world):
    sku = lambda family: {"name": f"Standard_{family}", "tier": "Standard", "family": family}  # noqa: E731
    world.up(l.CIRCUIT, "link", circuit())
    world.up(l.CIRCUIT, "link", circuit(sku=sku("UnlimitedData")))
    with pytest.raises(Failed) as failed:
        world.up(l.CIRCUIT, "link", circuit())
    assert failed.value.text == marked(
        "Circuit link cannot change from UnlimitedData to MeteredData.", "azure-docs expressroute-faqs.md"
    )


@pytest.mark.parametrize(("speed", "good", "bad"), [(10, 10, 100), (100, 100, 1)])
def test_a_port_of_ones_own_has_circuits_of_certain_speeds(world, speed, good, bad):
    made = world.up(l.PORT, "direct", l.port(speed))
    text = world.refused(l.CIRCUIT, "bad", l.direct(made, bad))
    assert f"bandwidthInGbps {bad} of circuit direct is none of" in text
    there = world.up(l.CIRCUIT, "good", l.direct(made, good))
    assert there["serviceProviderProvisioningState"] == "Provisioned"
    assert world.engine.refresh("direct")["provisionedBandwidthInGbps"] == good
    with pytest.raises(Failed, match="has circuits and cannot be deleted"):
        world.engine.destroy("direct")
    world.engine.destroy("good")
    world.engine.destroy("direct")


# The peering


@pytest.fixture
def provisioned(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    set_state(world, made, "Provisioned")
    return made


@pytest.mark.parametrize("asn", [65514, 65521, 1, 4294967295])
def test_an_asn_is_not_one_of_microsofts(world, provisioned, asn):
    for bad in (12076, 65515, 65520):
        assert world.refused(l.PEERING, "bad", peering(peerASN=bad)) == marked(
            f"peerASN {bad} is Microsoft's: 12076 and 65515 to 65520 are reserved.", ROUTING
        )
    assert world.up(l.PEERING, "good", peering(peerASN=asn))["peerASN"] == asn


def test_both_prefixes_are_there_of_30_bits_and_two(world, provisioned):
    assert world.refused(l.PEERING, "a", peering(primaryPeerAddressPrefix="192.168.15.16/29")) == marked(
        "primaryPeerAddressPrefix 192.168.15.16/29 is not a /30.", ROUTING
    )
    assert world.refused(l.PEERING, "b", peering(secondaryPeerAddressPrefix="192.168.15.16/30")) == marked(
        "Primary and secondary address prefix are both 192.168.15.16/30.", ROUTING
    )
    assert world.refused(l.PEERING, "c", peering(secondaryPeerAddressPrefix=None)) == marked(
        "secondaryPeerAddressPrefix is missing.", "Microsoft.Network 2024-05-01"
    )


@pytest.mark.parametrize("vlan", [1, 4094])
def test_a_peerings_vlan_lies_between_1_and_4094(world, provisioned, vlan):
    for bad in (0, 4095):
        assert world.refused(l.PEERING, "bad", peering(vlanId=bad)) == marked(
            f"vlanId {bad} is not between 1 and 4094.", ROUTING
        )
    world.up(l.PEERING, "good", peering(vlanId=vlan))


def test_a_key_of_the_peering_is_nowhere_in_database_or_answers(world, provisioned):
    made = world.up(l.PEERING, "peering", peering(sharedKey="hunter2hunter2"))
    assert "sharedKey" not in made.outputs
    store = world.engine.store
    assert "hunter2" not in json.dumps(store.dump())
    assert b"hunter2" not in b"".join(each.read_bytes() for each in store.path.parent.glob("clouds.db*"))
    same = {"resourceGroupName": "fabric", **peering(sharedKey="hunter2hunter2")}
    assert world.engine.diff(l.PEERING, "peering", same).changes == []
    assert world.engine.diff(l.PEERING, "peering", {**same, "sharedKey": "other"}).changes == ["sharedKey"]


# The gateway


def test_a_gateway_lies_in_the_subnet_of_that_name(world):
    assert world.refused(l.GATEWAY, "gw", gateway(world.subnet)) == marked(
        "Gateway gw must lie in a subnet named GatewaySubnet, not gpu.", GATEWAYS
    )


def test_a_gateway_subnet_of_27_bits_is_large_enough_and_one_of_28_is_not(world):
    small = gateway_subnet(world, "10.0.255.0/28")
    assert world.refused(l.GATEWAY, "gw", gateway(small)) == marked(
        "GatewaySubnet /28 is smaller than /27.", GATEWAYS
    )
    world.engine.destroy("GatewaySubnet")
    made = world.up(l.GATEWAY, "gw", gateway(gateway_subnet(world)))
    assert (made["provisioningState"], made["sku"]["name"]) == ("Succeeded", "ErGw3AZ")
    assert len(world.engine.refresh("GatewaySubnet")["ipConfigurations"]) == 1
    assert world.refused(
        l.GATEWAY, "two", gateway(world.engine.resources["GatewaySubnet"], virtualNetworkGatewayName="two")
    ) == marked(f"GatewaySubnet has ExpressRoute gateway {made.id} already.", GATEWAYS)


def test_a_gateway_subnet_has_no_security_group_no_default_route_and_keeps_propagation(world):
    group = world.up(SECURITY_GROUP, "nsg")
    assert "A network security group cannot be associated with GatewaySubnet." in world.refused(
        SUBNET,
        "GatewaySubnet",
        virtualNetworkName=world.network["name"],
        addressPrefix="10.0.255.0/27",
        networkSecurityGroup={"id": group.id},
    )
    table = world.up(l.TABLE, "rt", routeTableName="rt", disableBgpRoutePropagation=True)
    subnet = gateway_subnet(world, routeTable={"id": table.id})
    assert world.refused(l.GATEWAY, "gw", gateway(subnet)) == marked(
        "Route table rt of GatewaySubnet must not disable BGP route propagation.", GATEWAYS
    )
    world.up(l.TABLE, "rt", routeTableName="rt", disableBgpRoutePropagation=False)
    world.up(l.ROUTE, "out", routeTableName="rt", addressPrefix="0.0.0.0/0", nextHopType="Internet")
    assert world.refused(l.GATEWAY, "gw", gateway(subnet)) == marked(
        "Route table rt of GatewaySubnet must not have a route to 0.0.0.0/0.", GATEWAYS
    )
    world.engine.destroy("out")
    world.up(l.GATEWAY, "gw", gateway(subnet))


def test_a_scaled_gateway_says_its_units_and_has_its_regions(world):
    subnet = gateway_subnet(world)
    scale = lambda low, high: {"autoScaleConfiguration": {"bounds": {"min": low, "max": high}}}  # noqa: E731
    assert world.refused(l.GATEWAY, "gw", gateway(subnet, "ErGwScale")) == marked(
        "autoScaleConfiguration.bounds.min is missing.", "Microsoft.Network 2024-05-01"
    )
    for low, high, message in (
        (0, 4, "autoScaleConfiguration.bounds.min 0 is not between 1 and 40."),
        (1, 41, "autoScaleConfiguration.bounds.max 41 is not between 1 and 40."),
        (4, 2, "autoScaleConfiguration.bounds.min 4 is more than max 2."),
    ):
        assert world.refused(l.GATEWAY, "gw", gateway(subnet, "ErGwScale", **scale(low, high))) == marked(
            message, GATEWAYS
        )
    assert world.refused(l.GATEWAY, "gw", gateway(subnet, "ErGw1AZ", **scale(1, 2))) == marked(
        "autoScaleConfiguration belongs to ErGwScale; gateway gw is ErGw1AZ.", GATEWAYS
    )
    assert world.refused(
        l.GATEWAY, "gw", gateway(subnet, "ErGwScale", location="eastus2", **scale(1, 40))
    ) == marked("ErGwScale is not offered in eastus2.", GATEWAYS)
    world.up(l.GATEWAY, "gw", gateway(subnet, "ErGwScale", **scale(1, 40)))


@pytest.mark.parametrize(
    ("of", "to", "ways"),
    [
        ("ErGw1AZ", "ErGw2AZ", None),
        ("ErGw1AZ", "ErGw3AZ", None),
        ("ErGw2AZ", "ErGw1AZ", None),
        ("HighPerformance", "Standard", None),
        ("Standard", "UltraPerformance", None),
        ("ErGw2AZ", "UltraPerformance", "ErGw1AZ or ErGw3AZ"),
        ("ErGw3AZ", "ErGw2AZ", "no other size"),
        ("UltraPerformance", "Standard", "no other size"),
    ],
)
def test_a_gateway_changes_its_size_in_some_steps(world, of, to, ways):
    subnet = gateway_subnet(world)
    world.up(l.GATEWAY, "gw", gateway(subnet, of))
    if ways is None:
        world.up(l.GATEWAY, "gw", gateway(subnet, to))
        return
    with pytest.raises(Failed) as failed:
        world.up(l.GATEWAY, "gw", gateway(subnet, to))
    assert failed.value.text == marked(
        f"Gateway gw cannot change from {of} to {to}, only to {ways}.", GATEWAYS
    )


def test_a_gateway_that_takes_longer_than_the_program_allows_is_half_made_and_gets_ready(
    world, faults, monkeypatch
):
    made = world.up(l.CIRCUIT, "link", circuit())
    set_state(world, made, "Provisioned")
    world.up(l.PEERING, "peering", peering())
    faults(quota=[{"name": "expressRouteGatewaySeconds", "value": 2400}])
    inputs = {"resourceGroupName": "fabric", **gateway(gateway_subnet(world))}
    checked = world.engine.check(l.GATEWAY, "gw", inputs)
    from pulumi.runtime.proto import provider_pb2

    from gpu_fabric.rehearsal.core.values import to_struct

    from ..small_engine import Context

    with pytest.raises(Failed) as failed:
        world.engine.provider.Create(
            provider_pb2.CreateRequest(
                urn=world.engine.urn(l.GATEWAY, "gw"), properties=to_struct(checked), timeout=1800
            ),
            Context(),
        )
    assert "context deadline exceeded: its provisioningState is Updating" in failed.value.text
    failed.value.inputs = checked
    half = world.engine.known_from(failed.value, l.GATEWAY, "gw")
    world.engine.resources["gw"] = half
    assert world.refused(l.CONNECTION, "c", connection(half, made)) == marked(
        "Virtual network gateway gw is Updating.", GATEWAYS, "AnotherOperationInProgress", 429
    )
    later = time.time() + 2401
    monkeypatch.setattr(time, "time", lambda: later)
    assert world.engine.refresh("gw")["provisioningState"] == "Succeeded"
    world.up(l.CONNECTION, "c", connection(half, made))


# The connection


def test_a_connection_waits_for_the_provider_and_the_peering(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    there = world.up(l.GATEWAY, "gw", gateway(gateway_subnet(world)))
    assert world.refused(l.CONNECTION, "c", connection(there, made)) == marked(
        "Circuit link is NotProvisioned: a connection needs one that the connectivity provider has provisioned.",
        LINKING,
    )
    set_state(world, made, "Provisioned")
    assert world.refused(l.CONNECTION, "c", connection(there, made)) == marked(
        "Circuit link has no AzurePrivatePeering: a connection needs it.", LINKING
    )
    world.up(l.PEERING, "peering", peering())
    linked = world.up(l.CONNECTION, "c", connection(there, made))
    assert linked["connectionStatus"] == "Connected"
    assert world.refused(
        l.CONNECTION, "d", connection(there, made, virtualNetworkGatewayConnectionName="d")
    ) == marked("Gateway gw and circuit link are connected already.", LINKING, status=409)
    set_state(world, made, "NotProvisioned")
    assert world.engine.refresh("c")["connectionStatus"] == "NotConnected"


def test_deletion_goes_from_the_connection_to_the_circuit(world):
    there, made = linked(world)
    made_connection = world.up(l.CONNECTION, "c", connection(there, made))
    for name, message in (
        ("peering", f"is in use by {made_connection.id} and cannot be deleted."),
        ("gw", f"is in use by {made_connection.id} and cannot be deleted."),
        ("link", f"is linked to {made_connection.id} and cannot be deleted."),
        ("GatewaySubnet", "is in use by"),
    ):
        with pytest.raises(Failed, match=r"409|InUseSubnet") as failed:
            world.engine.destroy(name)
        assert message in failed.value.text
    for name in ("c", "gw", "GatewaySubnet", "peering"):
        world.engine.destroy(name)
    set_state(world, made, "NotProvisioned")
    world.engine.destroy("link")


@pytest.mark.parametrize(
    ("location", "region", "message"),
    [
        (
            "Washington DC",
            "westus2",
            "A Local circuit at Washington DC reaches eastus, eastus2, not westus2.",
        ),
        ("Washington DC", "eastus2", None),
    ],
)
def test_a_local_circuit_reaches_its_own_regions(world, location, region, message):
    local = {"name": "Local_UnlimitedData", "tier": "Local", "family": "UnlimitedData"}
    made = world.up(
        l.CIRCUIT, "link", circuit(sku=local, serviceProviderProperties={"peeringLocation": location})
    )
    set_state(world, made, "Provisioned")
    world.up(l.PEERING, "peering", peering())
    assert message == far_gateway(world, made, region)


def far_gateway(world, made, region: str) -> str | None:
    """What a connection from another region's gateway is told; None where it is made."""
    net = world.up(NETWORK, "far", location=region, addressSpace={"addressPrefixes": ["10.7.0.0/16"]})
    subnet = world.up(
        SUBNET,
        "far-gw",
        virtualNetworkName=net["name"],
        subnetName="GatewaySubnet",
        addressPrefix="10.7.0.0/27",
    )
    there = world.up(l.GATEWAY, "gw", gateway(subnet, location=region))
    inputs = connection(there, made, location=region)
    try:
        world.up(l.CONNECTION, "c", inputs)
    except Failed as failed:
        return failed.text.partition('Message="')[2].partition(" [rule")[0]
    return None


@pytest.mark.parametrize(
    ("tier", "message"),
    [
        (
            "Standard",
            "A Standard circuit at Washington DC reaches the regions of North America; northeurope needs Premium.",
        ),
        ("Premium", None),
    ],
)
def test_a_standard_circuit_reaches_its_area_and_a_premium_one_the_world(world, tier, message):
    made = world.up(l.CIRCUIT, "link", circuit(sku={"name": f"{tier}_MeteredData", "tier": tier}))
    set_state(world, made, "Provisioned")
    world.up(l.PEERING, "peering", peering())
    assert far_gateway(world, made, "northeurope") == message


@pytest.mark.parametrize(
    ("sku", "low", "message"),
    [
        ("ErGw2AZ", None, "gateway gw is ErGw2AZ."),
        ("ErGwScale", 9, "gateway gw is ErGwScale with 9 units."),
        ("ErGwScale", 10, None),
        ("ErGw3AZ", None, None),
    ],
)
def test_fastpath_needs_a_large_gateway(world, sku, low, message):
    made = world.up(l.CIRCUIT, "link", circuit())
    set_state(world, made, "Provisioned")
    world.up(l.PEERING, "peering", peering())
    scale = {"autoScaleConfiguration": {"bounds": {"min": low, "max": 20}}} if low else {}
    there = world.up(l.GATEWAY, "gw", gateway(gateway_subnet(world), sku, **scale))
    inputs = connection(there, made, expressRouteGatewayBypass=True)
    if message is None:
        assert world.up(l.CONNECTION, "c", inputs)["expressRouteGatewayBypass"] is True
    else:
        assert world.refused(l.CONNECTION, "c", inputs) == marked(
            f"FastPath needs UltraPerformance, ErGw3AZ, or ErGwScale with 10 units; {message}",
            "azure-docs about-fastpath.md",
        )


def test_a_small_gateway_takes_four_circuits(world):
    there = world.up(l.GATEWAY, "gw", gateway(gateway_subnet(world), "ErGw1AZ"))
    for at in range(5):
        made = world.up(l.CIRCUIT, f"c{at}", circuit(circuitName=f"c{at}"))
        set_state(world, made, "Provisioned")
        world.up(l.PEERING, f"p{at}", peering(circuitName=f"c{at}"))
        inputs = connection(there, made, virtualNetworkGatewayConnectionName=f"to{at}")
        if at < 4:
            world.up(l.CONNECTION, f"to{at}", inputs)
        else:
            assert world.refused(l.CONNECTION, "to4", inputs) == marked(
                "Gateway gw of ErGw1AZ has 4 circuits already.", GATEWAYS
            )


# Authorizations


def test_an_authorization_key_opens_its_own_circuit_once_and_is_kept_nowhere(world):
    there, made = linked(world)
    grant = world.up(l.AUTHORIZATION, "grant", circuitName="link")
    key = grant["authorizationKey"]
    assert repr(grant.outputs["authorizationKey"]).startswith("Secret(")
    assert key not in json.dumps(world.engine.store.dump())
    assert world.refused(l.CONNECTION, "c", connection(there, made, authorizationKey="nonsense")) == marked(
        "The authorization key of connection to-aws is none of circuit link.", LINKING
    )
    linked_one = world.up(l.CONNECTION, "c", connection(there, made, authorizationKey=key))
    assert "authorizationKey" not in linked_one.outputs
    assert key not in json.dumps(world.engine.store.dump())
    after = world.engine.refresh("grant")
    assert (after["authorizationUseStatus"], after["authorizationKey"]) == ("InUse", key)
    with pytest.raises(Failed, match="is in use by"):
        world.engine.destroy("grant")
    world.engine.destroy("c")
    world.engine.destroy("grant")


# Route tables


def test_routes_inside_and_beside_the_table_are_the_same_routes(world):
    hop = {"nextHopType": "VirtualNetworkGateway"}
    world.up(
        l.TABLE, "rt", routeTableName="rt", routes=[{"name": "aws", "addressPrefix": "10.100.0.0/16", **hop}]
    )
    assert "Route aws of the same table has address prefix 10.100.0.0/16 already." in world.refused(
        l.ROUTE, "again", routeTableName="rt", addressPrefix="10.100.0.0/16", **hop
    )
    world.up(l.ROUTE, "more", routeTableName="rt", addressPrefix="10.101.0.0/16", **hop)
    assert [each["name"] for each in world.engine.refresh("rt")["routes"]] == ["aws", "more"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"nextHopType": "Gateway"},
            "nextHopType 'Gateway' is none of VirtualNetworkGateway, VnetLocal, Internet, VirtualAppliance, None.",
        ),
        (
            {"nextHopType": "VirtualAppliance"},
            "Route bad has next hop VirtualAppliance: nextHopIpAddress belongs to VirtualAppliance, and only to it.",
        ),
        (
            {"nextHopType": "Internet", "nextHopIpAddress": "10.0.0.4"},
            "Route bad has next hop Internet: nextHopIpAddress belongs to VirtualAppliance, and only to it.",
        ),
    ],
)
def test_a_route_that_leads_nowhere_is_refused(world, change, message):
    world.up(l.TABLE, "rt", routeTableName="rt")
    assert message in world.refused(
        l.ROUTE, "bad", routeTableName="rt", addressPrefix="10.9.0.0/16", **change
    )
    world.up(
        l.ROUTE,
        "good",
        routeTableName="rt",
        addressPrefix="10.9.0.0/16",
        nextHopType="VirtualAppliance",
        nextHopIpAddress="10.0.0.4",
    )


def test_a_table_in_use_stays(world):
    table = world.up(l.TABLE, "rt", routeTableName="rt")
    world.up(
        SUBNET,
        "routed",
        virtualNetworkName=world.network["name"],
        addressPrefix="10.0.9.0/24",
        routeTable={"id": table.id},
    )
    assert len(world.engine.refresh("rt")["subnets"]) == 1
    with pytest.raises(Failed, match="InUseRouteTableCannotBeDeleted"):
        world.engine.destroy("rt")
    world.engine.destroy("routed")
    world.engine.destroy("rt")


# Look-ups


def test_a_look_up_sees_what_the_provider_did(world):
    made = world.up(l.CIRCUIT, "link", circuit())
    look = lambda: world.engine.invoke(  # noqa: E731
        "azure-native:network:getExpressRouteCircuit", resourceGroupName="fabric", circuitName="LINK"
    )
    assert look()["serviceProviderProvisioningState"] == "NotProvisioned"
    set_state(world, made, "Provisioned")
    assert look()["serviceProviderProvisioningState"] == "Provisioned"
    with pytest.raises(Failed, match="ResourceNotFound"):
        world.engine.invoke(
            "azure-native:network:getVirtualNetworkGateway",
            resourceGroupName="fabric",
            virtualNetworkGatewayName="none",
        )
