"""YAML with environments in it: the `env` lists of pods, config maps, compose files, and scripts in block scalars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import yaml

from gpu_fabric.nccl.lint.sources.assignment import (
    Assignment,
    Format,
    Misreading,
    Source,
    concerns_us,
    concerns_us_anywhere,
)
from gpu_fabric.nccl.lint.sources.conf import read_conf
from gpu_fabric.nccl.lint.sources.shell import read_shell

_COMMAND_KEYS: Final = frozenset(
    {"command", "args", "entrypoint", "run", "script", "before_script", "after_script"}
)
_SCRIPT_OPTION: Final = re.compile(r"-[a-z]*c")
_POD: Final = re.compile(r"^[ \t-]*(?:containers|services)[ \t]*:", re.MULTILINE)
_HOST_NETWORK: Final = re.compile(
    r"^[ \t-]*(?:hostNetwork[ \t]*:[ \t]*[\"']?true|network_mode[ \t]*:[ \t]*[\"']?host)\b",
    re.MULTILINE | re.IGNORECASE,
)

MAX_NODES: Final = 200_000
"""YAML aliases can make a small file stand for a huge one; walking stops here."""


def read_kubernetes(path: str, text: str) -> Source:
    """Every variable in a YAML stream that concerns us. YAML that does not parse is a misreading, not an exception."""
    found: list[Assignment] = []
    misreadings: list[Misreading] = []
    try:
        documents = [node for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "cannot be read"
        return Source(
            path,
            Format.KUBERNETES,
            text,
            misreadings=(
                Misreading(
                    "env-unreadable",
                    _line(text, mark) + 1 if mark else 1,
                    f"The YAML does not parse: {problem}.",
                    "Render the template first (helm template) and lint the result; nothing was checked."
                    if "{{" in text
                    else "Mend the YAML; nothing in this file was checked.",
                    source="YAML 1.1",
                ),
            ),
        )
    except RecursionError:
        return Source(
            path,
            Format.KUBERNETES,
            text,
            misreadings=(
                Misreading(
                    "env-unreadable",
                    1,
                    "The YAML is nested too deeply to be read.",
                    "Flatten it; nothing in this file was checked.",
                    source="PyYAML",
                ),
            ),
        )
    commands = _commands(documents)
    for node in commands.values():
        inner = read_shell(path, str(node.value), first_line=_line(text, node.start_mark) + 1, depth=1)
        # Folded and quoted text has no line of its own for each command.
        found += [
            replace(entry, line=_line(text, node.start_mark) + 1, alone=False) for entry in inner.assignments
        ]
        misreadings += [replace(entry, mended=None) for entry in inner.misreadings]
    for key, node in _scalars(documents):
        if id(node) in commands:
            continue
        found += _from_pair(path, key, node, text)
        if isinstance(node, yaml.ScalarNode) and node.style == "|":
            inner = _from_block(path, key, node, text)
            found += inner.assignments
            misreadings += inner.misreadings
    found += _from_env_lists(path, documents, text)
    pod_network = _POD.search(text) is not None and not _HOST_NETWORK.search(text)
    json = path.lower().endswith(".json")
    # Without a line of JSON the comma before it would be one too many.
    found = [replace(entry, pod_network=pod_network, alone=entry.alone and not json) for entry in found]
    return Source(
        path, Format.KUBERNETES, text, tuple(sorted(found, key=lambda entry: entry.line)), tuple(misreadings)
    )


def _commands(documents: list[yaml.Node]) -> dict[int, yaml.ScalarNode]:
    """The scalars that a shell runs, by identity: `command: bash -c '…'`, and what follows `-c` in a list.

    Block scalars (`|`) are read elsewhere, with a line for each of theirs.
    """
    found: dict[int, yaml.ScalarNode] = {}
    for key, node in _pairs(documents):
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        after_c = False
        for part in parts:
            if not isinstance(part, yaml.ScalarNode):
                continue
            written = str(part.value)
            is_script = after_c or (
                key in _COMMAND_KEYS and any(character.isspace() for character in written)
            )
            if is_script and part.style != "|" and concerns_us_anywhere(written):
                found[id(part)] = part
            after_c = isinstance(node, yaml.SequenceNode) and _SCRIPT_OPTION.fullmatch(written) is not None
    return found


def _pairs(documents: list[yaml.Node]) -> Iterator[tuple[str, yaml.Node]]:
    """Key and value of every mapping."""
    for node in _walk(documents):
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield (str(key.value) if isinstance(key, yaml.ScalarNode) else ""), value


def _walk(documents: list[yaml.Node]) -> Iterator[yaml.Node]:
    stack = list(reversed(documents))
    seen: set[int] = set()
    visited = 0
    while stack and visited < MAX_NODES:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        visited += 1
        yield node
        if isinstance(node, yaml.MappingNode):
            stack += [part for pair in reversed(node.value) for part in reversed(pair)]
        elif isinstance(node, yaml.SequenceNode):
            stack += list(reversed(node.value))


def _scalars(documents: list[yaml.Node]) -> Iterator[tuple[str, yaml.Node]]:
    """Each value of a mapping with its key, and each item of a sequence with an empty key."""
    for node in _walk(documents):
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield (str(key.value) if isinstance(key, yaml.ScalarNode) else ""), value
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                yield "", item


def _from_pair(path: str, key: str, node: yaml.Node, text: str) -> Iterator[Assignment]:
    """`NCCL_DEBUG: WARN` of a config map or compose file, and `- NCCL_DEBUG=WARN` of a compose file."""
    if not isinstance(node, yaml.ScalarNode):
        return
    line, last = _line(text, node.start_mark), _line(text, node.end_mark)
    if key and concerns_us(key):
        yield Assignment(
            key,
            str(node.value),
            path,
            line + 1,
            Format.KUBERNETES,
            last + 1,
            alone=_begins_with(text.split("\n"), line, key) and last == line,
        )
    elif not key and node.style in (None, "'", '"') and "=" in str(node.value):
        name, value = str(node.value).split("=", 1)
        if concerns_us(name) and " " not in name:
            yield Assignment(
                name,
                None if "$" in value else value,
                path,
                line + 1,
                Format.KUBERNETES,
                node.end_mark.line + 1,
            )


def _from_env_lists(path: str, documents: list[yaml.Node], text: str) -> Iterator[Assignment]:
    """`- name: NCCL_DEBUG` with `value: WARN` below it."""
    lines = text.split("\n")
    for node in _walk(documents):
        if not isinstance(node, yaml.MappingNode):
            continue
        fields = {
            key.value: value
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
        }
        name = fields.get("name")
        if name is None or not concerns_us(str(name.value)):
            continue
        value = fields.get("value")
        if value is None and any(key.value == "valueFrom" for key, _ in node.value):
            continue
        first, last = _line(text, node.start_mark), _line(text, (value or name).end_mark)
        yield Assignment(
            str(name.value),
            None if value is not None and "$(" in str(value.value) else str(value.value) if value else "",
            path,
            _line(text, name.start_mark) + 1,
            Format.KUBERNETES,
            last + 1,
            alone=set(fields) == {"name", "value"}
            and len(node.value) == 2
            and lines[first].lstrip().startswith("- name:")
            and last == first + 1
            and lines[last].lstrip().startswith("value:"),
        )


def _line(text: str, mark: yaml.Mark) -> int:
    """The line of a mark, from 0. YAML also ends lines at characters that editors do not count."""
    return text.count("\n", 0, mark.index)


def _begins_with(lines: list[str], line: int, key: str) -> bool:
    return line < len(lines) and lines[line].lstrip().lstrip("'\"").startswith(key)


def _from_block(path: str, key: str, node: yaml.ScalarNode, whole: str) -> Source:
    first_line = _line(whole, node.start_mark) + 2
    text = str(node.value)
    if key.endswith(".conf"):
        return read_conf(path, text, first_line=first_line)
    if concerns_us_anywhere(text) or "--export" in text:
        return read_shell(path, text, first_line=first_line)
    return Source(path, Format.KUBERNETES, "")
