"""The tags that every Azure resource of ours carries."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi


def tags(given: Mapping[str, str], **more: str) -> dict[str, str]:
    """Who made it, and the user's own tags, which win."""
    return {
        "gpu-fabric:project": pulumi.get_project(),
        "gpu-fabric:stack": pulumi.get_stack(),
        **more,
        **given,
    }
