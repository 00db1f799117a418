"""NCCL's filters of names: NCCL_IB_HCA (`[^][=]device[:port[:rail[:plane]]],…`), NCCL_SOCKET_IFNAME (`[^][=]name,…`).

`^` and `=` count in front of the whole list alone; an entry is a prefix unless `=`; there are no wildcards and nothing
is trimmed. Source: NCCL user guide, env.html; seen in the library, tests/nccl/lint/test_with_real_nccl.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpu_fabric.nccl.environment.platforms import platforms
from gpu_fabric.nccl.environment.situation import Situation
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.hardware.models import Fabric
from gpu_fabric.nccl.hardware.plain import plain_sizes
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix, about
from gpu_fabric.nccl.lint.sources import Assignment
from gpu_fabric.nccl.text import without_prefix
from gpu_fabric.nccl.versions import Version

MAX_DEVICES: Final = 32
_RAILS_SINCE: Final = Version(2, 30, 7)
GUIDE: Final = "NCCL user guide, env.html"


@dataclass(frozen=True)
class Filter:
    """A filter as NCCL reads it."""

    inverted: bool
    exact: bool
    entries: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The entries without ports."""
        return tuple(entry.split(":")[0] for entry in self.entries)

    def selects(self, name: str) -> bool:
        """Whether a device or interface of this name passes."""
        hit = any(name == entry if self.exact else name.startswith(entry) for entry in self.names if entry)
        return hit != self.inverted


def parse_filter(value: str) -> Filter:
    """`[^][=]a,b`, never refused."""
    rest = without_prefix(value, "^")
    return Filter(value.startswith("^"), rest.startswith("="), tuple(without_prefix(rest, "=").split(",")))


def check_devices(
    assignment: Assignment, value: str, _row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    """NCCL_IB_HCA: its grammar, prefixes that match too much, and the platform's own devices."""
    if _has_wildcard(value):
        yield _wildcard(assignment, "env-devices", value, "no device matches")
        return
    filter_ = parse_filter(value)
    yield from _check_marks(assignment, "env-devices", value, filter_)
    for entry in filter_.entries:
        problem = _device_problem(entry, situation)
        if problem is not None:
            yield about(
                assignment,
                "env-devices",
                Level.ERROR,
                f"NCCL_IB_HCA={value}: {problem[0]}",
                problem[1],
                GUIDE,
            )
    if len(filter_.entries) > MAX_DEVICES:
        yield about(
            assignment,
            "env-devices",
            Level.WARNING,
            f"NCCL_IB_HCA has {len(filter_.entries)} entries; NCCL uses {MAX_DEVICES} devices at most.",
            "Use a prefix.",
            GUIDE,
        )
    # mlx5 and mlx4 are the drivers' names and no devices: a prefix that is meant.
    numbered = [
        name
        for name in filter_.names
        if re.fullmatch(r".*[A-Za-z_][1-9]", name) and not re.fullmatch(r"mlx[0-9]", name)
    ]
    if numbered and not filter_.exact:
        exact = f"{'^' if filter_.inverted else ''}={','.join(filter_.entries)}"
        yield about(
            assignment,
            "env-device-prefix",
            Level.WARNING,
            f"NCCL_IB_HCA={value}: {numbered[0]} is a prefix and also matches {numbered[0]}0 to {numbered[0]}9.",
            f"Put = in front of the list: {exact}.",
            GUIDE,
            fix=Fix(Change.VALUE, exact),
        )
    names = _names(situation)
    if "fabric_device" in names and situation.fabric is Fabric.INFINIBAND:
        yield from _check_named_devices(assignment, value, filter_, names, situation)


def _device_problem(entry: str, situation: Situation) -> tuple[str, str] | None:
    """What is wrong with one entry, and what to write."""
    fields = entry.split(":")
    if len(fields) > 4 or any(field and not field.lstrip("-").isdigit() for field in fields[1:]):
        return (
            f"{entry!r} is not device[:port[:rail[:plane]]] with numbers after the device.",
            "Write for example mlx5_0:1.",
        )
    if len(fields) > 2 and situation.nccl is not None and situation.nccl < _RAILS_SINCE:
        return (
            f"rail and plane are read since {_RAILS_SINCE}, this NCCL is {situation.nccl}.",
            "Write device:port.",
        )
    return None


def _check_named_devices(
    assignment: Assignment, value: str, filter_: Filter, names: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    """Against the names that the image gives: the Ethernet device must stay out, a fabric device must come in."""
    fabric, ethernet, known = (
        names["fabric_device"],
        names["ethernet_device"],
        situation.image == names["named_by_image"],
    )
    remedy, fix = f"Write NCCL_IB_HCA={fabric}.", Fix(Change.VALUE, fabric) if known else None
    if filter_.selects(ethernet):
        what = f"NCCL_IB_HCA={value} lets {ethernet} in, the Ethernet device of accelerated networking."
        yield about(
            assignment, "env-device-ethernet", Level.ERROR, what, remedy, names["device_source"], fix=fix
        )
    elif known and not any(filter_.selects(f"{fabric}{index}") for index in range(8)):
        what = f"NCCL_IB_HCA={value} matches none of {fabric}0 to {fabric}7, the names on Azure's HPC image."
        yield about(assignment, "env-device-none", Level.ERROR, what, remedy, names["device_source"], fix=fix)
    elif known and (size := plain_sizes().get(situation.size or "")) is not None:
        devices = [f"{fabric}{index}" for index in range(size.fabric_ports)]
        kept = [device for device in devices if filter_.selects(device)]
        if len(kept) < len(devices):
            yield about(
                assignment,
                "env-device-some",
                Level.WARNING,
                f"NCCL_IB_HCA={value} keeps {len(kept)} of the {len(devices)} InfiniBand devices of {size.name}, and "
                "with them that part of its bandwidth.",
                f"Write NCCL_IB_HCA={fabric}, unless the job has that part of the node alone.",
                names["device_source"],
            )


def check_interfaces(
    assignment: Assignment, value: str, _row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    """NCCL_SOCKET_IFNAME: its grammar, and the interfaces that the platform's nodes have."""
    if _has_wildcard(value):
        yield _wildcard(assignment, "env-interfaces", value, "no interface matches")
        return
    filter_ = parse_filter(value)
    yield from _check_marks(assignment, "env-interfaces", value, filter_)
    names = platforms()["names"]["pod"] if assignment.pod_network else _names(situation)
    if filter_.inverted and "unreachable" in names:
        yield from _check_exclusions(assignment, value, filter_, names)
    elif "interfaces" in names:
        yield from _check_kinds(assignment, value, filter_, names, situation)
    if "interface" in names:
        yield from _check_one_interface(assignment, value, filter_, names)


def _check_exclusions(
    assignment: Assignment, value: str, filter_: Filter, names: Mapping[str, Any]
) -> Iterator[Diagnosis]:
    kinds = names.get("interfaces", {})
    if kinds and not any(filter_.selects(kind) for kind in kinds):
        yield about(
            assignment,
            "env-interfaces-miss",
            Level.ERROR,
            f"NCCL_SOCKET_IFNAME={value} excludes every interface of the EC2 sizes ({', '.join(kinds)}…); a list that "
            "matches nothing ends the job.",
            f"Write {names['remedy']}.",
            names["source"],
            fix=Fix(Change.VALUE, names["remedy"]),
        )
        return
    left = [name for name in names["unreachable"] if filter_.selects(name)]
    if left:
        yield about(
            assignment,
            "env-interface-exclusions",
            Level.WARNING,
            f"NCCL_SOCKET_IFNAME={value} leaves {', '.join(left)} in; a rank that picks one cannot be reached.",
            f"Write {names['remedy']}.",
            names["source"],
            fix=Fix(Change.VALUE, names["remedy"]) if kinds else None,
        )


def _check_kinds(
    assignment: Assignment, value: str, filter_: Filter, names: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    """A list of prefixes must match the interface names of every size, unless it is plainly about the one at hand.

    It is about one size where it names whole interfaces, or only kinds of interface that EC2 sizes have.
    """
    kinds: Mapping[str, str] = names["interfaces"]
    entries = [entry for entry in filter_.entries if entry]
    missed = [kind for kind in kinds if not any(_overlap(kind, entry) for entry in entries)]
    if not missed or (filter_.exact and len(missed) < len(kinds)):
        return
    size = situation.size
    if size is not None and all(any(_overlap(kind, entry) for kind in kinds) for entry in entries):
        here = [kind for kind, of in kinds.items() if size.startswith(of)] or [*kinds]
        if any(kind not in missed for kind in here):
            return
    which = " or ".join(f"{kind} ({kinds[kind]})" for kind in missed)
    yield about(
        assignment,
        "env-interfaces-miss",
        Level.ERROR if len(missed) == len(kinds) else Level.WARNING,
        f"NCCL_SOCKET_IFNAME={value}: entries are prefixes, and none matches interfaces named {which}; "
        "a list that matches nothing ends the job.",
        f"Write {names['remedy']}, which holds on every EC2 size.",
        names["source"],
        fix=Fix(Change.VALUE, names["remedy"]),
    )


def _overlap(kind: str, entry: str) -> bool:
    """Whether a prefix can match an interface of a kind: `en` and `ens5` both can match `ens`."""
    return kind.startswith(entry) or entry.startswith(kind)


def _check_one_interface(
    assignment: Assignment, value: str, filter_: Filter, names: Mapping[str, Any]
) -> Iterator[Diagnosis]:
    interface, where = names["interface"], names["interface_of"]
    certain = names["interface_certain"]
    fix = Fix(Change.VALUE, names["remedy"]) if certain else None
    remedy = f"Write {names['remedy']}."
    if not filter_.selects(interface):
        verb = "excludes" if filter_.inverted else "does not match"
        what = f"NCCL_SOCKET_IFNAME={value} {verb} {interface}, the interface {where}."
        level = Level.ERROR if certain else Level.WARNING
        yield about(assignment, "env-interfaces-miss", level, what, remedy, names["source"], fix=fix)
    elif len(filter_.entries) > 1 and not filter_.inverted and certain:
        what = (
            f"NCCL_SOCKET_IFNAME={value} names interfaces that Azure's images do not have beside {interface}."
        )
        yield about(assignment, "env-interface-prefix", Level.WARNING, what, remedy, names["source"], fix=fix)


def _names(situation: Situation) -> Mapping[str, Any]:
    """How the cloud's nodes name their devices; empty where no cloud is given."""
    return platforms()["names"][situation.cloud.value] if situation.cloud else {}


def _has_wildcard(value: str) -> bool:
    return "*" in value or "?" in value


def _wildcard(assignment: Assignment, code: str, value: str, effect: str) -> Diagnosis:
    plain = re.sub(r"[*?][^,]*", "", value)
    usable = bool(plain.strip("^=,"))
    exact = parse_filter(value).exact
    return about(
        assignment,
        code,
        Level.ERROR,
        f"{assignment.name}={value}: there are no wildcards, `*` is a character of the name; {effect}.",
        f"Write {plain}: an entry is a prefix already." if usable else "Delete it.",
        GUIDE,
        fix=Fix(Change.VALUE, plain) if usable and not exact else None,
    )


def _check_marks(assignment: Assignment, code: str, value: str, filter_: Filter) -> Iterator[Diagnosis]:
    """`^` and `=` inside the list, and spaces: both become part of a name."""
    misplaced = [entry for entry in filter_.entries if entry.startswith(("^", "="))]
    if misplaced:
        yield about(
            assignment,
            code,
            Level.ERROR,
            f"{assignment.name}={value}: ^ and = count at the beginning of the list alone; "
            f"{misplaced[0]!r} matches nothing.",
            "Write the mark once, in front of the list: ^=a,b.",
            GUIDE,
        )
    spaced = [entry for entry in filter_.entries if " " in entry]
    if spaced:
        yield about(
            assignment,
            code,
            Level.ERROR,
            f"{assignment.name}={value}: a space is part of the name in {spaced[0]!r}, which matches nothing.",
            "Write the list without spaces.",
            GUIDE,
            fix=Fix(Change.VALUE, value.replace(" ", "")),
        )
