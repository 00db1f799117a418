"""The provider over gRPC, as the engine talks to it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from gpu_fabric.rehearsal.clouds import load
from gpu_fabric.rehearsal.core.provider import Provider
from gpu_fabric.rehearsal.core.values import UNKNOWN, Secret, from_struct, to_struct

from .calls import answered

ROOT = Path(__file__).parents[2]
VPC = "aws:ec2/vpc:Vpc"
PARAMETER = "aws:ssm/parameter:Parameter"
URN = f"urn:pulumi:test::fabric::{VPC}::net"


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """A configured provider on a port of its own."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    logged: list[Any] = []
    provider = Provider(load("aws"), tmp_path / "clouds.db", log=lambda *line: logged.append(line))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Configure(provider_pb2.ConfigureRequest(args=to_struct({"region": "us-east-1"})))
        stub.logged = logged  # ty: ignore[missing-attribute]
        yield stub
    server.stop(None)


def test_it_takes_secrets_and_knows_previews(stub):
    handshake = stub.Handshake(provider_pb2.ProviderHandshakeRequest(engine_address="127.0.0.1:1"))
    assert handshake.accept_secrets and handshake.accept_resources and handshake.accept_outputs
    configured = stub.Configure(provider_pb2.ConfigureRequest(args=to_struct({"region": "us-east-1"})))
    assert configured.supportsPreview and configured.acceptSecrets


def test_it_answers_the_version_of_the_installed_sdk(stub):
    assert stub.GetPluginInfo(plugin_pb2.PluginInfo()).version == "7.51.1"


def test_it_says_once_that_it_is_simulated(stub):
    stub.Configure(provider_pb2.ConfigureRequest(args=to_struct({"region": "us-east-1"})))
    assert stub.logged == [
        ("info", "simulated aws: no account is touched (every ARN carries the account 000000000000)", "")
    ]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"region": "us-east-1"}, None),
        ({"region": "eu-middle-1"}, "Invalid AWS Region: eu-middle-1"),
        ({}, "Missing region information"),
        ({"region": "us-east-1", "maxRetry": "3"}, 'did you mean "maxRetries"?'),
    ],
)
def test_the_configuration_is_checked(stub, monkeypatch, config, problem):
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    failures = stub.CheckConfig(provider_pb2.CheckRequest(news=to_struct(config))).failures
    assert [problem in each.reason for each in failures] == ([True] if problem else [])


def test_unknown_values_and_secrets_come_back_from_every_call(stub):
    inputs = {"cidrBlock": UNKNOWN, "tags": {"Name": Secret("net"), "Zone": UNKNOWN}}
    checked = stub.Check(provider_pb2.CheckRequest(urn=URN, news=to_struct(inputs)))
    assert from_struct(checked.inputs) == inputs
    planned = from_struct(
        stub.Create(
            provider_pb2.CreateRequest(urn=URN, properties=to_struct(inputs), preview=True)
        ).properties
    )
    assert planned["cidrBlock"] is UNKNOWN
    assert planned["tags"] == inputs["tags"]
    made = stub.Create(
        provider_pb2.CreateRequest(
            urn=URN,
            properties=to_struct({"cidrBlock": Secret("10.0.0.0/16"), "tags": {"Name": Secret("net")}}),
        )
    )
    outputs = from_struct(made.properties)
    assert outputs["cidrBlock"] == Secret("10.0.0.0/16")
    assert outputs["tags"] == {"Name": Secret("net")}
    again = stub.Read(provider_pb2.ReadRequest(urn=URN, id=made.id))
    assert from_struct(again.properties)["cidrBlock"] == Secret("10.0.0.0/16")


def test_a_diff_names_every_property_that_differs_and_how(stub):
    old = {"cidrBlock": "10.0.0.0/16", "tags": {"a": "1", "b": "2"}}
    new = {"cidrBlock": "10.1.0.0/16", "tags": {"b": "3", "c.d": "4"}}
    answer = stub.Diff(
        provider_pb2.DiffRequest(
            id="vpc-0", urn=URN, olds=to_struct(old), old_inputs=to_struct(old), news=to_struct(new)
        )
    )
    kinds = provider_pb2.PropertyDiff.Kind
    assert {path: kinds.Name(each.kind) for path, each in answer.detailedDiff.items()} == {
        "cidrBlock": "UPDATE_REPLACE",
        "tags.a": "DELETE",
        "tags.b": "UPDATE",
        'tags["c.d"]': "ADD",
    }
    assert answer.hasDetailedDiff
    assert answer.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert sorted(answer.diffs) == ["cidrBlock", "tags"]
    assert list(answer.replaces) == ["cidrBlock"]


def test_a_refusal_is_the_status_without_a_traceback(stub):
    with pytest.raises(grpc.RpcError) as failed:
        stub.Create(
            provider_pb2.CreateRequest(
                urn=f"urn:pulumi:test::fabric::{PARAMETER}::p",
                properties=to_struct({"name": "/a"}) if stub.Create(_parameter()) else None,
            )
        )
    assert answered(failed).code() == grpc.StatusCode.UNKNOWN
    assert (
        answered(failed)
        .details()
        .endswith(
            "api error ParameterAlreadyExists: The parameter already exists. To overwrite "
            "this value, set the overwrite option in the request to true."
        )
    )


def _parameter() -> Any:
    return provider_pb2.CreateRequest(
        urn=f"urn:pulumi:test::fabric::{PARAMETER}::p",
        properties=to_struct({"name": "/a", "type": "SecureString", "value": Secret("hunter2")}),
    )


def test_a_half_made_resource_is_told_with_its_id(stub, faults):
    faults(fail=[{"type": VPC, "when": "partial"}])
    with pytest.raises(grpc.RpcError) as failed:
        stub.Create(provider_pb2.CreateRequest(urn=URN, properties=to_struct({"cidrBlock": "10.0.0.0/16"})))
    metadata = {each.key: each.value for each in answered(failed).trailing_metadata()}
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    detail = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(detail)
    assert detail.id.startswith("vpc-0")
    assert list(detail.reasons) == [answered(failed).details()]


def test_a_schema_is_not_made_up(stub):
    with pytest.raises(grpc.RpcError) as failed:
        stub.GetSchema(provider_pb2.GetSchemaRequest())
    assert answered(failed).code() == grpc.StatusCode.UNIMPLEMENTED


class Engine(engine_pb2_grpc.EngineServicer):
    """Hears what a provider logs."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 (the protocol's name)
        from google.protobuf import empty_pb2

        self.heard.append(request.message)
        return empty_pb2.Empty()  # ty: ignore[missing-attribute]


def started(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], int, float]:
    """A process of a module of ours: itself, its port, and the seconds until it printed that."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    assert process.stdout is not None
    port = int(process.stdout.readline())
    return process, port, time.monotonic() - begin


def test_the_process_starts_at_once_tells_the_engine_and_ends_when_interrupted(tmp_path):
    engine, server = Engine(), grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    process, port, seconds = started(
        "gpu_fabric.rehearsal.aws", address, GPU_FABRIC_REHEARSAL_DB=str(tmp_path / "clouds.db")
    )
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Configure(provider_pb2.ConfigureRequest(args=to_struct({"region": "us-east-1"})))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    server.stop(None)
    assert engine.heard == [
        "simulated aws: no account is touched (every ARN carries the account 000000000000)"
    ]
    assert (process.returncode, errors) == (0, "")
    # 0.4 s alone on a two-core machine; the limit leaves room for a busy one.
    assert seconds < 5


def test_a_process_without_a_database_says_how_to_name_one():
    environment = {key: value for key, value in os.environ.items() if key != "GPU_FABRIC_REHEARSAL_DB"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gpu_fabric.rehearsal.aws"],
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    port = int(process.stdout.readline())
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        with pytest.raises(grpc.RpcError, match="set GPU_FABRIC_REHEARSAL_DB to a file's path"):
            stub.Configure(provider_pb2.ConfigureRequest(args=to_struct({"region": "us-east-1"})))
    process.terminate()
    process.communicate(timeout=10)


def test_a_process_whose_engine_is_gone_ends(tmp_path):
    """The engine is killed, as by a test's time limit: its plugins must not stay."""
    script = tmp_path / "engine.sh"
    script.write_text(f"#!/bin/sh\n{sys.executable} -m gpu_fabric.rehearsal.aws & echo $!\nwait\n")
    parent = subprocess.Popen(
        ["sh", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert parent.stdout is not None
    lines = [parent.stdout.readline().strip(), parent.stdout.readline().strip()]
    plugin = int(next(line for line in lines if _command(int(line)).find("rehearsal.aws") >= 0))
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 15
    while _command(plugin) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not _command(plugin)


def _command(pid: int) -> str:
    """The command line of a process; empty if there is none."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
    state = Path(f"/proc/{pid}/stat").read_text()
    return "" if re.search(r"\) Z ", state) else text


def test_what_is_secret_is_not_shown_by_the_command_line(stub, tmp_path):
    stub.Create(_parameter())
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "gpu_fabric.rehearsal",
            "--database",
            tmp_path / "clouds.db",
            "show",
            "--json",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "hunter2" not in done.stdout
    assert json.loads(done.stdout)[0]["properties"]["value"] == "[secret]"
