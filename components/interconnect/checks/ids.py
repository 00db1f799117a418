"""The shape of every id: one that is an output of another resource is not looked at.

No message repeats what stands there: a key or the circuit's service key pasted into the wrong place is a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from gpu_fabric.components.azure.ids import CIRCUIT, VIRTUAL_NETWORK, Kind
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.components.problems import Path, Problem


@dataclass(frozen=True)
class _Shape:
    pattern: re.Pattern[str]
    what: str
    """What an id is the id of, with an article."""
    example: str
    """How it is to be given."""


_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def _aws(prefix: str, what: str) -> _Shape:
    """EC2's ids: a prefix and hexadecimal digits, 8 of old or 17 (EC2 User Guide, resource-ids.html)."""
    return _Shape(re.compile(rf"{prefix}-[0-9a-z]+"), what, f"as AWS shows it, {prefix}-…")


def _uuid(what: str, where: str) -> _Shape:
    return _Shape(re.compile(_UUID), what, f"as {where} shows it, a UUID")


def _arm(kind: Kind) -> _Shape:
    return _Shape(kind.pattern, kind.what, f"as {kind.shape} (`{kind.ask} --query id`)")


#: Path of a key → the shape of what stands there, or of each item of its list.
SHAPES: dict[Path, _Shape] = {
    ("aws_transit_gateway_id",): _aws("tgw", "a transit gateway"),
    ("aws_route_table_ids",): _aws("rtb", "a route table"),
    # Examples of ConnectionId and LagId in the API reference of Direct Connect.
    ("manual", "connection_ids"): _Shape(
        re.compile(r"dx(con|lag)-[0-9a-z]{8,}"),
        "a Direct Connect connection",
        "as Direct Connect shows it, dxcon- and eight letters or digits",
    ),
    ("manual", "interface_ids"): _Shape(
        re.compile(r"dxvif-[0-9a-z]{8,}"),
        "a virtual interface of Direct Connect",
        "as Direct Connect shows it, dxvif- and eight letters or digits",
    ),
    # Digits in the provider's own examples ("776847000642406", fabric.CloudRouter), UUIDs in Equinix's portal.
    ("equinix", "project_id"): _Shape(
        re.compile(rf"[0-9]{{6,}}|{_UUID}"),
        "an Equinix project",
        "as Equinix's portal shows it, digits or a UUID",
    ),
    ("equinix", "aws_profile"): _uuid("a service profile", "Equinix's portal"),
    ("equinix", "azure_profile"): _uuid("a service profile", "Equinix's portal"),
    # megaport/megaport 1.9.1, docs/resources/vxc.md.
    ("megaport", "aws_product_uid"): _uuid("a product of Megaport", "Megaport's portal"),
    ("megaport", "azure_product_uid"): _uuid("a product of Megaport", "Megaport's portal"),
    ("circuit", "id"): _arm(CIRCUIT),
    # The networks of a program.
    ("aws", "vpc_id"): _aws("vpc", "a VPC"),
    ("aws", "subnet_id"): _aws("subnet", "a subnet"),
    ("aws", "security_group_id"): _aws("sg", "a security group"),
    ("azure", "virtual_network_id"): _arm(VIRTUAL_NETWORK),
}


#: Of a list, what is to stand in the place of an id that stands there before.
_INSTEAD = {
    ("manual", "connection_ids"): "give the other connection, or one alone with `redundancy: none`",
    ("manual", "interface_ids"): "give the other interface, or one alone with `redundancy: none`",
}
#: Pairs of keys that name two different things.
_APART: tuple[tuple[Path, Path], ...] = (
    (("equinix", "azure_profile"), ("equinix", "aws_profile")),
    (("megaport", "azure_product_uid"), ("megaport", "aws_product_uid")),
)


def _at(settings: InterconnectSettings, path: Path) -> Any:
    given: Any = settings
    for part in path:
        given = getattr(given, str(part), None)
    return given


def distinct(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    """No id stands in two places. One that is an output of another resource cannot be compared before it is known."""
    for path in SHAPES:
        given = _at(settings, path)
        if not isinstance(given, tuple):
            continue
        for number, one in enumerate(given):
            if isinstance(one, str) and any(
                isinstance(other, str) and other == one for other in given[:number]
            ):
                yield Problem((*path, number), "stands here twice", _INSTEAD.get(path, "drop one of the two"))
    for path, other in _APART:
        one, there = _at(settings, path), _at(settings, other)
        if isinstance(one, str) and isinstance(there, str) and one.casefold() == there.casefold():
            yield Problem(
                path, f"is that of `{'.'.join(map(to_camel, map(str, other)))}` too", "give the one of Azure"
            )


def ids(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    for path, shape in SHAPES.items():
        given = _at(settings, path)
        listed = isinstance(given, tuple)
        for number, one in enumerate(given if listed else (given,)):
            if isinstance(one, str) and not shape.pattern.fullmatch(one):
                yield Problem(
                    (*path, number) if listed else path,
                    f"is not the id of {shape.what}",
                    f"give it {shape.example}",
                )
