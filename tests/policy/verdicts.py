"""What a rule says about a program, without an engine: the recorder registers, pulumi-policy asks."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi_policy import (
    Policy,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import PolicyCustomTimeouts
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from gpu_fabric.policy.pack import policies
from gpu_fabric.policy.rule import INPUTS
from tests.components.recorder import Declared, Recording, record

PROGRAMS = Path(__file__).parents[2] / "policy" / "programs"
POLICIES: dict[str, list[Policy]] = {}
for _policy in policies():
    POLICIES.setdefault(_policy.name, []).append(_policy)
OPTIONS = PolicyResourceOptions(False, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


@dataclass
class Verdict:
    violations: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def run(program: Path) -> Recording:
    """The resources of a program in a file, as both clouds' providers would get them."""
    return record(
        lambda: runpy.run_path(str(program)) and None,
        config={"aws:region": "us-east-1", "azure-native:location": "eastus"},
    )


def _mentions(value: Any, text: str) -> bool:
    if isinstance(value, Mapping):
        return any(_mentions(inner, text) for inner in value.values())
    if isinstance(value, list):
        return any(_mentions(inner, text) for inner in value)
    return value == text


def ask(
    rule: str,
    resources: list[Declared],
    parameters: Mapping[str, Any] | None = None,
    hide: tuple[str, ...] = (),
) -> Verdict:
    """What the rule says; `hide` are values that a preview would not know."""
    verdict = Verdict()
    INPUTS.clear()  # of another run

    def props(each: Declared) -> Any:
        return unknown_checking_proxy(_hidden(each.inputs, hide))

    def report(message: str, urn: str | None = None) -> None:
        verdict.violations.append(message)

    for policy in POLICIES[rule]:
        if isinstance(policy, ResourceValidationPolicy):
            for each in resources:
                args = ResourceValidationArgs(
                    each.type, props(each), each.urn, each.name, OPTIONS, None, parameters
                )
                _try(policy, args, report, verdict)
        else:
            assert isinstance(policy, StackValidationPolicy)
            _try(policy, StackValidationArgs(_linked(resources, props, hide), parameters), report, verdict)
    return verdict


def _try(policy: Any, args: Any, report: Callable[..., None], verdict: Verdict) -> None:
    try:
        policy.validate(args, report)
    except UnknownValueError as error:
        verdict.unknown.append(error.message)


def _linked(
    resources: list[Declared], props: Callable[[Declared], Any], hide: tuple[str, ...]
) -> list[PolicyResource]:
    """The resources with where their values come from; a hidden value comes from something else of the program."""
    elsewhere = PolicyResource(
        "test:index:Elsewhere",
        unknown_checking_proxy({}),
        "urn:elsewhere",
        "elsewhere",
        OPTIONS,
        None,
        None,
        [],
        {},
    )
    made = {
        each.urn: PolicyResource(each.type, props(each), each.urn, each.name, OPTIONS, None, None, [], {})
        for each in resources
    }
    for each in resources:
        for name, value in each.inputs.items():
            made[each.urn].property_dependencies[name] = [
                made[other.urn]
                for other in resources
                if other is not each
                and any(_mentions(value, text) for text in (other.id, other.physical_name) if text)
            ] or ([elsewhere] if name in hide else [])
    return [*made.values()]


def _hidden(value: Any, hide: tuple[str, ...]) -> Any:
    from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

    if isinstance(value, Mapping):
        return {
            key: UNKNOWN_STRING_VALUE if key in hide else _hidden(inner, hide) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_hidden(inner, hide) for inner in value]
    return value
