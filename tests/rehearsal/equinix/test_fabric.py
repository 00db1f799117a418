"""Equinix Fabric between the two clouds: what a connection does there, what is refused, and the order of deletion."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from gpu_fabric.rehearsal.__main__ import main
from gpu_fabric.rehearsal.clouds import load
from gpu_fabric.rehearsal.core.sdk_schema import extract
from gpu_fabric.rehearsal.core.values import UNKNOWN, plain

from ..aws import link as aws_link
from ..azure import link as azure_link
from ..small_engine import Failed
from .clouds import CONNECTION, PROTOCOL, ROUTER, router

API = "Fabric v4 API, connections"
PROTOCOLS = "Fabric v4 API, routingProtocols"


def marked(doing: str, sentence: str, source: str, status: str = "400 Bad Request") -> str:
    return f"{doing}: {status}: EQ-SIMULATED: {sentence} [rule: {source}; the wording is the simulation's]"


def creating(sentence: str, source: str = API, status: str = "400 Bad Request") -> str:
    return marked("creating Fabric Connection", sentence, source, status)


def held(clouds, cloud: str) -> list[str]:
    return [each["kind"] for each in clouds.equinix.store.dump(cloud)]


# What a connection does in the clouds


def test_a_connection_to_aws_makes_a_hosted_connection_that_waits_for_its_owner(clouds):
    line = clouds.up(CONNECTION, "to-aws", clouds.to_aws())
    point = line["zSide"]["accessPoint"]
    assert (line["state"], line["operation"]["providerStatus"]) == ("PENDING", "PENDING_APPROVAL")
    found = clouds.aws.invoke("aws:directconnect/getConnection:getConnection", name="to-aws")
    assert (found["id"], found["state"], found["bandwidth"], found["vlanId"]) == (
        point["providerConnectionId"],
        "ordering",
        "10Gbps",
        point["linkProtocol"]["vlanTag"],
    )
    clouds.aws.up(aws_link.CONFIRMATION, "yes", connectionId=found["id"])
    assert clouds.equinix.refresh("to-aws")["state"] == "ACTIVE"
    assert clouds.equinix.diff(CONNECTION, "to-aws", clouds.to_aws()).changes == []


def test_a_connection_with_the_service_key_provisions_the_circuit(clouds):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    assert line["state"] == "ACTIVE"
    assert clouds.azure.engine.refresh("link")["serviceProviderProvisioningState"] == "Provisioned"
    clouds.azure.up(azure_link.PEERING, "peering", azure_link.peering())


def test_a_circuit_takes_its_time_where_the_switch_says_so(clouds, faults, monkeypatch):
    faults(quota=[{"name": "circuitProvisioningSeconds", "value": 60}])
    clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    assert clouds.azure.engine.refresh("link")["serviceProviderProvisioningState"] == "Provisioning"
    assert "Circuit link is Provisioning" in clouds.azure.refused(
        azure_link.PEERING, "peering", azure_link.peering()
    )
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert clouds.azure.engine.refresh("link")["serviceProviderProvisioningState"] == "Provisioned"
    clouds.azure.up(azure_link.PEERING, "peering", azure_link.peering())


def test_keys_of_the_account_accept_at_once_and_are_nowhere_in_the_database(clouds, faults):
    faults(quota=[{"name": "hostedConnectionPendingSeconds", "value": 600}])
    keys = [{"key": "accessKey", "value": "AKIAEXAMPLE"}, {"key": "secretKey", "value": "hunter2hunter2"}]
    line = clouds.up(CONNECTION, "to-aws", clouds.to_aws(additionalInfo=keys))
    id = line["zSide"]["accessPoint"]["providerConnectionId"]
    assert clouds.aws.adopt(aws_link.CONNECTION, id)["state"] == "pending"
    gateway = clouds.aws.up(aws_link.GATEWAY, "dx", amazonSideAsn="64512")
    assert "The specified Connection ID is not available" in aws_link.refused(
        clouds.aws, aws_link.PRIVATE, "vif", aws_link.vif(id, gateway.id)
    )
    assert repr(line.outputs["additionalInfo"]).startswith("Secret(")
    store = clouds.equinix.store
    assert "hunter2" not in json.dumps(store.dump()) and "AKIAEXAMPLE" not in json.dumps(store.dump())
    assert b"hunter2" not in b"".join(each.read_bytes() for each in store.path.parent.glob("clouds.db*"))


def test_keys_inside_a_side_are_not_taken(clouds):
    inputs = clouds.to_aws(zSide={"additionalInfo": [{"key": "secretKey", "value": "x"}]})
    assert "takes additionalInfo of the connection, not of its sides" in clouds.refused(
        CONNECTION, "bad", inputs
    )


def test_a_preview_does_not_know_what_the_cloud_will_say(clouds):
    planned = plain(clouds.equinix.preview(CONNECTION, "to-aws", clouds.to_aws()))
    point = planned["zSide"]["accessPoint"]
    assert point["providerConnectionId"] is UNKNOWN and point["linkProtocol"] is UNKNOWN
    assert (point["sellerRegion"], planned["bandwidth"], planned["state"]) == ("us-east-1", 10000, UNKNOWN)


# What a connection may be


@pytest.mark.parametrize("bandwidth", [50, 10000])
def test_a_bandwidth_is_one_that_is_sold(clouds, bandwidth):
    assert clouds.refused(CONNECTION, "bad", clouds.to_aws(bandwidth=4000)) == creating(
        "Bandwidth 4000 is none of 10, 50, 200, 500, 1000, 2000, 5000, 10000, 25000, 50000 Mb/s.",
        "Equinix Fabric documentation, bandwidth tiers",
    )
    clouds.up(CONNECTION, "good", clouds.to_aws(bandwidth=bandwidth))


def test_aws_has_no_hosted_connection_of_every_bandwidth_that_equinix_sells(clouds):
    text = clouds.refused(CONNECTION, "bad", clouds.to_aws(bandwidth=50000))
    assert "AWS has no hosted connection of 50Gbps; there are 50Mbps, 100Mbps," in text


def test_a_name_is_shorter_than_24_letters(clouds):
    assert clouds.refused(CONNECTION, "bad", clouds.to_aws(name="n" * 24)) == (
        "creating Fabric Connection: 400 Bad Request: EQ-3142539: connection name length should be greater than 0 and "
        "less than 24 character"
    )
    clouds.up(CONNECTION, "good", clouds.to_aws(name="n" * 23))


def test_a_name_left_out_fits(clouds):
    line = clouds.up(CONNECTION, "a-connection-with-a-very-long-name", clouds.to_aws(name=None))
    assert len(line["name"]) == 23


def test_an_account_has_12_digits_and_a_region_belongs_to_the_metro(clouds):
    point = lambda **change: clouds.to_aws(zSide={"accessPoint": change})  # noqa: E731
    assert clouds.refused(CONNECTION, "a", point(authenticationKey="12345678901")) == creating(
        "The Z side's authenticationKey is not the 12 digits of an AWS account."
    )
    assert clouds.refused(CONNECTION, "b", point(sellerRegion="us-west-2")) == creating(
        "sellerRegion us-west-2 is not offered in metro DC; us-east-1 is."
    )


def test_an_authorization_key_is_no_service_key(clouds):
    grant = clouds.azure.up(azure_link.AUTHORIZATION, "grant", circuitName="link")
    key = grant["authorizationKey"]
    assert clouds.refused(
        CONNECTION, "bad", clouds.to_azure(zSide={"accessPoint": {"authenticationKey": key}})
    ) == creating(
        f"no ExpressRoute circuit has the service key {key}: a circuit's serviceKey is wanted, not an authorization's "
        f"key."
    )


def test_a_circuit_of_another_provider_metro_or_speed_is_not_provisioned(clouds):
    make = lambda name, **change: clouds.azure.up(  # noqa: E731
        azure_link.CIRCUIT, name, azure_link.circuit(circuitName=name, serviceProviderProperties=change)
    )
    other = make("other", serviceProviderName="Megaport")
    far = make("far", peeringLocation="London")
    slow = make("slow", bandwidthInMbps=1000)
    use = lambda circuit: clouds.refused(  # noqa: E731
        CONNECTION,
        "bad",
        clouds.to_azure(zSide={"accessPoint": {"authenticationKey": circuit["serviceKey"]}}),
    )
    assert use(other) == creating("circuit other was ordered from Megaport, not from Equinix.")
    assert use(far) == creating("The service key's circuit is at London, not in metro DC.")
    assert use(slow) == creating("circuit slow has 1000 Mb/s; 10000 were asked for.")


def test_the_second_connection_carries_the_group_of_the_first(clouds):
    first = clouds.up(CONNECTION, "one", clouds.to_azure(name="one", redundancy={"priority": "PRIMARY"}))
    second = lambda **more: clouds.to_azure(  # noqa: E731
        name="two", redundancy={"priority": "SECONDARY", **more}
    )
    assert clouds.refused(CONNECTION, "two", second()) == creating(
        "A SECONDARY connection carries the redundancy.group of its PRIMARY connection; there is none.",
        "terraform-provider-equinix#487",
    )
    made = clouds.up(CONNECTION, "two", second(group=first["redundancy"]["group"]))
    assert made["redundancy"] == {"priority": "SECONDARY", "group": first["redundancy"]["group"]}
    assert sorted(clouds.sessions()) == ["azure-native/primary", "azure-native/secondary"]


def test_a_port_of_the_circuit_is_taken_once(clouds):
    line = clouds.up(CONNECTION, "one", clouds.to_azure(name="one"))
    assert clouds.refused(CONNECTION, "two", clouds.to_azure(name="two")) == creating(
        f"the primary port of circuit link is taken by {line.id}."
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "EVPL_VC"}, "A connection of a cloud router has type IP_VC, not EVPL_VC."),
        (
            {"zSide": {"accessPoint": {"profile": {"uuid": "none"}}}},
            "The Z side needs type SP and the profile of a service: look one up with getServiceProfiles.",
        ),
        (
            {"zSide": {"accessPoint": {"location": {"metroCode": "XX"}}}},
            "Metro XX of the Z side is not known. The simulation knows DC, SV, CH, SE, DB, FR, LD, TY, SG, SY.",
        ),
    ],
)
def test_a_connection_has_two_ends_that_fit(clouds, change, message):
    assert clouds.refused(CONNECTION, "bad", clouds.to_aws(**change)) == creating(message)


def test_only_the_name_of_a_connection_to_a_cloud_changes(clouds):
    clouds.up(CONNECTION, "to-aws", clouds.to_aws())
    renamed = clouds.up(CONNECTION, "to-aws", clouds.to_aws(name="renamed"))
    assert renamed["zSide"]["accessPoint"]["providerConnectionId"].startswith("dxcon-")
    with pytest.raises(Failed, match="The bandwidth of a connection to a cloud cannot change"):
        clouds.up(CONNECTION, "to-aws", clouds.to_aws(name="renamed", bandwidth=5000))
    with pytest.raises(Failed, match="The Fabric API changes name and bandwidth of a connection, not zSide"):
        clouds.up(
            CONNECTION,
            "to-aws",
            clouds.to_aws(name="renamed", zSide={"accessPoint": {"authenticationKey": "9" * 12}}),
        )


# Routers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "GATEWAY"}, "Router type GATEWAY is not XF_ROUTER."),
        (
            {"package": {"code": "HUGE"}},
            "Router package HUGE is none of LAB, BASIC, STANDARD, ADVANCED, PREMIUM.",
        ),
        (
            {"location": {"metroCode": "XX"}},
            "Metro XX is not known. The simulation knows DC, SV, CH, SE, DB, FR, LD, TY, SG, SY.",
        ),
    ],
)
def test_a_router_that_is_none_is_refused(clouds, change, message):
    assert clouds.refused(ROUTER, "bad", router(**change)) == marked(
        "creating Fabric Cloud Router", message, "Fabric v4 API, routers"
    )


def test_a_lab_router_has_slow_connections(clouds):
    lab = clouds.up(ROUTER, "lab", router(package={"code": "LAB"}))
    inputs = clouds.to_azure(aSide={"accessPoint": {"router": {"uuid": lab.id}}})
    assert clouds.refused(CONNECTION, "bad", {**inputs, "bandwidth": 50}) == creating(
        "A LAB router has connections of up to 10 Mb/s, not 50.",
        "Equinix API page, cloud router packages, older: unverified",
    )
    clouds.up(CONNECTION, "good", {**inputs, "bandwidth": 10})


def test_a_router_counts_its_connections_and_stays_while_it_has_some(clouds):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    assert clouds.equinix.refresh("router")["connectionsCount"] == 1
    with pytest.raises(Failed) as failed:
        clouds.equinix.destroy("router")
    assert failed.value.text == marked(
        "deleting Fabric Cloud Router",
        f"Cloud router {clouds.router.id} has connections and cannot be deleted: {line.id}.",
        "Fabric v4 API, routers",
        "409 Conflict",
    )


# Routing protocols


def test_the_routers_address_comes_before_bgp_and_goes_after_it(clouds):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    bgp = clouds.bgp(line, "192.168.15.18", 12076)
    assert clouds.refused(PROTOCOL, "bgp", bgp) == marked(
        "creating Fabric Routing Protocol",
        f"Connection {line.id} has no DIRECT routing protocol: make it before BGP.",
        PROTOCOLS,
    )
    clouds.up(PROTOCOL, "direct", clouds.direct(line, "192.168.15.17/30"))
    made = clouds.up(PROTOCOL, "bgp", bgp)
    assert made["bgpIpv4"]["equinixPeerIp"] == "192.168.15.17"
    assert made["equinixAsn"] == clouds.router["equinixAsn"]
    with pytest.raises(Failed, match="has a BGP routing protocol: delete it before DIRECT"):
        clouds.equinix.destroy("direct")
    assert "has a BGP routing protocol already." in clouds.refused(PROTOCOL, "again", bgp)
    clouds.equinix.destroy("bgp")
    clouds.equinix.destroy("direct")


@pytest.mark.parametrize(
    ("peer", "asn", "message"),
    [
        (
            "192.168.15.17",
            12076,
            "bgpIpv4.customerPeerIp 192.168.15.17 is not the other end of 192.168.15.17/30.",
        ),
        (
            "192.168.15.21",
            12076,
            "bgpIpv4.customerPeerIp 192.168.15.21 is not the other end of 192.168.15.17/30.",
        ),
        ("cloud", 12076, "bgpIpv4.customerPeerIp cloud is no IPv4 address."),
        ("192.168.15.18", 64496, "customerAsn 64496 is the router's own ASN."),
    ],
)
def test_a_bgp_peer_is_the_other_end_of_the_line(clouds, peer, asn, message):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    clouds.up(PROTOCOL, "direct", clouds.direct(line, "192.168.15.17/30"))
    assert clouds.refused(PROTOCOL, "bad", clouds.bgp(line, peer, asn)) == marked(
        "creating Fabric Routing Protocol", message, PROTOCOLS
    )


@pytest.mark.parametrize("address", ["192.168.15.17", "192.168.15.17/32", "router"])
def test_the_routers_address_has_a_prefix_length(clouds, address):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    assert clouds.refused(PROTOCOL, "bad", clouds.direct(line, address)) == marked(
        "creating Fabric Routing Protocol",
        f"directIpv4.equinixIfaceIp {address} is no address with its prefix length, as 192.168.15.17/30.",
        PROTOCOLS,
    )


# Sessions


def test_sessions_are_up_when_both_ends_agree(clouds):
    clouds.whole()
    assert clouds.sessions() == {"aws": (), "azure-native/primary": ()}


def test_a_session_is_down_for_as_long_as_an_end_is_missing(clouds):
    line = clouds.up(CONNECTION, "to-aws", clouds.to_aws())
    id = line["zSide"]["accessPoint"]["providerConnectionId"]
    clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    assert clouds.sessions() == {
        "aws": (
            f"AWS connection {id} is ordering",
            f"AWS connection {id} has no virtual interface",
            "the router has no BGP session on it",
        ),
        "azure-native/primary": (
            "circuit link has no private peering",
            "the router has no BGP session on it",
        ),
    }


def test_a_session_with_two_keys_or_wrong_asns_is_down_and_says_why(clouds):
    clouds.whole()
    line, other = clouds.equinix.resources["to-aws"], clouds.equinix.resources["to-azure"]
    clouds.up(PROTOCOL, "aws-bgp", clouds.bgp(line, "169.254.7.1", 64513, "another"))
    clouds.up(PROTOCOL, "azure-bgp", clouds.bgp(other, "192.168.15.18", 12076))
    clouds.azure.up(azure_link.PEERING, "peering", azure_link.peering(peerASN=65010, sharedKey="k"))
    assert clouds.sessions() == {
        "aws": (
            "the router expects ASN 64513 of the cloud's end; it has 64512",
            "the two ends have different BGP keys",
        ),
        "azure-native/primary": (
            "the router's ASN is 64496; the cloud's end expects 65010",
            "the two ends have different BGP keys",
        ),
    }


def test_no_key_of_a_whole_link_is_in_the_database(clouds):
    clouds.whole("correct-horse-battery")
    store = clouds.equinix.store
    assert "correct-horse" not in json.dumps(store.dump()) + json.dumps(store.journal())
    assert b"correct-horse" not in b"".join(
        each.read_bytes() for each in store.path.parent.glob("clouds.db*")
    )
    made = clouds.equinix.refresh("aws-bgp")
    assert made["bgpAuthKey"] == "correct-horse-battery"


# The order of deletion


def test_a_line_goes_after_what_hangs_on_it_in_the_clouds(clouds):
    clouds.whole()
    with pytest.raises(Failed) as failed:
        clouds.equinix.destroy("to-azure")
    assert failed.value.text == marked(
        "deleting Fabric Connection",
        "circuit link has peering AzurePrivatePeering: delete it in Azure first, then wait.",
        API,
        "409 Conflict",
    )
    with pytest.raises(Failed, match=r"has virtual interface dxvif-.*: delete it first"):
        clouds.equinix.destroy("to-aws")
    with pytest.raises(Failed, match="ConflictError"):
        clouds.azure.engine.destroy("link")
    for name in ("aws-bgp", "aws-direct", "azure-bgp", "azure-direct"):
        clouds.equinix.destroy(name)
    clouds.azure.engine.destroy("peering")
    for name in ("vif", "yes", "dx"):
        clouds.aws.destroy(name)
    for name in ("to-azure", "to-aws", "router"):
        clouds.equinix.destroy(name)
    clouds.azure.engine.destroy("link")
    assert held(clouds, "equinix") == [] and held(clouds, "aws") == []


def test_a_circuit_lags_behind_its_provider_where_the_switch_says_so(clouds, faults, monkeypatch):
    clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    faults(quota=[{"name": "circuitDeprovisioningSeconds", "value": 60}])
    clouds.equinix.destroy("to-azure")
    with pytest.raises(Failed, match="ConflictError"):
        clouds.azure.engine.destroy("link")
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    clouds.azure.engine.destroy("link")


# By hand


def command(clouds, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["--database", str(clouds.equinix.store.path), *words])
    return done.exit_code, done.output


@pytest.mark.parametrize("by", ["serviceKey", "name", "id"])
def test_a_circuit_ordered_by_hand_is_provisioned_by_a_command_and_by_nothing_else(clouds, by):
    what = clouds.circuit.id if by == "id" else clouds.circuit[by]
    assert command(clouds, "provision", what) == (0, "circuit link: was NotProvisioned, is Provisioned\n")
    clouds.azure.up(azure_link.PEERING, "peering", azure_link.peering())
    code, text = command(clouds, "provision", what, "--undo")
    assert (code, text) == (
        1,
        "Error: circuit link has peering AzurePrivatePeering: delete it in Azure first, then wait\n",
    )
    clouds.azure.engine.destroy("peering")
    assert command(clouds, "provision", what, "--undo") == (
        0,
        "circuit link: was Provisioned, is NotProvisioned\n",
    )
    clouds.azure.engine.destroy("link")


def test_what_a_partner_holds_is_not_provisioned_by_hand(clouds):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    assert command(clouds, "provision", "link") == (1, f"Error: circuit link is in the hands of {line.id}\n")


def test_a_cable_is_plugged_in_by_a_command(clouds):
    cable = clouds.aws.up(aws_link.CONNECTION, "cable", bandwidth="10Gbps", location="EqDC2")
    assert command(clouds, "provision", cable.id) == (0, f"{cable.id}: was requested, is available\n")
    assert command(clouds, "provision", cable.id, "--undo") == (0, f"{cable.id}: was available, is down\n")
    assert command(clouds, "provision", "nothing")[1] == (
        "Error: nothing: no circuit has that service key, name or id\n"
    )


def test_an_order_that_nobody_accepted_runs_out(clouds):
    line = clouds.up(CONNECTION, "to-aws", clouds.to_aws())
    id = line["zSide"]["accessPoint"]["providerConnectionId"]
    assert command(clouds, "provision", id)[1] == (
        f"Error: {id} is ordering: its owner has to accept it (ConnectionConfirmation)\n"
    )
    assert command(clouds, "expire", id) == (0, f"{id}: was ordering, is gone, and so is equinix {line.id}\n")
    assert command(clouds, "expire", id) == (1, f"Error: no hosted connection or virtual interface {id}\n")
    assert f"Connection ID {id} does not exist." in aws_link.refused(
        clouds.aws, aws_link.CONFIRMATION, "yes", connectionId=id
    )
    # A refresh finds it gone, and the next up orders anew: nothing is doubled.
    assert clouds.equinix.refresh("to-aws") is None
    again = clouds.up(CONNECTION, "to-aws", clouds.to_aws())
    ordered = [each["id"] for each in clouds.aws.store.dump("aws") if each["kind"] == aws_link.CONNECTION]
    assert ordered == [again["zSide"]["accessPoint"]["providerConnectionId"]]


def test_what_was_accepted_does_not_run_out(clouds):
    line = clouds.up(CONNECTION, "to-aws", clouds.to_aws())
    id = line["zSide"]["accessPoint"]["providerConnectionId"]
    clouds.aws.up(aws_link.CONFIRMATION, "yes", connectionId=id)
    assert command(clouds, "expire", id) == (
        1,
        f"Error: {id} is available: only what is ordering can run out\n",
    )


@pytest.mark.parametrize("token", [CONNECTION, PROTOCOL])
def test_a_lost_answer_after_the_order_leaves_a_half_made_line_that_the_next_up_keeps(clouds, faults, token):
    """The provider knows the id once the order is in: it is the wait that fails."""
    line = None if token == CONNECTION else clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    inputs = clouds.to_azure() if line is None else clouds.direct(line, "192.168.15.17/30")
    faults(fail=[{"type": token, "when": "partial", "code": "EQ-SIMULATED", "message": "timeout"}])
    with pytest.raises(Failed, match="timeout") as failed:
        clouds.up(token, "half", inputs)
    clouds.equinix.resources["half"] = clouds.equinix.known_from(failed.value, token, "half")
    faults()
    assert clouds.equinix.update("half")["uuid"] == clouds.equinix.resources["half"].id
    assert held(clouds, "equinix").count(token) == 1
    assert clouds.equinix.diff(token, "half", inputs).changes == []


def test_the_command_line_shows_the_sessions(clouds):
    assert command(clouds, "sessions") == (0, "No partner has a line to a cloud.\n")
    clouds.whole()
    code, text = command(clouds, "sessions")
    assert code == 0
    assert [line.split()[2:] for line in text.splitlines()] == [
        ["aws", "-", "up"],
        ["azure-native", "primary", "up"],
    ]
    states = [each["state"] for each in json.loads(command(clouds, "sessions", "--json")[1])]
    assert states == ["up", "up"]


# Look-ups and the provider itself


def test_profiles_are_looked_up_by_name(clouds):
    found = clouds.equinix.invoke(
        "equinix:fabric/getServiceProfile:getServiceProfile", uuid=clouds.profile("Azure ExpressRoute")
    )
    assert found["name"] == "Azure ExpressRoute"
    nothing = clouds.equinix.invoke(
        "equinix:fabric/getServiceProfiles:getServiceProfiles",
        filter={"property": "/name", "operator": "=", "values": ["Elsewhere"]},
    )
    assert nothing["data"] == []


def test_router_and_connection_are_looked_up_by_id(clouds):
    line = clouds.up(CONNECTION, "to-azure", clouds.to_azure())
    invoke = clouds.equinix.invoke
    found = invoke("equinix:fabric/getCloudRouter:getCloudRouter", uuid=clouds.router.id)
    assert (found["connectionsCount"], found["packages"]) == (1, [{"code": "STANDARD"}])
    assert invoke("equinix:fabric/getConnection:getConnection", uuid=line.id)["state"] == "ACTIVE"
    with pytest.raises(Failed, match="Connection none does not exist"):
        invoke("equinix:fabric/getConnection:getConnection", uuid="none")


def test_asking_for_the_same_again_changes_nothing(clouds):
    clouds.whole()
    for name, each in clouds.equinix.resources.items():
        given = {key: plain(value) for key, value in each.inputs.items() if not key.startswith("__")}
        assert clouds.equinix.refresh(name) is not None, name
        assert clouds.equinix.diff(each.token, name, given).changes == [], name


def test_every_output_that_the_sdk_promises_is_there(clouds):
    clouds.whole()
    cloud = load("equinix")
    for each in clouds.equinix.resources.values():
        type = cloud.by_token[each.token]
        promised = {
            name for name, word in cloud.type_schema(each.token).outputs.items() if word.endswith("!")
        }
        assert promised - set(each.outputs) - type.absent == set(), each.token


def test_the_schema_is_the_one_of_the_installed_sdk():
    cloud = load("equinix")
    committed = json.loads((cloud.folder / "schema.json").read_text())
    assert committed == extract("equinix", cloud.by_token, cloud.functions_by_token)


def test_the_provider_imports_no_vendors_sdk():
    text = (
        "import sys, gpu_fabric.rehearsal.equinix.cloud, gpu_fabric.rehearsal.core.provider; "
        "print([name for name in sys.modules if name.startswith(('pulumi_', 'boto'))])"
    )
    assert (
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
