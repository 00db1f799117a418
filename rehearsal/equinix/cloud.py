"""The simulated Equinix Fabric as one piece."""

from __future__ import annotations

from pathlib import Path

from .. import partner
from ..core.resource import Cloud
from . import cloud_router, connection, routing_protocol, service_profile
from .errors import refusal_text

_SUBJECTS = (cloud_router, connection, routing_protocol, service_profile)

CLOUD = Cloud(
    name="equinix",
    folder=Path(__file__).parent,
    types=tuple(each for subject in _SUBJECTS for each in getattr(subject, "TYPES", ())),
    functions=tuple(each for subject in _SUBJECTS for each in getattr(subject, "FUNCTIONS", ())),
    notice="simulated equinix: nothing is ordered (every id begins with 00000000)",
    refusal=refusal_text,
    throttling=("EQ-SIMULATED", "Too Many Requests [the wording is the simulation's]"),
    throttling_status=400,
    remember={
        partner.CROSS_CONNECT: "a connection's line into a cloud",
        partner.ROUTER_SESSION: "a router's end of a BGP session",
    },
)
