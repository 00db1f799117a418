"""Tables and parts of docs/fidelity.md. Each part stands between two marks and is written by one module."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "fidelity.md"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """The lines of a table, with an empty one behind it."""
    # A bar inside a cell would end it.
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in [head, *rows]]
    return [f"| {lines[0]} |", f"|{'---|' * len(head)}", *(f"| {line} |" for line in lines[1:]), ""]


def with_part(page: str, title: str, begin: str, end: str, part: str) -> str:
    """The page with the part between `begin` and `end` written anew. Raises ValueError where a mark is missing."""
    before, begin_found, rest = page.partition(begin)
    _, end_found, after = rest.partition(end)
    if not begin_found or not end_found:
        raise ValueError(f"{PAGE.name}: the {title} part stands between the lines {begin!r} and {end!r}")
    return f"{before}{begin}\n\n{part}\n{end}{after}"
