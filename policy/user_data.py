"""The files and scripts inside a node's user data or custom data.

Unpacked as cloud-init does it (cloud-init docs, explanation/format.rst): base64, gzip, MIME parts, Jinja templates,
archives, and the `write_files`, `bootcmd` and `runcmd` of a cloud-config. What only the node can read (what it fetches,
what its templates become, a shape that cloud-init does not take) is a part too, one that says why it was not read.
"""

from __future__ import annotations

import base64
import binascii
import email
import gzip
import re
import shlex
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any, Final

import yaml

_GZIP = b"\x1f\x8b"
_MOST = 4 * 1024 * 1024
"""Bytes after unpacking; both clouds take far less."""
_TEMPLATE = re.compile(r"^##\s*template:\s*jinja\s*$", re.IGNORECASE)
_SCALARS = (str, int, float)


class UnreadableError(ValueError):
    """The text cannot be unpacked; the message says where it ends."""


@dataclass(frozen=True)
class Part:
    path: str
    """Where the node has it, or what it is in the user data."""
    text: str
    unread: str | None = None
    """Why the text is not what the node gets; None where it is."""


@lru_cache(maxsize=64)
def parts(raw: str) -> tuple[Part, ...]:
    """Everything inside `raw`, which is base64 or plain text. Raises UnreadableError for what no node can read."""
    try:
        return tuple(_parts("user data", _unpacked(_decoded(raw))))
    except RecursionError:
        return (Part("user data", "", "it is nested too deeply"),)


def _decoded(raw: str) -> bytes:
    try:
        return base64.b64decode("".join(raw.split()), validate=True)
    except (binascii.Error, ValueError):
        return raw.encode("utf-8", "replace")


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
            plain = packed.read(_MOST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"its gzip cannot be unpacked ({error})") from error
    if len(plain) > _MOST:
        raise UnreadableError(f"it unpacks to more than {_MOST:,} bytes")
    return plain


def _parts(path: str, data: bytes, kind: str = "") -> Iterator[Part]:
    """The parts of one piece; `kind` is the content type by which a MIME part or archive says what it is."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    head = text.lstrip()
    if head[:40].lower().startswith(("content-type:", "mime-version:")):
        yield from _message(path, data)
        return
    first, _, rest = head.partition("\n")
    template = _TEMPLATE.match(first.rstrip("\r")) is not None
    if template:
        text, head = rest, rest.lstrip()
    reader = next(
        (read for start, read in _READERS.items() if head.startswith(start) or kind == _KINDS[start]), _plain
    )
    if (template or kind == "text/jinja2") and ("{{" in text or "{%" in text):
        yield Part(path, "", "it is a template, which the node fills in")
        # Without its values the rest may be no YAML, and that says nothing about what the node reads.
        with suppress(UnreadableError):
            yield from reader(path, text)
    else:
        yield from reader(path, text)


def _plain(path: str, text: str) -> Iterator[Part]:
    yield Part(path, text)


def _message(path: str, data: bytes) -> Iterator[Part]:
    message = email.message_from_bytes(data.lstrip())
    for number, part in enumerate(leaf for leaf in message.walk() if not leaf.is_multipart()):
        payload = part.get_payload(decode=True)
        name = part.get_filename() or f"{path}, part {number + 1}"
        if isinstance(payload, bytes):
            yield from _parts(str(name), _unpacked(payload), part.get_content_type())


def _fetched(path: str, text: str) -> Iterator[Part]:
    del text
    yield Part(path, "", "the node fetches it from elsewhere")


def _program(path: str, text: str) -> Iterator[Part]:
    yield Part(path, text, "it is a program of cloud-init's own kinds, whose effect no preview knows")


def _loaded(text: str) -> Any:
    """The YAML in `text`; a Part that says why where it holds values that cannot be read."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        raise UnreadableError(
            f"its cloud-config is no YAML{'' if line is None else f' at line {line + 1}'}"
        ) from error
    except RecursionError:
        raise
    except Exception as error:
        # PyYAML's own constructors raise whatever int(), date() and the like do: ValueError, IndexError, KeyError…
        raise UnreadableError(f"its cloud-config holds a value that YAML does not take ({error})") from error


def _archive(path: str, text: str) -> Iterator[Part]:
    entries = _loaded(text)
    if not isinstance(entries, list):
        yield Part(path, "", "its archive is no list")
        return
    for number, entry in enumerate(entries):
        name = f"{path}, part {number + 1}"
        given = entry if isinstance(entry, Mapping) else {"content": entry}
        content = given.get("content")
        if not isinstance(content, str | bytes):
            yield Part(name, "", "it is no text")
            continue
        filename, kind = given.get("filename"), given.get("type")
        yield from _parts(
            filename if isinstance(filename, str) else name,
            _unpacked(content if isinstance(content, bytes) else content.encode("utf-8", "replace")),
            kind if isinstance(kind, str) else "",
        )


def _cloud_config(path: str, text: str) -> Iterator[Part]:
    config = _loaded(text)
    if config is None:
        return
    if not isinstance(config, Mapping):
        yield Part(path, "", "its cloud-config is no mapping")
        return
    files = config.get("write_files")
    if not isinstance(files, list | None):
        yield Part(f"{path}, write_files", "", "it is no list")
        files = None
    for entry in files or ():
        yield _file(path, entry)
    for key in ("bootcmd", "runcmd"):
        yield from _commands(f"{path}, {key}", config.get(key))


def _file(path: str, entry: Any) -> Part:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("path"), str):
        return Part(f"{path}, write_files", "", "an entry is no file with a path")
    name, content, encoding = entry["path"], entry.get("content"), entry.get("encoding")
    if entry.get("source") is not None:
        return Part(name, "", "the node fetches it from elsewhere")
    if content is None:
        return Part(name, "")
    if not isinstance(content, str | bytes) or not isinstance(encoding, str | None):
        return Part(name, "", "its content is no text")
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    # The spellings that cloud-init takes: gz, gzip, b64, base64, gz+b64, gzip+base64… (cc_write_files).
    layers = (encoding or "").lower().strip().split("+")
    if "b64" in layers or "base64" in layers:
        try:
            data = base64.b64decode(b"".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            return Part(name, "", "its content is not the base64 that it says")
    if "gz" in layers or "gzip" in layers:
        if not data.startswith(_GZIP):
            return Part(name, "", "its content is not the gzip that it says")
        data = _unpacked(data)
    return Part(name, data.decode("utf-8", "replace"))


def _commands(path: str, given: Any) -> Iterator[Part]:
    if not given and not isinstance(given, int | str):
        return
    if not isinstance(given, list):
        yield Part(path, "", "it is no list of commands")
        return
    commands = [command for command in map(_command, given) if command is not None]
    if commands:
        yield Part(path, "#!/bin/sh\n" + "\n".join(commands) + "\n")
    if len(commands) < len(given):
        yield Part(path, "", "an entry is no command")


def _command(given: Any) -> str | None:
    if isinstance(given, list) and all(isinstance(word, _SCALARS) for word in given):
        return shlex.join(map(str, given))
    return given if isinstance(given, str) else None


#: First characters → what reads the rest. The longer of two that begin alike comes first.
_READERS: Final[dict[str, Callable[[str, str], Iterator[Part]]]] = {
    "#cloud-config-archive": _archive,
    "#cloud-config-jsonp": _program,
    "#cloud-config": _cloud_config,
    "#include": _fetched,
    "#part-handler": _program,
}
#: The content types that say the same where the first characters do not.
_KINDS: Final = {
    "#cloud-config-archive": "text/cloud-config-archive",
    "#cloud-config-jsonp": "text/cloud-config-jsonp",
    "#cloud-config": "text/cloud-config",
    "#include": "text/x-include-url",
    "#part-handler": "text/part-handler",
}
