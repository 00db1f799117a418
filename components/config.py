"""The stack file's model, and the only reader of Pulumi configuration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pulumi

from gpu_fabric.components.aws.checks import Surroundings
from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.problems import Problem, raise_if_any
from gpu_fabric.components.settings import Settings, read
from gpu_fabric.components.sizes import read_sizes

ROOT = "fabric"
EXAMPLE = "Pulumi.dev.yaml"


@dataclass(frozen=True)
class FabricSettings:
    """What a stack file asks for."""

    aws: AwsClusterSettings | None
    around_aws: Surroundings


class _Sections(Settings):
    """The keys under `fabric`; each section is read by its own reader, so that each can say all of its problems."""

    aws: Any = None
    sizes: Any = None


def read_fabric(given: Any, *, aws_region: str | None = None) -> FabricSettings:
    """The value of `gpu-fabric:fabric` as settings. Raises InvalidInputError with every problem of every section."""
    from gpu_fabric.components.aws.cluster import problems_of

    problems: list[Problem] = []
    sections, wrong = read(_Sections, given, path=(ROOT,))
    problems += wrong
    if sections is None:
        usable = {key: given.get(key) for key in ("aws", "sizes")} if isinstance(given, dict) else {}
        sections = _Sections.model_validate(usable)
    sizes, wrong = read_sizes(sections.sizes or {}, (ROOT, "sizes"))
    problems += wrong
    around = Surroundings(region=aws_region, sizes=sizes)
    aws = None
    if sections.aws is not None:
        aws, wrong = read(
            AwsClusterSettings,
            sections.aws,
            path=(ROOT, "aws"),
            checks=lambda settings: problems_of(settings, around),
        )
        problems += wrong
    elif not problems:
        problems.append(
            Problem((ROOT, "aws"), "is missing, and it is the only cloud named", "describe a cluster in it")
        )
    raise_if_any("the stack file", problems)
    return FabricSettings(aws=aws, around_aws=around)


def read_stack() -> FabricSettings:
    """The running stack's settings. Raises InvalidInputError."""
    text = pulumi.Config("gpu-fabric").get(ROOT)
    if text is None:
        raise_if_any(
            "the stack file",
            [Problem((ROOT,), "is missing", f"give `gpu-fabric:{ROOT}`; {EXAMPLE} is an example")],
        )
    try:
        given = json.loads(text or "")
    except json.JSONDecodeError:
        given = text
    return read_fabric(given, aws_region=pulumi.Config("aws").get("region"))
