"""The schema that other languages see, and the arguments on their way back."""

from __future__ import annotations

import json

import pytest

from gpu_fabric.plugin import served
from gpu_fabric.plugin.host import spelled
from gpu_fabric.plugin.typed import _with_whole_numbers
from tests.simulated import ROOT

SCHEMA = json.loads(served.schema())


def test_the_schema_under_version_control_is_what_the_components_say() -> None:
    text = (ROOT / "plugin" / "schema.json").read_text()
    assert text == served.schema(), "write it again: python -m gpu_fabric.plugin.served > plugin/schema.json"


def test_the_plugin_file_names_the_same_package_and_version() -> None:
    import yaml

    file = yaml.safe_load((ROOT / "plugin" / "PulumiPlugin.yaml").read_text())
    assert (file["name"], file["version"]) == (SCHEMA["name"], SCHEMA["version"])


@pytest.mark.parametrize(
    ("component", "required"),
    [("AwsGpuCluster", ["instanceType", "nodes", "zone"]), ("AzureGpuCluster", ["nodes", "vmSize"])],
)
def test_a_cluster_asks_for_what_has_no_default_and_nothing_more(component: str, required: list[str]) -> None:
    described = SCHEMA["resources"][f"gpu-fabric:index:{component}"]
    assert described["isComponent"] is True
    assert described["requiredInputs"] == required
    nodes = described["inputProperties"]["nodes"]
    assert (nodes["type"], nodes["plain"]) == ("integer", True)


def test_an_editor_has_words_for_every_input() -> None:
    inputs = {
        f"{token}.{name}": property_
        for group, key in (("resources", "inputProperties"), ("types", "properties"))
        for token, described in SCHEMA[group].items()
        for name, property_ in described[key].items()
    }
    assert [name for name, property_ in inputs.items() if not property_.get("description")] == []


def test_the_template_of_a_node_group_takes_what_the_cluster_gives_later() -> None:
    described = SCHEMA["resources"]["gpu-fabric:index:AwsEksNodeTemplate"]
    assert described["requiredInputs"] == ["clusterSecurityGroupId", "instanceType", "vpcId"]
    for later in ("clusterSecurityGroupId", "vpcId"):
        assert "plain" not in described["inputProperties"][later]
    assert described["inputProperties"]["instanceType"]["plain"] is True


def test_what_names_something_that_exists_may_be_an_output_and_what_shapes_the_plan_may_not() -> None:
    network = SCHEMA["types"]["gpu-fabric:index:AwsNetworkArgs"]["properties"]
    assert "plain" not in network["subnetId"]
    assert network["cidr"]["plain"] is True


def test_every_type_that_is_referred_to_is_there() -> None:
    text = json.dumps(SCHEMA)
    own = {part.split('"')[0] for part in text.split('"#/types/')[1:]}
    assert own == set(SCHEMA["types"])


def test_numbers_come_back_whole_where_they_are() -> None:
    given = {"nodes": 4.0, "capacity": {"max_price": 1.5}, "list": [2.0]}
    assert repr(_with_whole_numbers(given)) == "{'nodes': 4, 'capacity': {'max_price': 1.5}, 'list': [2]}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("instance_type",), ("instanceType",)),
        (("network", "subnet_cidr"), ("network", "subnetCidr")),
        (("tags", "cost_center"), ("tags", "cost_center")),
        (("nccl", "environment", "NCCL_DEBUG"), ("nccl", "environment", "NCCL_DEBUG")),
        (("bootstrap", "before", 1), ("bootstrap", "before", 1)),
    ],
)
def test_a_problem_names_the_property_as_the_schema_does(
    path: tuple[str | int, ...], expected: tuple[str | int, ...]
) -> None:
    assert spelled(path) == expected
