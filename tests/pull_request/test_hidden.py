"""Whatever a start-up script holds, a comment shows no secret of it."""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.pull_request.changes import table
from gpu_fabric.pull_request.comment import comment
from gpu_fabric.pull_request.hidden import names_a_secret, shown_lines, without_forms
from tests.pull_request.test_comment import REQUEST, outcome

#: A secret that has no form of its own, with a part that cannot stand in a comment by accident.
SECRETS = st.text(alphabet="abcdefghij", min_size=4, max_size=20).map(lambda text: f"qq{text}qq")
NAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "MY_", "app.", "wandb-", "x"]),
    st.sampled_from(
        ["TOKEN", "token", "Secret", "PASSWORD", "passwd", "apiKey", "API_KEY", "ACCESS_KEY", "credentials"]
    ),
    st.sampled_from(["", "_V2", "2"]),
)
#: Ways to write a secret into a script; `{n}` the name, `{s}` the secret.
WAYS: dict[str, str] = {
    "variable": "export {n}={s}\n",
    "several of a line": "A=1 {n}={s} B=2 {n}={s} run\n",
    "quoted": "{n}='{s} {s}'\n",
    "over two lines": '{n}="{s}\n{s}"\n',
    "continued": "{n}=a\\\n{s}\n",
    "option": "run --{n} {s}\n",
    "option with a sign": "run --{n}={s}\n",
    "header": 'curl -H "Authorization: Bearer {s}" https://example.com\n',
    "address": "git clone https://me:{s}@example.com/a.git\n",
    "login": "docker login -u me -p {s}\n",
    "user of curl": "curl -s -u me:{s} https://example.com\n",
    "user of curl in one option": "curl -sSfu me:{s} https://example.com\n",
    "user of curl with a sign": "curl --user=me:{s} https://example.com\n",
    "password of MySQL": "mysql -u root -p{s} a\n",
    "login of Vault": "vault login {s}\n",
    "key of Redis": "redis-cli -h host -a {s} ping\n",
    "piped to chpasswd": 'echo "ubuntu:{s}" | chpasswd\n',
    "piped in two lines": 'echo "ubuntu:{s}" |\n  sudo chpasswd\n',
    "piped to a login": "echo {s} | docker login -u me --password-stdin example.com\n",
    "piped to passwd": "echo {s} | passwd --stdin root\n",
    "short names": "export DB_PASS={s}\nROOT_PASS='{s}'\npass: {s}\ncred={s}\n",
    "set": "aws configure set aws_secret_access_key {s}\n",
    "into a file of passwords": 'echo "machine example.com login me {s}" > ~/.netrc\n',
    "into a file of keys": "echo {s} | sudo tee -a /etc/munge/munge.key\n",
    "list of variables": "- name: {n}\n  value: {s}\n",
    "list of variables in one line": '- {{"name": "{n}", "value": "{s}"}}\n',
    "list of variables in JSON": '{{"env": [{{"name": "{n}", "value": "{s}"}}]}}\n',
    "list of variables, value first": '{{"env": [{{"value": "{s}", "name": "{n}"}}]}}\n',
    "webhook": "curl -d x https://hooks.slack.com/services/T0/B0/{s}\n",
    "YAML": "a: 1\n{n}: {s}\nb: 2\n",
    "YAML block": "{n}: |\n  {s}\n\n  {s}\nb: 2\n",
    "here-document": "cat > /etc/{n} <<'EOF'\n{s}\nEOF\ndate\n",
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\n{s}\n-----END OPENSSH PRIVATE KEY-----\n",
    "JSON": '{{"a": {{"{n}": "{s}"}}}}\n',
    "JSON list": '{{"{n}": ["{s}", {{"x": "{s}"}}]}}\n',
}
#: The files and packings in which a node gets a script.
PACKINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda script: script,
    "base64 of gzip": lambda script: base64.b64encode(gzip.compress(script.encode())).decode(),
    "cloud-config": lambda script: (
        "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/x", "content": script}]})
    ),
    "MIME": lambda script: (
        f'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\n{script}\n--b--\n'
    ),
}


def row(old: str, new: str) -> str:
    step = {
        "op": "update",
        "urn": "urn:pulumi:dev::p::aws:ec2/launchTemplate:LaunchTemplate::node",
        "detailedDiff": {"userData": {}},
        "oldState": {"inputs": {"userData": old}},
        "newState": {"inputs": {"userData": new}},
    }
    return table({"steps": [step]})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("packing", PACKINGS)
@settings(max_examples=20, deadline=None)
@given(name=NAMES, secret=SECRETS, other=SECRETS)
def test_no_change_of_a_start_up_script_shows_a_secret(
    way: str, packing: str, name: str, secret: str, other: str
) -> None:
    pack = PACKINGS[packing]
    with_it, with_other = (WAYS[way].format(n=name, s=one) for one in (secret, other))
    for old, new in ((with_it, with_other), ("date\n", with_it), (with_it, "date\n")):
        said = row(pack(old), pack(new))
        assert secret not in said
        assert other not in said or other in secret


def test_a_line_of_which_only_the_secret_changes_is_said_to_change() -> None:
    said = row("export HF_TOKEN=hf_aaaaaaaaaaaa\n", "export HF_TOKEN=hf_bbbbbbbbbbbb\n")
    assert "`export HF_TOKEN=[secret]`, where only the secret differs" in said


@pytest.mark.parametrize(
    "line",
    [
        "NCCL_IB_PKEY=0x8001",
        "export NCCL_NET_GDR_LEVEL=LOC",
        "ip link set dev ens32 mtu 9001",
        "docker pull example.com/train@sha256:" + "0f" * 32,
        "git checkout " + "0f" * 20,
        "export HF_TOKEN_PATH=/run/token",
        "aws ssm get-parameter --name /team/token",
        "echo NCCL_DEBUG=WARN | sudo tee -a /etc/nccl.conf",
        "export NCCL_BYPASS=1",
        "- name: NCCL_DEBUG",
        "  value: WARN",
    ],
)
def test_what_is_no_secret_is_shown(line: str) -> None:
    assert shown_lines(line) == [line]


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("adminPassword", True),
        ("tags.token", True),
        ("environment[0].API_KEY", True),
        ("/root/.ssh/id_ed25519", True),
        ("metadataOptions.httpTokens", False),
        ("keyName", False),
        ("ebs.kmsKeyId", False),
        ("/etc/nccl.conf", False),
    ],
)
def test_a_property_or_file_is_judged_by_its_name(path: str, secret: bool) -> None:
    assert names_a_secret(path) is secret


def test_a_property_that_is_named_as_a_secret_is_not_shown() -> None:
    step = {
        "op": "update",
        "urn": "urn:pulumi:dev::p::a:b:C::r",
        "detailedDiff": {"adminPassword": {}, "size": {}},
        "oldState": {"inputs": {"adminPassword": "hunter2", "size": "a"}},
        "newState": {"inputs": {"adminPassword": "hunter3", "size": "b"}},
    }
    assert "| `adminPassword`: [secret] → [secret]; `size`: a → b |" in table({"steps": [step]})


def test_a_key_in_a_message_is_hidden_by_its_form() -> None:
    keys = ["AKIAIOSFODNN7EXAMPLE", "ghp_0123456789abcdefghij", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]
    said = without_forms(json.dumps({"x": keys}) + " HF_TOKEN=hunter2 postgres://me:pw1@db")
    assert not [one for one in (*keys, "hunter2", "pw1") if one in said]


def test_neither_policies_nor_lint_nor_report_repeat_a_secret() -> None:
    said = "export HF_TOKEN=hunter2"
    finding = {"level": "error", "path": "a.sh", "line": 1, "what": said, "remedy": "r", "code": "c"}
    for parts in (
        {"preview": f"Policies:\n    - [advisory]  rule  (x)\n      {said}\n\n"},
        {"preview": f"Diagnostics:\n  {said}", "changes": {}, "exit_code": 255},
        {"findings": {"findings": [finding], "counts": {"error": 1}}},
        {"report": f"# Report\n\n{said}\n"},
        {"base_note": f"nothing: {said}"},
    ):
        text = comment(REQUEST, outcome(**parts))
        assert "hunter2" not in text
        assert "HF_TOKEN=[secret]" in text


@pytest.mark.parametrize("pattern", ["a", "-.", "key", "A1b", "_key-", " "])
def test_a_long_line_takes_seconds_at_most(pattern: str) -> None:
    begun = time.process_time()
    shown_lines(pattern * (16_384 // len(pattern)))
    assert time.process_time() - begun < 5
