"""Resources judged by cfn-lint: CloudFormation's registry schemas of a region, and cfn-lint's own rules on top.

The schemas are those that AWS publishes and CloudFormation applies; cfn-lint carries them. Types are compared
strictly: the text "1" is not a number.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cfnlint.config import ConfigMixIn, ManualArgs
from cfnlint.decode import decode_str
from cfnlint.runner import Runner

from tests.components.recorder import REGION, Recording
from tests.fidelity.to_cloudformation import template

#: Rules about several resources of one template. Resources that are pooled from many stacks break them by being pooled.
ABOUT_WHOLE_STACKS = ("E3019", "E3060")

_LIST = re.compile(r"(?<=is not one of )\[.*\]")


class Finding(NamedTuple):
    rule: str
    where: str
    """Type and property, such as `AWS::EC2::LaunchTemplate LaunchTemplateData.ImageId`; list places are left out."""
    says: str


@functools.cache
def _runner(ignored: tuple[str, ...]) -> Runner:
    # Loading the rules takes longer than a small template.
    options = ManualArgs(
        regions=[REGION], ignore_checks=list(ignored), configure_rules={"E3012": {"strict": True}}
    )
    return Runner(ConfigMixIn(**options))


def judge(resources: Mapping[str, Any], ignored: Iterable[str] = ()) -> set[Finding]:
    """What cfn-lint holds against a template of these resources (logical id → resource)."""
    text = json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources})
    decoded, unreadable = decode_str(text)
    assert decoded is not None, unreadable
    found = set()
    for match in _runner(tuple(ignored)).validate_template(decoded):
        path = list(getattr(match, "path", None) or [])
        kind = resources.get(path[1], {}).get("Type", "") if len(path) > 1 else ""
        place = ".".join(part for part in path[3:] if isinstance(part, str))
        found.add(Finding(match.rule.id, f"{kind} {place}".strip(), _LIST.sub("[…]", match.message)))
    return found


def pooled(recordings: Iterable[Recording]) -> dict[str, Any]:
    """All different resources of many stacks, as one stack's."""
    different = {
        json.dumps(resource, sort_keys=True): resource
        for recording in recordings
        for resource in template(recording.custom)["Resources"].values()
    }
    return {f"Resource{number}": resource for number, resource in enumerate(different.values())}
