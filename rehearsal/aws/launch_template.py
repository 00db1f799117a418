"""Launch template: parameters of a launch, in versions. What they say is not checked here.

EC2 checks a template's values when an instance starts (EC2 User Guide, "Store instance launch parameters in Amazon EC2
launch templates"); user data is the exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from . import kinds
from .account import arn, new_id, region_of
from .launch import USER_DATA_LIMIT
from .template_data import DATA, decoded

VERSIONS = 10_000
"""Versions a template may have (EC2 User Guide, launch template quotas)."""


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws ec2_launch_template.go: the validators that matter to a GPU node."""
    markets = ("spot", "capacity-block", "interruptible-capacity-reservation")
    options = call.inputs.get("instanceMarketOptions")
    market = options.get("marketType") if isinstance(options, dict) else None
    if isinstance(market, str) and market not in markets:
        yield Problem(
            "instanceMarketOptions.marketType",
            f"expected market_type to be one of {list(markets)}, got {market}",
        )
    kinds_known = ("efa", "efa-only", "interface")
    interfaces = call.inputs.get("networkInterfaces")
    for index, each in enumerate(interfaces if isinstance(interfaces, list) else []):
        kind = each.get("interfaceType") if isinstance(each, dict) else None
        if isinstance(kind, str) and kind and kind not in kinds_known:
            yield Problem(
                f"networkInterfaces[{index}].interfaceType",
                f"expected interface_type to be one of {list(kinds_known)}, got {kind}",
            )


def _version(call: Call, template_id: str, number: int) -> None:
    user_data = call.inputs.get("userData")
    if user_data and len(decoded(user_data)) > USER_DATA_LIMIT:
        # github-aws-runners/terraform-aws-github-runner issue 3700; hashicorp/terraform-provider-aws pull request
        # 49234: it is the decoded length that counts.
        raise Refusal("InvalidUserData.Malformed", f"User data is limited to {USER_DATA_LIMIT} bytes.")
    if number > VERSIONS:
        raise Refusal(
            "VersionLimitExceeded",
            f"You have reached the maximum number of versions ({VERSIONS}) for this template.",
        )
    data = {name: call.inputs[name] for name in DATA if call.inputs.get(name) is not None}
    call.tx.put(
        kinds.LAUNCH_TEMPLATE_VERSION,
        f"{template_id}:{number}",
        {"parentId": template_id, "number": number, "data": data},
    )


def create(call: Call) -> Made:
    name = (
        call.inputs.get("name") or f"{call.inputs.get('namePrefix', 'terraform-')}{call.tx.next('name'):026d}"
    )
    if call.tx.find(kinds.LAUNCH_TEMPLATE, name=name):
        raise Refusal(
            "InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use."
        )
    id = new_id(call.tx, "lt")
    _version(call, id, 1)
    return Made(
        id,
        {
            "arn": arn("ec2", region_of(call), f"launch-template/{id}"),
            "name": name,
            "namePrefix": call.inputs.get("namePrefix", ""),
            "latestVersion": 1,
            "defaultVersion": 1,
        },
    )


def update(call: Call) -> dict[str, Any]:
    latest = call.old["latestVersion"]
    if call.changed("description", *DATA):
        latest += 1
        _version(call, call.id, latest)
    default = call.old["defaultVersion"]
    if call.inputs.get("updateDefaultVersion"):
        default = latest
    elif call.inputs.get("defaultVersion") is not None:
        default = call.inputs["defaultVersion"]
        if not 1 <= default <= latest:
            raise Refusal(
                "InvalidLaunchTemplateId.VersionNotFound",
                f"Could not find the specified version {default} for the launch template with ID {call.id}.",
            )
    return {"latestVersion": latest, "defaultVersion": default}


def delete(call: Call) -> None:
    call.tx.remove_all(kinds.LAUNCH_TEMPLATE_VERSION, parentId=call.id)


def _recomputed(call: Call, changed: AbstractSet[str]) -> Iterator[str]:
    """The two ComputedIf of the provider's CustomizeDiff."""
    if changed - {"name", "namePrefix", "description", "defaultVersion", "updateDefaultVersion"}:
        yield "latestVersion"
    if changed - {"name", "namePrefix", "description"} and call.inputs.get("updateDefaultVersion"):
        yield "defaultVersion"


LAUNCH_TEMPLATE = ResourceType(
    token=kinds.LAUNCH_TEMPLATE,
    title="EC2 Launch Template",
    service="EC2",
    calls={
        "create": "CreateLaunchTemplate",
        "update": "CreateLaunchTemplateVersion",
        "delete": "DeleteLaunchTemplate",
    },
    doing={
        "create": "creating EC2 Launch Template ({id})",
        "update": "creating EC2 Launch Template ({id}) Version",
    },
    create=create,
    update=update,
    delete=delete,
    check=check,
    autoname="name",
    filled=frozenset({"defaultVersion", "namePrefix"}),
    absent=frozenset({"metadataOptions"}),
    unordered=frozenset({"vpcSecurityGroupIds", "securityGroupNames", "networkInterfaces.securityGroups"}),
    recomputed=_recomputed,
    replaces=frozenset({"name", "namePrefix", "region"}),
    replaces_source="terraform-provider-aws service/ec2/ec2_launch_template.go at 025e4f81: ForceNew; a new "
    "version for the keys in resourceLaunchTemplateUpdate; which outputs become unknown from CustomizeDiff",
)

TYPES = (LAUNCH_TEMPLATE,)
