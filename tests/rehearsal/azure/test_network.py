"""Virtual networks, subnets in both ways of writing them, security groups: what Azure refuses and what it keeps."""

from __future__ import annotations

import pytest

from ..small_engine import Failed
from .world import INTERFACE, NAT, NETWORK, PREFIX, SECURITY_GROUP, SECURITY_RULE, SUBNET, World

SIMULATED = "the wording is the simulation's]"


def subnet(world: World, name: str, prefix: str | None, **more):
    return world.up(SUBNET, name, virtualNetworkName=world.network["name"], addressPrefix=prefix, **more)


def refused_subnet(world: World, name: str, prefix: str | None, **more) -> str:
    return world.refused(SUBNET, name, virtualNetworkName=world.network["name"], addressPrefix=prefix, **more)


def network(*subnets: dict, **more) -> dict:
    return {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]}, "subnets": list(subnets), **more}


# Address ranges


def test_a_network_without_a_range_is_refused(world):
    assert world.refused(NETWORK, "bad", addressSpace={}) == (
        'Status=400 Code="BadRequest" Message="addressSpace.addressPrefixes is missing. [rule: Microsoft.Network '
        f'2024-05-01; {SIMULATED}"'
    )


@pytest.mark.parametrize(
    ("prefix", "code", "message"),
    [
        (
            "10.1.0.1/16",
            "InvalidCIDRNotation",
            "The address prefix 10.1.0.1/16 in resource {id} has an invalid CIDR notation. For the given prefix "
            "length, the address prefix should be 10.1.0.0/16.",
        ),
        (
            "10.1/16",
            "InvalidAddressPrefixFormat",
            "Address prefix 10.1/16 of resource {id} is not formatted correctly. It should follow CIDR notation, for "
            "example 10.0.0.0/24.",
        ),
    ],
)
def test_a_range_that_is_none_is_refused(world, prefix, code, message):
    id = f"{world.group.id}/providers/Microsoft.Network/virtualNetworks/bad"
    text = world.refused(NETWORK, "bad", virtualNetworkName="bad", addressSpace={"addressPrefixes": [prefix]})
    assert text == f'Status=400 Code="{code}" Message="{message.format(id=id)}"'


def test_two_ranges_of_one_network_may_touch_and_not_overlap(world):
    spaces = {"addressPrefixes": ["10.1.0.0/16", "10.1.128.0/17"]}
    assert world.refused(NETWORK, "bad", virtualNetworkName="bad", addressSpace=spaces) == (
        'Status=400 Code="BadRequest" Message="Address prefix 10.1.128.0/17 of virtual network \'bad\' overlaps '
        f'another of its prefixes. [rule: azure-docs virtual-networks-faq.md; {SIMULATED}"'
    )
    world.up(NETWORK, "good", addressSpace={"addressPrefixes": ["10.1.0.0/17", "10.1.128.0/17"]})


def test_a_subnet_outside_the_network_is_refused_and_one_at_its_edge_is_not(world):
    assert refused_subnet(world, "bad", "10.1.0.0/24") == (
        'Status=400 Code="NetcfgSubnetRangeOutsideVnet" Message="Subnet \'bad\' is not valid because its IP address '
        f"range is outside the IP address range of virtual network '{world.network['name']}'.\""
    )
    assert subnet(world, "edge", "10.0.255.0/24")["addressPrefix"] == "10.0.255.0/24"


def test_a_subnet_over_another_is_refused_and_one_beside_it_is_not(world):
    assert refused_subnet(world, "bad", "10.0.0.128/25") == (
        'Status=400 Code="NetcfgSubnetRangesOverlap" Message="Subnet \'bad\' is not valid because its IP address '
        f"range overlaps with that of an existing subnet in virtual network '{world.network['name']}'.\""
    )
    subnet(world, "beside", "10.0.1.0/25")


def test_the_smallest_subnet_has_29_bits(world):
    assert refused_subnet(world, "bad", "10.0.1.0/30") == (
        'Status=400 Code="NetcfgInvalidSubnet" Message="Subnet \'bad\' is not valid in virtual network '
        f"'{world.network['name']}'.\""
    )
    subnet(world, "smallest", "10.0.1.0/29")


def test_a_subnet_without_a_range_is_refused(world):
    assert refused_subnet(world, "bad", None) == (
        'Status=400 Code="BadRequest" Message="Subnet \'bad\' has neither addressPrefix nor addressPrefixes. [rule: '
        f'Microsoft.Network 2024-05-01, SubnetPropertiesFormat; {SIMULATED}"'
    )
    both = world.up(SUBNET, "list", virtualNetworkName=world.network["name"], addressPrefixes=["10.0.1.0/24"])
    assert both["addressPrefixes"] == ["10.0.1.0/24"]


def test_the_bastions_subnet_has_at_most_26_bits(world):
    assert refused_subnet(world, "AzureBastionSubnet", "10.0.1.0/27") == (
        'Status=400 Code="BadRequest" Message="AzureBastionSubnet 10.0.1.0/27 is smaller than /26. [rule: azure-docs '
        f'bastion/configuration-settings.md; {SIMULATED}"'
    )
    subnet(world, "AzureBastionSubnet", "10.0.1.0/26")


def test_the_gateways_subnet_has_no_security_group(world):
    group = world.up(SECURITY_GROUP, "sg")
    text = refused_subnet(world, "GatewaySubnet", "10.0.1.0/27", networkSecurityGroup={"id": group.id})
    assert text == (
        'Status=400 Code="BadRequest" Message="A network security group cannot be associated with GatewaySubnet. '
        f'[rule: azure-docs expressroute/expressroute-about-virtual-network-gateways.md; {SIMULATED}"'
    )
    subnet(world, "GatewaySubnet", "10.0.1.0/27")


# Subnets beside the network and inside it


def test_a_change_of_the_network_without_subnets_keeps_those_written_beside_it(world):
    changed = world.up(
        NETWORK, "net", {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}, tags={"a": "b"}
    )
    assert [each["name"] for each in changed["subnets"]] == ["gpu"]
    assert world.engine.refresh("gpu")["addressPrefix"] == "10.0.0.0/24"


def test_a_change_of_the_network_with_subnets_deletes_those_written_beside_it(world):
    inline = {"name": "inline", "addressPrefix": "10.0.1.0/24"}
    changed = world.up(
        NETWORK, "net", {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [inline]}
    )
    assert [each["name"] for each in changed["subnets"]] == ["inline"]
    assert world.engine.refresh("gpu") is None


def test_a_subnet_in_use_holds_up_the_change_that_would_delete_it(world):
    nic = world.interface("nic")
    inline = {"name": "inline", "addressPrefix": "10.0.1.0/24"}
    text = world.refused(
        NETWORK, "net", {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [inline]}
    )
    assert text == (
        f'Status=400 Code="InUseSubnetCannotBeDeleted" Message="Subnet gpu is in use by {nic.id}/ipConfigurations/'
        "primary and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. "
        'See aka.ms/deletesubnet."'
    )


def test_inline_subnets_come_and_change_and_go_with_the_list(world):
    one, two = ({"name": name, "addressPrefix": f"10.1.{at}.0/24"} for at, name in ((1, "one"), (2, "two")))
    made = world.up(NETWORK, "other", network(one, two))
    assert [each["addressPrefix"] for each in made["subnets"]] == ["10.1.1.0/24", "10.1.2.0/24"]
    assert made["subnets"][0]["id"] == f"{made.id}/subnets/one"
    moved = world.up(NETWORK, "other", network(one, {"name": "two", "addressPrefix": "10.1.3.0/24"}))
    assert [each["addressPrefix"] for each in moved["subnets"]] == ["10.1.1.0/24", "10.1.3.0/24"]
    kept = world.up(NETWORK, "other", network(one))
    assert [each["name"] for each in kept["subnets"]] == ["one"]
    world.engine.destroy("other")
    assert world.engine.held().count(SUBNET) == 1


def test_two_inline_subnets_of_one_name_are_refused(world):
    one = {"name": "one", "addressPrefix": "10.1.1.0/24"}
    text = world.refused(NETWORK, "bad", network(one, {**one, "name": "ONE"}), virtualNetworkName="bad")
    assert text == (
        'Status=400 Code="BadRequest" Message="Every subnet inside virtual network \'bad\' needs a name of its own. '
        f'[rule: Microsoft.Network 2024-05-01, Subnet.name; {SIMULATED}"'
    )


def test_a_range_that_a_subnet_lies_in_cannot_be_taken_from_the_network(world):
    text = world.refused(NETWORK, "net", addressSpace={"addressPrefixes": ["10.9.0.0/16"]})
    assert text == (
        'Status=400 Code="NetcfgSubnetRangeOutsideVnet" Message="Subnet \'gpu\' is not valid because its IP address '
        f"range is outside the IP address range of virtual network '{world.network['name']}'.\""
    )
    world.up(NETWORK, "net", addressSpace={"addressPrefixes": ["10.0.0.0/16", "10.9.0.0/16"]})


def test_a_range_with_addresses_in_use_cannot_be_taken_from_a_subnet(world):
    world.interface("nic")
    assert refused_subnet(world, "gpu", "10.0.8.0/24") == (
        'Status=400 Code="InUsePrefixCannotBeDeleted" Message="IpPrefix 10.0.0.0/24 on Subnet gpu has active '
        'allocations and cannot be deleted."'
    )
    assert subnet(world, "gpu", "10.0.0.0/25")["addressPrefix"] == "10.0.0.0/25"


def test_outbound_access_is_fixed_when_a_subnet_is_made(world):
    assert refused_subnet(world, "gpu", "10.0.0.0/24", defaultOutboundAccess=False) == (
        'Status=400 Code="BadRequest" Message="defaultOutboundAccess of subnet \'gpu\' cannot be changed: it is set '
        "when the subnet is made. [rule: Microsoft.Network 2024-05-01, SubnetPropertiesFormat.defaultOutboundAccess; "
        f'{SIMULATED}"'
    )
    private = subnet(world, "private", "10.0.1.0/24", defaultOutboundAccess=False)
    assert private["defaultOutboundAccess"] is False
    assert subnet(world, "private", "10.0.1.0/24", defaultOutboundAccess=False, serviceEndpoints=[])


# Deletion


def test_a_network_whose_subnet_is_in_use_cannot_be_deleted(world):
    nic = world.interface("nic")
    for name in ("gpu", "net"):
        with pytest.raises(Failed) as failed:
            world.engine.destroy(name)
        assert failed.value.text == (
            f'Status=400 Code="InUseSubnetCannotBeDeleted" Message="Subnet gpu is in use by {nic.id}/'
            "ipConfigurations/primary and cannot be deleted. In order to delete the subnet, delete all the resources "
            'within the subnet. See aka.ms/deletesubnet."'
        )
    world.engine.destroy("nic")
    world.engine.destroy("gpu")
    world.engine.destroy("net")


def test_a_security_group_in_use_cannot_be_deleted(world):
    group = world.up(SECURITY_GROUP, "sg")
    used = subnet(world, "used", "10.0.1.0/24", networkSecurityGroup={"id": group.id})
    nic = world.interface("nic", networkSecurityGroup={"id": group.id})
    shown = world.engine.refresh("sg")
    assert shown["subnets"] == [{"id": used.id}] and shown["networkInterfaces"] == [{"id": nic.id}]
    with pytest.raises(Failed) as failed:
        world.engine.destroy("sg")
    assert failed.value.text == (
        f'Status=400 Code="InUseNetworkSecurityGroupCannotBeDeleted" Message="Network security group {group.id} '
        f"cannot be deleted because it is in use by the following resources: {used.id}, {nic.id}. In order to delete "
        "the Network security group, remove the association with the resource(s). To learn how to do this, see "
        'aka.ms/deletensg."'
    )
    world.engine.destroy("nic")
    subnet(world, "used", "10.0.1.0/24")
    world.engine.destroy("sg")


# References


def test_a_reference_to_what_is_not_there_is_refused(world):
    missing = f"{world.group.id}/providers/Microsoft.Network/networkSecurityGroups/none"
    assert refused_subnet(world, "bad", "10.0.1.0/24", networkSecurityGroup={"id": missing}) == (
        f'Status=400 Code="InvalidResourceReference" Message="Resource {missing} referenced by resource '
        f"{world.network.id}/subnets/bad was not found. Please make sure that the referenced resource exists, and "
        'that both resources are in the same region."'
    )


def test_a_reference_to_another_region_is_refused(world):
    far = world.up(SECURITY_GROUP, "far", location="westus3")
    assert "InvalidResourceReference" in refused_subnet(
        world, "bad", "10.0.1.0/24", networkSecurityGroup={"id": far.id}
    )


def test_a_nat_gateway_serves_the_subnets_of_one_network(world):
    prefix = world.up(PREFIX, "out", sku={"name": "Standard"}, prefixLength=31)
    gateway = world.up(NAT, "nat", sku={"name": "Standard"}, publicIpPrefixes=[{"id": prefix.id}])
    private = subnet(world, "private", "10.0.1.0/24", natGateway={"id": gateway.id})
    subnet(world, "second", "10.0.2.0/24", natGateway={"id": gateway.id})
    other = world.up(NETWORK, "other", network())
    text = world.refused(
        SUBNET,
        "bad",
        virtualNetworkName=other["name"],
        addressPrefix="10.1.0.0/24",
        natGateway={"id": gateway.id},
    )
    assert text == (
        f'Status=400 Code="BadRequest" Message="NAT gateway {gateway.id} serves subnet {private.id}; it cannot serve '
        f"subnet {other.id}/subnets/bad of another virtual network as well. [rule: azure-docs "
        f'nat-gateway/nat-gateway-resource.md; {SIMULATED}"'
    )


# Security rules

RULE = {
    "access": "Allow",
    "direction": "Inbound",
    "protocol": "*",
    "priority": 100,
    "sourceAddressPrefix": "10.0.0.0/24",
    "sourcePortRange": "*",
    "destinationAddressPrefix": "*",
    "destinationPortRange": "*",
}


def test_a_group_comes_with_the_default_rules(world):
    group = world.up(SECURITY_GROUP, "sg", securityRules=[{"name": "self", **RULE}])
    assert [each["priority"] for each in group["defaultSecurityRules"]] == [65000, 65001, 65500] * 2
    assert [each["name"] for each in group["securityRules"]] == ["self"]


def test_rules_beside_the_group_stay_when_the_group_changes_without_a_list_and_go_with_one(world):
    group = world.up(SECURITY_GROUP, "sg")
    world.up(SECURITY_RULE, "self", RULE, networkSecurityGroupName=group["name"])
    assert [each["name"] for each in world.up(SECURITY_GROUP, "sg", tags={"a": "b"})["securityRules"]] == [
        "self"
    ]
    assert world.up(SECURITY_GROUP, "sg", securityRules=[])["securityRules"] == []
    assert world.engine.refresh("self") is None


@pytest.mark.parametrize("priority", [100, 4096])
def test_a_priority_lies_between_100_and_4096(world, priority):
    group = world.up(SECURITY_GROUP, "sg")
    for bad in (99, 4097):
        assert world.refused(
            SECURITY_RULE, "bad", {**RULE, "priority": bad}, networkSecurityGroupName=group["name"]
        ) == (
            'Status=400 Code="SecurityRuleInvalidPriority" Message="Security rule has invalid Priority. Value '
            f'provided: {bad} Allowed range 100-4096."'
        )
    world.up(SECURITY_RULE, "good", {**RULE, "priority": priority}, networkSecurityGroupName=group["name"])


def test_two_rules_of_one_priority_and_direction_are_refused(world):
    group = world.up(SECURITY_GROUP, "sg")
    named = {"networkSecurityGroupName": group["name"]}
    world.up(SECURITY_RULE, "one", RULE, **named)
    assert world.refused(SECURITY_RULE, "two", RULE, **named) == (
        'Status=400 Code="SecurityRuleConflict" Message="Security rule two conflicts with rule one. Rules cannot have '
        'the same Priority and Direction. To learn more, see aka.ms/nsgrules."'
    )
    world.up(SECURITY_RULE, "out", {**RULE, "direction": "Outbound"}, **named)


def test_a_word_that_is_none_is_refused(world):
    group = world.up(SECURITY_GROUP, "sg")
    assert world.refused(
        SECURITY_RULE, "bad", {**RULE, "protocol": "Rdma"}, networkSecurityGroupName=group["name"]
    ) == (
        'Status=400 Code="BadRequest" Message="protocol \'Rdma\' is none of Tcp, Udp, Icmp, Esp, *, Ah. [rule: '
        f'Microsoft.Network 2024-05-01; {SIMULATED}"'
    )
    world.up(SECURITY_RULE, "tcp", {**RULE, "protocol": "tcp"}, networkSecurityGroupName=group["name"])


def test_a_rule_without_a_port_is_refused(world):
    group = world.up(SECURITY_GROUP, "sg")
    rule = {key: value for key, value in RULE.items() if key != "destinationPortRange"}
    assert world.refused(SECURITY_RULE, "bad", rule, networkSecurityGroupName=group["name"]) == (
        'Status=400 Code="BadRequest" Message="Security rule bad has neither destinationPortRange nor '
        f'destinationPortRanges. [rule: Microsoft.Network 2024-05-01, SecurityRulePropertiesFormat; {SIMULATED}"'
    )


# Addresses


def test_the_first_four_addresses_and_the_last_of_a_subnet_are_azures(world):
    small = subnet(world, "small", "10.0.1.0/29")
    nics = [
        world.up(INTERFACE, f"nic{at}", ipConfigurations=[{"name": "a", "subnet": {"id": small.id}}])
        for at in range(3)
    ]
    held = [nic["ipConfigurations"][0]["privateIPAddress"] for nic in nics]
    assert held == ["10.0.1.4", "10.0.1.5", "10.0.1.6"]
    assert len(world.engine.refresh("small")["ipConfigurations"]) == 3
    assert world.refused(INTERFACE, "bad", ipConfigurations=[{"name": "a", "subnet": {"id": small.id}}]) == (
        'Status=400 Code="SubnetIsFull" Message="Subnet small with address prefix 10.0.1.0/29 doesn\'t have enough '
        'capacity for 1 IP addresses."'
    )
    world.engine.destroy("nic1")
    again = world.up(INTERFACE, "again", ipConfigurations=[{"name": "a", "subnet": {"id": small.id}}])
    assert again["ipConfigurations"][0]["privateIPAddress"] == "10.0.1.5"


@pytest.mark.parametrize(
    ("address", "code", "message"),
    [
        (
            "10.0.1.9",
            "PrivateIPAddressNotInSubnet",
            "Private static IP address 10.0.1.9 does not belong to the range of subnet prefix 10.0.0.0/24.",
        ),
        (
            "10.0.0.3",
            "PrivateIPAddressInReservedRange",
            "Private static IP address 10.0.0.3 falls within reserved IP range of subnet prefix 10.0.0.0/24.",
        ),
        (
            "10.0.0.255",
            "PrivateIPAddressInReservedRange",
            "Private static IP address 10.0.0.255 falls within reserved IP range of subnet prefix 10.0.0.0/24.",
        ),
        ("ten", "InvalidIPAddress", "IP address ten is not formatted correctly."),
    ],
)
def test_an_address_the_subnet_cannot_give_is_refused(world, address, code, message):
    static = {"privateIPAllocationMethod": "Static", "privateIPAddress": address}
    text = world.refused(
        INTERFACE, "bad", ipConfigurations=[{"name": "a", "subnet": {"id": world.subnet.id}, **static}]
    )
    assert text == f'Status=400 Code="{code}" Message="{message}"'


@pytest.mark.parametrize("address", ["10.0.0.4", "10.0.0.254"])
def test_the_first_and_the_last_free_address_may_be_asked_for_once(world, address):
    static = {"privateIPAllocationMethod": "Static", "privateIPAddress": address}
    configuration = {"name": "a", "subnet": {"id": world.subnet.id}, **static}
    first = world.up(INTERFACE, "one", ipConfigurations=[configuration])
    assert first["ipConfigurations"][0]["privateIPAddress"] == address
    assert "PrivateIPAddressIsAllocated" in world.refused(INTERFACE, "two", ipConfigurations=[configuration])
    assert world.up(INTERFACE, "one", ipConfigurations=[configuration], tags={"a": "b"})["tags"] == {"a": "b"}


# Look-ups


def test_a_look_up_answers_network_and_subnet_in_any_casing_and_refuses_what_is_not_there(world):
    invoke = world.engine.invoke
    names = {"resourceGroupName": "fabric", "virtualNetworkName": world.network["name"].upper()}
    assert invoke("azure-native:network:getVirtualNetwork", **names)["id"] == world.network.id
    found = invoke("azure-native:network:getSubnet", **names, subnetName="gpu")
    assert (found["id"], found["addressPrefix"]) == (world.subnet.id, "10.0.0.0/24")
    with pytest.raises(Failed) as failed:
        invoke("azure-native:network:getSubnet", **names, subnetName="none")
    assert failed.value.text == (
        f'Status=404 Code="NotFound" Message="Resource {world.network.id}/subnets/none not found."'
    )
    with pytest.raises(Failed) as failed:
        invoke(
            "azure-native:network:getVirtualNetwork", resourceGroupName="fabric", virtualNetworkName="none"
        )
    assert failed.value.text == (
        'Status=404 Code="ResourceNotFound" Message="The Resource \'Microsoft.Network/virtualNetworks/none\' under '
        "resource group 'fabric' was not found. For more details please go to "
        'https://aka.ms/ARMResourceNotFoundFix"'
    )
