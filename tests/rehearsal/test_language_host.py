"""The stand-in language host's protocol, without an engine: plugins it runs, and what it does not do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from gpu_fabric.rehearsal.language_python import LanguageHost
from gpu_fabric.rehearsal.run_program import entry_file

from .calls import answered


@pytest.fixture
def stub() -> Iterator[language_pb2_grpc.LanguageRuntimeStub]:
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageHost(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel)
    server.stop(None)


def run_plugin(
    stub, folder: Path, text: str, *arguments: str, kind: str = "resource"
) -> tuple[str, str, int]:
    """What the plugin in a folder prints, and its exit status."""
    (folder / "__main__.py").write_text(text)
    request = language_pb2.RunPluginRequest(
        pwd=str(folder),
        args=arguments,
        kind=kind,
        env=["NODES=4"],
        info=language_pb2.ProgramInfo(
            root_directory=str(folder), program_directory=str(folder), entry_point="."
        ),
    )
    out, err, code = b"", b"", -1
    for each in stub.RunPlugin(request):
        out, err = out + each.stdout, err + each.stderr
        code = each.exitcode if each.WhichOneof("output") == "exitcode" else code
    return out.decode(), err.decode(), code


def test_a_plugin_gets_its_arguments_and_its_environment(stub, tmp_path):
    text = "import os, sys\nprint(sys.argv[1:], os.environ['NODES'], os.getcwd())\n"
    out, err, code = run_plugin(stub, tmp_path, text, "127.0.0.1:1", "-v")
    assert (out, err, code) == (f"['127.0.0.1:1', '-v'] 4 {tmp_path}\n", "", 0)


def test_a_plugin_s_errors_and_exit_status_come_back(stub, tmp_path):
    out, err, code = run_plugin(stub, tmp_path, "import sys\nprint('no', file=sys.stderr)\nsys.exit(3)\n")
    assert (out, err, code) == ("", "no\n", 3)


def test_a_policy_pack_runs_inside_pulumi_s_own_runner(stub, tmp_path):
    """``pulumi.policy`` runs the folder; here it only prints, so that no pack has to be installed."""
    text = "import sys\nprint('port', [name for name in sys.modules if name == 'pulumi'])\n"
    out, _, code = run_plugin(stub, tmp_path, text, "127.0.0.1:1", ".", kind="analyzer")
    assert (out, code) == ("port ['pulumi']\n", 0)


def test_what_a_plugin_prints_comes_while_it_runs(stub, tmp_path):
    """The engine reads a plugin's port from its first line; it must not wait for the end."""
    (tmp_path / "__main__.py").write_text("import time\nprint(4711, flush=True)\ntime.sleep(60)\n")
    call = stub.RunPlugin(
        language_pb2.RunPluginRequest(
            pwd=str(tmp_path), info=language_pb2.ProgramInfo(program_directory=str(tmp_path))
        )
    )
    assert next(iter(call)).stdout.startswith(b"4711")
    call.cancel()


def test_it_installs_nothing_and_says_so(stub):
    answers = list(stub.InstallDependencies(language_pb2.InstallDependenciesRequest()))
    assert [each.stdout for each in answers] == [
        b"The stand-in language host installs nothing: use pip with the project's requirements.\n"
    ]


def test_it_asks_the_engine_for_no_packages(stub):
    assert not stub.GetRequiredPackages(language_pb2.GetRequiredPackagesRequest()).packages


def test_what_needs_pulumi_s_own_host_is_named(stub):
    with pytest.raises(grpc.RpcError) as failed:
        stub.GenerateProgram(language_pb2.GenerateProgramRequest())
    assert answered(failed).code() == grpc.StatusCode.UNIMPLEMENTED
    assert answered(failed).details() == (
        "the stand-in language host does not do this: it needs Pulumi's own pulumi-language-python"
    )


def test_it_tells_its_version_and_its_python(stub):
    assert stub.GetPluginInfo(plugin_pb2.PluginInfo()).version.startswith("3.")
    about = stub.About(language_pb2.AboutRequest())
    assert about.executable == sys.executable
    assert about.metadata["host"] == "stand-in of gpu-fabric"


def test_it_lists_what_is_installed(stub):
    found = stub.GetProgramDependencies(language_pb2.GetProgramDependenciesRequest())
    assert "pulumi" in {each.name for each in found.dependencies}


@pytest.mark.parametrize("entry", [".", "", "app", "main.py"])
def test_the_entry_point_is_a_file_or_a_folder_s_main(tmp_path, entry):
    (tmp_path / "app").mkdir()
    (tmp_path / "main.py").touch()
    request = {"program_directory": str(tmp_path), "entry_point": entry, "pwd": "/"}
    expected = {"app": tmp_path / "app" / "__main__.py", "main.py": tmp_path / "main.py"}
    assert entry_file(request) == expected.get(entry, tmp_path / "__main__.py")
