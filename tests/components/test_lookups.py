"""A look-up that fails ends in one sentence with the key, what was asked for and what to do; never in a traceback."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pulumi
import pytest

from gpu_fabric.components.config import read_fabric
from gpu_fabric.components.fabric import GpuFabric
from tests.components.recorder import record
from tests.components.test_interconnect import (
    ANSWERS,
    CIRCUIT_STATE,
    CONFIG,
    HOSTED,
    MEGAPORT,
    PROFILES,
    SECOND,
    _Mcr,
    _Vxc,
)
from tests.components.test_interconnect_checks import AWS, AZURE, LINK, MANUAL

ROOT = Path(__file__).parents[2]
VPC, SUBNET = "aws:ec2/getVpc:getVpc", "aws:ec2/getSubnet:getSubnet"
WORDS = "AuthorizationFailed: the client has no right to this"
CIRCUIT_ID = (
    "/subscriptions/00000000-0000-0000-0000-00000000abcd/resourceGroups/hub/providers/Microsoft.Network/"
    "expressRouteCircuits/hubcircuit"
)
ADOPTED = {"vpcId": "vpc-1", "subnetId": "subnet-1", "subnetCidr": "10.40.16.0/20", "verify": True}
JOINED = {"awsRouteTableIds": ["rtb-1"], "awsVpcCidr": "10.40.0.0/16"}
GIVE_A_CIRCUIT = (
    "log in, and give the id of a circuit of the login's subscription that it may read (`az network express-route show "
    "--query id`), or drop the key for a new circuit"
)
PROFILE = "00000000-0000-0000-0000-000000000001"
GIVE_A_PROFILE = "give its UUID as `awsProfile` or `azureProfile`"


@dataclass(frozen=True)
class LookUp:
    function: str
    """The SDK's."""
    token: str
    said: str
    link: Mapping[str, Any]
    aws: Mapping[str, Any]


def of(function: str, token: str, said: str, *, link: Mapping[str, Any], **aws: Any) -> LookUp:
    return LookUp(function, token, said, link, aws)


CASES = {
    "adopted subnet": of(
        "get_subnet",
        SUBNET,
        "network.subnetId: subnet-1 could not be looked up ({}); give a subnet of this account and region, or leave "
        "out `verify`",
        link={**LINK, **JOINED},
        network=ADOPTED,
    ),
    "adopted VPC": of(
        "get_vpc",
        VPC,
        "interconnect.awsVpcCidr: vpc-1 could not be looked up ({}); give a VPC of this account and region, or leave "
        "out `aws.network.verify`",
        link={**LINK, **JOINED},
        network=ADOPTED,
    ),
    "adopted circuit": of(
        "get_express_route_circuit",
        CIRCUIT_STATE,
        f"interconnect.circuit.id: the circuit hubcircuit in hub could not be looked up ({{}}); {GIVE_A_CIRCUIT}",
        link={**LINK, "circuit": {"id": CIRCUIT_ID}},
    ),
    "state of a circuit": of(
        "get_express_route_circuit",
        CIRCUIT_STATE,
        "interconnect.provisioned: the circuit train-link-circuit in gpu-fabric-test-train-link could not be looked up "
        "({}); log in, or drop the key until you can",
        link={**MANUAL, **SECOND},
    ),
    "circuit of one's own beside an adopted one": of(
        "get_express_route_circuit",
        CIRCUIT_STATE,
        "interconnect.circuit.id: the circuit train-link-circuit in gpu-fabric-test-train-link could not be looked up "
        "({}); log in, or drop the key until you can",
        link={**MANUAL, **SECOND, "circuit": {"id": CIRCUIT_ID}},
    ),
    "profile of Equinix": of(
        "get_service_profiles",
        PROFILES,
        f"interconnect.equinix: the service profile 'Azure ExpressRoute' could not be looked up ({{}}); "
        f"{GIVE_A_PROFILE}",
        link={**LINK, "equinix": {**LINK["equinix"], "awsProfile": PROFILE}},
    ),
    "connection of Megaport": of(
        "get_connection",
        HOSTED,
        "interconnect.awsAccount: the hosted connection gpu-fabric-test-train-link-aws-0 could not be looked up ({}); "
        "Megaport gives it to this account: log in to it, wait until Direct Connect lists it, and run `up` again",
        link={**LINK, **MEGAPORT},
    ),
}


def _recorded(case: LookUp, answer: Mapping[str, Any] | str) -> None:
    def program() -> None:
        pulumi.runtime.set_all_config({**CONFIG}, ["gpu-fabric:bgpKey"])
        GpuFabric(
            "train", read_fabric({"aws": {**AWS, **case.aws}, "azure": AZURE, "interconnect": case.link})
        )

    found = {
        SUBNET: {"id": "subnet-1", "availabilityZone": "us-east-1a"},
        VPC: {"id": "vpc-1", "cidrBlock": "10.40.0.0/16", "cidrBlockAssociations": []},
    }
    try:
        record(program, config=CONFIG, answers={**ANSWERS, **found, case.token: answer})
    finally:
        pulumi.runtime.set_all_config({}, [])


@pytest.fixture(autouse=True)
def megaport(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = ModuleType("pulumi_megaport")
    sdk.Mcr, sdk.Vxc = _Mcr, _Vxc  # ty: ignore[missing-attribute]
    monkeypatch.setitem(sys.modules, "pulumi_megaport", sdk)


@pytest.mark.parametrize("name", CASES)
def test_a_look_up_that_fails_says_where_what_and_what_to_do(name: str) -> None:
    case = CASES[name]
    with pytest.raises(pulumi.RunError) as refused:
        _recorded(case, WORDS)
    said = re.sub(rf"invoke of {case.token} failed: {WORDS} \(id\)", "{}", str(refused.value))
    assert said == case.said


def test_a_circuit_that_is_not_there_is_an_error_where_it_is_adopted_and_a_state_where_it_is_waited_for() -> (
    None
):
    nothing = "Status=404 Code=ResourceGroupNotFound"
    with pytest.raises(
        pulumi.RunError, match=r"^interconnect\.circuit\.id: the circuit hubcircuit in hub could not"
    ):
        _recorded(CASES["adopted circuit"], nothing)
    _recorded(CASES["state of a circuit"], nothing)


def test_every_look_up_of_the_components_is_among_these() -> None:
    """A call `SDK.….get_thing(…)` in components/ that no case here lets fail would end in a traceback."""
    called: set[str] = set()
    for path in (ROOT / "components").rglob("*.py"):
        tree = ast.parse(path.read_text())
        sdks = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
            if f"{getattr(node, 'module', '')}.{alias.name}".lstrip(".").startswith("pulumi_")
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                first = ast.unparse(node.func).partition(".")[0]
                if first in sdks and node.func.attr.startswith("get_"):
                    called.add(node.func.attr)
    assert called == {case.function for case in CASES.values()}


def test_a_look_up_that_the_engine_stopped_asks_for_no_remedy_of_its_own() -> None:
    with pytest.raises(pulumi.RunError) as refused:
        _recorded(CASES["profile of Equinix"], "context canceled")
    assert str(refused.value) == (
        "interconnect.equinix: the service profile 'Azure ExpressRoute' was not looked up: the run ended before, for a "
        "reason that stands beside this"
    )
