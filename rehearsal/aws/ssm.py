"""SSM parameters: one's own, and AWS's public ones that name images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from . import kinds
from .account import arn, configured_region, region_of
from .images import parameter_value

TYPES_OF_VALUE = ("SecureString", "String", "StringList")


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws ssm/parameter.go: ExactlyOneOf, the enumeration of types."""
    inputs = call.inputs
    kind = inputs.get("type")
    if isinstance(kind, str) and kind not in TYPES_OF_VALUE:
        yield Problem("type", f"expected type to be one of {list(TYPES_OF_VALUE)}, got {kind}")
    if sum(inputs.get(name) is not None for name in ("value", "insecureValue", "valueWo")) != 1:
        yield Problem("value", '"value": one of `insecure_value,value,value_wo` must be specified')


def create(call: Call) -> Made:
    name = call.inputs["name"]
    if call.tx.get(kinds.SSM_PARAMETER, name) is not None and not call.inputs.get("overwrite"):
        raise Refusal(
            "ParameterAlreadyExists",
            "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.",
        )
    return Made(name, {**_state(call), "arn": _arn(region_of(call), name), "version": 1})


def _arn(region: str, name: str) -> str:
    return arn("ssm", region, f"parameter/{name.removeprefix('/')}")


def _state(call: Call) -> dict[str, Any]:
    value = call.inputs.get("value") or call.inputs.get("insecureValue") or ""
    plain = call.inputs.get("type") != "SecureString"
    return {
        "value": value,
        "insecureValue": value if plain else "",
        "tier": call.inputs.get("tier", "Standard"),
        "dataType": call.inputs.get("dataType", "text"),
        "keyId": call.inputs.get("keyId", "" if plain else "alias/aws/ssm"),
        "hasValueWo": False,
    }


def update(call: Call) -> dict[str, Any]:
    return {**_state(call), "version": int(call.old.get("version", 1)) + 1}


def recomputed(call: Call, changed: AbstractSet[str]) -> Iterable[str]:
    return ("version",) if changed & {"value", "insecureValue", "description"} else ()


def downgraded(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    """SSM refuses to take a parameter from the advanced tier to the standard one."""
    return ("tier",) if old.get("tier") == "Advanced" and new.get("tier") == "Standard" else ()


PARAMETER = ResourceType(
    token=kinds.SSM_PARAMETER,
    title="SSM Parameter",
    service="SSM",
    calls={"create": "PutParameter", "update": "PutParameter", "delete": "DeleteParameter"},
    doing={"create": "creating SSM Parameter ({id})"},
    create=create,
    update=update,
    check=check,
    autoname="name",
    filled=frozenset({"value", "insecureValue"}),
    same={"tier": lambda old, new: new in (old, "Intelligent-Tiering")},
    recomputed=recomputed,
    replaces=frozenset({"dataType", "name", "region"}),
    replaces_when=downgraded,
    replaces_source="terraform-provider-aws service/ssm/parameter.go at 00735935, ForceNew and CustomizeDiff",
)


def parameter(lookup: Lookup) -> dict[str, Any]:
    """A parameter's value. AWS's public parameters answer with a made-up image, the same each time."""
    name = lookup.args["name"]
    region = lookup.args.get("region") or configured_region(lookup.config)
    value = parameter_value(lookup.tx, name, region)
    if value is None:
        raise Refusal("ParameterNotFound", "", doing=f"reading SSM Parameter ({name})")
    stored = lookup.tx.get(kinds.SSM_PARAMETER, name) or {}
    kind = stored.get("type", "String")
    return {
        "id": name,
        "name": name,
        "arn": stored.get("arn") or _arn(region, name),
        "type": kind,
        "value": value,
        "insecureValue": "" if kind == "SecureString" else value,
        "version": stored.get("version", 1),
        "region": region,
        "withDecryption": lookup.args.get("withDecryption", True),
    }


TYPES = (PARAMETER,)
FUNCTIONS = (Function("aws:ssm/getParameter:getParameter", parameter),)
