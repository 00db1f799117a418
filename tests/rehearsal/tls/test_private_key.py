"""Private keys: real ones, whose private parts are secret and in nobody's database."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from gpu_fabric.rehearsal.core.values import UNKNOWN, Secret

from ..small_engine import Failed, SmallEngine

KEY = "tls:index/privateKey:PrivateKey"
PRIVATE = ("privateKeyOpenssh", "privateKeyPem", "privateKeyPemPkcs8")


@pytest.fixture
def tls(tmp_path: Path) -> SmallEngine:
    return SmallEngine("tls", tmp_path / "clouds.db")


@pytest.mark.parametrize(
    ("inputs", "line", "pem"),
    [
        ({"algorithm": "RSA", "rsaBits": 2048}, "ssh-rsa ", "-----BEGIN RSA PRIVATE KEY-----"),
        ({"algorithm": "ED25519"}, "ssh-ed25519 ", "-----BEGIN PRIVATE KEY-----"),
        (
            {"algorithm": "ECDSA", "ecdsaCurve": "P384"},
            "ecdsa-sha2-nistp384 ",
            "-----BEGIN EC PRIVATE KEY-----",
        ),
    ],
)
def test_all_forms_are_of_one_key(tls, inputs, line, pem):
    key = tls.up(KEY, "ssh", inputs)
    assert key["publicKeyOpenssh"].startswith(line) and key["publicKeyOpenssh"].endswith("\n")
    assert key["privateKeyPem"].startswith(pem)
    expected = serialization.load_pem_public_key(key["publicKeyPem"].encode())
    for name in ("privateKeyPem", "privateKeyPemPkcs8"):
        assert serialization.load_pem_private_key(key[name].encode(), None).public_key() == expected
    openssh = serialization.load_ssh_private_key(key["privateKeyOpenssh"].encode(), None)
    assert openssh.public_key() == expected
    assert serialization.load_ssh_public_key(key["publicKeyOpenssh"].encode()) == expected
    digest = hashlib.sha256(base64.b64decode(key["publicKeyOpenssh"].split()[1])).digest()
    assert key["publicKeyFingerprintSha256"] == f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"
    assert len(key["publicKeyFingerprintMd5"].split(":")) == 16


def test_two_keys_differ(tls):
    one, two = (tls.up(KEY, name, algorithm="ED25519") for name in ("one", "two"))
    assert one["publicKeyOpenssh"] != two["publicKeyOpenssh"] and one.id != two.id


def test_the_private_parts_are_secret_and_not_in_the_database(tls):
    key = tls.up(KEY, "ssh", algorithm="ED25519")
    assert all(isinstance(key.outputs[name], Secret) for name in PRIVATE)
    assert not isinstance(key.outputs["publicKeyOpenssh"], Secret)
    stored = b"".join(each.read_bytes() for each in tls.store.path.parent.iterdir())
    assert key["publicKeyOpenssh"].split()[1].encode() in stored
    assert key["privateKeyPem"].splitlines()[1].encode() not in stored


def test_a_refresh_keeps_the_private_parts_secret(tls):
    before = dict(tls.up(KEY, "ssh", algorithm="ED25519").outputs)
    after = tls.refresh("ssh")
    assert after.outputs == before
    assert tls.diff(KEY, "ssh", {"algorithm": "ED25519"}).changes == []


def test_a_preview_makes_no_key_and_keeps_what_it_will_be_secret(tls):
    planned = tls.preview(KEY, "ssh", algorithm="RSA")
    assert planned["rsaBits"] == 2048
    assert planned["publicKeyOpenssh"] is UNKNOWN
    assert planned["privateKeyPem"] == Secret(UNKNOWN)
    assert tls.held() == []


def test_the_curve_that_ssh_does_not_have_gives_no_ssh_key(tls):
    key = tls.up(KEY, "ssh", algorithm="ECDSA")
    assert key["ecdsaCurve"] == "P224"
    assert (key["publicKeyOpenssh"], key["privateKeyOpenssh"]) == ("", "")


@pytest.mark.parametrize("change", [{"algorithm": "RSA"}, {"rsaBits": 4096}, {"ecdsaCurve": "P256"}])
def test_any_change_makes_a_new_key(tls, change):
    tls.up(KEY, "ssh", algorithm="ED25519")
    assert tls.diff(KEY, "ssh", {"algorithm": "ED25519", **change}).replaces == list(change)


def test_a_word_that_is_none_is_refused_in_the_preview(tls):
    with pytest.raises(Failed) as failed:
        tls.preview(KEY, "ssh", algorithm="DSA", ecdsaCurve="P999")
    assert failed.value.text.splitlines() == [
        'Invalid Attribute Value Match. Attribute algorithm value must be one of: ["RSA" "ECDSA" "ED25519"], got: '
        "\"DSA\". Examine values at 'ssh.algorithm'.",
        "Invalid Attribute Value Match. Attribute ecdsa_curve value must be one of: "
        '["P224" "P256" "P384" "P521"], got: "P999". Examine values at \'ssh.ecdsaCurve\'.',
    ]


def test_a_certificate_is_not_simulated(tls):
    with pytest.raises(
        Failed, match="does not know the resource type tls:index/selfSignedCert:SelfSignedCert"
    ):
        tls.preview("tls:index/selfSignedCert:SelfSignedCert", "cert")


def test_a_deleted_key_leaves_nothing(tls):
    tls.up(KEY, "ssh", algorithm="ED25519")
    tls.destroy_all()
    assert tls.held() == []
