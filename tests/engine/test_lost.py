"""What the engine's events say of objects that a lost answer left behind, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.engine.lost import Lost, import_file, interrupted, told, up_with_what_was_lost

SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000"
OURS = f"{SUBSCRIPTION}/resourceGroups/ours"
PARENT = "urn:pulumi:dev::fabric::gpu-fabric:index:AzureLinkEnd::link"
PROVIDER = "urn:pulumi:dev::fabric::pulumi:providers:azure-native::default_3_29_0::1"
GROUP = "azure-native:resources:ResourceGroup"
CIRCUIT = "azure-native:network:ExpressRouteCircuit"


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:dev::fabric::gpu-fabric:index:AzureLinkEnd${type_}::{name}"


def planned(type_: str, called: str, id_: str = "", side: str = "new", **inputs: Any) -> str:
    state = {
        "urn": urn(type_, called),
        "type": type_,
        "id": id_,
        "parent": PARENT,
        "provider": PROVIDER,
        "inputs": inputs,
    }
    return json.dumps({"sequence": 1, "resourcePreEvent": {"metadata": {"op": "create", side: state}}})


def refused(type_: str, name: str, message: str) -> str:
    said = {"urn": urn(type_, name), "message": message, "severity": "error"}
    return json.dumps({"sequence": 2, "diagnosticEvent": said})


def events(id_: str, group: str = OURS) -> list[str]:
    return [
        planned(GROUP, "group", group, side="old"),
        planned(CIRCUIT, "circuit"),
        refused(CIRCUIT, "circuit", f"cannot create already existing resource '{id_}'\n"),
    ]


def in_group(group: str) -> str:
    return f"{group}/providers/Microsoft.Network/expressRouteCircuits/circuit"


@pytest.mark.parametrize(
    ("made", "group", "ours"),
    [
        (in_group(OURS), OURS, True),
        # Resource Manager's names are the same in any casing.
        (in_group(OURS.upper().replace("/SUBSCRIPTIONS", "/subscriptions")), OURS, True),
        (in_group(f"{SUBSCRIPTION}/resourceGroups/theirs"), OURS, False),
        # A name that only begins as ours does.
        (in_group(f"{OURS}-and-more"), OURS, False),
        # The group itself: that somebody else's has the same name cannot be told from a lost answer.
        (OURS, "", False),
    ],
)
def test_what_lies_in_a_group_of_this_stack_is_this_stacks(made: str, group: str, ours: bool) -> None:
    (found,) = told(events(made, group)).lost
    assert found == Lost(CIRCUIT, "circuit", made, PARENT, "3.29.0", ours)


ASSOCIATION = "aws:directconnect/gatewayAssociation:GatewayAssociation"
INTERFACE = "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface"
MADE = [
    planned("aws:directconnect/gateway:Gateway", "gateway", "0-1"),
    planned("aws:ec2/vpnGateway:VpnGateway", "private", "vgw-1"),
    planned("aws:directconnect/connectionConfirmation:ConnectionConfirmation", "accept", "dxcon-1"),
]
ASSOCIATE = planned(ASSOCIATION, "association", dxGatewayId="0-1", associatedGatewayId="vgw-1")
INTERFACE_ON = planned(INTERFACE, "interface", connectionId="dxcon-1")


@pytest.mark.parametrize(
    ("plan", "refusal", "found"),
    [
        (
            [*MADE, ASSOCIATE],
            refused(ASSOCIATION, "association", "Gateway vgw-1 is associated with 0-1 already."),
            (ASSOCIATION, "0-1/vgw-1", True),
        ),
        (
            [*MADE[:1], ASSOCIATE],
            refused(ASSOCIATION, "association", "Gateway vgw-1 is associated with 0-1 already."),
            (ASSOCIATION, "0-1/vgw-1", False),
        ),
        (
            [*MADE, INTERFACE_ON],
            refused(INTERFACE, "interface", "Connection dxcon-1 has virtual interface dxvif-2 already."),
            (INTERFACE, "dxvif-2", True),
        ),
        (
            [INTERFACE_ON],
            refused(INTERFACE, "interface", "Connection dxcon-1 has virtual interface dxvif-2 already."),
            (INTERFACE, "dxvif-2", False),
        ),
        ([*MADE, INTERFACE_ON], refused(INTERFACE, "interface", "Connection dxcon-1 is full."), None),
        # The words of one cloud, said by another.
        ([*MADE, planned(CIRCUIT, "circuit")], refused(CIRCUIT, "circuit", "associated"), None),
    ],
)
def test_amazon_says_what_is_there_where_there_is_room_for_one(
    plan: list[str], refusal: str, found: tuple[str, str, bool] | None
) -> None:
    assert [(one.type, one.id, one.ours) for one in told([*plan, refusal]).lost] == ([found] if found else [])


def test_other_errors_say_nothing_of_what_is_there() -> None:
    assert told([planned(CIRCUIT, "c"), refused(CIRCUIT, "c", 'Status=409 Code="Conflict"')]).lost == []


ROUTER = "equinix:fabric/cloudRouter:CloudRouter"


@pytest.mark.parametrize(
    ("type_", "inputs", "look"),
    [
        (ROUTER, {"name": "link-router-0"}, "the cloud routers named link-router-0 in Equinix's portal"),
        (
            "aws:directconnect/gateway:Gateway",
            {"name": "link-direct-connect-0a1b2c3"},
            "aws directconnect describe-direct-connect-gateways --query "
            "\"directConnectGateways[?directConnectGatewayName=='link-direct-connect-0a1b2c3']\"",
        ),
        (
            "aws:ec2/vpnGateway:VpnGateway",
            {"tags": {"Name": "link-private"}},
            "aws ec2 describe-vpn-gateways --filters 'Name=tag:Name,Values=link-private' "
            "'Name=tag:gpu-fabric:project,Values=fabric' 'Name=tag:gpu-fabric:stack,Values=dev'",
        ),
        ("megaport:index/mcr:Mcr", {"productName": "m"}, "the services named m in Megaport's portal"),
    ],
)
def test_what_a_cloud_makes_as_often_as_it_is_asked_is_named_with_how_to_look_and_to_take_it_in(
    type_: str, inputs: dict[str, Any], look: str
) -> None:
    said = (
        "one: if the cloud gave no answer, rather than a refusal, it may have been made, and the next `up` would make "
        f"a second one. Look first: {look}. One that is there and that no `pulumi stack --show-ids` has is it: pulumi "
        f"import {type_} one ID --parent parent={PARENT}"
    )
    plan = planned(type_, "one", **inputs)
    assert told([plan, refused(type_, "one", "context deadline exceeded")]).unsure == [said]
    (state,) = (json.loads(plan)["resourcePreEvent"]["metadata"]["new"],)
    pending = {"pending_operations": [{"type": "creating", "resource": state}]}
    assert interrupted({"deployment": pending}) == [said]
    assert interrupted({"checkpoint": {"latest": pending}}) == [said]


def test_what_is_made_once_or_is_there_needs_no_look() -> None:
    assert told([planned(ROUTER, "router", "an id"), refused(ROUTER, "router", "late")]).unsure == []
    assert told([planned(CIRCUIT, "circuit"), refused(CIRCUIT, "circuit", "late")]).unsure == []
    state = json.loads(planned(CIRCUIT, "circuit"))["resourcePreEvent"]["metadata"]["new"]
    for operation in ({"type": "creating", "resource": state}, {"type": "deleting", "resource": state}):
        assert interrupted({"deployment": {"pending_operations": [operation]}}) == []
    assert interrupted({}) == []
    assert interrupted({"deployment": None}) == []


def test_the_import_names_the_parents_once() -> None:
    one = Lost(CIRCUIT, "circuit", "/a", PARENT, "3.29.0", True)
    other = Lost("azure-native:network:Subnet", "net", "/b", PARENT, "", True)
    alone = Lost("azure-native:network:Subnet", "alone", "/c", "", "", True)
    assert import_file([one, other, alone]) == {
        "nameTable": {"parent0": PARENT},
        "resources": [
            {"type": CIRCUIT, "name": "circuit", "id": "/a", "parent": "parent0", "version": "3.29.0"},
            {"type": "azure-native:network:Subnet", "name": "net", "id": "/b", "parent": "parent0"},
            {"type": "azure-native:network:Subnet", "name": "alone", "id": "/c"},
        ],
    }


class Runs:
    """An engine that is refused some times and then is not."""

    def __init__(self, *refusals: list[str], imports: int = 0) -> None:
        self.refusals, self.imports, self.taken, self.ups = list(refusals), imports, [], 0

    def up(self, log: Path) -> int:
        self.ups += 1
        if not self.refusals:
            return 0
        log.write_text("\n".join(self.refusals.pop(0)))
        return 255

    def take_in(self, document: Path) -> int:
        self.taken += [row["id"] for row in json.loads(document.read_text())["resources"]]
        return self.imports


def test_it_is_taken_in_and_up_goes_on(capsys: Any) -> None:
    runs = Runs(events(in_group(OURS)))
    assert up_with_what_was_lost(runs.up, runs.take_in) == 0
    assert (runs.ups, runs.taken) == (2, [in_group(OURS)])
    assert "the answer to its creation was lost. It is taken into the state" in capsys.readouterr().err


def test_the_same_refusal_twice_or_a_failed_import_ends_it() -> None:
    again = Runs(events(in_group(OURS)), events(in_group(OURS)))
    assert up_with_what_was_lost(again.up, again.take_in) == 255
    assert (again.ups, again.taken) == (2, [in_group(OURS)])
    broken = Runs(events(in_group(OURS)), imports=3)
    assert up_with_what_was_lost(broken.up, broken.take_in) == 3
    assert broken.ups == 1


def test_somebody_elses_is_left_alone_and_the_way_to_take_it_is_said(capsys: Any) -> None:
    theirs = in_group(f"{SUBSCRIPTION}/resourceGroups/theirs")
    runs = Runs(events(theirs))
    assert up_with_what_was_lost(runs.up, runs.take_in) == 255
    assert (runs.ups, runs.taken) == (1, [])
    assert capsys.readouterr().err == (
        f"circuit: {theirs} is there, on nothing that this stack made. If it is this stack's, take it into the state: "
        f"pulumi import {CIRCUIT} circuit {theirs} --parent parent={PARENT}; if not, give this stack another name or "
        "remove it.\n"
    )


def test_a_good_run_and_one_without_events_are_left_as_they_are() -> None:
    assert up_with_what_was_lost(lambda _: 0, lambda _: 1) == 0
    assert up_with_what_was_lost(lambda _: 7, lambda _: 1) == 7
