"""Who is let in, and whether EFA gets through: what is unknown, what is spelled in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_fabric.policy.resource import Resource
from gpu_fabric.policy.values import UNKNOWN
from tests.policy.plain import (
    INSTANCE,
    P5,
    SECURITY_GROUP,
    TEMPLATE,
    resource,
    undecided,
    verdicts,
    violations,
)

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
AZURE_GROUP = "azure-native:network:NetworkSecurityGroup"
AZURE_RULE = "azure-native:network/v20230501:SecurityRule"


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("cidrIpv4", "0.0.0.0/0"),
        ("cidrIpv4", "0.0.0.0/1"),
        ("cidrIpv4", "128.0.0.0/1"),
        ("cidrIpv6", "0::/0"),
        ("cidrIpv6", "0:0:0:0:0:0:0:0/0"),
        ("cidrIpv6", "2000::/3"),
    ],
)
def test_the_internet_is_known_however_it_is_written(name: str, block: str) -> None:
    rule = resource(INGRESS, "rule", ipProtocol="-1", **{name: block})
    assert violations("no-open-ingress", rule) == [f"rule lets {block} in on every port."]


@pytest.mark.parametrize("block", ["10.0.0.0/8", "fd00::/8", "203.0.113.0/24"])
def test_a_block_that_somebody_has_is_not_the_internet(block: str) -> None:
    assert verdicts("no-open-ingress", resource(INGRESS, "rule", ipProtocol="-1", cidrIpv4=block)) == []


@pytest.mark.parametrize(
    ("type_", "props"),
    [
        (INGRESS, {"cidrIpv4": UNKNOWN}),
        (INGRESS, {"cidrIpv6": UNKNOWN, "ipProtocol": "tcp", "fromPort": 22, "toPort": 22}),
        (RULE, {"type": "ingress", "cidrBlocks": UNKNOWN}),
        (RULE, {"type": "ingress", "cidrBlocks": [UNKNOWN]}),
        (RULE, {"type": UNKNOWN, "cidrBlocks": ["0.0.0.0/0"]}),
        (SECURITY_GROUP, {"ingress": UNKNOWN}),
        (SECURITY_GROUP, {"ingress": [UNKNOWN]}),
        (SECURITY_GROUP, {"ingress": [{"cidrBlocks": [UNKNOWN]}]}),
        (AZURE_GROUP, {"securityRules": UNKNOWN}),
        (AZURE_RULE, {"direction": "Inbound", "access": "Allow", "sourceAddressPrefix": UNKNOWN}),
        (AZURE_RULE, {"direction": UNKNOWN, "access": "Allow", "sourceAddressPrefix": "*"}),
    ],
)
def test_who_is_let_in_is_undecided_where_the_preview_does_not_know(type_: str, props: dict) -> None:
    assert violations("no-open-ingress", resource(type_, "one", **props)) == []
    assert undecided("no-open-ingress", resource(type_, "one", **props)) == ["whom one lets in"]


@pytest.mark.parametrize("port", [UNKNOWN, [UNKNOWN], {}])
def test_unknown_ports_that_everybody_reaches_are_undecided(port: Any) -> None:
    rule = resource(INGRESS, "rule", ipProtocol="tcp", cidrIpv4="0.0.0.0/0", fromPort=port, toPort=port)
    assert undecided("no-open-ingress", rule) == ["the ports that rule opens"]


@pytest.mark.parametrize(("direction", "access"), [("inbound", "allow"), ("INBOUND", "ALLOW")])
@pytest.mark.parametrize("source", ["*", "Internet", "internet", "0.0.0.0/0", "::/0", "0.0.0.0/1"])
def test_azure_takes_its_words_in_any_case_and_so_does_the_rule(
    direction: str, access: str, source: str
) -> None:
    rule = resource(
        AZURE_RULE,
        "rule",
        direction=direction,
        access=access,
        sourceAddressPrefix=source,
        destinationPortRange="22",
    )
    assert violations("no-open-ingress", rule) == [f"rule lets {source} in on port 22."]
    assert verdicts("no-open-ingress", rule, allowedPorts=[22]) == []


def test_a_range_of_ports_that_no_cloud_has_takes_no_time() -> None:
    rule = resource(
        AZURE_RULE,
        "rule",
        direction="Inbound",
        access="Allow",
        sourceAddressPrefix="*",
        destinationPortRange="1-999999999999",
    )
    assert violations("no-open-ingress", rule, allowedPorts=[1]) == [
        "rule lets * in on port 1 to 999999999999."
    ]


def efa_node(**props: Any) -> Any:
    return resource(TEMPLATE, "node", refs={"vpcSecurityGroupIds": "own"}, instanceType=P5, **props)


NODE = efa_node(vpcSecurityGroupIds=[UNKNOWN])


def own_rule(type_: str, name: str, **props: Any) -> Any:
    return resource(
        type_,
        name,
        refs={"securityGroupId": "own", "referencedSecurityGroupId": "own"},
        securityGroupId=UNKNOWN,
        referencedSecurityGroupId=UNKNOWN,
        **props,
    )


@pytest.mark.parametrize(
    ("protocol", "said"), [("-1", []), (UNKNOWN, ["the rules of the security groups of node"])]
)
def test_a_rule_whose_protocol_is_unknown_is_neither_there_nor_missing(
    protocol: Any, said: list[str]
) -> None:
    group = resource(SECURITY_GROUP, "own")
    rules = [own_rule(INGRESS, "in", ipProtocol=protocol), own_rule(EGRESS, "out", ipProtocol="-1")]
    assert violations("efa-self-rules", group, NODE, *rules) == []
    assert [
        what[: len("the rules of the security groups of node")]
        for what in undecided("efa-self-rules", group, NODE, *rules)
    ] == said


def test_inline_rules_that_are_not_known_are_undecided_and_missing_ones_a_violation() -> None:
    for unknown in (UNKNOWN, [UNKNOWN], [{"protocol": "-1", "self": UNKNOWN}]):
        group = resource(SECURITY_GROUP, "own", ingress=unknown, egress=[{"protocol": "-1", "self": True}])
        assert violations("efa-self-rules", group, NODE) == []
        assert undecided("efa-self-rules", group, NODE) == [
            f"the rules of the security groups of node ({P5})"
        ]
    bare = resource(SECURITY_GROUP, "own", ingress=[], egress=[{"protocol": "-1", "self": True}])
    (message,) = violations("efa-self-rules", bare, NODE)
    assert "it has no ingress rule for all protocols" in message


def test_a_second_group_outside_the_stack_may_have_the_rules() -> None:
    bare = resource(SECURITY_GROUP, "own")
    node = efa_node(vpcSecurityGroupIds=[UNKNOWN, "sg-0123456789abcdef0"])
    assert violations("efa-self-rules", bare, node) == []
    assert undecided("efa-self-rules", bare, node) == [
        f"the rules of the security groups of node ({P5}): they are not in this stack, or not known yet"
    ]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"httpTokens": "required"}, (0, 0)),
        ({"httpEndpoint": "disabled"}, (0, 0)),
        ({"httpTokens": "optional"}, (1, 0)),
        ({}, (1, 0)),
        ({"httpTokens": UNKNOWN}, (0, 1)),
        ({"httpTokens": "optional", "httpEndpoint": UNKNOWN}, (0, 1)),
        (UNKNOWN, (0, 1)),
    ],
)
def test_metadata_without_a_token_is_refused_and_what_is_unknown_is_said(
    options: Any, found: tuple[int, int]
) -> None:
    node = resource(TEMPLATE, "node", instanceType=P5, metadataOptions=options)
    assert (len(violations("imdsv2", node)), len(undecided("imdsv2", node))) == found


@pytest.mark.parametrize(
    ("disks", "found"),
    [
        ([{"ebs": {"encrypted": "true"}}], (0, 0)),
        ([{"ebs": {"encrypted": UNKNOWN}}], (0, 1)),
        ([UNKNOWN], (0, 1)),
        (UNKNOWN, (0, 1)),
        ([{"ebs": {"encrypted": UNKNOWN}}, {"ebs": {}}], (1, 0)),
        ([{"virtualName": "ephemeral0"}], (1, 0)),
        ([], (1, 0)),
    ],
)
def test_disks_that_are_not_said_to_be_encrypted_are_refused_and_unknown_ones_said(
    disks: Any, found: tuple[int, int]
) -> None:
    node = resource(TEMPLATE, "node", instanceType=P5, blockDeviceMappings=disks)
    assert (len(violations("encrypted-disks", node)), len(undecided("encrypted-disks", node))) == found


def disk(name: str, *, encrypted: bool = True) -> dict[str, Any]:
    return {"deviceName": name, "encrypted": encrypted}


def mapped(name: str, *, encrypted: str = "true") -> dict[str, Any]:
    return {"deviceName": name, "ebs": {"encrypted": encrypted}}


NOT_ALL = "does not say that its root disk, of its disks, is encrypted."


def test_the_root_disk_is_asked_where_only_data_disks_are_named() -> None:
    machine = resource(INSTANCE, "machine", instanceType=P5, ebsBlockDevices=[disk("/dev/sdb")])
    assert violations("encrypted-disks", machine) == [f"machine ({P5}) {NOT_ALL}"]
    template = resource(TEMPLATE, "node", instanceType=P5, blockDeviceMappings=[mapped("/dev/xvdb")])
    assert violations("encrypted-disks", template) == [f"node ({P5}) {NOT_ALL}"]
    whole = [mapped("/dev/xvdb"), mapped("/dev/xvda")]
    assert (
        verdicts("encrypted-disks", resource(TEMPLATE, "n", instanceType=P5, blockDeviceMappings=whole)) == []
    )


def test_disks_of_a_machine_and_of_its_template_are_all_asked_and_of_one_name_the_machines() -> None:
    machine = resource(
        INSTANCE, "machine", launchTemplate={"id": "lt-1"}, rootBlockDevice={"encrypted": True}
    )

    def template(*disks: dict[str, Any]) -> Resource:
        return resource(TEMPLATE, "node", id_="lt-1", instanceType=P5, blockDeviceMappings=[*disks])

    two = [template(mapped("/dev/sda1"), mapped("/dev/sdb", encrypted="false")), machine]
    assert violations("encrypted-disks", *two)[-1] == (
        f"machine ({P5}) does not say that /dev/sdb, of its disks, is encrypted."
    )
    overridden = [template(mapped("/dev/sda1", encrypted="false")), machine]
    assert violations("encrypted-disks", *overridden) == [
        f"node ({P5}) does not say that its disks are encrypted."
    ], "the machine itself has its root disk encrypted"


def efa_interfaces(*groups: Any) -> list[dict[str, Any]]:
    """One interface a card, each with the groups that are named for it."""
    return [
        {
            "networkCardIndex": card,
            "deviceIndex": min(card, 1),
            "interfaceType": "efa",
            **({"securityGroups": given} if given else {}),
        }
        for card, given in enumerate(groups)
    ]


SELF = {"protocol": "-1", "self": True}
FABRIC = resource(SECURITY_GROUP, "fabric", id_="sg-1", ingress=[SELF], egress=[SELF])
BARE_GROUP = resource(SECURITY_GROUP, "bare", id_="sg-2")


def p4d(*groups: Any, **more: Any) -> Resource:
    return resource(
        TEMPLATE, "node", instanceType="p4d.24xlarge", networkInterfaces=efa_interfaces(*groups), **more
    )


def test_every_efa_interface_is_asked_for_its_own_groups() -> None:
    groups = (FABRIC, BARE_GROUP)
    assert verdicts("efa-self-rules", p4d(["sg-1"], ["sg-1"], ["sg-1"], ["sg-1", "sg-2"]), *groups) == []
    (found,) = violations("efa-self-rules", p4d(["sg-1"], ["sg-2"], ["sg-2"], ["sg-2"]), *groups)
    assert found.startswith("bare, the security group of node (p4d.24xlarge), lets no EFA traffic through")
    assert violations("efa-self-rules", p4d(["sg-1"], None, None, None), *groups) == [
        "node (p4d.24xlarge) has an EFA interface without a security group: EFA traffic does not pass the VPC's "
        "default one."
    ]


def test_groups_that_a_preview_does_not_know_are_told_apart_only_where_they_can_be() -> None:
    groups = (replace(FABRIC, id=None), replace(BARE_GROUP, id=None))
    references = {"networkInterfaces": ("urn:fabric", "urn:bare")}
    both = replace(p4d(*[[UNKNOWN, UNKNOWN]] * 4), references=references)
    assert verdicts("efa-self-rules", both, *groups) == []
    one_each = replace(p4d(*[[UNKNOWN]] * 4), references=references)
    assert violations("efa-self-rules", one_each, *groups) == []
    assert set(undecided("efa-self-rules", one_each, *groups)) == {
        "the rules of the security groups of node (p4d.24xlarge): they are not in this stack, or not known yet"
    }


@pytest.mark.parametrize("protocol", ["icmp", "icmpv6", "1", "58"])
def test_icmp_has_types_and_no_ports(protocol: str) -> None:
    rule = resource(INGRESS, "rule", ipProtocol=protocol, fromPort=3, toPort=4, cidrIpv4="0.0.0.0/0")
    assert violations("no-open-ingress", rule) == ["rule lets 0.0.0.0/0 in by ICMP."]
    assert violations("no-open-ingress", rule, allowedPorts=[3, 4]) == ["rule lets 0.0.0.0/0 in by ICMP."]
    assert verdicts("no-open-ingress", rule, allowIcmp=True) == []
    tcp = resource(INGRESS, "rule", ipProtocol="tcp", fromPort=3, toPort=4, cidrIpv4="0.0.0.0/0")
    assert len(violations("no-open-ingress", tcp, allowIcmp=True)) == 1


def test_icmp_of_azure_has_no_ports_either() -> None:
    rule = resource(
        AZURE_RULE,
        "rule",
        direction="Inbound",
        access="Allow",
        protocol="Icmp",
        sourceAddressPrefix="*",
        destinationPortRange="*",
    )
    assert violations("no-open-ingress", rule) == ["rule lets * in by ICMP."]
    assert verdicts("no-open-ingress", rule, allowIcmp=True) == []
