"""On-demand capacity reservations, capacity blocks, and the blocks on offer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ..core.errors import ProviderError, Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from . import kinds
from .account import ACCOUNT, arn, configured_region, new_id, region_of, zones
from .instance_types import get as instance_type

_START = datetime(2026, 1, 1, 11, 30, tzinfo=UTC)
"""When every simulated block begins. Blocks start at 11:30 UTC (EC2 User Guide, capacity-blocks)."""
BLOCK_INSTANCES = 64
"""Instances a block may have (EC2 User Guide, capacity-blocks)."""
BLOCK_DAYS = 182


def _zone_problem(region: str, zone: str) -> Refusal | None:
    known = zones(region)
    if zone in known:
        return None
    return Refusal(
        "InvalidParameterValue",
        f"Invalid availability zone: [{zone}]. The zones of {region} are {', '.join(known)}.",
    )


def create_reservation(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    kind, zone, count = inputs["instanceType"], inputs["availabilityZone"], int(inputs["instanceCount"])
    instance_type(kind)
    problem = _zone_problem(region, zone)
    if problem is not None:
        raise problem
    if count < 1:
        raise Refusal("InvalidParameterValue", f"Value ({count}) for parameter instanceCount is invalid.")
    group = inputs.get("placementGroupArn")
    if group and not any(each["arn"] == group for _, each in tx.find(kinds.PLACEMENT_GROUP)):
        raise Refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{group}' is unknown.")
    _room(call, kind, zone, count)
    id = new_id(tx, "cr")
    return Made(
        id,
        {
            "arn": arn("ec2", region, f"capacity-reservation/{id}"),
            "ownerId": ACCOUNT,
            "placementGroupArn": group or "",
        },
    )


def _room(call: Call, kind: str, zone: str, more: int) -> None:
    """What is reserved and not used takes room as well."""
    available = call.faults.available(kind, zone)
    if available is None:
        return
    running = call.tx.count(kinds.INSTANCE, instanceType=kind, availabilityZone=zone)
    reserved = sum(
        max(0, int(each["instanceCount"]) - call.tx.count(kinds.INSTANCE, capacityReservationId=id))
        for id, each in call.tx.find(kinds.CAPACITY_RESERVATION, instanceType=kind, availabilityZone=zone)
    )
    if running + reserved + more > available:
        # EC2 API Reference, error codes: InsufficientInstanceCapacity for CreateCapacityReservation.
        raise Refusal("InsufficientInstanceCapacity", "Insufficient capacity.", status=500)


def update_reservation(call: Call) -> dict[str, Any]:
    before, after = int(call.old["instanceCount"]), int(call.inputs["instanceCount"])
    if after > before:
        _room(call, call.old["instanceType"], call.old["availabilityZone"], after - before)
    used = call.tx.count(kinds.INSTANCE, capacityReservationId=call.id)
    if after < used:
        # Unverified.
        raise Refusal(
            "InvalidParameterValue",
            f"The instance count {after} is below the {used} instances that run in the capacity reservation.",
        )
    return {}


RESERVATION = ResourceType(
    token=kinds.CAPACITY_RESERVATION,
    title="EC2 Capacity Reservation",
    service="EC2",
    calls={
        "create": "CreateCapacityReservation",
        "update": "ModifyCapacityReservation",
        "delete": "CancelCapacityReservation",
    },
    create=create_reservation,
    update=update_reservation,
    defaults={
        "ebsOptimized": False,
        "endDateType": "unlimited",
        "ephemeralStorage": False,
        "instanceMatchCriteria": "open",
        "tenancy": "default",
    },
    replaces=frozenset(
        {
            "availabilityZone",
            "ebsOptimized",
            "ephemeralStorage",
            "instanceMatchCriteria",
            "instancePlatform",
            "instanceType",
            "region",
            "tenancy",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/ec2_capacity_reservation.go at 084df2c9, ForceNew",
)


# Capacity blocks


def offering(lookup: Lookup) -> dict[str, Any]:
    """The one block on offer for what was asked: in the region's first zone that is named, starting in the past.

    A real offering has a price of its day; here the fee is 0 and says so.
    """
    args = lookup.args
    region = args.get("region") or configured_region(lookup.config)
    kind, count = args["instanceType"], int(args["instanceCount"])
    hours = int(args["capacityDurationHours"])
    if not instance_type(kind).block:
        raise ProviderError(f"EC2 offers no capacity blocks of {kind}")
    if not 1 <= count <= BLOCK_INSTANCES or not 24 <= hours <= 24 * BLOCK_DAYS or hours % 24:
        raise ProviderError(
            f"EC2 offers capacity blocks of 1 to {BLOCK_INSTANCES} instances for whole days, 1 to {BLOCK_DAYS}; asked "
            f"for {count} instances and {hours} hours"
        )
    zone = next(iter(zones(region)))
    # The id says what is on offer, so that a look-up leaves nothing behind.
    id = f"cb-{f'{kind}/{count}/{hours}/{zone}'.encode().hex()}"
    return {
        "id": id,
        "capacityBlockOfferingId": id,
        "availabilityZone": zone,
        "capacityDurationHours": hours,
        "currencyCode": "USD",
        "endDateRange": args.get("endDateRange", ""),
        "startDateRange": args.get("startDateRange", ""),
        "instanceCount": count,
        "instanceType": kind,
        "region": region,
        "tenancy": "default",
        "upfrontFee": "0",
    }


def _offered(id: str) -> dict[str, Any]:
    """What an offering's id stands for, or EC2's refusal."""
    try:
        kind, count, hours, zone = bytes.fromhex(id.removeprefix("cb-")).decode().split("/")
    except ValueError:
        raise Refusal(
            "InvalidCapacityBlockOfferingId.NotFound", f"The Capacity Block offering '{id}' does not exist."
        ) from None
    return {"instanceType": kind, "instanceCount": int(count), "hours": int(hours), "availabilityZone": zone}


def buy(call: Call) -> Made:
    tx, offer = call.tx, _offered(call.inputs["capacityBlockOfferingId"])
    id, region = new_id(tx, "cr"), region_of(call)
    return Made(
        id,
        {
            "arn": arn("ec2", region, f"capacity-reservation/{id}"),
            "availabilityZone": offer["availabilityZone"],
            "createdDate": _START.isoformat(),
            "startDate": _START.isoformat(),
            "endDate": (_START + timedelta(hours=offer["hours"])).isoformat(),
            "endDateType": "limited",
            "ebsOptimized": True,
            "instanceCount": offer["instanceCount"],
            "instanceType": offer["instanceType"],
            "outpostArn": "",
            "placementGroupArn": "",
            "reservationType": "capacity-block",
            "tenancy": "default",
        },
    )


BLOCK = ResourceType(
    token=kinds.CAPACITY_BLOCK,
    title="EC2 Capacity Block Reservation",
    service="EC2",
    calls={"create": "PurchaseCapacityBlock"},
    doing={"create": "purchasing EC2 Capacity Block Reservation"},
    create=buy,
    replaces=frozenset({"capacityBlockOfferingId", "instancePlatform", "region"}),
    replaces_source="terraform-provider-aws service/ec2/ec2_capacity_block_reservation.go at 02568cd9, "
    "RequiresReplace. Deleting it only forgets it there (WithNoOpDelete); here it is gone: a rehearsal ends empty",
)

TYPES = (RESERVATION, BLOCK)
FUNCTIONS = (Function("aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering", offering),)
