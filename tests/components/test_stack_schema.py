"""The JSON Schema of the stack file: what editors are told is what the models read."""

from __future__ import annotations

import json
import re

import pytest

from gpu_fabric.components.stack_schema import schema
from tests.library.installed import tracked
from tests.simulated import ROOT

SCHEMA = json.loads(schema())


def test_the_published_schema_is_made_from_the_models() -> None:
    published = (ROOT / "docs" / "stack-file.schema.json").read_text()
    assert published == schema(), (
        "write it again: python -m gpu_fabric.components.stack_schema > docs/stack-file.schema.json"
    )


def test_keys_are_closed_in_every_section_and_spelled_as_in_the_stack_file() -> None:
    for name, definition in SCHEMA["$defs"].items():
        if definition.get("type") == "object":
            assert definition["additionalProperties"] is False, name
            assert not [key for key in definition["properties"] if "_" in key], name


def test_what_has_no_default_is_required() -> None:
    assert SCHEMA["$defs"]["AwsClusterSettings"]["required"] == ["zone", "instanceType", "nodes"]


def test_every_reference_leads_to_a_definition() -> None:
    assert set(re.findall(r'"#/\$defs/([^"]+)"', schema())) <= set(SCHEMA["$defs"])


@pytest.mark.parametrize(
    "path",
    [
        name
        for name in tracked()
        if name.endswith("Pulumi.dev.yaml") and "fabric:" in (ROOT / name).read_text()
    ],
)
def test_a_stack_file_that_names_the_schema_names_the_one_that_is_there(path: str) -> None:
    first = (ROOT / path).read_text().splitlines()[0]
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    if path in ("Pulumi.dev.yaml", "examples/two-clouds/Pulumi.dev.yaml"):
        assert found is not None
    if found is not None:
        assert ((ROOT / path).parent / found[1]).resolve() == ROOT / "docs" / "stack-file.schema.json"
