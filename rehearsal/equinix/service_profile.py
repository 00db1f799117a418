"""The service profiles that a connection leads to. Their ids are the simulation's: a program looks them up by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import ProviderError
from ..core.resource import Function, Lookup
from .errors import rule
from .metros import METROS

AWS, AZURE = "AWS Direct Connect", "Azure ExpressRoute"
PROFILES: Mapping[str, str] = {
    "00000000-0000-4000-8000-00000000aa01": AWS,
    "00000000-0000-4000-8000-00000000aa02": AZURE,
}
_PROPERTIES = ("/name", "/uuid", "/state", "/type", "/visibility")


def _profile(uuid: str) -> dict[str, Any]:
    name = PROFILES[uuid]
    regions = {
        code: {metro.aws_region: metro.aws_region} if name == AWS else {} for code, metro in METROS.items()
    }
    return {
        "uuid": uuid,
        "id": uuid,
        "name": name,
        "type": "L2_PROFILE",
        "state": "ACTIVE",
        "visibility": "PUBLIC",
        "description": f"{name}, simulated",
        "href": f"https://api.equinix.com/fabric/v4/serviceProfiles/{uuid}",
        "viewPoint": "zSide",
        "selfProfile": False,
        "tags": [],
        "allowedEmails": [],
        "customFields": [],
        "notifications": [],
        "ports": [],
        "virtualDevices": [],
        "marketingInfos": [],
        "accessPointTypeConfigs": [{"type": "COLO", "uuid": uuid}],
        "metros": [
            {"code": code, "name": metro.name, "sellerRegions": regions[code]}
            for code, metro in METROS.items()
        ],
    }


def look_up_all(lookup: Lookup) -> dict[str, Any]:
    given = lookup.args.get("filter") or {}
    if not isinstance(given, Mapping) or "property" not in given:
        raise ProviderError(
            "the simulated Equinix takes getServiceProfiles with one filter of property, operator and values"
        )
    name, operator, values = given["property"], given.get("operator"), given.get("values") or []
    if name not in _PROPERTIES or operator not in ("=", "in", "ilike"):
        raise ProviderError(
            f"the simulated Equinix filters by {', '.join(_PROPERTIES)} with =, in or ilike, not by {name} {operator}"
        )
    wanted = {str(each).strip("%").casefold() for each in values}
    data = [
        each
        for each in map(_profile, PROFILES)
        if any(
            want in str(each[name[1:]]).casefold()
            if operator == "ilike"
            else want == str(each[name[1:]]).casefold()
            for want in wanted
        )
    ]
    return {**lookup.args, "id": data[0]["uuid"] if data else "none", "data": data}


def look_up_one(lookup: Lookup) -> dict[str, Any]:
    if lookup.args["uuid"] not in PROFILES:
        raise rule(
            f"Service profile {lookup.args['uuid']} does not exist.",
            "Fabric v4 API, serviceProfiles",
            status=404,
        )
    return _profile(lookup.args["uuid"])


FUNCTIONS = (
    Function("equinix:fabric/getServiceProfiles:getServiceProfiles", look_up_all),
    Function("equinix:fabric/getServiceProfile:getServiceProfile", look_up_one),
)
