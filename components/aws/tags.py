"""The tags that every AWS resource of ours carries."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi


def tags(name: str, given: Mapping[str, str], **more: str) -> dict[str, str]:
    """`Name`, who made it, and the user's own tags, which win."""
    return {
        "Name": name,
        "gpu-fabric:project": pulumi.get_project(),
        "gpu-fabric:stack": pulumi.get_stack(),
        **more,
        **given,
    }
