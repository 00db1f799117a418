"""What each partner must be told, and what it does not do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.components.interconnect.derived import PROVIDERS
from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.limits import EQUINIX_LAB_MBPS
from gpu_fabric.components.interconnect.settings import (
    AwsGateway,
    InterconnectSettings,
    Partner,
    Redundancy,
)
from gpu_fabric.components.problems import Problem

_ACCOUNT = re.compile(r"[0-9]{12}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_METRO = re.compile(r"[A-Z]{2}")
_PACKAGES = ("LAB", "BASIC", "STANDARD", "ADVANCED")
_TERMS = (1, 12, 24, 36)


def account(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    given = settings.aws_account
    if given is None and settings.partner in PROVIDERS:
        yield Problem(
            ("aws_account",),
            "is missing",
            f"give the 12 digits of the AWS account that {settings.partner.value} connects",
        )
    elif given is not None and not _ACCOUNT.fullmatch(given):
        yield Problem(
            ("aws_account",),
            f"{given!r} is not an account",
            "give its 12 digits, in quotes (a leading 0 counts)",
        )


def equinix(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    own = settings.equinix
    if own.metro is not None and not _METRO.fullmatch(own.metro):
        yield Problem(
            ("equinix", "metro"), f"{own.metro!r} is not the code of a metro", "give one such as DC"
        )
    if settings.partner is not Partner.EQUINIX:
        return
    if own.project_id is None:
        yield Problem(("equinix", "project_id"), "is missing", "give the Equinix project that is billed")
    if not own.emails:
        yield Problem(
            ("equinix", "emails"), "is empty", "give at least one address that Equinix may write to"
        )
    for number, one in enumerate(own.emails):
        if not _EMAIL.fullmatch(one):
            yield Problem(
                ("equinix", "emails", number),
                f"{one!r} is no address of electronic mail",
                "give it as name@example.com",
            )
    if own.package not in _PACKAGES:
        yield Problem(
            ("equinix", "package"),
            f"{own.package!r} is not a package of a cloud router",
            f"give one of {', '.join(_PACKAGES)}",
        )
    elif own.package == "LAB" and settings.bandwidth_mbps > EQUINIX_LAB_MBPS:
        yield Problem(
            ("equinix", "package"),
            f"a LAB router has connections of {EQUINIX_LAB_MBPS} Mb/s at most (an older page of Equinix)",
            f"give one of {', '.join(_PACKAGES[1:])}",
        )


def megaport(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.partner is not Partner.MEGAPORT:
        return
    for key in ("location_id", "aws_product_uid", "azure_product_uid"):
        if getattr(settings.megaport, key) is None:
            yield Problem(
                ("megaport", key),
                "is missing",
                "give it as Megaport's portal shows it; nothing is looked up",
            )
    if settings.megaport.term_months not in _TERMS:
        yield Problem(
            ("megaport", "term_months"),
            f"{settings.megaport.term_months} is not a term that Megaport sells",
            f"give {', '.join(map(str, _TERMS[:-1]))} or {_TERMS[-1]}",
        )


def manual(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.partner is not Partner.MANUAL:
        return
    own = settings.manual
    if own.interface_ids and (own.connection_ids or own.vlans):
        yield Problem(
            ("manual", "interface_ids"),
            "stands beside connections, on which this stack would make interfaces of its own",
            "keep `interfaceIds` where your partner made the interfaces, else `connectionIds` and `vlans`",
        )
        return
    if settings.provisioned:
        for key in ("interface_ids",) if own.interface_ids else ("connection_ids", "vlans"):
            given = len(getattr(own, key))
            if given != settings.connections:
                what = "virtual interface" if own.interface_ids else "Direct Connect connection"
                yield Problem(
                    ("manual", key),
                    f"has {given} and must have {settings.connections} with `redundancy: {settings.redundancy.value}`",
                    f"give one for each {what} that you ordered",
                )


def native(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.partner is not Partner.NATIVE:
        return
    if settings.redundancy is Redundancy.CIRCUIT:
        yield Problem(
            ("redundancy",),
            "the native interconnect brings its own and takes one connection a gateway",
            "drop the key",
        )
    if settings.aws_gateway is AwsGateway.TRANSIT:
        yield Problem(
            ("aws_gateway",),
            "only the way through a virtual private gateway is laid out for `native`",
            "drop the key",
        )
    if settings.circuit.id is not None:
        yield Problem(("circuit", "id"), "the native interconnect has no circuit", "drop the key")


def adopted_gateway(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.aws_transit_gateway_id is not None and settings.aws_gateway is not AwsGateway.TRANSIT:
        yield Problem(
            ("aws_transit_gateway_id",),
            f"a transit gateway is given, and `awsGateway` is {settings.aws_gateway.value}",
            "set `awsGateway: transit`, or drop the key",
        )


def phases(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.provisioned and settings.partner in PROVIDERS:
        yield Problem(
            ("provisioned",),
            f"{settings.partner.value} provisions the circuit itself",
            "drop the key; `manual` and `native` need it",
        )
