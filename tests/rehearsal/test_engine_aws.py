"""The real engine against the simulated AWS: order, replacement, state, faults, drift."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from tests.simulated import ROOT, SimulatedStack

pytestmark = pytest.mark.engine

HAND_WRITTEN = """
import pulumi, pulumi_aws as aws

nodes = pulumi.Config("gpu-fabric").require_object("fabric")["nodes"]
note = pulumi.Config("gpu-fabric").require_object("fabric").get("note", "nodes")
vpc = aws.ec2.Vpc("net", cidr_block="10.100.0.0/16", tags={"Name": note})
subnet = aws.ec2.Subnet("private", vpc_id=vpc.id, cidr_block="10.100.1.0/24", availability_zone="us-east-1a")
group = aws.ec2.SecurityGroup("efa", vpc_id=vpc.id, description=note)
aws.vpc.SecurityGroupIngressRule(
    "in", security_group_id=group.id, referenced_security_group_id=group.id, ip_protocol="-1"
)
placement = aws.ec2.PlacementGroup("train", strategy="cluster")
for node in range(nodes):
    cards = [
        aws.ec2.NetworkInterface(
            f"node-{node}-card-{card}", subnet_id=subnet.id, interface_type="efa", security_groups=[group.id]
        )
        for card in range(4)
    ]
    instance = aws.ec2.Instance(
        f"node-{node}",
        ami="ami-0123456789abcdef0",
        instance_type="p4d.24xlarge",
        placement_group=placement.name,
        network_interfaces=[
            {
                "network_interface_id": each.id,
                "device_index": 1 if card else 0,
                "network_card_index": card,
            }
            for card, each in enumerate(cards)
        ],
    )
    pulumi.export(f"address-{node}", instance.private_ip)
"""

FLEET = """
import pulumi, pulumi_aws as aws

fabric = pulumi.Config("gpu-fabric").require_object("fabric")
vpc = aws.ec2.Vpc("net", cidr_block="10.100.0.0/16")
subnet = aws.ec2.Subnet("private", vpc_id=vpc.id, cidr_block="10.100.1.0/24", availability_zone="us-east-1a")
template = aws.ec2.LaunchTemplate(
    "node",
    instance_type="p5.48xlarge",
    image_id="ami-0123456789abcdef0",
    user_data=fabric.get("userData"),
    network_interfaces=[{"device_index": 0}],
)
aws.autoscaling.Group(
    "fleet",
    min_size=fabric["nodes"],
    max_size=fabric["nodes"],
    vpc_zone_identifiers=[subnet.id],
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
)
"""


def journal(stack: SimulatedStack) -> list[dict[str, Any]]:
    line = [
        sys.executable,
        "-m",
        "gpu_fabric.rehearsal",
        "--database",
        str(stack.database),
        "journal",
        "--json",
    ]
    done = subprocess.run(
        line, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return json.loads(done.stdout)


def rehearsal(stack: SimulatedStack, *arguments: str) -> str:
    line = [sys.executable, "-m", "gpu_fabric.rehearsal", "--database", str(stack.database), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def test_a_hand_written_module_lives_from_up_to_destroy(simulated: SimulatedStack):
    simulated.program(HAND_WRITTEN)
    simulated.configure({"nodes": 1})
    simulated.ok("up")
    # Which address a node gets depends on the order in which the engine makes the interfaces.
    (first,) = simulated.outputs().values()
    assert ip_address(first) in ip_network("10.100.1.0/24")
    simulated.ok("preview", "--expect-no-changes")
    simulated.configure({"nodes": 2})
    simulated.ok("up")
    addresses = simulated.outputs()
    assert addresses["address-0"] == first
    assert addresses["address-1"] != first
    assert ip_address(addresses["address-1"]) in ip_network("10.100.1.0/24")
    simulated.configure({"nodes": 2, "note": "renamed"})
    simulated.ok("up")
    replaced = [
        (each["operation"], each["kind"].rpartition(":")[2])
        for each in journal(simulated)
        if each["name"] == "efa"
    ]
    assert replaced == [
        ("create", "SecurityGroup"),
        ("create", "SecurityGroup"),
        ("delete", "SecurityGroup"),
    ], "a new description makes a new group before the old one goes"
    vpc = next(each["id"] for each in simulated.holdings() if each["kind"] == "aws:ec2/vpc:Vpc")
    rehearsal(simulated, "drift", "aws:ec2/vpc:Vpc", vpc, "tags.Name", "mine")
    simulated.ok("up", "--refresh")
    held = next(each for each in simulated.holdings() if each["id"] == vpc)
    assert held["properties"]["tags"] == {"Name": "renamed"}, "drift is seen by a refresh and put right"
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_a_group_that_finds_no_room_is_kept_half_made_and_filled_by_the_next_up(simulated: SimulatedStack):
    simulated.program(FLEET)
    simulated.configure({"nodes": 3})
    simulated.simulation.folder.mkdir(parents=True, exist_ok=True)
    simulated.simulation.faults.write_text('{"capacity": [{"size": "p5.48xlarge", "available": 2}]}')
    failed = simulated.run("up")
    assert failed.returncode != 0
    assert "capacity satisfied: scaling activity (" in failed.stdout + failed.stderr
    assert "We currently do not have sufficient p5.48xlarge capacity" in failed.stdout + failed.stderr
    running = [each for each in simulated.holdings() if each["kind"] == "aws:ec2/instance:Instance"]
    assert len(running) == 2
    simulated.simulation.faults.unlink()
    simulated.ok("up")
    names = [each["name"] for each in journal(simulated) if each["kind"].endswith(":Group")]
    assert names == ["fleet", "fleet"], "made once, then updated: not made again"
    simulated.configure({"nodes": 3, "userData": "IyEvYmluL3No"})
    planned = simulated.ok("preview", "--json")
    steps = {each["urn"].rpartition("::")[2]: each["op"] for each in json.loads(planned)["steps"]}
    assert (steps["node"], steps["fleet"]) == ("update", "update"), (
        "new user data is a version, not a new group"
    )
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_a_type_that_is_not_simulated_stops_the_run_and_says_so(simulated: SimulatedStack):
    simulated.program('import pulumi_aws as aws\naws.s3.Bucket("data")\n')
    simulated.configure({})
    failed = simulated.run("up")
    assert failed.returncode != 0
    assert (
        "the simulated aws cloud does not know the resource type aws:s3/bucket:Bucket: nothing was done"
        in failed.stdout + failed.stderr
    )
    assert simulated.holdings() == []


def test_what_exists_is_adopted_and_what_does_not_is_an_error(simulated: SimulatedStack):
    simulated.program(
        "import pulumi, pulumi_aws as aws\n"
        'id = pulumi.Config("gpu-fabric").require_object("fabric")["vpc"]\n'
        'pulumi.export("range", aws.ec2.Vpc.get("net", id).cidr_block)\n'
    )
    simulated.simulation.folder.mkdir(parents=True, exist_ok=True)
    id = rehearsal(simulated, "hold", "aws:ec2/vpc:Vpc", '{"cidrBlock": "10.7.0.0/16"}')
    simulated.configure({"vpc": id})
    simulated.ok("up")
    assert simulated.outputs() == {"range": "10.7.0.0/16"}
    simulated.configure({"vpc": "vpc-0"})
    failed = simulated.run("up")
    assert failed.returncode != 0
    assert "'vpc-0' does not exist" in failed.stdout + failed.stderr


def test_a_secret_is_encrypted_in_the_state_and_hidden_in_the_cloud(simulated: SimulatedStack):
    simulated.program(
        "import pulumi, pulumi_aws as aws\n"
        'secret = pulumi.Output.secret("hunter2")\n'
        'made = aws.ssm.Parameter("key", type="SecureString", value=secret)\n'
        'pulumi.export("value", made.value)\n'
    )
    simulated.configure({})
    simulated.ok("up")
    assert "hunter2" not in json.dumps(simulated.exported())
    assert simulated.outputs() == {"value": "[secret]"}
    assert "hunter2" not in json.dumps(simulated.holdings())
    simulated.ok("preview", "--expect-no-changes")
