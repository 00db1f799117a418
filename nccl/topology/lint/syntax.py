"""Checks of the text itself: the grammar, quotes, stray spaces, entities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.lint.file import (
    Found,
)
from gpu_fabric.nccl.topology.syntax import Document

_ENTITY = re.compile(r"&(#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{1,10});")


def check_syntax(document: Document) -> Iterator[Found]:
    for fault in document.faults:
        yield Found(fault.code, fault.line, fault.detail)
    for element in document.elements:
        if element.blank_attributes:
            yield Found("topology-stray-space", element.line, f"in <{element.tag}>")
        for attribute in element.attributes:
            if attribute.quote == "'":
                yield Found(
                    "topology-single-quotes", attribute.line, f"{attribute.name}='{attribute.value}'"[:80]
                )
            entity = _ENTITY.search(attribute.value[: values.LONGEST])
            if entity:
                yield Found(
                    "topology-entity",
                    attribute.line,
                    f"{entity.group()} in {attribute.name}",
                    f"Write {unescape(entity.group())!r} itself, or another word.",
                )
