"""What a node's environment contains and leaves out, by platform, role, image and version."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import product
from typing import Any, cast

import pytest

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.environment import (
    FRAMEWORKS,
    Environment,
    EnvironmentInputError,
    Origin,
    PluginTopology,
    Role,
    environment,
    situation_of,
)
from gpu_fabric.nccl.environment.platforms import plugin_topology
from gpu_fabric.nccl.environment.situation import Situation, matches
from gpu_fabric.nccl.hardware import Cloud, Fabric, UnknownSizeError, get_size, load_sizes
from gpu_fabric.nccl.lint.names import known_names, lifecycle

P4D, P5, P5EN, B300 = "p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b300.48xlarge"
NDV4, NDV5, GB200 = "Standard_ND96asr_v4", "Standard_ND96isr_H100_v5", "Standard_ND128isr_NDR_GB200_v6"
AWS = {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
AZURE = {
    "NCCL_DEBUG": "WARN",
    "NCCL_SOCKET_IFNAME": "=eth0",
    "NCCL_IB_HCA": "mlx5_ib",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}
CONF = {"NCCL_CONF_FILE": paths.NCCL_CONF}
TOPOLOGY = {"NCCL_TOPO_FILE": paths.TOPOLOGY}
FLOWS = {"NCCL_SOCKET_NTHREADS": "4", "NCCL_NSOCKS_PERTHREAD": "8"}
RULES = tomllib.loads(files("gpu_fabric.nccl.environment").joinpath("rules.toml").read_text())


def left_out(made: Environment) -> dict[str, str]:
    return {name: entry.why for entry in made.left_out for name in entry.names}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (P4D, CONF | AWS | TOPOLOGY),
        ("p4de.24xlarge", CONF | AWS | TOPOLOGY),
        (P5, CONF | AWS),
        ("p5e.48xlarge", CONF | AWS),
        (P5EN, CONF | AWS),
        ("p6-b200.48xlarge", CONF | AWS),
        (B300, CONF | AWS),
        ("p5.4xlarge", CONF | AWS),
        (NDV4, CONF | AZURE | TOPOLOGY),
        ("Standard_ND96amsr_A100_v4", CONF | AZURE | TOPOLOGY),
        (NDV5, CONF | AZURE | TOPOLOGY),
        ("Standard_ND96isr_H200_v5", CONF | AZURE | TOPOLOGY),
        (GB200, CONF | AZURE),
        ("Standard_ND96is_H100_v5", {**CONF, **AZURE, **FLOWS, "NCCL_IB_HCA": None}),
    ],
)
def test_inside_a_cloud_each_size_gets_exactly_these_variables(
    size: str, expected: dict[str, str | None]
) -> None:
    wanted = {name: value for name, value in expected.items() if value is not None}
    assert environment(size).values == wanted


def test_a_stage_boundary_adds_the_number_of_flows_and_no_more() -> None:
    for size in (P5, NDV5):
        inside, boundary = environment(size), environment(size, role=Role.STAGE_BOUNDARY)
        assert boundary.values == inside.values | FLOWS
        assert "NCCL_IB_DISABLE" in left_out(boundary), (
            "it would take the fabric from the groups inside the cloud"
        )
        assert "NCCL_NET" in left_out(boundary)


def test_a_single_node_names_no_network_devices() -> None:
    made = environment(NDV5, role=Role.SINGLE_NODE)
    assert "NCCL_IB_HCA" not in made
    assert left_out(made)["NCCL_IB_HCA"] == "Nothing leaves the node."
    assert not FLOWS.keys() & environment("Standard_ND96is_H100_v5", role=Role.SINGLE_NODE).values.keys()


def test_on_p5_the_topology_is_left_out_and_the_explanation_says_why() -> None:
    made = environment(P5)
    assert "NCCL_TOPO_FILE" not in made
    assert "steps aside if NCCL_TOPO_FILE exists" in left_out(made)["NCCL_TOPO_FILE"]


def test_on_p5_the_topology_is_used_when_asked_for() -> None:
    made = environment(P5, topology_file=True)
    assert made["NCCL_TOPO_FILE"] == paths.TOPOLOGY
    assert "NCCL_TOPO_FILE" not in left_out(made)
    assert environment(P5, topology_file="/opt/mine.xml")["NCCL_TOPO_FILE"] == "/opt/mine.xml"


def test_an_active_topology_can_be_left_out() -> None:
    made = environment(NDV5, topology_file=False)
    assert "NCCL_TOPO_FILE" not in made
    assert "NCCL_TOPO_FILE" in left_out(made)


def test_a_topology_that_does_not_exist_cannot_be_asked_for() -> None:
    with pytest.raises(EnvironmentInputError, match=r"no PCI layout of p5en\.48xlarge is published"):
        environment(P5EN, topology_file=True)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "NCCL_ALGO",
            "NCCL_PROTO",
            "NCCL_BUFFSIZE",
            "NCCL_MIN_CTAS",
            "NCCL_MAX_CTAS",
            "NCCL_IB_CUDA_SUPPORT",
        ),
        *(
            "NCCL_IB_GID_INDEX",
            "NCCL_IB_TC",
            "NCCL_IB_SL",
            "NCCL_CROSS_NIC",
            "NCCL_NET_GDR_LEVEL",
            "NCCL_GRAPH_FILE",
        ),
    ],
)
@pytest.mark.parametrize("size", [P5, NDV5])
def test_what_people_copy_is_left_out_with_a_reason(name: str, size: str) -> None:
    assert left_out(environment(size))[name]


@pytest.mark.parametrize(
    "name",
    ["FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "FI_EFA_FORK_SAFE", "FI_EFA_MTU_SIZE", "RDMAV_FORK_SAFE"],
)
def test_libfabrics_variables_are_a_matter_of_efa_alone(name: str) -> None:
    assert name in left_out(environment(P5))
    assert name not in left_out(environment(NDV5))


def test_who_else_sets_a_variable_is_said_where_it_is_set_and_where_it_is_left_out() -> None:
    made = environment(NDV5)
    (topology,) = [entry for entry in made.variables if entry.name == "NCCL_TOPO_FILE"]
    assert topology.also_set_by == (
        "boot service sku-customizations (/etc/nccl.conf): /opt/microsoft/ndv5/topo.xml",
    )
    (sizes,) = [entry for entry in environment(P5).left_out if "NCCL_BUFFSIZE" in entry.names]
    assert "NCCL_BUFFSIZE, aws-ofi-nccl: 8388608" in sizes.set_by


def test_the_plugins_version_decides_what_is_left_to_it() -> None:
    assert environment(P5, plugin_version="1.5.0")["FI_PROVIDER"] == "efa"
    assert "FI_PROVIDER" not in environment(P5, plugin_version="1.6.0")
    assert "NCCL_NETDEVS_POLICY" not in left_out(environment(P5EN, plugin_version="1.16.3"))
    assert "NCCL_NETDEVS_POLICY" in left_out(environment(P5EN, plugin_version="1.17.0"))


def test_ncclss_version_decides_whether_it_reads_our_file() -> None:
    old = environment(P5, nccl_version="2.22.3")
    assert "NCCL_CONF_FILE" not in old
    assert any("does not know NCCL_CONF_FILE" in note for note in old.notes)
    assert environment(P5, nccl_version="2.23.0")["NCCL_CONF_FILE"] == paths.NCCL_CONF


@pytest.mark.parametrize("image", ["microsoft-dsvm:ubuntu-hpc:2204:latest", "ubuntu-hpc", None])
def test_azures_hpc_image_is_known_by_its_urn(image: str | None) -> None:
    assert environment(NDV5, image=image)["NCCL_IB_HCA"] == "mlx5_ib"


def test_on_another_image_the_devices_are_named_at_run_time() -> None:
    made = environment(NDV5, image="canonical:ubuntu-24_04-lts:server:latest")
    assert "NCCL_IB_HCA" not in made
    assert "gpu-fabric-entrypoint looks at sysfs" in left_out(made)["NCCL_IB_HCA"]
    assert made["NCCL_TOPO_FILE"] == paths.TOPOLOGY


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_changes_no_variable_and_says_how_to_choose_a_transport(framework: str) -> None:
    made = environment(NDV5, framework=framework, role=Role.STAGE_BOUNDARY)
    assert made.values == environment(NDV5, role=Role.STAGE_BOUNDARY).values
    assert any("net_name" in note for note in made.notes)


def test_an_override_wins_and_lint_says_what_it_costs() -> None:
    made = environment(P5, overrides={"NCCL_ALGO": "Ring", "NCCL_DEBUG": "VERSION"})
    assert made["NCCL_ALGO"] == "Ring"
    assert "NCCL_ALGO" not in left_out(made)
    (debug,) = [entry for entry in made.variables if entry.name == "NCCL_DEBUG"]
    assert (debug.value, debug.origin, debug.why) == (
        "VERSION",
        Origin.OVERRIDE,
        "Your own value. It replaces WARN.",
    )
    assert [(entry.code, entry.path) for entry in made.findings] == [("env-no-nvls", "overrides")]


def test_an_empty_override_leaves_a_variable_of_ours_out() -> None:
    assert "NCCL_SOCKET_IFNAME" not in environment(P5, overrides={"NCCL_SOCKET_IFNAME": ""})


def test_an_override_that_contradicts_one_of_our_own_is_found() -> None:
    made = environment(P5, role=Role.STAGE_BOUNDARY, overrides={"NCCL_SOCKET_NTHREADS": "16"})
    assert [entry.what for entry in made.findings] == [
        "NCCL_SOCKET_NTHREADS × NCCL_NSOCKS_PERTHREAD is 128; NCCL allows 64."
    ]


@pytest.mark.parametrize("size", load_sizes())
def test_our_own_variables_are_not_linted_and_need_not_be(size: str) -> None:
    assert environment(size).findings == ()


def test_every_problem_of_the_overrides_is_reported_at_once() -> None:
    with pytest.raises(EnvironmentInputError) as caught:
        environment(
            P5,
            overrides={"NCCL-DEBUG": "WARN", "A": "b\nc", "B": "x" * 1024, "C": cast(str, 1)},
            preset="theirs",
        )
    assert caught.value.problems == (
        "overrides.NCCL-DEBUG: a variable's name has letters, digits and underscores only",
        "overrides.A: the value holds a control character or a line end; write it on one line",
        "overrides.B: 1024 characters; NCCL cuts a value at 1023",
        "overrides.C: 1 must be text; write it in quotes",
        "preset: 'theirs' is not one of guide",
    )


def test_a_value_of_1023_characters_still_passes() -> None:
    assert environment(P5, overrides={"NCCL_TOPO_FILE": "/" + "x" * 1022})["NCCL_TOPO_FILE"].endswith("x")


def test_every_problem_of_the_situation_is_reported_at_once() -> None:
    with pytest.raises(EnvironmentInputError) as caught:
        situation_of(P5EN, nccl_version="latest", plugin_version="1", framework="jax", topology_file=True)
    assert caught.value.problems == (
        "nccl_version: 'latest' is not a version such as 2.30.7",
        "plugin_version: '1' is not a version such as 2.30.7",
        "framework: 'jax' is not one of torch, deepspeed, megatron",
        "topology_file: no PCI layout of p5en.48xlarge is published; give the path of your own file",
    )


def test_an_unknown_size_names_the_nearest() -> None:
    with pytest.raises(UnknownSizeError, match=r"did you mean p5\.48xlarge"):
        environment("p5.48xlrage")


def test_a_size_of_the_users_own_is_treated_as_its_fields_say() -> None:
    own = replace(get_size(P5), name="p7.48xlarge", topology_active=False)
    made = environment(own)
    assert made.values == CONF | AWS
    assert "NCCL_TOPO_FILE" in left_out(made), "the plugin's own rule for later p-series generates a topology"


def test_the_guides_preset_is_what_its_script_sets_on_that_fabric() -> None:
    aws, azure = environment(P5, preset="guide"), environment(NDV5, preset="guide")
    assert aws["NCCL_NET_GDR_LEVEL"] == "SYS"
    assert azure["NCCL_NET_GDR_LEVEL"] == "5"
    assert "FI_PROVIDER" in aws
    assert "FI_PROVIDER" not in azure
    assert "NCCL_IB_CUDA_SUPPORT" in azure
    assert {entry.code for entry in aws.findings} >= {
        "env-no-nvls",
        "env-channels",
        "env-topology-replaces-plugin",
    }
    assert {entry.code for entry in azure.findings} >= {"env-no-nvls", "env-removed", "env-service-level"}
    assert aws.left_out == ()


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (P4D, PluginTopology.STATIC),
        ("p4de.24xlarge", PluginTopology.STATIC),
        ("g5.48xlarge", PluginTopology.STATIC),
        ("p5.4xlarge", PluginTopology.NONE),
        ("g6e.48xlarge", PluginTopology.NONE),
        (P5, PluginTopology.GENERATED),
        ("p5e.48xlarge", PluginTopology.GENERATED),
        (P5EN, PluginTopology.GENERATED),
        ("p6-b200.48xlarge", PluginTopology.GENERATED),
        (B300, PluginTopology.GENERATED),
        ("p6e-gb200.36xlarge", PluginTopology.GENERATED),
        ("p10.48xlarge", PluginTopology.GENERATED),
        ("p3dn.24xlarge", PluginTopology.NONE),
    ],
)
def test_what_the_plugin_does_about_the_topology(size: str, expected: PluginTopology) -> None:
    assert plugin_topology(size, Fabric.EFA) is expected
    assert plugin_topology(size, Fabric.INFINIBAND) is PluginTopology.NONE


# ---- the rules themselves


def situations() -> Iterator[Situation]:
    for size, role, image, framework, nccl, plugin, topology in product(
        load_sizes(),
        Role,
        (None, "my-own"),
        (None, *FRAMEWORKS),
        ("2.30.7", "2.20.5"),
        ("1.21.1", "1.5.0"),
        (None, False),
    ):
        yield situation_of(
            size,
            role=role,
            image=image,
            framework=framework,
            nccl_version=nccl,
            plugin_version=plugin,
            topology_file=topology,
        )


SITUATIONS = list(situations())


@pytest.mark.parametrize("kind", ["set", "leave_out", "note"])
def test_every_rule_applies_somewhere(kind: str) -> None:
    unused = [row for row in RULES[kind] if not any(matches(row["when"], entry) for entry in SITUATIONS)]
    assert unused == []


def test_no_variable_is_both_set_and_left_out_and_none_is_set_twice() -> None:
    for situation in SITUATIONS:
        chosen = [row["name"] for row in RULES["set"] if matches(row["when"], situation)]
        assert len(chosen) == len(set(chosen)), situation
        left = {
            name for row in RULES["leave_out"] if matches(row["when"], situation) for name in row["names"]
        }
        assert not left & set(chosen), situation


@pytest.mark.parametrize(
    "row", [*RULES["set"], *RULES["leave_out"]], ids=lambda row: row.get("name") or row["names"][0]
)
def test_a_rule_names_real_variables_and_gives_reason_and_source(row: dict[str, Any]) -> None:
    table = lifecycle()
    accounted = known_names() | set(table["removed"]) | set(table["branch"]["names"]) | set(table["mistaken"])
    for name in [row["name"]] if "name" in row else row["names"]:
        assert not name.startswith("NCCL_") or name in accounted
    assert row["why"].endswith(".")
    assert row["source"]


def test_no_rule_has_a_condition_on_the_name_of_a_size() -> None:
    conditions = [row["when"] for kind in ("set", "leave_out", "note") for row in RULES[kind]]
    flat = [table for when in conditions for table in (when if isinstance(when, list) else [when])]
    assert not any("size" in table for table in flat)


@pytest.mark.parametrize("size", [name for name, row in load_sizes().items() if row.cloud is Cloud.AWS])
def test_nothing_of_azure_is_written_on_aws_and_the_reverse(size: str) -> None:
    made = environment(size)
    assert not any(name.startswith(("NCCL_IB_", "UCX_", "FI_")) for name in made.values)
