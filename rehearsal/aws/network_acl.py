"""Network ACLs, their rules, and which subnet has which."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import ACCOUNT, arn, new_id, region_of
from .errors import need

RULE = "aws:ec2/networkAclRule:NetworkAclRule"
ASSOCIATION = "aws:ec2/networkAclAssociation:NetworkAclAssociation"
LARGEST_RULE_NUMBER = 32_766
"""VPC User Guide, vpc-network-acls."""


def _acl(tx: Transaction, id: str) -> dict[str, Any]:
    return dict(need(tx, kinds.NETWORK_ACL, id, "networkAcl ID", "InvalidNetworkAclID.NotFound"))


def _move(tx: Transaction, subnet_ids: Iterable[str], target: str) -> None:
    """Give the subnets another ACL: a subnet has exactly one."""
    for subnet_id in subnet_ids:
        subnet = need(tx, kinds.SUBNET, subnet_id, "subnet ID", "InvalidSubnetID.NotFound")
        for id, each in tx.find(kinds.NETWORK_ACL, vpcId=subnet["vpcId"]):
            if id != target and subnet_id in (each.get("subnetIds") or []):
                tx.patch(
                    kinds.NETWORK_ACL,
                    id,
                    subnetIds=[each_id for each_id in each["subnetIds"] if each_id != subnet_id],
                )


def _check_numbers(rules: Iterable[dict[str, Any]], direction: str) -> None:
    seen = set()
    for rule in rules:
        number = int(rule["ruleNo"])
        if not 1 <= number <= LARGEST_RULE_NUMBER:
            raise Refusal("InvalidParameterValue", f"Value ({number}) for parameter ruleNumber is invalid.")
        if number in seen:
            raise Refusal(
                "NetworkAclEntryAlreadyExists",
                f"The network acl entry identified by {number} already exists.",
                call="CreateNetworkAclEntry",
            )
        seen.add(number)


def create(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    need(tx, kinds.VPC, inputs["vpcId"], "vpc ID", "InvalidVpcID.NotFound")
    id = new_id(tx, "acl")
    for direction in ("ingress", "egress"):
        _check_numbers(inputs.get(direction) or [], direction)
    _move(tx, inputs.get("subnetIds") or [], id)
    return Made(
        id,
        {
            "arn": arn("ec2", region_of(call), f"network-acl/{id}"),
            "ownerId": ACCOUNT,
            **{name: inputs.get(name, []) for name in ("ingress", "egress", "subnetIds")},
        },
    )


def update(call: Call) -> dict[str, Any]:
    for direction in ("ingress", "egress"):
        _check_numbers(call.inputs.get(direction) or [], direction)
    _move(call.tx, call.inputs.get("subnetIds") or [], call.id)
    return {}


def delete(call: Call) -> None:
    """The provider gives the subnets back to the default ACL first."""
    call.tx.remove_all(RULE, networkAclId=call.id)
    call.tx.remove_all(ASSOCIATION, networkAclId=call.id)


ACL = ResourceType(
    token=kinds.NETWORK_ACL,
    title="EC2 Network ACL",
    service="EC2",
    calls={"create": "CreateNetworkAcl", "update": "ReplaceNetworkAclEntry", "delete": "DeleteNetworkAcl"},
    create=create,
    update=update,
    delete=delete,
    unordered=frozenset({"ingress", "egress", "subnetIds"}),
    replaces=frozenset({"region", "vpcId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_network_acl.go at 0620f2a6, ForceNew",
)


def create_rule(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    acl = _acl(tx, inputs["networkAclId"])
    egress = bool(inputs.get("egress", False))
    inline = [{"ruleNo": each["ruleNo"]} for each in acl.get("egress" if egress else "ingress") or []]
    others = [
        {"ruleNo": each["ruleNumber"]}
        for _, each in tx.find(RULE, networkAclId=inputs["networkAclId"])
        if bool(each.get("egress", False)) == egress
    ]
    _check_numbers([*inline, *others, {"ruleNo": inputs["ruleNumber"]}], "egress" if egress else "ingress")
    seed = f"{inputs['networkAclId']}-{inputs['ruleNumber']}-{egress}-{inputs['protocol']}"
    return Made(f"nacl-{zlib.crc32(seed.encode())}")


RULE_TYPE = ResourceType(
    token=RULE,
    title="EC2 Network ACL Rule",
    service="EC2",
    calls={"create": "CreateNetworkAclEntry", "delete": "DeleteNetworkAclEntry"},
    create=create_rule,
    defaults={"egress": False},
    replaces=frozenset(
        {
            "cidrBlock",
            "egress",
            "fromPort",
            "icmpCode",
            "icmpType",
            "ipv6CidrBlock",
            "networkAclId",
            "protocol",
            "region",
            "ruleAction",
            "ruleNumber",
            "toPort",
        }
    ),
    replaces_source="terraform-provider-aws service/ec2/vpc_network_acl_rule.go at 07e0d0b9, ForceNew",
)


def create_association(call: Call) -> Made:
    tx, inputs = call.tx, call.inputs
    acl = _acl(tx, inputs["networkAclId"])
    _move(tx, [inputs["subnetId"]], inputs["networkAclId"])
    tx.patch(
        kinds.NETWORK_ACL,
        inputs["networkAclId"],
        subnetIds=[*(acl.get("subnetIds") or []), inputs["subnetId"]],
    )
    return Made(new_id(tx, "aclassoc"))


def delete_association(call: Call) -> None:
    acl = call.tx.get(kinds.NETWORK_ACL, call.old["networkAclId"])
    if acl is not None:
        rest = [each for each in acl.get("subnetIds") or [] if each != call.old["subnetId"]]
        call.tx.patch(kinds.NETWORK_ACL, call.old["networkAclId"], subnetIds=rest)


ASSOCIATION_TYPE = ResourceType(
    token=ASSOCIATION,
    title="EC2 Network ACL Association",
    service="EC2",
    calls={"create": "ReplaceNetworkAclAssociation", "delete": "ReplaceNetworkAclAssociation"},
    create=create_association,
    delete=delete_association,
    replaces=frozenset({"networkAclId", "region", "subnetId"}),
    replaces_source="terraform-provider-aws service/ec2/vpc_network_acl_association.go at 044fb317, ForceNew",
)

TYPES = (ACL, RULE_TYPE, ASSOCIATION_TYPE)
