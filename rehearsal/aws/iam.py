"""IAM: roles, policies, instance profiles, and the policy document look-up."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call, Function, Lookup, Made, ResourceType
from ..core.store import Transaction
from . import kinds
from .account import configured_region, global_arn
from .documents import document_problem, parse, same_document

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
_DATE = "2026-01-01T00:00:00Z"
"""When everything was made: IAM's dates mean nothing in a rehearsal, and outputs stay the same."""
_MANAGED = re.compile(
    r"arn:aws[a-z-]*:iam::aws:policy/(?:service-role/|job-function/|aws-service-role/)?[\w+=,.@-]+"
)


def _unique(prefix: str, tx: Transaction, kind: str) -> str:
    seed = f"{prefix}/{tx.next(f'id/{kind}')}"
    return prefix + hashlib.sha256(seed.encode()).hexdigest()[:17].upper()


def _missing(message: str) -> Refusal:
    return Refusal("NoSuchEntity", message, status=404)


def _name(call: Call) -> str:
    given = call.inputs.get("name")
    return str(given or f"{call.inputs.get('namePrefix', 'terraform-')}{call.tx.next('name'):026d}")


def _arn(call: Call, kind: str, name: str) -> str:
    return global_arn("iam", configured_region(call.config), f"{kind}{call.inputs.get('path', '/')}{name}")


def _role(tx: Transaction, name: str) -> dict[str, Any]:
    found = tx.get(kinds.ROLE, name)
    if found is None:
        raise _missing(f"The role with name {name} cannot be found.")
    return found


def _unused(call: Call, kind: str, word: str, name: str) -> None:
    if call.tx.get(kind, name) is not None:
        raise Refusal("EntityAlreadyExists", f"{word} with name {name} already exists.", status=409)


# Role


def create_role(call: Call) -> Made:
    name = _name(call)
    _unused(call, kinds.ROLE, "Role", name)
    document = parse(call.inputs["assumeRolePolicy"])
    if not isinstance(document, dict) or not document.get("Statement"):
        raise Refusal("MalformedPolicyDocument", "Syntax errors in policy.")
    return Made(
        name,
        {
            "arn": _arn(call, "role", name),
            "name": name,
            "namePrefix": call.inputs.get("namePrefix", ""),
            "uniqueId": _unique("AROA", call.tx, "role"),
            "createDate": _DATE,
            "inlinePolicies": call.inputs.get("inlinePolicies", []),
            "managedPolicyArns": call.inputs.get("managedPolicyArns", []),
        },
    )


def delete_role(call: Call) -> None:
    """The provider takes the role out of instance profiles itself; attached policies only with forceDetachPolicies."""
    tx = call.tx
    if not call.old.get("forceDetachPolicies"):
        if tx.find(kinds.ROLE_POLICY_ATTACHMENT, role=call.id):
            raise Refusal(
                "DeleteConflict", "Cannot delete entity, must detach all policies first.", status=409
            )
        if tx.find(ROLE_POLICY, role=call.id):
            raise Refusal("DeleteConflict", "Cannot delete entity, must delete policies first.", status=409)
    tx.remove_all(kinds.ROLE_POLICY_ATTACHMENT, role=call.id)
    tx.remove_all(ROLE_POLICY, role=call.id)
    for id, profile in tx.find(kinds.INSTANCE_PROFILE, role=call.id):
        tx.put(kinds.INSTANCE_PROFILE, id, {**profile, "role": ""})


ROLE = ResourceType(
    token=kinds.ROLE,
    title="IAM Role",
    service="IAM",
    calls={"create": "CreateRole", "update": "UpdateRole", "delete": "DeleteRole"},
    doing={"create": "creating IAM Role ({id})"},
    create=create_role,
    delete=delete_role,
    check=lambda call: document_problem(call.inputs.get("assumeRolePolicy"), "assumeRolePolicy"),
    autoname="name",
    name_limit=64,
    defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},
    filled=frozenset({"namePrefix"}),
    same={"assumeRolePolicy": same_document},
    unordered=frozenset({"managedPolicyArns", "inlinePolicies"}),
    replaces=frozenset({"name", "namePrefix", "path"}),
    replaces_source="terraform-provider-aws service/iam/role.go at 0040ea69, ForceNew",
)


# Inline policy


def create_role_policy(call: Call) -> Made:
    role, name = call.inputs["role"], _name(call)
    _role(call.tx, role)
    _check_document(call)
    return Made(f"{role}:{name}", {"name": name, "namePrefix": call.inputs.get("namePrefix", "")})


def _check_document(call: Call) -> None:
    document = parse(call.inputs["policy"])
    if not isinstance(document, dict) or "Statement" not in document:
        raise Refusal("MalformedPolicyDocument", "Syntax errors in policy.")


def update_policy(call: Call) -> dict[str, Any]:
    _check_document(call)
    return {}


ROLE_POLICY_TYPE = ResourceType(
    token=ROLE_POLICY,
    title="IAM Role Policy",
    service="IAM",
    calls={"create": "PutRolePolicy", "update": "PutRolePolicy", "delete": "DeleteRolePolicy"},
    doing={"create": "putting IAM Role Policy"},
    create=create_role_policy,
    update=update_policy,
    check=lambda call: document_problem(call.inputs.get("policy"), "policy"),
    autoname="name",
    name_limit=128,
    filled=frozenset({"namePrefix"}),
    same={"policy": same_document},
    replaces=frozenset({"name", "namePrefix", "role"}),
    replaces_source="terraform-provider-aws service/iam/role_policy.go at 02f97af8, ForceNew",
)


# Managed policy


def create_policy(call: Call) -> Made:
    name = _name(call)
    _check_document(call)
    arn = _arn(call, "policy", name)
    if call.tx.get(kinds.POLICY, arn) is not None:
        raise Refusal(
            "EntityAlreadyExists",
            f"A policy called {name} already exists. Duplicate names are not allowed.",
            status=409,
        )
    return Made(
        arn,
        {
            "arn": arn,
            "name": name,
            "namePrefix": call.inputs.get("namePrefix", ""),
            "policyId": _unique("ANPA", call.tx, "policy"),
            "attachmentCount": 0,
        },
    )


def delete_policy(call: Call) -> None:
    if call.tx.find(kinds.ROLE_POLICY_ATTACHMENT, policyArn=call.id):
        raise Refusal("DeleteConflict", "Cannot delete a policy attached to entities.", status=409)


POLICY = ResourceType(
    token=kinds.POLICY,
    title="IAM Policy",
    service="IAM",
    calls={"create": "CreatePolicy", "update": "CreatePolicyVersion", "delete": "DeletePolicy"},
    doing={"create": "creating IAM Policy ({id})"},
    create=create_policy,
    update=update_policy,
    delete=delete_policy,
    check=lambda call: document_problem(call.inputs.get("policy"), "policy"),
    autoname="name",
    name_limit=128,
    defaults={"path": "/"},
    filled=frozenset({"namePrefix"}),
    same={"policy": same_document},
    replaces=frozenset({"description", "name", "namePrefix", "path"}),
    replaces_source="terraform-provider-aws service/iam/policy.go at 01ccd9a2, ForceNew",
)


# Attachment


def create_attachment(call: Call) -> Made:
    role, policy = call.inputs["role"], call.inputs["policyArn"]
    _role(call.tx, role)
    if call.tx.get(kinds.POLICY, policy) is None and not _MANAGED.fullmatch(policy):
        raise _missing(f"Policy {policy} does not exist or is not attachable.")
    return Made(f"{role}-{call.tx.next('attachment'):026d}")


ATTACHMENT = ResourceType(
    token=kinds.ROLE_POLICY_ATTACHMENT,
    title="IAM Role Policy Attachment",
    service="IAM",
    calls={"create": "AttachRolePolicy", "delete": "DetachRolePolicy"},
    doing={"create": "attaching IAM Policy to IAM Role"},
    create=create_attachment,
    replaces=frozenset({"policyArn", "role"}),
    replaces_source="terraform-provider-aws service/iam/role_policy_attachment.go at 04c79849, ForceNew",
)


# Instance profile


def create_profile(call: Call) -> Made:
    name = _name(call)
    if call.tx.get(kinds.INSTANCE_PROFILE, name) is not None:
        raise Refusal("EntityAlreadyExists", f"Instance Profile {name} already exists.", status=409)
    if call.inputs.get("role"):
        _role(call.tx, call.inputs["role"])
    return Made(
        name,
        {
            "arn": _arn(call, "instance-profile", name),
            "name": name,
            "namePrefix": call.inputs.get("namePrefix", ""),
            "uniqueId": _unique("AIPA", call.tx, "profile"),
            "createDate": _DATE,
        },
    )


def update_profile(call: Call) -> dict[str, Any]:
    if call.inputs.get("role"):
        _role(call.tx, call.inputs["role"])
    return {}


PROFILE = ResourceType(
    token=kinds.INSTANCE_PROFILE,
    title="IAM Instance Profile",
    service="IAM",
    calls={
        "create": "CreateInstanceProfile",
        "update": "AddRoleToInstanceProfile",
        "delete": "DeleteInstanceProfile",
    },
    doing={"create": "creating IAM Instance Profile ({id})"},
    create=create_profile,
    update=update_profile,
    autoname="name",
    name_limit=128,
    defaults={"path": "/"},
    filled=frozenset({"namePrefix"}),
    replaces=frozenset({"name", "namePrefix", "path"}),
    replaces_source="terraform-provider-aws service/iam/instance_profile.go at 013f1736, ForceNew",
)


# Look-ups


def _one_or_many(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else sorted(values, reverse=True)


def _statement(given: dict[str, Any]) -> dict[str, Any]:
    """One statement, as terraform-provider-aws internal/service/iam/policy_document_data_source.go writes it."""
    statement: dict[str, Any] = {}
    if given.get("sid"):
        statement["Sid"] = given["sid"]
    statement["Effect"] = given.get("effect", "Allow")
    for name in ("actions", "notActions", "resources", "notResources"):
        if given.get(name):
            key = {
                "actions": "Action",
                "notActions": "NotAction",
                "resources": "Resource",
                "notResources": "NotResource",
            }
            statement[key[name]] = _one_or_many(given[name])
    for name, key in (("principals", "Principal"), ("notPrincipals", "NotPrincipal")):
        principals: dict[str, Any] = {}
        for each in given.get(name) or []:
            if each["type"] == "*" and each["identifiers"] == ["*"]:
                statement[key] = "*"
            else:
                principals.setdefault(each["type"], []).extend(each["identifiers"])
        if principals:
            statement[key] = {kind: _one_or_many(names) for kind, names in principals.items()}
    conditions: dict[str, dict[str, Any]] = {}
    for each in given.get("conditions") or []:
        conditions.setdefault(each["test"], {})[each["variable"]] = _one_or_many(each["values"])
    if conditions:
        statement["Condition"] = conditions
    return statement


def policy_document(lookup: Lookup) -> dict[str, Any]:
    """The JSON of a policy: a pure function, no cloud is asked."""
    args = lookup.args
    statements: list[dict[str, Any]] = []
    for text in args.get("sourcePolicyDocuments") or []:
        found = (parse(text) or {}).get("Statement", [])
        statements += found if isinstance(found, list) else [found]
    statements += [_statement(each) for each in args.get("statements") or []]
    for text in args.get("overridePolicyDocuments") or []:
        found = (parse(text) or {}).get("Statement", [])
        for each in found if isinstance(found, list) else [found]:
            named = [
                index
                for index, other in enumerate(statements)
                if each.get("Sid") and other.get("Sid") == each["Sid"]
            ]
            if named:
                statements[named[0]] = each
            else:
                statements.append(each)
    document: dict[str, Any] = {"Version": args.get("version", "2012-10-17")}
    if args.get("policyId"):
        document["Id"] = args["policyId"]
    document["Statement"] = statements
    text = json.dumps(document, indent=2)
    return {
        **args,
        "id": str(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)),
        "json": text,
        "minifiedJson": json.dumps(document, separators=(",", ":")),
    }


def role(lookup: Lookup) -> dict[str, Any]:
    """A role by name."""
    found = _role(lookup.tx, lookup.args["name"])
    return {
        **found,
        "id": found["name"],
        "permissionsBoundary": found.get("permissionsBoundary", ""),
        "roleLastUseds": [],
    }


def profile(lookup: Lookup) -> dict[str, Any]:
    """An instance profile by name."""
    found = lookup.tx.get(kinds.INSTANCE_PROFILE, lookup.args["name"])
    if found is None:
        raise _missing(f"Instance Profile {lookup.args['name']} cannot be found.")
    owner = lookup.tx.get(kinds.ROLE, found.get("role") or "") or {}
    return {
        **found,
        "id": found["uniqueId"],
        "roleArn": owner.get("arn", ""),
        "roleId": owner.get("uniqueId", ""),
        "roleName": owner.get("name", ""),
    }


TYPES = (ROLE, ROLE_POLICY_TYPE, POLICY, ATTACHMENT, PROFILE)
FUNCTIONS = (
    Function("aws:iam/getPolicyDocument:getPolicyDocument", policy_document),
    Function("aws:iam/getRole:getRole", role),
    Function("aws:iam/getInstanceProfile:getInstanceProfile", profile),
)
