"""The JSON Schema of the stack file: what editors are told is what the models read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from gpu_fabric.components.aws.settings import AwsClusterSettings
from gpu_fabric.components.azure.settings import AzureClusterSettings
from gpu_fabric.components.settings import Spelling, read
from gpu_fabric.components.stack_schema import schema
from tests.fidelity import matrix as aws_matrix
from tests.fidelity.azure import matrix as azure_matrix
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


STACK_FILES = [
    name
    for name in tracked()
    if re.search(r"(^|/)Pulumi\.\w+\.yaml$", name) and "gpu-fabric:fabric:" in (ROOT / name).read_text()
]


@pytest.mark.parametrize("path", STACK_FILES)
def test_the_first_line_of_a_stack_file_names_the_schema(path: str) -> None:
    first = (ROOT / path).read_text().splitlines()[0]
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert found is not None, first
    assert ((ROOT / path).parent / found[1]).resolve() == ROOT / "docs" / "stack-file.schema.json"


VALIDATOR = Draft202012Validator(SCHEMA)


def places(document: Any) -> set[str]:
    """Where a document breaks the schema, by the deepest reason that a validator gives."""
    return {best_match([error]).json_path for error in VALIDATOR.iter_errors(document)}


def test_the_schema_is_one_by_its_own_meta_schema() -> None:
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(SCHEMA)


def test_the_repositorys_stack_files_are_found() -> None:
    assert {"Pulumi.dev.yaml", "examples/two-clouds-equinix/Pulumi.dev.yaml"} <= set(STACK_FILES)


@pytest.mark.parametrize("path", STACK_FILES)
def test_a_stack_file_of_the_repository_is_valid(path: str) -> None:
    assert places(yaml.safe_load((ROOT / path).read_text())) == set()


@pytest.mark.parametrize("section", ["aws", "azure"])
def test_what_a_run_reads_is_valid_whatever_is_set(section: str) -> None:
    """The settings of the fidelity tests, written as a stack file would hold them."""
    cases, model = {
        "aws": (
            [*aws_matrix.single_cases("fleet"), *aws_matrix.surrounding_cases("instances")],
            AwsClusterSettings,
        ),
        "azure": (
            [case for part in azure_matrix.PARTS.values() for case in part() if "vm_size" in case.settings],
            AzureClusterSettings,
        ),
    }[section]
    assert len(cases) > 10
    for case in cases:
        read_back, problems = read(model, case.settings, spelling=Spelling.SNAKE)
        assert read_back is not None, problems
        written = read_back.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        # The kind of capacity that is the default too: it tells the others apart.
        if "capacity" in written:
            written["capacity"]["kind"] = read_back.capacity.kind
        assert places({"config": {"gpu-fabric:fabric": {section: written}}}) == set(), case.title


def test_a_value_that_pulumi_encrypted_may_stand_for_text() -> None:
    hidden = {"secure": "v1:abc:def"}
    assert places({"config": {"gpu-fabric:fabric": {"aws": {**AWS, "tags": {"owner": hidden}}}}}) == set()
    assert places({"config": {"gpu-fabric:fabric": {"aws": {**AWS, "interfaces": hidden}}}})


FABRIC = "$.config['gpu-fabric:fabric']"
AWS: dict[str, Any] = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 2}


@pytest.mark.parametrize(
    ("fabric", "place"),
    [
        ({}, FABRIC),
        ({"aws": {**AWS, "nodes": "two"}}, f"{FABRIC}.aws.nodes"),
        ({"aws": {**AWS, "nodes": 0}}, f"{FABRIC}.aws.nodes"),
        ({"aws": {**AWS, "nodez": 2}}, f"{FABRIC}.aws"),
        ({"aws": {"zone": "us-east-1a", "nodes": 2}}, f"{FABRIC}.aws"),
        ({"aws": {**AWS, "capacity": {"kind": "rented"}}}, f"{FABRIC}.aws.capacity"),
        ({"aws": {**AWS, "interfaces": "many"}}, f"{FABRIC}.aws.interfaces"),
        ({"aws": {**AWS, "network": {"vpc_id": "vpc-1"}}}, f"{FABRIC}.aws.network"),
        ({"aws": AWS, "gcp": {}}, FABRIC),
        ({"azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 2, "access": {"findPeers": "yes"}}}, None),
    ],
)
def test_a_stack_file_that_a_run_would_refuse_is_invalid_at_its_place(fabric: Any, place: str | None) -> None:
    found = places({"config": {"gpu-fabric:fabric": fabric}})
    assert found
    if place is not None:
        assert any(each.startswith(place) for each in found), found
