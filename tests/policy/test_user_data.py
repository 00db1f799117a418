"""User data and custom data in every packing that cloud-init takes."""

from __future__ import annotations

import base64
import gzip
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.policy.user_data import Part, UnreadableError, parts

SCRIPT = "#!/bin/bash\nexport NCCL_DEBUG=WARN\n"


def packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "raw",
    [SCRIPT, base64.b64encode(SCRIPT.encode()).decode(), packed(SCRIPT)],
    ids=["plain", "base64", "gzip"],
)
def test_a_script_is_found_however_it_is_packed(raw: str) -> None:
    assert parts(raw) == [Part("user data", SCRIPT)]


def test_every_part_of_a_mime_message_is_read() -> None:
    message = MIMEMultipart()
    for name, text in (("one.sh", SCRIPT), ("two.cfg", "#cloud-config\nruncmd: [[echo, hi]]\n")):
        part = MIMEText(text, "x-shellscript")
        part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    assert parts(packed(message.as_string())) == [
        Part("one.sh", SCRIPT),
        Part("two.cfg, runcmd", "#!/bin/sh\necho hi\n"),
    ]


def test_the_files_of_a_cloud_config_are_unpacked_with_their_own_encoding() -> None:
    config = f"#cloud-config\nwrite_files:\n- path: /etc/nccl.conf\n  encoding: gz+b64\n  content: {packed('A=1')}\n"
    assert parts(config) == [Part("/etc/nccl.conf", "A=1")]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (base64.b64encode(b"\x1f\x8b cut").decode(), "its gzip cannot be unpacked"),
        ("#cloud-config\nruncmd: [", "its cloud-config is no YAML at line 2"),
        (packed("x" * (4 * 1024 * 1024 + 1)), "it unpacks to more than 4,194,304 bytes"),
    ],
)
def test_what_cloud_init_could_not_read_either_is_said(raw: str, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        parts(raw)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        parts(text)
    except UnreadableError as error:
        assert str(error)
