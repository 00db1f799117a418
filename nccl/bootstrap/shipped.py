"""Our programs as start-up data has room for them: what the node needs, without comments, still to be read.

EC2 takes 16,384 bytes of start-up data for everything, the user's own commands included. So a node gets the programs
with their names, messages and structure, without comments, docstrings, wide indentation and what only other nodes
need. The result depends on the text alone, not on the Python that renders it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable
from functools import cache

#: `# [name]` begins what only some nodes need, `# [/name]` ends it.
_MARK = re.compile(r"\s*# \[(/?)(\w+)\]")

#: Tokens that are not on the page.
_INVISIBLE = (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER)


def bare(text: str, kept: Iterable[str] | None = None) -> str:
    """A shell or Python file of ours without comments and blank lines.

    `kept` are the names of the marked regions that stay; None keeps them all. The first line stays where it says which
    program runs the file. Texts that this is for have no `#` at the beginning of a line inside a string; tests hold
    that they mean the same, and run them.
    """
    return _bare(text, None if kept is None else frozenset(kept))


@cache
def _bare(text: str, kept: frozenset[str] | None) -> str:
    first = text.partition("\n")[0]
    text = text if kept is None else _regions(text, kept)
    if "python" in first or text.startswith('"""'):
        heading = f"{first}\n" if first.startswith("#!") else ""
        return heading + _IMPORTS.sub(_one_import, _squeezed(_without_docstrings(text)))
    return _shell(text)


def _regions(text: str, kept: frozenset[str]) -> str:
    """`text` without the marked regions whose names are not in `kept`; regions may lie inside others."""
    lines: list[str] = []
    open_regions: list[str] = []
    for line in text.splitlines(keepends=True):
        mark = _MARK.match(line)
        if mark is None:
            if kept.issuperset(open_regions):
                lines.append(line)
        elif not mark[1]:
            open_regions.append(mark[2])
        elif open_regions.pop() != mark[2]:
            raise ValueError(f"{mark[2]} ends inside another region")
    if open_regions:
        raise ValueError(f"{open_regions[-1]} does not end")
    return "".join(lines)


def _without_docstrings(text: str) -> str:
    gone: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            first = node.body[0]
            if len(node.body) > 1 and first.end_lineno is not None:
                gone.update(range(first.lineno, first.end_lineno + 1))
    lines = enumerate(text.splitlines(keepends=True), 1)
    return "".join(line for number, line in lines if number not in gone)


def _shell(text: str) -> str:
    """Without comments, blank lines and indentation; here-documents as they are."""
    lines: list[str] = []
    ends_with = None
    for number, line in enumerate(text.splitlines()):
        if ends_with is None:
            code = line.lstrip()
            if code and (number == 0 or not code.startswith("#")):
                lines.append(code)
            begins = _HERE_DOCUMENT.search(line)
            ends_with = begins[1] if begins else None
        else:
            lines.append(line)
            ends_with = None if line == ends_with else ends_with
    return "".join(f"{line}\n" for line in lines)


_HERE_DOCUMENT = re.compile(r"<<'(\w+)'$")


def _squeezed(text: str) -> str:
    """Python with one line a statement, one blank a level, and others only between words.

    What stands inside an f-string is taken as it is: only newer releases of Python see tokens there.
    """
    rows = text.splitlines()
    out: list[str] = []
    level = inside = 0
    before: tokenize.TokenInfo | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        level += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE:
            out.append("\n")
            before = None
        elif token.type not in _INVISIBLE:
            (row, column), (last_row, end) = token.start, token.end
            if before is None:
                out.append(" " * level)
            elif inside:
                column = before.end[1]
            elif token.string in _CLOSING and before.string == ",":
                # A tuple of one needs its comma.
                out[-1:] = [","] if before.end[0] == row else []
            elif _is_word(before.string[-1]) and _is_word(token.string[0]):
                out.append(" ")
            inside += (token.type == _BEGIN) - (token.type == _END)
            out.append(rows[row - 1][column:end] if row == last_row else token.string)
            before = token
    return "".join(out)


def _is_word(character: str) -> bool:
    """Whether it must stand apart from another such character. A letter before a quote would be its prefix."""
    return character.isalnum() or character in "_\"'"


def _one_import(lines: re.Match[str]) -> str:
    return lines[0].replace("\nimport ", ",")


_IMPORTS = re.compile(r"^(?:import \w+\n)+", re.MULTILINE)
_CLOSING = (")", "]", "}")
_BEGIN, _END = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
