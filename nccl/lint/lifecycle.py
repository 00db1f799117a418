"""Names: unknown ones with what was meant, removed ones with their successor, and those of another release."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.nccl.environment.situation import Situation
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix, about
from gpu_fabric.nccl.lint.grammar import variables
from gpu_fabric.nccl.lint.names import (
    NAMES_VERSION,
    belongs_to_others,
    first_seen,
    known_names,
    lifecycle,
    nearest_name,
)
from gpu_fabric.nccl.lint.sources import Assignment
from gpu_fabric.nccl.versions import parse_version

_DELETE = Fix(Change.DELETE)


def check_name(assignment: Assignment, situation: Situation) -> Iterator[Diagnosis]:
    """What is to be said about a name alone."""
    name = assignment.name
    if not name.upper().startswith("NCCL_"):
        return
    table = lifecycle()
    if name in table["others"]["renamed"]:
        new = table["others"]["renamed"][name]
        yield about(
            assignment,
            "env-renamed",
            Level.WARNING,
            f"{name} is a variable of PyTorch, which calls it {new} since 2.2.",
            f"Write {new}.",
            "pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp",
            fix=Fix(Change.NAME, new),
        )
    elif belongs_to_others(name):
        return
    elif name in table["removed"]:
        yield _removed(assignment, situation)
    elif name in table["branch"]["names"]:
        yield about(
            assignment,
            "env-branch-only",
            Level.ERROR,
            f"{name} is read on the branch cross-dc of NCCL and in no release: it does nothing.",
            "Delete it. For one communicator between clouds set its configuration field netName to Socket.",
            table["branch"]["source"],
            fix=_DELETE,
        )
    elif name in table["later"]:
        since = table["later"][name]
        if situation.nccl is None or situation.nccl < parse_version(since):
            yield _too_new(assignment, since, situation)
    elif name not in known_names():
        yield _unknown(assignment)
    else:
        gone = table["removed_later"].get(name)
        if gone and situation.nccl is not None and situation.nccl >= parse_version(gone):
            yield about(
                assignment,
                "env-removed",
                Level.ERROR,
                f"{name} is absent from NCCL {gone}: it does nothing.",
                "Delete it.",
                "nvidia-nccl-cu12 on PyPI, the names in the library",
                fix=_DELETE,
            )
        since = variables().get(name, {}).get("since")
        if since and situation.nccl is not None and situation.nccl < parse_version(since):
            yield _too_new(assignment, since, situation)
        first, absent = first_seen().get(name, (None, None))
        if first and absent and situation.nccl is not None and situation.nccl <= parse_version(absent):
            yield _not_seen(assignment, first, absent, situation)
        if name in table["deprecated"]:
            yield from _deprecated(assignment, situation)


def _removed(assignment: Assignment, situation: Situation) -> Diagnosis:
    row = lifecycle()["removed"][assignment.name]
    since = row.get("removed")
    still_there = since is not None and situation.nccl is not None and situation.nccl < parse_version(since)
    when = f"removed in NCCL {since}" if since else "read by no current NCCL"
    return about(
        assignment,
        "env-removed",
        Level.WARNING if still_there else Level.ERROR,
        f"{assignment.name} is {when}: it does nothing"
        + (f" after {situation.nccl}." if still_there else "."),
        "Delete it."
        if row["instead"].startswith("nothing")
        else f"Delete it. In its place: {row['instead']}.",
        row["source"],
        fix=Fix(Change.NAME, row["rename"]) if "rename" in row else _DELETE,
    )


def _deprecated(assignment: Assignment, situation: Situation) -> Iterator[Diagnosis]:
    row = lifecycle()["deprecated"][assignment.name]
    if situation.nccl is not None and situation.nccl < parse_version(row["since"]):
        return
    rename = row.get("rename")
    yield about(
        assignment,
        "env-deprecated",
        Level.WARNING,
        f"{assignment.name} is deprecated since NCCL {row['since']}.",
        f"Write {rename}." if rename else f"Use {row['instead']}.",
        row["source"],
        fix=Fix(Change.NAME, rename) if rename else None,
    )


def _too_new(assignment: Assignment, since: str, situation: Situation) -> Diagnosis:
    current = situation.nccl or NAMES_VERSION
    return about(
        assignment,
        "env-too-new",
        Level.ERROR,
        f"{assignment.name} is read since NCCL {since}; {current} ignores it.",
        f"Delete it, or use NCCL {since} or later.",
        "NCCL user guide, env.html",
    )


def _not_seen(assignment: Assignment, first: str, absent: str, situation: Situation) -> Diagnosis:
    return about(
        assignment,
        "env-too-new",
        Level.ERROR,
        f"{assignment.name} is in NCCL {first} and not yet in {absent}; {situation.nccl} ignores it.",
        f"Delete it, or use NCCL {first} or later.",
        "nvidia-nccl-cu12 on PyPI, the names in the library",
    )


def _unknown(assignment: Assignment) -> Diagnosis:
    name = assignment.name
    meant = nearest_name(name)
    is_name = meant is not None and meant.startswith("NCCL_")
    return about(
        assignment,
        "env-unknown-name",
        Level.ERROR,
        f"{name} is no variable of NCCL: it does nothing.",
        (f"Did you mean {meant}?" if is_name else f"Use {meant}.") if meant else "Delete it.",
        f"NVIDIA/nccl {NAMES_VERSION}, the names that src/ reads",
        fix=Fix(Change.NAME, meant)
        if is_name and meant and meant.replace("_", "") == name.upper().replace("_", "")
        else None,
    )
