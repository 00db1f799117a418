"""The stack file's model, and the only reader of Pulumi configuration.

A cloud's settings and rules are loaded only where the stack file names the cloud, its SDK by neither.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pulumi

from gpu_fabric.components.prices import stack_prices
from gpu_fabric.components.problems import InvalidInputError, Problem, problem_of_text, raise_if_any
from gpu_fabric.components.settings import Settings, read
from gpu_fabric.components.sizes import read_sizes
from gpu_fabric.components.surroundings import NO_REGION, OtherCloud, Surroundings
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.spec import FabricSpec, TrainingSpec, fabric_spec

if TYPE_CHECKING:
    from gpu_fabric.components.aws.settings import AwsClusterSettings
    from gpu_fabric.components.azure.settings import AzureClusterSettings
    from gpu_fabric.components.interconnect.ends import KnownEnds
    from gpu_fabric.components.interconnect.settings import InterconnectSettings

ROOT = "fabric"
CLOUDS = ("aws", "azure")
EXAMPLE = "Pulumi.dev.yaml"


@dataclass(frozen=True)
class FabricSettings:
    """What a stack file asks for: a cluster on one cloud, or one on each, and the link between them."""

    aws: AwsClusterSettings | None
    azure: AzureClusterSettings | None
    around_aws: Surroundings
    around_azure: Surroundings
    spec: FabricSpec
    """The same as the planner reads it: clusters, the link between them, and the training."""
    interconnect: InterconnectSettings | None = None
    ends: KnownEnds | None = None
    """Both networks; given with `interconnect`."""


class _Sections(Settings):
    """The keys under `fabric`; each section is read by its own reader, so that each can say all of its problems."""

    aws: Any = None
    azure: Any = None
    interconnect: Any = None
    sizes: Any = None
    training: Any = None


def read_fabric(
    given: Any,
    *,
    aws_region: str | None = None,
    azure_location: str | None = None,
    name: str = "fabric",
    secret: bool = False,
) -> FabricSettings:
    """The value of `gpu-fabric:fabric` as settings. Raises InvalidInputError with every problem of every section."""
    problems: list[Problem] = []
    sections, wrong = read(_Sections, given, path=(ROOT,))
    problems += wrong
    if sections is None:
        known = _Sections.model_fields
        usable = {key: given.get(key) for key in known} if isinstance(given, Mapping) else {}
        sections = _Sections.model_validate(usable)
    empty = [key for key in _Sections.model_fields if isinstance(given, Mapping) and _is_empty(given, key)]
    # A key whose lines were commented out: without a word it would plan the removal of what stood there.
    problems += [Problem((ROOT, key), "is empty", "describe it, or take the key out") for key in empty]
    sizes, wrong = read_sizes({} if sections.sizes is None else sections.sizes, (ROOT, "sizes"))
    problems += wrong
    around_aws = Surroundings(region=aws_region, sizes=sizes, secret=secret)
    around_azure = Surroundings(region=azure_location, sizes=sizes, secret=secret)
    aws = azure = None
    if sections.aws is not None:
        aws, wrong = _read_aws(sections.aws, around_aws)
        problems += wrong
    if sections.azure is not None:
        azure, wrong = _read_azure(sections.azure, around_azure)
        problems += wrong
    if aws is not None and azure is not None:
        from gpu_fabric.components.two_clouds import check

        problems += check(aws, around_aws, azure, (ROOT,))
    elif sections.aws is None and sections.azure is None and not problems:
        named = " nor ".join(f"`{cloud}`" for cloud in CLOUDS)
        problems.append(
            Problem((ROOT,), f"names neither {named}", "describe a cluster in one of them, or both")
        )
    problems += read(TrainingSpec, sections.training, path=(ROOT, "training"))[1]
    interconnect = ends = None
    alone = [cloud for cloud in CLOUDS if getattr(sections, cloud) is None and cloud not in empty]
    if sections.interconnect is not None and alone:
        where = (ROOT, "interconnect")
        problems.append(
            Problem(where, "joins two clouds, and one is missing", "describe both, or drop the key")
        )
    elif aws is not None and azure is not None and sections.interconnect is not None:
        from gpu_fabric.components.interconnect.ends import KnownEnds, known_aws_end, known_azure_end

        ends = KnownEnds(known_aws_end(aws, around_aws), known_azure_end(azure, around_azure))
        interconnect, wrong = _read_interconnect(sections.interconnect, ends)
        problems += wrong
        if interconnect is not None and not problems:
            around_aws = _beside(around_aws, interconnect, ends, str(ends.azure.nodes))
            around_azure = _beside(around_azure, interconnect, ends, str(ends.aws.nodes))
            # The link adds to what a node is given at its start, which has a limit.
            problems += _read_aws(sections.aws, around_aws)[1] + _read_azure(sections.azure, around_azure)[1]
    raise_if_any("the stack file", problems)
    try:
        spec = fabric_spec(
            {**given, "training": given.get("training") or {}},
            aws_region=aws_region,
            azure_location=azure_location,
            name=name,
            sizes=sizes,
        )
    except PlanningError as error:
        # What the components take and the planner does not.
        raise InvalidInputError("the stack file", [*map(problem_of_text, error.problems)]) from error
    return FabricSettings(
        aws=aws,
        azure=azure,
        around_aws=around_aws,
        around_azure=around_azure,
        spec=spec,
        interconnect=interconnect,
        ends=ends,
    )


def _is_empty(given: Mapping[str, Any], key: str) -> bool:
    return key in given and given[key] is None


def _beside(
    around: Surroundings, interconnect: InterconnectSettings, ends: KnownEnds, prefix: str
) -> Surroundings:
    """The surroundings of a cluster with the link to the nodes of `prefix`."""
    from gpu_fabric.components.interconnect.numbers import routes_to

    other = OtherCloud(routes_to(interconnect, ends, prefix), interconnect.route_isolation)
    return replace(around, other_cloud=other)


def _read_interconnect(given: Any, ends: KnownEnds) -> tuple[InterconnectSettings | None, list[Problem]]:
    from gpu_fabric.components.interconnect.checks import check
    from gpu_fabric.components.interconnect.settings import InterconnectSettings

    return read(
        InterconnectSettings,
        given,
        path=(ROOT, "interconnect"),
        checks=lambda settings: check(settings, ends),
    )


def _read_aws(given: Any, around: Surroundings) -> tuple[AwsClusterSettings | None, list[Problem]]:
    from gpu_fabric.components.aws.checks import problems_of
    from gpu_fabric.components.aws.settings import AwsClusterSettings

    return read(
        AwsClusterSettings, given, path=(ROOT, "aws"), checks=lambda settings: problems_of(settings, around)
    )


def _read_azure(given: Any, around: Surroundings) -> tuple[AzureClusterSettings | None, list[Problem]]:
    from gpu_fabric.components.azure.checks import problems_of
    from gpu_fabric.components.azure.settings import AzureClusterSettings

    return read(
        AzureClusterSettings,
        given,
        path=(ROOT, "azure"),
        checks=lambda settings: problems_of(settings, around),
    )


def read_stack() -> FabricSettings:
    """The running stack's settings. Raises InvalidInputError."""
    # A price file that cannot be read is said now, and not when half of the stack is declared.
    stack_prices()
    text = pulumi.Config("gpu-fabric").get(ROOT)
    if text in (None, "", "null"):
        raise_if_any(
            "the stack file",
            [
                Problem(
                    (ROOT,),
                    "is missing" if text is None else "is empty",
                    f"give `gpu-fabric:{ROOT}`; {EXAMPLE} is an example",
                )
            ],
        )
    try:
        given = json.loads(text or "")
    except json.JSONDecodeError:
        given = text
    region = pulumi.Config("aws").get("region") or _region_of_the_process()
    if region is None and isinstance(given, Mapping) and isinstance(given.get("aws"), Mapping):
        # The provider would say so too, in the middle of the plan; here it is one problem among the others.
        region = NO_REGION
    return read_fabric(
        given,
        aws_region=region,
        azure_location=pulumi.Config("azure-native").get("location"),
        name=pulumi.get_stack(),
        secret=pulumi.runtime.is_config_secret(f"gpu-fabric:{ROOT}"),
    )


def _region_of_the_process() -> str | None:
    """The region that the AWS provider would take from the environment."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
