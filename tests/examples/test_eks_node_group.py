"""The example of an EKS node group comes up, stays as it is, and goes; its pod fits its nodes."""

from __future__ import annotations

import shutil

import pytest
import yaml
from click.testing import CliRunner

from gpu_fabric.cli import group
from gpu_fabric.nccl import paths
from tests.simulated import ROOT, SimulatedStack

EXAMPLE = ROOT / "examples" / "eks-node-group-with-efa"
INSTANCE, INTERFACE = "aws:ec2/instance:Instance", "aws:ec2/networkInterface:NetworkInterface"
GROUP = "aws:ec2/securityGroup:SecurityGroup"


@pytest.mark.engine
def test_the_example_comes_up_with_every_interface_and_goes_without_a_trace(
    simulated: SimulatedStack,
) -> None:
    for name in ("__main__.py", "Pulumi.dev.yaml"):
        shutil.copy(EXAMPLE / name, simulated.project)
    simulated.ok("up")
    simulated.ok("preview", "--expect-no-changes")

    held = {
        kind: [each for each in simulated.holdings() if each["kind"] == kind] for kind in (INSTANCE, GROUP)
    }
    nodes = [each["properties"] for each in held[INSTANCE]]
    assert [node["instanceType"] for node in nodes] == ["p5.48xlarge"] * 2
    assert len({node["placementGroup"] for node in nodes} - {""}) == 1
    assert {node["availabilityZone"] for node in nodes} == {"us-east-1a"}
    clusters = next(each["id"] for each in held[GROUP] if each["properties"].get("eksCluster"))
    assert all(clusters in node["vpcSecurityGroupIds"] for node in nodes)
    interfaces = [
        each["properties"]
        for each in simulated.holdings()
        if each["kind"] == INTERFACE and each["properties"].get("instanceId") == nodes[0]["id"]
    ]
    assert len(interfaces) == 33
    assert sum(bool(each["privateIp"]) for each in interfaces) == 1
    assert simulated.outputs()["fabric"]["efaInterfacesPerNode"] == 32

    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_the_pod_asks_for_what_a_node_has_and_mounts_its_files() -> None:
    pod = yaml.safe_load((EXAMPLE / "pod.yaml").read_text())["spec"]
    (container,) = pod["containers"]
    limits = container["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == 8
    assert limits["vpc.amazonaws.com/efa"] == 32
    assert pod["volumes"][0]["hostPath"]["path"] == paths.DIRECTORY
    assert {"name": "NCCL_CONF_FILE", "value": paths.NCCL_CONF} in container["env"]
    linted = CliRunner().invoke(group, ["lint", str(EXAMPLE / "pod.yaml"), "--for", "p5.48xlarge"])
    assert linted.exit_code == 0, linted.output
