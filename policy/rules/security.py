"""Security groups, instance metadata and disks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpu_fabric.nccl.hardware import Cloud
from gpu_fabric.policy.kinds import KINDS, TEMPLATE
from gpu_fabric.policy.nodes import Node, for_each_node, interface, known_nodes, unread_nodes
from gpu_fabric.policy.resource import Named, Resource, named
from gpu_fabric.policy.rule import Parameters, Rule, Undecided, Verdicts, Violation
from gpu_fabric.policy.values import UNKNOWN, any_of, at, first, look, network, number, text, truth

SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
#: Type → direction.
_VPC_RULES = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "ingress",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "egress",
}
_AZURE_RULE, _AZURE_GROUP = "azure-native:network:SecurityRule", "azure-native:network:NetworkSecurityGroup"
_GROUPS = (SECURITY_GROUP, "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
#: Type → where it keeps the rules of those who come in.
_INLINE = {**dict.fromkeys(_GROUPS, "ingress.*"), _AZURE_GROUP: "securityRules.*"}
#: Types that are one such rule.
_OWN = ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", _RULE, _AZURE_RULE)
_BLOCKS = ("cidrIpv4", "cidrIpv6", "cidrBlocks.*", "ipv6CidrBlocks.*")
_AZURE_SOURCES = ("sourceAddressPrefix", "sourceAddressPrefixes.*")
_AZURE_PORTS = ("destinationPortRange", "destinationPortRanges.*")
_AZURE_ANYWHERE = ("*", "internet", "any", "0.0.0.0/0", "::/0")
_ICMP = "ICMP"
"""In place of ports."""
_ICMP_PROTOCOLS = ("icmp", "icmpv6", "1", "1.0", "58", "58.0")
_TEMPLATE_GROUPS = ("networkInterfaces.*.securityGroups.*",)
_ROOT = "its root disk"
#: What images call the disk that they start from (EC2 User Guide, device_naming.html); the others are for data.
_ROOT_DISKS = ("/dev/sda1", "/dev/sda", "/dev/xvda")
_DATA_DISK = re.compile(r"/dev/(sd|xvd)[b-z]")
_WIDEST = 3
"""Bits of a block; no organisation has one as wide (2000::/3 is the whole IPv6 internet)."""


def _efa_self(resources: list[Resource], parameters: Parameters) -> Verdicts:
    del parameters
    yield from unread_nodes(resources, Cloud.AWS)
    asked: dict[str, tuple[Resource, dict[str, Any], list[str]]] = {}
    lets: dict[str, dict[str, Any]] = {}
    bare: set[str] = set()
    for node, groups in _grouped(resources):
        for group in groups.resources:
            if group.urn not in lets:
                lets[group.urn] = _lets(group, resources)
        states = [lets[group.urn] for group in groups.resources]
        if any(all(answer is True for answer in state.values()) for state in states):
            continue
        if groups.others:
            yield Undecided(
                f"the rules of the security groups of {node.called}: they are not in this stack, or not known yet"
            )
        elif not groups.resources and node.kind.default_group:
            yield Undecided(f"the rules of {node.kind.default_group}, which {node.called} has by default")
        elif not groups.resources and node.urn not in bare:
            bare.add(node.urn)
            yield Violation(
                f"{node.called} has an EFA interface without a security group: EFA traffic does not pass the VPC's "
                "default one.",
                "give every EFA interface a group with ingress and egress that name the group itself.",
                node.urn,
            )
        elif any(False not in state.values() for state in states):
            yield Undecided(f"the rules of the security groups of {node.called}")
        else:
            for group, state in zip(groups.resources, states, strict=True):
                names = asked.setdefault(group.urn, (group, state, []))[2]
                names += [node.called] if node.called not in names else []
    for urn, (group, state, names) in asked.items():
        missing = [direction for direction, answer in state.items() if answer is False]
        yield Violation(
            f"{group.name}, the security group of {', '.join(names)}, lets no EFA traffic through: it has no "
            f"{' and no '.join(missing)} rule for all protocols that names the group itself. A rule by address block "
            "does not match EFA.",
            'add both, with ip_protocol "-1" and the group\'s own id as referenced group.',
            urn,
        )


def _grouped(resources: list[Resource]) -> Iterator[tuple[Node, Named]]:
    """The security groups that EFA traffic meets: of each EFA interface for itself where the node writes them out."""
    for node in known_nodes(resources):
        if node.cloud is not Cloud.AWS:
            continue
        own = [each for each in node.attached.resources if _is_efa(each)]
        written = _written(node)
        for layer, entry in written:
            for groups in _groups_of(layer, entry, node, resources):
                yield node, groups
        for each in own:
            yield node, named(each, ("securityGroups.*",), _GROUPS, resources)
        if own and node.attached.others:
            yield node, Named((), True)
        if not own and not written:
            yield node, _groups(node, resources)


def _is_efa(interface: Resource) -> bool:
    return text(look(interface.props, "interfaceType")) not in (None, "interface")


def _written(node: Node) -> list[tuple[Resource, Any]]:
    """The EFA interfaces that a launch template lists with all that they have."""
    for layer in node.layers:
        entries = at(layer.props, KINDS[layer.kind].interfaces) if layer.kind == TEMPLATE else []
        if entries:
            read = [interface(entry, node.attached) for entry in entries]
            if any(each.type is UNKNOWN for each in read) or at(entries, "*.networkInterfaceId"):
                return []
            return [(layer, entry) for entry, each in zip(entries, read, strict=True) if each.efa]
    return []


def _groups_of(layer: Resource, entry: Any, node: Node, resources: list[Resource]) -> Iterator[Named]:
    """The groups of one interface; one by one where it is not known which of them it has."""
    given = at(entry, "securityGroups.*")
    if not given:
        # Without one of its own an interface gets what the machine has, and without that the VPC's default group.
        top = ("vpcSecurityGroupIds.*", "securityGroups.*", "securityGroupNames.*")
        yield node.named(lambda kind: [path for path in kind.groups if path in top], _GROUPS, resources)
        return
    own = replace(layer, props={"networkInterfaces": [entry]})
    found = named(replace(own, references={}), _TEMPLATE_GROUPS, _GROUPS, resources)
    if not found.others:
        yield found
        return
    # By where its values come from, which is known of all interfaces of the template together.
    found = named(own, _TEMPLATE_GROUPS, _GROUPS, resources)
    if len(given) >= len(found.resources):
        yield found
    else:
        yield from (Named((each,), True) for each in found.resources)


def _groups(node: Node, resources: list[Resource]) -> Named:
    """The security groups of a node, its network interfaces' own ones too."""
    found = node.named(lambda kind: kind.groups, _GROUPS, resources)
    if not node.attached.resources and not node.attached.others:
        return found
    # A machine whose interfaces stand for themselves has the groups of these.
    more = [named(each, ("securityGroups.*",), _GROUPS, resources) for each in node.attached.resources]
    by_urn = {each.urn: each for one in (found, *more) for each in one.resources}
    return Named(
        tuple(by_urn.values()), found.others or node.attached.others or any(one.others for one in more)
    )


def _lets(group: Resource, resources: list[Resource]) -> dict[str, Any]:
    """Direction → whether a rule for all protocols names the group itself: True, False or UNKNOWN."""
    found: dict[str, list[Any]] = {"ingress": [], "egress": []}
    for direction, answers in found.items():
        for rule in at(group.props, f"{direction}.*"):
            answers.append(
                UNKNOWN
                if rule is UNKNOWN
                else _both(_all_protocols(look(rule, "protocol")), truth(look(rule, "self")))
            )
    for rule in resources:
        if rule.kind in _VPC_RULES:
            direction, protocol = _VPC_RULES[rule.kind], look(rule.props, "ipProtocol")
            itself = _is(rule, "referencedSecurityGroupId", group)
        elif rule.kind == _RULE:
            direction, protocol = text(look(rule.props, "type")), look(rule.props, "protocol")
            itself = any_of(
                (truth(look(rule.props, "self")), _is(rule, "sourceSecurityGroupId", group)),
            )
        else:
            continue
        if _is(rule, "securityGroupId", group) and itself is not False:
            answer = _both(_all_protocols(protocol), itself)
            for each in found if direction is UNKNOWN else (direction,):
                found.setdefault(each, []).append(UNKNOWN if direction is UNKNOWN else answer)
    return {direction: any_of(found[direction]) for direction in ("ingress", "egress")}


def _both(one: Any, other: Any) -> Any:
    return False if False in (one, other) else UNKNOWN if UNKNOWN in (one, other) else True


def _is(rule: Resource, name: str, group: Resource) -> bool:
    return any(each.urn == group.urn for each in named(rule, (name,), _GROUPS, [group]).resources)


def _all_protocols(value: Any) -> Any:
    """True, False or UNKNOWN: whether a rule is for every protocol."""
    if isinstance(value, str | int | float):
        return str(value).lower() in ("-1", "-1.0", "all")
    return False if value is None else UNKNOWN


def _open(resource: Resource, parameters: Parameters) -> Verdicts:
    allowed = [number(port) for port in parameters["allowedPorts"]]
    for where, ports in _opened(resource):
        if where is UNKNOWN and _within(ports, allowed) is not True:
            yield Undecided(f"whom {resource.name} lets in")
        elif where is UNKNOWN or _within(ports, allowed) is True:
            continue
        elif ports == _ICMP:
            if not parameters["allowIcmp"]:
                yield Violation(
                    f"{resource.name} lets {where} in by ICMP.",
                    "name the addresses that need it, or set the rule's parameter `allowIcmp`.",
                )
        elif ports is UNKNOWN:
            yield Undecided(f"the ports that {resource.name} opens")
        else:
            yield Violation(
                f"{resource.name} lets {where} in"
                + (" on every port." if ports is None else f" on port {', '.join(map(_ports, ports))}."),
                "name the addresses that need it, or the port in the rule's parameter `allowedPorts`.",
            )


def _within(ports: Any, allowed: list[Any]) -> bool:
    """Whether every port is one of those allowed."""
    if ports is None or ports is UNKNOWN or ports == _ICMP:
        return False
    return all(len(each) <= len(allowed) and all(port in allowed for port in each) for each in ports)


def _ports(ports: range) -> str:
    return str(ports[0]) if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"


def _opened(resource: Resource) -> Iterator[tuple[Any, Any]]:
    """(who comes in, ports) for each rule that lets everybody in; who is UNKNOWN where that cannot be told.

    Ports are a list of ranges, None for every port, _ICMP for none, or UNKNOWN.
    """
    inline = _INLINE.get(resource.kind)
    rules = [resource.props] if resource.kind in _OWN else at(resource.props, inline) if inline else []
    if resource.kind.startswith("azure-native:"):
        for rule in rules:
            yield from _azure_opened(rule)
        return
    if resource.kind == _RULE:
        direction = text(look(resource.props, "type"))
        rules = rules if direction == "ingress" else [UNKNOWN] if direction is UNKNOWN else []
    for rule in rules:
        if rule is UNKNOWN:
            yield UNKNOWN, None
            continue
        protocol = first(rule, ("protocol", "ipProtocol"))
        every = _all_protocols(protocol)
        # Of ICMP the two are its type and code (EC2 User Guide, security-group-rules-reference.html).
        icmp = isinstance(protocol, str | int | float) and str(protocol).lower() in _ICMP_PROTOCOLS
        ports = _ICMP if icmp else _range(look(rule, "fromPort"), look(rule, "toPort"))
        for who in _everybody([value for path in _BLOCKS for value in at(rule, path)]):
            yield who, None if every is True else ports


def _azure_opened(rule: Any) -> Iterator[tuple[Any, Any]]:
    if rule is UNKNOWN:
        yield UNKNOWN, None
        return
    # A rule of its own has these at the top; an ARM-like one under `properties`.
    direction, access = (text(look(rule, key)) for key in ("direction", "access"))
    if any(
        isinstance(value, str) and value.lower() != wanted
        for value, wanted in ((direction, "inbound"), (access, "allow"))
    ):
        return
    if None in (direction, access):
        return
    sources = [value for path in _AZURE_SOURCES for value in at(rule, path)]
    for who in _everybody(sources):
        icmp = text(look(rule, "protocol"))
        ports = _ICMP if isinstance(icmp, str) and icmp.lower() in _ICMP_PROTOCOLS else _azure_ports(rule)
        yield (UNKNOWN if UNKNOWN in (direction, access) else who), ports


def _everybody(sources: list[Any]) -> Iterator[Any]:
    """Each source that is everybody, such as `0.0.0.0/1`, and UNKNOWN once where one cannot be read."""
    texts = [source for source in sources if isinstance(source, str)]
    yield from (source for source in texts if source.lower() in _AZURE_ANYWHERE)
    blocks = [(source, block) for source in texts for block in [network(source)] if block is not None]
    for source, block in blocks:
        # Half of the internet, or a quarter, is no list of addresses that need it.
        if block.prefixlen <= _WIDEST and source.lower() not in _AZURE_ANYWHERE:
            yield source
    if len(texts) < len(sources):
        yield UNKNOWN


def _range(start: Any, end: Any) -> Any:
    low, high = number(start), number(end)
    if UNKNOWN in (low, high):
        return UNKNOWN
    if low is None or high is None or (low, high) in ((0, 65535), (-1, -1)) or high < low:
        return None
    return [range(low, high + 1)]


def _azure_ports(rule: Any) -> Any:
    ports: list[range] = []
    for each in (value for path in _AZURE_PORTS for value in at(rule, path)):
        if each == "*":
            return None
        start, _, end = (each if isinstance(each, str) else str(number(each))).partition("-")
        found = _range(start.strip(), (end or start).strip())
        if found is UNKNOWN or found is None:
            return found
        ports += found
    return ports or None


def _imdsv2(node: Node, parameters: Parameters) -> Verdicts:
    del parameters
    options = node.first(lambda kind: kind.metadata)
    tokens, endpoint = look(options, "httpTokens"), look(options, "httpEndpoint")
    if tokens == "required" or endpoint == "disabled":
        return
    if UNKNOWN in (text(tokens), text(endpoint)):
        yield Undecided(f"the metadata options of {node.called}")
    else:
        yield Violation(
            f"{node.called} answers metadata requests without a token (IMDSv1).",
            'set metadata_options.http_tokens to "required".',
        )


def _disks(node: Node, parameters: Parameters) -> Verdicts:
    if node.cloud is Cloud.AZURE:
        host = truth(node.first(lambda kind: kind.at_host))
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
    answers = _encrypted(node)
    plain = [name for name, answer in answers.items() if answer is False]
    if plain:
        which = "its disks are" if len(plain) == len(answers) else f"{' and '.join(plain)}, of its disks, is"
        yield Violation(
            f"{node.called} does not say that {which} encrypted.",
            "set `encrypted` on every EBS disk, the root disk too, or the rule's parameter `accountEncryptsByDefault` "
            "where the account encrypts new volumes by itself.",
        )
    elif UNKNOWN in answers.values():
        yield Undecided(f"the disks of {node.called}")


def _encrypted(node: Node) -> dict[str, Any]:
    """Disk → True, False or UNKNOWN. EC2 attaches those of every layer, and of one name the first layer's."""
    found: dict[str, Any] = {}
    for layer in node.layers:
        kind = KINDS[layer.kind]
        for disk in at(layer.props, kind.root_disk) if kind.root_disk else ():
            found.setdefault(_ROOT, UNKNOWN if disk is UNKNOWN else truth(look(disk, "encrypted")))
        disks = [each for path in kind.disks for each in at(layer.props, path)]
        for place, disk in enumerate(disks, start=1):
            own = look(disk, "ebs") if "blockDeviceMappings.*" in kind.disks else disk
            if own is not None:  # a mapping may also be of a local disk, or of none
                found.setdefault(
                    _called(disk, place), UNKNOWN if own is UNKNOWN else truth(look(own, "encrypted"))
                )
    # Every instance has a root disk; of which name, its image says.
    if all(_DATA_DISK.match(name) for name in found):
        found[_ROOT] = UNKNOWN if node.hidden else False
    return found


def _called(disk: Any, place: int) -> str:
    """The device's name; a disk whose name nobody here knows may be the root disk."""
    name = text(look(disk, "deviceName"))
    if not isinstance(name, str):
        return f"disk {place}"
    return _ROOT if name in _ROOT_DISKS else name


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
            },
            "allowIcmp": {
                "type": "boolean",
                "default": False,
                "description": "ICMP may come from everybody, as path MTU discovery over the internet needs it.",
            },
        },
    ),
    Rule(
        name="imdsv2",
        summary="GPU nodes answer metadata requests with a token only.",
        why="Without a token, whatever makes a node send one GET request reads its credentials.",
        source="EC2 User Guide, configuring-instance-metadata-service.html",
        **for_each_node(_imdsv2, Cloud.AWS),
    ),
    Rule(
        name="encrypted-disks",
        summary="The disks of GPU nodes are encrypted.",
        why="Checkpoints and data lie on them. Azure encrypts managed disks always; encryption at host covers the "
        "temporary disk and caches too and is asked for by choice.",
        source="EBS User Guide, ebs-encryption.html; virtual-machines/disk-encryption-overview.md",
        **for_each_node(_disks),
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
