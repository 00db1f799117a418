"""Whether a line is an SSH public key that Azure takes."""

from __future__ import annotations

import base64
import binascii

SMALLEST_RSA = 2048
"""compute docs virtual-machines/linux/mac-create-ssh-keys.md: RSA of at least 2048 bits, or ED25519."""
_ED25519_BYTES = 32


def is_public_key(line: object) -> bool:
    """``ssh-rsa AAAA… comment`` or ``ssh-ed25519 AAAA… comment`` (RFC 4253 6.6, RFC 8709 4)."""
    parts = str(line).split()
    if len(parts) < 2 or "\n" in str(line).strip():
        return False
    try:
        fields = _fields(base64.b64decode(parts[1], validate=True))
    except (binascii.Error, ValueError):
        return False
    if not fields or fields[0] != parts[0].encode():
        return False
    if parts[0] == "ssh-ed25519":
        return len(fields) == 2 and len(fields[1]) == _ED25519_BYTES
    if parts[0] == "ssh-rsa":
        return len(fields) == 3 and int.from_bytes(fields[2]).bit_length() >= SMALLEST_RSA
    return False


def _fields(blob: bytes) -> list[bytes]:
    """The length-prefixed strings of a key (RFC 4251 5). Raises ValueError where a length leads past the end."""
    fields = []
    while blob:
        length = int.from_bytes(blob[:4])
        if len(blob) < 4 + length:
            raise ValueError("a length leads past the end")
        fields.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return fields
