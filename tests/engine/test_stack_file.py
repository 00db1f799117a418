"""The copy of a stack file that a simulated run works on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_fabric.engine.stack_file import PLACEHOLDER, StackFileError, copy_for_simulation, read_stack_file
from tests.simulated import SimulatedStack


def write(folder: Path, text: str) -> Path:
    path = folder / "Pulumi.dev.yaml"
    path.write_text(text)
    return path


def test_yaml_that_does_not_parse_is_said_with_file_line_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, "config:\n  aws:region: us-east-1\n  a: [1, 2\n  b: 3\n")
    with pytest.raises(StackFileError) as refused:
        read_stack_file(path)
    assert str(refused.value).startswith("Pulumi.dev.yaml:4:4: this is not YAML: ")
    assert str(refused.value).endswith("Mend the line (or the one before it); nothing was planned")


def test_a_list_where_the_stack_file_should_be_a_map_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        StackFileError, match="a stack file is a map with the key `config`, this one is a list"
    ):
        read_stack_file(write(tmp_path, "- config\n"))


def test_a_missing_stack_file_names_those_that_exist(tmp_path: Path) -> None:
    write(tmp_path, "config: {}\n")
    with pytest.raises(
        StackFileError, match=r"Pulumi\.prod\.yaml: there is no such stack file.*found: Pulumi\.dev"
    ):
        read_stack_file(tmp_path / "Pulumi.prod.yaml")


def test_an_empty_stack_file_is_an_empty_map(tmp_path: Path) -> None:
    assert read_stack_file(write(tmp_path, "")).value == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b"config:\n  a:b: \xff\xfe\n",
            "Pulumi.dev.yaml:2: this is not text in UTF-8 (byte 15: 0xff). Save the file as UTF-8; nothing was planned",
        ),
        (
            b"config:\n  a:b: \x00\n",
            "Pulumi.dev.yaml:2: this is not YAML: the character U+0000 may not stand in it. "
            "Remove it; nothing was planned",
        ),
        (
            b"config: &all\n  a:b: [*all]\n",
            "Pulumi.dev.yaml:1: this value holds itself by an alias (`*`). Write it out\nNothing was planned",
        ),
        (
            b"config:\n  a:b: " + b"[" * 120 + b"]" * 120 + b"\n",
            "Pulumi.dev.yaml:2: maps and lists are nested more than 100 deep. Flatten them\nNothing was planned",
        ),
        (
            b"a: " + b"[" * 5000 + b"]" * 5000,
            "Pulumi.dev.yaml: maps and lists are nested more than 100 deep. Flatten them",
        ),
        (
            b"config:\n  p:fabric:\n    nodes: 4\n    zone: a\n    nodes: 8\nconfig: {}\n",
            "Pulumi.dev.yaml:6:1: the key `config` stands here again (line 1). Keep one\n"
            "Pulumi.dev.yaml:5:5: the key `nodes` stands here again (line 3). Keep one\nNothing was planned",
        ),
        (
            b"config:\n  p:fabric:\n    rttMs: .nan\n    more: [1, -.INF, '.nan']\n",
            "Pulumi.dev.yaml:3:12: `.nan` is not a number to count with. Give digits\n"
            "Pulumi.dev.yaml:4:15: `-.INF` is not a number to count with. Give digits\nNothing was planned",
        ),
    ],
)
def test_what_pulumi_could_not_read_is_refused_with_its_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_bytes(data)
    with pytest.raises(StackFileError) as refused:
        read_stack_file(path)
    assert str(refused.value).replace("Pulumi.dev.yaml:1: maps", "Pulumi.dev.yaml: maps").startswith(said)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=60), st.text("abn:-[]{}&*!|>\"'#,? \n%@~<0x1\t", max_size=40).map(str.encode)
    )
)
def test_a_stack_file_is_copied_or_refused_with_its_name_whatever_stands_in_it(
    tmp_path: Path, data: bytes
) -> None:
    source = tmp_path / "Pulumi.dev.yaml"
    source.write_bytes(data)
    try:
        copy_for_simulation(source, tmp_path / "copies" / "Pulumi.dev.yaml")
    except StackFileError as refused:
        assert str(refused).startswith("Pulumi.dev.yaml")


SCALARS = (
    "yes No on OFF y True true FALSE null ~ 1:30 190:20:30 0777 0o17 0x1F 0b11 1_000 -5 +7 1e3 1.50 .5 '.inf' "
    "2026-01-02 2026-13-45 2026-01-02T03:04:05Z '1:30' \"yes\" 'null' '' !!str~5 !!int~'5' 12345678901234567890 = "
    "us-east-1a a:b v1:x=="
)


def scalars() -> list[str]:
    return [each.replace("~", " ") if each.startswith("!!") else each for each in SCALARS.split(" ")]


def test_a_scalar_is_spelled_and_quoted_in_the_copy_as_in_the_file(tmp_path: Path) -> None:
    lines = "".join(f"  p:k{number}: {text}\n" for number, text in enumerate(scalars()))
    target = tmp_path / "copies" / "Pulumi.dev.yaml"
    copy_for_simulation(write(tmp_path, f"config:\n{lines}  p:none:\n  p:flow: {{a: , on: yes}}\n"), target)
    copied = target.read_text()
    for number, text in enumerate(scalars()):
        wanted = {"!!str 5": '"5"', '"yes"': '"yes"', "!!int '5'": "!!int '5'"}.get(text, text)
        assert f"  p:k{number}: {wanted}\n" in copied
    assert "  p:none:\n  p:flow:\n    a:\n    on: yes\n" in copied


@pytest.mark.engine
def test_the_engine_reads_the_same_from_the_copy_as_from_the_file(simulated: SimulatedStack) -> None:
    # The engine itself refuses what JSON cannot say.
    readable = [text for text in scalars() if text not in (".inf", ".NaN")]
    lines = "".join(f"  p:k{number}: {{v: {text}, l: [{text}]}}\n" for number, text in enumerate(readable))
    made = simulated.pulumi("stack", "init", "dev", "--non-interactive")
    assert made.returncode == 0, made.stderr
    source = simulated.project / "Pulumi.dev.yaml"
    source.write_text(f"config:\n{lines}  p:merged: {{<<: &base {{on: yes}}, b: *base}}\n")
    copy = simulated.project / "copy.yaml"
    copy_for_simulation(source, copy)
    said = [
        simulated.pulumi("config", "--json", "--stack", "dev", "--config-file", str(path))
        for path in (source, copy)
    ]
    assert said[0].returncode == 0, said[0].stderr
    assert '"p:k0"' in said[0].stdout
    assert said[0].stdout == said[1].stdout


def test_the_copy_is_its_users_alone(tmp_path: Path) -> None:
    target = tmp_path / "copies" / "Pulumi.dev.yaml"
    for _ in range(2):
        copy_for_simulation(write(tmp_path, "config: {a:b: 1}\n"), target)
        assert target.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in target.parent.iterdir()] == ["Pulumi.dev.yaml"]


def test_the_copy_keeps_the_values_and_none_of_the_real_backends_keys(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        "secretsprovider: awskms://alias/x\nencryptedkey: abc\nencryptionsalt: v1:mine\n"
        "config:\n  aws:region: us-east-1\n  p:bgp: {secure: v1:AAA}\n  p:deep: {list: [{secure: v1:BBB}, 4]}\n",
    )
    before = source.read_text()
    target = tmp_path / "copies" / "Pulumi.dev.yaml"
    copy = copy_for_simulation(source, target)
    assert yaml.safe_load(target.read_text()) == {
        "config": {"aws:region": "us-east-1", "p:bgp": PLACEHOLDER, "p:deep": {"list": [PLACEHOLDER, 4]}}
    }
    assert copy.replaced_secrets == 2
    assert source.read_text() == before


def test_the_copy_keeps_the_salt_that_the_engine_wrote_into_it(tmp_path: Path) -> None:
    source, target = write(tmp_path, "config: {a:b: 1}\n"), tmp_path / "copies" / "Pulumi.dev.yaml"
    copy_for_simulation(source, target)
    target.write_text(target.read_text() + "encryptionsalt: v1:simulated\n")
    source.write_text("config: {a:b: 2}\n")
    copy_for_simulation(source, target)
    assert yaml.safe_load(target.read_text()) == {"config": {"a:b": 2}, "encryptionsalt": "v1:simulated"}
