"""A report as Markdown, with Mermaid pictures; short enough for a pull request's comment."""

from __future__ import annotations

from gpu_fabric.planning.report.document import Block, Bullets, Document, Figure, Paragraph, Table

LIMIT = 60_000
"""Characters; GitHub cuts comments at 65,536."""


def cell(text: str) -> str:
    """Text that stays inside its cell."""
    return text.replace("|", "\\|").replace("\n", "<br>")


def table_lines(block: Table) -> list[str]:
    """The lines of a table."""
    marks = ["---:" if name in block.numeric else "---" for name in block.columns]
    lines = [f"**{block.caption}**", ""] if block.caption else []
    lines.append("| " + " | ".join(cell(name) for name in block.columns) + " |")
    lines.append("| " + " | ".join(marks) + " |")
    lines += ["| " + " | ".join(cell(text) for text in row) + " |" for row in block.rows]
    return lines


def _block(block: Block) -> list[str]:
    if isinstance(block, Paragraph):
        return [block.text]
    if isinstance(block, Bullets):
        return [f"- {item}" for item in block.items]
    if isinstance(block, Figure):
        return ["```mermaid", block.mermaid, "```", "", f"*{block.text}*"]
    return table_lines(block)


def to_markdown(document: Document, limit: int = LIMIT) -> str:
    """The document; sections from the end are left out, by name, where it would exceed `limit` characters."""
    head = [f"# {document.title}", "", document.subtitle, ""]
    texts = []
    for section in document.sections:
        lines = [f"## {section.title}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
        texts.append("\n".join(lines))
    start = "\n".join(head) + "\n"
    kept = list(texts)
    note = ""
    while len(start) + sum(len(text) + 1 for text in kept) + len(note) > limit and len(kept) > 1:
        kept.pop()
        left_out = ", ".join(section.title for section in document.sections[len(kept) :])
        note = f"Left out, the report would be too long here: {left_out}. The HTML report has everything.\n"
    return start + "\n".join(kept) + note
