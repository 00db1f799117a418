"""Hostfiles of each launcher, and the commands and files that start a job on one cloud or two."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.launch import (
    FORMATS,
    Job,
    LaunchInputError,
    LaunchNode,
    Parallelism,
    deepspeed,
    in_network_order,
    megatron,
    read_nodes,
    render,
    torchrun,
)
from gpu_fabric.nccl.launch.nodes import NodeListError, refuse_public, to_json
from tests.nccl.launch.recorded import FOUR_LAYERS
from tests.nccl.launch.test_order import nodes_of

P6 = in_network_order(nodes_of(FOUR_LAYERS))
AWS = tuple(LaunchNode(f"10.10.0.{n}", cloud="aws") for n in (1, 2))
AZURE = tuple(LaunchNode(f"10.20.0.{n}", cloud="azure") for n in (1, 2))


@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_reads_as_its_launcher_wants_it(kind: str, snapshot: SnapshotAssertion) -> None:
    assert render(P6, kind) == snapshot


def test_the_yaml_of_slurm_has_the_tree_of_its_conf() -> None:
    (topology,) = yaml.safe_load(render(P6, "slurm-yaml"))
    switches = topology["tree"]["switches"]
    conf = [
        dict(word.split("=", 1) for word in line.split())
        for line in render(P6, "slurm-conf").splitlines()[1:]
    ]
    assert [(s["switch"], s.get("children"), s.get("nodes")) for s in switches] == [
        (row["SwitchName"], row.get("Switches"), row.get("Nodes")) for row in conf
    ]
    assert topology["cluster_default"] is True


def test_several_tops_get_one_switch_above_them_because_a_slurm_job_spans_no_more() -> None:
    text = render([*AWS, *AZURE], "slurm-conf")
    assert text.splitlines()[1] == "SwitchName=fabric Switches=unknown-aws,unknown-azure"


def test_a_list_that_was_written_is_read_back() -> None:
    assert read_nodes(to_json(P6)) == P6
    found = read_nodes("# fleet\n10.0.0.1 slots=4 cloud=aws\nn[2-3]\n", slots=8)
    assert [(node.address, node.slots, node.cloud) for node in found] == [
        ("10.0.0.1", 4, "aws"),
        ("n2", 8, ""),
        ("n3", 8, ""),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the list of nodes is empty"),
        (
            "10.0.0.1 gpus=8\n10.0.0.2 slots=x\n",
            "line 1: '10.0.0.1 gpus=8': write `ADDRESS slots=8 cloud=aws`; line 2: ",
        ),
        ("10.0.0.1\n10.0.0.1\n", "10.0.0.1 stands twice"),
        ("n[1-3] name=x slots=8\n", "x stands twice"),
        (
            "n1 name=a,b\n",
            "line 1: name 'a,b' is no name of one node; write letters, digits, `.`, `-` and `_`",
        ),
        ("n1 name=x[1-2]\n", "line 1: name 'x[1-2]' is no name of one node"),
        (
            '[{"address": "n1", "name": "a b\\nSwitchName=evil"}]',
            "entry 1: name 'a b\\nSwitchName=evil' is no name",
        ),
        ('[{"address": "n1", "name": "1²"}]', "entry 1: name '1²' is no name of one node"),
        ('[{"address": "n1", "name": "x"}, {"address": "n2", "name": "x"}]', "x stands twice"),
        ("[{}]", "not a list of nodes as `gpu-fabric hostfile --format json` writes it"),
        ('[{"adress": "x"}]', "not a list of nodes"),
        ("[1]", "not a list of nodes"),
    ],
)
def test_a_list_that_is_none_says_every_wrong_line(text: str, says: str) -> None:
    with pytest.raises(NodeListError) as refused:
        read_nodes(text)
    assert says in str(refused.value)


def test_public_addresses_are_refused() -> None:
    refuse_public([LaunchNode("10.0.0.1"), LaunchNode("node-1")])
    with pytest.raises(NodeListError, match=r"52\.95\.110\.1: public addresses"):
        refuse_public([LaunchNode("10.0.0.1"), LaunchNode("52.95.110.1")])


# ---- commands -------------------------------------------------------------------------------------------------------


def test_torchrun_has_one_command_a_node_with_its_rank_behind_our_entrypoint() -> None:
    launch = torchrun(Job(AWS, "train.py", ("--lr", "1e-4")))
    assert [where for where, _ in launch.commands] == ["10.10.0.1", "10.10.0.2"]
    assert shlex.split(launch.commands[1][1]) == [
        "/usr/local/bin/gpu-fabric-entrypoint",
        "--",
        "torchrun",
        "--nnodes=2",
        "--node-rank=1",
        "--nproc-per-node=8",
        "--master-addr=10.10.0.1",
        "--master-port=29500",
        "train.py",
        "--lr",
        "1e-4",
    ]
    assert launch.notes == ()
    assert any("net_name" in note for note in torchrun(Job((*AWS, *AZURE), "train.py")).notes)


def test_deepspeed_starts_once_with_its_hostfile_and_the_communication_part_of_its_config() -> None:
    launch = deepspeed(Job(AWS, "train.py", entrypoint=""))
    ((where, command),) = launch.commands
    assert where == "10.10.0.1"
    assert command.startswith("deepspeed --hostfile=hostfile --master_addr=10.10.0.1")
    assert launch.files["hostfile"] == "10.10.0.1 slots=8\n10.10.0.2 slots=8\n"
    assert launch.files[".deepspeed_env"] == "NCCL_CONF_FILE=/etc/gpu-fabric/nccl.conf\n"
    config = json.loads(launch.files["ds_config.communication.json"])
    assert config["zero_optimization"]["overlap_comm"] is True
    assert "zero_hpz_partition_size" not in config["zero_optimization"]
    assert command.endswith("train.py --deepspeed --deepspeed_config=ds_config.json")
    assert "ds_config.json" not in launch.files, "that is the user's own"
    assert "ds_config.json is your own: merge ds_config.communication.json into it." in launch.notes


@pytest.mark.parametrize(
    "option", ["--deepspeed_config=mine.json", "--deepspeed_config mine.json", "--deepspeed-config=mine.json"]
)
def test_a_configuration_that_the_user_names_is_the_only_one(option: str) -> None:
    launch = deepspeed(Job(AWS, "train.py", tuple(option.split()), entrypoint=""))
    ((_, command),) = launch.commands
    assert command.endswith(f"train.py {option}")
    assert "Merge ds_config.communication.json into your DeepSpeed configuration." in launch.notes


def test_deepspeed_on_two_clouds_runs_over_what_they_have_in_common_and_says_so() -> None:
    launch = deepspeed(Job((*AWS, *AZURE), "train.py"))
    two = json.loads(launch.files["ds_config.communication.json"])
    assert two["zero_optimization"]["zero_hpz_partition_size"] == 8
    assert "NCCL_NET=Socket\n" in launch.files[".deepspeed_env"]
    ((_, command),) = launch.commands
    assert command.startswith("deepspeed "), "the entrypoint would refuse sockets"
    assert any("NCCL_NET=Socket" in note for note in launch.notes)
    assert any("on every node" in note for note in launch.notes)


def test_megatron_on_two_clouds_crosses_between_pipeline_stages_alone() -> None:
    launch = megatron(Job((*AWS, *AZURE), "pretrain_gpt.py"), Parallelism(tensor=8, pipeline=2))
    assert yaml.safe_load(launch.files["nccl_communicators.yaml"]) == {"pp": {"net_name": "Socket"}}
    assert all(
        "--nccl-communicator-config-path=nccl_communicators.yaml" in command for _, command in launch.commands
    )
    assert all("--pipeline-model-parallel-size=2" in command for _, command in launch.commands)
    one = megatron(Job(AWS, "pretrain_gpt.py"), Parallelism(tensor=8))
    assert "nccl_communicators.yaml" not in one.files


@pytest.mark.parametrize(
    ("nodes", "parallel", "says"),
    [
        (
            AWS,
            Parallelism(tensor=8, pipeline=3),
            "16 ranks are no multiple of tensor 8 × pipeline 3 × context 1 = 24",
        ),
        (AWS, Parallelism(tensor=16), "tensor 16 is more than the 8 GPUs of a node"),
        (
            (*AWS, *AZURE),
            Parallelism(tensor=8),
            "the boundary between the clouds is at rank 16, and pipeline stages are 32",
        ),
        (
            (*AWS, *AZURE[:1]),
            Parallelism(pipeline=2),
            "at rank 16, and pipeline stages are 12 ranks long: choose",
        ),
        ((AWS[0], AZURE[0], AWS[1]), Parallelism(), "the nodes of one cloud must follow each other"),
        (
            (AWS[0], LaunchNode("10.10.0.9", cloud="aws", slots=4)),
            Parallelism(),
            "same number of GPUs (1 nodes with 4, 1",
        ),
        ((), Parallelism(), "no nodes"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused_with_what_to_change(
    nodes: tuple[LaunchNode, ...], parallel: Parallelism, says: str
) -> None:
    with pytest.raises(LaunchInputError) as refused:
        megatron(Job(nodes, "pretrain_gpt.py"), parallel)
    assert says in str(refused.value)


def test_three_equal_clouds_of_stages_may_be_unequal_in_size() -> None:
    megatron(Job((*AWS, *AZURE[:1]), "pretrain_gpt.py"), Parallelism(tensor=8, pipeline=3))
