"""Which resources describe machines on a fast fabric, and what they have in common on both clouds.

What a machine is may stand in several resources: its size in a fleet, its interfaces in a launch template, their kind
in network interfaces of their own. `alone` finds the machines that one resource tells all about, `composed` those that
take the whole stack; together they are all of them, and no machine is found by both. A size that the catalog lacks, or
one without a fast fabric, is no node here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from gpu_fabric.nccl.hardware import Cloud, Fabric, NodeSize, load_sizes
from gpu_fabric.policy.kinds import KINDS, TEMPLATE, TEMPLATES, Kind
from gpu_fabric.policy.resource import Named, Resource, named
from gpu_fabric.policy.rule import Parameters, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, any_of, at, first, look, number, text, truth

NETWORK_INTERFACE = "aws:ec2/networkInterface:NetworkInterface"


@dataclass(frozen=True)
class Interface:
    """A network interface of an AWS node; each value may be UNKNOWN."""

    card: Any
    device: Any
    type: Any
    """`interface`, `efa` or `efa-only`, as EC2 spells them."""

    @property
    def known(self) -> bool:
        return UNKNOWN not in (self.card, self.device, self.type)

    @property
    def efa(self) -> bool:
        return isinstance(self.type, str) and self.type.startswith("efa")


@dataclass(frozen=True)
class Node:
    """A machine, or the description of many, that has EFA or InfiniBand."""

    layers: tuple[Resource, ...]
    """The resource that starts it, then its launch template: what the first does not say, the next does."""
    size: NodeSize | None
    """None where only the EFA interfaces tell what it is (a template whose size somebody else chooses)."""
    hidden: bool
    """Whether something that is not in the stack says the rest."""
    attached: Named
    """Network interfaces of their own."""

    @property
    def resource(self) -> Resource:
        return self.layers[0]

    @property
    def urn(self) -> str:
        return self.resource.urn

    @property
    def kind(self) -> Kind:
        return KINDS[self.resource.kind]

    @property
    def cloud(self) -> Cloud:
        return self.kind.cloud

    @property
    def called(self) -> str:
        return f"{self.resource.name} ({self.size.name})" if self.size else self.resource.name

    def every(self, paths: Callable[[Kind], Sequence[str]]) -> list[Any]:
        """What the first layer that says anything at these paths of its kind says; UNKNOWN where a hidden one may."""
        for layer in self.layers:
            found = [value for path in paths(KINDS[layer.kind]) for value in at(layer.props, path)]
            if found:
                return found
        return [UNKNOWN] if self.hidden else []

    def first(self, paths: Callable[[Kind], Sequence[str]]) -> Any:
        """The first of `every` that is not empty; None where nothing is said."""
        return next((value for value in self.every(paths) if value != ""), None)

    def named(
        self, paths: Callable[[Kind], Sequence[str]], kinds: Sequence[str], stack: list[Resource]
    ) -> Named:
        """The resources that the layers name at these paths, all layers together."""
        found = [named(layer, paths(KINDS[layer.kind]), kinds, stack) for layer in self.layers]
        by_urn = {each.urn: each for one in found for each in one.resources}
        return Named(tuple(by_urn.values()), self.hidden or any(one.others for one in found))

    @cached_property
    def user_data(self) -> Any:
        """As the resource has it: base64 or plain text; None, or UNKNOWN."""
        return text(self.first(lambda kind: kind.user_data))

    @cached_property
    def image(self) -> Any:
        """AMI id or `resolve:ssm:…`; `publisher:offer:sku:version` or a resource id; None, or UNKNOWN."""
        given = self.first(lambda kind: kind.image)
        return _azure_image(given) if self.cloud is Cloud.AZURE else text(given)

    @cached_property
    def interfaces(self) -> list[Interface]:
        """Network interfaces of an AWS node."""
        for layer in self.layers:
            found = _interfaces(layer, self.attached)
            if found:
                return found
        # A service that makes its own template asks for no EFA in it; one outside the stack may.
        outside = self.hidden and (self.kind.complete or self.names_template)
        return [Interface(UNKNOWN, UNKNOWN, UNKNOWN)] if outside else []

    @property
    def names_template(self) -> bool:
        return first(self.resource.props, self.kind.templates) is not None


@dataclass(frozen=True)
class Unread:
    """A machine that may be on a fast fabric, and what of it is not known."""

    resource: Resource
    what: str


def _interfaces(layer: Resource, attached: Named) -> list[Interface]:
    kind = KINDS[layer.kind]
    if kind.cloud is not Cloud.AWS:
        return []
    given = at(layer.props, kind.interfaces) if kind.interfaces else []
    if kind.primary:
        # The primary interface is card 0, device 0.
        given = [*(_primary(each) for each in at(layer.props, kind.primary)), *given]
    return [interface(each, attached) for each in given]


def _primary(given: Any) -> Any:
    return (
        {"networkInterfaceId": look(given, "networkInterfaceId")} if isinstance(given, Mapping) else UNKNOWN
    )


def interface(given: Any, attached: Named) -> Interface:
    """An entry of a list of interfaces; `attached` are the network interfaces of their own that it may name."""
    id_, type_ = look(given, "networkInterfaceId"), text(look(given, "interfaceType"))
    if id_ is not None and type_ is None:
        type_ = _type_of(id_, attached)
    card, device = number(look(given, "networkCardIndex")), number(look(given, "deviceIndex"))
    return Interface(card or 0, device or 0, type_ or "interface")


def _type_of(id_: Any, attached: Named) -> Any:
    """The kind of the interface with this id; where the id is not known yet, the kind that all of them have."""
    own = [each for each in attached.resources if id_ is not UNKNOWN and each.id == id_]
    found = {_spelled_type(each) for each in own or attached.resources}
    if len(found) != 1 or (attached.others and not own):
        return UNKNOWN
    return found.pop()


def _spelled_type(interface: Resource) -> Any:
    return text(look(interface.props, "interfaceType")) or "interface"


def _azure_image(reference: Any) -> Any:
    if not isinstance(reference, Mapping):
        return None if reference is None else UNKNOWN
    id_ = text(first(reference, ("id", "sharedGalleryImageId", "communityGalleryImageId")))
    if id_ is not None:
        return id_
    parts = [text(look(reference, key)) for key in ("publisher", "offer", "sku", "version")]
    if UNKNOWN in parts:
        return UNKNOWN
    return None if parts == [None] * 4 else ":".join("" if part is None else part for part in parts)


@lru_cache(maxsize=1)
def _sizes() -> tuple[Mapping[str, NodeSize], Mapping[str, NodeSize], frozenset[str]]:
    """AWS sizes; Azure's by lower case, for Azure takes any; and the families of AWS that have a fast fabric."""
    sizes = load_sizes()
    aws = {name: size for name, size in sizes.items() if size.cloud is Cloud.AWS}
    azure = {name.lower(): size for name, size in sizes.items() if size.cloud is Cloud.AZURE}
    return aws, azure, frozenset(name.partition(".")[0] for name in aws)


def _size(name: Any, cloud: Cloud) -> Any:
    """The size that has a fast fabric; None for another, UNKNOWN where a name does not tell (AWS Batch's `p5`)."""
    aws, azure, families = _sizes()
    if not isinstance(name, str) or (cloud is Cloud.AWS and name in families):
        return UNKNOWN
    # SageMaker writes `ml.` before EC2's name.
    size = aws.get(name.removeprefix("ml.")) if cloud is Cloud.AWS else azure.get(name.lower())
    return None if size is None or size.fabric is Fabric.SOCKETS else size


def alone(resource: Resource, stack: list[Resource] | None = None) -> Iterator[Node | Unread]:
    """The nodes that `resource` tells all about; with the `stack`, an interface of theirs in it is known."""
    kind = KINDS.get(resource.kind)
    if kind is not None and _tells_all(resource, kind):
        yield from _nodes(resource, kind, stack or [])


def composed(stack: list[Resource]) -> Iterator[Node | Unread]:
    """The nodes that several resources of a stack describe together."""
    started = {
        each.urn
        for resource in stack
        for kind in [KINDS.get(resource.kind)]
        if kind is not None and kind.templates
        for each in named(resource, kind.templates, TEMPLATES, stack).resources
    }
    for resource in stack:
        kind = KINDS.get(resource.kind)
        if kind is None:
            continue
        if not _tells_all(resource, kind):
            yield from _nodes(resource, kind, stack)
        elif resource.kind == TEMPLATE and resource.urn not in started and _no_size(resource, kind):
            yield Unread(
                resource, f"the size of {resource.name}: nothing in this stack starts machines from it"
            )


def nodes_in(stack: list[Resource]) -> list[Node | Unread]:
    """Every node of a stack."""
    return [*(node for resource in stack for node in alone(resource, stack)), *composed(stack)]


def known_nodes(stack: list[Resource]) -> list[Node]:
    return [node for node in nodes_in(stack) if isinstance(node, Node)]


def unread_nodes(stack: list[Resource], cloud: Cloud | None = None) -> Iterator[Undecided]:
    """What is to be said of the machines of a stack (or of one cloud's) that are not known."""
    for node in nodes_in(stack):
        if isinstance(node, Unread) and cloud in (None, KINDS[node.resource.kind].cloud):
            yield Undecided(node.what)


def for_each_node(
    check: Callable[[Node, Parameters], Verdicts], cloud: Cloud | None = None
) -> dict[str, Any]:
    """`check` and `check_stack` of a rule that looks at one node at a time, of one cloud where one is named."""

    def over(found: Iterator[Node | Unread], parameters: Parameters) -> Verdicts:
        for node in found:
            if cloud not in (None, KINDS[node.resource.kind].cloud):
                continue
            if isinstance(node, Unread):
                yield Undecided(node.what)
                continue
            for verdict in check(node, parameters):
                if isinstance(verdict, Violation) and verdict.urn is None:
                    yield Violation(verdict.what, verdict.do, node.urn)
                else:
                    yield verdict

    return {
        "check": lambda resource, parameters: over(alone(resource), parameters),
        "check_stack": lambda stack, parameters: over(composed(stack), parameters),
    }


def _tells_all(resource: Resource, kind: Kind) -> bool:
    if any(at(resource.props, path) for path in kind.templates):
        return False
    interfaces = at(resource.props, kind.interfaces) if kind.interfaces else []
    if any(isinstance(each, Mapping) and each.get("networkInterfaceId") is not None for each in interfaces):
        return False
    primary = at(resource.props, kind.primary) if kind.primary else []
    return not any(
        isinstance(each, Mapping) and each.get("networkInterfaceId") is not None for each in primary
    )


def _no_size(resource: Resource, kind: Kind) -> bool:
    return not any(at(resource.props, path) for path in (*kind.sizes, kind.requirements)) and not any(
        each.efa for each in _interfaces(resource, Named((), False))
    )


def _nodes(resource: Resource, kind: Kind, stack: list[Resource]) -> Iterator[Node | Unread]:
    if kind.made_by or kind.unread:
        yield from _by_size_alone(resource, kind)
        return
    templates = named(resource, kind.templates, TEMPLATES, stack)
    paths = [f"{path}.networkInterfaceId" for path in (kind.interfaces, kind.primary) if path]
    attached = named(resource, paths, (NETWORK_INTERFACE,), stack)
    own = [value for path in kind.sizes for value in at(resource.props, path)]
    for template in templates.resources or (None,):
        layers = (resource,) if template is None else (resource, template)
        hidden = templates.others or (template is None and not kind.complete)
        inherited = [] if template is None else _own_sizes(template)
        if template is not None and not _adds(resource, kind, own, inherited):
            continue  # the template alone is the node
        yield from _of_sizes(layers, own or inherited, hidden, attached)
    if not own and templates.others:
        yield Unread(resource, f"the size of {resource.name}: its launch template is not in this stack")


def _own_sizes(template: Resource) -> list[Any]:
    return [value for path in KINDS[template.kind].sizes for value in at(template.props, path)]


def _adds(resource: Resource, kind: Kind, own: list[Any], inherited: list[Any]) -> bool:
    """Whether the resource says more about a machine than its template: then the two together are another node."""
    if any(size not in inherited for size in own):
        return True
    said = (kind.user_data, kind.image, kind.groups, kind.public, kind.disks, kind.metadata)
    single = (kind.interfaces, kind.primary, kind.root_disk)
    paths = [path for path in (*(path for each in said for path in each), *single) if path]
    if any(at(resource.props, path) for path in paths):
        return True
    return bool(kind.requirements and at(resource.props, kind.requirements))


def _of_sizes(
    layers: tuple[Resource, ...], names: list[Any], hidden: bool, attached: Named
) -> Iterator[Node | Unread]:
    resource = layers[0]
    cloud = KINDS[resource.kind].cloud
    efa = any(each.efa for each in Node(layers, None, hidden, attached).interfaces)
    sizes = {name if isinstance(name, str) else UNKNOWN: _size(name, cloud) for name in names}
    if UNKNOWN in sizes.values():
        yield Unread(resource, f"the size of {resource.name}")
    found = dict.fromkeys(size for size in sizes.values() if size is not None and size is not UNKNOWN)
    for size in found:
        yield Node(layers, size, hidden, attached)
    if efa and not found and UNKNOWN not in sizes.values():
        yield Node(layers, None, hidden, attached)
    elif not names and any(map(_asks_for_accelerators, _requirements(layers))):
        yield Unread(resource, f"the size of {resource.name}: EC2 chooses it by its accelerators")


def _requirements(layers: tuple[Resource, ...]) -> Iterator[Any]:
    for layer in layers:
        path = KINDS[layer.kind].requirements
        yield from at(layer.props, path) if path else ()


def _asks_for_accelerators(requirements: Any) -> bool:
    least = number(look(requirements, "acceleratorCount", "min"))
    return least is UNKNOWN or bool(least) or bool(at(requirements, "acceleratorTypes.*"))


def _by_size_alone(resource: Resource, kind: Kind) -> Iterator[Unread]:
    why = (
        f"{kind.made_by} sets them up, and no resource says how"
        if kind.made_by
        else f"the pack does not read how {kind.unread} describes them"
    )
    for name in dict.fromkeys(
        value if isinstance(value, str) else UNKNOWN
        for path in kind.sizes
        for value in at(resource.props, path)
    ):
        size = _size(name, kind.cloud)
        if size is UNKNOWN:
            yield Unread(resource, f"the size of {resource.name}")
        elif size is not None:
            yield Unread(
                resource,
                f"the machines of {resource.name} ({size.name}): {why}",
            )


def has_public_address(node: Node) -> Any:
    """True, False or UNKNOWN: whether an interface of the node is given a public address."""
    if node.cloud is Cloud.AWS:
        return any_of(truth(value) for value in node.every(lambda kind: kind.public))
    addresses = at(
        node.resource.props, f"{node.kind.interfaces}.ipConfigurations.*.publicIPAddressConfiguration"
    )
    return any_of(UNKNOWN if address is UNKNOWN else True for address in addresses)
