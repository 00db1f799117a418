"""What a rule is, what it can say, and its form as a policy of Pulumi.

A rule says three things about a resource: nothing (it holds), a Violation, or Undecided. Undecided never counts as
passed: Pulumi shows it as an advisory line, whatever the rule's level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from gpu_fabric.policy.kinds import KINDS
from gpu_fabric.policy.resource import NAMES, Resource
from gpu_fabric.policy.values import UNKNOWN, plain

DOCS = "docs/policy.md"
_CHECKOUT = (Path(__file__).resolve().parents[1] / DOCS).is_file()


@dataclass(frozen=True)
class Violation:
    what: str
    do: str
    urn: str | None = None
    """The resource, where the rule sees several."""


@dataclass(frozen=True)
class Undecided:
    what: str
    """What could not be looked at, and why."""


Verdicts: TypeAlias = Iterator[Violation | Undecided]
Parameters: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rule:
    name: str
    summary: str
    """One sentence that says what must hold."""
    why: str
    source: str
    check: Callable[[Resource, Parameters], Verdicts] | None = None
    """For a rule that one resource alone decides: it also guards `up`, before the resource is made."""
    check_stack: Callable[[list[Resource], Parameters], Verdicts] | None = None
    """For what only several resources together decide. A rule may have both; neither says what the other does."""
    level: EnforcementLevel = EnforcementLevel.MANDATORY
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name → JSON Schema with `default` and `description`."""

    @property
    def address(self) -> str:
        """Where to read on: the page in a checkout, else the command that prints its section."""
        return f"{DOCS}#{self.name}" if _CHECKOUT else f"python -m gpu_fabric.policy.pages {self.name}"

    def settings(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The parameters in force: what the pack's configuration says, and the defaults for the rest."""
        defaults = {name: schema["default"] for name, schema in self.parameters.items()}
        return {**defaults, **{name: value for name, value in (given or {}).items() if name in defaults}}

    def mistyped(self, given: Mapping[str, Any] | None) -> Iterator[Violation]:
        """What a configuration sets and the rule does not have: the user believes that it is set."""
        for name in sorted(set(given or {}) - set(self.parameters) - {"enforcementLevel"}):
            near = get_close_matches(name, self.parameters, 1)
            yield Violation(
                f"The pack's configuration sets `{name}` of the rule {self.name}, which has no such parameter.",
                f"write `{near[0]}`." if near else f"it has {', '.join(self.parameters) or 'none'}.",
            )

    def message(self, violation: Violation) -> str:
        return f"{violation.what}\nDo: {violation.do}\nSee {self.address}"


class CannotTellError(UnknownValueError):
    """Makes pulumi-policy report "can't run policy" as advice, in our words."""

    def __init__(self, reasons: Iterable[str]) -> None:
        super().__init__(UNKNOWN_STRING_VALUE, [])
        self.message = f"unknown, so not passed: {'; '.join(dict.fromkeys(reasons))}"


def _report(rule: Rule, verdicts: Verdicts, report: ReportViolation) -> None:
    undecided: list[str] = []
    try:
        for verdict in verdicts:
            if isinstance(verdict, Undecided):
                undecided.append(verdict.what)
            else:
                report(rule.message(verdict), verdict.urn)
    except Exception as error:
        # An exception here ends the preview, with no other rule heard and no rule named.
        undecided.append(
            f"the rest, for the rule itself failed ({type(error).__name__}: {error}); report this"
        )
    if undecided:
        raise CannotTellError(undecided)


def resource_of(args: ResourceValidationArgs) -> Resource:
    """What Pulumi hands to a rule over one resource."""
    return Resource(args.resource_type, args.name, args.urn, plain(args.props))


def resources_of(args: StackValidationArgs) -> list[Resource]:
    """What Pulumi hands to a rule over the whole stack."""
    found = []
    for each in args.resources:
        props = _set_by_the_program(each)
        given = props.get("id")
        found.append(
            Resource(
                each.resource_type,
                each.name,
                each.urn,
                props,
                given if isinstance(given, str) else None,
                {
                    name: tuple(other.urn for other in others)
                    for name, others in each.property_dependencies.items()
                },
            )
        )
    return found


#: Resource → its inputs, as this run handed them to the rules over one resource, which it asks before those over all.
INPUTS: dict[str, frozenset[str]] = {}


def _set_by_the_program(resource: PolicyResource) -> dict[str, Any]:
    """The engine hands over outputs. What no input leads to and is not known is computed by the provider.

    Of a machine the inputs alone count: after `up` its outputs say what EC2 filled in, and its template may say more.
    """
    props, inputs = plain(resource.props), INPUTS.get(resource.urn)
    kind = Resource(resource.resource_type, resource.name, resource.urn, props).kind
    if inputs is not None and kind in KINDS:
        props = {name: value for name, value in props.items() if name in inputs or name in NAMES}
    return {
        name: value
        for name, value in props.items()
        if value is not UNKNOWN or resource.property_dependencies.get(name)
    }


def policies_of(rule: Rule) -> list[Policy]:
    """The rule as pulumi-policy takes it: one policy for each resource alone, one of the same name for the stack."""
    common: dict[str, Any] = {
        "name": rule.name,
        "description": rule.summary,
        "enforcement_level": rule.level,
        "config_schema": PolicyConfigSchema({name: dict(schema) for name, schema in rule.parameters.items()}),
        "url": rule.address,
    }
    found: list[Policy] = []
    if rule.check is not None:
        check = rule.check

        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            INPUTS[args.urn] = frozenset(args.props)
            _report(rule, check(resource_of(args), rule.settings(args.get_config())), report)

        found.append(ResourceValidationPolicy(validate=validate, **common))
    check_stack = rule.check_stack

    def validate_stack(args: StackValidationArgs, report: ReportViolation) -> None:
        given = args.get_config()
        found = check_stack(resources_of(args), rule.settings(given)) if check_stack else ()
        _report(rule, chain(rule.mistyped(given), found), report)

    # Of a rule over single resources the stack is asked too: what a configuration mistypes is said once.
    found.append(StackValidationPolicy(validate=validate_stack, **common))
    return found
