"""A program in YAML on the real engine, with Pulumi's own YAML host and our components as a plugin."""

from __future__ import annotations

import re

import pytest
import yaml

from gpu_fabric.engine.binary import UnavailableError, find_yaml_host
from tests.not_run import not_run
from tests.simulated import ROOT, SimulatedStack

pytestmark = pytest.mark.engine


@pytest.fixture
def project(simulated: SimulatedStack) -> SimulatedStack:
    """The YAML program of plugin/README.md, with the plugin by its path."""
    try:
        find_yaml_host()
    except UnavailableError as error:
        not_run(str(error))
    (block,) = (
        part.split("```")[0]
        for part in (ROOT / "plugin" / "README.md").read_text().split("```yaml\n")[1:]
        if part.startswith("name:")
    )
    program = yaml.safe_load(block)
    program["packages"]["gpu-fabric"] = str(ROOT / "plugin")
    (simulated.project / "__main__.py").unlink()
    (simulated.project / "Pulumi.yaml").write_text(yaml.safe_dump(program, sort_keys=False))
    config = {"aws:region": "us-east-1", "azure-native:location": "eastus"}
    (simulated.project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    return simulated


def test_a_yaml_program_with_both_clusters_lives_and_goes(project: SimulatedStack) -> None:
    project.ok("up")
    types = {one["type"] for one in project.resources()}
    assert {"gpu-fabric:index:AwsGpuCluster", "gpu-fabric:index:AzureGpuCluster"} <= types
    kinds = [one["kind"] for one in project.holdings()]
    assert kinds.count("aws:ec2/instance:Instance") == 2
    outputs = project.outputs()
    assert outputs["efaGbpsPerNode"] == 3200
    assert outputs["azureRuns"]["size"] == "Standard_ND96isr_H100_v5"
    project.ok("preview", "--expect-no-changes")
    project.ok("destroy")
    assert project.holdings() == []


def test_bad_input_of_a_yaml_program_is_named_before_anything_is_made(project: SimulatedStack) -> None:
    path = project.project / "Pulumi.yaml"
    program = yaml.safe_load(path.read_text())
    properties = program["resources"]["train"]["properties"]
    properties |= {"zone": "us-east-1", "instanceType": "p5.49xlarge"}
    path.write_text(yaml.safe_dump(program, sort_keys=False))
    done = project.run("preview")
    assert done.returncode != 0
    assert "zone" in done.stdout + done.stderr
    # As the program spells it, with what it gave.
    assert re.search(r"property instanceType .*p5.49xlarge", done.stdout + done.stderr)
    assert "us-east-1" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "site-packages" not in done.stdout + done.stderr
    assert ".py" not in done.stdout + done.stderr
