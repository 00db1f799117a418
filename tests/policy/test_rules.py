"""Each rule against its program that fails and its program that passes, and what a preview does not know."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from gpu_fabric.nccl.bootstrap import CrossCloudRoutes, Setup, cloud_config, user_data
from gpu_fabric.nccl.environment import environment
from gpu_fabric.policy.pack import RULES
from tests.policy.verdicts import PROGRAMS, ask, run

NAMES = [rule.name for rule in RULES]


def test_every_rule_has_a_program_that_fails_and_one_that_passes_and_no_other_program_lies_there() -> None:
    there = {path.name for path in PROGRAMS.glob("*.py")}
    assert there == {f"{name}.{kind}.py" for name in NAMES for kind in ("fails", "passes")}


@pytest.mark.parametrize("name", NAMES)
def test_the_program_that_fails_is_told_what_is_wrong_what_to_do_and_where_to_read_on(
    name: str, snapshot: object
) -> None:
    found = ask(name, run(PROGRAMS / f"{name}.fails.py").custom)
    assert found.violations, "the rule says nothing"
    for message in found.violations:
        assert "\nDo: " in message
        assert message.endswith(f"\nSee docs/policy.md#{name}")
    assert found.violations == snapshot


@pytest.mark.parametrize("name", NAMES)
def test_the_program_that_passes_passes_without_doubt(name: str) -> None:
    found = ask(name, run(PROGRAMS / f"{name}.passes.py").custom)
    assert found.violations == []
    assert found.unknown == []


def program(tmp_path: Path, text: str) -> list:
    file = tmp_path / "program.py"
    file.write_text(text)
    return run(file).custom


NODE = "import pulumi_aws as aws\naws.ec2.LaunchTemplate('node', instance_type='p5.48xlarge', {})\n"


@pytest.mark.parametrize("nodes_as", ["fleet", "instances"])
def test_our_own_clusters_pass_every_mandatory_rule(nodes_as: str) -> None:
    from pulumi_policy import EnforcementLevel

    from tests.components.recorder import record_azure_cluster, record_cluster

    common = {"nodes": 4, "nodes_as": nodes_as}
    aws = record_cluster({"zone": "us-east-1a", "instance_type": "p5.48xlarge", **common}).custom
    azure = record_azure_cluster({"vm_size": "Standard_ND96isr_H100_v5", **common}).custom
    for rule in RULES:
        for resources in (aws, azure):
            found = ask(rule.name, resources)
            if rule.level is EnforcementLevel.MANDATORY:
                assert found.violations == [], rule.name
                assert found.unknown == [], rule.name


@pytest.mark.parametrize(
    ("rule", "hide", "reason"),
    [
        ("gpudirect", "userData", "the user data of gpudirect-node (p5.48xlarge)"),
        ("socket-names", "userData", "the user data of socket-names-node (p5.48xlarge)"),
        ("preflight-gate", "userData", "the user data of preflight-gate-node (p5.48xlarge)"),
        ("drivers", "imageId", "the image of drivers-node (p5.48xlarge)"),
        ("drivers", "instanceType", "the size of drivers-node"),
        ("encrypted-disks", "encrypted", "the disks of encrypted-disks-node (p5.48xlarge)"),
        ("imdsv2", "metadataOptions", "the metadata options of imdsv2-node (p5.48xlarge)"),
        ("interface-layout", "networkInterfaces", "the interfaces of interface-layout-node (p4d.24xlarge)"),
        ("rdma-network-free", "addressSpace", "the address block of rdma-network-free-network"),
        ("route-isolation", "mtu", "the MTU of route-isolation-interface"),
        (
            "no-public-address",
            "associatePublicIpAddress",
            "whether no-public-address-node (p5.48xlarge) has a",
        ),
    ],
)
def test_what_a_preview_does_not_know_is_said_to_be_unknown_and_neither_passes_nor_fails(
    rule: str, hide: str, reason: str
) -> None:
    found = ask(rule, run(PROGRAMS / f"{rule}.passes.py").custom, hide=(hide,))
    assert found.violations == []
    assert len(found.unknown) == 1
    assert found.unknown[0].startswith("unknown, so not passed: ")
    assert reason in found.unknown[0]


def test_an_ami_id_says_nothing_about_its_drivers_until_the_user_does(tmp_path: Path) -> None:
    node = program(tmp_path, NODE.replace("{}", "image_id='ami-0123456789abcdef0'"))
    found = ask("drivers", node)
    assert found.violations == []
    assert (
        "whether ami-0123456789abcdef0, the image of node (p5.48xlarge), carries the drivers"
        in found.unknown[0]
    )
    told = ask("drivers", node, {"images": ["ami-0123456789abcdef0"]})
    assert (told.violations, told.unknown) == ([], [])


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        ("gpudirect", {"ignore": ["env-gdr-off", "env-forces-sockets"]}),
        ("preflight-gate", {"markers": ["slurmd"]}),
        ("no-open-ingress", {"allowedPorts": [22]}),
        ("encrypted-disks", {"accountEncryptsByDefault": True}),
        ("route-isolation", {"separateClouds": True}),
        ("drivers", {"images": ["resolve:ssm:/aws/service/canonical/*"]}),
    ],
)
def test_a_parameter_makes_the_program_that_fails_pass(rule: str, parameters: dict) -> None:
    assert ask(rule, run(PROGRAMS / f"{rule}.fails.py").custom, parameters).violations == []


@pytest.mark.parametrize(
    "command",
    [
        "systemctl start --wait gpu-fabric-ready.service && systemctl start slurmd",
        "gpu-fabric-preflight node && systemctl start slurmd",
        "gpu-fabric preflight node && systemctl start slurmd",
        "NCCL_TESTS_MIN_BW=300 all_reduce_perf && systemctl start slurmd",
    ],
)
def test_each_gate_of_ours_is_known_by_its_name(tmp_path: Path, command: str) -> None:
    script = base64.b64encode(f"#!/bin/bash\n{command}\n".encode()).decode()
    node = program(tmp_path, NODE.replace("{}", f"user_data='{script}'"))
    assert ask("preflight-gate", node).violations == []


@pytest.mark.parametrize(
    ("rule", "parameters", "what"),
    [
        ("placement", {"requireProximityGroup": True}, "is in no proximity placement group"),
        ("encrypted-disks", {"requireEncryptionAtHost": True}, "does not encrypt temporary disk"),
    ],
)
def test_a_parameter_asks_for_more(rule: str, parameters: dict, what: str) -> None:
    resources = run(PROGRAMS / "image-pinned.passes.py").custom
    assert ask(rule, resources).violations == []
    (message,) = ask(rule, resources, parameters).violations
    assert what in message


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ("orchestration_mode='Flexible'", "in Flexible mode, whose machines share no InfiniBand network"),
        ("single_placement_group=False", "has singlePlacementGroup false"),
    ],
)
def test_a_scale_set_that_shares_no_infiniband_is_refused(tmp_path: Path, changes: str, what: str) -> None:
    settings = {"orchestration_mode": "'Uniform'", "single_placement_group": "True"}
    name, value = changes.split("=")
    arguments = ", ".join(f"{key}={text}" for key, text in {**settings, name: value}.items())
    found = ask(
        "placement",
        program(
            tmp_path,
            "from pulumi_azure_native import compute\n"
            "compute.VirtualMachineScaleSet('fleet', resource_group_name='g', "
            f"sku={{'name': 'Standard_ND96isr_H100_v5', 'capacity': 2}}, {arguments})\n",
        ),
    )
    assert what in found.violations[0]


def test_a_spread_placement_group_is_no_cluster(tmp_path: Path) -> None:
    text = (PROGRAMS / "placement.passes.py").read_text().replace('strategy="cluster"', 'strategy="spread"')
    (message,) = ask("placement", program(tmp_path, text)).violations
    assert "is in the placement group placement-group with strategy `spread`" in message


def test_a_capacity_block_needs_no_placement_group(tmp_path: Path) -> None:
    block = NODE.replace("{}", "instance_market_options={'market_type': 'capacity-block'}")
    assert ask("placement", program(tmp_path, block)).violations == []


def test_a_size_without_a_fast_fabric_is_no_business_of_the_pack(tmp_path: Path) -> None:
    web = program(
        tmp_path, "import pulumi_aws as aws\naws.ec2.LaunchTemplate('web', instance_type='t3.micro')\n"
    )
    for rule in RULES:
        found = ask(rule.name, web)
        assert (found.violations, found.unknown) == ([], []), rule.name


def two_clouds(tmp_path: Path, more: str = "", user_data: str = "") -> list:
    text = (PROGRAMS / "route-isolation.fails.py").read_text().partition("connection = ")[0] + more
    given = f", user_data={user_data!r}" if user_data else ""
    return program(
        tmp_path, text.replace('instance_type="p5.48xlarge"', f'instance_type="p5.48xlarge"{given}')
    )


def test_two_clouds_without_a_way_between_them_are_neither_passed_nor_refused(tmp_path: Path) -> None:
    found = ask("route-isolation", two_clouds(tmp_path))
    assert found.violations == []
    assert found.unknown == [
        "unknown, so not passed: whether the nodes of the two clouds train together: nothing here leads from one cloud "
        "to the other. Where they do, declare the circuit; where they never do, set the rule's parameter "
        "`separateClouds`"
    ]
    assert ask("route-isolation", two_clouds(tmp_path), {"separateClouds": True}).unknown == []


NO_CIRCUIT = "The stack has GPU nodes on both clouds and no AWS Direct Connect and no Azure ExpressRoute."


def test_a_pack_can_demand_a_circuit_of_every_stack_with_two_clouds(tmp_path: Path) -> None:
    (message,) = ask("route-isolation", two_clouds(tmp_path), {"requireCircuit": True}).violations
    assert message.splitlines()[0] == NO_CIRCUIT


def test_a_vpn_or_routes_in_a_nodes_start_up_data_say_that_the_clouds_are_joined(tmp_path: Path) -> None:
    tunnel = "aws.ec2.VpnConnection('tunnel', customer_gateway_id='cgw-1', type='ipsec.1')\n"
    assert [
        message.splitlines()[0] for message in ask("route-isolation", two_clouds(tmp_path, tunnel)).violations
    ] == [
        NO_CIRCUIT,
        "tunnel is a VPN over the internet beside the circuit.",
    ]
    routes = CrossCloudRoutes(("10.200.0.0/16",), bandwidth_mbps=10_000, rtt_ms=2)
    config = cloud_config("p5.48xlarge", environment=environment("p5.48xlarge"), setup=Setup(routes=routes))
    joined = two_clouds(tmp_path, user_data=base64.b64encode(user_data(config)).decode())
    (message,) = ask("route-isolation", joined).violations
    assert message.splitlines()[0] == NO_CIRCUIT


def test_jumbo_frames_on_the_circuit_a_vpn_and_an_overlap_are_each_named(tmp_path: Path) -> None:
    text = (PROGRAMS / "route-isolation.passes.py").read_text().replace("mtu=1500", "mtu=8500") + (
        "vpc = aws.ec2.Vpc('here', cidr_block='10.200.0.0/17')\n"
        "network.VirtualNetwork('there', resource_group_name='training', "
        "address_space={'address_prefixes': ['10.200.0.0/16', '10.201.0.0/16']})\n"
        "gateway = aws.ec2.InternetGateway('internet', vpc_id=vpc.id)\n"
        "aws.ec2.Route('leak', route_table_id='rtb-1', destination_cidr_block='10.201.0.0/16', "
        "gateway_id=gateway.id)\n"
        "aws.ec2.Route('default', route_table_id='rtb-1', destination_cidr_block='0.0.0.0/0', "
        "gateway_id=gateway.id)\n"
        "aws.ec2.VpnConnection('tunnel', customer_gateway_id='cgw-1', type='ipsec.1')\n"
    )
    found = [
        message.splitlines()[0] for message in ask("route-isolation", program(tmp_path, text)).violations
    ]
    assert found == [
        "route-isolation-interface has an MTU of 8500, and ExpressRoute carries 1500: large packets vanish between the "
        "clouds and bulk transfers hang.",
        "tunnel is a VPN over the internet beside the circuit.",
        "leak sends 10.201.0.0/16, which is the other cloud's 10.201.0.0/16, to the internet.",
        "here on AWS has 10.200.0.0/17 and there on Azure 10.200.0.0/16: no route can tell them apart.",
    ]


@pytest.mark.parametrize(
    ("layout", "what"),
    [
        ("[{'network_card_index': 32, 'interface_type': 'efa'}]", "card 32, and the size has cards 0 to 31"),
        ("[{'interface_type': 'efa-only'}]", "no interface with an address on card 0 device 0"),
        ("[{'interface_type': 'efa'}]", "has 1 of 32 EFA interfaces"),
        ("[]", "has no EFA interface"),
        ("[{'interface_type': 'efa'}, {'interface_type': 'interface'}]", "2 on card 0 device 0"),
    ],
)
def test_a_layout_that_the_size_does_not_have_is_refused(tmp_path: Path, layout: str, what: str) -> None:
    node = program(tmp_path, NODE.replace("{}", f"network_interfaces={layout}"))
    (message,) = ask("interface-layout", node).violations
    assert what in message


@pytest.mark.parametrize(
    ("rule", "opened"),
    [
        (
            "{'protocol': '-1', 'from_port': 0, 'to_port': 0, 'cidr_blocks': ['0.0.0.0/0']}",
            "lets 0.0.0.0/0 in on every",
        ),
        (
            "{'protocol': 'tcp', 'from_port': 1, 'to_port': 9, 'ipv6_cidr_blocks': ['::/0']}",
            "in on port 1 to 9",
        ),
    ],
)
def test_inline_rules_of_a_security_group_are_read_too(tmp_path: Path, rule: str, opened: str) -> None:
    text = f"import pulumi_aws as aws\naws.ec2.SecurityGroup('open', ingress=[{rule}])\n"
    (message,) = ask("no-open-ingress", program(tmp_path, text)).violations
    assert opened in message


def test_an_azure_rule_that_lets_everybody_in_is_refused_and_one_that_denies_is_not(tmp_path: Path) -> None:
    text = (
        "from pulumi_azure_native import network\n"
        "common = {'protocol': 'Tcp', 'source_port_range': '*', 'destination_address_prefix': '*', "
        "'source_address_prefix': '*', 'direction': 'Inbound', 'destination_port_range': '22'}\n"
        "network.NetworkSecurityGroup('g', resource_group_name='r', security_rules=[\n"
        "  {**common, 'name': 'ssh', 'priority': 100, 'access': 'Allow'},\n"
        "  {**common, 'name': 'rest', 'priority': 200, 'access': 'Deny'}])\n"
    )
    (message,) = ask("no-open-ingress", program(tmp_path, text)).violations
    assert message.startswith("g lets * in on port 22.")


def test_the_old_kinds_of_security_group_rules_are_read_too(tmp_path: Path) -> None:
    text = (
        "import pulumi_aws as aws\n"
        "group = aws.ec2.SecurityGroup('own', ingress=[{'protocol': '-1', 'from_port': 0, 'to_port': 0, "
        "'self': True}])\n"
        "aws.ec2.SecurityGroupRule('out', type='egress', protocol='-1', from_port=0, to_port=0, "
        "security_group_id=group.id, source_security_group_id=group.id)\n"
    ) + NODE.replace("{}", "vpc_security_group_ids=[group.id]").removeprefix("import pulumi_aws as aws\n")
    assert ask("efa-self-rules", program(tmp_path, text)).violations == []


def test_the_rules_of_a_group_outside_the_stack_are_unknown(tmp_path: Path) -> None:
    node = program(tmp_path, NODE.replace("{}", "vpc_security_group_ids=['sg-0123456789abcdef0']"))
    found = ask("efa-self-rules", node)
    assert found.violations == []
    assert "they are not in this stack" in found.unknown[0]
