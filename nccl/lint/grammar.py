"""What a value must look like, variable by variable (`variables.toml`): each check reads one assignment alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final

from gpu_fabric.nccl.environment.situation import Situation
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.hardware.models import Cloud, Fabric
from gpu_fabric.nccl.lint.algorithms import ALGORITHMS_SINCE, PROTOCOLS, known_algorithms, parse_selection
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix, about
from gpu_fabric.nccl.lint.sources import Assignment, Format
from gpu_fabric.nccl.versions import Version, parse_version

GUIDE: Final = "NCCL user guide, env.html"
PARAM: Final = "NVIDIA/nccl src/misc/param.cc 2.30.7"
LEVELS: Final = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
SUBSYSTEMS: Final = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL"),
    *("PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "ALL"),
)
MAX_DEVICES: Final = 32
_STRTOLL: Final = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)?")
_INT64: Final = (-(2**63), 2**63 - 1)
_DELETE: Final = Fix(Change.DELETE)


@cache
def variables() -> Mapping[str, Mapping[str, Any]]:
    """The rows of `variables.toml`."""
    return tomllib.loads(files(__package__).joinpath("variables.toml").read_text(encoding="utf-8"))


def check_value(assignment: Assignment, situation: Situation) -> Iterator[Diagnosis]:
    """Everything wrong with one value, whatever else is set. A value that the file computes is not looked at."""
    row = variables().get(assignment.name)
    value = assignment.value
    if row is None or value is None:
        return
    if value == "":
        if assignment.name != "NCCL_TOPO_FILE":
            yield about(
                assignment,
                "env-empty",
                Level.NOTE,
                f"{assignment.name} is empty, which means the default.",
                "Delete it.",
                PARAM,
                fix=_DELETE,
            )
        return
    yield from _KINDS.get(row["kind"], _check_nothing)(assignment, value, row, situation)


def read_integer(text: str) -> tuple[int, str]:
    """What strtoll(text, NULL, 0) returns, and the text that it leaves."""
    match = _STRTOLL.match(text)
    digits = match[0].strip() if match else ""
    rest = text[match.end() :] if match else text
    if digits in ("", "+", "-"):
        return 0, text
    sign = -1 if digits.startswith("-") else 1
    body = digits.lstrip("+-")
    base = 16 if body[:2].lower() == "0x" else 8 if body.startswith("0") and len(body) > 1 else 10
    return sign * int(body, base), rest


def is_default(name: str, value: str, nccl: Version | None) -> bool:
    """Whether a value is the one that the variable has anyway."""
    row = variables().get(name, {})
    since = row.get("default_since")
    if "default" not in row or (since and nccl is not None and nccl < parse_version(since)):
        return False
    number, rest = read_integer(value)
    return not rest.strip() and number == row["default"]


def _check_nothing(
    _assignment: Assignment, _value: str, _row: Mapping[str, Any], _situation: Situation
) -> Iterator[Diagnosis]:
    return iter(())


def _check_int(
    assignment: Assignment, value: str, row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    number, rest = read_integer(value)
    name = assignment.name
    if rest.strip():
        yield about(
            assignment,
            "env-not-integer",
            Level.ERROR,
            f"{name}={value}: NCCL reads {number}, because it stops at {rest.strip()[:20]!r} and reports nothing.",
            f"Write a whole number{_range(row)}.",
            PARAM,
        )
        return
    if not _INT64[0] <= number <= _INT64[1]:
        yield about(
            assignment,
            "env-out-of-range",
            Level.ERROR,
            f"{name}={value} does not fit in 64 bits; NCCL falls back to the default.",
            f"Write a whole number{_range(row)}.",
            PARAM,
        )
        return
    low, high = row.get("min"), row.get("max")
    if name in ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS") and situation.nccl and situation.nccl < Version(2, 25):
        high = 32
    one_of = row.get("one_of")
    outside = (low is not None and number < low) or (high is not None and number > high)
    if outside or (one_of and number not in one_of):
        note = f" ({row['range_note']})" if "range_note" in row else ""
        yield about(
            assignment,
            "env-out-of-range",
            Level.ERROR,
            f"{name}={value} is outside what NCCL documents{_range({**row, 'max': high})}{note}.",
            f"Write a number{_range({**row, 'max': high})}, or delete it.",
            GUIDE,
        )
    elif is_default(name, value, situation.nccl):
        yield about(
            assignment,
            "env-default",
            Level.NOTE,
            f"{name}={value} is the default and does nothing.",
            "Delete it.",
            GUIDE,
            fix=_DELETE,
        )


def _range(row: Mapping[str, Any]) -> str:
    if row.get("one_of"):
        return f" among {', '.join(map(str, row['one_of']))}"
    low, high = row.get("min"), row.get("max")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of {low} or more"
    return ""


def _check_choice(
    assignment: Assignment, value: str, row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    known = list(row["values"])
    for word, since in row.get("values_since", {}).items():
        if situation.nccl is not None and situation.nccl >= parse_version(since):
            known.append(word)
    if value.upper() in known:
        return
    near = get_close_matches(value.upper(), known, n=1)
    hint = f"Write {near[0]}." if near else f"Write one of {', '.join(known)}."
    if assignment.name == "NCCL_DEBUG":
        yield about(
            assignment,
            "env-debug-unknown",
            Level.ERROR,
            f"NCCL_DEBUG={value} is no level of this NCCL: it logs nothing, warnings included.",
            hint,
            GUIDE,
        )
        return
    yield about(
        assignment,
        "env-unknown-value",
        Level.ERROR,
        f"{assignment.name}={value} is no value that NCCL knows.",
        hint,
        GUIDE,
    )


def _check_pattern(
    assignment: Assignment, value: str, row: Mapping[str, Any], _situation: Situation
) -> Iterator[Diagnosis]:
    if not re.fullmatch(row["pattern"], value):
        yield about(
            assignment,
            "env-unknown-value",
            Level.ERROR,
            f"{assignment.name}={value} is no value that NCCL knows.",
            f"Write {row['describes']}.",
            GUIDE,
        )


def _check_level(
    assignment: Assignment, value: str, row: Mapping[str, Any], _situation: Situation
) -> Iterator[Diagnosis]:
    known = (*LEVELS, *row.get("extra", ()))
    name = assignment.name
    if value in known:
        return
    number, rest = read_integer(value)
    if not rest.strip():
        word = ("LOC", "PIX", "PXB", "PHB", "SYS")[number] if 0 <= number <= 3 else "SYS"
        yield about(
            assignment,
            "env-level-number",
            Level.WARNING,
            f"{name}={value} means {word}; what a number means changes between releases.",
            f"Write {name}={word}, or delete it.",
            GUIDE,
            fix=Fix(Change.VALUE, word),
        )
        return
    near = get_close_matches(value.strip().upper(), known, n=1, cutoff=0.5)
    right = value.strip().upper() in known
    yield about(
        assignment,
        "env-level",
        Level.ERROR,
        f"{name}={value} is ignored: levels are {', '.join(known)}, in capitals.",
        f"Write {name}={near[0]}." if near else "Delete it.",
        "NVIDIA/nccl src/graph/paths.cc 2.30.7",
        fix=Fix(Change.VALUE, value.strip().upper()) if right else None,
    )


def _check_algorithms(
    assignment: Assignment, value: str, _row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    known = known_algorithms(situation.nccl)
    parsed = parse_selection(value, tuple(ALGORITHMS_SINCE), situation.nccl)
    too_new = [
        word
        for selection in parsed.selections
        for word in selection.words
        if word in ALGORITHMS_SINCE and word not in known
    ]
    for word in dict.fromkeys(too_new):
        yield about(
            assignment,
            "env-algorithm-too-new",
            Level.ERROR,
            f"NCCL_ALGO={value}: {word} is known since {ALGORITHMS_SINCE[word]}, this NCCL is {situation.nccl}.",
            "Take it out, or delete the variable.",
            GUIDE,
        )
    yield from _refused(assignment, value, parsed.problem, situation)


def _check_protocols(
    assignment: Assignment, value: str, _row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    yield from _refused(
        assignment, value, parse_selection(value, PROTOCOLS, situation.nccl).problem, situation
    )


def _refused(
    assignment: Assignment, value: str, problem: str | None, situation: Situation
) -> Iterator[Diagnosis]:
    if problem is None:
        return
    newer = situation.nccl is None or situation.nccl >= Version(2, 24)
    effect = "initialisation fails with ncclInvalidUsage" if newer else "NCCL ignores it"
    yield about(
        assignment,
        "env-algorithm-grammar",
        Level.ERROR,
        f"{assignment.name}={value}: {problem}; {effect}.",
        "Write a list such as ^Tree, or `list;function:list` since 2.24; or delete it.",
        GUIDE,
    )


def _check_subsystems(
    assignment: Assignment, value: str, _row: Mapping[str, Any], _situation: Situation
) -> Iterator[Diagnosis]:
    for word in value.removeprefix("^").split(","):
        if word.upper() not in SUBSYSTEMS:
            near = get_close_matches(word.upper(), SUBSYSTEMS, n=1)
            yield about(
                assignment,
                "env-subsystem",
                Level.WARNING,
                f"NCCL_DEBUG_SUBSYS={value}: {word!r} is no subsystem.",
                f"Write {near[0]}." if near else f"Subsystems are {', '.join(SUBSYSTEMS)}.",
                GUIDE,
            )


def _check_path(
    assignment: Assignment, value: str, _row: Mapping[str, Any], _situation: Situation
) -> Iterator[Diagnosis]:
    # A shell expands ~ only unquoted at the beginning of a value, and the other formats never.
    if value.startswith("~") and assignment.format not in (Format.SHELL, Format.SLURM):
        yield about(
            assignment,
            "env-path-tilde",
            Level.ERROR,
            f"{assignment.name}={value}: NCCL does not expand ~, so the file is not found.",
            "Write the whole path.",
            GUIDE,
        )
    if assignment.name == "NCCL_DEBUG_FILE" and "%p" not in value and not value.startswith("/dev/"):
        yield about(
            assignment,
            "env-debug-file",
            Level.WARNING,
            f"NCCL_DEBUG_FILE={value} is one file for all processes: each overwrites the others' lines.",
            "Put %h (host) and %p (process id) into the name.",
            GUIDE,
        )


def _check_devices(
    assignment: Assignment, value: str, _row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    inverted, exact, entries = _split_filter(value)
    source = GUIDE
    if "*" in value or "?" in value:
        plain = re.sub(r"[*?].*?(?=,|$)", "", value)
        yield about(
            assignment,
            "env-devices",
            Level.ERROR,
            f"NCCL_IB_HCA={value}: there are no wildcards, `*` is a character of the name; no device matches.",
            f"Write {plain}: an entry is a prefix already." if plain.strip("^=,") else "Delete it.",
            source,
            fix=Fix(Change.VALUE, plain) if plain.strip("^=,") and not exact else None,
        )
        return
    misplaced = [entry for entry in entries if entry.startswith(("^", "="))]
    if misplaced:
        yield about(
            assignment,
            "env-devices",
            Level.ERROR,
            f"NCCL_IB_HCA={value}: ^ and = count at the beginning of the list alone; {misplaced[0]!r} matches nothing.",
            "Write the mark once, in front of the list: ^=mlx5_0,mlx5_1.",
            source,
        )
    for entry in entries:
        if " " in entry:
            yield about(
                assignment,
                "env-devices",
                Level.ERROR,
                f"NCCL_IB_HCA={value}: the space is part of the name in {entry!r}, which matches nothing.",
                "Write the list without spaces.",
                source,
                fix=Fix(Change.VALUE, value.replace(" ", "")),
            )
            break
    parts = [entry.split(":") for entry in entries]
    for entry, fields in zip(entries, parts, strict=True):
        if len(fields) > 4 or any(field and not field.lstrip("-").isdigit() for field in fields[1:]):
            yield about(
                assignment,
                "env-devices",
                Level.ERROR,
                f"NCCL_IB_HCA={value}: {entry!r} is not device[:port[:rail[:plane]]] with numbers after the device.",
                "Write for example mlx5_0:1.",
                source,
            )
        elif len(fields) > 2 and situation.nccl is not None and situation.nccl < Version(2, 30, 7):
            yield about(
                assignment,
                "env-devices",
                Level.ERROR,
                f"NCCL_IB_HCA={value}: rail and plane are read since 2.30.7, this NCCL is {situation.nccl}.",
                "Write device:port.",
                source,
            )
    if len(entries) > MAX_DEVICES:
        yield about(
            assignment,
            "env-devices",
            Level.WARNING,
            f"NCCL_IB_HCA has {len(entries)} entries; NCCL uses {MAX_DEVICES} devices at most.",
            "Use a prefix.",
            source,
        )
    names = [fields[0] for fields in parts]
    if not exact:
        for first in names:
            if re.fullmatch(r".*[A-Za-z_][1-9]", first):
                yield about(
                    assignment,
                    "env-device-prefix",
                    Level.WARNING,
                    f"NCCL_IB_HCA={value}: {first} is a prefix and also matches {first}0 to {first}9.",
                    f"Put = in front of the list: {'^' if inverted else ''}={','.join(entries)}.",
                    source,
                    fix=Fix(Change.VALUE, f"{'^' if inverted else ''}={','.join(entries)}"),
                )
                break
    if situation.cloud is Cloud.AZURE and situation.fabric is Fabric.INFINIBAND:
        yield from _check_azure_devices(assignment, value, inverted, exact, names, situation)


def _check_azure_devices(
    assignment: Assignment, value: str, inverted: bool, exact: bool, names: list[str], situation: Situation
) -> Iterator[Diagnosis]:
    def selected(device: str) -> bool:
        hit = any(device == name if exact else device.startswith(name) for name in names if name)
        return hit != inverted

    source = "Azure/azhpc-images#213, #327"
    remedy = "Write NCCL_IB_HCA=mlx5_ib."
    if selected("mlx5_an0"):
        yield about(
            assignment,
            "env-device-ethernet",
            Level.ERROR,
            f"NCCL_IB_HCA={value} lets mlx5_an0 in, the Ethernet device of accelerated networking.",
            remedy,
            source,
            fix=Fix(Change.VALUE, "mlx5_ib") if situation.image == "ubuntu-hpc" else None,
        )
    elif situation.image == "ubuntu-hpc" and not any(selected(f"mlx5_ib{index}") for index in range(8)):
        yield about(
            assignment,
            "env-device-none",
            Level.ERROR,
            f"NCCL_IB_HCA={value} matches none of mlx5_ib0 to mlx5_ib7, the names on Azure's HPC image.",
            remedy,
            "Azure/azhpc-images components/customizations 8e9d055",
            fix=Fix(Change.VALUE, "mlx5_ib"),
        )


def _check_interfaces(
    assignment: Assignment, value: str, _row: Mapping[str, Any], situation: Situation
) -> Iterator[Diagnosis]:
    inverted, exact, entries = _split_filter(value)
    source = GUIDE
    if "*" in value or "?" in value:
        plain = re.sub(r"[*?]", "", value)
        yield about(
            assignment,
            "env-interfaces",
            Level.ERROR,
            f"NCCL_SOCKET_IFNAME={value}: entries are prefixes without wildcards; `*` is a character of the name.",
            f"Write {plain}." if plain.strip("^=,") else "Delete it.",
            source,
            fix=Fix(Change.VALUE, plain) if plain.strip("^=,") and not exact else None,
        )
        return
    misplaced = [entry for entry in entries if entry.startswith(("^", "="))]
    if misplaced:
        yield about(
            assignment,
            "env-interfaces",
            Level.ERROR,
            f"NCCL_SOCKET_IFNAME={value}: ^ and = count at the beginning of the list alone; "
            f"{misplaced[0]!r} matches no interface.",
            "Write the mark once, in front of the list: ^docker,lo.",
            source,
        )
    if any(" " in entry for entry in entries):
        yield about(
            assignment,
            "env-interfaces",
            Level.ERROR,
            f"NCCL_SOCKET_IFNAME={value}: a space is part of the name, which then matches no interface.",
            "Write the list without spaces.",
            source,
            fix=Fix(Change.VALUE, value.replace(" ", "")),
        )
    if situation.cloud is Cloud.AWS:
        yield from _check_aws_interfaces(assignment, value, inverted, exact, entries)
    if situation.cloud is Cloud.AZURE and not inverted:
        hit = any((entry == "eth0") if exact else "eth0".startswith(entry) for entry in entries if entry)
        if not hit:
            yield about(
                assignment,
                "env-interfaces-miss",
                Level.ERROR,
                f"NCCL_SOCKET_IFNAME={value} does not match eth0, the interface on Azure's images.",
                "Write =eth0.",
                "Azure/ai-infrastructure-on-azure hopper.conf a01b073",
                fix=Fix(Change.VALUE, "=eth0"),
            )
        elif len(entries) > 1:
            yield about(
                assignment,
                "env-interface-prefix",
                Level.WARNING,
                f"NCCL_SOCKET_IFNAME={value} names interfaces that Azure's images do not have beside eth0.",
                "Write =eth0.",
                "Azure/ai-infrastructure-on-azure hopper.conf a01b073",
                fix=Fix(Change.VALUE, "=eth0"),
            )


def _check_aws_interfaces(
    assignment: Assignment, value: str, inverted: bool, exact: bool, entries: list[str]
) -> Iterator[Diagnosis]:
    source = "awsome-distributed-training 0edaf152; NVIDIA/nccl#1837"
    if inverted:
        for needed in ("docker", "lo", "veth"):
            covered = any(
                needed == entry if exact else needed.startswith(entry) for entry in entries if entry
            )
            if not covered:
                yield about(
                    assignment,
                    "env-interface-exclusions",
                    Level.WARNING,
                    f"NCCL_SOCKET_IFNAME={value} leaves {needed} in; a rank that picks it cannot be reached.",
                    "Write ^docker,lo,veth.",
                    source,
                    fix=Fix(Change.VALUE, "^docker,lo,veth"),
                )
                break
        return
    if exact and any(entry.startswith(("ens", "enp")) for entry in entries):
        return
    missed = [
        kind
        for kind in ("ens", "enp")
        if not any(kind.startswith(entry) or entry.startswith(kind) for entry in entries if entry)
    ]
    if missed:
        which = {"ens": "ens (p4d)", "enp": "enp (p5)"}
        yield about(
            assignment,
            "env-interfaces-miss",
            Level.ERROR if len(missed) == 2 else Level.WARNING,
            f"NCCL_SOCKET_IFNAME={value}: entries are prefixes, and none matches interfaces named "
            f"{' or '.join(which[kind] for kind in missed)}; a list that matches nothing ends the job.",
            "Write ^docker,lo,veth, which holds on every EC2 size.",
            source,
            fix=Fix(Change.VALUE, "^docker,lo,veth"),
        )


def _split_filter(value: str) -> tuple[bool, bool, list[str]]:
    """`[^][=]a,b` → inverted, exact, entries."""
    inverted = value.startswith("^")
    rest = value.removeprefix("^")
    exact = rest.startswith("=")
    return inverted, exact, rest.removeprefix("=").split(",")


_KINDS: Final[
    Mapping[str, Callable[[Assignment, str, Mapping[str, Any], Situation], Iterator[Diagnosis]]]
] = {
    "int": _check_int,
    "choice": _check_choice,
    "pattern": _check_pattern,
    "level": _check_level,
    "algorithms": _check_algorithms,
    "protocols": _check_protocols,
    "subsystems": _check_subsystems,
    "path": _check_path,
    "devices": _check_devices,
    "interfaces": _check_interfaces,
}
