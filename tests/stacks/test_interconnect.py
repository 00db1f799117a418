"""The private link on the real engine against simulated clouds, as `make` runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gpu_fabric.engine.stack_file import PLACEHOLDER
from tests.simulated import ROOT, SimulatedStack

pytestmark = pytest.mark.engine

AWS = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 1}
AZURE = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 1, "location": "eastus"}
MANUAL = {"partner": "manual", "bandwidthMbps": 10_000}
CIRCUIT = "azure-native:network:ExpressRouteCircuit"
PEERING = "azure-native:network:ExpressRouteCircuitPeering"
HOSTED = "aws:directconnect/connection:Connection"
INTERFACE = "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface"


def linked(link: dict[str, Any]) -> dict[str, Any]:
    return {"aws": AWS, "azure": AZURE, "interconnect": link}


def rehearsal(stack: SimulatedStack, *arguments: str) -> str:
    """What somebody does at a cloud or a partner behind Pulumi's back."""
    line = [sys.executable, "-m", "gpu_fabric.rehearsal", "--database", str(stack.database), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def held(stack: SimulatedStack, type_: str) -> list[dict[str, Any]]:
    return [dict(one) for one in stack.holdings() if one["kind"] == type_]


def provision(stack: SimulatedStack, connection_id: str, vlan: int) -> None:
    """The partner does what was ordered: a hosted connection that waits to be confirmed, and the circuit."""
    rehearsal(stack, "offer", str(vlan), "--id", connection_id)
    (circuit,) = held(stack, CIRCUIT)
    rehearsal(stack, "provision", circuit["id"])


def sessions(stack: SimulatedStack) -> list[dict[str, Any]]:
    """The BGP sessions between the partner's routers and the clouds, up or down, with the reasons."""
    return json.loads(rehearsal(stack, "sessions", "--json"))


SECOND = {**MANUAL, "provisioned": True, "manual": {"connectionIds": ["dxcon-0000000a"], "vlans": [77]}}


def test_a_manual_link_in_its_two_phases_and_back(simulated: SimulatedStack) -> None:
    simulated.configure(linked(MANUAL))
    said = simulated.ok("up")
    assert "to do 1: order from your partner at Washington DC (DC)" in said
    assert held(simulated, PEERING) == []
    simulated.ok("preview", "--expect-no-changes")

    # Said too early: a message, the first phase's plan, and no failure.
    simulated.configure(linked(SECOND))
    said = simulated.ok("up")
    assert "provisioned: the circuit is NotProvisioned, so this plan stops before the peering" in said
    assert held(simulated, PEERING) == held(simulated, INTERFACE) == []

    provision(simulated, "dxcon-0000000a", 77)
    simulated.ok("up")
    assert len(held(simulated, PEERING)) == len(held(simulated, INTERFACE)) == 1
    assert simulated.outputs()["interconnect"]["link"]["connected"] is True
    simulated.ok("preview", "--expect-no-changes")

    # Whatever the circuit says: nothing of a link that is up goes without a word of the user's.
    (circuit,) = held(simulated, CIRCUIT)
    state = (CIRCUIT, circuit["id"], "serviceProviderProvisioningState")
    rehearsal(simulated, "drift", *state, "Deprovisioning")
    said = simulated.ok("preview", "--expect-no-changes")
    assert "and still has its private peering, so the link stays in this plan as it was" in said
    rehearsal(simulated, "drift", *state, "Provisioned")

    # The way back: the clouds' ends first, then the partner, then the rest.
    simulated.configure(linked(MANUAL))
    simulated.ok("up")
    assert held(simulated, PEERING) == held(simulated, INTERFACE) == []
    rehearsal(simulated, "provision", circuit["id"], "--undo")
    rehearsal(simulated, "lose", HOSTED, "dxcon-0000000a")
    simulated.ok("destroy")
    assert simulated.holdings() == []


#: Written into the stack file; a simulated run cannot decrypt it and has `PLACEHOLDER` in its place, a secret too.
KEY = "a-key-that-nobody-else-knows"


def test_the_key_is_in_no_state_no_output_no_report_and_no_log(simulated: SimulatedStack) -> None:
    def configure(link: dict[str, Any]) -> None:
        simulated.configure(linked({**link, "bgpKeyFrom": "bgpKey"}))
        done = simulated.pulumi(
            "config", "set", "--secret", "gpu-fabric:bgpKey", KEY, "--stack", simulated.stack
        )
        assert done.returncode == 0, done.stderr

    assert simulated.pulumi("stack", "init", simulated.stack).returncode == 0
    configure(MANUAL)
    simulated.ok("up")
    provision(simulated, "dxcon-0000000a", 77)
    shown = simulated.pulumi("stack", "output", "--json", "--show-secrets", "--stack", simulated.stack)
    service_key = json.loads(shown.stdout)["interconnect"]["serviceKey"]
    configure(SECOND)
    done = simulated.run("up", "--logtostderr", "-v=9")
    assert done.returncode == 0, done.stderr
    # Both are really used: whoever may decrypt the state finds them there.
    opened = simulated.pulumi("stack", "export", "--show-secrets", "--stack", simulated.stack).stdout
    assert PLACEHOLDER in opened
    assert len(service_key) > 20
    assert service_key in opened
    texts = {
        "stdout": done.stdout,
        "log": done.stderr,
        "state": json.dumps(simulated.exported()),
        "outputs": json.dumps(simulated.outputs()),
        "stack file": (simulated.project / "Pulumi.dev.yaml").read_text(),
        **{str(path): path.read_text() for path in simulated.project.glob("reports/*")},
    }
    assert any(name.endswith("dev.md") for name in texts)
    assert "azure-native:network:ExpressRouteCircuitPeering" in texts["log"]
    leaks = [
        (secret, name)
        for secret in (KEY, PLACEHOLDER, service_key)
        for name, text in texts.items()
        if secret in text
    ]
    assert leaks == []


EQUINIX = {
    "partner": "equinix",
    "bandwidthMbps": 10_000,
    "awsAccount": "000000000000",
    "equinix": {"projectId": "00000000-0000-0000-0000-000000000000", "emails": ["network@example.com"]},
}


@pytest.mark.parametrize(
    ("gateway", "redundancy"),
    [
        ("virtualPrivate", "circuit"),
        ("transit", "none"),
        pytest.param("virtualPrivate", "none", marks=pytest.mark.slow),
        pytest.param("transit", "circuit", marks=pytest.mark.slow),
    ],
)
def test_a_link_through_equinix_comes_up_in_one_go_stays_and_leaves_nothing(
    simulated: SimulatedStack, redundancy: str, gateway: str
) -> None:
    simulated.configure(linked({**EQUINIX, "redundancy": redundancy, "awsGateway": gateway}))
    simulated.ok("up")
    found = sessions(simulated)
    assert [one for one in found if one["state"] != "up"] == []
    assert sorted(one["cloud"] for one in found) == sorted(
        ["aws", "azure-native"] * (1 + (redundancy == "circuit"))
    )
    block = "10.100.0.0/16" if gateway == "virtualPrivate" else "10.100.16.0/20"
    assert {tuple(one["announced"]) for one in found if one["cloud"] == "aws"} == {(block,)}
    # A refresh finds the circuit Provisioned, which was NotProvisioned when it was made, and nothing follows from it.
    simulated.ok("refresh")
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


ROUTER = "equinix:fabric/cloudRouter:CloudRouter"
FABRIC_CONNECTION = "equinix:fabric/connection:Connection"
PROTOCOL = "equinix:fabric/routingProtocol:RoutingProtocol"
CONFIRMATION = "aws:directconnect/connectionConfirmation:ConnectionConfirmation"
GATEWAY = "azure-native:network:VirtualNetworkGateway"
CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"
#: What is lost, and how many answers of each: Azure's provider asks three times again, so all four are lost, and the
#: engine learns no id.
LOST = {
    "aws:directconnect/gatewayAssociation:GatewayAssociation": 1,
    INTERFACE: 1,
    CIRCUIT: 4,
    CONNECTION: 4,
}


@pytest.mark.parametrize(
    "types",
    [
        pytest.param((INTERFACE, CIRCUIT), id="one of each cloud"),
        pytest.param((*LOST,), id="all", marks=pytest.mark.slow),
    ],
)
def test_what_was_made_and_never_answered_for_is_taken_in_by_the_next_up(
    simulated: SimulatedStack, types: tuple[str, ...]
) -> None:
    simulated.configure(linked(EQUINIX))
    one = {"name": "*link*", "operation": "create", "when": "after", "message": "no answer"}
    simulated.simulation.folder.mkdir(parents=True, exist_ok=True)
    lost = [{**one, "type": type_, "first": LOST[type_]} for type_ in types]
    simulated.simulation.faults.write_text(json.dumps({"fail": lost}))
    said, runs = "", 0
    while (done := simulated.run("up")).returncode != 0:
        assert "no answer" in done.stdout
        said, runs = said + done.stderr, runs + 1
        assert runs <= len(types)
    said += done.stderr
    assert said.count("the answer to its creation was lost. It is taken into the state") == len(types)
    is_up_once(simulated)


def fails(stack: SimulatedStack, *types: str, when: str) -> None:
    """The first creation of each of these in the link goes wrong."""
    one = {"name": "*link*", "operation": "create", "first": 1, "when": when, "message": "later"}
    stack.simulation.folder.mkdir(parents=True, exist_ok=True)
    stack.simulation.faults.write_text(json.dumps({"fail": [{**one, "type": type_} for type_ in types]}))


def is_up_once(stack: SimulatedStack) -> None:
    """The link is up, with one of everything and nothing left over."""
    assert [one["state"] for one in sessions(stack)] == ["up", "up"]
    for one_of in (CIRCUIT, PEERING, CONNECTION, GATEWAY, INTERFACE, ROUTER, HOSTED):
        assert len(held(stack, one_of)) == 1, one_of
    assert len(held(stack, FABRIC_CONNECTION)) == 2
    assert len(held(stack, PROTOCOL)) == 4
    assert len(held(stack, "aws:directconnect/gateway:Gateway")) == 1
    stack.ok("preview", "--expect-no-changes")
    stack.ok("destroy")
    assert stack.holdings() == []


#: Refused before anything was done.
REFUSED = {
    "circuit": CIRCUIT,
    "partners-connection": FABRIC_CONNECTION,
    "acceptance": CONFIRMATION,
}


#: The partner's answer to a circuit, and to the rest by `make test-slow`: an offer that ran out begins as one of these.
@pytest.mark.parametrize(
    "what", ["circuit", *(pytest.param(one, marks=pytest.mark.slow) for one in REFUSED if one != "circuit")]
)
def test_after_a_refusal_in_the_middle_one_more_up_ends_well(simulated: SimulatedStack, what: str) -> None:
    simulated.configure(linked(EQUINIX))
    fails(simulated, REFUSED[what], when="before")
    assert simulated.run("up").returncode != 0
    simulated.ok("up")
    is_up_once(simulated)


#: Everything of the link on both sides and between.
ALL = (
    "aws:directconnect/gateway:Gateway",
    "aws:ec2/vpnGateway:VpnGateway",
    "aws:directconnect/gatewayAssociation:GatewayAssociation",
    CONFIRMATION,
    INTERFACE,
    CIRCUIT,
    "azure-native:network:PublicIPAddress",
    GATEWAY,
    PEERING,
    CONNECTION,
    ROUTER,
    FABRIC_CONNECTION,
    PROTOCOL,
)


@pytest.mark.parametrize(
    "types",
    [
        pytest.param((CIRCUIT, GATEWAY, INTERFACE), id="the slow ones"),
        pytest.param(ALL, id="all", marks=pytest.mark.slow),
    ],
)
def test_what_was_made_and_waited_for_in_vain_is_used_by_the_next_up(
    simulated: SimulatedStack, types: tuple[str, ...]
) -> None:
    """Each times out once after it was made. An `up` goes on until something does, so it takes some."""
    simulated.configure(linked(EQUINIX))
    fails(simulated, *types, when="partial")
    runs = 0
    while simulated.run("up").returncode != 0:
        runs += 1
        assert runs <= len(types)
    assert runs >= 2
    is_up_once(simulated)


def test_an_offer_that_ran_out_is_made_again_by_one_more_up(simulated: SimulatedStack) -> None:
    simulated.configure(linked(EQUINIX))
    fails(simulated, CONFIRMATION, when="before")
    assert simulated.run("up").returncode != 0
    (offered,) = held(simulated, HOSTED)
    assert rehearsal(simulated, "expire", offered["id"]).startswith(f"{offered['id']}: was ordering, is gone")
    done = simulated.run("up")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it looks at what is there and tries once more" in done.stderr
    assert [one["id"] for one in held(simulated, HOSTED)] != [offered["id"]]
    is_up_once(simulated)


#: What `pulumi package add terraform-provider megaport/megaport` writes, as far as the component uses it.
MEGAPORT_SDK = """
import pulumi


class _Bridged(pulumi.CustomResource):
    def __init__(self, name, opts=None, **given):
        super().__init__(self.token, name, {"product_uid": None, **given}, opts)

    def translate_input_property(self, prop):
        head, *rest = prop.split("_")
        return head + "".join(part.capitalize() for part in rest)

    def translate_output_property(self, prop):
        return "".join(f"_{char.lower()}" if char.isupper() else char for char in prop)


class Mcr(_Bridged):
    token = "megaport:index/mcr:Mcr"


class Vxc(_Bridged):
    token = "megaport:index/vxc:Vxc"
"""


def test_a_link_through_megaport_comes_up_with_the_bridged_package_and_leaves_nothing(
    simulated: SimulatedStack,
) -> None:
    ports = {
        "locationId": 9001,
        "awsProductUid": "00000000-0000-4000-8000-000100009001",
        "azureProductUid": "00000000-0000-4000-8000-000000000001",
    }
    link: dict[str, Any] = {key: value for key, value in EQUINIX.items() if key != "equinix"}
    link |= {"partner": "megaport", "redundancy": "circuit", "megaport": ports, "bgpKeyFrom": "bgpKey"}
    assert simulated.pulumi("stack", "init", simulated.stack).returncode == 0
    simulated.configure(linked(link))
    simulated.pulumi("config", "set", "--secret", "gpu-fabric:bgpKey", KEY, "--stack", simulated.stack)
    refused = simulated.run("preview")
    assert refused.returncode != 0
    assert (
        "run `pulumi package add terraform-provider megaport/megaport 1.9.1`"
        in refused.stdout + refused.stderr
    )
    assert "Traceback" not in refused.stdout + refused.stderr

    (simulated.project / "pulumi_megaport.py").write_text(MEGAPORT_SDK)
    simulated.ok("up")
    found = sessions(simulated)
    assert [one["reasons"] for one in found] == [[]] * 4
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []
