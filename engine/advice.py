"""What the engine advises, in the words that work in a simulated run.

The engine says "`pulumi cancel`". A simulated run keeps its stacks in a folder of its own: there may be no pulumi on
PATH, and one that is there would act on its user's own backend. The make targets act on the folder.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_DEFAULT_STACK = "dev"
"""What the Makefile's STACK is when nobody says otherwise."""

#: Of `pulumi COMMAND …` in the engine's text, and what to put there. {make} has the stack and the project; a name that
#: the pattern caught stands in braces too. The first that fits a place wins.
_IN_MAKE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"Note that `pulumi refresh` will need to be run interactively to clear pending CREATE operations"
        ),
        "Note that pending CREATE operations are cleared with `{make:refresh} ARGS=--clear-pending-creates`",
    ),
    (re.compile(r"`pulumi stack rm \S+ --yes --force`"), "`{make:stack} ARGS='rm --yes --force'`"),
    (re.compile(r"`pulumi stack rm --force`"), "`{make:stack} ARGS='rm --yes --force'`"),
    (re.compile(r"`pulumi stack rm(?: [^\s`]+)?`"), "`{make:stack} ARGS='rm --yes'`"),
    (re.compile(r"`pulumi stack output --show-secrets`"), "`{make:outputs} ARGS=--show-secrets`"),
    # A secret is set in the user's own backend, which a simulated run does not know: that advice stays.
    (
        re.compile(r"(?:using the command )?`pulumi config set (?P<key>[^\s`-][^\s`]*) (?P<value>[^`]+)`"),
        "`{key}: {value}` under `config:` of {file}",
    ),
    (re.compile(r"`pulumi (?P<command>cancel|preview|up|destroy|refresh)`"), "`{make:command}`"),
)


@dataclass(frozen=True)
class MakeCommands:
    """How this run was asked for, so that the advice names the same stack and project."""

    stack: str
    project: Path
    """As it was given: relative to the folder in which make runs, or absolute."""

    def target(self, name: str) -> str:
        """`make NAME`, with STACK and PROJECT where they are not the Makefile's own."""
        words = ["make", name]
        if self.stack != _DEFAULT_STACK:
            words.append(f"STACK={self.stack}")
        if self.project != Path():
            words.append(f"PROJECT={self.project}")
        return shlex.join(words)

    def instead_of_pulumi(self, line: str) -> str:
        """`line` with every command that would act on another backend replaced by the one that acts here."""
        for pattern, said in _IN_MAKE:
            line = pattern.sub(lambda found, said=said: self._said(said, found), line)
        return line

    def _said(self, said: str, found: re.Match[str]) -> str:
        caught = found.groupdict()
        said = re.sub(r"\{make:(\w+)\}", lambda name: self.target(caught.get(name[1]) or name[1]), said)
        return said.format(**caught, file=f"Pulumi.{self.stack}.yaml") if "{" in said else said
