"""Faults on request: what a cloud does on a bad day.

A JSON file named by ``GPU_FABRIC_REHEARSAL_FAULTS`` holds lists of switches; where there is no such file, nothing
fails. It is read at every operation, so it can change between two commands. ``type``, ``name``, ``size`` and
``place`` are shell patterns::

    {
      "capacity": [{"size": "p5.48xlarge", "place": "us-east-1a", "available": 2}],
      "throttle": [{"type": "aws:ec2/*", "operation": "create", "first": 3}],
      "delay":    [{"type": "*", "operation": "create", "seconds": 0.2}],
      "fail":     [{"type": "aws:ec2/instance:Instance", "operation": "create", "first": 1,
                    "when": "after", "code": "InternalError", "message": "…"}],
      "quota":    [{"name": "singlePlacementGroup", "value": 300}]
    }

``capacity``
    How many of that size the cloud has left in that place, what runs already included. 0 if not given. ``code`` is
    the cloud's word for it, where it has several (Azure: AllocationFailed, SkuNotAvailable,
    OverconstrainedAllocationRequest); its usual one if not given.
``throttle``
    The first so many API calls are refused as too frequent. A provider tries again by itself, as often as the
    vendor's does, so a small number only costs time and a large one is seen by the user.
``delay``
    The operation takes that long.
``fail``
    The first so many operations fail. ``when`` is ``before`` (nothing was done), ``after`` (it was done, and the
    answer was lost: the cloud has it, the engine does not know) or ``partial`` (it was done, the engine learns the
    id, and the object counts as half ready). A provider whose requests mean the same twice sends one again whose
    answer was lost, as often as the vendor's does: Azure's takes four lost answers before the user sees it.
``quota``
    A limit of the account that support has moved. Which limits a cloud has is said where it refuses.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .errors import ProviderError

VARIABLE = "GPU_FABRIC_REHEARSAL_FAULTS"
OPERATIONS = ("check", "create", "read", "update", "delete", "invoke")


@dataclass(frozen=True)
class Capacity:
    size: str
    place: str = "*"
    available: int = 0
    code: str = ""


@dataclass(frozen=True)
class Throttle:
    first: int
    type: str = "*"
    operation: str = "*"
    name: str = "*"


@dataclass(frozen=True)
class Delay:
    seconds: float
    type: str = "*"
    operation: str = "*"
    name: str = "*"


@dataclass(frozen=True)
class Fail:
    type: str = "*"
    operation: str = "create"
    name: str = "*"
    first: int = 1
    when: str = "before"
    code: str = "InternalError"
    message: str = "An internal error has occurred"


@dataclass(frozen=True)
class Quota:
    name: str
    value: int


@dataclass(frozen=True)
class Faults:
    """The switches that are on. An empty one is a good day."""

    capacity: tuple[Capacity, ...] = ()
    throttle: tuple[Throttle, ...] = ()
    delay: tuple[Delay, ...] = ()
    fail: tuple[Fail, ...] = ()
    quota: tuple[Quota, ...] = ()
    source: str = field(default="", compare=False)

    def available(self, size: str, place: str) -> int | None:
        """How many of a size the cloud has in a place; None if it never runs out."""
        rule = self.shortage(size, place)
        return rule.available if rule else None

    def shortage(self, size: str, place: str) -> Capacity | None:
        """The ``capacity`` switch for a size in a place."""
        return next(
            (
                rule
                for rule in self.capacity
                if fnmatchcase(size, rule.size) and fnmatchcase(place, rule.place)
            ),
            None,
        )

    def limit(self, name: str, usual: int) -> int:
        """An account's limit: the usual one, or what a ``quota`` switch makes of it."""
        return next((rule.value for rule in self.quota if rule.name == name), usual)

    def seconds(self, operation: str, type: str, name: str) -> float:
        """How much longer the operation takes."""
        return sum(rule.seconds for rule in self.delay if _applies(rule, operation, type, name))

    def matching(self, rules: str, operation: str, type: str, name: str) -> list[tuple[str, Any]]:
        """The ``throttle`` or ``fail`` switches for an operation, each with the name of its counter."""
        return [
            (f"{rules}/{index}", rule)
            for index, rule in enumerate(getattr(self, rules))
            if _applies(rule, operation, type, name)
        ]


def _applies(rule: Throttle | Delay | Fail, operation: str, type: str, name: str) -> bool:
    return (
        fnmatchcase(operation, rule.operation)
        and fnmatchcase(type, rule.type)
        and fnmatchcase(name, rule.name)
    )


_RULES = {"capacity": Capacity, "throttle": Throttle, "delay": Delay, "fail": Fail, "quota": Quota}


def load(path: Path | str | None = None) -> Faults:
    """The switches in the file, or none where there is no file.

    Raises :class:`ProviderError` naming the file, the place and the remedy: a misspelt switch would otherwise
    prove that everything works.
    """
    name = str(path or os.environ.get(VARIABLE, ""))
    if not name or not Path(name).exists():
        return Faults()
    try:
        document = json.loads(Path(name).read_text())
    except (OSError, ValueError) as problem:
        raise ProviderError(f"{name}: the faults file cannot be read: {problem}") from problem
    if not isinstance(document, dict):
        raise ProviderError(f"{name}: expected an object with some of {', '.join(_RULES)}")
    known: dict[str, tuple[Any, ...]] = {}
    for kind, rules in document.items():
        if kind not in _RULES:
            raise ProviderError(f"{name}: {kind}: not a kind of fault; there are {', '.join(_RULES)}")
        if not isinstance(rules, list):
            raise ProviderError(f"{name}: {kind}: expected a list")
        known[kind] = tuple(_rule(kind, rule, f"{name}: {kind}[{index}]") for index, rule in enumerate(rules))
    return Faults(**known, source=name)


def _rule(kind: str, rule: Any, where: str) -> Any:
    names = [each.name for each in fields(_RULES[kind])]
    if not isinstance(rule, dict):
        raise ProviderError(f"{where}: expected an object with some of {', '.join(names)}")
    for key in rule:
        if key not in names:
            raise ProviderError(f"{where}.{key}: not known here; there are {', '.join(names)}")
    try:
        made = _RULES[kind](**rule)
    except TypeError as problem:
        raise ProviderError(f"{where}: {str(problem).partition('() ')[2]}") from problem
    if isinstance(made, Fail) and made.when not in ("before", "after", "partial"):
        raise ProviderError(f"{where}.when: {made.when!r} is none of before, after, partial")
    if (
        isinstance(made, Fail | Throttle | Delay)
        and made.operation != "*"
        and made.operation not in OPERATIONS
    ):
        raise ProviderError(f"{where}.operation: {made.operation!r} is none of {', '.join(OPERATIONS)}")
    return made
