"""`CrossCloudInterconnect` in a program: every argument is checked as in a stack file, in Python's spelling."""

from __future__ import annotations

import copy
from typing import Any

import pulumi
import pytest

from gpu_fabric.components.interconnect import CrossCloudInterconnect
from gpu_fabric.components.interconnect.settings import CrossCloudSettings
from gpu_fabric.components.problems import InvalidInputError
from gpu_fabric.components.settings import Spelling, read
from tests.components.recorder import record
from tests.components.test_interconnect import ANSWERS, ARGUMENTS, VNET


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Good arguments with `changes`, of which `aws.region` names a key of a key."""
    arguments = copy.deepcopy(ARGUMENTS)
    for path, value in changes.items():
        here = arguments
        *before, last = path.split(".")
        for part in before:
            here = here.setdefault(part, {})
        here[last] = value
    return arguments


def _declare(arguments: Any) -> None:
    CrossCloudInterconnect("own", arguments)


def problems(arguments: Any) -> list[str]:
    try:
        record(lambda: _declare(arguments), answers=ANSWERS)
    except InvalidInputError as refused:
        return [str(one) for one in refused.problems]
    return []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"azure.network_cidr": "10.1.0.0/16", "azure.subnet_cidr": "10.1.32.0/20"},
            "azure.network_cidr: 10.1.0.0/16 overlaps the AWS side's 10.1.0.0/16; join networks whose blocks are apart",
        ),
        (
            {"aws.vpc_cidr": "172.16.0.0/16", "aws.subnet_cidr": "172.16.16.0/20"},
            "aws.vpc_cidr: 172.16.0.0/16 overlaps 172.16.0.0/16 of the RDMA network, which owns it on every Azure "
            "node; join another network",
        ),
        (
            {"azure.network_cidr": "172.16.0.0/16", "azure.subnet_cidr": "172.16.16.0/20"},
            "azure.network_cidr: 172.16.0.0/16 overlaps 172.16.0.0/16 of the RDMA network, which owns it on every "
            "Azure node; join another network",
        ),
        (
            {"aws.subnet_cidr": "10.9.0.0/20"},
            "aws.subnet_cidr: 10.9.0.0/20 is not inside the VPC 10.1.0.0/16; give a part of it",
        ),
        (
            {"azure.subnet_cidr": "10.9.0.0/20"},
            "azure.subnet_cidr: 10.9.0.0/20 is not inside the virtual network 10.2.0.0/16; give a part of it",
        ),
        (
            {"addresses.gateway_subnet_cidr": "10.3.0.0/27"},
            "addresses.gateway_subnet_cidr: 10.3.0.0/27 is not inside the virtual network 10.2.0.0/16; give a part of "
            "it",
        ),
        (
            {"aws.vpc_cidr": "10.0.0.0/8"},
            "aws.vpc_cidr: 10.0.0.0/8 is a /8; a VPC takes a size between /16 and /28",
        ),
        ({"aws.region": "us-east-1a"}, "aws.region: 'us-east-1a' is a zone; give us-east-1"),
        (
            {"aws.region": "Virginia"},
            "aws.region: 'Virginia' is not the name of a region; give one such as us-east-1",
        ),
        (
            {"azure.location": "east-us"},
            "azure.location: 'east-us' is not the name of a region; give one such as eastus",
        ),
        (
            {"azure.virtual_network_id": "my-vnet"},
            "azure.virtual_network_id: is not the id of a virtual network; give it as "
            "/subscriptions/…/virtualNetworks/… (`az network vnet show --query id`)",
        ),
    ],
)
def test_a_programs_networks_are_checked_before_anything_is_declared(
    changes: dict[str, Any], message: str
) -> None:
    assert message in problems(changed(changes))


@pytest.mark.parametrize(
    "key", ["aws.vpc_cidr", "aws.subnet_cidr", "azure.network_cidr", "azure.subnet_cidr"]
)
@pytest.mark.parametrize("text", ["nonsense", "10.1.0.0", "10.1.16.1/20", ""])
def test_every_block_of_a_program_is_one(key: str, text: str) -> None:
    said = problems(changed({key: text}))
    assert [one for one in said if one.startswith(f"{key}: ")], said


@pytest.mark.parametrize("network", ["aws", "azure"])
def test_a_network_that_is_missing_is_asked_for_and_the_rest_is_checked(network: str) -> None:
    arguments = changed({"mtu": 9_000})
    del arguments[network]
    missing, mtu = problems(arguments)
    assert missing.startswith(f"{network}: is missing; give the network on ")
    assert mtu.startswith("mtu: ExpressRoute carries 1500 bytes at most")


@pytest.mark.parametrize(("given", "kind"), [([], "a list"), ("x", "text")])
def test_arguments_that_are_no_map_are_refused_without_an_empty_path(given: Any, kind: str) -> None:
    assert f"{kind} stands where a map belongs; write `key: value` lines" in problems(given)


def test_azures_own_spelling_of_a_region_is_the_same_region() -> None:
    assert problems(changed({"azure.location": "East US"})) == []


@pytest.mark.parametrize("id_", [f"{VNET}/subnets/n", "v", "vpc-7"])
def test_only_the_whole_id_of_a_virtual_network_is_taken(id_: str) -> None:
    assert [one.partition(":")[0] for one in problems(changed({"azure.virtual_network_id": id_}))] == [
        "azure.virtual_network_id"
    ]


def read_in_a_program(changes: dict[str, Any]) -> tuple[CrossCloudSettings | None, list[str]]:
    settings, found = read(CrossCloudSettings, changed(changes), spelling=Spelling.SNAKE)
    return settings, [str(one) for one in found]


def test_a_key_is_a_secret_though_the_program_did_not_say_so() -> None:
    def program() -> dict[str, Any]:
        settings, found = read_in_a_program({"bgp_key": pulumi.Output.from_input("correct-horse")})
        assert found == []
        assert settings is not None
        assert settings.bgp_key is not None
        return {"secret": settings.bgp_key.is_secret()}

    assert record(program).outputs["secret"] is True


def test_a_block_that_is_an_output_is_refused_as_such() -> None:
    found: list[str] = []

    def program() -> None:
        found.extend(read_in_a_program({"aws.vpc_cidr": pulumi.Output.from_input("10.1.0.0/16")})[1])

    record(program)
    assert found == [
        "aws.vpc_cidr: is an output, which nobody knows before a deployment, and the plan is checked before; give the "
        "value itself"
    ]
