"""Write a topology as the text that NCCL reads: the same text for the same topology, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_fabric.nccl.topology.errors import TopologyError
from gpu_fabric.nccl.topology.model import ELEMENTS, Node, Topology, attribute_fields, child_fields
from gpu_fabric.nccl.topology.read import MAX_ELEMENTS
from gpu_fabric.nccl.topology.syntax import MAX_STRING

_TAGS = {model: tag for tag, model in ELEMENTS.items()}
_MAX_ATTRIBUTES = 15
"""One below NCCL's table, to which it adds attributes of its own without looking."""


def to_xml(topology: Topology) -> str:
    """The file's text, ending in a line feed: no declaration, one tag a line, two spaces a level.

    Raises `TopologyError` for what NCCL could not read back: over 255 elements, a value that contains `"` or a zero
    byte or is longer than 253 characters, more attributes than NCCL's table holds.
    """
    lines = list(_lines(topology, 0))
    elements = sum(not line.lstrip().startswith("</") for line in lines)
    if elements > MAX_ELEMENTS:
        raise TopologyError(
            f"the topology has {elements} elements, and NCCL takes at most {MAX_ELEMENTS}.",
            remedy="Leave out `gpu`, `nic` and `nvlink`, which NCCL adds itself.",
        )
    return "".join(f"{line}\n" for line in lines)


def _lines(node: Node, depth: int) -> Iterator[str]:
    tag = _TAGS[type(node)]
    indent = "  " * depth
    attributes = list(_attributes(node))
    if len(attributes) > _MAX_ATTRIBUTES:
        raise TopologyError(f"a {tag} has {len(attributes)} attributes, and NCCL takes {_MAX_ATTRIBUTES}.")
    opening = " ".join([f"<{tag}", *attributes])
    children = [child for name in child_fields(type(node)).values() for child in getattr(node, name)]
    if not children:
        yield f"{indent}{opening}/>"
        return
    yield f"{indent}{opening}>"
    for child in children:
        yield from _lines(child, depth + 1)
    yield f"{indent}</{tag}>"


def _attributes(node: Node) -> Iterator[str]:
    if isinstance(node, Topology):
        yield 'version="1"'
    for attribute, name in attribute_fields(type(node)).items():
        value = getattr(node, name)
        if value is not None:
            yield f'{attribute}="{_checked(attribute, value)}"'


def _checked(attribute: str, value: Any) -> str:
    text = str(value)
    if '"' in text or "\0" in text:
        raise TopologyError(f"the value of {attribute} contains a quotation mark or a zero byte: {text!r}.")
    if len(text) > MAX_STRING:
        raise TopologyError(
            f"the value of {attribute} has {len(text)} characters, and NCCL takes {MAX_STRING}."
        )
    return text
