"""What `echo` and `printf` of a script print, which is what a line of it appends to a file."""

from __future__ import annotations

import re
from typing import Final

COMPUTED: Final = "\0"
"""Stands for what only running the script would tell."""

_ESCAPE: Final = re.compile(r"\\(n|t|r|\\|\"|')")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_CONVERSION: Final = re.compile(r"%(%|[-+ #0-9.]*[sbdiuqxX])")
_COMPUTED: Final = re.compile(r"\$(?:\{[^}]*\}|\((?:[^()]|\([^()]*\))*\)|\w+|[@*#?!$-])|`[^`]*`")
_MOST_LINES: Final = 100


def printed(command: list[str]) -> str:
    """The text of `echo …` or `printf …`, given as words with their quotes; COMPUTED in place of what is computed."""
    words: list[str] = []
    for word in command[1:]:
        if word in ("<", ">"):
            break
        words.append(word)
    if command[0] == "printf":
        texts = [unquoted(word) for word in words if word != "--"]
        return _formatted(texts[0], texts[1:]) if texts else ""
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes = "e" in words.pop(0)
    text = " ".join(map(unquoted, words))
    return _escaped(text) if escapes else text


def unquoted(word: str) -> str:
    """A word as the command gets it: without quotes, within single ones as it stands."""
    out: list[str] = []
    quote = ""
    index = 0
    while index < len(word):
        character = word[index]
        computed = _COMPUTED.match(word, index) if quote != "'" else None
        if computed:
            out.append(COMPUTED)
            index = computed.end()
            continue
        if quote == "'" and character != "'":
            out.append(character)
        elif character == "\\" and index + 1 < len(word) and (not quote or word[index + 1] in '"\\$`'):
            index += 1
            out.append(word[index])
        elif quote and character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        else:
            out.append(character)
        index += 1
    return "".join(out)


def _escaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)


def _formatted(form: str, arguments: list[str]) -> str:
    """printf uses its format again until no argument is left."""
    places = sum(match[1] != "%" for match in _CONVERSION.finditer(form))
    rounds = max(1, -(-len(arguments) // places)) if places else 1
    left = iter(arguments)
    return "".join(
        _CONVERSION.sub(lambda match: "%" if match[1] == "%" else next(left, ""), _escaped(form))
        for _ in range(min(rounds, _MOST_LINES))
    )
