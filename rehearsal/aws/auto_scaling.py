"""Auto Scaling group: keeps as many instances of a launch template as it is told.

What a template's form makes impossible is refused when the group is made; what only the moment makes impossible (room,
addresses, a zone) shows as a failed scaling activity, which the provider finds while it waits for the group's capacity.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core.errors import Problem, ProviderError, Refusal
from ..core.resource import Call, Made, ResourceType
from . import kinds, launch
from .account import ACCOUNT, arn, global_arn, region_of
from .launch import Request
from .template_data import request, versioned

_AT_LAUNCH = frozenset(
    {
        "InsufficientFreeAddressesInSubnet",
        "InsufficientInstanceCapacity",
        "InvalidPlacementGroup.InUse",
        "ReservationCapacityExceeded",
    }
)
"""Refusals that depend on the moment: they fail a scaling activity, and the group stays."""


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws autoscaling/group.go: ExactlyOneOf, ConflictsWith."""
    inputs = call.inputs
    given = [
        name for name in ("launchConfiguration", "launchTemplate", "mixedInstancesPolicy") if inputs.get(name)
    ]
    if len(given) != 1:
        yield Problem(
            "launchTemplate",
            '"launch_template": only one of `launch_configuration,launch_template,mixed_instances_policy` can be '
            "specified, and one must be",
        )
    elif given != ["launchTemplate"]:
        yield Problem(given[0], "the simulated AWS only runs groups with a launch template")
    if inputs.get("availabilityZones") is not None and inputs.get("vpcZoneIdentifiers") is not None:
        yield Problem("availabilityZones", '"availability_zones": conflicts with vpc_zone_identifier')
    timeout = inputs.get("waitForCapacityTimeout")
    if isinstance(timeout, str) and _seconds(timeout) is None:
        yield Problem(
            "waitForCapacityTimeout", f'"{timeout}" cannot be parsed as a duration: time: invalid duration'
        )


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")


def _seconds(duration: str) -> float | None:
    """A Go duration in seconds: ``10m``, ``1h30m``, ``0``. None if it is none."""
    if duration == "0":
        return 0
    units = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
    parts = _DURATION.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        return None
    return sum(float(number) * units[unit] for number, unit in parts)


def _invalid(message: str) -> Refusal:
    return Refusal("ValidationError", message)


def _request(call: Call) -> tuple[Request, dict[str, Any]]:
    """The group's request without a subnet, and the launch template it came from."""
    try:
        data, template_id, number = versioned(call.tx, call.inputs["launchTemplate"])
    except Refusal as refusal:
        raise _invalid(f"You must use a valid fully-formed launch template. {refusal.message}") from refusal
    wanted = request(data, region_of(call), (template_id, str(number)))
    if call.inputs.get("placementGroup"):
        wanted = replace(wanted, placement_group=call.inputs["placementGroup"])
    specification = call.inputs.get("capacityReservationSpecification") or {}
    target = specification.get("capacityReservationTarget") or {}
    if target.get("capacityReservationResourceGroupArns"):
        raise ProviderError(
            "the simulated AWS has no resource groups: name the capacity reservations by their ids"
        )
    preference = specification.get("capacityReservationPreference") or wanted.reservation_preference
    if target.get("capacityReservationIds"):
        wanted = replace(wanted, reservation_id=target["capacityReservationIds"][0])
    wanted = replace(wanted, reservation_preference=preference if preference in ("open", "none") else "")
    propagated = {
        each["key"]: each["value"] for each in call.inputs.get("tags") or [] if each.get("propagateAtLaunch")
    }
    name = call.tx.need(kinds.LAUNCH_TEMPLATE, template_id)["name"]
    template = {
        "id": template_id,
        "name": name,
        "version": call.inputs["launchTemplate"].get("version", "$Default"),
    }
    return replace(wanted, tags={**wanted.tags, **propagated}), template


def _check_template(call: Call, wanted: Request, subnet_ids: list[str]) -> None:
    """What CreateAutoScalingGroup finds wrong with the template, in its own words.

    Young-ook/terraform-aws-eks issue 148; hashicorp/terraform-provider-aws issue 4570; the comment on IAM profiles in
    terraform-provider-aws internal/service/autoscaling/group.go.
    """
    if wanted.interfaces and (wanted.groups or wanted.group_names):
        raise Refusal(
            "InvalidQueryParameter",
            "Invalid launch template: When a network interface is provided, the security groups must be a part of it.",
        )
    try:
        launch.check_request(call.tx, wanted)
    except Refusal as refusal:
        if refusal.message.startswith("Each network interface requires"):
            raise Refusal(
                "InvalidQueryParameter", f"Incompatible launch template: {refusal.message}"
            ) from refusal
        raise _invalid(f"You must use a valid fully-formed launch template. {refusal.message}") from refusal
    for subnet_id in subnet_ids:
        if call.tx.get(kinds.SUBNET, subnet_id) is None:
            raise _invalid(f"The subnet ID '{subnet_id}' does not exist")
    in_template = {each.subnet_id for each in wanted.interfaces if each.subnet_id}
    if in_template - set(subnet_ids):
        # Auto Scaling User Guide, create-launch-template: the group's subnets count. Unverified.
        raise _invalid(
            "You must use a valid fully-formed launch template. The subnets of its network interfaces must be "
            "among the group's subnets."
        )


def _sizes(call: Call) -> tuple[int, int, int]:
    """Minimum, desired and maximum. The sentences are from memory, unverified."""
    smallest, largest = int(call.inputs["minSize"]), int(call.inputs["maxSize"])
    desired = call.inputs.get("desiredCapacity")
    if largest < smallest:
        raise _invalid(f"Max bound, {largest}, must be greater than or equal to min bound, {smallest}")
    if desired is None:
        desired = min(max(int(call.old.get("desiredCapacity", smallest)), smallest), largest)
    if not smallest <= desired <= largest:
        raise _invalid(
            f"Desired capacity:{desired} must be between the specified min size:{smallest} and max size:{largest}"
        )
    return smallest, int(desired), largest


def _subnets(call: Call) -> list[str]:
    subnets = call.inputs.get("vpcZoneIdentifiers") or call.old.get("vpcZoneIdentifiers") or []
    if not subnets:
        raise _invalid("At least one Availability Zone or VPC Subnet is required.")
    return list(subnets)


def create(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    name = inputs.get("name") or f"{inputs.get('namePrefix', 'terraform-')}{tx.next('name'):026d}"
    if tx.get(kinds.AUTO_SCALING_GROUP, name) is not None:
        raise Refusal(
            "AlreadyExists",
            f"AutoScalingGroup by this name already exists - A group with the name {name} already exists",
        )
    _, desired, _ = _sizes(call)
    subnets = _subnets(call)
    wanted, template = _request(call)
    _check_template(call, wanted, subnets)
    _scale(call, name, wanted, subnets, desired)
    group_id = uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{tx.next('autoScalingGroup')}")
    return Made(
        name,
        {
            "arn": arn("autoscaling", region, f"autoScalingGroup:{group_id}:autoScalingGroupName/{name}"),
            "name": name,
            "namePrefix": inputs.get("namePrefix", ""),
            "launchTemplate": template,
            "vpcZoneIdentifiers": subnets,
            "availabilityZones": sorted(
                {tx.need(kinds.SUBNET, each)["availabilityZone"] for each in subnets}
            ),
            "desiredCapacity": desired,
            "defaultCooldown": inputs.get("defaultCooldown", 300),
            "healthCheckType": inputs.get("healthCheckType", "EC2"),
            "loadBalancers": inputs.get("loadBalancers", []),
            "targetGroupArns": inputs.get("targetGroupArns", []),
            "trafficSources": inputs.get("trafficSources", []),
            "predictedCapacity": 0,
            "warmPoolSize": 0,
            "serviceLinkedRoleArn": inputs.get("serviceLinkedRoleArn")
            or global_arn(
                "iam",
                region,
                "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
            ),
            "ownerId": ACCOUNT,
        },
    )


def instances(call: Call, name: str) -> list[tuple[str, dict[str, Any]]]:
    """The group's instances, oldest first."""
    return call.tx.find(kinds.INSTANCE, parentId=name)


def _scale(call: Call, name: str, wanted: Request, subnets: list[str], desired: int) -> None:
    """Start or end instances until there are as many as wanted. What fails becomes a reason of the call."""
    running = instances(call, name)
    if len(running) > desired:
        _scale_in(call, running, len(running) - desired, wanted)
    elif len(running) < desired:
        _scale_out(call, name, wanted, subnets, desired - len(running))
    have = len(instances(call, name))
    exactly = bool(call.old)
    if call.reasons or have == desired or (not exactly and have > desired):
        return
    if _waits(call):
        word = "exactly" if exactly else "at least"
        call.reasons.append(
            f"waiting for Auto Scaling Group ({name}) capacity satisfied: timeout while waiting for state to become "
            f"'ok' (last state: 'want {word} {desired} healthy instance(s) in Auto Scaling Group, have {have}', "
            f"timeout: {call.inputs.get('waitForCapacityTimeout', '10m')})"
        )


def _waits(call: Call) -> bool:
    return (_seconds(str(call.inputs.get("waitForCapacityTimeout", "10m"))) or 0) > 0


def _scale_out(call: Call, name: str, wanted: Request, subnets: list[str], missing: int) -> None:
    """One launch request a subnet, as even as it goes."""
    for index, subnet_id in enumerate(subnets):
        share = missing // len(subnets) + (1 if index < missing % len(subnets) else 0)
        if not share:
            continue
        started: list[str] = []
        try:
            started = launch.run(
                call.tx, in_subnet(wanted, subnet_id), share, call.faults, owner=name, fit=True
            )
            if len(started) < share:
                launch.run(
                    call.tx, in_subnet(wanted, subnet_id), share - len(started), call.faults, owner=name
                )
        except Refusal as refusal:
            if refusal.code not in _AT_LAUNCH:
                raise _invalid(
                    f"You must use a valid fully-formed launch template. {refusal.message}"
                ) from refusal
            _activity_failed(call, name, refusal)
        if call.inputs.get("protectFromScaleIn"):
            for id in started:
                call.tx.patch(kinds.INSTANCE, id, protected=True)


def _activity_failed(call: Call, name: str, refusal: Refusal) -> None:
    """hashicorp/terraform issue 9074 and defenseunicorns/delivery-aws-iac issue 334 show the provider's message."""
    if not _waits(call) or call.inputs.get("ignoreFailedScalingActivities"):
        return
    activity = uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{call.tx.next('scalingActivity')}")
    sentence = refusal.message if refusal.message.endswith(".") else f"{refusal.message}."
    call.reasons.append(
        f"waiting for Auto Scaling Group ({name}) capacity satisfied: scaling activity ({activity}): Failed: "
        f"{sentence} Launching EC2 instance failed."
    )


def in_subnet(wanted: Request, subnet_id: str) -> Request:
    """The request with the group's subnet: at its interfaces where it has any."""
    if not wanted.interfaces:
        return replace(wanted, subnet_id=subnet_id)
    return replace(wanted, interfaces=tuple(replace(each, subnet_id=subnet_id) for each in wanted.interfaces))


def _scale_in(call: Call, running: list[tuple[str, dict[str, Any]]], count: int, wanted: Request) -> None:
    """End instances of older template versions first, then the latest started.

    Auto Scaling User Guide, default termination policy: oldest template first; which of equal ones is not promised.
    """
    free = [(id, each) for id, each in running if not each.get("protected")]
    free.reverse()
    free.sort(
        key=lambda item: (item[1]["launchTemplateId"], item[1]["launchTemplateVersion"]) == wanted.template
    )
    for id, _ in free[:count]:
        launch.terminate(call.tx, id)


def update(call: Call) -> dict[str, Any]:
    _, desired, _ = _sizes(call)
    subnets = _subnets(call)
    wanted, template = _request(call)
    new_template = template != call.old.get("launchTemplate") or wanted.template != _newest(call)
    _check_template(call, wanted, subnets)
    if _refreshes(call, template):
        for id, _ in instances(call, call.id):
            launch.terminate(call.tx, id)
    _scale(call, call.id, wanted, subnets, desired)
    changed: dict[str, Any] = {
        "vpcZoneIdentifiers": subnets,
        "desiredCapacity": desired,
        "availabilityZones": sorted(
            {call.tx.need(kinds.SUBNET, each)["availabilityZone"] for each in subnets}
        ),
    }
    return {**changed, "launchTemplate": template} if new_template else changed


def _newest(call: Call) -> tuple[str, str]:
    running = instances(call, call.id)
    return (
        (running[-1][1]["launchTemplateId"], running[-1][1]["launchTemplateVersion"]) if running else ("", "")
    )


def _refreshes(call: Call, template: Mapping[str, Any]) -> bool:
    """Whether the provider starts an instance refresh (resourceGroupUpdate, shouldRefreshInstances)."""
    refresh = call.inputs.get("instanceRefresh")
    if not refresh:
        return False
    triggers = {
        "tag": "tags",
        "placement_group": "placementGroup",
        "vpc_zone_identifier": "vpcZoneIdentifiers",
    }
    watched = [triggers.get(each, each) for each in refresh.get("triggers") or []]
    return template != call.old.get("launchTemplate") or any(call.changed(name) for name in watched)


def delete(call: Call) -> None:
    """The provider sets the size to 0, waits until the group is drained, and deletes it (resourceGroupDelete)."""
    for id, _ in instances(call, call.id):
        launch.terminate(call.tx, id)


GROUP = ResourceType(
    token=kinds.AUTO_SCALING_GROUP,
    title="Auto Scaling Group",
    service="Auto Scaling",
    calls={
        "create": "CreateAutoScalingGroup",
        "update": "UpdateAutoScalingGroup",
        "delete": "DeleteAutoScalingGroup",
    },
    doing={"create": "creating Auto Scaling Group ({id})"},
    create=create,
    update=update,
    delete=delete,
    check=check,
    autoname="name",
    defaults={
        "forceDelete": False,
        "forceDeleteWarmPool": False,
        "healthCheckGracePeriod": 300,
        "ignoreFailedScalingActivities": False,
        "metricsGranularity": "1Minute",
        "protectFromScaleIn": False,
        "waitForCapacityTimeout": "10m",
    },
    filled=frozenset({"namePrefix", "desiredCapacity"}),
    absent=frozenset(
        {
            "availabilityZoneDistribution",
            "capacityReservationSpecification",
            "instanceLifecyclePolicy",
            "mixedInstancesPolicy",
        }
    ),
    unordered=frozenset(
        {"vpcZoneIdentifiers", "availabilityZones", "tags", "enabledMetrics", "suspendedProcesses"}
    ),
    replaces=frozenset({"initialLifecycleHooks", "name", "namePrefix", "region"}),
    replaces_source="terraform-provider-aws service/autoscaling/group.go at 00a919d1, ForceNew",
)

TYPES = (GROUP,)
