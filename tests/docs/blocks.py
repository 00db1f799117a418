"""The fenced blocks of the pages that people follow, and the commands in them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt

from tests.library.installed import tracked
from tests.simulated import ROOT


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    """The fence's info string; empty where there is none."""
    text: str

    @property
    def first(self) -> str:
        return self.text.partition("\n")[0]


@dataclass(frozen=True)
class Command:
    page: str
    line: int
    text: str
    """As a person types it, without the remark at its end."""
    output: tuple[str, ...]
    """The lines that the page shows below it."""


def is_followed(page: str) -> bool:
    """Whether people follow the page: README, documentation, the plugin's and the examples' pages."""
    return page == "README.md" or bool(re.match(r"(docs(?!/pictures)|examples|plugin)/.*\.md$", page))


@cache
def blocks() -> list[Block]:
    return [
        Block(page, token.map[0] + 1 if token.map else 0, token.info, token.content)
        for page in sorted(tracked())
        if is_followed(page)
        for token in MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
        if token.type == "fence"
    ]


def without_remark(text: str) -> str:
    return re.sub(r"(^|\s+)# .*$", "", text, flags=re.MULTILINE).rstrip()


def _is_whole(text: str) -> bool:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0 and not text.rstrip("\n").endswith("\\")


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block (after `$ `, over several lines where the shell asks for more) or a script."""
    if block.language == "bash":
        return [Command(block.page, block.line, without_remark(line), ()) for line in block.text.splitlines()]
    found: list[Command] = []
    lines = block.text.splitlines()
    while lines:
        text = lines.pop(0)
        if not text.startswith("$ "):
            raise ValueError(f"{block.page}:{block.line}: {text!r} belongs to no command")
        text = text.removeprefix("$ ")
        while not _is_whole(text) and lines:
            text += "\n" + lines.pop(0)
        output = []
        while lines and not lines[0].startswith("$ "):
            output.append(lines.pop(0))
        found.append(Command(block.page, block.line, without_remark(text), tuple(output)))
    return found


@cache
def commands() -> list[Command]:
    return [one for block in blocks() if block.language in ("console", "bash") for one in commands_of(block)]


def fits(shown: str, line: str) -> bool:
    """Whether a shown line is `line`; `…` stands for what differs from run to run."""
    start, *rest = shown.split("…")
    if not rest:
        return line.rstrip() == shown.rstrip()
    if not line.startswith(start) or not line.rstrip().endswith(rest[-1].rstrip()):
        return False
    at = len(start)
    for part in rest[:-1]:
        at = line.find(part, at) + len(part)
        if at < len(part):
            return False
    return True
