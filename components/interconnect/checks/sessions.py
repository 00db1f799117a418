"""The interfaces and their BGP sessions: packet size, ASNs, VLANs, and the key."""

from __future__ import annotations

from collections.abc import Iterator

import pulumi
from pulumi.runtime.config import is_config_secret

from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.limits import (
    AMAZON_SIDE,
    KEY_CHARACTERS,
    LAST_ASN,
    LINK_MTU,
    PATH_MTU,
    RESERVED_ASNS,
    VLANS,
)
from gpu_fabric.components.interconnect.settings import InterconnectSettings, Partner, setting
from gpu_fabric.components.problems import Path, Problem


def mtu(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    if settings.mtu == LINK_MTU:
        return
    if settings.mtu > LINK_MTU:
        yield Problem(
            ("mtu",),
            f"ExpressRoute carries {LINK_MTU} bytes at most and fragments above {PATH_MTU}: with {settings.mtu} small "
            "packets pass, and bulk transfers hang wherever the ICMP message that says so is filtered",
            f"set {LINK_MTU} or drop the key. The routes to the other cloud are locked at {PATH_MTU}; inside AWS 9001 "
            "and EFA, and inside Azure InfiniBand, stay as they are without any setting here",
        )
    else:
        yield Problem(
            ("mtu",),
            f"a virtual interface has 1500, 8500 or 9001 bytes, not {settings.mtu}",
            f"set {LINK_MTU} or drop the key; smaller packets are made by the routes of the hosts",
        )


def _asn(key: str, asn: int, *, amazon: bool) -> Iterator[Problem]:
    where = ("asns", key)
    reserved = next((why for numbers, why in RESERVED_ASNS.items() if asn in numbers), None)
    if reserved is not None:
        yield Problem(where, f"{asn} is {reserved}", "give another, such as 64512 or 65001")
    elif amazon and not any(asn in numbers for numbers in AMAZON_SIDE):
        yield Problem(
            where,
            f"{asn} is not one that the Amazon side may have",
            "give 64512 to 65534 or 4200000000 to 4294967294",
        )
    elif not 0 < asn <= LAST_ASN:
        yield Problem(where, f"{asn} is not an ASN", f"give 1 to {LAST_ASN}")


def asns(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    asns = settings.asns
    yield from _asn("amazon", asns.amazon, amazon=True)
    yield from _asn("gateway", asns.gateway, amazon=True)
    yield from _asn("partner", asns.partner, amazon=False)
    for key, asn in (("gateway", asns.gateway), ("partner", asns.partner)):
        if asn == asns.amazon:
            why = (
                "a transit gateway must differ from its Direct Connect gateway"
                if key == "gateway"
                else "BGP between them would be internal and drop the other's routes"
            )
            yield Problem(("asns", key), f"{asn} is that of `asns.amazon` too; {why}", "give another number")


def vlans(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    keys = [("azure_vlan",)] + [("manual", "vlans", index) for index in range(len(settings.manual.vlans))]
    for where, vlan in zip(keys, (settings.azure_vlan, *settings.manual.vlans), strict=True):
        if vlan not in VLANS:
            yield Problem(where, f"{vlan} is not a VLAN", f"give {VLANS[0]} to {VLANS[-1]}")


def key(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    name = settings.bgp_key_from
    if name is None:
        if settings.partner is Partner.MEGAPORT and settings.bgp_key is None:
            yield Problem(
                ("bgp_key_from",),
                "is missing: AWS's sessions always have a key, and Megaport's router is set up before AWS makes one",
                f"set one with {setting()} and write `bgpKeyFrom: bgpKey`",
            )
        return
    where = ("bgp_key_from",)
    if settings.bgp_key is not None:
        yield Problem(where, "`bgpKey` and `bgpKeyFrom` exclude each other", "keep the one you mean")
        return
    config = pulumi.Config("gpu-fabric")
    value = config.get(name)
    if value is None:
        yield _no_value(where, name)
    elif not is_config_secret(config.full_key(name)):
        yield Problem(
            where,
            f"gpu-fabric:{name} stands in plain text in the stack file",
            f"take it out of the file and of its history, and set another with {setting(name)}",
        )
    elif len(value) not in KEY_CHARACTERS:
        yield Problem(
            where,
            f"the key that gpu-fabric:{name} holds has {len(value)} characters, and both clouds together take "
            f"{KEY_CHARACTERS[0]} to {KEY_CHARACTERS[-1]}",
            f"set another with {setting(name)}",
        )


def _no_value(where: Path, name: str) -> Problem:
    full = name.removeprefix("gpu-fabric:")
    if full != name and pulumi.Config("gpu-fabric").get(full) is not None:
        return Problem(where, f"`gpu-fabric:` is added to what stands here: {name} is set", f"write {full}")
    project = pulumi.Config()
    if ":" not in name and project.get(name) is not None:
        return Problem(
            where,
            f"the stack has {project.name}:{name}, and what is read is gpu-fabric:{name}",
            f"set it with {setting(name)}, and take the other away with `pulumi config rm {project.name}:{name}`",
        )
    # What stands here may be the key itself, so it is not repeated.
    return Problem(
        where,
        "this stack has no value under `gpu-fabric:` with the name that stands here",
        f"give a name, such as bgpKey, and set it with {setting()}; a key itself never stands in the file",
    )
