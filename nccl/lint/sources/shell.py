"""Shell and Slurm scripts: exports, prefixes of a command, `env`, `mpirun -x`, `docker -e`, `--export`, here-documents.

This is not a shell. It finds the assignments that a person would point at, with their lines, and leaves out every
value that only running the script would tell.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from gpu_fabric.nccl.lint.sources.assignment import Assignment, Format, Misreading, Source, concerns_us
from gpu_fabric.nccl.lint.sources.conf import read_conf
from gpu_fabric.nccl.lint.sources.printed import COMPUTED, printed
from gpu_fabric.nccl.text import without_prefix, without_suffix

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_WORD: Final = re.compile(
    r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\{[^}]*\}|[^\s;&|<>()'"\\`])+|[;&|<>()\\'"`]""",
    re.DOTALL,
)
_ASSIGNMENT: Final = re.compile(rf"({_NAME})\+?=(.*)", re.DOTALL)
_DEFAULT: Final = re.compile(rf'"?\$\{{{_NAME}:?-([^$`{{}}]*)\}}"?')
_ASSIGN_DEFAULT: Final = re.compile(rf"\$\{{({_NAME}):?=([^$`{{}}]*)\}}")
_HEREDOC: Final = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\2")
_REDIRECT: Final = re.compile(r">{1,2}\s*(['\"]?)([^\s'\"|&;]+)\1|\btee\s+(?:-a\s+)?(['\"]?)([^\s'\"|&;]+)\3")
_SEPARATORS: Final = frozenset(";&|()")
_KEYWORDS: Final = frozenset({"then", "else", "do", "{", "}", "!", "time", "elif", "if", "while"})
_DECLARES: Final = frozenset({"export", "declare", "typeset", "local", "readonly"})
_TAKES_ENVIRONMENT: Final = frozenset({"-x", "-e", "--env", "-genv", "-env"})
_SBATCH_EXPORT: Final = re.compile(r"--export[= ](.*)")
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "ksh", "dash"})
_SCRIPT_OPTION: Final = re.compile(r"-[a-z]*c")
_REMOTE: Final = frozenset({"ssh", "pdsh", "clush", "pssh", "parallel-ssh", "eval"})
_OF_ALL_SESSIONS: Final = "environment"
"""/etc/environment: `NAME=value` a line, for every session (pam_env(8))."""
_SOURCED: Final = frozenset(
    {_OF_ALL_SESSIONS, "profile", ".profile", ".bash_profile", ".bashrc", "bash.bashrc", "bashrc", ".zshrc"}
)
_CSH: Final = re.compile(r"#!.*\bt?csh\b|#%Module")
_MAX_DEPTH: Final = 4
"""Scripts within arguments of scripts; quotes inside quotes inside quotes are as far as people go."""


def read_shell(
    path: str, text: str, *, first_line: int = 1, format_: Format = Format.SHELL, depth: int = 0
) -> Source:
    """The assignments of a script to variables that concern us, in the order of its lines.

    `depth` counts the scripts that this one is an argument of (`bash -c '…'`).
    """
    found: list[Assignment] = []
    exported_later: set[str] = set()
    everything_exported = False
    misreadings: list[Misreading] = []
    csh = _CSH.match(text) is not None or path.lower().endswith((".csh", ".tcsh"))
    if "\r\n" in text and depth == 0:
        misreadings.append(_line_ends(text, first_line))
    for statement in _statements(text, first_line):
        if statement.heredoc is not None:
            inner = _read_heredoc(path, statement)
            found += inner.assignments
            misreadings += inner.misreadings
            continue
        if statement.text.lstrip().startswith("#SBATCH"):
            found += _from_export_option(path, statement, format_)
            continue
        words = _words(statement.text)
        if words[:2] == ["set", "-a"] or words[:3] == ["set", "-o", "allexport"]:
            everything_exported = True
        found += _from_words(path, statement, words, format_, exported_later)
        found += _from_setenv(path, statement, words, format_) if csh else ()
        misreadings += _sets_nothing(statement, words, csh=csh)
        if depth < _MAX_DEPTH:
            for script in _scripts(words):
                inner = read_shell(
                    path,
                    script.text,
                    first_line=statement.line_of(script.word),
                    format_=format_,
                    depth=depth + 1,
                )
                # What a script in an argument sets does not stand alone on its line, so that no line is rewritten.
                found += [replace(entry, alone=False) for entry in inner.assignments]
                misreadings += [replace(entry, mended=None) for entry in inner.misreadings]
    visible = [
        replace(entry, exported=True) if everything_exported or entry.name in exported_later else entry
        for entry in found
    ]
    return Source(path, format_, text, tuple(visible), tuple(misreadings))


@dataclass(frozen=True)
class _Statement:
    """One logical line: continued lines joined. `heredoc` holds the body of a here-document instead."""

    text: str
    line: int
    last_line: int
    heredoc: str | None = None
    breaks: tuple[int, ...] = ()
    """Where in `text` each further line of the file begins."""

    def line_of(self, word: str) -> int:
        """The line of the file that a word of the statement begins on."""
        return self.line + bisect_right(self.breaks, max(self.text.find(word), 0))


def _statements(text: str, first_line: int) -> Iterator[_Statement]:
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        start = index
        joined = lines[index].rstrip("\r")
        breaks = []
        while _continues(joined) and index + 1 < len(lines):
            index += 1
            breaks.append(len(joined))
            joined = joined[:-1] + " " + lines[index].rstrip("\r")
        index += 1
        statement = joined if joined.lstrip().startswith("#SBATCH") else _without_comment(joined)
        yield _Statement(statement, first_line + start, first_line + index - 1, breaks=tuple(breaks))
        heredoc = _HEREDOC.search(statement)
        if heredoc and not statement.lstrip().startswith("#"):
            body = []
            begin = index
            while (
                index < len(lines)
                and lines[index].strip("\t" if heredoc[1] else "").rstrip("\r") != heredoc[3]
            ):
                body.append(lines[index])
                index += 1
            index += 1
            yield _Statement(statement, first_line + begin, first_line + index - 2, heredoc="\n".join(body))


def _continues(line: str) -> bool:
    stripped = len(line) - len(line.rstrip("\\"))
    return stripped % 2 == 1 and not line.lstrip().startswith("#")


def _without_comment(line: str) -> str:
    """The line up to a `#` that begins a word outside quotes."""
    quote = ""
    previous = " "
    index = 0
    while index < len(line):
        character = line[index]
        if quote:
            if character == "\\" and quote == '"':
                index += 1
            elif character == quote:
                quote = ""
        elif character == "\\":
            index += 1
        elif character in "'\"":
            quote = character
        elif character == "#" and previous in " \t;":
            return line[:index]
        previous = character
        index += 1
    return line


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _from_words(
    path: str, statement: _Statement, words: list[str], format_: Format, exported_later: set[str]
) -> Iterator[Assignment]:
    redirect = _redirected_to(statement.text)
    for command in _commands(words):
        head = command[0] if command else ""
        if head in _DECLARES:
            options = [word for word in command[1:] if word.startswith("-")]
            exports = head == "export" or any("x" in option for option in options)
            names = [word for word in command[1:] if not word.startswith("-")]
            if exports:
                exported_later.update(word for word in names if re.fullmatch(_NAME, word))
            for word in names:
                yield from _assigned(path, statement, word, format_, exported=exports, alone=len(names) == 1)
            continue
        if head in ("echo", "printf") and redirect:
            for entry in _read_as(path, redirect, printed(command), statement.line).assignments:
                yield replace(
                    entry,
                    value=None if COMPUTED in (entry.value or "") else entry.value,
                    line=statement.line_of(entry.name),
                    last_line=statement.last_line,
                    format=format_,
                    alone=False,
                )
            continue
        leading = 0
        while leading < len(command) and _ASSIGNMENT.fullmatch(command[leading]):
            leading += 1
        for word in command[:leading]:
            runs = leading < len(command)
            yield from _assigned(
                path, statement, word, format_, exported=runs, alone=leading == 1 and not runs
            )
        yield from _passed_on(path, statement, command[leading:], format_)
    for name, value in _ASSIGN_DEFAULT.findall(statement.text):
        if concerns_us(name):
            yield Assignment(
                name,
                value,
                path,
                statement.line_of(name),
                format_,
                statement.last_line,
                exported=False,
                default=True,
            )


def _passed_on(path: str, statement: _Statement, command: list[str], format_: Format) -> Iterator[Assignment]:
    """`env A=b cmd`, `mpirun -x A=b`, `docker run -e A=b`, `srun --export=A=b`."""
    if not command:
        return
    if command[0] in ("env", "/usr/bin/env"):
        for word in command[1:]:
            if _ASSIGNMENT.fullmatch(word):
                yield from _assigned(path, statement, word, format_, exported=True, alone=False)
            elif not word.startswith("-"):
                break
    for before, word in pairwise(command):
        if before in _TAKES_ENVIRONMENT:
            yield from _assigned(path, statement, word, format_, exported=True, alone=False)
    for word in command:
        if word.startswith("--env="):
            yield from _assigned(path, statement, word[len("--env=") :], format_, exported=True, alone=False)
    if any(word.startswith("--export") for word in command):
        yield from _from_export_option(path, statement, format_)


def _from_export_option(path: str, statement: _Statement, format_: Format) -> Iterator[Assignment]:
    """Slurm's `--export=ALL,NAME=value,'NAME=a,b'`: split at commas outside quotes."""
    option = _SBATCH_EXPORT.search(statement.text)
    if option is None:
        return
    listed = option[1].strip()
    listed = listed.split(" ", 1)[0] if listed[:1] not in "'\"" else listed
    listed = _unquoted(listed) or listed
    for entry in re.findall(r"'[^']*'|\"[^\"]*\"|[^,]+", listed):
        yield from _assigned(path, statement, _unquoted(entry) or "", format_, exported=True, alone=False)


def _assigned(
    path: str, statement: _Statement, word: str, format_: Format, *, exported: bool, alone: bool
) -> Iterator[Assignment]:
    match = _ASSIGNMENT.fullmatch(word) or _ASSIGNMENT.fullmatch(_unquoted(word) or "")
    if match is None or not concerns_us(match[1]):
        return
    default = _DEFAULT.fullmatch(match[2])
    value = default[1] if default else _unquoted(match[2])
    only = alone and statement.line == statement.last_line and statement.text.count("=") >= 1
    yield Assignment(
        match[1],
        value,
        path,
        statement.line_of(word),
        format_,
        statement.last_line,
        exported,
        alone=only and _is_whole(statement.text, word),
        default=default is not None,
    )


@dataclass(frozen=True)
class _Script:
    """An argument that is a script; `word` is it as written, in its quotes."""

    word: str
    text: str


def _scripts(words: list[str]) -> Iterator[_Script]:
    """The arguments that a shell runs: after `bash -c`, and on other machines after `ssh host`."""
    for command in _commands(words):
        names = [PurePath(word).name for word in command]
        for index, word in enumerate(command[1:], 1):
            after_c = _SCRIPT_OPTION.fullmatch(command[index - 1]) and _SHELLS.intersection(
                names[: index - 1]
            )
            if after_c or (names[0] in _REMOTE and word[:1] in "'\""):
                yield _Script(word, _argument(word))
        if names and names[0] in _REMOTE:
            yield from (
                _Script(word, f"export {word}") for word in command[1:] if _ASSIGNMENT.fullmatch(word)
            )


def _argument(word: str) -> str:
    """A quoted argument as the program gets it; what the shell computes in it stays as written."""
    if word[:1] == word[-1:] == "'" and len(word) > 1:
        return word[1:-1]
    if word[:1] == word[-1:] == '"' and len(word) > 1:
        return re.sub(r"\\([\"\\$`])", r"\1", word[1:-1])
    return word


def _from_setenv(path: str, statement: _Statement, words: list[str], format_: Format) -> Iterator[Assignment]:
    """csh and Tcl module files: `setenv NAME value`."""
    for command in _commands(words):
        if len(command) >= 3 and command[0] == "setenv" and concerns_us(command[1]):
            line = statement.line_of(command[1])
            yield Assignment(command[1], _unquoted(command[2]), path, line, format_, statement.last_line)


def _sets_nothing(statement: _Statement, words: list[str], *, csh: bool) -> Iterator[Misreading]:
    """Lines that look like assignments and are none: `export A = b`, `A = b`, and `setenv` outside of csh."""
    for command in _commands(words):
        rest = command[1:] if command[0] in _DECLARES or command[0] == "setenv" else command
        name = without_suffix(rest[0], "=") if rest else ""
        if not re.fullmatch(_NAME, name) or not concerns_us(name):
            continue
        alone = len(command) == len(words) and statement.line == statement.last_line
        indent = statement.text[: len(statement.text) - len(statement.text.lstrip())]
        if command[0] == "setenv":
            if not csh and len(rest) > 1:
                yield Misreading(
                    "env-shell-syntax",
                    statement.line_of(name),
                    f"`setenv` is a command of csh: this shell does not set {name}.",
                    f"Write export {name}={rest[1]}.",
                    f"{indent}export {name}={rest[1]}" if alone and len(rest) == 2 else None,
                    names=(name,),
                    source="POSIX shell",
                )
            continue
        split = rest[1:2] == ["="] or (len(rest) > 1 and rest[1].startswith("="))
        empty = rest[0].endswith("=") and command[0] in _DECLARES and len(rest) == 2 and "=" not in rest[1]
        if split or (empty and not concerns_us(rest[1])):
            values = [word for word in (without_prefix(rest[1], "="), *rest[2:]) if word]
            yield Misreading(
                "env-shell-syntax",
                statement.line_of(name),
                f"The spaces around `=` make words of their own: the shell does not give {name} this value.",
                f"Write export {name}={values[0] if values else '…'}.",
                f"{indent}export {name}={values[0]}" if alone and len(values) == 1 else None,
                names=(name,),
                source="POSIX shell",
            )


def _line_ends(text: str, first_line: int) -> Misreading:
    return Misreading(
        "env-shell-line-end",
        first_line + text[: text.index("\r\n")].count("\n"),
        "The script has CR LF line ends: the shell keeps the CR as the last character of every value and command.",
        "Save the file with LF line ends.",
        source="POSIX shell",
        whole_file=True,
    )


def _is_whole(text: str, word: str) -> bool:
    """Whether the line holds the assignment and at most a word that declares it."""
    rest = text.replace(word, "", 1).split()
    return all(part in _DECLARES or part in ("-x", "-gx") for part in rest)


def _unquoted(word: str) -> str | None:
    """The word's text without quotes and escapes; None if the shell computes part of it."""
    out: list[str] = []
    quote = ""
    index = 0
    while index < len(word):
        character = word[index]
        if quote != "'" and character in "$`":
            return None
        if character == "\\" and quote != "'" and index + 1 < len(word):
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


def _commands(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in words:
        if word in _SEPARATORS:
            if command:
                yield command
            command = []
        elif word in _KEYWORDS and not command:
            continue
        else:
            command.append(word)
    if command:
        yield command


def _redirected_to(text: str) -> str | None:
    match = _REDIRECT.search(text)
    return (match[2] or match[4]) if match else None


def _read_heredoc(path: str, statement: _Statement) -> Source:
    """A here-document is read as what it is written to; text that goes elsewhere is not looked at."""
    return _read_as(path, _redirected_to(statement.text) or "", statement.heredoc or "", statement.line)


def _read_as(path: str, target: str, text: str, first_line: int) -> Source:
    """Text that a script at `path` writes to `target`, read as what that is."""
    if target.endswith(".conf"):
        return read_conf(path, text, first_line=first_line)
    name = PurePath(target).name
    if name.endswith((".sh", ".env")) or name in _SOURCED:
        source = read_shell(path, text, first_line=first_line, depth=1)
        if name != _OF_ALL_SESSIONS:
            return source
        return replace(source, assignments=tuple(replace(one, exported=True) for one in source.assignments))
    return Source(path, Format.SHELL, text)
