"""The rules for the link, each a small function from settings and both networks to problems.

A rule says where, what is wrong, and what to do. What is legal but worth knowing is in `notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpu_fabric.components.interconnect.checks import (
    addresses,
    capacity,
    ids,
    location,
    partners,
    sessions,
    texts,
)
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.hosts import hosts
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.components.problems import Problem

RULES: tuple[Callable[[InterconnectSettings, KnownEnds], Iterable[Problem]], ...] = (
    capacity.bandwidth,
    location.regions,
    location.location,
    location.tier,
    capacity.gateway,
    sessions.mtu,
    sessions.asns,
    addresses.on_link,
    addresses.gateway_subnet,
    addresses.networks,
    addresses.vpc,
    sessions.vlans,
    location.latency,
    partners.account,
    partners.equinix,
    partners.megaport,
    partners.manual,
    partners.native,
    partners.adopted_gateway,
    partners.phases,
    ids.ids,
    ids.distinct,
    texts.whole,
    texts.tags,
    sessions.key,
    hosts,
)


def check(settings: InterconnectSettings, ends: KnownEnds) -> list[Problem]:
    """Every problem of the link between these two networks, with paths in snake_case from the top of the settings."""
    return [problem for rule in RULES for problem in rule(settings, ends)]
