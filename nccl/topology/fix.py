"""Mend a topology file where it is plain what was meant, so that NCCL reads what its author wrote.

Nothing is guessed: what has several readings (a number with a unit, a missing NUMA id, text between elements) stays,
and the lint goes on reporting it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from html import unescape

from gpu_fabric.nccl.hardware.models import NodeSize
from gpu_fabric.nccl.topology.lint.devices import HOST_BRIDGE
from gpu_fabric.nccl.topology.lint.file import File, has_pci, is_published, layout_of
from gpu_fabric.nccl.topology.lint.layout import masks_of_other_nodes
from gpu_fabric.nccl.topology.meant import meant
from gpu_fabric.nccl.topology.model import ELEMENTS, attribute_fields, child_fields
from gpu_fabric.nccl.topology.read import MAX_ELEMENTS, known_elements, system_root
from gpu_fabric.nccl.topology.syntax import Attribute, Document, Element, read_document

_SWITCH_CLASS = "0x060400"
#: Faults after which nobody can say which element a passage belongs to.
_UNCLEAR = frozenset(
    {
        "topology-text",
        "topology-trailing-text",
        "topology-mismatched-tag",
        "topology-mismatched-tag-dropped",
        "topology-stray-closing-tag",
        "topology-unterminated-comment",
        "topology-unclosed-element",
        "topology-unclosed-tag",
        "topology-unexpected-end",
        "topology-string-too-long",
    }
)


def fix(text: str, size: NodeSize | None = None) -> str:
    """The mended text; the same text, to the byte, where there is nothing to mend or the text is past mending.

    Mends the grammar (declaration, tabs, quotes, spaces), spellings (bus ids, link speeds and widths, masks,
    architecture), `net` outside of `nic` (put into one, or deleted where it lacks what NCCL needs there), switches
    without class, and deletes `keep` and attributes that NCCL does not know. Comments stay. With `size`, or where the
    bus ids give the size away, swapped CPU masks are put right too.
    """
    document = read_document(text)
    root = system_root(document)
    unclear = not document.complete or any(fault.code in _UNCLEAR for fault in document.faults)
    if root is None or unclear or len(document.elements) > MAX_ELEMENTS:
        return text
    # Quotes inside a value, which only a forgotten or a single quote lets through.
    if any('"' in a.name + a.value for element in document.elements for a in element.attributes):
        return text
    written_wrongly = bool(document.faults) or any(
        element.blank_attributes or any(a.quote != '"' for a in element.attributes)
        for element in document.elements
    )
    kept = known_elements(root)
    file = File(document, root, kept, size, layout_of(kept, size))
    # Masks first: they are judged by the bus ids as written.
    mended = [_set(cpu, "affinity", mask) for cpu, mask in masks_of_other_nodes(file)]
    dropped: set[int] = set()
    mended += [change for element in document.elements for change in _mend(file, element, dropped)]
    return _written(document, dropped) if written_wrongly or any(mended) else text


def _mend(file: File, element: Element, dropped: set[int]) -> Iterator[bool]:
    """Mend one element in place, or add its id to `dropped`; what was changed comes as True."""
    if element.tag not in ELEMENTS:
        return
    if element is file.root and element.get("version") is None:
        element.attributes.insert(0, Attribute("version", "1", element.line))
        yield True
    known = {*attribute_fields(ELEMENTS[element.tag]), *(("version",) if element is file.root else ())}
    unknown = [a for a in element.attributes if a.name not in known]
    for attribute in unknown:
        element.attributes.remove(attribute)
        yield True
    for attribute in [*element.attributes]:
        plain = unescape(attribute.value)
        right = meant(element.tag, attribute.name, plain) or plain
        if '"' not in right:
            yield _set(element, attribute.name, right)
    if (
        element.tag == "pci"
        and has_pci(element)
        and element.get("class") is None
        and not is_published(file, element)
        and not HOST_BRIDGE.fullmatch(element.get("busid") or "")
    ):
        element.attributes.insert(1, Attribute("class", _SWITCH_CLASS, element.line))
        yield True
    if element.tag == "net" and element.parent is not None and "nic" in _children(element.parent):
        # NCCL ignores it where it stands. Without its device's name or gdr it would do harm in the right place.
        if element.get("name") is None or element.get("gdr") is None:
            dropped.add(id(element))
        else:
            _wrap(element, "nic")
        yield True


def _children(element: Element) -> set[str]:
    """Names of the elements that may stand in this one."""
    return set(child_fields(ELEMENTS[element.tag])) if element.tag in ELEMENTS else set()


def _set(element: Element, name: str, value: str) -> bool:
    """Give the first attribute of that name this value; whether that changed it."""
    for at, attribute in enumerate(element.attributes):
        if attribute.name == name:
            element.attributes[at] = Attribute(name, value, attribute.line)
            return attribute.value != value
    return False


def _wrap(element: Element, tag: str) -> None:
    parent = element.parent
    assert parent is not None
    wrapper = Element(tag, element.line, parent, children=[element])
    parent.children[parent.children.index(element)] = wrapper
    element.parent = wrapper


def _written(document: Document, dropped: Collection[int]) -> str:
    comments: dict[tuple[int, int], list[str]] = {}
    for comment in document.comments:
        # With a space first, NCCL does not take the comment's first word for a name with a value.
        space = "" if comment.text[:1] in (" ", "\n", "") else " "
        comments.setdefault((id(comment.parent), comment.index), []).append(f"<!--{space}{comment.text}-->")
    lines = _holder_lines(None, document.roots, comments, dropped, "")
    return "".join(f"{line}\n" for line in lines)


def _holder_lines(
    holder: Element | None,
    children: Sequence[Element],
    comments: Mapping[tuple[int, int], Sequence[str]],
    dropped: Collection[int],
    indent: str,
) -> Iterator[str]:
    """The lines of these children and of the comments among them."""
    for at in range(len(children) + 1):
        yield from (f"{indent}{comment}" for comment in comments.get((id(holder), at), ()))
        if at < len(children) and id(children[at]) not in dropped:
            child = children[at]
            opening = " ".join([f"<{child.tag}", *(f'{a.name}="{a.value}"' for a in child.attributes)])
            inside = [*_holder_lines(child, child.children, comments, dropped, f"{indent}  ")]
            yield f"{indent}{opening}{'>' if inside else '/>'}"
            yield from inside
            if inside:
                yield f"{indent}</{child.tag}>"
