"""Names of the link on Azure, known before a deployment, so that a later `up` can ask for what an earlier one made."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import pulumi

from gpu_fabric.components.interconnect.limits import GROUP_NAME_CHARACTERS, NAME_CHARACTERS

_DIGEST = 8


def fitted(text: str, most: int) -> str:
    """`text` as a name of at most `most` characters that all of Azure's networking takes.

    What is cut is kept apart by a digest: two long names that begin alike stay two.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", text).lstrip("._-")
    if plain == text and len(plain) <= most:
        return plain
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return "-".join(filter(None, (plain[: most - _DIGEST - 1], digest)))


def own_name(name: str) -> str:
    """`name` with project and stack before it: two stacks of one program share an account."""
    return f"{pulumi.get_project()}-{pulumi.get_stack()}-{name}"


def group_name(name: str) -> str:
    """Of the circuit's resource group."""
    return fitted(own_name(name), GROUP_NAME_CHARACTERS)


def circuit_name(name: str) -> str:
    role = "circuit"
    return f"{fitted(name, NAME_CHARACTERS - len(role) - 1)}-{role}"


@dataclass(frozen=True)
class CircuitPlace:
    """Where the link's circuit is in Azure."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"the circuit {self.name} in {self.group}"


def circuit_place(name: str, adopted_id: str | None) -> CircuitPlace:
    """Of the link's own circuit, or of the one that it adopts."""
    if adopted_id is None:
        return CircuitPlace(group_name(name), circuit_name(name))
    parts = adopted_id.split("/")
    return CircuitPlace(parts[4], parts[-1])


def subscription_of(id_: str | None) -> str | None:
    """The subscription in a resource id, in small letters; None where there is none."""
    found = re.match(r"/subscriptions/([^/]+)/", id_ or "", re.IGNORECASE)
    return None if found is None else found[1].casefold()


def in_nodes_group(name: str, role: str) -> str:
    """The name of something in the resource group of the nodes' network, which may be anybody's.

    Known beforehand, as all names of the link are: after a lost answer the second creation is refused instead of made
    twice. A virtual network has one ExpressRoute gateway, so a new one never stands beside the old.
    """
    return f"{fitted(own_name(name), NAME_CHARACTERS - len(role) - 1)}-{role}"
