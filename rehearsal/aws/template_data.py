"""From a launch template's data, or an instance's inputs, to a request for RunInstances."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.errors import Refusal
from ..core.store import Transaction
from . import kinds
from .launch import Interface, Request

DATA = (
    "blockDeviceMappings",
    "capacityReservationSpecification",
    "cpuOptions",
    "creditSpecification",
    "disableApiStop",
    "disableApiTermination",
    "ebsOptimized",
    "enclaveOptions",
    "hibernationOptions",
    "iamInstanceProfile",
    "imageId",
    "instanceInitiatedShutdownBehavior",
    "instanceMarketOptions",
    "instanceRequirements",
    "instanceType",
    "kernelId",
    "keyName",
    "licenseSpecifications",
    "maintenanceOptions",
    "metadataOptions",
    "monitoring",
    "networkInterfaces",
    "networkPerformanceOptions",
    "placement",
    "privateDnsNameOptions",
    "ramDiskId",
    "secondaryInterfaces",
    "securityGroupNames",
    "tagSpecifications",
    "userData",
    "vpcSecurityGroupIds",
)
"""The inputs of a launch template that are its data: a change makes a new version."""


def flag(value: Any) -> bool | None:
    """A boolean the provider takes as text, ``"true"``; None where nothing is said."""
    if value in (None, ""):
        return None
    return value if isinstance(value, bool) else str(value).lower() == "true"


def decoded(user_data: str) -> bytes:
    """User data out of base64, or EC2's refusal."""
    try:
        return base64.b64decode(user_data, validate=True)
    except binascii.Error:
        raise Refusal("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from None


def interface(given: Mapping[str, Any]) -> Interface:
    """One ``networkInterfaces`` entry of a launch template."""
    return Interface(
        card=int(given.get("networkCardIndex") or 0),
        device=int(given.get("deviceIndex") or 0),
        kind=given.get("interfaceType") or "interface",
        subnet_id=given.get("subnetId") or "",
        groups=tuple(given.get("securityGroups") or ()),
        public=flag(given.get("associatePublicIpAddress")),
        private_ip=given.get("privateIpAddress") or "",
        secondary=int(given.get("ipv4AddressCount") or len(given.get("ipv4Addresses") or ())),
        prefixes=int(given.get("ipv4PrefixCount") or len(given.get("ipv4Prefixes") or ())),
        existing=given.get("networkInterfaceId") or "",
        delete_on_termination=flag(given.get("deleteOnTermination")) is not False,
    )


def request(data: Mapping[str, Any], region: str, template: tuple[str, str] = ("", "")) -> Request:
    """The request that a launch template's data stands for."""
    reservation = data.get("capacityReservationSpecification") or {}
    placement = data.get("placement") or {}
    profile = data.get("iamInstanceProfile") or {}
    tags: dict[str, str] = {}
    for specification in data.get("tagSpecifications") or []:
        if specification.get("resourceType") == "instance":
            tags |= specification.get("tags") or {}
    return Request(
        instance_type=data.get("instanceType") or "",
        image_id=data.get("imageId") or "",
        region=region,
        interfaces=tuple(interface(each) for each in data.get("networkInterfaces") or ()),
        groups=tuple(data.get("vpcSecurityGroupIds") or ()),
        group_names=tuple(data.get("securityGroupNames") or ()),
        zone=placement.get("availabilityZone") or "",
        placement_group=placement.get("groupName") or placement.get("groupId") or "",
        market=(data.get("instanceMarketOptions") or {}).get("marketType") or "",
        reservation_id=(reservation.get("capacityReservationTarget") or {}).get("capacityReservationId")
        or "",
        reservation_preference=reservation.get("capacityReservationPreference") or "",
        user_data_size=len(decoded(data["userData"])) if data.get("userData") else 0,
        key_name=data.get("keyName") or "",
        profile=profile.get("name") or profile.get("arn") or "",
        volumes=tuple(each["ebs"] for each in data.get("blockDeviceMappings") or () if each.get("ebs")),
        tags=tags,
        template=template,
    )


def versioned(tx: Transaction, given: Mapping[str, Any]) -> tuple[dict[str, Any], str, int]:
    """The data, the template's id and the version number of ``{"id" or "name", "version"}``.

    ``version`` is a number, ``$Latest`` or ``$Default``; without one it is the default. Refuses what is not there.
    """
    template_id, name = given.get("id") or "", given.get("name") or ""
    if not template_id:
        found = tx.find(kinds.LAUNCH_TEMPLATE, name=name)
        if not found:
            raise Refusal(
                "InvalidLaunchTemplateName.NotFoundException",
                "The specified launch template, with template name " + name + ", does not exist.",
            )
        template_id = found[0][0]
    template = tx.get(kinds.LAUNCH_TEMPLATE, template_id)
    if template is None:
        raise Refusal(
            "InvalidLaunchTemplateId.NotFound",
            "The specified launch template, with template ID " + template_id + ", does not exist.",
        )
    version = str(given.get("version") or "$Default")
    number = {"$Latest": template["latestVersion"], "$Default": template["defaultVersion"]}.get(
        version, version
    )
    stored = tx.get(kinds.LAUNCH_TEMPLATE_VERSION, f"{template_id}:{number}")
    if stored is None:
        raise Refusal(
            "InvalidLaunchTemplateId.VersionNotFound",
            f"Could not find the specified version {number} for the launch template with ID {template_id}.",
        )
    return stored["data"], template_id, int(stored["number"])


def overridden(base: Request, **changes: Any) -> Request:
    """The request with what is given beside the template over it; empty values change nothing."""
    return replace(base, **{key: value for key, value in changes.items() if value not in (None, "", (), {})})
