"""The arguments of `gpu-fabric-preflight`: numbers that cannot be meant, and pairs that do not fit, are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_fabric.nccl.preflight.__main__ import main
from gpu_fabric.nccl.preflight.arguments import parser
from tests.nccl.preflight.test_log import LOG

P5 = ("--size", "p5.48xlarge")
CLUSTER = ("cluster", *P5, "--nodes", "n[1-2]", "--launcher", "openmpi", "--binary", "/bin/true")
LINK = ("link", "--peer", "127.0.0.1", "--token", "x")

NONSENSE = ("nan", "inf", "-inf", "-1", "0", "", "x", "1e999", "²", "0x10", "1_0x")
NUMBERS = [
    *((CLUSTER, option) for option in ("--expect", "--warn", "--fail", "--seconds", "--queue-seconds")),
    *((CLUSTER, option) for option in ("--iterations", "--gpus-per-node", "--begin", "--end")),
    *((LINK, option) for option in ("--port", "--for", "--rtt-ms", "--mtu", "--bandwidth-mbps")),
    *((LINK, option) for option in ("--flows", "--seconds", "--packets")),
]


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize(
    ("command", "option"), NUMBERS, ids=lambda value: value if isinstance(value, str) else value[0]
)
def test_a_number_that_cannot_be_meant_is_wrong_usage_before_anything_runs(
    command: tuple[str, ...], option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, f"{option}={value}"]) == 64
    assert f"argument {option}: {value!r} is no " in capsys.readouterr().err


def test_these_are_all_numbers_that_there_are() -> None:
    """A new option that takes a number gets into the table above."""
    commands = next(action for action in parser()._actions if action.dest == "command").choices
    assert isinstance(commands, dict)
    numeric = {
        (name, action.option_strings[0])
        for name, command in commands.items()
        for action in command._actions
        if action.type is not None and action.dest not in ("partition", "wrapper")
    }
    assert numeric == {(command[0], option) for command, option in NUMBERS}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*CLUSTER, "--fail", "0.9", "--warn", "0.5"], "--fail 0.9 is above --warn 0.5"),
        ([*CLUSTER, "--warn", "0.5"], "--fail 0.75 is above --warn 0.5"),
        ([*CLUSTER, "--fail", "0.95"], "--fail 0.95 is above --warn 0.9"),
        ([*CLUSTER, "--fail", "1.5"], "argument --fail: '1.5' is no number above 0 and at most 1"),
        ([*CLUSTER, "--begin", "8G", "--end", "1G"], "--begin is larger than --end"),
        ([*LINK, "--seconds", "61"], "argument --seconds: '61' is no number above 0 and at most 60"),
        ([*LINK, "--mtu", "575"], "argument --mtu: '575' is no whole number from 576 to 9001"),
        ([*LINK, "--port", "65536"], "argument --port: '65536' is no whole number from 1 to 65535"),
        ([*CLUSTER, "--wrapper", "sh -c 'x"], "argument --wrapper: \"sh -c 'x\": No closing quotation"),
        ([*CLUSTER, "--env", "A B=1"], "--env: 'A B' is no name of a variable"),
        ([*CLUSTER[:3], "--nodes", "n[1-x]", *CLUSTER[5:]], "--nodes: 'n[1-x]': '1-x' is no number"),
        ([*CLUSTER[:3], "--nodes", "", *CLUSTER[5:]], "--nodes: the list of nodes is empty"),
        (["cluster", *P5, "--hostfile", "/bin/true"], "--hostfile: /bin/true: this is no text in UTF-8"),
        (["cluster", *P5, "--nodes", "n1", "--launcher", "kubernetes"], "write it with --manifest IMAGE"),
        (["node", *P5, "--pin", "driver="], "--pin: 'driver=' is not NAME=VALUE"),
        (["node", *P5, "--partition", "0x12345"], "argument --partition: '0x12345' is not a key such as 0x8023"),
        (["node", *P5, "--report", "/nowhere/x.md"], "--report: /nowhere/x.md: No such file or directory"),
        ([*CLUSTER, "--report", "/nowhere/x.md"], "--report: /nowhere/x.md: No such file or directory"),
        (
            ["cluster", "--size", "Standard_ND96isr_H100_v5", "--nodes", "4", "--manifest", "i"],
            "--rdma-resource: Standard_ND96isr_H100_v5 has InfiniBand, and a pod without its device uses TCP",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_wrong_usage_and_says_what_to_give(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 64
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1e-9", "355", "1e6"])
def test_numbers_that_can_be_meant_are_taken(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    assert main(["cluster", *P5, "--log", str(log), "--expect", value]) in (0, 1)
    assert f"of {float(value):.1f} GB/s" in capsys.readouterr().out


def test_a_wrapper_is_taken_apart_as_a_shell_does(tmp_path: Path) -> None:
    said = tmp_path / "said"
    mpirun = tmp_path / "mpirun"
    mpirun.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" >{said}\nexit 1\n')
    mpirun.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        wrapper = "docker run -e 'A=b c' img"
        assert main([*CLUSTER, "--no-search", "--wrapper", wrapper]) == 1
    assert "docker\nrun\n-e\nA=b c\nimg\n/bin/true\n" in said.read_text()


def test_a_report_that_cannot_be_written_any_more_does_not_change_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert (
        main(["cluster", *P5, "--log", str(log), "--expect", "355", "--report", str(tmp_path / "r.md")]) == 0
    )
    assert "No space left on device" in capsys.readouterr().err


def test_several_collectives_make_several_documents_with_names_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    both = ["--collective", "all_reduce", "--collective", "all_gather"]
    assert main(["cluster", *P5, "--nodes", "4", "--manifest", "i", *both]) == 0
    documents = [json.loads(text) for text in capsys.readouterr().out.split("---\n")]
    assert [document["metadata"]["name"] for document in documents] == [
        "gpu-fabric-preflight-all-reduce",
        "gpu-fabric-preflight-all-gather",
    ]
    assert documents[0]["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 4, "a number of nodes will do"


def test_the_json_of_a_run_and_its_log_are_judged_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.nccl.preflight.test_nccl_tests import REPORT

    text = json.dumps(REPORT).replace("node-1", "ip-10-0-0-1").replace("node-2", "ip-10-0-0-2")
    (tmp_path / "run.json").write_text(text.replace('"nwrong": null', '"nwrong": 0'))
    (tmp_path / "run.log").write_text(LOG)
    arguments = ["cluster", *P5, "--expect", "400", "--log", str(tmp_path / "run.json")]
    assert main(arguments) == 2, "the JSON alone says nothing of the network"
    assert main([*arguments, "--log", str(tmp_path / "run.log")]) == 0
    assert "472.7 of 400.0 GB/s" in capsys.readouterr().out
    assert main([*arguments, "--log", str(tmp_path / "run.json")]) == 64


def test_nodes_given_beside_a_log_must_be_those_that_took_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    arguments = ["cluster", *P5, "--expect", "355", "--log", str(log), "--nodes"]
    assert [main([*arguments, nodes]) for nodes in ("2", "a,b", "4")] == [0, 0, 1]
    assert "ran on 2 of 4 nodes (ip-10-0-0-1, ip-10-0-0-2)" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_of_any_encoding_and_a_reader_that_leaves_get_no_traceback(
    tmp_path: Path, encoding: str
) -> None:
    log = tmp_path / "log"
    log.write_text("".join(line for line in LOG.splitlines(keepends=True) if "Rank" not in line))
    words = f"-m gpu_fabric.nccl.preflight cluster --size p5.48xlarge --expect 355 --log {log}".split()
    command = [sys.executable, *words]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"")
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, env=environment) as process:
        os.close(writer)
        assert process.stderr is not None
        said = process.stderr.read()
        assert (process.wait(60), said) == (141, b"")
