"""Read a topology file into the model: what NCCL would take from it, or why it would refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from gpu_fabric.nccl.topology.errors import TopologyError
from gpu_fabric.nccl.topology.model import ELEMENTS as MODELS
from gpu_fabric.nccl.topology.model import Node, Topology, attribute_fields, child_fields
from gpu_fabric.nccl.topology.rules import RULES
from gpu_fabric.nccl.topology.syntax import MAX_CHARACTERS, Document, Element, decode, read_document
from gpu_fabric.nccl.topology.values import read_decimal, read_integer

MAX_ELEMENTS = 255
"""Elements that NCCL takes (`NCCL_TOPO_XML_MAX_NODES` is 256, and one stays free)."""

_REQUIRED = {"cpu": ("numaid",), "pci": ("busid",)}
_READERS: Mapping[str, Any] = {"int": read_integer, "float": read_decimal, "str": str}

AnyNode = TypeVar("AnyNode", bound=Node)


def parse(text: str) -> Topology:
    """The topology that NCCL takes from this text.

    Reads hand-made files, the vendors' and those of NCCL_TOPO_DUMP_FILE. What NCCL ignores (elements out of place,
    attributes it does not know) is left out; the lint reports it. Raises `TopologyError` where NCCL rejects the text
    or takes nothing from it.
    """
    document = read_document(text)
    _refuse_faults(document)
    root = system_root(document)
    if root is None:
        rule = RULES["topology-root-not-system" if document.roots else "topology-empty"]
        line = document.roots[0].line if document.roots else 1
        raise TopologyError(f"{rule.summary}.", line=line, remedy=rule.remedy)
    _refuse_version(root)
    known = len(known_elements(root))
    if known > MAX_ELEMENTS:
        rule = RULES["topology-too-many-elements"]
        raise TopologyError(f"{rule.summary}: {known}.", line=root.line, remedy=rule.remedy)
    return cast(Topology, _build(root))


def parse_file(path: Path) -> Topology:
    """`parse` of a file's text; `TopologyError` names the file."""
    try:
        text = decode(read_bytes(path))
    except OSError as failed:
        raise TopologyError(f"{path}: {failed.strerror}.") from None
    try:
        return parse(text)
    except TopologyError as refused:
        raise TopologyError(f"{path}: {refused}") from None


def read_bytes(path: Path) -> bytes:
    """The beginning of a file: one byte more than any text that is looked at can have."""
    with path.open("rb") as file:
        return file.read(4 * MAX_CHARACTERS + 1)


def system_root(document: Document) -> Element | None:
    """The element that NCCL starts from."""
    return next((root for root in document.roots if root.tag == "system"), None)


def known_elements(root: Element) -> list[Element]:
    """The elements that NCCL keeps, in reading order: those that stand where they may."""
    kept: list[Element] = []
    stack = [root]
    while stack:
        element = stack.pop()
        kept.append(element)
        allowed = child_fields(MODELS[element.tag])
        stack.extend(child for child in reversed(element.children) if child.tag in allowed)
    return kept


def _refuse_faults(document: Document) -> None:
    refused = [fault for fault in document.faults if RULES[fault.code].rejected or not document.complete]
    if not refused:
        return
    first = refused[0]
    rule = RULES[first.code]
    detail = f": {first.detail}" if first.detail else ""
    more = f" {len(refused) - 1} more such faults follow." if len(refused) > 1 else ""
    raise TopologyError(f"{rule.summary}{detail}.{more}", line=first.line, remedy=rule.remedy)


def _refuse_version(root: Element) -> None:
    version = root.get("version")
    if version is None or read_integer(version) != 1:
        rule = RULES["topology-version-missing" if version is None else "topology-version-wrong"]
        raise TopologyError(f"{rule.summary}.", line=root.line, remedy=rule.remedy)


@cache
def attribute_readers(model: type[Node]) -> Mapping[str, Any]:
    """Field name → the function that reads the attribute's text."""
    # The annotations are texts here (`from __future__ import annotations`): "int | None" is read as an int.
    return {f.name: _READERS[str(f.type).split(" ")[0]] for f in fields(model) if f.name in _own(model)}


def _own(model: type[Node]) -> frozenset[str]:
    return frozenset(attribute_fields(model).values())


def _build(element: Element) -> Node:
    model = MODELS[element.tag]
    for name in _REQUIRED.get(element.tag, ()):
        if element.get(name) is None:
            rule = RULES[f"topology-{name}-missing"]
            raise TopologyError(f"{rule.summary}.", line=element.line, remedy=rule.remedy)
    values: dict[str, Any] = {}
    for attribute, name in attribute_fields(model).items():
        text = element.get(attribute)
        if text is not None:
            values[name] = attribute_readers(model)[name](text)
    for tag, name in child_fields(model).items():
        values[name] = tuple(_build(child) for child in element.children if child.tag == tag)
    return model(**values)
