"""Direct Connect: connections and their states, virtual interfaces, gateways, what is refused and in which words."""

from __future__ import annotations

import json
import time

import pytest

from ..small_engine import Failed
from . import link as l
from .link import DX, hosted, marked, refused, up, vif

LIMITS = "Direct Connect User Guide, limits.html"
MIX = "Direct Connect User Guide, direct-connect-gateways-intro.html"


@pytest.fixture
def gateway(aws):
    return aws.up(l.GATEWAY, "dx", amazonSideAsn="64512")


def dx(call: str, sentence: str) -> str:
    return DX.format(call=call, sentence=sentence)


def patch(aws, kind: str, id: str, **changes) -> None:
    with aws.store.transaction("aws") as tx:
        tx.patch(kind, id, **changes)


# Connections


def test_a_dedicated_connection_waits_as_requested_until_the_cable_is_in(aws, gateway):
    cable = aws.up(l.CONNECTION, "cable", bandwidth="10Gbps", location="EqDC2")
    assert cable.id.startswith("dxcon-0")
    assert cable["state"] == "requested"
    text = refused(aws, l.PRIVATE, "vif", vif(cable.id, gateway.id))
    assert text == (
        "creating Direct Connect private virtual interface: "
        + dx("CreatePrivateVirtualInterface", "The specified Connection ID is not available")
    )
    patch(aws, l.CONNECTION, cable.id, state="available")
    assert up(aws, l.PRIVATE, "vif", vif(cable.id, gateway.id))["amazonSideAsn"] == "64512"


def test_confirming_a_dedicated_connection_is_refused_in_awss_words(aws):
    cable = aws.up(l.CONNECTION, "cable", bandwidth="1Gbps", location="EqDC2")
    assert refused(aws, l.CONFIRMATION, "yes", connectionId=cable.id) == (
        "confirming Direct Connection Connection: "
        + dx("ConfirmConnection", f"ConfirmConnection failed. {cable.id} is in state requested")
    )


@pytest.mark.parametrize("bandwidth", ["1Gbps", "400Gbps"])
def test_a_dedicated_connection_has_a_dedicated_speed(aws, bandwidth):
    aws.up(l.CONNECTION, "good", bandwidth=bandwidth, location="EqDC2")
    assert refused(aws, l.CONNECTION, "bad", bandwidth="500Mbps", location="EqDC2") == (
        "creating Direct Connect Connection: "
        + dx(
            "CreateConnection",
            marked(
                "Bandwidth 500Mbps is not one of a dedicated connection (1Gbps, 10Gbps, 100Gbps, 400Gbps): a partner "
                "makes the smaller ones.",
                "Direct Connect User Guide, dedicated_connection.html",
            ),
        )
    )


def test_a_speed_that_nobody_has_is_refused_in_the_preview(aws):
    with pytest.raises(Failed) as failed:
        aws.preview(l.CONNECTION, "bad", bandwidth="40Gbps", location="EqDC2")
    assert failed.value.text.startswith('expected bandwidth to be one of ["50Mbps" "100Mbps"')
    assert failed.value.text.endswith("got 40Gbps. Examine values at 'bad.bandwidth'.")


def test_a_location_of_another_region_is_refused(aws):
    assert refused(aws, l.CONNECTION, "bad", bandwidth="1Gbps", location="EqSG2").endswith(
        marked(
            "Location EqSG2 is not one of region us-east-1. The simulation knows EqDC2 there.",
            "Direct Connect API Reference, DescribeLocations",
        )
    )


def test_a_hosted_connection_is_ordering_until_it_is_accepted(aws, gateway):
    id = hosted(aws)
    found = aws.invoke("aws:directconnect/getConnection:getConnection", name="link")
    assert (found["id"], found["state"], found["vlanId"]) == (id, "ordering", 301)
    assert "The specified Connection ID is not available" in refused(
        aws, l.PRIVATE, "vif", vif(id, gateway.id)
    )
    assert aws.up(l.CONFIRMATION, "yes", connectionId=id).id == id
    assert aws.invoke("aws:directconnect/getConnection:getConnection", name="link")["state"] == "available"
    up(aws, l.PRIVATE, "vif", vif(id, gateway.id))


def test_accepting_twice_is_refused_and_deleting_the_acceptance_leaves_the_connection(aws):
    id = hosted(aws)
    aws.up(l.CONFIRMATION, "yes", connectionId=id)
    assert refused(aws, l.CONFIRMATION, "again", connectionId=id).endswith(
        f"ConfirmConnection failed. {id} is in state available"
    )
    aws.destroy("yes")
    assert aws.adopt(l.CONNECTION, id)["state"] == "available"


def test_accepting_while_the_other_side_is_down_leaves_a_half_made_confirmation(aws):
    id = hosted(aws)
    patch(aws, l.CONNECTION, id, linkState="down")
    with pytest.raises(Failed) as failed:
        aws.up(l.CONFIRMATION, "yes", connectionId=id)
    assert failed.value.text == (
        f"waiting for Direct Connection Connection ({id}) confirm: unexpected state 'down', wanted target 'available'. "
        f"last error: %!s(<nil>)"
    )
    assert aws.known_from(failed.value, l.CONFIRMATION, "yes").id == id
    assert aws.adopt(l.CONNECTION, id)["state"] == "down"


def test_an_order_that_ran_out_is_gone(aws, gateway):
    id = hosted(aws)
    aws.up(l.CONFIRMATION, "yes", connectionId=id)
    patch(aws, l.CONNECTION, id, state="rejected")
    assert aws.refresh("yes") is None
    assert refused(aws, l.CONFIRMATION, "again", connectionId=id).endswith(
        marked(f"Connection ID {id} does not exist.", "Direct Connect API Reference")
    )


def test_a_pending_connection_becomes_available_by_itself(aws, gateway):
    id = hosted(aws, state="pending")
    patch(aws, l.CONNECTION, id, availableAt=time.time() + 60)
    assert aws.adopt(l.CONNECTION, id)["state"] == "pending"
    assert "The specified Connection ID is not available" in refused(
        aws, l.PRIVATE, "vif", vif(id, gateway.id)
    )
    patch(aws, l.CONNECTION, id, availableAt=time.time() - 1)
    assert aws.adopt(l.CONNECTION, id)["state"] == "available"
    up(aws, l.PRIVATE, "vif", vif(id, gateway.id))


def test_a_connection_with_an_interface_cannot_be_deleted(aws, gateway):
    cable = aws.up(l.CONNECTION, "cable", bandwidth="1Gbps", location="EqDC2")
    patch(aws, l.CONNECTION, cable.id, state="available")
    interface = up(aws, l.PRIVATE, "vif", vif(cable.id, gateway.id))
    with pytest.raises(Failed) as failed:
        aws.destroy("cable")
    assert failed.value.text == (
        f"deleting Direct Connect Connection ({cable.id}): "
        + dx(
            "DeleteConnection",
            marked(
                f"Connection {cable.id} has virtual interfaces and cannot be deleted: {interface.id}.",
                "Direct Connect API Reference, DeleteConnection",
            ),
        )
    )
    aws.destroy("vif")
    aws.destroy("cable")


def test_locations_are_looked_up_by_region_and_code(aws):
    assert aws.invoke("aws:directconnect/getLocations:getLocations")["locationCodes"] == ["EqDC2"]
    found = aws.invoke("aws:directconnect/getLocation:getLocation", locationCode="EqDC2")
    assert "Ashburn" in found["locationName"] and "100G" in found["availableMacsecPortSpeeds"]
    with pytest.raises(Failed, match="no matching Direct Connect Location found"):
        aws.invoke("aws:directconnect/getLocation:getLocation", locationCode="EqSG2")


# Link aggregation groups


@pytest.mark.parametrize(("speed", "most"), [("10Gbps", 4), ("100Gbps", 2)])
def test_a_group_takes_as_many_links_as_its_speed_allows(aws, speed, most):
    lag = aws.up(l.LAG, "lag", connectionsBandwidth=speed, location="EqDC2")
    for at in range(most + 1):
        aws.up(l.CONNECTION, f"c{at}", bandwidth=speed, location="EqDC2")
    for at in range(most):
        aws.up(l.MEMBER, f"m{at}", connectionId=aws.resources[f"c{at}"].id, lagId=lag.id)
    assert refused(aws, l.MEMBER, "bad", connectionId=aws.resources[f"c{most}"].id, lagId=lag.id).endswith(
        marked(
            f"LAG {lag.id} has {most} connections of {speed} already.", "Direct Connect User Guide, lags.html"
        )
    )
    with pytest.raises(Failed, match="has connections and cannot be deleted"):
        aws.destroy("lag")
    with pytest.raises(Failed, match="is a member of a link aggregation group"):
        aws.destroy("c0")
    aws.destroy("m0")
    aws.destroy("c0")


def test_a_link_of_another_speed_does_not_fit_the_group(aws):
    lag = aws.up(l.LAG, "lag", connectionsBandwidth="10Gbps", location="EqDC2")
    slow = aws.up(l.CONNECTION, "slow", bandwidth="1Gbps", location="EqDC2")
    assert refused(aws, l.MEMBER, "bad", connectionId=slow.id, lagId=lag.id).endswith(
        marked(
            f"Connection {slow.id} (1Gbps at EqDC2) does not fit LAG {lag.id} (10Gbps at EqDC2).",
            "Direct Connect User Guide, lags.html",
        )
    )


# Virtual interfaces


@pytest.mark.parametrize(
    ("token", "good", "bad", "message"),
    [
        (l.PRIVATE, (1500, 9001), 8500, "expected mtu to be one of [1500 9001], got 8500"),
        (l.TRANSIT, (1500, 8500), 9001, "expected mtu to be one of [1500 8500], got 9001"),
    ],
)
def test_an_mtu_is_one_of_two(aws, gateway, token, good, bad, message):
    for size in good:
        aws.preview(token, f"mtu{size}", vif("dxcon-0", gateway.id, mtu=size))
    with pytest.raises(Failed) as failed:
        aws.preview(token, "bad", vif("dxcon-0", gateway.id, mtu=bad))
    assert failed.value.text == f"{message}. Examine values at 'bad.mtu'."


def test_the_mtu_changes_in_place_and_the_addresses_replace(aws, gateway):
    id = hosted(aws, state="available")
    made = up(aws, l.PRIVATE, "vif", vif(id, gateway.id))
    assert made["mtu"] == 1500
    assert aws.diff(l.PRIVATE, "vif", vif(id, gateway.id, mtu=9001)).replaces == []
    changed = vif(id, gateway.id, amazonAddress="169.254.9.1/30", customerAddress="169.254.9.2/30")
    assert aws.diff(l.PRIVATE, "vif", changed).replaces == ["amazonAddress", "customerAddress"]
    assert up(aws, l.PRIVATE, "vif", vif(id, gateway.id, mtu=9001))["mtu"] == 9001


@pytest.mark.parametrize("vlan", [1, 4094])
def test_a_vlan_lies_between_1_and_4094(aws, gateway, vlan):
    aws.preview(l.PRIVATE, "good", vif("dxcon-0", gateway.id, vlan=vlan))
    for bad in (0, 4095):
        with pytest.raises(Failed) as failed:
            aws.preview(l.PRIVATE, "bad", vif("dxcon-0", gateway.id, vlan=bad))
        assert failed.value.text == (
            f"expected vlan to be in the range (1 - 4094), got {bad}. Examine values at 'bad.vlan'."
        )


def test_exactly_one_of_the_two_asns_is_given(aws, gateway):
    for change in ({"bgpAsn": None}, {"bgpAsnLong": "65001"}):
        inputs = {
            key: value for key, value in vif("dxcon-0", gateway.id, **change).items() if value is not None
        }
        with pytest.raises(Failed) as failed:
            aws.preview(l.PRIVATE, "bad", inputs)
        assert failed.value.text.startswith('"bgp_asn": one of `bgp_asn,bgp_asn_long` must be specified')


def test_a_customers_asn_is_a_legal_one_and_not_amazons(aws, gateway):
    id = hosted(aws, state="available")
    source = "Direct Connect User Guide, WorkingWithVirtualInterfaces.html"
    assert refused(aws, l.PRIVATE, "same", vif(id, gateway.id, bgpAsn=64512)).endswith(
        marked(
            "BGP ASN 64512 is the ASN of Amazon's side as well; an external BGP session needs two.", source
        )
    )
    assert "BGP ASN 0 is not between 1 and 4294967294." in refused(
        aws, l.PRIVATE, "none", vif(id, gateway.id, bgpAsn=None, bgpAsnLong="0")
    )
    up(aws, l.PRIVATE, "good", vif(id, gateway.id, bgpAsn=None, bgpAsnLong="4294967294"))


def test_a_hosted_connection_has_one_interface_on_its_own_vlan(aws, gateway):
    id = hosted(aws, state="available", vlan=301)
    assert refused(aws, l.PRIVATE, "other", vif(id, gateway.id, vlan=302)).endswith(
        marked(
            f"VLAN 302 is not the VLAN 301 of hosted connection {id}.",
            "Direct Connect User Guide, hosted_connection.html",
        )
    )
    first = up(aws, l.PRIVATE, "one", vif(id, gateway.id))
    assert refused(aws, l.PRIVATE, "two", vif(id, gateway.id)).endswith(
        marked(
            f"Hosted connection {id} has virtual interface {first.id} already; it can have one.",
            "Direct Connect User Guide, WorkingWithVirtualInterfaces.html",
        )
    )


def test_two_interfaces_of_a_dedicated_connection_have_two_vlans(aws, gateway):
    cable = aws.up(l.CONNECTION, "cable", bandwidth="10Gbps", location="EqDC2")
    patch(aws, l.CONNECTION, cable.id, state="available")
    up(aws, l.PRIVATE, "one", vif(cable.id, gateway.id, vlan=7))
    assert f"VLAN 7 is already in use on connection {cable.id}." in refused(
        aws, l.PRIVATE, "two", vif(cable.id, gateway.id, vlan=7)
    )
    up(aws, l.PRIVATE, "two", vif(cable.id, gateway.id, vlan=8))


@pytest.mark.parametrize(
    ("amazon", "customer", "sentence"),
    [
        ("10.9.0.1/30", "10.9.0.5/30", "Amazon Address and Customer Address must be in the same CIDR"),
        ("10.9.0.0/30", "10.9.0.2/30", "Amazon Address is address 0 on its subnet."),
        ("10.9.0.3/30", "10.9.0.2/30", "Amazon Address is the broadcast address on its subnet."),
    ],
)
def test_the_two_addresses_are_hosts_of_one_network(aws, gateway, amazon, customer, sentence):
    id = hosted(aws, state="available")
    text = refused(aws, l.PRIVATE, "bad", vif(id, gateway.id, amazonAddress=amazon, customerAddress=customer))
    assert text.endswith(f"DirectConnectClientException: {sentence}")
    up(
        aws,
        l.PRIVATE,
        "good",
        vif(id, gateway.id, amazonAddress="10.9.0.1/30", customerAddress="10.9.0.2/30"),
    )


def test_addresses_left_out_are_assigned_from_one_small_network(aws, gateway):
    made = up(aws, l.PRIVATE, "vif", vif(hosted(aws, state="available"), gateway.id))
    assert (made["amazonAddress"], made["customerAddress"]) == ("169.254.96.1/30", "169.254.96.2/30")


def test_an_interface_leads_to_one_gateway(aws):
    id = hosted(aws, state="available")
    assert refused(aws, l.PRIVATE, "none", vif(id)) == (
        "One of ['vpn_gateway_id', 'dx_gateway_id'] must be set to create a Direct Connect private virtual interface"
    )
    assert refused(aws, l.PRIVATE, "lost", vif(id, vpnGatewayId="vgw-0abc")).endswith(
        "DirectConnectClientException: The VirtualGateway vgw-0abc is not available"
    )


def test_an_interface_may_lead_to_one_vpcs_gateway_which_stays_as_long(aws):
    id, private = hosted(aws, state="available"), vgw(aws, "vgw")
    made = up(aws, l.PRIVATE, "vif", vif(id, vpnGatewayId=private.id))
    assert made["amazonSideAsn"] == private["amazonSideAsn"] == "64512"
    with pytest.raises(Failed, match=f"vpnGateway {private.id} is in use by {made.id}"):
        aws.destroy("vgw")
    with pytest.raises(Failed) as failed:
        aws.preview(l.PRIVATE, "both", vif(id, "dx", vpnGatewayId=private.id))
    assert failed.value.text.startswith('"dx_gateway_id": conflicts with vpn_gateway_id')


def test_the_id_of_a_partners_own_object_is_no_connection_id(aws, gateway):
    uuid = "57ff76d2-a875-464a-b5c7-afc03c7278d7"
    assert refused(aws, l.PRIVATE, "bad", vif(uuid, gateway.id)).endswith(
        f"DirectConnectClientException: ConnectionID {uuid} has an invalid format."
    )


# Keys


def test_a_bgp_key_goes_to_the_engine_as_a_secret_and_is_not_in_the_database(aws, gateway):
    made = up(
        aws, l.PRIVATE, "vif", vif(hosted(aws, state="available"), gateway.id, bgpAuthKey="hunter2hunter2")
    )
    assert repr(made.outputs["bgpAuthKey"]).startswith("Secret(")
    assert made["bgpAuthKey"] == "hunter2hunter2"
    assert "hunter2" not in json.dumps(aws.store.dump())
    assert b"hunter2" not in b"".join(path.read_bytes() for path in aws.store.path.parent.glob("clouds.db*"))
    assert aws.refresh("vif")["bgpAuthKey"] == "hunter2hunter2"
    assert aws.adopt(l.PRIVATE, made.id).get("bgpAuthKey") is None


def test_a_key_that_aws_makes_is_read_again_and_kept_nowhere(aws, gateway):
    made = up(aws, l.PRIVATE, "vif", vif(hosted(aws, state="available"), gateway.id))
    key = made["bgpAuthKey"]
    assert len(key) == 24
    assert key not in json.dumps(aws.store.dump())
    assert aws.refresh("vif")["bgpAuthKey"] == key


# Gateways and associations


@pytest.mark.parametrize("asn", ["64512", "65534", "4200000000", "4294967294"])
def test_amazons_asn_is_a_private_one(aws, asn):
    assert aws.up(l.GATEWAY, "good", amazonSideAsn=asn)["amazonSideAsn"] == asn
    for bad in ("64511", "65535", "4294967295", "7224"):
        with pytest.raises(Failed) as failed:
            aws.preview(l.GATEWAY, "bad", amazonSideAsn=bad)
        assert failed.value.text == (
            f'"amazon_side_asn" ("{bad}") must be in the range 64512 to 65534 or 4200000000 to 4294967294. Examine '
            f"values at 'bad.amazonSideAsn'."
        )


def vgw(aws, name: str, cidr: str = "10.100.0.0/16"):
    vpc = aws.up(l.VPC, f"{name}-vpc", cidrBlock=cidr)
    return aws.up(l.VGW, name, vpcId=vpc.id)


def test_an_association_with_a_vpc_announces_its_range(aws, gateway):
    made = aws.up(l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=vgw(aws, "vgw").id)
    assert made["allowedPrefixes"] == ["10.100.0.0/16"]
    assert made["associatedGatewayType"] == "virtualPrivateGateway"
    narrowed = aws.up(
        l.ASSOCIATION,
        "a",
        dxGatewayId=gateway.id,
        associatedGatewayId=aws.resources["vgw"].id,
        allowedPrefixes=["10.100.1.0/24"],
    )
    assert (narrowed.id, narrowed["allowedPrefixes"]) == (made.id, ["10.100.1.0/24"])


def test_an_association_with_a_transit_gateway_that_allows_nothing_is_taken_without_a_word(aws, gateway):
    transit = aws.up(l.TGW, "tgw", amazonSideAsn=64600)
    made = aws.up(l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=transit.id)
    assert made["allowedPrefixes"] == []
    with aws.store.transaction("aws") as tx:
        assert tx.need(l.ASSOCIATION, made.id)["announcedPrefixes"] == []
    assert [text for severity, text in aws.logs if severity in ("warning", "error")] == []
    found = aws.invoke(
        "aws:ec2transitgateway/getDirectConnectGatewayAttachment:getDirectConnectGatewayAttachment",
        dxGatewayId=gateway.id,
        transitGatewayId=transit.id,
    )
    assert found["id"] == made["transitGatewayAttachmentId"]


def test_a_gateway_and_its_transit_gateway_have_two_asns(aws, gateway):
    transit = aws.up(l.TGW, "tgw", amazonSideAsn=64512)
    assert refused(
        aws, l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=transit.id
    ) == "creating Direct Connect Gateway Association: " + dx(
        "CreateDirectConnectGatewayAssociation",
        marked(
            f"Direct Connect Gateway {gateway.id} and transit gateway {transit.id} have the same ASN 64512; they must "
            f"differ.",
            "Direct Connect User Guide, direct-connect-transit-gateways.html",
        ),
    )


def test_a_gateway_has_virtual_private_gateways_or_transit_gateways(aws, gateway):
    private = vgw(aws, "vgw")
    transit = aws.up(l.TGW, "tgw", amazonSideAsn=64600)
    aws.up(l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=private.id)
    mixed = marked(
        f"Direct Connect Gateway {gateway.id} is in use by {private.id}; it cannot have a transit gateway or transit "
        f"virtual interface as well.",
        MIX,
    )
    assert refused(aws, l.ASSOCIATION, "b", dxGatewayId=gateway.id, associatedGatewayId=transit.id).endswith(
        mixed
    )
    id = hosted(aws, state="available")
    assert refused(aws, l.TRANSIT, "vif", vif(id, gateway.id)).endswith(mixed)
    up(aws, l.PRIVATE, "vif", vif(id, gateway.id))


def test_a_transit_interface_keeps_virtual_private_gateways_away(aws, gateway):
    interface = up(aws, l.TRANSIT, "vif", vif(hosted(aws, state="available"), gateway.id))
    text = refused(aws, l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=vgw(aws, "vgw").id)
    assert f"is in use by {interface.id}; it cannot have a virtual private gateway or private" in text


def test_a_gateway_that_is_not_attached_cannot_be_associated(aws, gateway):
    loose = aws.up(l.VGW, "loose")
    assert refused(aws, l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=loose.id).endswith(
        marked(
            f"Virtual private gateway {loose.id} is not attached to a VPC.",
            "Direct Connect User Guide, virtualgateways.html",
        )
    )


def test_a_gateway_has_so_many_associations_and_support_may_raise_it(aws, gateway, faults):
    faults(quota=[{"name": "directConnectGatewayTransitGateways", "value": 2}])
    for at in range(3):
        aws.up(l.TGW, f"tgw{at}", amazonSideAsn=64600 + at)
    for at in range(2):
        aws.up(
            l.ASSOCIATION, f"a{at}", dxGatewayId=gateway.id, associatedGatewayId=aws.resources[f"tgw{at}"].id
        )
    third = {"dxGatewayId": gateway.id, "associatedGatewayId": aws.resources["tgw2"].id}
    assert refused(aws, l.ASSOCIATION, "a2", third).endswith(
        marked(f"Direct Connect Gateway {gateway.id} has 2 transit gateways already.", LIMITS)
    )
    faults()
    aws.up(l.ASSOCIATION, "a2", third)


def test_a_proposal_is_accepted_with_its_prefixes(aws, gateway):
    private = vgw(aws, "vgw")
    proposal = aws.up(
        l.PROPOSAL,
        "p",
        dxGatewayId=gateway.id,
        dxGatewayOwnerAccountId="000000000000",
        associatedGatewayId=private.id,
        allowedPrefixes=["10.100.1.0/24"],
    )
    made = aws.up(
        l.ASSOCIATION,
        "a",
        dxGatewayId=gateway.id,
        proposalId=proposal.id,
        associatedGatewayOwnerAccountId="000000000000",
    )
    assert (made["associatedGatewayId"], made["allowedPrefixes"]) == (private.id, ["10.100.1.0/24"])


def test_an_association_says_with_what(aws, gateway):
    with pytest.raises(Failed) as failed:
        aws.preview(l.ASSOCIATION, "a", dxGatewayId=gateway.id)
    assert failed.value.text.startswith(
        '"associated_gateway_id": one of `associated_gateway_id,associated_gateway_owner_account_id,proposal_id` must'
    )


def test_a_gateway_goes_after_all_that_uses_it(aws, gateway):
    private = vgw(aws, "vgw")
    aws.up(l.ASSOCIATION, "a", dxGatewayId=gateway.id, associatedGatewayId=private.id)
    interface = up(aws, l.PRIVATE, "vif", vif(hosted(aws, state="available"), gateway.id))
    with pytest.raises(Failed) as failed:
        aws.destroy("dx")
    assert failed.value.text.endswith(
        marked(
            f"Direct Connect Gateway {gateway.id} has attached resources and cannot be deleted: {private.id}, "
            f"{interface.id}.",
            "Direct Connect API Reference, DeleteDirectConnectGateway",
        )
    )
    with pytest.raises(Failed, match=r"IncorrectState: vpnGateway .* is in use by Direct Connect Gateway"):
        aws.destroy("vgw")
    for name in ("vif", "a", "dx", "vgw"):
        aws.destroy(name)


# BGP peers and a partner's interfaces


def test_an_interface_has_one_peer_of_a_family(aws, gateway):
    interface = up(aws, l.PRIVATE, "vif", vif(hosted(aws, state="available"), gateway.id))
    peer = {"virtualInterfaceId": interface.id, "bgpAsn": 65001}
    assert refused(aws, l.PEER, "bad", {**peer, "addressFamily": "ipv4"}).endswith(
        marked(
            f"Virtual Interface {interface.id} has a BGP peer of family ipv4 already.",
            "Direct Connect API Reference, CreateBGPPeer",
        )
    )
    assert aws.up(l.PEER, "six", {**peer, "addressFamily": "ipv6"})["bgpStatus"] == "down"


def partners_interface(aws, **more) -> str:
    with aws.store.transaction("aws") as tx:
        tx.put(
            "hostedVirtualInterface",
            "dxvif-0fffffff",
            {
                "id": "dxvif-0fffffff",
                "type": "private",
                "state": "confirming",
                "connectionId": "dxcon-partner",
                "bgpAsn": 65001,
                "vlan": 77,
                "addressFamily": "ipv4",
                **more,
            },
        )
    return "dxvif-0fffffff"


def test_a_partners_interface_is_accepted_once_and_stays_when_the_acceptance_goes(aws, gateway):
    id = partners_interface(aws)
    aws.up(l.PRIVATE_ACCEPTER, "yes", virtualInterfaceId=id, dxGatewayId=gateway.id)
    assert refused(aws, l.PRIVATE_ACCEPTER, "again", virtualInterfaceId=id, dxGatewayId=gateway.id).endswith(
        marked(
            f"Virtual Interface {id} is in state available; only one in state confirming can be accepted.",
            "Direct Connect API Reference, ConfirmPrivateVirtualInterface",
        )
    )
    aws.destroy("yes")
    with pytest.raises(Failed, match="has attached resources and cannot be deleted: dxvif-0fffffff"):
        aws.destroy("dx")


def test_a_private_interface_is_not_accepted_as_a_transit_one(aws, gateway):
    id = partners_interface(aws)
    assert f"Virtual Interface {id} does not exist." in refused(
        aws, l.TRANSIT_ACCEPTER, "yes", virtualInterfaceId=id, dxGatewayId=gateway.id
    )
