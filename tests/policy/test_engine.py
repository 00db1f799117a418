"""The pack under the real engine: every rule's programs, the levels and parameters of a configuration file, the time.

The programs run together, so that the engine starts a few times only; each names its resources after its rule.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from benchmarks import policy
from gpu_fabric.policy.pack import RULES
from tests.policy.verdicts import PROGRAMS
from tests.simulated import ROOT, SimulatedStack

pytestmark = pytest.mark.engine

PACK = ("--policy-pack", str(ROOT / "policy"))
#: The rule that blames no resource but the whole stack.
OF_THE_STACK = "route-isolation"


def bundle(stack: SimulatedStack, kind: str, names: list[str]) -> None:
    files = [str(PROGRAMS / f"{name}.{kind}.py") for name in names]
    stack.program(f"import runpy\nfor path in {files!r}:\n    runpy.run_path(path)\n")
    stack.configure({}, **{"azure-native:location": "eastus"})


HEADING = re.compile(r"^ *- \[(\w+)\]  ([\w-]+)(?:  \((?:.*: )?(.*)\))?$", re.MULTILINE)


def blamed(output: str) -> set[tuple[str, str, str]]:
    """(level, rule, resource) of everything that the pack said; the resource is empty for the whole stack."""
    return {(level, rule, resource) for level, rule, resource in HEADING.findall(output)}


def test_every_program_that_fails_ends_the_preview_with_its_rules_message(simulated: SimulatedStack) -> None:
    bundle(simulated, "fails", [rule.name for rule in RULES])
    done = simulated.run("preview", *PACK)
    assert done.returncode != 0
    said = blamed(done.stdout)
    lines = [line.strip() for line in done.stdout.splitlines()]
    for rule in RULES:
        own = {
            resource
            for level, name, resource in said
            if name == rule.name
            and level == rule.level.value
            and (resource.startswith(rule.name) or rule.name == OF_THE_STACK)
        }
        assert own, f"{rule.name} is not among\n{done.stdout}"
        assert rule.summary in lines
        assert f"See docs/policy.md#{rule.name}" in lines


#: Our rules, each of which looks at the resources of its own program alone: what a pack of that rule alone would say.
EACH_ON_ITS_OWN = """\
from dataclasses import replace

from pulumi_policy import PolicyPack

from gpu_fabric.policy.pack import RULES
from gpu_fabric.policy.rule import policies_of


def alone(rule):
    def check(resource, parameters):
        return rule.check(resource, parameters) if resource.name.startswith(rule.name) else iter(())

    def check_stack(resources, parameters):
        return rule.check_stack([one for one in resources if one.name.startswith(rule.name)], parameters)

    return replace(rule, check=rule.check and check, check_stack=rule.check_stack and check_stack)


PolicyPack("alone", [policy for rule in RULES for policy in policies_of(alone(rule))])
"""


def test_every_program_that_passes_passes_its_own_rule_and_the_one_that_fails_does_not(
    simulated: SimulatedStack, tmp_path: Path
) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text("runtime: python\nversion: 0.1.0\n")
    (pack / "__main__.py").write_text(EACH_ON_ITS_OWN)
    names = [rule.name for rule in RULES]
    bundle(simulated, "passes", names)
    done = simulated.run("preview", "--policy-pack", str(pack))
    assert done.returncode == 0, done.stdout + done.stderr
    assert blamed(done.stdout) == set()
    assert "alone@v0.1.0" in done.stdout
    bundle(simulated, "fails", names)
    done = simulated.run("preview", "--policy-pack", str(pack))
    assert done.returncode != 0
    assert {rule for _, rule, _ in blamed(done.stdout)} == set(names)


def test_levels_and_parameters_come_from_a_configuration_file(simulated: SimulatedStack) -> None:
    bundle(simulated, "fails", ["preflight-gate"])
    others = [rule.name for rule in RULES if rule.name not in ("preflight-gate", "imdsv2")]
    config = {
        **dict.fromkeys(others, "disabled"),
        "imdsv2": {"enforcementLevel": "advisory"},
        "preflight-gate": {"markers": ["slurmd"]},
    }
    file = simulated.project / "policy.json"
    file.write_text(json.dumps(config))
    done = simulated.run("preview", *PACK, "--policy-pack-config", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert blamed(done.stdout) == {("advisory", "imdsv2", "preflight-gate-node")}


def test_a_parameter_of_the_wrong_kind_is_refused_by_the_schema(simulated: SimulatedStack) -> None:
    bundle(simulated, "fails", ["no-open-ingress"])
    file = simulated.project / "policy.json"
    file.write_text(json.dumps({"no-open-ingress": {"allowedPorts": "ssh"}}))
    done = simulated.run("preview", *PACK, "--policy-pack-config", str(file))
    assert done.returncode != 0
    assert "allowedPorts" in done.stdout + done.stderr


#: Machines that several resources describe: one as it should be, and fleets that give a bare template its size.
FOREIGN = """\
import base64

import pulumi_aws as aws

own = {"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}
group = aws.ec2.SecurityGroup("group", ingress=[own], egress=[own])
rack = aws.ec2.PlacementGroup("rack", strategy="cluster")
interfaces = [
    aws.ec2.NetworkInterface(f"efa{card}", subnet_id="subnet-1", interface_type="efa", security_groups=[group.id])
    for card in range(4)
]
aws.ec2.Instance(
    "right",
    instance_type="p4d.24xlarge",
    ami="ami-0123456789abcdef0",
    placement_group=rack.name,
    metadata_options={"http_tokens": "required"},
    root_block_device={"encrypted": True},
    network_interfaces=[
        {"network_interface_id": one.id, "device_index": min(card, 1), "network_card_index": card}
        for card, one in enumerate(interfaces)
    ],
)
script = b"#!/bin/sh\\nexport NCCL_NET_GDR_LEVEL=LOC\\n"
bare = aws.ec2.LaunchTemplate("bare", user_data=base64.b64encode(script).decode())
aws.eks.NodeGroup(
    "workers",
    cluster_name="training",
    node_role_arn="arn:aws:iam::000000000000:role/worker",
    subnet_ids=["subnet-1", "subnet-2"],
    instance_types=["p5.48xlarge"],
    scaling_config={"desired_size": 2, "min_size": 2, "max_size": 2},
    launch_template={"id": bare.id, "version": bare.latest_version.apply(str)},
)
aws.ec2.LaunchTemplate(
    "odd", instance_type="p5.48xlarge", user_data=base64.b64encode(b"#cloud-config\\nruncmd: 5\\n").decode()
)
everybody = {**own, "self": False, "cidr_blocks": ["0.0.0.0/0"]}
aws.ec2.SecurityGroup("unknown", ingress=bare.id.apply(lambda id: [everybody]))
"""


def test_machines_that_several_resources_describe_are_found_by_where_their_ids_come_from(
    simulated: SimulatedStack,
) -> None:
    simulated.program(FOREIGN)
    simulated.configure({})
    file = simulated.project / "policy.json"
    file.write_text(json.dumps({"drivers": {"imagez": []}}))
    done = simulated.run("preview", *PACK, "--policy-pack-config", str(file))
    said = blamed(done.stdout)
    mandatory = {(rule, resource) for level, rule, resource in said if level == "mandatory"}
    assert {
        ("placement", "workers"),
        ("gpudirect", "workers"),
        ("interface-layout", "workers"),
        ("imdsv2", "workers"),
        ("encrypted-disks", "workers"),
    } <= mandatory
    assert (
        "the rules of the cluster's security group, which workers (p5.48xlarge) has by default" in done.stdout
    )
    # What nobody told it to do: sockets and the gate. All else of it is right.
    assert {rule for rule, resource in mandatory if resource == "right"} == {"socket-names", "preflight-gate"}
    assert not {resource for _, resource in mandatory} & {"bare", "group", "unknown"}
    assert "whom unknown lets in" in done.stdout
    assert "runcmd of odd (p5.48xlarge): it is no list of commands" in done.stdout
    assert "The pack's configuration sets `imagez` of the rule drivers" in done.stdout


def test_the_repositorys_own_stack_passes_the_pack_before_and_after_it_is_there_and_says_what_it_cannot_know(
    simulated: SimulatedStack,
) -> None:
    config = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]
    # Machines of their own: once they are there, the state says of each what EC2 filled in.
    config["gpu-fabric:fabric"]["aws"] |= {"nodes": 2, "nodesAs": "instances"}
    (simulated.project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    for command in ("up", "preview"):
        done = simulated.run(command, *PACK)
        assert done.returncode == 0, done.stdout + done.stderr
        said = blamed(done.stdout)
        assert {level for level, _, _ in said} == {"advisory"}
        assert OF_THE_STACK in {rule for _, rule, _ in said}
        assert "nothing here leads from one cloud to the other" in done.stdout


def test_the_pack_adds_at_most_two_seconds_to_the_repositorys_own_stack() -> None:
    found = policy.measure(1, nothing=False)
    # Of CPU time: what else the machine does is in the time on the clock.
    added = found["gpu-fabric"].cpu - found["none"].cpu
    assert added <= 2, found
