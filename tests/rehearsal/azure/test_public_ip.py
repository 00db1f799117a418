"""Public addresses and prefixes, NAT gateways and Bastion."""

from __future__ import annotations

import pytest

from ..small_engine import Failed
from .world import ADDRESS, BASTION, NAT, PREFIX, SUBNET

SIMULATED = "the wording is the simulation's]"
STANDARD = {"sku": {"name": "Standard"}}
STATIC = {**STANDARD, "publicIPAllocationMethod": "Static"}
NAT_DOCS = f"[rule: azure-docs nat-gateway/nat-gateway-resource.md; {SIMULATED}"


def test_an_address_comes_from_a_range_that_no_real_host_has(world):
    assert world.up(ADDRESS, "one", STATIC)["ipAddress"] == "203.0.113.1"
    assert world.up(ADDRESS, "two", STATIC)["ipAddress"] == "203.0.113.2"


def test_a_basic_address_is_refused_since_they_are_retired(world):
    for inputs in ({}, {"sku": {"name": "Basic"}, "publicIPAllocationMethod": "Dynamic"}):
        assert world.refused(ADDRESS, "bad", inputs) == (
            'Status=400 Code="IPv4BasicSkuPublicIpCountLimitReached" Message="Cannot create more than 0 IPv4 Basic '
            'SKU public IP addresses for this subscription in this region."'
        )


def test_a_standard_address_is_static(world):
    text = world.refused(
        ADDRESS, "bad", STANDARD, publicIpAddressName="bad", publicIPAllocationMethod="Dynamic"
    )
    assert text == (
        'Status=400 Code="BadRequest" Message="Public IP address bad of SKU Standard must have '
        f'publicIPAllocationMethod Static. [rule: azure-docs ip-services/public-ip-addresses.md; {SIMULATED}"'
    )


def test_a_zone_that_the_location_has_not_is_refused(world):
    text = world.refused(ADDRESS, "bad", STATIC, publicIpAddressName="bad", zones=["1", "4"])
    id = f"{world.group.id}/providers/Microsoft.Network/publicIPAddresses/bad"
    assert text == (
        f"Status=400 Code=\"AvailabilityZoneNotSupported\" Message=\"The zone(s) '4' for resource '{id}' is not "
        "supported. The supported zones for location 'eastus' are '1,2,3'\""
    )
    assert "supported zones for location 'westus' are ''" in world.refused(
        ADDRESS, "bad", STATIC, location="westus", zones=["1"]
    )
    world.up(ADDRESS, "zonal", STATIC, zones=["1", "2", "3"])


def test_another_sku_or_prefix_replaces_an_address_and_a_tag_does_not(world):
    world.up(ADDRESS, "ip", STATIC)
    given = {"resourceGroupName": "fabric", **STATIC}
    assert world.engine.diff(ADDRESS, "ip", {**given, "sku": {"name": "StandardV2"}}).replaces == ["sku.name"]
    assert world.engine.diff(ADDRESS, "ip", {**given, "publicIPPrefix": {"id": "x"}}).replaces == [
        "publicIPPrefix"
    ]
    assert world.engine.diff(ADDRESS, "ip", {**given, "tags": {"a": "b"}}).replaces == []


@pytest.mark.parametrize("length", [27, 32])
def test_a_prefix_has_28_to_31_bits(world, length):
    assert world.refused(PREFIX, "bad", STANDARD, prefixLength=length) == (
        f'Status=400 Code="BadRequest" Message="prefixLength {length} is not between 28 and 31. [rule: azure-docs '
        f'ip-services/public-ip-address-prefix.md; {SIMULATED}"'
    )
    for border in (28, 31):
        made = world.up(PREFIX, f"p{border}", STANDARD, prefixLength=border)
        assert made["ipPrefix"].startswith("198.51.100.") and made["ipPrefix"].endswith(f"/{border}")


def test_a_prefix_gives_its_addresses_one_by_one_and_then_no_more(world):
    prefix = world.up(PREFIX, "out", STANDARD, prefixLength=31)
    for name in ("one", "two"):
        world.up(ADDRESS, name, STATIC, publicIPPrefix={"id": prefix.id})
    assert [world.engine.resources[name]["ipAddress"] for name in ("one", "two")] == [
        "198.51.100.0",
        "198.51.100.1",
    ]
    assert world.refused(ADDRESS, "three", STATIC, publicIPPrefix={"id": prefix.id}) == (
        f'Status=400 Code="BadRequest" Message="Public IP prefix {prefix.id} has no free address. [rule: azure-docs '
        f'ip-services/public-ip-address-prefix.md; {SIMULATED}"'
    )


def test_a_prefix_cannot_be_resized_or_deleted_while_it_is_used(world):
    prefix = world.up(PREFIX, "out", STANDARD, prefixLength=31)
    gateway = world.up(NAT, "nat", STANDARD, publicIpPrefixes=[{"id": prefix.id}])
    assert world.refused(PREFIX, "out", STANDARD, prefixLength=30).startswith(
        f'Status=400 Code="BadRequest" Message="prefixLength of {prefix.id} cannot be changed from 31 to 30. '
    )
    with pytest.raises(Failed) as failed:
        world.engine.destroy("out")
    assert failed.value.text == (
        f'Status=400 Code="BadRequest" Message="Public IP prefix {prefix.id} cannot be deleted since it is still '
        f'allocated to {gateway.id}. [rule: azure-docs ip-services/manage-public-ip-address-prefix.md; {SIMULATED}"'
    )
    world.engine.destroy("nat")
    world.engine.destroy("out")


def test_an_address_cannot_be_deleted_while_it_is_used(world):
    address = world.up(ADDRESS, "ip", STATIC)
    gateway = world.up(NAT, "nat", STANDARD, publicIpAddresses=[{"id": address.id}])
    with pytest.raises(Failed) as failed:
        world.engine.destroy("ip")
    assert failed.value.text == (
        f'Status=400 Code="PublicIPAddressCannotBeDeleted" Message="Public IP address {address.id} can not be deleted '
        f"since it is still allocated to resource {gateway.id}. In order to delete the public IP, disassociate/detach "
        'the Public IP address from the resource.  To learn how to do this, see aka.ms/deletepublicip."'
    )


def test_a_nat_gateway_needs_a_sku(world):
    assert world.refused(NAT, "bad") == (
        'Status=400 Code="BadRequest" Message="sku.name \'None\' is none of Standard, StandardV2. [rule: '
        f'Microsoft.Network 2024-05-01; {SIMULATED}"'
    )


@pytest.mark.parametrize("minutes", [4, 120])
def test_a_nat_gateway_forgets_idle_connections_after_4_to_120_minutes(world, minutes):
    for bad in (3, 121):
        assert world.refused(NAT, "bad", STANDARD, idleTimeoutInMinutes=bad) == (
            f'Status=400 Code="BadRequest" Message="idleTimeoutInMinutes {bad} is not between 4 and 120. {NAT_DOCS}"'
        )
    assert world.up(NAT, "nat", STANDARD, idleTimeoutInMinutes=minutes)["idleTimeoutInMinutes"] == minutes


def test_a_nat_gateway_lies_in_one_zone(world):
    text = world.refused(NAT, "bad", STANDARD, natGatewayName="bad", zones=["1", "2"])
    assert text == (
        'Status=400 Code="BadRequest" Message="NAT gateway bad of SKU Standard can be in one zone, not in 1, 2. '
        f'{NAT_DOCS}"'
    )
    world.up(NAT, "zonal", STANDARD, zones=["1"])


def test_a_nat_gateway_has_at_most_16_addresses(world):
    sixteen = world.up(PREFIX, "sixteen", STANDARD, prefixLength=28)
    one = world.up(ADDRESS, "one", STATIC)
    text = world.refused(
        NAT,
        "bad",
        STANDARD,
        natGatewayName="bad",
        publicIpPrefixes=[{"id": sixteen.id}],
        publicIpAddresses=[{"id": one.id}],
    )
    assert text == (
        'Status=400 Code="BadRequest" Message="NAT gateway bad would have 17 public addresses, more than 16. '
        f'{NAT_DOCS}"'
    )
    world.up(NAT, "border", STANDARD, publicIpPrefixes=[{"id": sixteen.id}])


def test_a_nat_gateway_in_use_cannot_be_deleted(world):
    gateway = world.up(NAT, "nat", STANDARD)
    private = world.up(
        SUBNET,
        "private",
        virtualNetworkName=world.network["name"],
        addressPrefix="10.0.1.0/24",
        natGateway={"id": gateway.id},
    )
    assert world.engine.refresh("nat")["subnets"] == [{"id": private.id}]
    with pytest.raises(Failed) as failed:
        world.engine.destroy("nat")
    assert failed.value.text == (
        f'Status=400 Code="InUseNatGatewayCannotBeDeleted" Message="Nat gateway {gateway.id} cannot be deleted because '
        f'it is in use by the following resources: {private.id}. Take it from the subnets first. {NAT_DOCS}"'
    )
    world.engine.destroy("private")
    world.engine.destroy("nat")


# Bastion


def bastion(world, subnet_id: str) -> dict:
    address = world.up(ADDRESS, "door", STATIC)
    return {
        "bastionHostName": "bastion",
        "ipConfigurations": [
            {"name": "door", "subnet": {"id": subnet_id}, "publicIPAddress": {"id": address.id}}
        ],
    }


def test_a_bastion_lies_in_the_subnet_of_its_name_and_holds_an_address_there(world):
    door = world.up(
        SUBNET, "AzureBastionSubnet", virtualNetworkName=world.network["name"], addressPrefix="10.0.1.0/26"
    )
    made = world.up(BASTION, "bastion", bastion(world, door.id))
    assert made["scaleUnits"] == 2 and made["dnsName"].endswith(".bastion.azure.com")
    assert world.engine.refresh("door")["ipConfiguration"] == {"id": made.id}
    for name, code in (
        ("AzureBastionSubnet", "InUseSubnetCannotBeDeleted"),
        ("door", "PublicIPAddressCannotBeDeleted"),
    ):
        with pytest.raises(Failed, match=code):
            world.engine.destroy(name)
    world.engine.destroy("bastion")
    world.engine.destroy("AzureBastionSubnet")


def test_a_bastion_in_another_subnet_is_refused(world):
    assert world.refused(BASTION, "bastion", bastion(world, world.subnet.id)) == (
        'Status=400 Code="BadRequest" Message="Bastion bastion must lie in a subnet named AzureBastionSubnet. [rule: '
        f'azure-docs bastion/configuration-settings.md; {SIMULATED}"'
    )


def test_a_developer_bastion_names_a_network_and_no_subnet(world):
    sku = {"sku": {"name": "Developer"}}
    assert world.refused(BASTION, "bad", sku) == (
        'Status=400 Code="BadRequest" Message="virtualNetwork is missing. [rule: Microsoft.Network 2024-05-01; '
        f'{SIMULATED}"'
    )
    world.up(BASTION, "developer", sku, virtualNetwork={"id": world.network.id})
