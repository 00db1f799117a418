"""Components in the form that Pulumi's schema inference reads.

`pulumi.provider.experimental` looks at annotations as they stand: it takes one that is text for the name of a type, and
knows `list`, `dict` and `Optional` but neither `Sequence`, `Mapping` nor `X | None`. So each component gets a subclass
whose annotations, and those of its arguments, are resolved. Names, modules and docstrings stay.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import (
    Any,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pulumi

#: `pulumi.Input` names its own output as text, `Output[T]`.
_NAMES = {"Output": pulumi.Output, "T": Any}


#: Made at run time, which a type checker does not follow.
_TYPED_DICT: Any = TypedDict


def _of(generic: Any, parameters: Any) -> Any:
    return generic[parameters]


def served(component: type[pulumi.ComponentResource]) -> type[pulumi.ComponentResource]:
    """The component with resolved annotations, and with numbers as they were before the wire."""
    hints = get_type_hints(component.__init__, localns=_NAMES)

    def construct(self: Any, name: str, args: Any, opts: pulumi.ResourceOptions | None = None) -> None:
        component.__init__(self, name, _with_whole_numbers(args), opts)  # ty: ignore[invalid-argument-type]

    construct.__annotations__ = {
        "name": str,
        "args": _resolved(hints["args"]),
        "opts": pulumi.ResourceOptions | None,
    }
    own = inspect.get_annotations(component, eval_str=True)
    resolved = {name: _resolved(hint) for name, hint in own.items()}
    members = {
        "__doc__": component.__doc__,
        "__module__": component.__module__,
        "__qualname__": component.__qualname__,
        "__annotations__": resolved,
        "__init__": construct,
    }
    return type(component.__name__, (component,), members)


def _resolved(hint: Any) -> Any:
    if is_typeddict(hint):
        return _typed_dict(hint)
    origin, inner = get_origin(hint), tuple(_resolved(each) for each in get_args(hint))
    if origin is Union and any(get_origin(each) is pulumi.Output for each in inner):
        return _of(pulumi.Input, inner[0])
    if origin in (Union, types.UnionType):
        return _of(Union, inner)
    if origin in (Sequence, list):
        return _of(list, inner)
    if origin in (Mapping, dict):
        return _of(dict, inner)
    if origin is not None and inner:
        return origin[inner[0] if len(inner) == 1 else inner]
    return hint


def _typed_dict(given: Any) -> Any:
    fields = {}
    for name, hint in get_type_hints(given, localns=_NAMES, include_extras=True).items():
        marked = get_origin(hint) is NotRequired
        kind = _resolved(get_args(hint)[0] if marked else hint)
        # Where the annotations are text, `__optional_keys__` knows `total=False` alone.
        fields[name] = NotRequired[kind] if marked or name in given.__optional_keys__ else kind
    made = _TYPED_DICT(given.__name__, fields)
    made.__module__, made.__qualname__, made.__doc__ = given.__module__, given.__qualname__, given.__doc__
    return made


def _with_whole_numbers(value: Any) -> Any:
    """On the wire every number is a double; the settings ask for whole numbers where they mean them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _with_whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(inner) for inner in value]
    return value
