"""The grammar of topology files as NCCL reads it, which is not XML's, with the line of everything that is read.

NCCL's parser is written by hand (NVIDIA/nccl 2.30.7, src/graph/xml.cc). A file that an XML library accepts can be
rejected by it, and the other way round; so the text is read here by NCCL's rules, and every departure from them is
recorded as a fault. After a fault the reader goes on with what was most likely meant, so that one run finds all.

Safe for text from strangers: entities are not decoded, nothing is fetched, the time is linear in the length, and
reading stops at `MAX_CHARACTERS` and at `MAX_ELEMENTS_READ`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from gpu_fabric.nccl.topology.model import ELEMENTS, child_fields

MAX_CHARACTERS = 1_000_000
"""Longest text that is looked at: NCCL's own limits (255 elements of 16 attributes) end below that."""
MAX_ELEMENTS_READ = 2_000
"""Elements after which reading stops; NCCL rejects files from 256 on."""
MAX_FAULTS = 500
"""Faults after which reading stops: such a text is not a topology file."""
MAX_ATTRIBUTES_READ = 1_000
"""Attributes of one element after which reading stops; NCCL reads 16."""
MAX_STRING = 253
"""Longest attribute name or value (`MAX_STR_LEN` 255, less the terminator and the character that ends it)."""

_TAG_NAME = re.compile(r"[^ \r\n/>=]*")
_ATTRIBUTE_NAME = re.compile(r"[^ \t\r\n/>=]+")
_BARE_VALUE = re.compile(r"[^ \t\r\n/>]*")
#: What separates words here; to NCCL every other kind of white space is a letter.
_BLANK = " \t\r\n"
_BLANKS = re.compile(r"[ \t\r\n]+")
_AFTER_SLASH = re.compile(r"[^ \r\n/>=]*>")
_DOCTYPE = re.compile(r"<!DOCTYPE", re.IGNORECASE)
_NOT_MARKUP = re.compile(r"[^<]+")


@dataclass(frozen=True)
class Fault:
    """One departure from the grammar. `code` names a rule of `gpu_fabric.nccl.topology.rules`."""

    code: str
    line: int
    detail: str
    """What was found, to complete the rule's sentence."""


@dataclass(frozen=True)
class Attribute:
    name: str
    value: str
    line: int
    quote: str = '"'


@dataclass(eq=False)
class Element:
    """One element as written."""

    tag: str
    line: int
    parent: Element | None = field(default=None, repr=False)
    attributes: list[Attribute] = field(default_factory=list)
    children: list[Element] = field(default_factory=list, repr=False)
    dropped: bool = False
    """Whether NCCL skips it with all below it, because it knows no such element at that place."""
    blank_attributes: int = 0
    """Stray spaces, each of which NCCL stores as an attribute without a name."""

    def get(self, name: str) -> str | None:
        """The value of the first attribute of that name, as NCCL looks it up."""
        found = self.attribute(name)
        return None if found is None else found.value

    def attribute(self, name: str) -> Attribute | None:
        """The first attribute of that name."""
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(frozen=True)
class Comment:
    """A comment with the place where it stands."""

    parent: Element | None
    index: int
    """Children of the parent (or roots) that come before it."""
    text: str
    """What stands between `<!--` and `-->`."""


@dataclass
class Document:
    """What a text holds, in reading order."""

    roots: list[Element] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    complete: bool = True
    """False where reading stopped before the end."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text[:MAX_CHARACTERS]
        self.document = Document()
        self.open: list[Element] = []
        self.position = 0
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        if len(text) > MAX_CHARACTERS:
            self.stop("topology-too-large", f"{len(text):,} characters", at=0)
            self.text = ""

    def line(self, position: int | None = None) -> int:
        return bisect_right(self.line_starts, self.position if position is None else position)

    def fault(self, code: str, detail: str = "", *, at: int | None = None) -> None:
        faults = self.document.faults
        if len(faults) < MAX_FAULTS:
            faults.append(Fault(code, self.line(at), detail))
        elif self.document.complete:
            self.stop("topology-reading-stopped", f"after {MAX_FAULTS} faults", at=at)

    def stop(self, code: str, detail: str = "", *, at: int | None = None) -> None:
        self.document.faults.append(Fault(code, self.line(at), detail))
        self.document.complete = False

    @property
    def more(self) -> bool:
        return self.document.complete and self.position < len(self.text)

    def read(self) -> Document:
        if self.text.startswith("\ufeff"):
            self.fault("topology-byte-order-mark")
            self.position = 1
        while self.more:
            if self.text[self.position] != "<":
                self.between_elements()
            elif self.text.startswith("<!--", self.position):
                self.comment()
            elif self.text.startswith("<?", self.position):
                self.skip_to(">", "topology-declaration")
            elif _DOCTYPE.match(self.text, self.position):
                self.doctype()
            elif self.text.startswith("</", self.position):
                self.closing_tag()
            else:
                self.opening_tag()
            if len(self.document.elements) >= MAX_ELEMENTS_READ:
                self.stop("topology-reading-stopped", f"after {MAX_ELEMENTS_READ:,} elements")
        if self.open and self.document.complete:
            self.fault("topology-unclosed-element", f"<{self.open[-1].tag}>", at=max(len(self.text) - 1, 0))
        return self.document

    def between_elements(self) -> None:
        match = _NOT_MARKUP.match(self.text, self.position)
        assert match is not None
        words = match.group()
        if "\t" in words:
            self.fault("topology-tab", "between elements", at=match.start() + words.index("\t"))
        content = words.strip(_BLANK)
        if content:
            code = "topology-trailing-text" if self.document.roots and not self.open else "topology-text"
            self.fault(code, _short(content), at=match.start() + words.index(content[0]))
        self.position = match.end()

    def comment(self) -> None:
        start = self.position
        end = self.text.find("-->", start + 4)
        if end < 0:
            self.stop("topology-unterminated-comment", at=start)
            return
        # NCCL reads the first word of a comment as if it were an element's name.
        first = _TAG_NAME.match(self.text, start + 1)
        assert first is not None
        if first.end() < end and self.text[first.end()] == "=":
            self.fault("topology-comment-equals", _short(self.text[start : first.end() + 1]), at=start)
        if len(first.group()) > MAX_STRING:
            self.fault("topology-string-too-long", "the first word of a comment", at=start)
        parent = self.open[-1] if self.open else None
        before = len(parent.children if parent else self.document.roots)
        self.document.comments.append(Comment(parent, before, self.text[start + 4 : end]))
        self.position = end + 3

    def doctype(self) -> None:
        end = self.text.find(">", self.position)
        # Searched up to the end of the tag only, which keeps the time linear.
        has_subset = end >= 0 and self.text.find("[", self.position, end) >= 0
        self.skip_to("]>" if has_subset else ">", "topology-doctype")

    def skip_to(self, end: str, code: str) -> None:
        self.fault(code)
        found = self.text.find(end, self.position)
        self.position = len(self.text) if found < 0 else found + len(end)

    def closing_tag(self) -> None:
        start = self.position
        end = self.text.find(">", start)
        if end < 0:
            self.stop("topology-unexpected-end", "in a closing tag", at=start)
            return
        written = self.text[start + 2 : end]
        tag = written.strip()
        skipped = bool(self.open) and self.open[-1].dropped
        if not _TAG_NAME.fullmatch(written) or ("\t" in written and not skipped):
            self.fault("topology-space-in-closing-tag", _short(f"</{written}>"), at=start)
            tag = tag.split()[0] if tag else ""
        self.position = end + 1
        if not self.open:
            # NCCL skips from here to the next closing tag, as it does with an element that it does not know.
            self.fault("topology-stray-closing-tag", _short(f"</{tag}>"), at=start)
            self.open.append(Element(f"/{tag}", self.line(start), dropped=True))
            return
        top = self.open[-1]
        if top.tag in (tag, f"/{tag}"):
            self.open.pop()
            return
        detail = f"{_short(f'</{tag}>')} where {_short(f'</{top.tag}>')} belongs"
        if top.dropped:
            # In what NCCL skips it counts closing tags and does not compare them.
            self.fault("topology-mismatched-tag-dropped", detail, at=start)
            self.open.pop()
            return
        self.fault("topology-mismatched-tag", detail, at=start)
        # An outer element of that name was meant to end here: end those inside it with it.
        for depth in range(len(self.open) - 1, -1, -1):
            if self.open[depth].tag == tag:
                del self.open[depth:]
                return

    def opening_tag(self) -> None:
        name = _TAG_NAME.match(self.text, self.position + 1)
        assert name is not None
        parent = self.open[-1] if self.open else None
        tag, tab, _ = name.group().partition("\t")
        end = name.end()
        if tab and self.text[end : end + 1] == "=":
            # The tab was meant to end the name; what follows is an attribute.
            self.fault("topology-tab", f"inside <{_short(tag)}>")
            end = name.start() + len(tag)
        elif tab:
            self.fault("topology-tab-in-name", f"inside <{_short(tag)}>")
            tag = name.group()
        tag = _c_string(tag)
        element = Element(tag, self.line(), parent, dropped=_is_dropped(tag, parent))
        if len(element.tag) > MAX_STRING:
            self.fault("topology-string-too-long", f"the name of an element, {len(element.tag):,} characters")
        self.document.elements.append(element)
        (parent.children if parent else self.document.roots).append(element)
        self.position = end
        if self.attributes(element):
            self.open.append(element)

    def attributes(self, element: Element) -> bool:
        """Read to the end of the tag; whether the element stays open."""
        start = self.position
        after_value = False
        while self.more:
            blanks = self.blanks(element, after_value=after_value)
            spaces = blanks.count(" ")
            rest = self.text[self.position : self.position + 1]
            if rest == ">":
                element.blank_attributes += spaces
                self.position += 1
                return True
            if rest == "/":
                element.blank_attributes += spaces
                return self.self_closing()
            # On the same line NCCL takes `<` for the beginning of an attribute's name.
            if rest == "<" and "\n" in blanks:
                self.fault("topology-unclosed-tag", f"<{_short(element.tag)}", at=start)
                return True
            if rest:
                element.blank_attributes += max(spaces - 1, 0)
                after_value = self.attribute(element, separated=bool(blanks))
        if self.document.complete:
            self.stop("topology-unexpected-end", f"in the tag <{_short(element.tag)}>", at=start)
        return False

    def blanks(self, element: Element, *, after_value: bool) -> str:
        """Skip white space inside a tag; what was skipped."""
        match = _BLANKS.match(self.text, self.position)
        if match is None:
            return ""
        blanks = match.group()
        if "\n" in blanks or "\r" in blanks:
            self.fault("topology-tag-over-lines", f"<{_short(element.tag)}>")
        if "\t" in blanks:
            # Right after a value NCCL expects a space; elsewhere it takes the tab for a letter of a name.
            stumbles = (after_value or not element.attributes) and blanks.startswith("\t")
            self.fault(
                "topology-tab" if stumbles else "topology-tab-in-name", f"inside <{_short(element.tag)}>"
            )
        self.position = match.end()
        return blanks

    def self_closing(self) -> bool:
        """Read from the slash to the end of the tag; whether the element stays open after all."""
        taken = _AFTER_SLASH.match(self.text, self.position + 1)
        if taken is not None:
            self.position = taken.end()
            return False
        end = self.text.find(">", self.position)
        blank = end >= 0 and not self.text[self.position + 1 : end].strip(_BLANK)
        self.fault("topology-stray-slash", "a space between / and >" if blank else "")
        self.position = end + 1 if end >= 0 else self.position + 1
        return not blank and end >= 0 and self.text[end - 1] != "/"

    def attribute(self, element: Element, *, separated: bool) -> bool:
        """Read one attribute; whether it has a value."""
        start = self.position
        match = _ATTRIBUTE_NAME.match(self.text, start)
        name = match.group() if match else ""
        self.position = match.end() if match else start
        if not separated:
            self.fault("topology-attributes-run-together", _short(name) or "=", at=start)
        name_end = self.position
        before = self._spaces()
        has_value = self.text[self.position : self.position + 1] == "="
        if has_value:
            self.position += 1
            after = self._spaces()
            if after:
                self.fault("topology-spaces-around-equals", _short(name), at=start)
            elif before.strip("\t"):
                code = "topology-space-before-equals" if before.startswith(" ") else "topology-tag-over-lines"
                self.fault(code, _short(name), at=start)
            elif before:
                self.fault("topology-tab-in-name", f"inside <{_short(element.tag)}>", at=start)
            value, quote = self.value(name)
        else:
            # A name alone: NCCL stores an empty value. The blanks belong to what follows.
            self.position = name_end
            value, quote = "", '"'
        if max(len(name), len(value)) > MAX_STRING:
            size = max(len(name), len(value))
            self.fault("topology-string-too-long", f"{_short(name)}, {size:,} characters", at=start)
        element.attributes.append(Attribute(_c_string(name), _c_string(value), self.line(start), quote))
        if len(element.attributes) >= MAX_ATTRIBUTES_READ:
            self.stop("topology-reading-stopped", f"after {MAX_ATTRIBUTES_READ:,} attributes of one element")
        return has_value

    def value(self, name: str) -> tuple[str, str]:
        """The value at the position, and the quote around it."""
        start = self.position
        quote = self.text[start : start + 1]
        if quote not in ('"', "'"):
            bare = _BARE_VALUE.match(self.text, start)
            assert bare is not None
            self.fault("topology-unquoted-value", _short(f"{name}={bare.group()}"), at=start)
            self.position = bare.end()
            return bare.group(), ""
        end = self.text.find(quote, start + 1)
        if end < 0:
            self.stop("topology-unexpected-end", f"in the value of {_short(name)}", at=start)
            return self.text[start + 1 : start + 1 + MAX_STRING], quote
        self.position = end + 1
        return self.text[start + 1 : end], quote

    def _spaces(self) -> str:
        match = _BLANKS.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match.group()


def _is_dropped(tag: str, parent: Element | None) -> bool:
    if parent is None:
        return tag != "system"
    return parent.dropped or tag not in child_fields(ELEMENTS[parent.tag])


def _c_string(text: str) -> str:
    """What C's string functions see of a text."""
    return text.partition("\0")[0]


def _short(text: str) -> str:
    """The beginning of a stranger's text, on one line, for a message."""
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= 60 else f"{line[:57]}..."


def read_document(text: str) -> Document:
    """Read a topology file's text; never raises, whatever the text."""
    return _Reader(text).read()


def decode(raw: bytes) -> str:
    """Bytes of a topology file as text; what is not UTF-8 becomes a replacement character."""
    return raw.decode("utf-8", errors="replace")
