"""Reading the plan's part of a stack file: all problems at once, each with its path."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_fabric.nccl.hardware import Cloud, get_size
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.layout import Layout, Precision
from gpu_fabric.planning.spec import fabric_spec, read_stack_file

STACK = """
config:
  aws:region: us-west-2
  azure-native:location: westus2
  gpu-fabric:fabric:
    aws: { instanceType: p5.48xlarge, nodes: 4, network: { cidr: 10.0.0.0/16 } }
    azure: { vmSize: Standard_ND96isr_H100_v5, nodes: 2, capacity: { kind: spot } }
    interconnect: { partner: equinix, bandwidthMbps: 10000 }
    training: { model: llama-3-70b, globalBatch: 512, precision: fp8 }
"""
AWS = {"instanceType": "p5.48xlarge", "nodes": 4, "zone": "us-east-1a"}
AZURE = {"vmSize": "Standard_ND96isr_H100_v5", "nodes": 4}


def _problems(data: dict) -> list[str]:
    with pytest.raises(PlanningError) as error:
        fabric_spec(data)
    return list(error.value.problems)


def test_a_stack_file_is_read_with_the_regions_of_its_providers(tmp_path):
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text(STACK)
    spec = read_stack_file(path)
    assert spec.name == "prod"
    assert [(c.cloud, c.nodes, c.gpus, c.region, c.capacity) for c in spec.clusters] == [
        (Cloud.AWS, 4, 32, "us-west-2", "onDemand"),
        (Cloud.AZURE, 2, 16, "westus2", "spot"),
    ]
    training = spec.training.to_training()
    assert (training.global_batch, training.sequence, training.precision) == (512, 8192, Precision.FP8)
    link = spec.link_model()
    assert link is not None
    assert (link.bandwidth_gbps, link.rtt_ms) == (10, 9.0)
    assert link.basis == "estimated from distance, 6 to 9 ms; not measured"


def test_the_zone_names_the_region_where_the_provider_does_not():
    assert fabric_spec({"aws": AWS}).clusters[0].region == "us-east-1"


def test_a_measured_round_trip_goes_before_the_estimate():
    link = fabric_spec(
        {"aws": AWS, "azure": AZURE, "interconnect": {"bandwidthMbps": 10000, "rttMs": 2.1}}
    ).link_model()
    assert link is not None
    assert (link.rtt_ms, link.basis) == (2.1, "round-trip time given in the stack file")


def test_an_unknown_region_pair_is_counted_cautiously_and_says_so():
    spec = fabric_spec({"aws": AWS, "azure": AZURE, "interconnect": {"bandwidthMbps": 10000}})
    link = spec.link_model()
    assert link is not None
    assert link.rtt_ms == 10
    assert "measure it" in link.basis


def test_all_problems_come_at_once_with_their_paths():
    problems = _problems(
        {
            "aws": {"instanceType": "p5.48xlarg", "nodes": 0},
            "azure": {"nodes": 4},
            "interconnect": {"bandwidthMbps": 10, "partner": "equinx"},
            "training": {"model": "llama3-70b", "globalBath": 1},
        }
    )
    places = [problem.partition(":")[0] for problem in problems]
    assert places == [
        "fabric.aws.nodes",
        "fabric.aws.instanceType",
        "fabric.azure.vmSize",
        "fabric.interconnect.partner",
        "fabric.interconnect.bandwidthMbps",
        "fabric.training.model",
        "fabric.training.globalBath",
    ]
    assert "did you mean p5.48xlarge?" in problems[1]
    assert problems[2] == "fabric.azure.vmSize: is required; add it"
    assert "did you mean llama-3-70b?" in problems[5]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "fabric: neither aws nor azure is given: there is nothing to plan; add one"),
        (
            {"aws": AWS, "interconnect": {"bandwidthMbps": 10000}},
            "fabric: interconnect needs both aws and azure; add the other cloud or remove it",
        ),
        (
            {"aws": {**AWS, "instanceType": "Standard_ND96isr_H100_v5"}},
            "fabric.aws.instanceType: Standard_ND96isr_H100_v5 is a size of azure, not of aws; move it there",
        ),
    ],
)
def test_a_spec_that_cannot_be_planned_says_what_to_do(data, message):
    assert _problems(data) == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read (No such file or directory); give a stack file"),
        ("a: [", "is no YAML"),
        ("config: {}", "config has no mapping 'gpu-fabric:fabric'; describe the fabric there"),
        ("- 1", "config has no mapping 'gpu-fabric:fabric'"),
    ],
)
def test_a_file_that_is_no_stack_file_is_an_error_with_its_name(tmp_path, text, message):
    path = tmp_path / "Pulumi.dev.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PlanningError) as error:
        read_stack_file(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_a_custom_model_is_given_as_a_table():
    shape = {
        "name": "ours",
        "layers": 8,
        "hidden": 512,
        "ffn": 2048,
        "heads": 8,
        "kv_heads": 8,
        "vocab": 1000,
    }
    spec = fabric_spec({"aws": AWS, "training": {"model": {**shape, "source": "ours"}}})
    assert spec.training.to_training().model.name == "ours"
    problems = _problems({"aws": AWS, "training": {"model": shape}})
    assert problems[0].startswith("fabric.training.model: a custom model needs layers, hidden, ffn, heads")


def test_a_size_that_the_stack_file_describes_itself_is_known():
    mine = replace(get_size("p5.48xlarge"), name="p9.huge")
    spec = fabric_spec({"aws": {**AWS, "instanceType": "p9.huge"}}, sizes={"p9.huge": mine})
    assert spec.clusters[0].size is mine


def test_hints_hold_the_layout_to_what_the_user_fixed():
    hints = fabric_spec({"aws": AWS, "training": {"layout": {"tensor": 8}}}).training.layout
    assert hints.allows(Layout(tensor=8, pipeline=2))
    assert not hints.allows(Layout(tensor=4))
