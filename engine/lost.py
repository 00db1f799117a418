"""What Azure holds of this stack and the stack's state does not: the answer to its creation never came.

pulumi-azure-native looks before it creates, and refuses what is there (`cannot create already existing resource`,
pulumi/pulumi-azure-native provider/pkg/azure/client_azcore.go, CanCreate; #3200 and #4761 are about what follows a lost
answer). Such an object is taken into the state by `pulumi import`, but only where it lies in a resource group that
this stack itself made: whatever has our name there is ours. Anything else is left to its owner.
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

GROUP = "azure-native:resources:ResourceGroup"
_TAKEN = re.compile(r"cannot create already existing (?:sub)?resource ['\"](?P<id>/[^'\"]+)['\"]")
_IN_GROUP = re.compile(r"(?P<group>/subscriptions/[^/]+/resourceGroups/[^/]+)/", re.IGNORECASE)
_VERSION = re.compile(r"::default_(?P<version>\d+_\d+_\d+)::")


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
    """Whether it lies in a resource group of this stack."""


def lost(events: Iterable[str]) -> list[Lost]:
    """What the engine's events (`--event-log`, a JSON object a line) say is there and unknown to the state."""
    planned: dict[str, Mapping[str, Any]] = {}
    groups: set[str] = set()
    taken: dict[str, str] = {}
    for line in events:
        event = json.loads(line)
        about = event.get("resourcePreEvent") or event.get("resOutputsEvent") or {}
        for state in filter(None, (about.get("metadata", {}).get(side) for side in ("old", "new"))):
            planned[state["urn"]] = state
            if state["type"] == GROUP and state.get("id"):
                groups.add(state["id"].casefold())
        said = event.get("diagnosticEvent") or {}
        found = _TAKEN.search(said.get("message", ""))
        if found and said.get("urn"):
            taken[said["urn"]] = found["id"]
    return [_lost(urn, id_, planned.get(urn, {}), groups) for urn, id_ in taken.items()]


def _lost(urn: str, id_: str, state: Mapping[str, Any], groups: set[str]) -> Lost:
    group, version = _IN_GROUP.match(id_), _VERSION.search(state.get("provider", ""))
    return Lost(
        type=urn.split("::")[2].rpartition("$")[2],
        name=urn.split("::", 3)[3],
        id=id_,
        parent=state.get("parent", ""),
        version="" if version is None else version["version"].replace("_", "."),
        ours=group is not None and group["group"].casefold() in groups,
    )


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
            found = lost(log.read_text(encoding="utf-8").splitlines()) if code and log.exists() else []
            new = [one for one in found if one.ours and one.id not in known]
            for one in found:
                print(_said(one), file=sys.stderr, flush=True)
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
            f"{one.name}: {one.id} is there, in a resource group of this stack, and the state does not know it: the "
            "answer to its creation was lost. It is taken into the state, and `up` goes on."
        )
    return (
        f"{one.name}: {one.id} is there, in no resource group that this stack made. If it is this stack's, take it "
        f"into the state: pulumi import {one.type} {one.name} {one.id}"
        + (f" --parent parent={one.parent}" if one.parent else "")
        + "; if not, give this stack another name or remove it."
    )
