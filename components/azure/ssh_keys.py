"""Whether a text is an SSH public key that Azure takes. No message repeats any part of what was given as a key."""

from __future__ import annotations

import base64
import binascii
import struct

from gpu_fabric.components.azure.limits import MINIMUM_RSA_BITS

_ACCEPTED = ("ssh-ed25519", "ssh-rsa")
#: sshd(8), "AUTHORIZED_KEYS FILE FORMAT": types that exist and that Azure does not take.
_OTHER_TYPES = frozenset(
    {
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ecdsa-sha2-nistp256@openssh.com",
        "sk-ssh-ed25519@openssh.com",
        "ssh-dss",
    }
)
_ED25519_BYTES = 32
_FORM = "give the line of a .pub file, such as `ssh-rsa AAAA… name`"


def public_key_problem(text: str) -> str | None:
    """`what is wrong; what to do` about a key in OpenSSH's format, or None where it is good."""
    if "PRIVATE KEY" in text or text.startswith("PuTTY-User-Key-File"):
        return (
            "a private key stands where a public one belongs; take it out, make a new pair (this one has been written "
            "down), and give the .pub file of the new one"
        )
    if "BEGIN" in text:
        return "the key is not in OpenSSH's format; convert it with `ssh-keygen -i -f FILE`"
    lines = text.strip().splitlines()
    if len(lines) > 1:
        return f"{len(lines)} lines stand where one key belongs; {_FORM}"
    parts = text.split(maxsplit=2)
    if parts and parts[0] in _OTHER_TYPES:
        return f"Azure does not take keys of type {parts[0]}; make one with `ssh-keygen -t rsa -b 4096`"
    if len(parts) < 2 or parts[0] not in _ACCEPTED:
        return f"this is not a public key in OpenSSH's format; {_FORM}"
    kind = parts[0]
    fields = _fields(parts[1])
    if fields is None or fields[0] != kind.encode():
        return f"the key of type {kind} is cut off or altered; copy the whole line of the .pub file"
    if kind == "ssh-ed25519":
        whole = len(fields) == 2 and len(fields[1]) == _ED25519_BYTES
        return (
            None
            if whole
            else f"the key of type {kind} is cut off or altered; copy the whole line of the .pub file"
        )
    if len(fields) != 3:
        return f"the key of type {kind} is cut off or altered; copy the whole line of the .pub file"
    bits = int.from_bytes(fields[2], "big").bit_length()
    if bits < MINIMUM_RSA_BITS:
        return (
            f"the RSA key has {bits} bits and Azure takes {MINIMUM_RSA_BITS} or more; make one with "
            "`ssh-keygen -t rsa -b 4096`"
        )
    return None


def _fields(encoded: str) -> list[bytes] | None:
    """The length-prefixed fields of the key (RFC 4253, section 6.6), or None where they do not fill it exactly."""
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    fields: list[bytes] = []
    while blob:
        if len(blob) < 4:
            return None
        (length,) = struct.unpack(">I", blob[:4])
        if len(blob) < 4 + length:
            return None
        fields.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return fields or None
