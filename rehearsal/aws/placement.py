"""Placement group."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.values import is_unknown
from . import kinds
from .account import arn, new_id, region_of

STRATEGIES = ("cluster", "partition", "spread")
PARTITIONS = 7
"""Partitions a zone may have (EC2 User Guide, placement-strategies)."""


def check(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws ec2_placement_group.go: validators and CustomizeDiff."""
    strategy = call.inputs.get("strategy")
    if is_unknown(strategy):
        return
    if strategy not in STRATEGIES:
        yield Problem(
            "strategy", f'expected strategy to be one of ["cluster" "partition" "spread"], got {strategy}'
        )
    count = call.inputs.get("partitionCount")
    if isinstance(count, int):
        if not 0 <= count <= PARTITIONS:
            yield Problem(
                "partitionCount",
                f"expected partition_count to be in the range (0 - {PARTITIONS}), got {count}",
            )
        elif count and strategy != "partition":
            yield Problem("partitionCount", f'partition_count must not be set when strategy = "{strategy}"')
    if call.inputs.get("spreadLevel") and strategy != "spread":
        yield Problem("spreadLevel", f'spread_level must not be set when strategy = "{strategy}"')


def create(call: Call) -> Made:
    name, strategy = call.inputs["name"], call.inputs["strategy"]
    if call.tx.get(kinds.PLACEMENT_GROUP, name) is not None:
        # FDio/csit issue 1721
        raise Refusal("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    return Made(
        name,
        {
            "arn": arn("ec2", region_of(call), f"placement-group/{name}"),
            "placementGroupId": new_id(call.tx, "pg"),
            "partitionCount": call.inputs.get("partitionCount", 2 if strategy == "partition" else 0),
            "spreadLevel": call.inputs.get("spreadLevel", "rack" if strategy == "spread" else ""),
        },
    )


def delete(call: Call) -> None:
    reserved = any(
        each.get("placementGroupArn") == call.old["arn"]
        for _, each in call.tx.find(kinds.CAPACITY_RESERVATION)
    )
    if reserved or call.tx.count(kinds.INSTANCE, placementGroup=call.id):
        # scylladb/scylla-cluster-tests issue 6742
        raise Refusal(
            "InvalidPlacementGroup.InUse",
            f"The placement group '{call.id}' is in use and may not be deleted.",
        )


PLACEMENT_GROUP = ResourceType(
    token=kinds.PLACEMENT_GROUP,
    title="EC2 Placement Group",
    service="EC2",
    calls={"create": "CreatePlacementGroup", "update": "CreateTags", "delete": "DeletePlacementGroup"},
    doing={"create": "creating EC2 Placement Group ({id})"},
    create=create,
    delete=delete,
    check=check,
    autoname="name",
    replaces=frozenset({"name", "partitionCount", "region", "spreadLevel", "strategy"}),
    replaces_source="terraform-provider-aws service/ec2/ec2_placement_group.go at 05e34de7, ForceNew",
)

TYPES = (PLACEMENT_GROUP,)
