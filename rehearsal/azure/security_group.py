"""Network security groups and their rules, inside the group or beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call
from ..core.store import Transaction
from . import kinds
from .arm import Target, etag, find, sub_resources, users
from .errors import in_use, network_word, rule
from .resource import arm_type

LOWEST_PRIORITY, HIGHEST_PRIORITY = 100, 4096
"""Microsoft.Network 2024-05-01, SecurityRulePropertiesFormat.priority."""
_WORDS = {
    "access": ("Allow", "Deny"),
    "direction": ("Inbound", "Outbound"),
    "protocol": ("Tcp", "Udp", "Icmp", "Esp", "*", "Ah"),
}
_REMEDY = (
    "In order to delete the Network security group, remove the association with the resource(s). To learn how to do "
    "this, see aka.ms/deletensg."
)


def _default(
    name: str, priority: int, access: str, direction: str, source: str, target: str
) -> dict[str, Any]:
    return {
        "name": name,
        "priority": priority,
        "access": access,
        "direction": direction,
        "protocol": "*",
        "sourceAddressPrefix": source,
        "sourcePortRange": "*",
        "destinationAddressPrefix": target,
        "destinationPortRange": "*",
    }


DEFAULT_RULES = (
    _default("AllowVnetInBound", 65000, "Allow", "Inbound", "VirtualNetwork", "VirtualNetwork"),
    _default("AllowAzureLoadBalancerInBound", 65001, "Allow", "Inbound", "AzureLoadBalancer", "*"),
    _default("DenyAllInBound", 65500, "Deny", "Inbound", "*", "*"),
    _default("AllowVnetOutBound", 65000, "Allow", "Outbound", "VirtualNetwork", "VirtualNetwork"),
    _default("AllowInternetOutBound", 65001, "Allow", "Outbound", "*", "Internet"),
    _default("DenyAllOutBound", 65500, "Deny", "Outbound", "*", "*"),
)
"""azure-docs network-security-groups-overview.md, default security rules."""


def put_group(call: Call, target: Target) -> dict[str, Any]:
    tx, wanted = call.tx, call.inputs.get("securityRules")
    if wanted is not None:
        kept = {str(each.get("name") or "").casefold() for each in wanted}
        for id, existing in tx.find(kinds.SECURITY_RULE.token, parentId=target.id):
            if existing["name"].casefold() not in kept:
                tx.remove(kinds.SECURITY_RULE.token, id)
        for body in wanted:
            _put_inline(tx, target, body)
    return {}


def _put_inline(tx: Transaction, group: Target, body: Mapping[str, Any]) -> None:
    name = body.get("name")
    if not name:
        raise rule(
            f"Every security rule inside group '{group.name}' needs a name.",
            "Microsoft.Network 2024-05-01, SecurityRule.name",
        )
    id = f"{group.id}/securityRules/{name}"
    old = find(tx, kinds.SECURITY_RULE, id) or {}
    id = str(old.get("id", id))
    _check_rule(tx, Target(id, name, kinds.SECURITY_RULE, parent=group.id), body)
    tx.put(
        kinds.SECURITY_RULE.token,
        id,
        {
            **{key: value for key, value in body.items() if value is not None},
            "id": id,
            "name": name,
            "type": kinds.SECURITY_RULE.type,
            "parentId": group.id,
            "etag": etag(tx),
            "provisioningState": "Succeeded",
        },
    )


def show_group(tx: Transaction, id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    by_type: dict[str, list[str]] = {"subnets": [], "networkInterfaces": []}
    for user in users(tx, id):
        by_type["subnets" if "/subnets/" in user else "networkInterfaces"].append(user)
    return {
        "securityRules": [
            {key: value for key, value in rule_.items() if key not in _OWN}
            for _, rule_ in tx.find(kinds.SECURITY_RULE.token, parentId=id)
        ],
        "defaultSecurityRules": [
            {**each, "id": f"{id}/defaultSecurityRules/{each['name']}", "provisioningState": "Succeeded"}
            for each in DEFAULT_RULES
        ],
        "flowLogs": [],
        "subnets": sub_resources(by_type["subnets"]),
        "networkInterfaces": sub_resources(by_type["networkInterfaces"]),
    }


_OWN = frozenset({"parentId", "networkSecurityGroupName", "resourceGroupName", "securityRuleName"})


def remove_group(call: Call, target: Target) -> None:
    holders = users(call.tx, target.id)
    if holders:
        raise in_use(
            "InUseNetworkSecurityGroupCannotBeDeleted", "Network security group", target.id, holders, _REMEDY
        )
    call.tx.remove_all(kinds.SECURITY_RULE.token, parentId=target.id)


def put_rule(call: Call, target: Target) -> dict[str, Any]:
    _check_rule(call.tx, target, call.inputs)
    return {"parentId": target.parent, "name": target.name}


def _check_rule(tx: Transaction, target: Target, body: Mapping[str, Any]) -> None:
    for name, allowed in _WORDS.items():
        if body.get(name) is not None and body[name].lower() not in {each.lower() for each in allowed}:
            raise network_word(body[name], name, allowed)
    priority = body.get("priority")
    if priority is None or not LOWEST_PRIORITY <= priority <= HIGHEST_PRIORITY:
        raise Refusal(
            "SecurityRuleInvalidPriority",
            f"Security rule has invalid Priority. Value provided: {priority} Allowed range "
            f"{LOWEST_PRIORITY}-{HIGHEST_PRIORITY}.",
        )
    for one, several in (
        ("sourceAddressPrefix", "sourceAddressPrefixes"),
        ("destinationAddressPrefix", "destinationAddressPrefixes"),
        ("sourcePortRange", "sourcePortRanges"),
        ("destinationPortRange", "destinationPortRanges"),
    ):
        groups = one.replace("AddressPrefix", "ApplicationSecurityGroups") if "Address" in one else one
        if not (body.get(one) or body.get(several) or body.get(groups)):
            raise rule(
                f"Security rule {target.name} has neither {one} nor {several}.",
                "Microsoft.Network 2024-05-01, SecurityRulePropertiesFormat",
            )
    for id, other in tx.find(kinds.SECURITY_RULE.token, parentId=target.parent):
        if (
            id != target.id
            and other["priority"] == priority
            and other["direction"].lower() == str(body.get("direction", "")).lower()
        ):
            raise Refusal(
                "SecurityRuleConflict",
                f"Security rule {target.name} conflicts with rule {other['name']}. Rules cannot have the same "
                f"Priority and Direction. To learn more, see aka.ms/nsgrules.",
            )


TYPES = (
    arm_type(
        kinds.SECURITY_GROUP,
        "network security group",
        put_group,
        remove=remove_group,
        show=show_group,
        filled=frozenset({"securityRules"}),
        unknown_within={"securityRules": frozenset({"id", "etag", "provisioningState"})},
    ),
    arm_type(kinds.SECURITY_RULE, "security rule", put_rule),
)
