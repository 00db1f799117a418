"""Another team's Pulumi project, with a `components/` folder of its own, on the installed wheel and the real engine."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_fabric.engine.binary import Engine
from tests.library.installed import Installed, build, install
from tests.simulated import SimulatedStack

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi
import pulumi_aws as aws
import pulumi_azure_native as azure_native

from components.tags import OWNER  # the project's own folder of that name
from gpu_fabric import AwsFabricSecurityGroup, AwsGpuCluster, AzureGpuCluster


def owned(args):
    if args.type_ == "aws:ec2/launchTemplate:LaunchTemplate":
        return pulumi.ResourceTransformResult({**args.props, "description": OWNER}, args.opts)
    return None


west = aws.Provider("west", region="us-west-2")
vpc = aws.ec2.Vpc("ours", cidr_block="10.9.0.0/16", opts=pulumi.ResourceOptions(provider=west))
subnet = aws.ec2.Subnet(
    "ours",
    vpc_id=vpc.id,
    cidr_block="10.9.1.0/24",
    availability_zone="us-west-2a",
    opts=pulumi.ResourceOptions(provider=west),
)
AwsGpuCluster(
    "train",
    {
        "zone": "us-west-2a",
        "instance_type": "p5.48xlarge",
        "nodes": 2,
        "network": {"vpc_id": vpc.id, "subnet_id": subnet.id, "subnet_cidr": "10.9.1.0/24"},
    },
    opts=pulumi.ResourceOptions(providers=[west], protect=True, transforms=[owned]),
)
AwsFabricSecurityGroup("alone", vpc_id=vpc.id, opts=pulumi.ResourceOptions(providers=[west]))
azure = azure_native.Provider("azure", location="eastus", subscription_id="00000000-0000-0000-0000-000000000000")
AzureGpuCluster(
    "learn",
    {"vm_size": "Standard_ND96isr_H100_v5", "nodes": 2, "location": "eastus"},
    opts=pulumi.ResourceOptions(providers=[azure]),
)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    wheel, _ = build(folder / "source")
    return install(wheel, folder / "environment", ("aws", "azure", "policy", "rehearsal"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "components").mkdir()
    (folder / "components" / "__init__.py").touch()
    (folder / "components" / "tags.py").write_text('OWNER = "platform team"\n')
    (folder / "__main__.py").write_text(PROGRAM)
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "foreign", "runtime": "python"}))
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {}}))
    return folder


def run(environment: Installed, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return environment.run("-m", "gpu_fabric.engine", *arguments, cwd=project)


def below(resources: list[Mapping[str, Any]], component: str) -> list[Mapping[str, Any]]:
    """What a provider manages somewhere below the component of that name."""
    parents = {one["urn"]: one.get("parent", "") for one in resources}

    def inside(urn: str) -> bool:
        return bool(urn) and (
            (urn.endswith(f"::{component}") and "gpu-fabric:index" in urn) or inside(parents.get(urn, ""))
        )

    return [one for one in resources if one.get("custom") and inside(one.get("parent", ""))]


def test_a_foreign_project_lives_on_the_wheel_with_its_own_providers_protection_and_transforms(
    environment: Installed, project: Path, engine: Engine
) -> None:
    previewed = run(
        environment, project, "preview", "--", "--policy-pack", str(environment.package / "policy")
    )
    assert "gpu-fabric@v0.1.0" in previewed.stdout, previewed.stdout + previewed.stderr
    up = run(environment, project, "up")
    assert up.returncode == 0, up.stdout + up.stderr
    resources = SimulatedStack(project, engine).resources()
    train, learn, alone = (below(resources, name) for name in ("train", "learn", "alone"))
    assert len(train) > 5
    assert len(learn) > 5
    assert len(alone) == 4
    assert {one["provider"].split("::")[-2] for one in train + alone} == {"west"}
    azure = [one for one in learn if one["type"].startswith("azure-native:")]
    assert {one["provider"].split("::")[-2] for one in azure} == {"azure"}
    assert all(one.get("protect") for one in train)
    assert not any(one.get("protect") for one in learn + alone)
    (template,) = (one for one in train if one["type"] == "aws:ec2/launchTemplate:LaunchTemplate")
    assert template["inputs"]["description"] == "platform team"
    # Nothing was made beside what the project has: the network is adopted.
    assert not any(one["type"] == "aws:ec2/vpc:Vpc" for one in train)
