"""How a simulated cloud says no.

A :class:`Refusal` is raised where the rule is; the provider turns it into the text the vendor's provider would
print, and the engine shows it beside the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Refusal(Exception):  # noqa: N818 (the clouds' own word is refusal: it is not a fault of the program)
    """The cloud's API refused a call.

    ``code`` is the cloud's error code (``InvalidSubnet.Conflict``), ``message`` the cloud's own sentence,
    ``call`` the API call when it is another than the operation's own (``RunInstances`` inside an Auto Scaling
    group), ``doing`` what the provider was doing, in its words, when it differs from the type's.
    """

    def __init__(
        self, code: str, message: str, *, call: str = "", doing: str = "", status: int = 400
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.call = call
        self.doing = doing
        self.status = status


class ProviderError(Exception):
    """The provider itself gave up, in its own words: no API call was refused."""


@dataclass
class PartialFailure(Exception):  # noqa: N818
    """The object was made or changed, and then something failed: the engine keeps it and shows the reasons."""

    id: str
    outputs: Mapping[str, Any]
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "; ".join(self.reasons)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a resource's inputs, seen before anything is done. ``path`` as ``ingress[0].fromPort``."""

    path: str
    reason: str
