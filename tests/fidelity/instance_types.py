"""Launch templates judged by what EC2 says of the instance type (DescribeInstanceTypes, as moto recorded it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

#: A template's market type → EC2's usage class.
_USAGE_CLASSES = {None: "on-demand", "spot": "spot", "capacity-block": "capacity-block"}


def problems(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(parameter, what the described instance type does not offer), of a request's LaunchTemplateData."""
    described = INSTANCE_TYPES[data["InstanceType"]]
    return [
        (parameter, problem) for parameter, check in _CHECKS.items() for problem in check(data, described)
    ]


def _interfaces(data: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    network = described["NetworkInfo"]
    cards = {card["NetworkCardIndex"]: card for card in network["NetworkCards"]}
    asked = data["NetworkInterfaces"]
    on_card: Counter[int] = Counter()
    places: Counter[tuple[int, int]] = Counter()
    for interface in asked:
        index, device, kind = (
            interface["NetworkCardIndex"],
            interface["DeviceIndex"],
            interface["InterfaceType"],
        )
        on_card[index] += 1
        places[index, device] += 1
        card = cards.get(index)
        if card is None:
            yield f"network card {index}: the type has {len(cards)} cards"
            continue
        if kind not in card["InterfaceTypes"]:
            yield f"network card {index}: takes {' '.join(sorted(card['InterfaceTypes']))}, not {kind}"
        if device >= card["MaximumNetworkInterfaces"]:
            yield f"network card {index}: device {device}, and it takes {card['MaximumNetworkInterfaces']} interfaces"
    for index, count in on_card.items():
        if index in cards and count > cards[index]["MaximumNetworkInterfaces"]:
            yield f"network card {index}: {count} interfaces, and it takes {cards[index]['MaximumNetworkInterfaces']}"
    yield from (f"card and device {place} are given {n} times" for place, n in places.items() if n > 1)
    efa = sum(interface["InterfaceType"] != "interface" for interface in asked)
    most = network["EfaInfo"]["MaximumEfaInterfaces"]
    if efa > most:
        yield f"{efa} EFA interfaces, and the type takes {most}"


def _market(data: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    usage = _USAGE_CLASSES[data.get("InstanceMarketOptions", {}).get("MarketType")]
    if usage not in described["SupportedUsageClasses"]:
        yield f"usage class {usage}: the type has {' '.join(described['SupportedUsageClasses'])}"


def _volumes(data: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    limits = described["EbsInfo"]["EbsOptimizedInfo"]
    for mapping in data["BlockDeviceMappings"]:
        volume = mapping["Ebs"]
        if volume["Iops"] > limits["MaximumIops"]:
            yield f"{volume['Iops']} IOPS, and the type carries {limits['MaximumIops']}"
        if volume["Throughput"] * 1.048576 > limits["MaximumThroughputInMBps"]:
            most = limits["MaximumThroughputInMBps"]
            yield f"{volume['Throughput']} MiB/s, and the type carries {most:g} MB/s"


_CHECKS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[str]]] = {
    "NetworkInterfaces": _interfaces,
    "InstanceMarketOptions": _market,
    "BlockDeviceMappings": _volumes,
}
