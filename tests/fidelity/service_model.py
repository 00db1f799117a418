"""Requests judged by botocore's models of the services: AWS's own description of its APIs.

botocore checks names, types, required members and lower limits before it sends a request. Its models say more than it
checks, so three more questions are asked here of the same models: is the value one of the enumeration, is the text
within its upper limit and pattern, and is it one of the values that the member's documentation lists
(`Valid values: <code>a</code> | <code>b</code>`) where there is no enumeration.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
import regex
from botocore.model import ListShape, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator

from tests.fidelity.to_api import Request

_VALID_VALUES = re.compile(r"Valid values?:\s*((?:<code>[^<]+</code>(?:\s*(?:\||,|or)\s*)?)+)", re.IGNORECASE)
_CODE = re.compile(r"<code>([^<]+)</code>")
#: The services' patterns are Java's: it has \\p{…}, as `regex` has, and writes characters beyond 16 bits as pairs.
_JAVA_PAIRS = (r"\uD800\uDC00-\uDBFF\uDFFF", "\U00010000-\U0010ffff")


@functools.cache
def _session() -> botocore.session.Session:
    return botocore.session.Session()


@functools.cache
def input_shape(service: str, operation: str) -> Shape:
    """The shape of an operation's parameters."""
    shape = _session().get_service_model(service).operation_model(operation).input_shape
    assert shape is not None, f"{service} {operation} takes no parameters"
    return shape


def documented_values(shape: Shape) -> tuple[str, ...]:
    """The values that the member's documentation lists; empty where it lists none."""
    found = _VALID_VALUES.search(shape.documentation or "")
    return tuple(_CODE.findall(found[1])) if found else ()


def _limits(value: str, shape: StringShape, where: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield f"{where}: {value!r} is not one of the {len(shape.enum)} values of {shape.name}"
    listed = () if shape.enum else documented_values(shape)
    if listed and value not in listed:
        yield f"{where}: {value!r} is not one of {', '.join(listed)} (the member's documentation)"
    longest = shape.metadata.get("max")
    if longest is not None and len(value) > longest:
        yield f"{where}: {len(value)} characters, at most {longest}"
    pattern = shape.metadata.get("pattern", "").replace(*_JAVA_PAIRS)
    if pattern and not regex.fullmatch(pattern, value):
        yield f"{where}: {value!r} does not match {pattern}"


def _walk(value: Any, shape: Shape, where: str) -> Iterator[str]:
    """What the model says and botocore does not check. Wrong names and types are botocore's to report."""
    match shape, value:
        case StructureShape(), Mapping():
            for name in sorted(value.keys() & shape.members.keys()):
                yield from _walk(value[name], shape.members[name], f"{where}.{name}" if where else name)
        case ListShape(), list():
            longest = shape.metadata.get("max")
            if longest is not None and len(value) > longest:
                yield f"{where}: {len(value)} items, at most {longest}"
            for place, item in enumerate(value):
                yield from _walk(item, shape.member, f"{where}[{place}]")
        case StringShape(), str():
            yield from _limits(value, shape, where)
        case Shape(), int() | float():
            most = shape.metadata.get("max")
            if most is not None and value > most:
                yield f"{where}: {value} is more than {most}"


def problems(request: Request) -> list[str]:
    """Everything that the service's model holds against a request."""
    shape = input_shape(request.service, request.operation)
    report = ParamValidator().validate(request.parameters, shape).generate_report()
    return [*filter(None, report.splitlines()), *_walk(request.parameters, shape, "")]
