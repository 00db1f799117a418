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
    about = {
        "name": "ordered",
        "bandwidth": "10Gbps",
        "location": "EqDC2",
        "state": "ordering",
        "hosted": True,
        "vlanId": vlan,
        "ownerAccountId": "000000000000",
        "jumboFrameCapable": True,
        "awsDevice": "EqDC2-simulated",
        "prefixPoolUnallocatedCountIpv4": 1000,
        "prefixPoolUnallocatedCountIpv6": 1000,
    }
    rehearsal(stack, "hold", HOSTED, json.dumps(about), "--id", connection_id, "--raw")
    set_circuit(stack, "Provisioned")


def set_circuit(stack: SimulatedStack, state: str) -> None:
    (circuit,) = held(stack, CIRCUIT)
    rehearsal(stack, "drift", CIRCUIT, circuit["id"], "serviceProviderProvisioningState", state)


def changes(said: str) -> list[str]:
    """The lines of a preview or update that create, change or delete something."""
    marks = (" + ", " - ", " ~ ", "+-", "++", "--")
    return [line for line in said.splitlines() if line.startswith(marks)]


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

    # The way back: the clouds' ends first, then the partner, then the rest.
    simulated.configure(linked(MANUAL))
    simulated.ok("up")
    assert held(simulated, PEERING) == held(simulated, INTERFACE) == []
    set_circuit(simulated, "NotProvisioned")
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
