"""Find what is wrong in a topology file: what NCCL rejects, drops, misreads, or takes for another machine.

The text is read by NCCL's own grammar, not as XML, so every finding has its line even where no XML library would
read the file. `gpu_fabric.nccl.topology.rules` holds what each code means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from gpu_fabric.nccl.findings import Finding, ordered
from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.topology.lint import attributes, devices, elements, layout
from gpu_fabric.nccl.topology.lint.file import File, Found, layout_of
from gpu_fabric.nccl.topology.lint.syntax import check_syntax
from gpu_fabric.nccl.topology.read import known_elements, read_bytes, system_root
from gpu_fabric.nccl.topology.rules import RULES
from gpu_fabric.nccl.topology.syntax import decode, read_document

__all__ = ["lint", "lint_file"]

_CHECKS: tuple[Callable[[File], Iterator[Found]], ...] = (
    elements.check_version,
    elements.check_cpus_present,
    elements.check_element_count,
    elements.check_places,
    attributes.check_attribute_counts,
    attributes.check_attribute_names,
    attributes.check_numbers,
    attributes.check_left_to_host,
    devices.check_cpus,
    devices.check_bus_ids,
    devices.check_pci_attributes,
    devices.check_switches,
    devices.check_links,
    devices.check_nets,
    layout.check_layout_known,
    layout.check_devices,
    layout.check_device_places,
    layout.check_masks,
    layout.check_device_ids,
    layout.check_net_speeds,
)


def lint(text: str, path: str = "topology.xml", size: NodeSize | None = None) -> list[Finding]:
    """Everything that is wrong with a topology file's text, in reading order.

    `path` is the name that the findings carry. With `size` the file is also held to the layout that is published
    for that size. Never raises, whatever the text.
    """
    document = read_document(text)
    found = [*check_syntax(document)]
    root = system_root(document)
    if root is None:
        if document.complete or document.roots:
            found.append(elements.no_root(document))
    else:
        kept = known_elements(root)
        file = File(document, root, kept, size, layout_of(kept, size))
        for check in _CHECKS:
            found.extend(check(file))
    return ordered(RULES[f.code].finding(path, f.line, f.detail, f.remedy) for f in found)


def lint_file(path: Path, size: NodeSize | None = None) -> list[Finding]:
    """`lint` of a file; one that cannot be read is a finding too."""
    try:
        raw = read_bytes(path)
    except OSError as failed:
        return [RULES["topology-unreadable"].finding(str(path), None, failed.strerror or str(failed))]
    return lint(decode(raw), str(path), size)
