"""User data and custom data in every packing that cloud-init takes."""

from __future__ import annotations

import base64
import gzip
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
import yaml
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
    assert parts(raw) == (Part("user data", SCRIPT),)


def test_every_part_of_a_mime_message_is_read() -> None:
    message = MIMEMultipart()
    for name, text in (("one.sh", SCRIPT), ("two.cfg", "#cloud-config\nruncmd: [[echo, hi]]\n")):
        part = MIMEText(text, "x-shellscript")
        part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    assert parts(packed(message.as_string())) == (
        Part("one.sh", SCRIPT),
        Part("two.cfg, runcmd", "#!/bin/sh\necho hi\n"),
    )


def test_the_files_of_a_cloud_config_are_unpacked_with_their_own_encoding() -> None:
    config = f"#cloud-config\nwrite_files:\n- path: /etc/nccl.conf\n  encoding: gz+b64\n  content: {packed('A=1')}\n"
    assert parts(config) == (Part("/etc/nccl.conf", "A=1"),)


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


CONFIG = "#cloud-config\nwrite_files:\n- {path: /etc/nccl.conf, content: A=1}\n"
INSIDE = Part("/etc/nccl.conf", "A=1")


def multipart(kind: str, body: str) -> str:
    head = 'Content-Type: multipart/mixed; boundary="B"\nMIME-Version: 1.0\n\n'
    return f"{head}--B\nContent-Type: {kind}\n\n{body}\n--B--\n"


@pytest.mark.parametrize(
    "raw",
    [
        f"## template: jinja\n{CONFIG}",
        "#cloud-config-archive\n- type: text/cloud-config\n  content: |\n"
        + "".join(f"    {line}\n" for line in CONFIG.splitlines()),
        multipart("text/cloud-config", CONFIG),
        multipart("text/cloud-config", CONFIG.partition("\n")[2]),
        multipart("text/jinja2", f"## template: jinja\n{CONFIG}"),
        f"\ufeff{CONFIG}",
    ],
    ids=["template", "archive", "MIME", "MIME without a first line", "MIME template", "byte order mark"],
)
def test_a_cloud_config_is_found_in_every_wrapping_that_cloud_init_takes(raw: str) -> None:
    assert parts(raw) == (INSIDE,)
    assert parts(packed(raw)) == (INSIDE,)


@pytest.mark.parametrize(
    ("raw", "path", "why"),
    [
        ("#include\nhttps://example.com/x\n", "user data", "the node fetches it from elsewhere"),
        ("## template: jinja\n#!/bin/sh\nexport A={{ v1.region }}\n", "user data", "it is a template"),
        (
            "## template: jinja\n#cloud-config\nruncmd: {% if x %}[{% endif %}\n",
            "user data",
            "it is a template",
        ),
        ("#cloud-config\nruncmd: 5\n", "user data, runcmd", "it is no list of commands"),
        ("#cloud-config\nruncmd: echo\n", "user data, runcmd", "it is no list of commands"),
        ("#cloud-config\nbootcmd: [[[echo]]]\n", "user data, bootcmd", "an entry is no command"),
        ("#cloud-config\nwrite_files: 7\n", "user data, write_files", "it is no list"),
        ("#cloud-config\nwrite_files: [5]\n", "user data, write_files", "an entry is no file with a path"),
        ("#cloud-config\nwrite_files: [{path: /a, content: [1]}]\n", "/a", "its content is no text"),
        (
            "#cloud-config\nwrite_files: [{path: /a, encoding: b64, content: '!'}]\n",
            "/a",
            "its content is not the base64 that it says",
        ),
        (
            "#cloud-config\nwrite_files: [{path: /a, encoding: gzip, content: A}]\n",
            "/a",
            "its content is not the gzip that it says",
        ),
        (
            "#cloud-config\nwrite_files: [{path: /a, source: {uri: 'https://example.com'}}]\n",
            "/a",
            "the node fetches it from elsewhere",
        ),
        ("#cloud-config\n- a list\n", "user data", "its cloud-config is no mapping"),
        ("#cloud-config-archive\na: 1\n", "user data", "its archive is no list"),
        ("#cloud-config-archive\n- 5\n", "user data, part 1", "it is no text"),
        ("#part-handler\nimport os\n", "user data", "it is a program of cloud-init's own kinds"),
        ("#cloud-config\nruncmd: " + "[" * 5000 + "]" * 5000, "user data", "it is nested too deeply"),
    ],
)
def test_what_only_the_node_can_read_is_a_part_that_says_why(raw: str, path: str, why: str) -> None:
    unread = [part for part in parts(raw) if part.unread]
    assert [part.path for part in unread] == [path]
    assert why in (unread[0].unread or "")


YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)
FILES = st.lists(st.fixed_dictionaries({"path": YAML, "content": YAML, "encoding": YAML}) | YAML, max_size=3)


@given(st.fixed_dictionaries({}, optional={"write_files": FILES | YAML, "runcmd": YAML, "bootcmd": YAML}))
def test_no_shape_of_a_cloud_config_breaks_the_reader(config: dict) -> None:
    for head in ("#cloud-config\n", "#cloud-config-archive\n"):
        try:
            parts(head + yaml.safe_dump(config))
        except UnreadableError as error:
            assert str(error)


@pytest.mark.parametrize(
    "value", ["2001-99-99", "!!int _", "!!float x", "!!bool x", "!!timestamp x", "{[]: 1}", "&a [*a]"]
)
def test_no_value_of_yaml_breaks_the_reader(value: str) -> None:
    try:
        assert all(part.unread for part in parts(f"#cloud-config\nruncmd: [{value}]\n"))
    except UnreadableError as error:
        assert str(error).startswith("its cloud-config ")


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        parts(text)
    except UnreadableError as error:
        assert str(error)
