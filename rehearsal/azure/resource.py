"""What every Azure resource has in common: made by a PUT, named in its group, answered with an id and a type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..core.errors import Problem, ProviderError, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .arm import Target, check_location, etag, forget, guid, locate, normal, now
from .errors import CONFLICT, rule
from .kinds import Kind

Put = Callable[[Call, Target], dict[str, Any]]
"""What the service does with a PUT: checks the body, records references, answers what it fills in. ``call.old`` is
empty when the resource is new."""
Show = Callable[[Transaction, str, Mapping[str, Any]], dict[str, Any]]
"""(transaction, id, stored properties): the properties that follow from other resources."""
Remove = Callable[[Call, Target], None]

_NAME = re.compile(r"[^\W_](?:[\w.\-]*\w)?", re.ASCII)
_LONGEST_NAME = 80
_SYSTEM_USER = "simulation"


def _show_nothing(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _remove_freely(call: Call, target: Target) -> None:
    """Nothing hinders the deletion."""


def _no_problem(call: Call) -> Iterable[Problem]:
    return ()


def arm_type(
    kind: Kind,
    title: str,
    put: Put,
    *,
    remove: Remove = _remove_freely,
    show: Show = _show_nothing,
    check: Callable[[Call], Iterable[Problem]] = _no_problem,
    forced: frozenset[str] = frozenset(),
    filled: frozenset[str] = frozenset(),
    hidden: frozenset[str] = frozenset(),
    secrets: frozenset[str] = frozenset(),
    unknown_within: Mapping[str, frozenset[str]] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> ResourceType:
    """The resource type of a kind.

    ``forced`` are the properties that replace by pulumi-azure-native's own table; those of the path and a location
    that the specification calls create-only are added. ``filled`` are lists that are resources of their own as
    well: left out, they are kept as they are. ``secrets`` are outputs that are not in the database.
    """

    def create(call: Call) -> Made:
        target = locate(call, kind)
        _check_name(target)
        if call.tx.get(kind.token, target.id) is not None or _taken(call.tx, target):
            # The provider asks first (client_azcore.go, CanCreate): Azure itself would take the PUT as an update.
            raise ProviderError(f"cannot create already existing resource '{target.id}'")
        if kind.location != "none":
            check_location(target.location, kind)
        outputs = {**_standard(call, target), **put(call, target)}
        shown = show(call.tx, target.id, {**call.inputs, **outputs, "id": target.id})
        return Made(target.id, {**outputs, **shown})

    def read(call: Call) -> dict[str, Any] | None:
        stored = call.tx.get(kind.token, call.id)
        return None if stored is None else {**stored, **show(call.tx, call.id, stored)}

    def update(call: Call) -> dict[str, Any]:
        target = _stored_target(call, kind)
        if kind.location != "none" and call.inputs.get("location") is not None:
            wanted = normal(call.inputs["location"])
            if wanted != call.old["location"]:
                raise Refusal(
                    "InvalidResourceLocation",
                    f"The resource '{target.name}' already exists in location '{call.old['location']}' in resource "
                    f"group '{call.inputs['resourceGroupName']}'. A resource with the same name cannot be created "
                    f"in location '{wanted}'. Please select a new resource name.",
                    status=CONFLICT,
                )
        outputs = put(call, target)
        if "etag" in kind.fills:
            outputs.setdefault("etag", etag(call.tx))
        if "provisioningState" in kind.fills:
            outputs.setdefault("provisioningState", "Succeeded")
        if kind.location != "none":
            outputs["location"] = call.old["location"]
        if "name" in call.old:
            outputs["name"] = call.old["name"]
        shown = show(call.tx, call.id, {**call.old, **call.inputs, **outputs})
        return {**outputs, **shown}

    def delete(call: Call) -> None:
        target = _stored_target(call, kind)
        remove(call, target)
        forget(call.tx, call.id)

    def problems(call: Call) -> Iterator[Problem]:
        if call.inputs.get(kind.name_input) is None:
            yield Problem(kind.name_input, f"missing required property '{kind.name_input}'")
        if kind.location == "create" and call.inputs.get("location") is None:
            yield Problem(
                "location",
                "missing required property 'location'. Either set it explicitly or configure it with 'pulumi "
                "config set azure-native:location <value>'.",
            )
        yield from check(call)

    path = {kind.name_input, *kind.names}
    if kind is not kinds.RESOURCE_GROUP:
        path |= {"scope"} if kind is kinds.ROLE_ASSIGNMENT else {"resourceGroupName"}
    return ResourceType(
        token=kind.token,
        title=title,
        create=create,
        read=read,
        update=update,
        delete=delete,
        check=problems,
        autoname=kind.name_input,
        filled=filled,
        hidden=hidden,
        secrets=secrets,
        unknown_within=unknown_within or {},
        defaults=defaults or {},
        replaces=frozenset(path | forced | ({"location"} if kind.location == "create" else set())),
        replaces_source="pulumi-azure-native: the path's parameters (provider/pkg/provider/diff.go), "
        "provider/pkg/gen/replacement.go at 1b7112af, x-ms-mutability of the specification at "
        f"{kind.namespace} {kind.api}",
        same={
            "location": lambda one, other: normal(str(one)) == normal(str(other)),
            "resourceGroupName": lambda one, other: str(one).casefold() == str(other).casefold(),
        },
    )


def _check_name(target: Target) -> None:
    if target.kind in (kinds.RESOURCE_GROUP, kinds.ROLE_ASSIGNMENT):
        return
    if not _NAME.fullmatch(target.name) or len(target.name) > _LONGEST_NAME:
        raise Refusal(
            "InvalidResourceName",
            f"Resource name {target.name} is invalid. The name can be up to {_LONGEST_NAME} characters long. It "
            f"must begin with a word character, and it must end with a word character or with '_'. The name may "
            f"contain word characters or '.', '-', '_'.",
        )


def _taken(tx: Transaction, target: Target) -> bool:
    """Whether the id is in use in another casing."""
    folded = target.id.casefold()
    return any(id.casefold() == folded for id, _ in tx.find(target.kind.token))


def _stored_target(call: Call, kind: Kind) -> Target:
    """The target of a resource that exists: an id stays what it was when the resource was made."""
    parent = call.id.rsplit("/", 2)[0] if len(kind.path) == 2 else ""
    name = call.id.rpartition("/")[2]
    return Target(call.id, name, kind, str(call.old.get("location") or ""), parent)


def _standard(call: Call, target: Target) -> dict[str, Any]:
    """The outputs that every resource has, and those its service makes for each."""
    kind, tx = target.kind, call.tx
    outputs: dict[str, Any] = {"name": target.name}
    if kind is not kinds.EXTENSION:
        outputs["type"] = kind.type
    if kind.location != "none":
        outputs["location"] = target.location
    made = {
        "etag": lambda: etag(tx),
        "provisioningState": lambda: "Succeeded",
        "resourceGuid": lambda: guid(tx, "resource"),
        "uniqueId": lambda: guid(tx, "unique"),
        "vmId": lambda: guid(tx, "vm"),
        "timeCreated": now,
        "systemData": lambda: {"createdAt": now(), "createdBy": _SYSTEM_USER, "createdByType": "Application"},
    }
    return outputs | {name: made[name]() for name in sorted(kind.fills)}


def changed_from(call: Call, *paths: str) -> list[str]:
    """Those of the dotted paths whose value differs between what is there and what is asked for.

    A value left out asks for nothing.
    """
    return [
        path
        for path in paths
        if (after := _at(call.inputs, path)) is not None
        and (before := _at(call.old, path)) is not None
        and before != after
    ]


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def at(value: Any, path: str, default: Any = None) -> Any:
    """What lies at a dotted path; ``default`` where nothing does."""
    found = _at(value, path)
    return default if found is None else found


def require_range(value: Any, lowest: int, highest: int, what: str, source: str) -> None:
    """Refuse a number outside its range. None is no number."""
    if value is not None and not lowest <= value <= highest:
        raise rule(f"{what} {value} is not between {lowest} and {highest}.", source)
