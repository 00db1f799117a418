"""What a person with a wrong stack file sees from the command: every problem, no traceback, nothing planned."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.simulated import SimulatedStack

pytestmark = pytest.mark.engine

GOOD = {"zone": "us-east-1a", "instanceType": "p5.48xlarge", "nodes": 4}


def failed(stack: SimulatedStack) -> str:
    done = stack.run("preview")
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "Traceback" not in said
    return said


def refused(stack: SimulatedStack) -> str:
    """Before anything is planned."""
    said = failed(stack)
    assert "to create" not in said or "+ 1 to create" in said, said
    return said


def test_all_problems_are_said_at_once_each_with_its_path_and_remedy(simulated: SimulatedStack) -> None:
    block = {"kind": "capacityBlock", "reservationId": "cr-1"}
    simulated.configure(
        {
            "aws": {
                **GOOD,
                "zone": "us-west-2a",
                "nodes": 1.5,
                "nodez": 2,
                "capacity": block,
                "placement": {"group": "create"},
                "network": ["10.0.0.0/16"],
                "rootVolume": {"sizeGib": 20},
            }
        }
    )
    said = refused(simulated)
    assert "the stack file has 6 problems; nothing was planned:" in said
    for problem in (
        "fabric.aws.zone: us-west-2a is a zone of us-west-2, and aws:region is us-east-1; give a zone of us-east-1",
        "fabric.aws.nodes: 1.5 is not a whole number; give the number of nodes, at least 1",
        "fabric.aws.nodez: is not a key that is known here; did you mean `nodes`?",
        "fabric.aws.placement.group: a capacity block brings its own placement",
        "fabric.aws.network: a list stands where a map belongs; write `key: value` lines",
        "fabric.aws.rootVolume.iops: 16000 IOPS on 20 GiB exceed gp3's 500 IOPS a GiB; give at most 10000 IOPS",
    ):
        assert problem in said, said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "fabric.aws.nodes: 0 is too small; give at least 1"),
        ({"instanceType": "c5.large"}, "fabric.aws.instanceType: unknown size 'c5.large' in the catalog; "),
        (
            {"nodes": 9, "interfaces": "allEfa", "network": {"subnetCidr": "10.100.1.0/24"}},
            "7 nodes fit; give a larger `subnetCidr`, or use `interfaces: oneAddress`, which takes 1 a node (251 nodes",
        ),
        (
            {
                "bootstrap": {
                    "after": ["".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(255)) * 3]
                }
            },
            "bytes after gzip, and EC2 takes 16,384; move commands into a script",
        ),
    ],
)
def test_one_problem_is_said_with_its_path(
    simulated: SimulatedStack, changes: dict[str, Any], message: str
) -> None:
    simulated.configure({"aws": {**GOOD, **changes}})
    assert message in refused(simulated)


def test_yaml_that_does_not_parse_is_said_with_its_line(simulated: SimulatedStack) -> None:
    (simulated.project / "Pulumi.dev.yaml").write_text("config:\n  aws:region: us-east-1\n  a: [1\n  b: 2\n")
    said = refused(simulated)
    assert "error: Pulumi.dev.yaml:4:4: this is not YAML" in said


def test_a_stack_file_without_our_section_names_it(simulated: SimulatedStack) -> None:
    (simulated.project / "Pulumi.dev.yaml").write_text("config:\n  aws:region: us-east-1\n")
    assert "fabric: is missing; give `gpu-fabric:fabric`; Pulumi.dev.yaml is an example" in refused(simulated)


def test_a_stack_file_with_our_section_empty_says_so(simulated: SimulatedStack) -> None:
    (simulated.project / "Pulumi.dev.yaml").write_text(
        "config:\n  aws:region: us-east-1\n  gpu-fabric:fabric:\n"
    )
    assert "fabric: is empty; give `gpu-fabric:fabric`; Pulumi.dev.yaml is an example" in refused(simulated)


VERIFIED = """
import pulumi
import pulumi_aws as aws

from gpu_fabric import AwsGpuCluster

vpc = aws.ec2.Vpc("v", cidr_block="10.9.0.0/16")
subnet = aws.ec2.Subnet("s", vpc_id=vpc.id, cidr_block="10.9.1.0/24", availability_zone="us-east-1a")
network = {"vpc_id": vpc.id, "subnet_id": SUBNET, "verify": True}
AwsGpuCluster("train", {"zone": "ZONE", "instance_type": "p5.48xlarge", "nodes": 2, "network": network})
"""


def test_an_adopted_subnet_that_is_not_there_is_said_without_a_traceback(simulated: SimulatedStack) -> None:
    """`verify` asks the cloud: what it answers decides, and a subnet that exists passes."""

    def with_subnet(subnet: str, zone: str = "us-east-1a") -> str:
        return VERIFIED.replace("SUBNET", subnet).replace("ZONE", zone)

    simulated.configure({})
    simulated.program(with_subnet('"subnet-0123456789abcdef0"'))
    said = failed(simulated)
    assert "network.subnetId: subnet-0123456789abcdef0 could not be looked up (" in said
    assert "give a subnet of this account and region, or leave out `verify`" in said
    simulated.program(with_subnet("subnet.id"))
    simulated.ok("up")
    simulated.program(with_subnet("subnet.id", "us-east-1b"))
    assert "is in us-east-1a, and the nodes are to be in us-east-1b; give a subnet of us-east-1b" in failed(
        simulated
    )
