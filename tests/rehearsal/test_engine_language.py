"""The stand-in language host under the real engine: programs and component packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulated import SimulatedStack

pytestmark = pytest.mark.engine


def both(done) -> str:
    return done.stdout + done.stderr


def test_a_run_error_is_shown_without_a_traceback(simulated: SimulatedStack):
    simulated.program('import pulumi\nraise pulumi.RunError("nodes: 0 is too few; give 1 or more")\n')
    simulated.configure({})
    failed = simulated.run("preview")
    assert failed.returncode != 0
    assert both(failed).count("error: nodes: 0 is too few; give 1 or more") >= 1
    assert "Traceback" not in both(failed)


def test_any_other_exception_is_shown_once_from_the_program_s_own_lines(simulated: SimulatedStack):
    simulated.program('def nodes():\n    return {}["nodes"]\n\nnodes()\n')
    simulated.configure({})
    failed = simulated.run("preview")
    assert failed.returncode != 0
    assert both(failed).count("KeyError: 'nodes'") == 1
    assert "Program failed with an unhandled exception" in both(failed)
    assert "runpy" not in both(failed)


ANSWERED = """\
import grpc
from pulumi.runtime.settings import handle_grpc_error

class Answer(grpc.RpcError, grpc.Call):
    def code(self):
        return grpc.StatusCode.{code}

    def details(self):
        return "the engine's own words"

Answer.__abstractmethods__ = frozenset()
try:
    raise Answer()
except grpc.RpcError as error:
    handle_grpc_error(error)
"""


@pytest.mark.parametrize(
    ("code", "times"), [("CANCELLED", 0), ("UNAVAILABLE", 0), ("INVALID_ARGUMENT", 1), ("UNKNOWN", 1)]
)
def test_what_the_engine_refused_is_said_without_a_traceback(
    simulated: SimulatedStack, code: str, times: int
):
    simulated.program(ANSWERED.format(code=code))
    simulated.configure({})
    failed = simulated.run("preview")
    assert failed.returncode != 0
    said = [line.strip() for line in both(failed).splitlines()]
    assert said.count("error: the engine's own words") == times
    for noise in ("Traceback", "unhandled exception", "handle_grpc_error", "Resource monitor"):
        assert noise not in both(failed)


def test_what_a_program_prints_reaches_the_user(simulated: SimulatedStack):
    simulated.program('print("four nodes")\n')
    simulated.configure({})
    assert "four nodes" in both(simulated.run("preview"))


def test_a_program_finds_its_own_modules_and_its_folder(simulated: SimulatedStack):
    (simulated.project / "sizes.py").write_text("NODES = 3\n")
    simulated.program(
        "import pathlib, pulumi, sizes\n"
        'pulumi.export("nodes", sizes.NODES)\n'
        'pulumi.export("here", pathlib.Path("sizes.py").exists())\n'
        'pulumi.export("names", [pulumi.get_project(), pulumi.get_stack(), pulumi.runtime.is_dry_run()])\n'
    )
    simulated.configure({})
    simulated.ok("up")
    assert simulated.outputs() == {"nodes": 3, "here": True, "names": ["gpu-fabric", "dev", False]}


def test_a_virtual_environment_that_is_not_there_is_named_with_the_remedy(simulated: SimulatedStack):
    (simulated.project / "Pulumi.yaml").write_text(
        "name: gpu-fabric\nruntime:\n  name: python\n  options:\n    virtualenv: venv\n"
    )
    simulated.program("")
    simulated.configure({})
    failed = simulated.run("preview")
    assert failed.returncode != 0
    assert "Make it with `python -m venv venv` and install the project's requirements" in both(failed)


COMPONENT = """
from typing import Optional, TypedDict

import pulumi
from pulumi.provider.experimental import component_provider_host


class FleetArgs(TypedDict):
    nodes: pulumi.Input[int]


class Fleet(pulumi.ComponentResource):
    def __init__(self, name: str, args: FleetArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("house:index:Fleet", name, {}, opts)
        self.register_outputs({})


if __name__ == "__main__":
    component_provider_host(name="house", components=[Fleet])
"""


def test_a_component_package_in_a_folder_tells_its_schema(simulated: SimulatedStack, tmp_path: Path):
    package = tmp_path / "plugin"
    package.mkdir()
    (package / "PulumiPlugin.yaml").write_text("runtime: python\n")
    (package / "__main__.py").write_text(COMPONENT)
    done = simulated.pulumi("package", "get-schema", str(package))
    assert done.returncode == 0, both(done)
    assert '"house:index:Fleet"' in done.stdout
    assert "Traceback" not in both(done)
