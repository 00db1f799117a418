"""The copy of a stack file that a simulated run works on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpu_fabric.engine.stack_file import PLACEHOLDER, StackFileError, copy_for_simulation, read_stack_file


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
    assert read_stack_file(write(tmp_path, "")) == {}


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
