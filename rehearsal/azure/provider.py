"""The manners of pulumi-azure-native 3.29.0: names, default locations, words, replacement order.

Sources: pulumi/pulumi-azure-native provider/pkg/provider/provider.go (Check, getDefaultLocation, getDefaultName,
validateProperty, Diff), provider/pkg/azure/client_azcore.go.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from ..core.resource import Call, Naming, ResourceType
from ..core.schema import Wording, kind_of
from ..core.values import UNKNOWN, is_unknown
from .arm import find_group
from .kinds import KINDS, Kind

RANDOMLY_NAMED = "__createBeforeDelete"
"""The provider's mark on inputs whose name has a random suffix: only then can old and new exist at once."""


def complete(call: Call, old_inputs: Mapping[str, Any], naming: Naming) -> Mapping[str, Any]:
    """The inputs that the provider adds: a name, and a location."""
    kind = KINDS[call.type.token]
    added = _name(call, kind, old_inputs, naming) if call.inputs.get(kind.name_input) is None else {}
    if kind.location != "none" and call.inputs.get("location") is None:
        location = _default_location(call, old_inputs)
        if location is not None:
            added["location"] = location
    return added


def _name(call: Call, kind: Kind, old_inputs: Mapping[str, Any], naming: Naming) -> dict[str, Any]:
    property = kind.name_input
    if old_inputs.get(property) is not None:
        kept = {property: old_inputs[property]}
        if RANDOMLY_NAMED in old_inputs:
            kept[RANDOMLY_NAMED] = old_inputs[RANDOMLY_NAMED]
        return kept
    if naming.mode == "disable":
        return {}
    if naming.mode == "enforce" or (naming.mode == "propose" and kind.naming != "uuid"):
        return {property: naming.proposed, RANDOMLY_NAMED: True}
    if kind.naming == "copy":
        return {property: call.name}
    digest = hashlib.sha256(naming.seed).digest()
    if kind.naming == "uuid":
        return {property: str(uuid.UUID(bytes=digest[:16])), RANDOMLY_NAMED: True}
    return {property: f"{call.name}{digest.hex()[:8]}", RANDOMLY_NAMED: True}


def _default_location(call: Call, old_inputs: Mapping[str, Any]) -> Any:
    """The location of last time, the configured one, or the resource group's, in this order."""
    if old_inputs.get("location") is not None:
        return old_inputs["location"]
    if call.config.get("location"):
        return call.config["location"]
    group = call.inputs.get("resourceGroupName")
    if is_unknown(group):
        return UNKNOWN
    found = find_group(call.tx, group) if group else None
    return found["location"] if found else None


def deletes_first(type: ResourceType, old_inputs: Mapping[str, Any], new_inputs: Mapping[str, Any]) -> bool:
    """Whether the old one has to go first: always, but for a name with a random suffix."""
    return not old_inputs.get(RANDOMLY_NAMED, False)


def _missing(path: str, name: str) -> str:
    return f"missing required property '{path}'"


def _mismatch(path: str, word: str, value: Any) -> str:
    wanted = {"[": "array", "{": "object", "@": "object"}.get(word[0], word)
    got = {"a list": "an array", "a map": "an object"}.get(kind_of(value), kind_of(value))
    return f"'{path}' should be of type '{wanted}' but got {got}"


def _unknown(path: str, name: str, hint: str) -> str:
    return (
        f"'{path}' is no property that Azure knows here; {hint} (pulumi-azure-native drops such a property "
        f"without a word; the simulation does not)"
    )


WORDING = Wording(missing=_missing, unknown=_unknown, mismatch=_mismatch, converts=False)
