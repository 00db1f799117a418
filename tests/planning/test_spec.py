"""Reading the plan's part of a stack file: all problems at once, each with its path."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.nccl.hardware import Cloud, get_size
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.layout import Layout, Precision
from gpu_fabric.planning.spec import fabric_spec, read_stack_file
from gpu_fabric.planning.transformer import load_models

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


SHAPE = {
    "name": "ours",
    "layers": 8,
    "hidden": 512,
    "ffn": 2048,
    "heads": 8,
    "kvHeads": 8,
    "vocab": 1000,
    "source": "our wiki",
}
MOE = {"experts": 8, "topK": 2, "ffn": 256}


def test_a_custom_model_is_given_as_a_table_in_either_spelling():
    snake = {("kv_heads" if key == "kvHeads" else key): value for key, value in SHAPE.items()}
    for shape in (SHAPE, snake):
        model = fabric_spec({"aws": AWS, "training": {"model": shape}}).training.to_training().model
        assert (model.name, model.kv_heads, model.parameters) == ("ours", 8, 34_587_136)


@pytest.mark.parametrize("name", sorted(load_models()))
def test_every_model_of_the_library_can_be_written_as_a_custom_one(name):
    row = {key: value for key, value in asdict(load_models()[name]).items() if value is not None}
    assert fabric_spec({"aws": AWS, "training": {"model": row}}).training.shape == load_models()[name]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"source": None}, "source: "),
        ({"layers": "x"}, "layers: Input should be a valid integer; got 'x'"),
        ({"layers": 32.5}, "layers: Input should be a valid integer; got 32.5"),
        ({"layers": 0}, "layers: 0 is too small; give at least 1"),
        ({"layers": 5_000}, "layers: 5000 is too large; give at most 4096"),
        ({"hidden": -512}, "hidden: -512 is too small; give at least 1"),
        ({"ffn": -1}, "ffn: -1 is too small; give at least 1"),
        ({"vocab": -1}, "vocab: -1 is too small; give at least 1"),
        ({"vocab": True}, "vocab: Input should be a valid integer; got True"),
        ({"gated": "maybe"}, "gated: Input should be a valid boolean; got 'maybe'"),
        ({"hiden": 512}, "hiden: is not a key that is known here; correct it, or remove it"),
        ({"moe": {**MOE, "topK": 0}}, "moe.topK: 0 is too small; give at least 1"),
        ({"moe": {**MOE, "experts": 0, "topK": 4}}, "moe.experts: 0 is too small; give at least 1"),
    ],
)
def test_a_custom_model_with_a_wrong_value_is_refused_with_its_key(change, problem):
    assert _problems({"aws": AWS, "training": {"model": SHAPE | change}})[0].startswith(
        f"fabric.training.model.{problem}"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"hidden": 4095, "heads": 7, "kvHeads": 3},
            "fabric.training.model: heads 7 is no multiple of kvHeads 3; correct the shape",
        ),
        (
            {"hidden": 4096, "heads": 7, "kvHeads": 7},
            "fabric.training.model: hidden 4096 is no multiple of heads 7; correct the shape",
        ),
        (
            {"moe": {**MOE, "denseLayers": 8}},
            "fabric.training.model: moe.denseLayers 8 leaves no layer of 8 for the mixture; correct the shape",
        ),
        (
            {"moe": {**MOE, "topK": 9}},
            "fabric.training.model.moe: a token passes 9 of 8 experts; lower topK",
        ),
        (
            {"parametersB": 7},
            "fabric.training.model: the shape has 0.03459 billion parameters, and parametersB says 7; "
            "correct the shape",
        ),
    ],
)
def test_a_custom_model_that_contradicts_itself_is_refused(change, problem):
    assert _problems({"aws": AWS, "training": {"model": SHAPE | change}}) == [problem]


def test_a_custom_model_at_its_borders_is_taken():
    for change in (
        {"layers": 1},
        {"moe": {**MOE, "topK": 8}},
        {"moe": {**MOE, "denseLayers": 7}},
        {"parametersB": 0.036},
    ):
        assert fabric_spec({"aws": AWS, "training": {"model": SHAPE | change}})


@pytest.mark.parametrize("model", [7, None, ["llama-3-8b"], True])
def test_a_model_that_is_neither_name_nor_table_is_refused(model):
    (problem,) = _problems({"aws": AWS, "training": {"model": model}})
    assert problem == "fabric.training.model: is neither the name of a model nor a table; give one of both"


@pytest.mark.parametrize(
    ("section", "key", "most"),
    [
        ({"aws": {**AWS}}, "fabric.aws.nodes", 100_000),
        ({"aws": AWS, "training": {}}, "fabric.training.globalBatch", 1 << 24),
        ({"aws": AWS, "training": {}}, "fabric.training.sequence", 1 << 27),
    ],
)
def test_numbers_beyond_every_machine_are_refused_and_the_largest_is_taken(section, key, most):
    _, part, name = key.split(".")
    section[part][name] = most
    fabric_spec(section)
    section[part][name] = 10**12
    assert _problems(section) == [f"{key}: 1000000000000 is too large; give at most {most}"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0, -1])
def test_a_round_trip_that_is_no_time_is_refused(value):
    link = {"bandwidthMbps": 1000, "rttMs": value}
    (problem,) = _problems({"aws": AWS, "azure": AZURE, "interconnect": link})
    assert problem.startswith("fabric.interconnect.rttMs: ")


def test_an_unknown_section_is_refused_with_the_nearest_known_one():
    link = {"bandwidthMbps": 1000}
    assert _problems({"aws": AWS, "azure": AZURE, "interconect": link}) == [
        "fabric.interconect: is not a key that is known here; did you mean `interconnect`? "
        "known keys: aws, azure, interconnect, training, sizes"
    ]
    assert _problems({"aws": AWS, "name": "mine", 7: {}})[1].startswith(
        "fabric.7: is not a key that is known"
    )


def test_a_zone_of_another_region_than_the_providers_is_refused():
    with pytest.raises(PlanningError) as error:
        fabric_spec({"aws": AWS}, aws_region="us-west-2")
    assert error.value.problems == (
        "fabric.aws.zone: us-east-1a is a zone of us-east-1, and aws:region is us-west-2; give a zone of us-west-2, or "
        "set aws:region to us-east-1",
    )
    local = fabric_spec({"aws": {**AWS, "zone": "us-west-2-lax-1a"}}, aws_region="us-west-2")
    assert local.clusters[0].region == "us-west-2"


def test_disk_network_and_variables_of_a_cluster_are_read():
    spec = fabric_spec(
        {
            "aws": {
                **AWS,
                "rootVolume": {"sizeGib": 20, "iops": 3000, "throughputMibps": 125},
                "network": {"internet": "endpoints"},
                "nccl": {"environment": {"NCCL_ALGO": "RING,TREE"}, "topology": "active"},
            }
        }
    )
    (cluster,) = spec.clusters
    assert cluster.root_volume is not None
    assert (cluster.root_volume.size_gib, cluster.root_volume.iops) == (20, 3000)
    assert (cluster.network.has_nat, cluster.network.has_endpoints) == (False, True)
    assert cluster.variables == {"NCCL_ALGO": "RING,TREE"}


# What YAML can hold: also keys that are no text, and values at odds with every field.
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.dates() | st.binary(max_size=4)
    | st.sampled_from(["p5.48xlarge", "Standard_ND96isr_H100_v5", "us-east-1a", "llama-3-8b", "fp8", "spot"])
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "aws", "azure", "interconnect", "training", "sizes", "instanceType", "vmSize", "nodes", "zone", "capacity",
        "kind", "network", "rootVolume", "nccl", "environment", "bandwidthMbps", "partner", "rttMs", "model", "layers",
        "hidden", "moe", "layout", "tensor", "region", "location", "sequence", "globalBatch", "name", "circuit",
    ]
)  # fmt: skip
KEYS = NAMES | st.text(max_size=6) | st.integers() | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=6), st.none() | st.text(max_size=8))
@settings(max_examples=300, deadline=None)
def test_any_mapping_is_a_spec_or_a_planning_error_with_lines(data, region):
    try:
        fabric_spec(data, aws_region=region, azure_location=region)
    except PlanningError as error:
        assert error.problems
        assert all(problem.startswith("fabric") for problem in error.problems), error.problems


@pytest.mark.parametrize(
    "text",
    [
        "config: " + "[" * 100_000,
        "config: {gpu-fabric:fabric: " + "{aws: " * 20_000,
        "when: 2026-99-99",
        "config: {gpu-fabric:fabric: {aws: 2026-99-99}}",
        "\x00",
        "&a [*a]",
        "config: {gpu-fabric:fabric: &a {aws: *a}}",
        "config: {'aws:region': [1], gpu-fabric:fabric: {}}",
        "config: {gpu-fabric:fabric: {? [a] : 1}}",
        "\ufeffconfig: 7",
        "number: " + "9" * 5_000,
    ],
)
def test_a_file_that_yaml_or_python_chokes_on_is_a_planning_error(tmp_path, text):
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text(text)
    with pytest.raises(PlanningError):
        read_stack_file(path)


def test_a_file_that_is_not_text_or_does_not_end_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PlanningError, match="is not UTF-8"):
        read_stack_file(path)
    with pytest.raises(PlanningError, match="is larger than 16 MiB; give a stack file"):
        read_stack_file(Path("/dev/zero"))


def test_the_value_in_a_message_is_short_however_large_it_is():
    (problem,) = _problems({"aws": {**AWS, "nodes": ["x" * 1000] * 1000}})
    assert len(problem) < 300


def test_a_size_that_the_stack_file_describes_itself_is_known():
    mine = replace(get_size("p5.48xlarge"), name="p9.huge")
    spec = fabric_spec({"aws": {**AWS, "instanceType": "p9.huge"}}, sizes={"p9.huge": mine})
    assert spec.clusters[0].size is mine


def test_hints_hold_the_layout_to_what_the_user_fixed():
    hints = fabric_spec({"aws": AWS, "training": {"layout": {"tensor": 8}}}).training.layout
    assert hints.allows(Layout(tensor=8, pipeline=2))
    assert not hints.allows(Layout(tensor=4))
