"""`hostfile`, `launch` and `preflight` as a person meets them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_fabric.cli import main
from gpu_fabric.cli.hostfile import FORMATS as OFFERED
from gpu_fabric.cli.preflight import planned_busbw
from gpu_fabric.nccl.launch import FORMATS, LaunchNode, aws
from gpu_fabric.nccl.launch.aws import LiveError
from tests.nccl.launch.recorded import GUIDS, SHARP, THREE_LAYERS


@dataclass(frozen=True)
class Run:
    code: int
    output: str
    said: str


Cli = Callable[..., Run]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    def run(*arguments: str | Path) -> Run:
        monkeypatch.setattr(sys, "argv", ["gpu-fabric", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        code = left.value.code
        return Run(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_every_format_is_offered() -> None:
    assert set(OFFERED) == set(FORMATS)


def test_a_fleets_recorded_topology_orders_its_file(cli: Cli, tmp_path: Path) -> None:
    rows = [{"address": f"10.0.0.{n}", "id": f"i-{n:017x}", "cloud": "aws"} for n in range(1, 7)]
    nodes = write(tmp_path / "nodes.json", json.dumps(rows))
    topology = write(tmp_path / "topology.json", json.dumps(THREE_LAYERS))
    ran = cli("hostfile", nodes, "--topology", topology)
    assert (ran.code, ran.said) == (0, "")
    assert [line.split()[0][-1] for line in ran.output.splitlines()] == ["1", "4", "3", "6", "2", "5"]


def test_azures_torsets_order_its_file_and_both_clouds_make_one_list(cli: Cli, tmp_path: Path) -> None:
    nodes = write(
        tmp_path / "azure", "10.20.0.1 name=node-b cloud=azure\n10.20.0.2 name=node-a cloud=azure\n"
    )
    other = write(tmp_path / "aws", "10.10.0.1 cloud=aws slots=8\n")
    sharp, guids = write(tmp_path / "topo", SHARP), write(tmp_path / "guids", GUIDS)
    ran = cli("hostfile", nodes, other, "--torsets", sharp, "--guids", guids, "--format", "plain")
    assert ran.output.split() == ["10.10.0.1", "10.20.0.2", "10.20.0.1"]
    assert "note: the place of 1 of 3 nodes in the network is not known (10.10.0.1)" in ran.said


def test_live_members_come_from_the_cloud(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def members(**arguments: Any) -> list[LaunchNode]:
        asked.update(arguments)
        return [
            LaunchNode("10.0.0.2", cloud="aws", layers=("b",)),
            LaunchNode("10.0.0.1", cloud="aws", layers=("c",)),
        ]

    monkeypatch.setattr(aws, "members", members)
    ran = cli("hostfile", "--aws-fleet", "train", "--region", "us-east-1", "--format", "plain")
    assert ran.output == "10.0.0.2\n10.0.0.1\n"
    assert asked == {"fleet": "train", "instance_ids": [], "region": "us-east-1", "slots": None}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no nodes: name a FILE, --aws-fleet, --aws-instances or --azure-scale-set"),
        (["--azure-scale-set", "x"], "--azure-scale-set needs --resource-group and --subscription"),
        (["--aws-fleet", "x", "--aws-instances", "i-1"], "--aws-fleet and --aws-instances: name one of them"),
    ],
)
def test_a_hostfile_of_nothing_says_what_to_name(cli: Cli, arguments: list[str], says: str) -> None:
    ran = cli("hostfile", *arguments)
    assert ran.code == 2
    assert says in ran.said


def test_what_the_cloud_refuses_and_a_list_that_is_none_are_said_without_a_traceback(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: Any) -> list[LaunchNode]:
        raise LiveError("AWS: UnauthorizedOperation")

    monkeypatch.setattr(aws, "members", refused)
    assert "AWS: UnauthorizedOperation" in cli("hostfile", "--aws-fleet", "x").said
    ran = cli("hostfile", write(tmp_path / "n", "10.0.0.1 gpus=8\n"))
    assert (ran.code, "write `ADDRESS slots=8 cloud=aws`" in ran.said) == (2, True)
    assert "public addresses" in cli("hostfile", write(tmp_path / "n", "52.95.110.1\n")).said


def test_launch_writes_files_and_prints_what_to_run_where(cli: Cli, tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes", "10.10.0.1 cloud=aws\n10.20.0.1 cloud=azure\n")
    ran = cli(
        "launch", "megatron", "--nodes", nodes, "--tensor", "8", "--pipeline", "2", "--write", tmp_path / "job",
        "pretrain_gpt.py", "--num-layers", "80",
    )  # fmt: skip
    assert ran.code == 0
    assert "# on 10.10.0.1\n" in ran.output
    assert "pretrain_gpt.py --num-layers 80 --tensor-model-parallel-size=8" in ran.output
    assert (tmp_path / "job" / "nccl_communicators.yaml").exists()
    assert "prove the link with `gpu-fabric-preflight link` first" in ran.said
    as_json = json.loads(cli("launch", "torchrun", "--nodes", nodes, "--json", "train.py").output)
    assert [entry["node"] for entry in as_json["commands"]] == ["10.10.0.1", "10.20.0.1"]
    bad = cli("launch", "megatron", "--nodes", nodes, "--tensor", "8", "pretrain_gpt.py")
    assert (bad.code, "the boundary between the clouds" in bad.said) == (2, True)


def test_preflight_hands_its_arguments_on_and_its_exit_code_back(cli: Cli) -> None:
    assert "Exit codes: 0 pass or warn" in cli("preflight", "node", "--help").output
    ran = cli("preflight", "node", "--size", "p5")
    assert (ran.code, "is not in the catalog" in ran.said) == (64, True)
    assert "--write FILE" in cli("preflight").output


def test_preflight_writes_itself_as_one_file_with_the_planners_predictions(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "gpu-fabric-preflight"
    ran = cli("preflight", "--write", path)
    assert "bytes; needs Python 3.8 or later" in ran.output
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from gpu_fabric.nccl.preflight.expected import expected\n"
        "print(expected('p5.48xlarge', 'all_reduce', 64, 2**33).busbw)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(
        planned_busbw("p5.48xlarge", "all_reduce", 64, 2**33), rel=0.01
    )


def test_the_planner_is_asked_for_what_it_knows_and_silent_otherwise() -> None:
    found = planned_busbw("p5.48xlarge", "all_reduce", 32, 2**33)
    assert found is not None
    assert 250 < found < 400
    assert planned_busbw("no-such-size", "all_reduce", 4, 2**30) is None


# ---- what follows the script is the script's ------------------------------------------------------------------------

#: Every option of launch itself, and what scripts often have.
WORDS = (
    "--nodes", "--port", "--json", "--tensor", "--pipeline", "--context", "--write", "--no-entrypoint", "--help", "-h",
    "--", "--lr", "0.1", "5", "-x", "", "a b", "$(id)", "--port=1", "torchrun",
)  # fmt: skip


@pytest.mark.parametrize("launcher", ["torchrun", "deepspeed", "megatron"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(WORDS), max_size=6))
def test_whatever_follows_the_script_reaches_it_as_it_is(
    cli: Cli, tmp_path: Path, launcher: str, words: list[str]
) -> None:
    nodes = write(tmp_path / "nodes", "10.10.0.1\n10.10.0.2\n")
    ran = cli("launch", launcher, "--nodes", nodes, "--json", "train.py", *words)
    assert ran.code == 0, ran.said
    for entry in json.loads(ran.output)["commands"]:
        command = shlex.split(entry["command"])
        at = command.index("train.py") + 1
        assert command[at : at + len(words)] == words


def test_an_option_of_another_launcher_is_no_option(cli: Cli, tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes", "10.10.0.1\n")
    ran = cli("launch", "torchrun", "--nodes", nodes, "--tensor", "8", "train.py")
    assert (ran.code, "No such option" in ran.said) == (2, True)
    assert cli("launch", "megatron", "--nodes", nodes, "--tensor", "8", "train.py").code == 0


# ---- lists of nodes -------------------------------------------------------------------------------------------------

ROW = {"address": "10.0.0.1", "name": "n1", "cloud": "aws", "id": "i-1", "slots": 8, "layers": ["nn-1"]}
ODD: list[Any] = [None, "", "x y", "$(id)", 0, -2, 1.5, True, "8", [], {}, [1], "abc", 10**30]
#: What an odd value may be where it is fine.
FINE = {("layers", "[]"), ("slots", "8"), ("name", "''"), ("cloud", "''"), ("id", "''")} | {
    (name, repr(text)) for name in ("cloud", "id") for text in ("x y", "$(id)", "8", "abc")
} | {("address", repr(text)) for text in ("8", "abc")} | {("name", repr(text)) for text in ("8", "abc")}  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("name", [*ROW, "other"])
def test_a_node_of_json_is_taken_only_as_it_was_written(
    cli: Cli, tmp_path: Path, name: str, value: Any
) -> None:
    nodes = write(tmp_path / "nodes.json", json.dumps([{**ROW, name: value}]))
    for ran in (cli("hostfile", nodes), cli("launch", "torchrun", "--nodes", nodes, "train.py")):
        fine = (name, repr(value)) in FINE
        assert ran.code == (0 if fine else 2), ran
        assert fine or "not a list of nodes" in ran.said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n[1-x] slots=8\n", "line 1: 'n[1-x]': '1-x' is no number and no range such as 1-4"),
        ("n[1-2000000]\n", "more than 100,000 nodes"),
        ("n1 slots=0\n", "line 1: 'n1 slots=0': write `ADDRESS slots=8 cloud=aws`"),
        ("n1 slots=²\n", "line 1: 'n1 slots=²': write"),
        ("$(id) slots=8\n", "'$(id)' is no name of a node"),
        ("n1\nn1\n", "n1 stands twice"),
        ('{"address": "10.0.0.1"}', "it is one object"),
        ("[" * 100_000, "not a list of nodes"),
        ("[1]", "entry 1: 1 is no object"),
        (json.dumps([ROW, ROW]), "10.0.0.1 stands twice"),
        ("", "the list of nodes is empty"),
    ],
)
def test_a_list_that_is_none_is_refused_in_words_by_every_command(
    cli: Cli, tmp_path: Path, text: str, says: str
) -> None:
    nodes = write(tmp_path / "nodes", text)
    for ran in (cli("hostfile", nodes), cli("launch", "torchrun", "--nodes", nodes, "train.py")):
        assert (ran.code, says in ran.said) == (2, True), ran.said


def test_a_node_in_two_files_stands_twice(cli: Cli, tmp_path: Path) -> None:
    one, two = (write(tmp_path / name, "10.0.0.1 cloud=aws\n") for name in ("one", "two"))
    assert "10.0.0.1 stands twice" in cli("hostfile", one, two).said
    assert "10.0.0.1 stands twice" in cli("launch", "torchrun", "--nodes", one, "--nodes", two, "t.py").said


def test_two_files_without_a_cloud_are_asked_which_is_which(cli: Cli, tmp_path: Path) -> None:
    one, two = (write(tmp_path / f"n{number}", f"10.0.0.{number}\n") for number in (1, 2))
    said = cli("launch", "megatron", "--nodes", one, "--nodes", two, "t.py").said
    assert (
        f"{one}, {two}: no line says which cloud it is, and two files are two clouds; write `cloud=aws`"
        in said
    )
    one.write_text("10.0.0.1 cloud=aws\n")
    assert cli("launch", "torchrun", "--nodes", one, "--nodes", two, "t.py").code == 0


def test_the_slots_that_are_asked_for_win_over_those_of_a_file(cli: Cli, tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes", "10.0.0.1 slots=8\n10.0.0.2\n")
    assert cli("hostfile", nodes, "--slots", "4").output.count("slots=4") == 2


@pytest.mark.parametrize(
    "document",
    [
        3, [], [3], {}, {"Instances": 3}, {"Instances": [{"x": 1}]}, {"Instances": [1]}, {"Instances": [None]},
        {"Instances": [{"InstanceId": 3}]}, {"Instances": [{"InstanceId": "i-1", "NetworkNodes": "nn-a"}]},
        {"Instances": [{"InstanceId": "i-1", "NetworkNodes": [1]}]}, {"Instances": [{"InstanceId": ""}]},
    ],
    ids=repr,
)  # fmt: skip
def test_a_topology_that_is_not_what_ec2_prints_is_refused_in_words(
    cli: Cli, tmp_path: Path, document: Any
) -> None:
    nodes = write(tmp_path / "nodes.json", json.dumps([ROW]))
    ran = cli("hostfile", nodes, "--topology", write(tmp_path / "topology.json", json.dumps(document)))
    assert (ran.code, "describe-instance-topology" in ran.said) == (
        (0, False) if document == [] else (2, True)
    )


def test_json_is_a_format_and_an_option(cli: Cli, tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes", "10.0.0.1\n")
    assert cli("hostfile", nodes, "--json").output == cli("hostfile", nodes, "--format", "json").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("hostfile", "good", "bad"),
        ("hostfile", "good", "--torsets", "bad", "--guids", "good"),
        ("hostfile", "good", "--torsets", "good", "--guids", "bad"),
        ("launch", "torchrun", "--nodes", "bad", "train.py"),
    ],
)
def test_a_file_that_is_no_text_is_named(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write(tmp_path / "good", "10.0.0.1\n")
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    ran = cli(*(tmp_path / one if one in ("good", "bad") else one for one in arguments))
    assert ran.code == 2
    assert f"{tmp_path / 'bad'}: this is no text in UTF-8 (invalid start byte at byte 0)" in ran.said
