"""SSH public keys: what Azure takes, and that no message repeats a key."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.components.azure.ssh_keys import public_key_problem

OPENSSH = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ED25519 = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ALTERED = "is cut off or altered; copy the whole line of the .pub file"


def line(private: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> str:
    return private.public_key().public_bytes(*OPENSSH).decode()


@pytest.mark.parametrize(
    "key",
    [
        line(ED25519),
        line(RSA),  # 2048 bits: the border
        f"{line(RSA)} somebody@somewhere with a comment",
        f"  {line(ED25519)}\n",
    ],
    ids=["Ed25519", "RSA of 2048 bits", "with a comment", "with spaces around it"],
)
def test_a_key_as_ssh_keygen_writes_it_is_taken(key: str) -> None:
    assert public_key_problem(key) is None


def test_a_shorter_rsa_key_is_refused_with_its_bits() -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    assert public_key_problem(line(short)) == (
        "the RSA key has 1024 bits and Azure takes 2048 or more; make one with `ssh-keygen -t rsa -b 4096`"
    )


def test_a_type_that_azure_does_not_take_is_named() -> None:
    key = line(ec.generate_private_key(ec.SECP256R1()))
    assert public_key_problem(key) == (
        "Azure does not take keys of type ecdsa-sha2-nistp256; make one with `ssh-keygen -t rsa -b 4096`"
    )


@pytest.mark.parametrize(
    "format_",
    [
        serialization.PrivateFormat.OpenSSH,
        serialization.PrivateFormat.PKCS8,
        serialization.PrivateFormat.TraditionalOpenSSL,
    ],
)
def test_a_private_key_is_recognised_and_not_repeated(format_: serialization.PrivateFormat) -> None:
    private = RSA.private_bytes(serialization.Encoding.PEM, format_, serialization.NoEncryption()).decode()
    problem = public_key_problem(private)
    assert problem == (
        "a private key stands where a public one belongs; take it out, make a new pair (this one has been written "
        "down), and give the .pub file of the new one"
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            RSA.public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            .decode(),
            "the key is not in OpenSSH's format; convert it with `ssh-keygen -i -f FILE`",
        ),
        (
            "---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----",
            "the key is not in OpenSSH's format; convert it with `ssh-keygen -i -f FILE`",
        ),
        (
            f"{line(ED25519)}\n{line(RSA)}",
            "2 lines stand where one key belongs; give the line of a .pub file, such as `ssh-rsa AAAA… name`",
        ),
        (
            "~/.ssh/id_rsa.pub",
            "this is not a public key in OpenSSH's format; give the line of a .pub file, such as `ssh-rsa AAAA… name`",
        ),
        (
            "",
            "this is not a public key in OpenSSH's format; give the line of a .pub file, such as `ssh-rsa AAAA… name`",
        ),
        (line(ED25519)[:-8], f"the key of type ssh-ed25519 {ALTERED}"),
        (line(RSA)[:-8], f"the key of type ssh-rsa {ALTERED}"),
        (f"ssh-rsa {line(ED25519).split()[1]}", f"the key of type ssh-rsa {ALTERED}"),
        ("ssh-rsa not*base64", f"the key of type ssh-rsa {ALTERED}"),
        (f"ssh-ed25519 {base64.b64encode(b'short').decode()}", f"the key of type ssh-ed25519 {ALTERED}"),
    ],
    ids=[
        "PEM",
        "SSH2",
        "two keys",
        "a path",
        "nothing",
        "a cut Ed25519 key",
        "a cut RSA key",
        "the wrong type in front",
        "not base64",
        "too short",
    ],
)
def test_what_is_not_a_key_in_openssh_s_format_is_said_with_the_way_to_it(key: str, message: str) -> None:
    assert public_key_problem(key) == message


@given(st.binary(min_size=1, max_size=400), st.sampled_from(["ssh-rsa", "ssh-ed25519"]))
def test_no_bytes_make_it_fail_and_none_pass_for_a_key(blob: bytes, kind: str) -> None:
    assert public_key_problem(f"{kind} {base64.b64encode(blob).decode()}") is not None


@given(st.integers(0, 60), st.sampled_from([line(ED25519), line(RSA)]))
def test_a_message_about_a_damaged_key_holds_no_part_of_it(cut: int, key: str) -> None:
    kind, body = key.split()
    problem = public_key_problem(f"{kind} {body[: len(body) - 1 - cut]}")
    assert problem is not None
    assert not any(body[start : start + 12] in problem for start in range(len(body) - 12))
