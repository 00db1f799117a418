"""Security groups and their rules, in all three styles the provider has: inline, classic and one resource a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from ..core.values import has_unknown, is_unknown
from . import kinds
from .account import ACCOUNT, arn, new_id, region_of
from .addresses import cidr_problem
from .errors import need

CLASSIC_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS_RULE = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
DEFAULT = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
RULE_KINDS = (CLASSIC_RULE, INGRESS_RULE, EGRESS_RULE)
RULES_PER_GROUP = 60
"""Inbound, and as many outbound (VPC User Guide, amazon-vpc-limits); an account may have more."""


class Permission(NamedTuple):
    """One rule as EC2 counts them: one peer, one range of ports."""

    direction: str
    protocol: str
    from_port: int
    to_port: int
    peer: str

    def __str__(self) -> str:
        """As in EC2's messages: ``peer: 10.0.0.0/8, TCP, from port: 22, to port: 22, ALLOW``."""
        if self.protocol == "-1":
            return f"peer: {self.peer}, ALL, ALLOW"
        return (
            f"peer: {self.peer}, {self.protocol.upper()}, from port: {self.from_port}, "
            f"to port: {self.to_port}, ALLOW"
        )


_NAMES = {"all": "-1", "6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}


def _protocol(value: Any) -> str:
    return _NAMES.get(str(value).lower(), str(value).lower())


def _permissions(
    group_id: str, direction: str, rule: Mapping[str, Any], peers: Iterable[str]
) -> Iterator[Permission]:
    protocol = _protocol(rule.get("protocol", rule.get("ipProtocol", "-1")))
    ports = (0, 0) if protocol == "-1" else (int(rule.get("fromPort", -1)), int(rule.get("toPort", -1)))
    for peer in peers:
        yield Permission(direction, protocol, *ports, peer)


def inline_permissions(
    group_id: str, direction: str, rules: Iterable[Mapping[str, Any]]
) -> Iterator[Permission]:
    """The permissions of inline or classic rules: every peer of every rule is one."""
    for rule in rules:
        peers = [
            *(rule.get("cidrBlocks") or []),
            *(rule.get("ipv6CidrBlocks") or []),
            *(rule.get("prefixListIds") or []),
            *(rule.get("securityGroups") or []),
        ]
        if rule.get("sourceSecurityGroupId"):
            peers.append(rule["sourceSecurityGroupId"])
        if rule.get("self"):
            peers.append(group_id)
        yield from _permissions(group_id, direction, rule, peers)


_SOURCES = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")


def _single_permission(direction: str, rule: Mapping[str, Any]) -> Iterator[Permission]:
    peers = [str(rule[source]) for source in _SOURCES if rule.get(source)]
    yield from _permissions(rule["securityGroupId"], direction, rule, peers)


def _direction(kind: str, rule: Mapping[str, Any]) -> str:
    return {INGRESS_RULE: "ingress", EGRESS_RULE: "egress"}.get(kind) or str(rule["type"])


def permissions(tx: Transaction, group_id: str, without: str = "") -> Iterator[Permission]:
    """Every permission of the group, whatever style it was written in, but that of the rule ``without``."""
    group = tx.need(kinds.SECURITY_GROUP, group_id)
    for direction in ("ingress", "egress"):
        yield from inline_permissions(group_id, direction, group.get(direction) or [])
    for kind in RULE_KINDS:
        for id, rule in tx.find(kind, securityGroupId=group_id):
            if id == without:
                continue
            if kind == CLASSIC_RULE:
                yield from inline_permissions(group_id, rule["type"], [rule])
            else:
                yield from _single_permission(_direction(kind, rule), rule)


def _admit(call: Call, group_id: str, new: list[Permission], existing: Iterable[Permission]) -> None:
    """Refuse what EC2 refuses of new rules: unknown peers, duplicates, too many."""
    present = set(existing)
    for permission in new:
        if permission.peer.startswith("sg-"):
            _need_group(call.tx, permission.peer)
        if permission in present:
            raise Refusal("InvalidPermission.Duplicate", f'the specified rule "{permission}" already exists')
        present.add(permission)
    for direction in ("ingress", "egress"):
        if sum(each.direction == direction for each in present) > RULES_PER_GROUP:
            raise Refusal(
                "RulesPerSecurityGroupLimitExceeded",
                "The maximum number of rules per security group has been reached.",
            )


def _need_group(tx: Transaction, id: str) -> Mapping[str, Any]:
    return need(tx, kinds.SECURITY_GROUP, id, "security group", "InvalidGroup.NotFound")


# The group


def check_group(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_security_group.go, validators of name, description and rule."""
    name = call.inputs.get("name")
    if isinstance(name, str):
        if name.startswith("sg-"):
            yield Problem("name", "invalid value for name (cannot begin with sg-)")
        if len(name) > 255:
            yield Problem("name", f"expected length of name to be in the range (0 - 255), got {name}")
    for direction in ("ingress", "egress"):
        rules = call.inputs.get(direction)
        for index, rule in enumerate(rules if isinstance(rules, list) else []):
            if is_unknown(rule):
                continue
            cidrs = rule.get("cidrBlocks")
            for number, cidr in enumerate(cidrs if isinstance(cidrs, list) else []):
                yield from cidr_problem(cidr, f"{direction}[{index}].cidrBlocks[{number}]")
            ports = (rule.get("fromPort"), rule.get("toPort"))
            if (
                rule.get("protocol") in ("-1", "all")
                and not has_unknown(list(ports))
                and ports not in ((0, 0), (-1, -1))
            ):
                yield Problem(
                    f"{direction}[{index}]",
                    f"from_port ({ports[0]}) and to_port ({ports[1]}) must both be 0 to use the 'ALL' \"-1\" protocol!",
                )


def create_group(call: Call) -> Made:
    tx, inputs, region = call.tx, call.inputs, region_of(call)
    vpc_id = inputs.get("vpcId")
    if vpc_id is None:
        raise Refusal("VPCIdNotSpecified", "No default VPC for this user")
    need(tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    name = inputs.get("name")
    if name is None:
        name = f"{inputs.get('namePrefix', 'terraform-')}{tx.next('name'):026d}"
    for _, other in tx.find(kinds.SECURITY_GROUP, vpcId=vpc_id):
        if other["name"] == name:
            raise Refusal(
                "InvalidGroup.Duplicate", f"The security group '{name}' already exists for VPC '{vpc_id}'"
            )
    id = new_id(tx, "sg")
    # A rule may name its own group, so the group is there before its rules are looked at.
    tx.put(kinds.SECURITY_GROUP, id, {"id": id, "name": name, "vpcId": vpc_id})
    new = [
        permission
        for direction in ("ingress", "egress")
        for permission in inline_permissions(id, direction, inputs.get(direction) or [])
    ]
    _admit(call, id, new, [])
    return Made(
        id,
        {
            "arn": arn("ec2", region, f"security-group/{id}"),
            "name": name,
            "namePrefix": inputs.get("namePrefix", ""),
            "ownerId": ACCOUNT,
            "vpcId": vpc_id,
            "ingress": inputs.get("ingress", []),
            "egress": inputs.get("egress", []),
        },
    )


def read_group(call: Call) -> dict[str, Any] | None:
    return call.tx.get(kinds.SECURITY_GROUP, call.id)


def update_group(call: Call) -> dict[str, Any]:
    given = {name: call.inputs[name] for name in ("ingress", "egress") if call.inputs.get(name) is not None}
    if given:
        before = call.tx.need(kinds.SECURITY_GROUP, call.id)
        call.tx.put(kinds.SECURITY_GROUP, call.id, {**before, **{name: [] for name in given}})
        new = [each for name, rules in given.items() for each in inline_permissions(call.id, name, rules)]
        _admit(call, call.id, new, permissions(call.tx, call.id))
    return given


def delete_group(call: Call) -> None:
    tx = call.tx
    used = any(
        call.id in (groups or [])
        for groups in tx.select(kinds.NETWORK_INTERFACE, "securityGroups", vpcId=call.old.get("vpcId", ""))
    )
    named = any(
        permission.peer == call.id
        for other, _ in tx.find(kinds.SECURITY_GROUP)
        if other != call.id
        for permission in permissions(tx, other)
    )
    if used or named:
        raise Refusal("DependencyViolation", f"resource {call.id} has a dependent object")
    for kind in RULE_KINDS:
        tx.remove_all(kind, securityGroupId=call.id)


_RULE_SETS = frozenset({"ingress", "egress"})

GROUP = ResourceType(
    token=kinds.SECURITY_GROUP,
    title="Security Group",
    service="EC2",
    calls={
        "create": "CreateSecurityGroup",
        "update": "AuthorizeSecurityGroupIngress",
        "delete": "DeleteSecurityGroup",
    },
    doing={"create": "creating Security Group ({id})"},
    create=create_group,
    read=read_group,
    update=update_group,
    delete=delete_group,
    check=check_group,
    autoname="name",
    defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
    filled=frozenset({"namePrefix", "ingress", "egress"}),
    unordered=_RULE_SETS
    | frozenset(f"{name}.{each}" for name in _RULE_SETS for each in ("cidrBlocks", "securityGroups")),
    replaces=frozenset({"description", "name", "namePrefix", "region", "vpcId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_security_group.go at 01606926, ForceNew",
)


# The default group, adopted: the provider takes its rules over


def adopt_default(call: Call) -> Made:
    """Take over the VPC's default group: its rules become the ones given, or none (AWS provider's documentation)."""
    vpc_id = call.inputs.get("vpcId")
    if vpc_id is None:
        raise Refusal("VPCIdNotSpecified", "No default VPC for this user")
    need(call.tx, kinds.VPC, vpc_id, "vpc ID", "InvalidVpcID.NotFound")
    id, group = next(
        (id, each) for id, each in call.tx.find(kinds.SECURITY_GROUP, vpcId=vpc_id) if each.get("isDefault")
    )
    rules = {direction: call.inputs.get(direction) or [] for direction in ("ingress", "egress")}
    call.tx.put(kinds.SECURITY_GROUP, id, {**group, "ingress": [], "egress": []})
    new = [each for direction, given in rules.items() for each in inline_permissions(id, direction, given)]
    _admit(call, id, new, permissions(call.tx, id))
    call.tx.put(kinds.SECURITY_GROUP, id, {**group, **rules})
    return Made(
        id,
        {
            "arn": group["arn"],
            "name": group["name"],
            "namePrefix": "",
            "description": group["description"],
            "ownerId": ACCOUNT,
            "vpcId": vpc_id,
            **rules,
        },
    )


def update_default(call: Call) -> dict[str, Any]:
    rules = {direction: call.inputs.get(direction) or [] for direction in ("ingress", "egress")}
    group = call.tx.get(kinds.SECURITY_GROUP, call.id)
    if group is not None:
        call.tx.put(kinds.SECURITY_GROUP, call.id, {**group, **rules})
    return rules


DEFAULT_GROUP = ResourceType(
    token=DEFAULT,
    title="Default Security Group",
    service="EC2",
    calls={
        "create": "RevokeSecurityGroupEgress",
        "update": "AuthorizeSecurityGroupIngress",
        "delete": "DeleteSecurityGroup",
    },
    create=adopt_default,
    update=update_default,
    # Deleting it only forgets it: the group goes with its VPC.
    defaults={"revokeRulesOnDelete": False},
    unordered=frozenset({"ingress", "egress"}),
    replaces=frozenset({"region", "vpcId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_default_security_group.go at 01f43111, ForceNew",
)


# The classic rule: several peers, one direction


def check_classic(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_security_group_rule.go: AtLeastOneOf, ConflictsWith, StringInSlice."""
    inputs = call.inputs
    peers = ("cidrBlocks", "ipv6CidrBlocks", "prefixListIds", "self", "sourceSecurityGroupId")
    if all(inputs.get(name) is None for name in peers):
        yield Problem(
            "cidrBlocks",
            '"cidr_blocks": one of `cidr_blocks,ipv6_cidr_blocks,prefix_list_ids,self,source_security_group_id` '
            "must be specified",
        )
    for one, other in (
        ("cidrBlocks", "sourceSecurityGroupId"),
        ("cidrBlocks", "self"),
        ("sourceSecurityGroupId", "self"),
    ):
        if inputs.get(one) is not None and inputs.get(other) is not None:
            yield Problem(one, f'"{one}": conflicts with {other}')
    if inputs.get("type") not in ("ingress", "egress") and not is_unknown(inputs.get("type")):
        yield Problem("type", f'expected type to be one of ["egress" "ingress"], got {inputs.get("type")}')
    cidrs = inputs.get("cidrBlocks")
    for number, cidr in enumerate(cidrs if isinstance(cidrs, list) else []):
        yield from cidr_problem(cidr, f"cidrBlocks[{number}]")


def create_classic(call: Call) -> Made:
    group_id = call.inputs["securityGroupId"]
    _need_group(call.tx, group_id)
    new = list(inline_permissions(group_id, call.inputs["type"], [call.inputs]))
    _admit(call, group_id, new, permissions(call.tx, group_id))
    number = call.tx.next("id/sgrule")
    return Made(
        f"sgrule-{2_000_000_000 + number}",
        {
            "securityGroupRuleId": new_id(call.tx, "sgr") if len(new) == 1 else "",
            "sourceSecurityGroupId": call.inputs.get("sourceSecurityGroupId", ""),
        },
    )


CLASSIC = ResourceType(
    token=CLASSIC_RULE,
    title="Security Group Rule",
    service="EC2",
    calls={"create": "AuthorizeSecurityGroupIngress", "delete": "RevokeSecurityGroupIngress"},
    doing={"create": "authorizing Security Group Rule"},
    create=create_classic,
    check=check_classic,
    defaults={"self": False},
    filled=frozenset({"sourceSecurityGroupId"}),
    same={"protocol": lambda one, other: _protocol(one) == _protocol(other)},
    replaces=frozenset(
        {
            "cidrBlocks",
            "fromPort",
            "ipv6CidrBlocks",
            "prefixListIds",
            "protocol",
            "region",
            "securityGroupId",
            "self",
            "sourceSecurityGroupId",
            "toPort",
            "type",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/vpc_security_group_rule.go, ForceNew",
)


# One resource a rule


def check_single(call: Call) -> Iterator[Problem]:
    """terraform-provider-aws vpc_security_group_ingress_rule.go: ExactlyOneOf, Between(-1, 65535)."""
    given = [source for source in _SOURCES if call.inputs.get(source) is not None]
    if len(given) != 1:
        yield Problem(
            given[0] if given else "cidrIpv4",
            "Invalid Attribute Combination: exactly one of these attributes must be configured: "
            "[cidr_ipv4,cidr_ipv6,prefix_list_id,referenced_security_group_id]",
        )
    yield from cidr_problem(call.inputs.get("cidrIpv4"), "cidrIpv4")
    for name in ("fromPort", "toPort"):
        port = call.inputs.get(name)
        if isinstance(port, int) and not -1 <= port <= 65535:
            yield Problem(name, f"Attribute {name} value must be between -1 and 65535, got: {port}")


def create_single(call: Call) -> Made:
    group_id = call.inputs["securityGroupId"]
    _need_group(call.tx, group_id)
    direction = _direction(call.type.token, call.inputs)
    _admit(call, group_id, list(_single_permission(direction, call.inputs)), permissions(call.tx, group_id))
    id = new_id(call.tx, "sgr")
    return Made(
        id, {"arn": arn("ec2", region_of(call), f"security-group-rule/{id}"), "securityGroupRuleId": id}
    )


def update_single(call: Call) -> dict[str, Any]:
    group_id = call.inputs["securityGroupId"]
    direction = _direction(call.type.token, call.inputs)
    new = list(_single_permission(direction, call.inputs))
    _admit(call, group_id, new, permissions(call.tx, group_id, without=call.id))
    return {}


def _other_source(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """A rule can be changed, but not the kind of its peer (ModifyPlan of the same file)."""
    before = [source for source in _SOURCES if old.get(source)]
    after = [source for source in _SOURCES if new.get(source) is not None]
    if before != after:
        yield from (*before, *after)


def _single(token: str, word: str) -> ResourceType:
    return ResourceType(
        token=token,
        title=f"VPC Security Group {word} Rule",
        service="EC2",
        calls={
            "create": f"AuthorizeSecurityGroup{word}",
            "update": "ModifySecurityGroupRules",
            "delete": f"RevokeSecurityGroup{word}",
        },
        create=create_single,
        update=update_single,
        check=check_single,
        same={"ipProtocol": lambda one, other: _protocol(one) == _protocol(other)},
        replaces=frozenset({"securityGroupId", "region"}),
        replaces_when=_other_source,
        replaces_source="terraform-provider-aws service/ec2/vpc_security_group_ingress_rule.go at 00a32209, "
        "RequiresReplace and ModifyPlan",
    )


TYPES = (GROUP, DEFAULT_GROUP, CLASSIC, _single(INGRESS_RULE, "Ingress"), _single(EGRESS_RULE, "Egress"))
