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
from gpu_fabric.nccl.lint.algorithms import ALGORITHMS_SINCE, PROTOCOLS, known_algorithms, parse_selection
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix, about
from gpu_fabric.nccl.lint.filters import check_devices, check_interfaces
from gpu_fabric.nccl.lint.sources import Assignment, Format
from gpu_fabric.nccl.text import without_prefix
from gpu_fabric.nccl.versions import Version, parse_version

GUIDE: Final = "NCCL user guide, env.html"
PARAM: Final = "NVIDIA/nccl src/misc/param.cc 2.30.7"
LEVELS: Final = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
SUBSYSTEMS: Final = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL"),
    *("PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "ALL"),
)
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
    for word in without_prefix(value, "^").split(","):
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
    "devices": check_devices,
    "interfaces": check_interfaces,
}
