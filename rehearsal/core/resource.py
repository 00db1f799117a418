"""How a simulated cloud declares what it knows: resource types, look-ups, and the cloud itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .errors import Problem
from .faults import Faults
from .schema import BRIDGED, Schema, TypeSchema, Wording, load
from .store import Transaction


@dataclass(frozen=True)
class Call:
    """One operation on one resource, as a type's function sees it.

    ``inputs`` are plain: no secrets, and no unknowns unless ``preview``. ``old`` is what the cloud holds (update,
    delete, read) and ``old_inputs`` what the program asked for last time.
    """

    tx: Transaction
    type: ResourceType
    config: Mapping[str, Any]
    inputs: dict[str, Any]
    urn: str = ""
    name: str = ""
    id: str = ""
    old: dict[str, Any] = field(default_factory=dict)
    old_inputs: dict[str, Any] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    preview: bool = False
    timeout: float = 0
    """Seconds the program allows (``customTimeouts``); 0 where it says nothing."""
    reasons: list[str] = field(default_factory=list)
    """Why the object is there but not ready. A function adds to it; the engine keeps such a resource as half made."""

    def changed(self, *names: str) -> bool:
        """Whether any of these properties differs between what the cloud holds and the new inputs."""
        return any(self.inputs.get(name) != self.old.get(name) for name in names)


@dataclass(frozen=True)
class Made:
    """What a create function returns: the new object's id and the outputs that the cloud filled in."""

    id: str
    outputs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Naming:
    """What a provider may make a name from: the engine's seed, or a name that the project's settings propose."""

    seed: bytes
    mode: str = ""
    """``propose``, ``enforce`` or ``disable``; empty where the project says nothing."""
    proposed: str = ""


@dataclass(frozen=True)
class Lookup:
    """One look-up, as a function's ``answer`` sees it."""

    tx: Transaction
    token: str
    config: Mapping[str, Any]
    args: dict[str, Any]


def _stored(call: Call) -> dict[str, Any] | None:
    return call.tx.get(call.type.kind, call.id)


def _nothing(call: Call) -> dict[str, Any]:
    return {}


def _no_problem(call: Call) -> Iterable[Problem]:
    return ()


def _remove(call: Call) -> None:
    """The object itself is removed by the provider; nothing else hangs on it."""


@dataclass(frozen=True)
class ResourceType:
    """One resource type of a simulated cloud.

    The provider merges what the functions return: inputs, then ``defaults`` for inputs left out, then the outputs
    of ``create`` or ``update``. The merged properties are stored under (``kind``, id) before the function's
    transaction ends. In a preview no function but ``check`` and ``known`` runs: outputs that only the cloud knows
    are unknown.
    """

    token: str
    title: str
    """The vendor provider's name for it in messages, ``EC2 Subnet``."""
    create: Callable[[Call], Made]
    read: Callable[[Call], dict[str, Any] | None] = _stored
    """The properties the cloud has now; None if the object is gone."""
    update: Callable[[Call], dict[str, Any]] = _nothing
    """Returns the outputs that the update changed."""
    delete: Callable[[Call], None] = _remove
    check: Callable[[Call], Iterable[Problem]] = _no_problem
    """What the vendor's provider refuses before it calls the cloud: seen in a preview."""
    known: Callable[[Call], dict[str, Any]] = _nothing
    """Outputs that a preview can tell."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What the provider or the cloud takes for an input left out."""
    filled: frozenset[str] = frozenset()
    """Inputs which the cloud fills in when they are left out, besides those the schema tells."""
    absent: frozenset[str] = frozenset()
    """Inputs that stay without a value when left out, although the schema's type does not say so."""
    replaces: frozenset[str] = frozenset()
    """Paths without indexes whose change makes a new object. ``ebsBlockDevices`` covers all inside it."""
    replaces_when: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[str]] = lambda old, new: ()
    """Further paths that replace, for this change from what is there to these inputs."""
    replaces_source: str = ""
    """Where the replace rules come from."""
    unordered: frozenset[str] = frozenset()
    """Lists whose order means nothing."""
    same: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """Properties with an equality of their own: two JSON documents, two spellings of one address."""
    recomputed: Callable[[Call, AbstractSet[str]], Iterable[str]] = lambda call, changed: ()
    """Outputs that an update changes, given the names of the inputs that change: unknown in its preview."""
    imported: Callable[[str], str] = lambda given: given
    """The object's id, of the one by which `pulumi import` names it."""
    secrets: frozenset[str] = frozenset()
    """Outputs that the vendor's provider marks as secret. They go to the engine only, not into the database: a
    ``read`` that needs them takes them from ``call.old``."""
    hidden: frozenset[str] = frozenset()
    """Paths that the cloud takes and never answers, ``osProfile.adminPassword``. Not for a bridged provider."""
    unknown_within: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names that a preview of a new resource does not know inside an object or list that the program gives, by its
    path."""
    autoname: str = ""
    """The input that gets a name made from the resource's when left out."""
    name_limit: int = 255
    calls: Mapping[str, str] = field(default_factory=dict)
    """The API call behind each operation, ``{"create": "CreateSubnet"}``."""
    doing: Mapping[str, str] = field(default_factory=dict)
    """Messages that begin in another way than ``creating TITLE``, by operation."""
    service: str = ""
    """The API's name in messages, ``EC2``."""
    delete_before_replace: bool = False
    stored_as: str = ""
    """The kind in the store, where it is not the token."""

    @property
    def kind(self) -> str:
        return self.stored_as or self.token


@dataclass(frozen=True)
class Function:
    """One look-up of a simulated cloud. ``answer`` may raise Refusal or ProviderError."""

    token: str
    answer: Callable[[Lookup], dict[str, Any]]


def _plain_refusal(type: ResourceType | None, operation: str, id: str, refusal: Any) -> str:
    return f"{refusal.code}: {refusal.message}"


def _name_collides(type: ResourceType, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the new object would have the old one's name, so that both cannot exist at a time."""
    property = type.autoname
    return (
        bool(property)
        and new.get(property) is not None
        and property not in new.get("__defaults", [])
        and old.get(property) == new.get(property)
    )


def _nothing_to_add(call: Call, old_inputs: Mapping[str, Any], naming: Naming) -> Mapping[str, Any]:
    return {}


def _stays(old: Mapping[str, Any], news: Mapping[str, Any], config: Mapping[str, Any]) -> Iterable[str]:
    return ()


def _no_config_problem(config: Mapping[str, Any]) -> Iterable[Problem]:
    return ()


@dataclass(frozen=True)
class Cloud:
    """A simulated cloud: what it knows, and the manners of the vendor's provider."""

    name: str
    """The Pulumi package's name: ``aws``."""
    folder: Path
    """Where ``schema.json`` lies."""
    types: tuple[ResourceType, ...]
    functions: tuple[Function, ...] = ()
    notice: str = ""
    """Said once by every provider process that is configured, so that nobody takes it for the real one."""
    refusal: Callable[[ResourceType | None, str, str, Any], str] = _plain_refusal
    """The text in which the vendor's provider reports a refusal of (type, operation, id, refusal)."""
    check_config: Callable[[Mapping[str, Any]], Iterable[Problem]] = _no_config_problem
    """What is wrong with the provider's own configuration."""
    config_replaces: frozenset[str] = frozenset()
    """Provider settings whose change makes every resource new."""
    moves: Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], Iterable[str]] = _stays
    """Properties whose change by the provider's settings alone makes a new object: of (what is there, the inputs, the
    provider's settings)."""
    common_outputs: Callable[[Call], dict[str, Any]] = _nothing
    """Outputs that every resource of the cloud has and a preview can tell, like all its tags."""
    throttling: tuple[str, str] = ("TooManyRequests", "Too many requests")
    """The cloud's code and sentence for calls that come too fast."""
    throttling_status: int = 503
    retries: Callable[[Mapping[str, Any]], int] = lambda config: 5
    """How often the vendor's provider tries again by itself."""
    repeatable: bool = False
    """Whether a request whose answer was lost means the same when it is sent again, as PUT and DELETE do. The vendor's
    provider then sends it again by itself, and the second answer is of the object that is there."""
    bridged: bool = True
    """Whether the vendor's provider is one of pulumi-terraform-bridge. One that is not, as pulumi-azure-native,
    compares a program's inputs with those of last time and with nothing else, answers what the API answers and not
    the inputs as well, and knows in a preview only what the program gave."""
    complete: Callable[[Call, Mapping[str, Any], Naming], Mapping[str, Any]] = _nothing_to_add
    """Inputs that a provider without the bridge adds for those left out: names, a default location."""
    stable: frozenset[str] = frozenset()
    """Outputs that a provider without the bridge still knows in the preview of an update."""
    deletes_first: Callable[[ResourceType, Mapping[str, Any], Mapping[str, Any]], bool] = _name_collides
    """Whether the old object (its inputs, the new ones) has to go before its replacement is made."""
    parameterized: bool = False
    """Whether the vendor's provider is one of Pulumi's bridge for any Terraform provider: it has no SDK to read the
    schema from, its version is the schema's, and its process answers to Parameterize."""
    wording: Wording = BRIDGED
    remember: Mapping[str, str] = field(default_factory=dict)
    """Kinds that exist without a resource type, with a word for each: for ``show``."""

    @cached_property
    def by_token(self) -> Mapping[str, ResourceType]:
        return {each.token: each for each in self.types}

    @cached_property
    def functions_by_token(self) -> Mapping[str, Function]:
        return {each.token: each for each in self.functions}

    @cached_property
    def schema(self) -> Schema:
        return load(self.folder / "schema.json")

    def type_schema(self, token: str) -> TypeSchema:
        return self.schema.types[token]

    def unknown_type(self, token: str) -> str:
        """The message for a type this cloud does not know."""
        return (
            f"the simulated {self.name} cloud does not know the resource type {token}: nothing was done. "
            f"It knows {len(self.types)} types (python -m gpu_fabric.rehearsal types {self.name} lists them); "
            f"with a real account, the vendor's provider knows all."
        )

    def unknown_function(self, token: str) -> str:
        """The message for a look-up this cloud does not know."""
        return (
            f"the simulated {self.name} cloud does not know the function {token}: no answer was made up. "
            f"It knows {', '.join(sorted(self.functions_by_token))}."
        )
