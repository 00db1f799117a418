"""Security groups, instance metadata and disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.policy.nodes import LAUNCH_TEMPLATE, Node, UnknownSize, node_of, nodes_in, unversioned
from gpu_fabric.policy.rule import Parameters, Resource, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, items, look, truth

SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
#: Type → direction.
_VPC_RULES = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "ingress",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "egress",
}
_ANYWHERE = ("0.0.0.0/0", "::/0")
_AZURE_ANYWHERE = ("*", "internet", "any", *_ANYWHERE)


def _efa_self(resources: list[Resource], parameters: Parameters) -> Verdicts:
    del parameters
    groups = {each.urn: each for each in resources if each.type == SECURITY_GROUP}
    by_id = {each.id: urn for urn, each in groups.items() if each.id}
    asked: dict[str, list[str]] = {}
    for node in nodes_in(resources):
        if node.cloud is not Cloud.AWS:
            continue
        here = {urn for urn in _group_urns(node, by_id) if urn in groups}
        if here:
            if not any(_missing(groups[urn], resources) == [] for urn in here):
                for urn in sorted(here):
                    asked.setdefault(urn, []).append(node.called)
        elif _named_groups(node):
            yield Undecided(f"the rules of the security groups of {node.called}: they are not in this stack")
        else:
            yield Violation(
                f"{node.called} names no security group: EFA traffic does not pass a VPC's default rules for others.",
                "give it a group with ingress and egress that name the group itself.",
                node.urn,
            )
    for urn, names in asked.items():
        missing = _missing(groups[urn], resources)
        yield Violation(
            f"{groups[urn].name}, the security group of {', '.join(names)}, lets no EFA traffic through: it has no "
            f"{' and no '.join(missing)} rule for all protocols that names the group itself. A rule by address block "
            "does not match EFA.",
            'add both, with ip_protocol "-1" and the group\'s own id as referenced group.',
            urn,
        )


def _named_groups(node: Node) -> bool:
    props = node.resource.props
    given = [look(props, "vpcSecurityGroupIds"), *(look(each, "securityGroups") for each in node.interfaces)]
    return any(value is UNKNOWN or items(value) for value in given)


def _group_urns(node: Node, by_id: Mapping[str, str]) -> Iterator[str]:
    for name in ("networkInterfaces", "vpcSecurityGroupIds"):
        yield from node.resource.references.get(name, ())
    props = node.resource.props
    for value in (
        look(props, "vpcSecurityGroupIds"),
        *(look(one, "securityGroups") for one in node.interfaces),
    ):
        yield from (by_id[each] for each in items(value) if isinstance(each, str) and each in by_id)


def _missing(group: Resource, resources: list[Resource]) -> list[str]:
    """Directions without a rule for all protocols that names the group itself."""
    there = set()
    for direction in ("ingress", "egress"):
        for rule in items(look(group.props, direction)):
            if _all_protocols(look(rule, "protocol")) and truth(look(rule, "self")) is True:
                there.add(direction)
    for rule in resources:
        if rule.type in _VPC_RULES:
            direction, protocol = _VPC_RULES[rule.type], look(rule.props, "ipProtocol")
            own = _is(rule, "securityGroupId", group) and _is(rule, "referencedSecurityGroupId", group)
        elif rule.type == _RULE:
            direction, protocol = look(rule.props, "type"), look(rule.props, "protocol")
            own = _is(rule, "securityGroupId", group) and (
                truth(look(rule.props, "self")) is True or _is(rule, "sourceSecurityGroupId", group)
            )
        else:
            continue
        if own and _all_protocols(protocol):
            there.add(direction)
    return [direction for direction in ("ingress", "egress") if direction not in there]


def _is(rule: Resource, name: str, group: Resource) -> bool:
    if group.urn in rule.references.get(name, ()):
        return True
    return group.id is not None and look(rule.props, name) == group.id


def _all_protocols(value: Any) -> bool:
    return value is UNKNOWN or str(value).lower() in ("-1", "all")


def _open(resource: Resource, parameters: Parameters) -> Verdicts:
    allowed = {int(port) for port in parameters["allowedPorts"]}
    for where, ports in _opened(resource):
        if ports is UNKNOWN:
            yield Undecided(f"the ports that {resource.name} opens")
        elif ports is None or not set(ports) <= allowed:
            yield Violation(
                f"{resource.name} lets {where} in"
                + (" on every port." if ports is None else f" on port {_ports(ports)}."),
                "name the addresses that need it, or the port in the rule's parameter `allowedPorts`.",
            )


def _ports(ports: Any) -> str:
    return str(ports[0]) if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"


def _opened(resource: Resource) -> Iterator[tuple[str, Any]]:
    """(who comes in, ports) for each rule of the resource that lets everybody in; ports None for all of them."""
    type_, props = unversioned(resource.type), resource.props
    rules: list[Any] = []
    if type_ == SECURITY_GROUP or type_ == "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup":
        rules = items(look(props, "ingress"))
    elif _VPC_RULES.get(type_) == "ingress" or (type_ == _RULE and look(props, "type") == "ingress"):
        rules = [props]
    for rule in rules:
        given = [look(rule, "cidrIpv4"), look(rule, "cidrIpv6")]
        given += [*items(look(rule, "cidrBlocks")), *items(look(rule, "ipv6CidrBlocks"))]
        for block in given:
            if block in _ANYWHERE:
                protocol = look(rule, "protocol") or look(rule, "ipProtocol")
                ports = (
                    None if _all_protocols(protocol) else _range(look(rule, "fromPort"), look(rule, "toPort"))
                )
                yield str(block), ports
    if type_ == "azure-native:network:NetworkSecurityGroup":
        rules = items(look(props, "securityRules"))
    elif type_ == "azure-native:network:SecurityRule":
        rules = [props]
    else:
        return
    for rule in rules:
        inbound = look(rule, "direction") == "Inbound" and look(rule, "access") == "Allow"
        sources = [look(rule, "sourceAddressPrefix"), *items(look(rule, "sourceAddressPrefixes"))]
        open_to = [each for each in sources if isinstance(each, str) and each.lower() in _AZURE_ANYWHERE]
        if inbound and open_to:
            yield open_to[0], _azure_ports(rule)


def _range(start: Any, end: Any) -> Any:
    if UNKNOWN in (start, end):
        return UNKNOWN
    if start is None or end is None or (int(start), int(end)) in ((0, 65535), (-1, -1)):
        return None
    return range(int(start), int(end) + 1)


def _azure_ports(rule: Any) -> Any:
    given = [look(rule, "destinationPortRange"), *items(look(rule, "destinationPortRanges"))]
    ports: list[int] = []
    for each in given:
        if each is UNKNOWN:
            return UNKNOWN
        if each == "*":
            return None
        if each:
            start, _, end = str(each).partition("-")
            ports += range(int(start), int(end or start) + 1)
    return ports or None


def _aws_node(resource: Resource) -> Node | None:
    node = node_of(resource)
    return node if isinstance(node, Node) and node.cloud is Cloud.AWS else None


def _imdsv2(resource: Resource, parameters: Parameters) -> Verdicts:
    del parameters
    node = _aws_node(resource)
    if node is None:
        return
    tokens = look(resource.props, "metadataOptions", "httpTokens")
    if tokens is UNKNOWN:
        yield Undecided(f"the metadata options of {node.called}")
    elif tokens != "required" and look(resource.props, "metadataOptions", "httpEndpoint") != "disabled":
        yield Violation(
            f"{node.called} answers metadata requests without a token (IMDSv1).",
            'set metadata_options.http_tokens to "required".',
        )


def _disks(resource: Resource, parameters: Parameters) -> Verdicts:
    node = node_of(resource)
    if isinstance(node, UnknownSize):
        yield Undecided(f"the size of {resource.name}")
        return
    if node is None:
        return
    if node.cloud is Cloud.AZURE:
        host = look(node.profile, "securityProfile", "encryptionAtHost")
        if parameters["requireEncryptionAtHost"] and host is not True:
            yield (
                Undecided(f"encryption at host of {node.called}")
                if host is UNKNOWN
                else Violation(
                    f"{node.called} does not encrypt temporary disk and caches at its host.",
                    "set securityProfile.encryptionAtHost, or requireEncryptionAtHost to false.",
                )
            )
        return
    if parameters["accountEncryptsByDefault"]:
        return
    props = resource.props
    if node.type == LAUNCH_TEMPLATE:
        disks = [look(each, "ebs") for each in items(look(props, "blockDeviceMappings"))]
    else:
        disks = [look(props, "rootBlockDevice"), *items(look(props, "ebsBlockDevices"))]
    answers = [truth(look(disk, "encrypted")) for disk in disks if disk is not None]
    if not answers or False in answers:
        yield Violation(
            f"{node.called} does not say that its disks are encrypted.",
            "set `encrypted` on every EBS disk, or the rule's parameter `accountEncryptsByDefault` where the account "
            "encrypts new volumes by itself.",
        )
    elif UNKNOWN in answers:
        yield Undecided(f"the disks of {node.called}")


RULES = (
    Rule(
        name="efa-self-rules",
        summary="The security group of EFA nodes lets all traffic in from itself and out to itself, by its id.",
        why="EFA traffic is not IP, so a rule by address block does not match it. Without both rules the nodes reach "
        "each other over TCP, and NCCL over EFA hangs.",
        source="EC2 User Guide, efa-start.html; awslabs/awsome-distributed-training#546",
        check_stack=_efa_self,
    ),
    Rule(
        name="no-open-ingress",
        summary="Nothing lets the whole internet in.",
        why="Tried on every group of the program, not only the nodes' own: nodes trust whatever is in their network.",
        source="EC2 User Guide, security-group-rules-reference.html; azure-docs, network-security-groups-overview.md",
        check=_open,
        parameters={
            "allowedPorts": {
                "type": "array",
                "items": {"type": "integer"},
                "default": [],
                "description": "Ports that may be open to everybody.",
            }
        },
    ),
    Rule(
        name="imdsv2",
        summary="GPU nodes answer metadata requests with a token only.",
        why="Without a token, whatever makes a node send one GET request reads its credentials.",
        source="EC2 User Guide, configuring-instance-metadata-service.html",
        check=_imdsv2,
    ),
    Rule(
        name="encrypted-disks",
        summary="The disks of GPU nodes are encrypted.",
        why="Checkpoints and data lie on them. Azure encrypts managed disks always; encryption at host covers the "
        "temporary disk and caches too and is asked for by choice.",
        source="EBS User Guide, ebs-encryption.html; virtual-machines/disk-encryption-overview.md",
        check=_disks,
        parameters={
            "accountEncryptsByDefault": {
                "type": "boolean",
                "default": False,
                "description": "The AWS account encrypts new volumes by default.",
            },
            "requireEncryptionAtHost": {
                "type": "boolean",
                "default": False,
                "description": "Ask for encryption at host on Azure.",
            },
        },
    ),
)
