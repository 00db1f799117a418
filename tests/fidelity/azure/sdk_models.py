"""Requests judged by the Azure SDK's own models of the services: Microsoft's description of its APIs.

The models (`azure-mgmt-*` for Python) are made from the services' published specifications, one set for each API
version. They say which properties there are and where, which are required or read-only, of which type and enumeration,
and within which limits. The SDK itself drops what it does not know and checks little; here all of it is asked. Limits
that the specification gives in words only are read from the properties' documentation. `lost_in_sending` asks the
SDK's own serializer, by another way, whether it would send the same.
"""

from __future__ import annotations

import base64
import binascii
import functools
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import zip_longest
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock
from urllib.parse import parse_qs

from azure.core.exceptions import SerializationError
from azure.mgmt.compute._serialization import Serializer

from tests.fidelity.azure.to_arm import Request
from tests.fidelity.compared import lost


class Operation(NamedTuple):
    """The operation that creates a resource, in one API version of the SDK."""

    package: str
    module: str
    """Of the package's operations."""
    build: str
    """The function of that module that builds the request."""
    body: str
    """The model of the body."""


_COMPUTE = "azure.mgmt.compute.v2024_11_01"
_NETWORK = "azure.mgmt.network"


def _put(package: str, group: str, body: str) -> Operation:
    return Operation(package, "_operations", f"build_{group}_create_or_update_request", body)


OPERATIONS: Mapping[str, Operation] = {
    "azure-native:authorization:RoleAssignment": Operation(
        "azure.mgmt.authorization.v2022_04_01",
        "_role_assignments_operations",
        "build_create_request",
        "RoleAssignmentCreateParameters",
    ),
    "azure-native:compute:AvailabilitySet": _put(_COMPUTE, "availability_sets", "AvailabilitySet"),
    "azure-native:compute:ProximityPlacementGroup": _put(
        _COMPUTE, "proximity_placement_groups", "ProximityPlacementGroup"
    ),
    "azure-native:compute:VirtualMachine": _put(_COMPUTE, "virtual_machines", "VirtualMachine"),
    "azure-native:compute:VirtualMachineScaleSet": _put(
        _COMPUTE, "virtual_machine_scale_sets", "VirtualMachineScaleSet"
    ),
    "azure-native:managedidentity:UserAssignedIdentity": Operation(
        "azure.mgmt.msi.v2023_01_31",
        "_user_assigned_identities_operations",
        "build_create_or_update_request",
        "Identity",
    ),
    "azure-native:network:BastionHost": _put(_NETWORK, "bastion_hosts", "BastionHost"),
    "azure-native:network:ExpressRouteCircuit": _put(
        _NETWORK, "express_route_circuits", "ExpressRouteCircuit"
    ),
    "azure-native:network:ExpressRouteCircuitPeering": _put(
        _NETWORK, "express_route_circuit_peerings", "ExpressRouteCircuitPeering"
    ),
    "azure-native:network:NatGateway": _put(_NETWORK, "nat_gateways", "NatGateway"),
    "azure-native:network:NetworkInterface": _put(_NETWORK, "network_interfaces", "NetworkInterface"),
    "azure-native:network:NetworkSecurityGroup": _put(
        _NETWORK, "network_security_groups", "NetworkSecurityGroup"
    ),
    "azure-native:network:PublicIPAddress": _put(_NETWORK, "public_ip_addresses", "PublicIPAddress"),
    "azure-native:network:Subnet": _put(_NETWORK, "subnets", "Subnet"),
    "azure-native:network:VirtualNetwork": _put(_NETWORK, "virtual_networks", "VirtualNetwork"),
    "azure-native:network:VirtualNetworkGateway": _put(
        _NETWORK, "virtual_network_gateways", "VirtualNetworkGateway"
    ),
    "azure-native:network:VirtualNetworkGatewayConnection": _put(
        _NETWORK, "virtual_network_gateway_connections", "VirtualNetworkGatewayConnection"
    ),
    # The SDK's releases skip the provider's version; this one is the nearest.
    "azure-native:resources:ResourceGroup": _put(
        "azure.mgmt.resource.resources.v2024_07_01", "resource_groups", "ResourceGroup"
    ),
}

#: The models' names of types → what the value may be in JSON.
_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
}


class Problem(NamedTuple):
    where: str
    """Resource type and property, such as `VirtualMachine properties.hardwareProfile.vmSize`."""
    says: str


def problems(request: Request) -> list[Problem]:
    """Everything that the SDK's model of the service holds against a request."""
    kind = request.source.type.rpartition(":")[2]
    operation = OPERATIONS[request.source.type]
    model = getattr(importlib.import_module(f"{operation.package}.models"), operation.body)
    found = [*_path(request, operation), *_object(request.body, model, "")]
    return [Problem(f"{kind} {where}", says) for where, says in found]


def lost_in_sending(request: Request) -> list[Problem]:
    """What the SDK itself would send otherwise: it reads the body into its models and writes them out again."""
    kind = request.source.type.rpartition(":")[2]
    operation = OPERATIONS[request.source.type]
    models = vars(importlib.import_module(f"{operation.package}.models"))
    classes = {name: one for name, one in models.items() if isinstance(one, type)}
    try:
        sent = Serializer(classes).body(request.body, operation.body)
    except SerializationError as refused:
        return [Problem(kind, str(refused))]
    return [Problem(f"{kind} {where}", says) for where, says in lost(request.body, sent)]


# --- the path


def _operations(operation: Operation) -> ModuleType:
    return importlib.import_module(f"{operation.package}.operations.{operation.module}")


def _address(request: Request, operation: Operation) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """The path that the SDK would use, and the limits of each of its parameters."""
    limits: dict[str, Mapping[str, Any]] = {}

    class Listening(Serializer):
        def url(self, name: str, data: Any, data_type: str, **how: Any) -> str:
            limits[name] = how
            return super().url(name, data, data_type, **how)

    module = _operations(operation)
    # The functions hand their parameters' limits to this one, which does not look at them.
    with mock.patch.object(module, "_SERIALIZER", Listening()):
        built = getattr(module, operation.build)(**request.path)
    # A scope begins with a slash of its own.
    return f"/{built.url.partition('?')[0].lstrip('/')}", limits


def api_version(type_: str) -> str:
    """The API version whose model judges a type."""
    operation = OPERATIONS[type_]
    build = getattr(_operations(operation), operation.build)
    names = [
        name
        for name, one in inspect.signature(build).parameters.items()
        if one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    query = build(**dict.fromkeys(names, "x")).url.partition("?")[2]
    return parse_qs(query)["api-version"][0]


def _path(request: Request, operation: Operation) -> Iterator[tuple[str, str]]:
    try:
        path, limits = _address(request, operation)
    except TypeError as wrong:
        # A parameter that the function does not have, or one that it misses.
        yield "path", str(wrong)
        return
    for step, ours in zip_longest(path.split("/"), request.source.id.split("/")):
        if step != ours:
            yield "path", f"{ours!r} stands in the resource's id where the service's path has {step!r}"
    for name, value in request.path.items():
        yield from ((f"path {name}", says) for says in _limits(value, limits.get(name, {})))


# --- the body


def _keys(attribute: Mapping[str, str]) -> tuple[str, ...]:
    """The property's place: `properties.sku` is two steps, and a point after a backslash is none."""
    return tuple(step.replace("\\.", ".") for step in re.split(r"(?<!\\)\.", attribute["key"]))


def _object(value: Any, model: Any, where: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, Mapping):
        yield where, f"{value!r} is not an object"
        return
    assert not getattr(model, "_subtype_map", None), (
        f"{model.__name__} has kinds of its own; none is judged yet"
    )
    places = {_keys(attribute): name for name, attribute in model._attribute_map.items()}
    given: dict[str, Any] = {}
    yield from _sorted_out(value, places, (), where, given)
    for name, attribute in model._attribute_map.items():
        inside = ".".join(filter(None, [where, *_keys(attribute)]))
        rules = model._validation.get(name, {})
        if name not in given:
            if rules.get("required"):
                yield inside, "is missing"
        elif rules.get("readonly"):
            yield inside, "is read-only"
        else:
            wrong = [*_value(given[name], attribute["type"], model, name, inside)]
            # What is of another type has no length or size to speak of.
            says = (
                [] if wrong else [*_limits(given[name], rules), *_documented(given[name], model, name, given)]
            )
            yield from (*wrong, *((inside, one) for one in says))


def _sorted_out(
    value: Mapping[str, Any],
    places: Mapping[tuple[str, ...], str],
    before: tuple[str, ...],
    where: str,
    given: dict[str, Any],
) -> Iterator[tuple[str, str]]:
    """Put each value under its attribute's name in `given`; yield what has no attribute."""
    for key, inner in value.items():
        place = (*before, key)
        if place in places:
            given[places[place]] = inner
        elif isinstance(inner, Mapping) and any(known[: len(place)] == place for known in places):
            yield from _sorted_out(inner, places, place, where, given)
        else:
            yield ".".join(filter(None, [where, *place])), "is unknown"


def _value(value: Any, type_: str, model: Any, name: str, where: str) -> Iterator[tuple[str, str]]:
    if type_.startswith("["):
        if not isinstance(value, list):
            yield where, f"{value!r} is not a list"
            return
        for item in value:
            yield from _value(item, type_[1:-1], model, name, f"{where}[]")
    elif type_.startswith("{"):
        if not isinstance(value, Mapping):
            yield where, f"{value!r} is not an object"
            return
        for item in value.values():
            yield from _value(item, type_[1:-1], model, name, f"{where}.*")
    elif type_ in _JSON_TYPES:
        is_bool = isinstance(value, bool)
        if not isinstance(value, _JSON_TYPES[type_]) or is_bool is not (type_ == "bool"):
            yield where, f"{value!r} is not of type {type_}"
            return
        values = enumerations(model).get(name)
        if values is not None and value not in [one.value for one in values]:
            yield where, f"{value!r} is not one of the {len(values)} values of {values.__name__}"
    else:
        yield from _object(value, getattr(_models(model), type_), where)


def _models(model: Any) -> ModuleType:
    return sys.modules[model.__module__.rpartition(".")[0]]


@functools.cache
def enumerations(model: Any) -> Mapping[str, type[Enum]]:
    """Attribute → its enumeration, as the constructor's type hints name it."""
    names = {**vars(sys.modules[model.__module__]), "_models": _models(model)}
    hints = typing.get_type_hints(model.__init__, globalns=names)
    found = {name: next(_enumerations_in(hint), None) for name, hint in hints.items()}
    return {name: one for name, one in found.items() if one is not None}


def _enumerations_in(hint: Any) -> Iterator[type[Enum]]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield hint
    for inner in typing.get_args(hint):
        yield from _enumerations_in(inner)


# --- limits

_LIMIT_SAYS: Mapping[str, str] = {
    "max_length": "{length} characters, at most {limit}",
    "min_length": "{length} characters, at least {limit}",
    "max_items": "{length} items, at most {limit}",
    "min_items": "{length} items, at least {limit}",
    "maximum": "{value} is more than {limit}",
    "minimum": "{value} is less than {limit}",
    "pattern": "{value!r} does not match {limit}",
}


def _limits(value: Any, rules: Mapping[str, Any]) -> Iterator[str]:
    """What the SDK's own rules, which it keeps and does not apply, say of a value."""
    for rule, broken in Serializer.validation.items():
        if rule in rules and broken(value, rules[rule]):
            length = len(value) if isinstance(value, str | list) else 0
            yield _LIMIT_SAYS[rule].format(value=value, length=length, limit=rules[rule])


class _Context(NamedTuple):
    beside: Mapping[str, Any]
    """The values of the same object, by attribute."""
    models: ModuleType


def _longest(value: str, _: _Context, most: str) -> str | None:
    return f"{len(value)} characters, at most {most}" if len(value) > int(most) else None


def _of_length(value: str, _: _Context, least: str, most: str) -> str | None:
    return None if int(least) <= len(value) <= int(most) else f"{len(value)} characters, {least} to {most}"


def _longest_decoded(value: str, _: _Context, most: str) -> str | None:
    try:
        length = len(base64.b64decode(value, validate=True))
    except binascii.Error:
        return "is not base64"
    return f"{length} bytes, at most {most}" if length > int(most) else None


def _between(value: int, _: _Context, least: str, most: str) -> str | None:
    return None if int(least) <= value <= int(most) else f"{value} is not between {least} and {most}"


def _largest(value: int, _: _Context, most: str) -> str | None:
    return f"{value} is more than {most}" if value > int(most) else None


def _none_of(value: str, _: _Context, names: str) -> str | None:
    return f"{value!r} is disallowed" if value in re.findall(r'"([^"]*)"', names) else None


def _one_of(value: str, _: _Context, names: str) -> str | None:
    allowed = re.findall(r"\*\*(\w+)\*\*", names)
    return None if value in allowed else f"{value!r} is not one of {', '.join(allowed)}"


def _name_one_of(value: Mapping[str, Any], context: _Context, enumeration: str) -> str | None:
    values = [one.value for one in getattr(context.models, enumeration)]
    return None if value["name"] in values else f"{value['name']!r} is not one of {', '.join(values)}"


def _ports(value: str, _: _Context, least: str, most: str) -> str | None:
    ports = value.split("-")
    right = value == "*" or (
        len(ports) <= 2
        and all(port.isdecimal() for port in ports)
        and int(least) <= int(ports[0]) <= int(ports[-1]) <= int(most)
    )
    return None if right else f"{value!r} is neither '*' nor a port or range between {least} and {most}"


def _capacity(value: bool, context: _Context, most: str) -> str | None:
    capacity = context.beside.get("sku", {}).get("capacity")
    over = value and isinstance(capacity, int) and capacity > int(most)
    return f"{capacity} nodes, at most {most}" if over else None


#: A sentence of a property's documentation → what it demands.
DOCUMENTED: Mapping[str, Callable[..., str | None]] = {
    r"\*\*Max-length \(Linux\):\*\* (\d+) characters": _longest,
    r"Computer name prefixes must be (\d+) to (\d+) characters long": _of_length,
    r"Restricted to (\d+) chars": _longest,
    r"The maximum length of the binary array is (\d+) bytes": _longest_decoded,
    r"The value can be between (\d+) and (\d+)": _between,
    r"the value cannot be larger than (\d+)": _largest,
    r'\*\*Disallowed values:\*\* ((?:"[^"]*"(?:, )?)+)': _none_of,
    r"Possible Values:((?:\\?\s|\\|:code:`<br />`|\*\*\w+\*\*|\.)+)$": _one_of,
    r"See (\w+) for possible set of values": _name_one_of,
    r"Integer or range between (\d+) and (\d+)\. Asterisk": _ports,
    r"limits the scale set to a single placement group, of max size (\d+) virtual machines": _capacity,
}


@functools.cache
def _documentation(model: Any) -> Mapping[str, str]:
    described = re.findall(r":ivar (\w+): (.*?)(?=\n\s*:vartype)", model.__doc__ or "", re.DOTALL)
    return {name: " ".join(text.split()) for name, text in described}


def demands(model: Any, name: str) -> Iterator[tuple[Callable[..., str | None], tuple[str, ...]]]:
    """(demand, its numbers or names) of each sentence of an attribute's documentation that has one."""
    text = _documentation(model).get(name, "")
    for sentence, demand in DOCUMENTED.items():
        found = re.search(sentence, text)
        if found:
            yield demand, found.groups()


def _documented(value: Any, model: Any, name: str, beside: Mapping[str, Any]) -> Iterator[str]:
    context = _Context(beside, _models(model))
    for demand, given in demands(model, name):
        says = demand(value, context, *given)
        if says is not None:
            yield f"{says} (the property's documentation)"
