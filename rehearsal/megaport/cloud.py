"""The simulated Megaport as one piece."""

from __future__ import annotations

from pathlib import Path

from .. import partner
from ..core.resource import Cloud
from . import locations, mcr, vxc
from .errors import refusal_text

CLOUD = Cloud(
    name="megaport",
    folder=Path(__file__).parent,
    types=(*mcr.TYPES, *vxc.TYPES),
    functions=locations.FUNCTIONS,
    notice="simulated megaport: nothing is ordered (every uid begins with 00000000)",
    refusal=refusal_text,
    parameterized=True,
    remember={
        partner.CROSS_CONNECT: "a VXC's line into a cloud",
        partner.ROUTER_SESSION: "a router's end of a BGP session",
    },
)
