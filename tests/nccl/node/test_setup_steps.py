"""Steps of the node's setup that are optional, each run by itself: the tag on the instance, container runtimes."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from gpu_fabric.nccl.paths import STATE_TAG

SETUP = Path(__file__).parents[3] / "nccl" / "node" / "setup"
VM = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/n"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"node_setup_{name}", SETUP / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Host:
    """Records what a step does to the node; files are a dict."""

    def __init__(self, programs: tuple[str, ...] = (), files: dict[str, str] | None = None) -> None:
        self.programs, self.files, self.ran = programs, files or {}, []
        setup = load("setup")
        self.Skip, self.Fail = setup.Skip, setup.Fail

    def has(self, program: str) -> bool:
        return program in self.programs

    def read(self, path: str, default: str = "") -> str:
        return self.files.get(path, default)

    def put(self, path: str, text: str) -> bool:
        changed = self.files.get(path) != text
        self.files[path] = text
        return changed

    def tell(self, path: str, text: str, *argv: str) -> None:
        if self.put(path, text):
            self.run(*argv)

    def run(self, *argv: str, **_: Any) -> str:
        self.ran.append(argv)
        return ""


class Cloud(BaseHTTPRequestHandler):
    """The metadata services, and Azure Resource Manager."""

    asked: ClassVar[list[tuple[str, str, str]]] = []
    refuse: ClassVar[int] = 0
    """How many times the role is not there yet."""

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        self.asked.append((self.command, self.path, body))
        secret = self.headers.get("Metadata") == "true"
        bearer = self.headers.get("Authorization") == "Bearer azure-token"
        text = None
        if secret and "resourceId" in self.path:
            text = VM
        if secret and "oauth2/token" in self.path:
            text = json.dumps({"access_token": "azure-token"})
        if bearer and self.command == "PATCH" and self.refuse == 0:
            text = "{}"
        elif bearer:
            type(self).refuse -= 1
        self.send_response(200 if text is not None else 403)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def do_GET(self) -> None:
        self.answer()

    def do_PUT(self) -> None:
        self.answer()

    def do_PATCH(self) -> None:
        self.answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def tag() -> Iterator[ModuleType]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cloud)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    module = load("tag")
    vars(module)["METADATA"] = f"http://127.0.0.1:{server.server_port}/metadata/"
    vars(module)["MANAGEMENT"] = f"http://127.0.0.1:{server.server_port}"
    yield module
    server.shutdown()
    server.server_close()
    Cloud.asked.clear()
    Cloud.refuse = 0


class AwsHost(Host):
    """cloud-init answers with the instance and its region, and AWS's client refuses some times."""

    refuse = 0

    def tell(self, path: str, text: str, *argv: str) -> None:
        if self.put(path, text):
            self.run(*argv)

    def run(self, *argv: str, **_: Any) -> str:
        self.ran.append(argv)
        if argv[0] == "aws" and self.refuse:
            self.refuse -= 1
            raise self.Fail("`aws ec2 create-tags` gave 254: UnauthorizedOperation")
        return {"v1.instance_id": "i-1\n", "v1.region": "us-east-1\n"}.get(argv[-1], "")


def test_on_aws_the_tag_is_set_through_the_images_own_client(tag: ModuleType) -> None:
    host = AwsHost()
    assert tag.put(host, "aws", lambda: 'failed at 040-fabric: 31 (of 32), "x" ' + "y" * 300) == "set"
    argv = host.ran[-1]
    assert argv[:7] == ("aws", "ec2", "create-tags", "--region", "us-east-1", "--resources", "i-1")
    key, _, value = argv[-1].partition(",")
    assert key == f"Key={STATE_TAG}"
    assert value.startswith('Value="failed at 040-fabric: 31  of 32    x  yyy'), (
        "what AWS refuses is left out"
    )
    assert len(value) <= len('Value=""') + 250


def test_on_azure_the_tag_is_merged_into_those_that_are_there(tag: ModuleType) -> None:
    assert tag.put(Host(), "azure", lambda: "ready") == "set"
    method, path, body = Cloud.asked[-1]
    assert (method, path) == (
        "PATCH",
        f"{VM}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01",
    )
    assert json.loads(body) == {"operation": "Merge", "properties": {"tags": {STATE_TAG: "ready"}}}


def test_a_role_that_comes_later_than_the_node_is_waited_for_and_the_newest_state_is_written(
    tag: ModuleType,
) -> None:
    Cloud.refuse = 2
    assert tag.put(Host(), "azure", lambda: "ready", pause=0) == "set"
    assert [method for method, _, _ in Cloud.asked].count("PATCH") == 3
    host = AwsHost()
    host.refuse = 2
    assert tag.put(host, "aws", lambda: "ready", pause=0) == "set"


def test_a_state_that_changes_while_it_is_written_is_written_again_and_running_once(tag: ModuleType) -> None:
    host = AwsHost()
    states = [*["running"] * 8, "failed at 040-fabric: x"]
    assert tag.put(host, "aws", lambda: states.pop(0) if len(states) > 1 else states[0], pause=0) == "set"
    written = [argv[-1] for argv in host.ran if argv[0] == "aws"]
    assert written == [f'Key={STATE_TAG},Value="{value}"' for value in ("running", "failed at 040-fabric: x")]


def test_where_the_role_allows_no_tag_that_is_said_and_nothing_fails(tag: ModuleType) -> None:
    host = AwsHost()
    host.refuse = 9
    said = tag.put(host, "aws", lambda: "ready", tries=2, pause=0)
    assert said == "not set: `aws ec2 create-tags` gave 254: UnauthorizedOperation"
    assert host.refuse == 7, "it was tried twice"


def test_docker_keeps_its_settings_and_gets_unlimited_locked_memory_and_our_files() -> None:
    module = load("containers")
    host = Host(("docker",), {"/etc/docker/daemon.json": '{"data-root": "/big"}'})
    assert module.run(host) == "docker, CDI device gpu-fabric.io/node=files"
    settings = json.loads(host.files["/etc/docker/daemon.json"])
    assert settings == {
        "data-root": "/big",
        "default-ulimits": {"memlock": {"Name": "memlock", "Soft": -1, "Hard": -1}},
        "features": {"cdi": True},
    }
    assert ("systemctl", "try-restart", "docker.service") in host.ran
    cdi = json.loads(host.files["/etc/cdi/gpu-fabric.json"])
    assert cdi["kind"] == "gpu-fabric.io/node"
    mounts = cdi["devices"][0]["containerEdits"]["mounts"]
    assert [mount["containerPath"] for mount in mounts] == [
        "/etc/gpu-fabric",
        "/usr/local/bin/gpu-fabric-entrypoint",
    ]
    host.ran.clear()
    module.run(host)
    assert host.ran == [], "nothing is restarted where nothing changed"


def test_a_node_without_a_container_runtime_says_so() -> None:
    host = Host()
    with pytest.raises(host.Skip, match="no container runtime here"):
        load("containers").run(host)


@pytest.mark.parametrize(("drivers", "says"), [(("efa", "efa"), None), (("efa", "mlx5_core"), "1 of 2")])
def test_without_libfabric_the_devices_of_efas_driver_count(
    drivers: tuple[str, ...], says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, driver in enumerate(drivers):
        (tmp_path / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        device = tmp_path / f"rdmap{number}s0" / "device"
        device.mkdir(parents=True)
        (device / "driver").symlink_to(tmp_path / "drivers" / driver)
    efa = load("efa")
    monkeypatch.setattr(efa, "DRIVERS", str(tmp_path / "rdmap*" / "device" / "driver"))
    host = Host(files={"/proc/sys/vm/nr_hugepages": "5128"})
    answers: list[str | None] = []
    monkeypatch.setattr(host, "until", lambda look, seconds: answers.append(look()), raising=False)
    efa.run(host, count=2, pages=5128, libfabric=False)
    assert answers == [says and f"the kernel lists {says} EFA devices"]
    assert host.ran == []
