"""The copy of a stack file that a simulated run uses.

Pulumi writes an encryption salt into the stack file it is given. A simulated run has a passphrase of its own, so
it works on a copy: the user's file keeps the user's salt, key and secrets, and is never written.

Only the engine decides what a scalar is (`yes`, `1:30`, `0777`): the copy is made of YAML nodes, each scalar spelled
and quoted as in the user's file.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

PLACEHOLDER = "placeholder-of-a-secret"
_KEYS_OF_A_REAL_BACKEND = ("secretsprovider", "encryptedkey", "encryptionsalt")
_STRING = "tag:yaml.org,2002:str"

#: gopkg.in/yaml.v3 resolve.go: plain scalars that are infinite or no number.
_NO_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

DEEPEST = 100
"""Levels of maps and lists in a stack file; no setting needs a tenth of it."""


class StackFileError(ValueError):
    """A stack file that cannot be read; the text gives the place and the remedy."""


@dataclass(frozen=True)
class Copy:
    path: Path
    replaced_secrets: int
    """How many encrypted values were replaced by `PLACEHOLDER`: only the real backend can decrypt them."""
    secrets: tuple[str, ...] = ()
    """For each key of `config` that is or holds one: the path of the first, as `pulumi config set --path` takes it.

    One is enough: a program asks whether the whole key is a secret.
    """


class _Loader(yaml.BaseLoader):
    """Nodes whose scalars keep their spelling: no scalar is taken for a number or a truth value."""

    def compose_scalar_node(self, anchor: str | None) -> yaml.ScalarNode:
        event = self.peek_event()
        node = super().compose_scalar_node(anchor)
        if event.tag == _STRING and not node.style:
            # `!!str 5`: quotes say the same, and a node cannot tell a tag that was written from one that was not.
            node.style = '"'
        return node


def read_stack_file(path: Path) -> yaml.MappingNode:
    """The stack file's nodes. Raises StackFileError with line and column where Pulumi could not read it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        stacks = sorted(found.name for found in path.parent.glob("Pulumi.*.yaml"))
        raise StackFileError(
            f"{path.name}: there is no such stack file in {path.parent}; found: {', '.join(stacks) or 'none'}"
        ) from error
    document = read_document(data, path.name)
    if document is None:
        return yaml.MappingNode("tag:yaml.org,2002:map", [])
    if not isinstance(document, yaml.MappingNode):
        kind = "list" if isinstance(document, yaml.SequenceNode) else "scalar"
        raise StackFileError(
            f"{path.name}: a stack file is a map with the key `config`, this one is a {kind}"
        )
    return document


def read_document(data: bytes, name: str) -> yaml.Node | None:
    """The nodes of a YAML document; None of an empty one. Raises StackFileError with the place in `name`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StackFileError(
            f"{name}:{line}: this is not text in UTF-8 (byte {error.start}: 0x{data[error.start]:02x}). "
            "Save the file as UTF-8; nothing was planned"
        ) from error
    try:
        document = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise StackFileError(
            f"{place}: this is not YAML: {error.problem}. Mend the line (or the one before it); nothing was planned"
        ) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise StackFileError(
            f"{name}:{line}: this is not YAML: the character U+{ord(text[error.position]):04X} may not stand in it. "
            "Remove it; nothing was planned"
        ) from error
    except RecursionError as error:
        raise StackFileError(_too_deep(name)) from error
    if document is not None:
        problems = list(_problems(document, name, (), set()))
        if problems:
            raise StackFileError("\n".join(problems) + "\nNothing was planned")
    return document


def entries(node: yaml.Node | None) -> dict[str, yaml.Node]:
    """The entries of a map by the text of their keys; none of another node."""
    return {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _too_deep(place: str) -> str:
    return f"{place}: maps and lists are nested more than {DEEPEST} deep. Flatten them"


def _problems(
    node: yaml.Node, name: str, inside: tuple[yaml.Node, ...], seen: set[yaml.Node]
) -> Iterator[str]:
    """What Pulumi's own reader (gopkg.in/yaml.v3 decode.go) refuses though it parses."""
    place = f"{name}:{node.start_mark.line + 1}"
    if isinstance(node, yaml.ScalarNode) and node.style is None and _NO_JSON.fullmatch(node.value):
        # The engine hands the configuration over as JSON, which has no such number.
        yield f"{place}:{node.start_mark.column + 1}: `{node.value}` is not a number to count with. Give digits"
    elif node in inside:
        yield f"{place}: this value holds itself by an alias (`*`). Write it out"
    elif len(inside) > DEEPEST:
        yield _too_deep(place)
    elif node not in seen and not isinstance(node, yaml.ScalarNode):
        seen.add(node)
        inner = (*inside, node)
        if isinstance(node, yaml.MappingNode):
            yield from _repeated(node, name)
            for pair in node.value:
                for each in pair:
                    yield from _problems(each, name, inner, seen)
        else:
            for each in node.value:
                yield from _problems(each, name, inner, seen)


def _repeated(node: yaml.MappingNode, name: str) -> Iterator[str]:
    first: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        line, column = key.start_mark.line + 1, key.start_mark.column + 1
        if key.value in first:
            yield f"{name}:{line}:{column}: the key `{key.value}` stands here again (line {first[key.value]}). Keep one"
        first.setdefault(key.value, line)


def copy_for_simulation(source: Path, target: Path) -> Copy:
    """Write `source` to `target` with the salt that `target` had and without the real backend's keys."""
    document = read_stack_file(source)
    document.value = [pair for pair in document.value if pair[0].value not in _KEYS_OF_A_REAL_BACKEND]
    paths = (_first_secret(value, key) for key, value in entries(entries(document).get("config")).items())
    secrets = tuple(path for path in paths if path is not None)
    replaced = _without_secrets(document, set())
    salt = entries(read_stack_file(target)).get("encryptionsalt") if target.exists() else None
    if salt is not None:
        document.value.append((yaml.ScalarNode(_STRING, "encryptionsalt"), salt))
    text = yaml.serialize(document, Dumper=yaml.BaseDumper, allow_unicode=True, width=2**31)
    _write(target, text)
    return Copy(target, replaced, secrets)


def _first_secret(node: yaml.Node, path: str) -> str | None:
    """The path of the first encrypted value at or below `node`."""
    if _is_secret(node):
        return path
    if isinstance(node, yaml.MappingNode):
        below = ((value, f'{path}["{key}"]') for key, value in entries(node).items())
    elif isinstance(node, yaml.SequenceNode):
        below = ((value, f"{path}[{number}]") for number, value in enumerate(node.value))
    else:
        return None
    found = (_first_secret(value, place) for value, place in below)
    return next((place for place in found if place is not None), None)


def _is_secret(node: yaml.Node) -> bool:
    return list(entries(node)) == ["secure"]


def _without_secrets(node: yaml.Node, seen: set[yaml.Node]) -> int:
    """Put the placeholder in place of every encrypted value below `node`; how many there were."""
    if isinstance(node, yaml.ScalarNode) or node in seen:
        return 0
    seen.add(node)
    # In a flow collection an empty scalar (null) would have to be quoted, and then be a string.
    node.flow_style = False
    replaced = 0

    def without(inner: yaml.Node) -> yaml.Node:
        nonlocal replaced
        if _is_secret(inner):
            replaced += 1
            return yaml.ScalarNode(_STRING, PLACEHOLDER)
        replaced += _without_secrets(inner, seen)
        return inner

    if isinstance(node, yaml.MappingNode):
        node.value = [(key, without(value)) for key, value in node.value]
    else:
        node.value = [without(value) for value in node.value]
    return replaced


def _write(target: Path, text: str) -> None:
    """Write `target` in one step, for its user alone: another run may be reading it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
