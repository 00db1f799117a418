"""Checks of any attribute: how many an element has, names, numbers, and what is left to the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.lint.file import (
    File,
    Found,
    has_pci,
    is_invented,
    is_published,
)
from gpu_fabric.nccl.topology.model import ELEMENTS, attribute_fields
from gpu_fabric.nccl.topology.read import attribute_readers
from gpu_fabric.nccl.topology.syntax import Element

_MANY_ATTRIBUTES = 10
_ATTRIBUTE_TABLE = 16
#: Elements to whose table NCCL appends without looking at its end.
_OVERFLOWING = ("net", "cpu")


#: Attributes that NCCL needs to build the graph and fills in on a host.
_FILLED_IN: Mapping[str, tuple[str, ...]] = {
    "cpu": ("arch", "vendor", "familyid", "modelid"),
    "pci": ("class", "link_speed", "link_width"),
    "gpu": ("dev", "sm", "rank", "gdr", "mlopart"),
}


#: Words that people write for what NCCL calls otherwise.
_MEANT_ATTRIBUTE: Mapping[str, str] = {
    "subsys": "Write `subsystem_vendor` and `subsystem_device`, or delete it.",
    "bw": "Write `speed` in Mb/s, or delete it.",
    "numa": "Write `numaid`.",
    "bus_id": "Write `busid`.",
}


def check_attribute_counts(file: File) -> Iterator[Found]:
    for element in file.kept:
        count = len(element.attributes) + element.blank_attributes
        detail = f"<{element.tag}> has {count}"
        if count >= _ATTRIBUTE_TABLE and element.tag in _OVERFLOWING:
            yield Found("topology-attribute-overflow", element.line, detail)
        elif count > _ATTRIBUTE_TABLE:
            yield Found("topology-attributes-dropped", element.line, detail)
        elif count > _MANY_ATTRIBUTES:
            yield Found("topology-many-attributes", element.line, detail)


def check_attribute_names(file: File) -> Iterator[Found]:
    for element in file.document.elements:
        if element.tag not in ELEMENTS:
            continue
        known = [*attribute_fields(ELEMENTS[element.tag]), *(["version"] if element.tag == "system" else [])]
        for attribute in element.attributes:
            if attribute.name == "keep":
                yield Found("topology-keep", attribute.line, f"on <{element.tag}>")
            elif attribute.name not in known:
                detail = f"`{attribute.name}` of <{element.tag}>"[:80]
                yield Found(
                    "topology-attribute-unknown",
                    attribute.line,
                    detail,
                    _meant_attribute(attribute.name, known),
                )


def _meant_attribute(name: str, known: list[str]) -> str:
    if name in _MEANT_ATTRIBUTE:
        return _MEANT_ATTRIBUTE[name]
    near = get_close_matches(name[:40], known, n=1, cutoff=0.75)
    return f"Did you mean `{near[0]}`? Else delete it." if near else ""


def check_numbers(file: File) -> Iterator[Found]:
    for element in file.kept:
        model = ELEMENTS[element.tag]
        readers = attribute_readers(model)
        for attribute in element.attributes:
            field = attribute_fields(model).get(attribute.name)
            if field is None or attribute.name == "link_width":
                continue
            read = readers[field]
            whole = {
                values.read_integer: values.is_whole_integer,
                values.read_decimal: values.is_whole_decimal,
            }
            if read in whole and not whole[read](attribute.value):
                yield Found(
                    "topology-number",
                    attribute.line,
                    f"{attribute.name}={attribute.value[:40]!r} is read as {read(attribute.value):g}",
                )


def check_left_to_host(file: File) -> Iterator[Found]:
    first: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for element in file.of(*_FILLED_IN):
        for name in _FILLED_IN[element.tag]:
            missing = element.attribute(name) is None and not _reported_missing(file, element, name)
            if missing and name not in names.setdefault(element.tag, []):
                names[element.tag].append(name)
                first.setdefault(element.tag, element.line)
    for tag, line in first.items():
        yield Found("topology-left-to-host", line, f"{', '.join(names[tag])} of <{tag}>")


def _reported_missing(file: File, element: Element, name: str) -> bool:
    """Whether another rule speaks of it, or NCCL does not need it here."""
    if element.tag == "cpu":
        if name == "vendor":
            return element.get("arch") not in (None, "x86_64")
        if name in ("familyid", "modelid"):
            return element.get("vendor") != "GenuineIntel" or element.get("familyid") is not None
        return False
    if element.tag == "pci" and has_pci(element):
        return (name == "class" and not is_published(file, element)) or is_invented(element)
    return False
