"""Private keys, as terraform-provider-tls makes them (internal/provider/resource_private_key.go at 0fc92433)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem, ProviderError
from ..core.resource import Call, Made, ResourceType
from ..core.values import is_unknown

TOKEN = "tls:index/privateKey:PrivateKey"
ALGORITHMS = ("RSA", "ECDSA", "ED25519")
CURVES = ("P224", "P256", "P384", "P521")
_SECRETS = frozenset({"privateKeyOpenssh", "privateKeyPem", "privateKeyPemPkcs8"})
"""Sensitive in the provider's schema; the SDK asks for the same (additional_secret_outputs of PrivateKey)."""


def check(call: Call) -> Iterator[Problem]:
    """The validators stringvalidator.OneOf of the two words."""
    for path, name, allowed in (
        ("algorithm", "algorithm", ALGORITHMS),
        ("ecdsaCurve", "ecdsa_curve", CURVES),
    ):
        value = call.inputs.get(path)
        if value is not None and not is_unknown(value) and value not in allowed:
            words = " ".join(f'"{each}"' for each in allowed)
            yield Problem(
                path,
                f'Invalid Attribute Value Match. Attribute {name} value must be one of: [{words}], got: "{value}"',
            )


def create(call: Call) -> Made:
    outputs = _encoded(_key(call.inputs))
    return Made(hashlib.sha1(outputs["publicKeyPem"].encode(), usedforsecurity=False).hexdigest(), outputs)


def read(call: Call) -> dict[str, Any] | None:
    """What the state has: the provider reads nothing."""
    stored = call.tx.get(TOKEN, call.id)
    return None if stored is None else {**stored, **{name: call.old.get(name) for name in _SECRETS}}


def _key(inputs: dict[str, Any]) -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    except ImportError as problem:
        raise ProviderError(
            "the simulated tls provider makes keys with the Python package cryptography, which is not installed: "
            "pip install cryptography"
        ) from problem
    curves = {"P224": ec.SECP224R1, "P256": ec.SECP256R1, "P384": ec.SECP384R1, "P521": ec.SECP521R1}
    if inputs["algorithm"] == "RSA":
        return rsa.generate_private_key(public_exponent=65537, key_size=int(inputs.get("rsaBits") or 2048))
    if inputs["algorithm"] == "ECDSA":
        return ec.generate_private_key(curves[inputs.get("ecdsaCurve") or "P224"]())
    return ed25519.Ed25519PrivateKey.generate()


def _encoded(key: Any) -> dict[str, str]:
    """The key in every form the provider answers."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    formats, pem = serialization.PrivateFormat, serialization.Encoding.PEM
    public = key.public_key()

    def private(form: Any) -> str:
        return key.private_bytes(pem, form, serialization.NoEncryption()).decode()

    pkcs8 = private(formats.PKCS8)
    outputs = {
        "privateKeyPem": pkcs8
        if isinstance(key, ed25519.Ed25519PrivateKey)
        else private(formats.TraditionalOpenSSL),
        "privateKeyPemPkcs8": pkcs8,
        "publicKeyPem": public.public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo).decode(),
    }
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP224R1):
        # SSH has no such curve.
        return {
            **outputs,
            "privateKeyOpenssh": "",
            "publicKeyOpenssh": "",
            "publicKeyFingerprintMd5": "",
            "publicKeyFingerprintSha256": "",
        }
    line = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return {
        **outputs,
        "privateKeyOpenssh": private(formats.OpenSSH),
        "publicKeyOpenssh": f"{line}\n",
        **_fingerprints(public),
    }


def _fingerprints(public: Any) -> dict[str, str]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import ssh_key_fingerprint

    md5 = ssh_key_fingerprint(public, hashes.MD5()).hex()
    sha256 = base64.b64encode(ssh_key_fingerprint(public, hashes.SHA256())).decode().rstrip("=")
    return {
        "publicKeyFingerprintMd5": ":".join(md5[at : at + 2] for at in range(0, len(md5), 2)),
        "publicKeyFingerprintSha256": f"SHA256:{sha256}",
    }


TYPES = (
    ResourceType(
        token=TOKEN,
        title="private key",
        create=create,
        read=read,
        check=check,
        defaults={"ecdsaCurve": "P224", "rsaBits": 2048},
        secrets=_SECRETS,
        replaces=frozenset({"algorithm", "ecdsaCurve", "rsaBits"}),
        replaces_source="terraform-provider-tls resource_private_key.go at 0fc92433, RequiresReplace",
    ),
)
