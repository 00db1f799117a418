"""The pack: every rule, as policies of Pulumi."""

from __future__ import annotations

from pulumi_policy import Policy

from gpu_fabric.policy.rule import Rule, policies_of
from gpu_fabric.policy.rules import images, interfaces, node_settings, placement, routes, security

NAME = "gpu-fabric"
DESCRIPTION = (
    "GPU fabrics that NCCL can use: placement, drivers, GPUDirect, private routes, sockets, preflight."
)

RULES: tuple[Rule, ...] = (
    *placement.RULES,
    *images.RULES,
    *node_settings.RULES,
    *routes.RULES,
    *interfaces.RULES,
    *security.RULES,
)


def policies() -> list[Policy]:
    """The rules as pulumi-policy takes them."""
    return [policy for rule in RULES for policy in policies_of(rule)]
