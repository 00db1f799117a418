"""Somebody else's words in GitHub's Markdown: they show as they are and do nothing."""

from __future__ import annotations

import html
import re

#: What begins markup inside a line, as it is after `html.escape`.
_MARKUP = re.compile(r"[\\`*~]|\](?=[(\[:])|(?<!\w)_|_(?!\w)|!(?=\[)")
#: What GitHub turns into a mention of a person or of an issue, also where it was written as an entity.
_MENTION = re.compile(r"@(?=\w)|(?<!&)#(?=\d)")
_BREAK_OF_NO_WIDTH = "\u200b"


def inline(text: str) -> str:
    """`text` inside a line."""
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", _one_line(text))
    # A backslash before a bar that stands after a backslash would be read the other way round by tables.
    return _unmentioned(escaped.replace("|", "&#124;"))


def summary(text: str) -> str:
    """`text` inside a tag of HTML, where no Markdown is read."""
    return _unmentioned(_one_line(text))


def _one_line(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False)


def _unmentioned(text: str) -> str:
    return _MENTION.sub(lambda found: found[0] + _BREAK_OF_NO_WIDTH, text)


def code(text: str) -> str:
    """`text` as code inside a line."""
    return f"`{' '.join(text.split()).replace('`', chr(39))}`"


def fence(text: str) -> str:
    """`text` as a block of code."""
    return f"```\n{text.replace('```', '` ` `')}\n```"
