"""What the settings in a node's start-up data are read from, and what is said of those that lint does not read."""

from __future__ import annotations

import pytest
import yaml

from gpu_fabric.policy.resource import Resource
from tests.policy.plain import P5, TEMPLATE, resource, undecided, verdicts, violations

SETTING_RULES = ("gpudirect", "socket-names", "preflight-gate")


def node(user_data: str) -> Resource:
    return resource(TEMPLATE, "node", instanceType=P5, userData=user_data)


def file(path: str, *lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"#cloud-config\nwrite_files:\n- path: {path}\n  content: |\n{body}"


@pytest.mark.parametrize(
    ("user_data", "path", "language"),
    [
        ("#!/usr/bin/env python3\nimport os\nos.environ['NCCL_IB_DISABLE'] = '1'\n", "user data", "python"),
        ("#!/usr/bin/perl\n$ENV{NCCL_IB_DISABLE} = 1;\n", "user data", "perl"),
        (file("/opt/train.py", "os.environ['NCCL_IB_DISABLE'] = '1'"), "/opt/train.py", ".py"),
    ],
)
def test_a_program_in_another_language_is_undecided_and_no_violation(
    user_data: str, path: str, language: str
) -> None:
    for rule in SETTING_RULES:
        assert violations(rule, node(user_data)) == []
        (what,) = undecided(rule, node(user_data))
        assert what.startswith(f"what {path} of node ({P5}) sets: it is `")
        assert what.endswith("`, which lint does not read")
        assert language in what


def test_a_program_that_names_no_setting_is_a_program_like_any_other() -> None:
    script = "#!/usr/bin/env python3\nprint('hello')\n"
    assert undecided("gpudirect", node(script)) == violations("gpudirect", node(script)) == []


@pytest.mark.parametrize(
    "path", ["/etc/systemd/system/train.service", "/etc/systemd/system/slurmd.service.d/nccl.conf"]
)
def test_the_environment_of_a_unit_is_read(path: str) -> None:
    unit = file(
        path,
        "[Service]",
        'Environment="NCCL_NET_GDR_LEVEL=LOC" NCCL_SOCKET_IFNAME=ens',
        "Environment=FI_PROVIDER=tcp",
    )
    said = violations("gpudirect", node(unit))
    name = f"{path} (a unit)" if path.endswith(".conf") else path
    assert [what.partition(": ")[0] for what in said] == [f"node ({P5}), {name}:2", f"node ({P5}), {name}:3"]
    assert not any(
        "does not set NCCL_SOCKET_IFNAME" in what for what in violations("socket-names", node(unit))
    )


def test_a_unit_without_settings_says_nothing() -> None:
    unit = file(
        "/etc/systemd/system/a.service",
        "[Service]",
        "ExecStart=/bin/true",
        "Environment='A=1",
        "Environment=",
    )
    assert violations("gpudirect", node(unit)) == undecided("gpudirect", node(unit)) == []


def test_two_parts_of_one_name_are_both_read() -> None:
    one = "#!/bin/sh\nexport NCCL_NET_GDR_LEVEL=LOC\n"
    archive = "#cloud-config-archive\n" + "".join(
        f"- filename: a.sh\n  content: |\n    {text}\n"
        for text in (one.replace("\n", "\n    "), "#!/bin/sh\n    export FI_PROVIDER=tcp")
    )
    codes = [what.rpartition("[")[2] for what in violations("gpudirect", node(archive))]
    assert codes == ["env-gdr-off]", "env-forces-sockets]"]


def test_what_is_lacking_is_undecided_where_a_part_is_not_read() -> None:
    fetched = "#include\nhttps://example.com/setup\n"
    for rule in SETTING_RULES:
        assert violations(rule, node(fetched)) == []
        assert undecided(rule, node(fetched)) == [
            f"user data of node ({P5}): the node fetches it from elsewhere"
        ]


def test_a_line_of_a_unit_goes_on_after_a_backslash() -> None:
    unit = file(
        "/etc/systemd/system/a.service", "[Service]", "Environment=A=1 \\", "  NCCL_NET_GDR_LEVEL=LOC"
    )
    assert len(violations("gpudirect", node(unit))) == 1


def test_a_command_that_is_written_as_a_list_is_one_command() -> None:
    text = yaml.safe_dump({"runcmd": [["sh", "-c", "echo NCCL_NET_GDR_LEVEL=LOC >> /etc/nccl.conf"]]})
    assert len(violations("gpudirect", node(f"#cloud-config\n{text}"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "echo NCCL_NET_GDR_LEVEL=LOC | tee -a /etc/environment",
        "sed -i '$ a NCCL_NET_GDR_LEVEL=LOC' /etc/nccl.conf",
        "systemctl set-environment NCCL_NET_GDR_LEVEL=LOC",
    ],
)
def test_a_variable_that_goes_a_way_that_lint_does_not_follow_is_undecided(line: str) -> None:
    script = f"#!/bin/sh\n{line}\n"
    assert violations("gpudirect", node(script)) or undecided("gpudirect", node(script)) == [
        f"what user data of node ({P5}) does with NCCL_NET_GDR_LEVEL"
    ]
    comment = f"#!/bin/sh\n# {line}\n"
    assert verdicts("gpudirect", node(comment)) == []
