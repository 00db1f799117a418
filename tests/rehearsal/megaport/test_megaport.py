"""Megaport between the two clouds, as the Terraform provider behind Pulumi's bridge has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from gpu_fabric.rehearsal import sessions
from gpu_fabric.rehearsal.clouds import load
from gpu_fabric.rehearsal.core.provider import Provider
from gpu_fabric.rehearsal.core.values import UNKNOWN, plain

from ..aws import link as aws_link
from ..azure import link as azure_link
from ..azure.world import World, merged
from ..small_engine import Context, Failed, SmallEngine

MCR, VXC = "megaport:index/mcr:Mcr", "megaport:index/vxc:Vxc"
DOCS = "megaport/terraform-provider-megaport docs/resources/vxc.md"
ACCOUNT = "123456789012"


def marked(verb: str, title: str, message: str, source: str = DOCS) -> str:
    return (
        f"Error {verb.title()[:-1]}ing {title}: Could not {verb} {title}, unexpected error: {message} [rule: {source}; "
        f"the wording is the simulation's]"
    )


class Link:
    """Megaport with a router in Ashburn, AWS, and Azure with a circuit of Megaport's."""

    def __init__(self, database: Path) -> None:
        self.aws = SmallEngine("aws", database, region="us-east-1")
        self.azure = World(SmallEngine("azure-native", database, location="eastus"))
        self.engine = SmallEngine("megaport", database)
        self.circuit = self.azure.up(
            azure_link.CIRCUIT,
            "link",
            azure_link.circuit(serviceProviderProperties={"serviceProviderName": "Megaport"}),
        )
        self.mcr = self.engine.up(MCR, "mcr", mcr())

    def port(self, connect: str = "AWSHC") -> str:
        found = self.engine.invoke(
            "megaport:index/getPartner:getPartner",
            connectType=connect,
            companyName="AWS",
            productName="US East (N. Virginia) (us-east-1)",
            locationId=9001,
        )
        return found["productUid"]

    def to_aws(self, connect: str = "AWSHC", **change: Any) -> dict[str, Any]:
        config = {"connectType": connect, "name": "to-aws", "ownerAccount": ACCOUNT}
        return self._vxc(
            {
                "bEnd": {"requestedProductUid": self.port(connect)},
                "bEndPartnerConfig": {"partner": "aws", "awsConfig": config},
            },
            change,
        )

    def to_azure(self, **change: Any) -> dict[str, Any]:
        config = {"portChoice": "primary", "serviceKey": self.circuit["serviceKey"]}
        return self._vxc(
            {"bEnd": {}, "bEndPartnerConfig": {"partner": "azure", "azureConfig": config}}, change
        )

    def _vxc(self, base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
        common = {
            "productName": "line",
            "rateLimit": 10000,
            "contractTermMonths": 1,
            "aEnd": {"requestedProductUid": self.mcr["productUid"]},
        }
        return merged({**common, **base}, change)

    def refused(self, name: str, inputs: dict[str, Any], token: str = VXC) -> str:
        before = self.engine.store.dump()
        with pytest.raises(Failed) as failed:
            self.engine.up(token, name, inputs)
        assert self.engine.store.dump() == before
        return failed.value.text

    def sessions(self) -> dict[str, tuple[str, ...]]:
        with self.engine.store.transaction("megaport") as tx:
            return {each.cloud: each.reasons for each in sessions.sessions(tx)}


def mcr(**change: Any) -> dict[str, Any]:
    return {
        "productName": "fabric",
        "portSpeed": 10000,
        "locationId": 9001,
        "contractTermMonths": 1,
        **change,
    }


def peered(local: str, peer: str, asn: int, key: str) -> dict[str, Any]:
    """A router's interface with one BGP connection."""
    bgp = {"localIpAddress": local, "peerIpAddress": peer, "peerAsn": asn, "password": key}
    interface = {"ipAddresses": [f"{local}/30"], "bgpConnections": [bgp]}
    return {"partner": "vrouter", "vrouterConfig": {"interfaces": [interface]}}


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Link:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "GPU_FABRIC_REHEARSAL_FAULTS"):
        monkeypatch.delenv(variable, raising=False)
    return Link(tmp_path / "clouds.db")


# Routers


@pytest.mark.parametrize("speed", [1000, 2500, 100000])
def test_a_router_has_a_speed_that_is_sold(link, speed):
    link.engine.up(MCR, "good", mcr(portSpeed=speed))
    with pytest.raises(Failed) as failed:
        link.engine.preview(MCR, "bad", mcr(portSpeed=2000))
    assert failed.value.text == (
        'Invalid Attribute Value Match. Attribute port_speed value must be one of: ["1000" "2500" "5000" "10000" '
        '"25000" "50000" "100000"], got: 2000. Examine values at \'bad.portSpeed\'.'
    )


def test_a_routers_asn_is_megaports_unless_it_is_given_and_never_azures(link):
    assert link.mcr["asn"] == 133937
    assert link.engine.up(MCR, "own", mcr(asn=64555))["asn"] == 64555
    source = "megaport/terraform-provider-megaport docs/resources/mcr.md"
    assert link.refused("bad", mcr(asn=65515), MCR) == marked("create", "MCR", "ASN 65515 is Azure's", source)
    assert link.refused("lost", mcr(locationId=1), MCR) == marked(
        "create", "MCR", "Location 1 has no MCR; look one up with getLocation", source
    )


def test_the_speed_of_a_router_is_for_life(link):
    assert link.engine.diff(MCR, "mcr", mcr(portSpeed=25000)).replaces == ["portSpeed"]
    assert link.engine.diff(MCR, "mcr", mcr(productName="renamed")).replaces == []


# What a line does in the clouds


def test_a_line_to_aws_makes_a_hosted_connection_that_waits_for_its_owner(link):
    line = link.engine.up(VXC, "to-aws", link.to_aws())
    found = link.aws.invoke("aws:directconnect/getConnection:getConnection", name="to-aws")
    assert (found["state"], found["partnerName"], found["vlanId"]) == (
        "ordering",
        "Megaport",
        line["bEnd"]["vlan"],
    )
    link.aws.up(aws_link.CONFIRMATION, "yes", connectionId=found["id"])


def test_a_hosted_interface_waits_for_its_owner_and_outlives_the_acceptance(link):
    inputs = link.to_aws("AWS")
    assert link.refused("bad", inputs) == marked("create", "VXC", "type None is neither private nor transit")
    inputs["bEndPartnerConfig"]["awsConfig"]["type"] = "private"
    link.engine.up(VXC, "vif", inputs)
    (id,) = [each["id"] for each in link.engine.store.dump("aws") if each["kind"] == "hostedVirtualInterface"]
    gateway = link.aws.up(aws_link.GATEWAY, "dx", amazonSideAsn="64512")
    link.aws.up(aws_link.PRIVATE_ACCEPTER, "yes", virtualInterfaceId=id, dxGatewayId=gateway.id)
    link.aws.destroy("yes")
    with pytest.raises(Failed, match=f"has attached resources and cannot be deleted: {id}"):
        link.aws.destroy("dx")
    link.engine.destroy("vif")
    link.aws.destroy("dx")


def test_a_line_with_the_service_key_provisions_the_circuit_and_goes_after_the_peering(link):
    link.engine.up(VXC, "to-azure", link.to_azure())
    link.azure.up(azure_link.PEERING, "peering", azure_link.peering())
    with pytest.raises(Failed) as failed:
        link.engine.destroy("to-azure")
    assert failed.value.text == marked(
        "delete",
        "VXC",
        "circuit link has peering AzurePrivatePeering: delete it in Azure first, then wait",
        "terraform-provider-megaport#43",
    )
    link.azure.engine.destroy("peering")
    link.engine.destroy("to-azure")
    link.azure.engine.destroy("link")


def test_two_lines_take_the_two_ports_of_the_circuit(link):
    link.engine.up(VXC, "one", link.to_azure())
    assert "the primary port of circuit link is taken by" in link.refused("two", link.to_azure())
    link.engine.up(VXC, "two", link.to_azure(bEndPartnerConfig={"azureConfig": {"portChoice": "secondary"}}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"aEnd": {"requestedProductUid": "none"}}, "A-End none is no MCR of the simulation"),
        ({"rateLimit": 10001}, "rate limit 10001 is more than the MCR's 10000 Mb/s"),
        (
            {"bEndPartnerConfig": {"awsConfig": {"ownerAccount": "12345678901"}}},
            "owner_account is not the 12 digits of an AWS account",
        ),
        (
            {"bEndPartnerConfig": {"awsConfig": {"connectType": "AWS"}}},
            "connect_type AWS does not fit the B-End, a port of AWSHC",
        ),
    ],
)
def test_a_line_has_two_ends_that_fit(link, change, message):
    assert link.refused("bad", link.to_aws(**change)) == marked("create", "VXC", message)


def test_a_line_to_aws_without_a_port_is_refused_in_megaports_words(link):
    text = link.refused("bad", link.to_aws(bEnd={"requestedProductUid": "none"}))
    assert "Validation failed Valid B-End is required" in text


def test_a_line_of_azure_needs_a_port_and_makes_no_peering(link):
    of = lambda **azure: link.to_azure(bEndPartnerConfig={"azureConfig": azure})  # noqa: E731
    assert link.refused("a", of(portChoice="third")) == marked(
        "create", "VXC", "port_choice third is neither primary nor secondary"
    )
    assert "leave azureConfig.peers out" in link.refused("b", of(peers=[{"type": "private"}]))
    assert "no ExpressRoute circuit has the service key nonsense" in link.refused(
        "c", of(serviceKey="nonsense")
    )


def test_a_router_stays_while_it_has_lines(link):
    line = link.engine.up(VXC, "to-azure", link.to_azure())
    with pytest.raises(Failed, match=f"has VXCs and cannot be deleted: {line.id}"):
        link.engine.destroy("mcr")


# Sessions and keys


def whole(link: Link, key: str) -> None:
    link.engine.up(
        VXC, "to-aws", link.to_aws(aEndPartnerConfig=peered("169.254.7.2", "169.254.7.1", 64512, key))
    )
    found = link.aws.invoke("aws:directconnect/getConnection:getConnection", name="to-aws")
    link.aws.up(aws_link.CONFIRMATION, "yes", connectionId=found["id"])
    gateway = link.aws.up(aws_link.GATEWAY, "dx", amazonSideAsn="64512")
    vif = aws_link.vif(
        found["id"],
        gateway.id,
        bgpAsn=link.mcr["asn"],
        vlan=found["vlanId"],
        amazonAddress="169.254.7.1/30",
        customerAddress="169.254.7.2/30",
        bgpAuthKey=key,
    )
    link.aws.up(aws_link.PRIVATE, "vif", vif)
    link.engine.up(
        VXC, "to-azure", link.to_azure(aEndPartnerConfig=peered("192.168.15.17", "192.168.15.18", 12076, key))
    )
    link.azure.up(azure_link.PEERING, "peering", azure_link.peering(peerASN=link.mcr["asn"], sharedKey=key))


def test_sessions_are_up_when_both_ends_agree_and_no_key_is_in_the_database(link):
    whole(link, "correct-horse-battery")
    assert link.sessions() == {"aws": (), "azure-native": ()}
    store = link.engine.store
    assert "correct-horse" not in json.dumps(store.dump()) + json.dumps(store.journal())
    assert b"correct-horse" not in b"".join(
        each.read_bytes() for each in store.path.parent.glob("clouds.db*")
    )
    line = link.engine.refresh("to-aws")
    assert repr(line.outputs["aEndPartnerConfig"]).startswith("Secret(")


def test_a_changed_key_of_the_router_takes_the_session_down(link):
    whole(link, "correct-horse-battery")
    changed = peered("169.254.7.2", "169.254.7.1", 64512, "another")
    link.engine.up(VXC, "to-aws", link.to_aws(aEndPartnerConfig=changed))
    assert link.sessions()["aws"] == ("the two ends have different BGP keys",)
    text = marked("update", "VXC", "bEndPartnerConfig cannot change on a live VXC")
    with pytest.raises(Failed, match=re.escape(text)):
        link.engine.up(
            VXC,
            "to-aws",
            link.to_aws(
                aEndPartnerConfig=changed, bEndPartnerConfig={"awsConfig": {"ownerAccount": "9" * 12}}
            ),
        )


def test_a_router_speaks_from_an_address_that_it_has(link):
    wrong = peered("169.254.7.2", "169.254.7.1", 64512, "k")
    wrong["vrouterConfig"]["interfaces"][0]["ipAddresses"] = ["169.254.8.2/30"]
    assert link.refused("bad", link.to_aws(aEndPartnerConfig=wrong)) == marked(
        "create", "VXC", "local_ip_address 169.254.7.2 is none of the interface's ip_addresses"
    )


# The provider


def test_asking_for_the_same_again_changes_nothing(link):
    whole(link, "correct-horse-battery")
    for name, each in link.engine.resources.items():
        given = {key: plain(value) for key, value in each.inputs.items() if not key.startswith("__")}
        assert link.engine.refresh(name) is not None, name
        assert link.engine.diff(each.token, name, given).changes == [], name


def test_every_output_that_the_schema_promises_is_there(link):
    whole(link, "correct-horse-battery")
    cloud = load("megaport")
    for each in link.engine.resources.values():
        outputs = cloud.type_schema(each.token).outputs
        assert {name for name, word in outputs.items() if word.endswith("!")} <= set(each.outputs), each.token


def test_a_preview_does_not_know_what_megaport_will_say(link):
    planned = plain(link.engine.preview(VXC, "to-azure", link.to_azure()))
    assert planned["productUid"] is UNKNOWN and planned["bEnd"]["vlan"] is UNKNOWN


def test_locations_are_looked_up_by_number_or_name(link):
    invoke = link.engine.invoke
    assert invoke("megaport:index/getLocation:getLocation", id=9001)["metro"] == "Ashburn"
    assert invoke("megaport:index/getLocation:getLocation", name="Equinix LD5")["id"] == 9006
    with pytest.raises(Failed, match="no such Megaport location; the simulation knows 9001"):
        invoke("megaport:index/getLocation:getLocation", name="Elsewhere")
    with pytest.raises(Failed, match="not AZURE; a VXC to Azure needs none"):
        invoke("megaport:index/getPartner:getPartner", connectType="AZURE")


def test_the_plugin_stands_for_the_bridged_provider_and_for_no_other(link):
    request = provider_pb2.ParameterizeRequest
    by_sdk = request(value=request.ParametersValue(name="megaport", version="1.9.1", value=b"{}"))
    by_hand = request(args=request.ParametersArgs(args=["megaport/megaport"]))
    for each in (by_sdk, by_hand):
        answer = link.engine.provider.Parameterize(each, Context())
        assert (answer.name, answer.version) == ("megaport", "1.9.1")
    other = request(args=request.ParametersArgs(args=["hashicorp/random"]))
    with pytest.raises(Failed, match="the simulated megaport provider cannot stand for random"):
        link.engine.provider.Parameterize(other, Context())
    with pytest.raises(Failed, match="the simulated aws provider cannot stand for megaport"):
        Provider(load("aws")).Parameterize(by_sdk, Context())
    assert link.engine.provider.GetPluginInfo(None, Context()).version == "1.9.1"


def test_the_plugins_of_the_bridge_and_of_the_package_are_written(tmp_path):
    line = [sys.executable, "-m", "gpu_fabric.rehearsal", "plugins", str(tmp_path), "--without-language-host"]
    subprocess.run(line, check=True, capture_output=True)
    for name in ("megaport", "terraform-provider"):
        assert "gpu_fabric.rehearsal.megaport" in (tmp_path / f"pulumi-resource-{name}").read_text()
    assert (tmp_path / "pulumi-resource-equinix").exists()


def test_a_schema_written_by_hand_is_not_written_anew():
    line = [sys.executable, "-m", "gpu_fabric.rehearsal", "schema", "megaport"]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "Error: megaport has no SDK: its schema.json is written by hand\n",
    )
