"""Checks of the file as a whole: its root, its version, how many elements it has and where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.nccl.topology import values
from gpu_fabric.nccl.topology.lint.file import (
    File,
    Found,
    kind_of,
)
from gpu_fabric.nccl.topology.model import ELEMENTS, child_fields
from gpu_fabric.nccl.topology.read import MAX_ELEMENTS
from gpu_fabric.nccl.topology.syntax import Document

#: What NCCL adds at most for its own GPU: the gpu and one nvlink for each link of the largest.
_OWN_GPU_ELEMENTS = 19


def no_root(document: Document) -> Found:
    if not document.roots:
        return Found("topology-empty", None)
    first = document.roots[0]
    return Found("topology-root-not-system", first.line, f"<{first.tag}>"[:80])


def check_cpus_present(file: File) -> Iterator[Found]:
    if not any(True for _ in file.of("cpu")):
        yield Found("topology-no-cpu", file.root.line)


def check_version(file: File) -> Iterator[Found]:
    version = file.root.get("version")
    if version is None:
        yield Found("topology-version-missing", file.root.line)
    elif values.read_integer(version) != 1:
        yield Found("topology-version-wrong", file.root.line, f"version={version!r}"[:80])


def check_element_count(file: File) -> Iterator[Found]:
    count = len(file.kept)
    bare_nics = sum(
        kind_of(e) == "nic" and not any(c.tag == "nic" for c in e.children) for e in file.of("pci")
    )
    added = _OWN_GPU_ELEMENTS + 2 * bare_nics
    if count > MAX_ELEMENTS:
        beyond = file.kept[MAX_ELEMENTS]
        yield Found(
            "topology-too-many-elements", beyond.line, f"{count}, of which this is number {MAX_ELEMENTS + 1}"
        )
    elif count + added > MAX_ELEMENTS:
        yield Found(
            "topology-element-limit-near", file.root.line, f"{count} in the file, up to {added} added"
        )


def check_places(file: File) -> Iterator[Found]:
    for element in file.document.elements:
        parent = element.parent
        if element is file.root or (parent is not None and parent.tag not in ELEMENTS):
            continue
        if element.tag not in ELEMENTS:
            yield Found("topology-element-unknown", element.line, f"<{element.tag}>"[:80])
        elif parent is None or element.tag not in child_fields(ELEMENTS[parent.tag]):
            where = "outside of <system>" if parent is None else f"in <{parent.tag}>"
            yield Found(
                "topology-element-misplaced", element.line, f"<{element.tag}> {where}", _place(element.tag)
            )


def _place(tag: str) -> str:
    allowed = [name for name, model in ELEMENTS.items() if tag in child_fields(model)]
    if not allowed:
        return "Delete it; the file has one `system`, around everything."
    inside = " or ".join(f"`<{name}>`" for name in allowed)
    return f"Write it inside {inside}."
