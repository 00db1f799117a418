"""A report as data: sections of paragraphs, lists, tables and figures, rendered by `markdown.py`, `html.py`, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Cells are text; `numeric` names the columns that are set to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A picture twice: as Mermaid for Markdown, as SVG for HTML. `text` says in words what both show."""

    name: str
    text: str
    mermaid: str
    svg: str
    key: str = ""
    """What only the SVG shows."""


Block = Paragraph | Bullets | Table | Figure


@dataclass(frozen=True)
class Section:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    title: str
    subtitle: str
    sections: tuple[Section, ...]
    data: dict[str, Any] = field(default_factory=dict)
    """The same numbers for programs, with unit and basis each."""

    def figures(self) -> list[Figure]:
        """Every figure, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Figure)]


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", numeric: Sequence[str] = ()
) -> Table:
    """A table; raises `ValueError` for a row of another width."""
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(
                f"table {caption!r}: a row has {len(row)} cells for {len(columns)} columns: {row}"
            )
    return Table(tuple(columns), tuple(tuple(row) for row in rows), caption, tuple(numeric))
