"""`gpu-fabric-preflight` as it is copied to a node: one file, no internet, no login."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gpu_fabric.nccl import paths
from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.nccl.preflight import zipapp
from gpu_fabric.nccl.preflight.__main__ import main
from gpu_fabric.nccl.preflight.host import Host
from gpu_fabric.nccl.preflight.identify import MetadataError, cloud_of, size_from_metadata, size_of_node
from tests.node_real.stand_in_perf import whole


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zipapp") / "gpu-fabric-preflight"
    assert zipapp.write(path) < 400_000, "small enough to copy to a thousand nodes"
    return path


def run(interpreter: str, program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # -I: no environment, no user packages; -S: not even installed ones.
    command = [interpreter, "-I", "-S", str(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_file_is_the_same_to_the_byte_each_time() -> None:
    assert zipapp.build() == zipapp.build()


def test_predictions_travel_along_where_the_planner_is_there() -> None:
    import io
    import zipfile

    data = zipapp.build(lambda size, collective, nodes, bytes_: 123.456 if size == "p5.48xlarge" else None)
    archive = zipfile.ZipFile(io.BytesIO(data))
    found = json.loads(archive.read("gpu_fabric/nccl/preflight/predicted.json"))
    assert found["p5.48xlarge"]["all_reduce"]["64"][str(2**33)] == 123.5


def test_nothing_of_it_reaches_for_a_package_that_a_node_lacks(program: Path) -> None:
    done = run(sys.executable, program, "node", "--size", "p5.48xlarge", "--json")
    assert json.loads(done.stdout)["facts"]["size"] == "p5.48xlarge"


# ---- which size -----------------------------------------------------------------------------------------------------


class Metadata(BaseHTTPRequestHandler):
    """Both clouds' services, each as strict as the real one."""

    answers: ClassVar[dict[str, str]] = {}

    def do_PUT(self) -> None:
        self._answer("token" if self.headers.get("X-aws-ec2-metadata-token-ttl-seconds") else None)

    def do_GET(self) -> None:
        if self.path.startswith("/latest/"):
            allowed = self.headers.get("X-aws-ec2-metadata-token") == "token"
        else:
            allowed = self.headers.get("Metadata") == "true"
        self._answer(self.answers.get(self.path) if allowed else None)

    def _answer(self, text: str | None) -> None:
        self.send_response(200 if text is not None else 401)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def metadata() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    Metadata.answers = {}


AWS_PATH = "/latest/meta-data/instance-type"
AZURE_PATH = "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text"


def test_the_size_comes_from_either_clouds_metadata_service(metadata: str) -> None:
    Metadata.answers = {AWS_PATH: "p5.48xlarge", AZURE_PATH: "Standard_ND96isr_H100_v5\n"}
    assert size_from_metadata(Cloud.AWS, metadata) == "p5.48xlarge"
    assert size_from_metadata(Cloud.AZURE, metadata) == "Standard_ND96isr_H100_v5"


def test_the_firmware_says_which_service_to_ask_and_our_own_file_comes_first(
    metadata: str, tmp_path: Path
) -> None:
    Metadata.answers = {AZURE_PATH: "Standard_ND96asr_v4"}
    host = Host(str(tmp_path))
    vendor = tmp_path / "sys/class/dmi/id/sys_vendor"
    vendor.parent.mkdir(parents=True)
    vendor.write_text("Microsoft Corporation\n")
    assert (cloud_of(host), size_of_node(host, metadata)) == (Cloud.AZURE, "Standard_ND96asr_v4")
    vendor.write_text("Amazon EC2\n")
    with pytest.raises(MetadataError, match=r"size of this node is not known .*: name it with --size"):
        size_of_node(host, metadata)
    written = tmp_path / paths.ENVIRONMENT.lstrip("/")
    written.parent.mkdir(parents=True)
    written.write_text("GPU_FABRIC_SIZE=p5.48xlarge\n")
    assert size_of_node(host, metadata) == "p5.48xlarge"


def test_an_answer_that_is_no_size_is_not_believed(metadata: str) -> None:
    Metadata.answers = {AWS_PATH: "<html>proxy</html>"}
    with pytest.raises(MetadataError, match="which is not a size"):
        size_from_metadata(Cloud.AWS, metadata)


# ---- arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["node", "--size", "p5.48xl"], "--size: 'p5.48xl' is not in the catalog; did you mean p5.48xlarge?"),
        (["node", "--size", "p5.48xlarge", "--pin", "driver"], "--pin: 'driver' is not NAME=VALUE"),
        (["node", "--size", "p5.48xlarge", "--pin", "gcc=1"], "--pin: 'gcc' is not one of driver, cuda, efa"),
        (["node", "--size", "p5.48xlarge", "--partition", "8023"], "--partition: '8023' is not a key such as 0x8023"),
        (["cluster", "--size", "p5.48xlarge"], "which nodes? give --nodes or --hostfile, or run inside a Slurm job"),
        (["cluster", "--size", "p5.48xlarge", "--hostfile", "/nowhere"], "--hostfile: /nowhere: No such file"),
        (["cluster", "--size", "p5.48xlarge", "--nodes", "a", "--binary", "/x", "--launcher", "slurm"], "srun is not"),
        (["link", "--peer", "127.0.0.1"], "--token: give the one that the server printed"),
        (["lint", "/nowhere"], "/nowhere: No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_arguments_say_what_to_give_and_exit_with_64(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(arguments) == 64
    assert says in capsys.readouterr().err


def test_wrong_usage_is_64_and_help_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 64
    assert main(["node", "--help"]) == 0
    assert "Exit codes: 0 pass or warn, 1 fail, 2 unknown" in capsys.readouterr().out


@pytest.mark.parametrize(("scenario", "code"), [({}, 0), ({"socket": ["n1"]}, 1)])
def test_a_log_of_a_run_is_judged_without_running_anything(
    scenario: dict[str, Any], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text(whole(["n0", "n1", "n2", "n3"], 8, scenario))
    report = tmp_path / "report.json"
    arguments = ["cluster", "--size", "p5.48xlarge", "--log", str(log), "--report", str(report)]
    assert main(arguments) == code
    assert json.loads(report.read_text())["facts"]["nodes"] == ["n0", "n1", "n2", "n3"]
    assert re.search(r"(PASS|FAIL): ", capsys.readouterr().out)


def test_a_manifest_is_printed_for_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "cluster",
        "--size",
        "p5.48xlarge",
        "--nodes",
        "w[1-4]",
        "--manifest",
        "registry/nccl-tests:1",
    ]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 4


@pytest.mark.parametrize(
    ("redirection", "errors"), [("> /dev/full", "standard output: No space left on device\n"), (">&-", "")]
)
def test_an_output_that_cannot_be_written_does_not_change_the_verdict(
    redirection: str, errors: str, program: Path, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.log"
    Path(os.fsdecode(name)).write_text(whole(["n0", "n1", "n2", "n3"], 8, {}))
    arguments = (
        b"cluster --size p5.48xlarge --log " + name + b" --report " + os.fsencode(tmp_path / "report.md ")
    )
    command = b" ".join(
        [os.fsencode(sys.executable), b"-I -S", bytes(program), arguments, redirection.encode()]
    )
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, errors)
    assert "PASS" in (tmp_path / "report.md").read_text()
