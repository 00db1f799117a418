"""Names of Azure's regions, as far as a plan without a login needs them."""

from __future__ import annotations

import re

_LOCATION = re.compile(r"[a-z][a-z0-9]+")


def location_name(text: str) -> str:
    """In the form that ARM gives back: `East US` is eastus."""
    return text.replace(" ", "").lower()


def is_location(name: str) -> bool:
    """Whether `name` has the form of a region's name."""
    return _LOCATION.fullmatch(name) is not None
