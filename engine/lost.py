"""What a cloud holds of this stack and the stack's state does not: the answer to its creation never came.

Where a cloud has room for one alone, the second creation is refused, and the refusal says what is there. It is taken
into the state by `pulumi import`, but only where it belongs to what this stack made. Anything else is its owner's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_IN_GROUP = re.compile(r"(?P<group>/subscriptions/[^/]+/resourceGroups/[^/]+)/", re.IGNORECASE)
_VERSION = re.compile(r"::default_(?P<version>\d+_\d+_\d+)::")


@dataclass(frozen=True)
class Sign:
    """By what a refusal shows that the object is there."""

    type: str
    """Pattern of the resource type."""
    said: re.Pattern[str]
    """In the refusal."""
    id: str
    """What `pulumi import` calls it: of the groups of `said` and of the inputs."""
    owner: tuple[str, ...]
    """Ids in the same spelling: the object is this stack's where its state has all of them."""


SIGNS = (
    # The provider looks before it creates (pulumi/pulumi-azure-native provider/pkg/azure/client_azcore.go, CanCreate;
    # #3200 and #4761 are about what follows a lost answer). What has our name in our resource group is ours.
    Sign(
        r"azure-native:",
        re.compile(r"cannot create already existing (?:sub)?resource ['\"](?P<there>/[^'\"]+)['\"]"),
        "{there}",
        ("{group}",),
    ),
    # A gateway is associated once with another; both are ours. Registry page of aws_dx_gateway_association, Import.
    Sign(
        r"aws:directconnect/gatewayAssociation:",
        re.compile(r"\bassociated\b"),
        "{dxGatewayId}/{associatedGatewayId}",
        ("{dxGatewayId}", "{associatedGatewayId}"),
    ),
    # A hosted connection carries one interface. Whether AWS's own words name it is unverified; where they do not,
    # nothing is taken in.
    Sign(
        r"aws:directconnect/(private|transit)VirtualInterface:",
        re.compile(r"(?P<there>dxvif-[0-9a-z]+)"),
        "{there}",
        ("{connectionId}",),
    ),
)


_BY_TAGS = (
    "--filters 'Name=tag:Name,Values={tag}' 'Name=tag:gpu-fabric:project,Values={project}' "
    "'Name=tag:gpu-fabric:stack,Values={stack}'"
)
#: What a cloud makes as often as it is asked to, by type: how to look for one that nobody knows of. {name} is the name
#: that the cloud was asked for, {tag} the tag Name.
MADE_TWICE = {
    "aws:directconnect/gateway:Gateway": (
        "aws directconnect describe-direct-connect-gateways --query "
        "\"directConnectGateways[?directConnectGatewayName=='{name}']\""
    ),
    "aws:ec2/vpnGateway:VpnGateway": f"aws ec2 describe-vpn-gateways {_BY_TAGS}",
    "aws:ec2transitgateway/transitGateway:TransitGateway": f"aws ec2 describe-transit-gateways {_BY_TAGS}",
    "equinix:fabric/cloudRouter:CloudRouter": "the cloud routers named {name} in Equinix's portal",
    "equinix:fabric/connection:Connection": "the connections named {name} in Equinix's portal",
    "megaport:index/mcr:Mcr": "the services named {name} in Megaport's portal",
    "megaport:index/vxc:Vxc": "the services named {name} in Megaport's portal",
}


@dataclass(frozen=True)
class Lost:
    """One object, with what `pulumi import` has to know of it."""

    type: str
    name: str
    id: str
    parent: str
    """URN of its component; empty where it has none."""
    version: str
    """Of the provider; empty where the program gave the provider itself."""
    ours: bool
    """Whether it belongs to what this stack made."""


@dataclass(frozen=True)
class Told:
    """What the engine's events (`--event-log`, a JSON object a line) tell of a run that failed."""

    lost: list[Lost]
    """Objects that are there and unknown to the state."""
    unsure: list[str]
    """Of each creation that failed and may have been done: what to look for."""


def told(events: Iterable[str]) -> Told:
    planned: dict[str, Mapping[str, Any]] = {}
    ids: set[str] = set()
    refusals: dict[str, str] = {}
    for line in events:
        event = json.loads(line)
        about = event.get("resourcePreEvent") or event.get("resOutputsEvent") or {}
        for state in filter(None, (about.get("metadata", {}).get(side) for side in ("old", "new"))):
            planned[state["urn"]] = state
            if state.get("id"):
                ids.add(state["id"].casefold())
        said = event.get("diagnosticEvent") or {}
        if said.get("severity") == "error" and said.get("urn"):
            refusals[said["urn"]] = said.get("message", "")
    found = (_lost(urn, text, planned.get(urn, {}), ids) for urn, text in refusals.items())
    return Told(
        [one for one in found if one is not None],
        [
            _unsure(urn, planned.get(urn, {}))
            for urn in refusals
            if _type(urn) in MADE_TWICE and not planned.get(urn, {}).get("id")
        ],
    )


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def interrupted(checkpoint: Mapping[str, Any]) -> list[str]:
    """What to look for before an `up` after one that was killed: creations whose answer nobody waited for.

    `checkpoint` is a stack as `pulumi stack export` gives it, or the backend's file of it.
    """
    deployment = checkpoint.get("deployment") or checkpoint.get("checkpoint", {}).get("latest") or {}
    pending = (
        one["resource"] for one in deployment.get("pending_operations") or [] if one.get("type") == "creating"
    )
    return [_unsure(state["urn"], state) for state in pending if _type(state["urn"]) in MADE_TWICE]


def _unsure(urn: str, state: Mapping[str, Any]) -> str:
    head, project, _, name = urn.split("::", 3)
    stack, type_, inputs = head.rpartition(":")[2], _type(urn), state.get("inputs", {})
    tag = (inputs.get("tags") or {}).get("Name", name)
    asked = inputs.get("name") or inputs.get("productName") or name
    look = MADE_TWICE[type_].format(name=asked, tag=tag, project=project, stack=stack)
    parent = f" --parent parent={state['parent']}" if state.get("parent") else ""
    return (
        f"{name}: if the cloud gave no answer, rather than a refusal, it may have been made, and the next `up` would "
        f"make a second one. Look first: {look}. One that is there and that no `pulumi stack --show-ids` has is it: "
        f"pulumi import {type_} {name} ID{parent}"
    )


def _lost(urn: str, refusal: str, state: Mapping[str, Any], ids: set[str]) -> Lost | None:
    type_ = _type(urn)
    for sign in SIGNS:
        said = sign.said.search(refusal) if re.match(sign.type, type_) else None
        if said is None:
            continue
        inputs = {name: value for name, value in state.get("inputs", {}).items() if isinstance(value, str)}
        words = {**inputs, **said.groupdict()}
        group = _IN_GROUP.match(words.get("there", ""))
        words["group"] = group["group"] if group else ""
        try:
            id_, owners = sign.id.format(**words), [one.format(**words) for one in sign.owner]
        except KeyError:
            continue
        version = _VERSION.search(state.get("provider", ""))
        return Lost(
            type=type_,
            name=urn.split("::", 3)[3],
            id=id_,
            parent=state.get("parent", ""),
            version="" if version is None else version["version"].replace("_", "."),
            ours=all(owner.casefold() in ids for owner in owners),
        )
    return None


def import_file(found: Iterable[Lost]) -> dict[str, Any]:
    """The document of `pulumi import --file`."""
    rows, names = [], {}
    for one in found:
        row = {"type": one.type, "name": one.name, "id": one.id}
        if one.parent:
            name = names.setdefault(one.parent, f"parent{len(names)}")
            row["parent"] = name
        if one.version:
            row["version"] = one.version
        rows.append(row)
    return {"nameTable": {name: urn for urn, name in names.items()}, "resources": rows}


def up_with_what_was_lost(up: Callable[[Path], int], take_in: Callable[[Path], int]) -> int:
    """`up`, and again after each time that something of this stack was found and taken into the state.

    `up` is given the file of the engine's events, `take_in` that of `pulumi import`; both return the exit code.
    """
    known: set[str] = set()
    while True:
        with TemporaryDirectory() as folder:
            log, document = Path(folder, "events.json"), Path(folder, "import.json")
            code = up(log)
            read = told(log.read_text(encoding="utf-8").splitlines() if code and log.exists() else [])
            new = [one for one in read.lost if one.ours and one.id not in known]
            for line in (*map(_said, read.lost), *read.unsure):
                print(line, file=sys.stderr, flush=True)
            if not new:
                return code
            document.write_text(json.dumps(import_file(new)), encoding="utf-8")
            code = take_in(document)
            if code:
                return code
            known |= {one.id for one in new}


def _said(one: Lost) -> str:
    if one.ours:
        return (
            f"{one.name}: {one.id} is there, on what this stack made, and the state does not know it: the answer to "
            "its creation was lost. It is taken into the state, and `up` goes on."
        )
    return (
        f"{one.name}: {one.id} is there, on nothing that this stack made. If it is this stack's, take it into "
        f"the state: pulumi import {one.type} {one.name} {one.id}"
        + (f" --parent parent={one.parent}" if one.parent else "")
        + "; if not, give this stack another name or remove it."
    )
