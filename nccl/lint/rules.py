"""The rules on single variables in `rules.toml`: value, platform, role and version, each with its price."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from gpu_fabric.nccl.environment.platforms import platforms, set_elsewhere
from gpu_fabric.nccl.environment.situation import Situation, matches
from gpu_fabric.nccl.findings import Level
from gpu_fabric.nccl.hardware.models import Fabric
from gpu_fabric.nccl.lint.algorithms import PROTOCOLS, Effect, effect_of, listed, parse_selection, takes
from gpu_fabric.nccl.lint.diagnosis import Change, Diagnosis, Fix, about
from gpu_fabric.nccl.lint.grammar import is_default
from gpu_fabric.nccl.lint.sources import Assignment
from gpu_fabric.nccl.text import without_prefix


@cache
def rules() -> tuple[Mapping[str, Any], ...]:
    """The rows of `rules.toml`."""
    return tuple(tomllib.loads(files(__package__).joinpath("rules.toml").read_text(encoding="utf-8"))["rule"])


@cache
def codes() -> Mapping[str, str]:
    """Every code with its one-line description."""
    return tomllib.loads(files(__package__).joinpath("codes.toml").read_text(encoding="utf-8"))


def check_rules(assignment: Assignment, situation: Situation) -> Iterator[Diagnosis]:
    """Every rule that the assignment breaks."""
    for rule in rules():
        if (
            _is_about(rule, assignment.name)
            and matches(rule.get("when", {}), situation)
            and _holds(rule, assignment, situation)
        ):
            words = {"name": assignment.name, "value": assignment.value or ""}
            if "algorithms" in rule:
                words.update(_words_of_effect(assignment.value or "", situation))
            yield about(
                assignment,
                rule["code"],
                Level(rule["level"]),
                rule["what"].format(**words),
                rule["remedy"],
                rule["source"],
                fix=_fix(rule.get("fix")),
            )


def check_topology_name(assignment: Assignment, situation: Situation) -> Iterator[Diagnosis]:
    """NCCL_TOPO_FILE with the file that an image or the plugin has for another series than this one."""
    if assignment.name != "NCCL_TOPO_FILE" or not assignment.value or situation.cloud is None:
        return
    named = PurePosixPath(assignment.value)
    here = {entry.value for entry in set_elsewhere(situation) if entry.name == assignment.name}
    for image in platforms()["images"]:
        for series in image.get("series", ()):
            theirs = series["sets"].get(assignment.name)
            if theirs is None or theirs in here or re.search(series["match"], situation.size or ""):
                continue
            if str(named) == theirs or named.name == _flat_name(theirs):
                yield about(
                    assignment,
                    "env-topology-of-another-size",
                    Level.ERROR,
                    f"NCCL_TOPO_FILE={assignment.value} is the file of another series than {situation.size}: its bus "
                    "ids are not those of this node.",
                    f"Write NCCL_TOPO_FILE={next(iter(here))}." if here else "Delete it.",
                    image["source"],
                    fix=Fix(Change.VALUE, next(iter(here))) if here else Fix(Change.DELETE),
                )


def _flat_name(path: str) -> str:
    """/opt/microsoft/ndv4/topo.xml was /opt/microsoft/ndv4-topo.xml on earlier images."""
    return f"{PurePosixPath(path).parent.name}-{PurePosixPath(path).name}"


def check_set_elsewhere(assignment: Assignment, situation: Situation) -> Iterator[Diagnosis]:
    """What the plugin or the image would set, and this assignment replaces."""
    if assignment.value is None or is_default(assignment.name, assignment.value, situation.nccl):
        return
    for entry in set_elsewhere(situation):
        if entry.name != assignment.name or entry.name == "NCCL_TOPO_FILE":
            continue
        same = entry.value == assignment.value
        by_plugin = entry.by == platforms()["plugin"]["name"]
        yield about(
            assignment,
            "env-set-by-platform",
            Level.NOTE if same else Level.WARNING,
            f"{entry.name}={assignment.value} "
            + (
                f"repeats what {entry.by} sets."
                if same
                else f"replaces {entry.value}, which {entry.by} sets."
            ),
            _set_elsewhere_remedy(same, by_plugin),
            entry.source,
            fix=Fix(Change.DELETE) if same and by_plugin else None,
        )


def _set_elsewhere_remedy(same: bool, by_plugin: bool) -> str:
    if not same:
        return "Delete it, unless a measurement on these nodes says otherwise."
    return (
        "Delete it." if by_plugin else "Delete it on the host; a container without the image's file needs it."
    )


def _is_about(rule: Mapping[str, Any], name: str) -> bool:
    if name in rule.get("except_names", ()):
        return False
    pattern = rule.get("pattern_names")
    return name in rule.get("names", ()) or (pattern is not None and re.fullmatch(pattern, name) is not None)


def _holds(rule: Mapping[str, Any], assignment: Assignment, situation: Situation) -> bool:
    """Whether the value is one that the rule is about. A value that the file computes fits only rules on any value."""
    conditions = [
        key for key in ("equals", "differs", "pattern", "algorithms", "includes_protocol") if key in rule
    ]
    value = assignment.value
    if value is None:
        return not conditions
    if value == "":
        return "" in rule.get("equals", ())
    return all(_CONDITIONS[key](value, rule[key], situation) for key in conditions)


def _includes_protocol(value: str, wanted: str, situation: Situation) -> bool:
    parsed = parse_selection(value, PROTOCOLS, situation.nccl)
    named = parsed.names(without_prefix(wanted, "-")) and parsed.problem is None
    return not named if wanted.startswith("-") else named


def _loses(effect: Effect, *words: str) -> bool:
    return any(word in gone for gone in effect.lost.values() for word in words)


_TAKES: Mapping[str, Callable[[Effect], bool]] = {
    "stranded": lambda effect: bool(effect.stranded),
    "AllReduce loses nvls": lambda effect: "nvls" in effect.lost.get("AllReduce", ()),
    "AllReduce loses nvlstree": lambda effect: "nvlstree" in effect.lost.get("AllReduce", ()),
    "loses nvls and AllReduce keeps nvlstree": lambda effect: (
        _loses(effect, "nvls") and "nvlstree" in effect.left["AllReduce"]
    ),
    "loses nvls or nvlstree": lambda effect: _loses(effect, "nvls", "nvlstree"),
    "loses any": lambda effect: bool(effect.lost),
}


def _words_of_effect(value: str, situation: Situation) -> dict[str, str]:
    """What `{takes}` and its like stand for in a rule on NCCL_ALGO."""
    effect = effect_of(value, situation)
    if effect is None:
        return {}
    # The times are those of a node of eight GPUs with Ring and Tree left to AllReduce.
    as_measured = effect.left["AllReduce"] == ("ring", "tree")
    return {
        "takes": takes(effect.lost) if effect.lost else "nothing",
        "stranded": listed(effect.stranded) if effect.stranded else "no collective",
        "over_the_tuner": " It overrides the plugin's tuner." if situation.fabric is Fabric.EFA else "",
        "price": "On 2 × 8 H100, by NCCL's own cost model, a 1 GiB AllReduce takes 5.43 ms without NVLSTree instead of "
        "4.43 ms."
        if as_measured
        else "NVLSTree is what NCCL's cost model takes for large messages between nodes of such GPUs.",
    }


_CONDITIONS: Mapping[str, Any] = {
    "equals": lambda value, wanted, _: value.lower() in [entry.lower() for entry in wanted],
    "differs": lambda value, wanted, _: value.lower() not in [entry.lower() for entry in wanted],
    "pattern": lambda value, wanted, _: re.fullmatch(wanted, value) is not None,
    "algorithms": lambda value, wanted, situation: (
        (effect := effect_of(value, situation)) is not None and _TAKES[wanted](effect)
    ),
    "includes_protocol": _includes_protocol,
}


def _fix(written: str | None) -> Fix | None:
    if written is None:
        return None
    return (
        Fix(Change.VALUE, without_prefix(written, "=")) if written.startswith("=") else Fix(Change(written))
    )
