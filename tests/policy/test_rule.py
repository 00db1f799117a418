"""What reaches Pulumi: a rule's own failure, a mistyped parameter, what a provider computes, where to read on."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy import PolicyResource, StackValidationArgs, StackValidationPolicy
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError, unknown_checking_proxy

from gpu_fabric.policy import rule as rule_module
from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.rule import Rule, policies_of, resources_of
from gpu_fabric.policy.values import UNKNOWN
from tests.policy.plain import BY_NAME
from tests.policy.verdicts import OPTIONS


def stack_policy(rule: Rule) -> StackValidationPolicy:
    (found,) = (one for one in policies_of(rule) if isinstance(one, StackValidationPolicy))
    return found


def said_of_configuration(rule: str, given: dict[str, Any]) -> list[str]:
    found: list[str] = []
    args = StackValidationArgs([], given)
    stack_policy(BY_NAME[rule]).validate(args, lambda message, urn=None: found.append(message))
    return found


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_a_parameter_that_a_rule_does_not_have_is_refused_by_every_rule(rule: str) -> None:
    (message,) = said_of_configuration(rule, {"imagez-of-mine": []})
    assert message.startswith(
        f"The pack's configuration sets `imagez-of-mine` of the rule {rule}, which has no such"
    )


def test_a_mistyped_parameter_is_refused_with_the_one_that_was_meant() -> None:
    (message,) = said_of_configuration("drivers", {"imagez": [], "enforcementLevel": "advisory"})
    assert "Do: write `images`." in message
    assert said_of_configuration("drivers", {"images": []}) == []


def test_a_rule_that_fails_by_itself_says_so_and_stops_no_other() -> None:
    def broken(resources: list, parameters: Any) -> Any:
        raise TypeError("'int' object is not iterable")
        yield

    one = Rule(name="broken", summary="Broken.", why="", source="", check_stack=broken)
    with pytest.raises(UnknownValueError) as caught:
        stack_policy(one).validate(StackValidationArgs([], None), lambda message, urn=None: None)
    assert caught.value.message == (
        "unknown, so not passed: the rest, for the rule itself failed (TypeError: 'int' object is not iterable); "
        "report this"
    )


def test_what_a_provider_computes_is_not_set_and_what_a_program_leads_to_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        "ingress": UNKNOWN_STRING_VALUE,
        "userData": UNKNOWN_STRING_VALUE,
        "instanceType": "p5.48xlarge",
        # What EC2 fills in after `up`, also where the machine's template says otherwise.
        "metadataOptions": {"httpTokens": "optional"},
        "rootBlockDevice": {"encrypted": False},
        "primaryNetworkInterface": {"networkInterfaceId": "eni-1"},
        "id": "i-1",
    }
    source = PolicyResource("a:b:C", unknown_checking_proxy({}), "urn:c", "c", OPTIONS, None, None, [], {})
    one = PolicyResource(
        "aws:ec2/instance:Instance",
        unknown_checking_proxy(given),
        "urn:one",
        "one",
        OPTIONS,
        None,
        None,
        [],
        {"userData": [source]},
    )
    monkeypatch.setattr(rule_module, "INPUTS", {"urn:one": frozenset({"userData", "instanceType"})})
    (found,) = resources_of(StackValidationArgs([one], None))
    assert found.props == {"userData": UNKNOWN, "instanceType": "p5.48xlarge", "id": "i-1"}
    assert found.id == "i-1"


def test_the_address_is_a_page_in_a_checkout_and_a_command_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BY_NAME["drivers"].address == "docs/policy.md#drivers"
    monkeypatch.setattr(rule_module, "_CHECKOUT", False)
    assert BY_NAME["drivers"].address == "python -m gpu_fabric.policy.pages drivers"
