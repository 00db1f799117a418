"""The files and scripts inside a node's user data or custom data.

Unpacked as cloud-init does it (cloud-init docs, explanation/format.rst): base64, gzip, MIME parts, and the
`write_files`, `bootcmd` and `runcmd` of a cloud-config.
"""

from __future__ import annotations

import base64
import binascii
import email
import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import yaml

_GZIP = b"\x1f\x8b"
_MOST = 4 * 1024 * 1024
"""Bytes after unpacking; both clouds take far less."""


class UnreadableError(ValueError):
    """The text cannot be unpacked; the message says where it ends."""


@dataclass(frozen=True)
class Part:
    path: str
    """Where the node has it, or what it is in the user data."""
    text: str


def parts(raw: str) -> list[Part]:
    """Everything inside `raw`, which is base64 or plain text. Raises UnreadableError."""
    return list(_parts("user data", _unpacked(_decoded(raw))))


def _decoded(raw: str) -> bytes:
    try:
        return base64.b64decode("".join(raw.split()), validate=True)
    except (binascii.Error, ValueError):
        return raw.encode()


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


def _parts(path: str, data: bytes) -> Iterator[Part]:
    text = data.decode("utf-8", "replace")
    head = text.lstrip()
    if head[:40].lower().startswith(("content-type: multipart", "mime-version:")):
        message = email.message_from_bytes(data)
        for number, part in enumerate(leaf for leaf in message.walk() if not leaf.is_multipart()):
            payload = part.get_payload(decode=True)
            name = part.get_filename() or f"{path}, part {number + 1}"
            if isinstance(payload, bytes):
                yield from _parts(name, _unpacked(payload))
    elif head.startswith("#cloud-config"):
        yield from _cloud_config(path, text)
    else:
        yield Part(path, text)


def _cloud_config(path: str, text: str) -> Iterator[Part]:
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        raise UnreadableError(
            f"its cloud-config is no YAML{'' if line is None else f' at line {line + 1}'}"
        ) from error
    if not isinstance(config, Mapping):
        return
    for entry in config.get("write_files") or ():
        if isinstance(entry, Mapping):
            yield Part(str(entry.get("path", path)), _content(entry))
    for key in ("bootcmd", "runcmd"):
        commands = [_command(each) for each in config.get(key) or ()]
        if commands:
            yield Part(f"{path}, {key}", "#!/bin/sh\n" + "\n".join(commands) + "\n")


def _content(entry: Mapping[str, Any]) -> str:
    content = entry.get("content") or ""
    data = content if isinstance(content, bytes) else str(content).encode()
    encoding = str(entry.get("encoding") or "").lower()
    if "b64" in encoding or "base64" in encoding:
        data = _decoded(data.decode("ascii", "replace"))
    if encoding.startswith("gz"):
        data = _unpacked(data)
    return data.decode("utf-8", "replace")


def _command(given: Any) -> str:
    return " ".join(map(str, given)) if isinstance(given, list) else str(given)
