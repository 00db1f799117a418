"""What a rule says about a program, without an engine: the recorder registers, pulumi-policy asks."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi_policy import (
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
from tests.components.recorder import Declared, Recording, record

PROGRAMS = Path(__file__).parents[2] / "policy" / "programs"
POLICIES = {policy.name: policy for policy in policies()}
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
    policy, verdict = POLICIES[rule], Verdict()

    def props(each: Declared) -> Any:
        return unknown_checking_proxy(_hidden(each.inputs, hide))

    def report(message: str, urn: str | None = None) -> None:
        verdict.violations.append(message)

    try:
        if isinstance(policy, ResourceValidationPolicy):
            for each in resources:
                args = ResourceValidationArgs(
                    each.type, props(each), each.urn, each.name, OPTIONS, None, parameters
                )
                try:
                    policy.validate(args, report)
                except UnknownValueError as error:
                    verdict.unknown.append(error.message)
        else:
            made = {
                each.urn: PolicyResource(
                    each.type, props(each), each.urn, each.name, OPTIONS, None, None, [], {}
                )
                for each in resources
            }
            for each in resources:
                for name, value in each.inputs.items():
                    made[each.urn].property_dependencies[name] = [
                        made[other.urn]
                        for other in resources
                        if other is not each
                        and any(_mentions(value, text) for text in (other.id, other.physical_name) if text)
                    ]
            assert isinstance(policy, StackValidationPolicy)
            policy.validate(StackValidationArgs(list(made.values()), parameters), report)
    except UnknownValueError as error:
        verdict.unknown.append(error.message)
    return verdict


def _hidden(value: Any, hide: tuple[str, ...]) -> Any:
    from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

    if isinstance(value, Mapping):
        return {
            key: UNKNOWN_STRING_VALUE if key in hide else _hidden(inner, hide) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_hidden(inner, hide) for inner in value]
    return value
