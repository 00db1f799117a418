"""A resource as the rules see it, and the resources of a stack by what names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpu_fabric.policy.values import at

#: `azure-native:compute/v20230301:…` of version 2, `azure-native_compute_v20230301:compute/v20230301:…` of version 3
#: (pulumi-azure-native, provider_parameterize.go).
_API_VERSION = re.compile(r"^azure-native(?:_\w+)?:(\w+)(?:/v\w+)?:")
#: Properties by which a resource is named, beside its id.
NAMES = ("id", "name", "arn", "placementGroupId")


@dataclass(frozen=True)
class Resource:
    type: str
    name: str
    urn: str
    props: Mapping[str, Any]
    """Plain values in the provider's own spelling, UNKNOWN in place of what the preview cannot know."""
    id: str | None = None
    """None at preview of a new resource."""
    references: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Property → URNs of the resources that its value comes from. Filled for rules over the whole stack only."""

    @cached_property
    def kind(self) -> str:
        """The type without the API version that an Azure program may pin."""
        return _API_VERSION.sub(r"azure-native:\1:", self.type)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every text by which another resource may name this one."""
        given = [self.id, *(value for key in NAMES for value in at(self.props, key))]
        return frozenset(value for value in given if isinstance(value, str) and value)


@dataclass(frozen=True)
class Named:
    """The resources of the stack that some property names."""

    resources: tuple[Resource, ...]
    others: bool
    """Whether it names more: something outside the stack, or not known yet."""


def named(resource: Resource, paths: Sequence[str], kinds: Iterable[str], stack: Sequence[Resource]) -> Named:
    """Which resources of `kinds` the values at `paths` name: by id, name or ARN, else by where the value comes from."""
    values = [value for path in paths for value in at(resource.props, path) if value != ""]
    sources = {urn for path in paths for urn in resource.references.get(path.partition(".")[0], ())}
    if not values and not sources:
        return Named((), False)
    texts = [value for value in values if isinstance(value, str)]
    wanted = frozenset(kinds)
    there = [each for each in stack if each.kind in wanted]
    by_value = [each for each in there if not each.names.isdisjoint(texts)]
    by_source = [each for each in there if each.urn in sources]
    found = dict.fromkeys(each.urn for each in (*by_value, *by_source))
    known = {name for each in by_value for name in each.names}
    unknown = len(texts) < len(values)
    strangers = any(text not in known for text in texts)
    # A source whose own id is not known explains one text at most where nothing else is left to explain.
    explained = not unknown and any(each.id is None for each in by_source)
    by_urn = {each.urn: each for each in there}
    return Named(
        tuple(by_urn[urn] for urn in found), (strangers and not explained) or (unknown and not by_source)
    )
