"""Managed identities, role assignments, and who is asking."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..core.errors import Problem, Refusal
from ..core.resource import Call, Function, Lookup
from ..core.store import Transaction
from . import kinds
from .arm import SUBSCRIPTION, TENANT, Target, find, find_group, guid, not_found, now
from .errors import CONFLICT, NOT_FOUND, resource_group_not_found, rule
from .resource import arm_type, at

CLIENT = "00000000-0000-0000-0000-000000000001"
"""The principal that no directory has: the one this simulation answers for the person who runs it."""
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ROLE = re.compile(
    rf"(?:/.*)?/providers/Microsoft\.Authorization/roleDefinitions/{_GUID.pattern}", re.IGNORECASE
)
_IDENTITY_NAME = re.compile(r"[A-Za-z0-9][\w\-]{2,127}", re.ASCII)


def put_identity(call: Call, target: Target) -> dict[str, Any]:
    if not _IDENTITY_NAME.fullmatch(target.name):
        raise rule(
            f"Identity name {target.name} has to be 3 to 128 letters, digits, '-' or '_'.",
            "azure-docs azure-resource-manager/management/resource-name-rules.md",
        )
    if call.old:
        return {}
    return {
        "clientId": guid(call.tx, "client"),
        "principalId": guid(call.tx, "principal"),
        "tenantId": TENANT,
    }


def look_up_identity(lookup: Lookup) -> dict[str, Any]:
    args, kind = lookup.args, kinds.IDENTITY
    group = find_group(lookup.tx, args["resourceGroupName"])
    if group is None:
        raise resource_group_not_found(args["resourceGroupName"])
    found = find(
        lookup.tx, kind, f"{group['id']}/providers/{kind.namespace}/{kind.path[0]}/{args['resourceName']}"
    )
    if found is None:
        raise not_found(kind, args["resourceName"], args["resourceGroupName"])
    return found


# Role assignments


def check_assignment(call: Call) -> Iterator[Problem]:
    """The path takes a GUID for a name (Microsoft.Authorization 2022-04-01)."""
    name = call.inputs.get("roleAssignmentName")
    if isinstance(name, str) and not _GUID.fullmatch(name):
        yield Problem("roleAssignmentName", f"The role assignment name '{name}' has to be a GUID")


def put_assignment(call: Call, target: Target) -> dict[str, Any]:
    inputs, tx = call.inputs, call.tx
    if call.old and any(
        inputs[name] != call.old[name] for name in ("principalId", "roleDefinitionId", "scope")
    ):
        raise Refusal(
            "RoleAssignmentUpdateNotPermitted",
            "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.",
        )
    if not _ROLE.fullmatch(inputs["roleDefinitionId"]):
        raise rule(
            f"roleDefinitionId {inputs['roleDefinitionId']} is no role definition's id "
            f"(/subscriptions/…/providers/Microsoft.Authorization/roleDefinitions/GUID).",
            "Microsoft.Authorization 2022-04-01, RoleAssignmentProperties.roleDefinitionId",
        )
    _check_scope(tx, inputs["scope"])
    if inputs.get("principalType") is None and inputs["principalId"] not in (CLIENT, *_principals(tx)):
        raise Refusal(
            "PrincipalNotFound",
            f"Principal {inputs['principalId'].replace('-', '')} does not exist in the directory {TENANT}. Check "
            f"that you have the correct principal ID. If you are creating this principal and then immediately "
            f"assigning a role, this error might be related to a replication delay. In this case, set the role "
            f"assignment principalType property to a value, such as ServicePrincipal, User, or Group.  See "
            f"https://aka.ms/docs-principaltype",
        )
    for id, other in tx.find(kinds.ROLE_ASSIGNMENT.token):
        if id != target.id and all(
            str(other[name]).casefold().strip("/") == str(inputs[name]).casefold().strip("/")
            for name in ("principalId", "roleDefinitionId", "scope")
        ):
            raise Refusal("RoleAssignmentExists", "The role assignment already exists.", status=CONFLICT)
    made = {} if call.old else {"createdBy": CLIENT, "createdOn": now()}
    return {
        **made,
        "updatedBy": CLIENT,
        "updatedOn": now(),
        "principalType": inputs.get("principalType", "ServicePrincipal"),
        "scope": "/" + inputs["scope"].strip("/"),
    }


def _check_scope(tx: Transaction, scope: str) -> None:
    """Refuse a scope inside this subscription that is not there."""
    parts = scope.strip("/").split("/")
    if len(parts) < 4 or parts[1] != SUBSCRIPTION:
        return
    group = find_group(tx, parts[3])
    if group is None:
        raise resource_group_not_found(parts[3])
    if len(parts) == 4:
        return
    folded = "/" + "/".join(parts).casefold()
    if not any(id.casefold() == folded for token in kinds.KINDS for id, _ in tx.find(token)):
        raise Refusal(
            "ResourceNotFound",
            f"The Resource '{'/'.join(parts[5:])}' under resource group '{parts[3]}' was not found. For more details "
            f"please go to https://aka.ms/ARMResourceNotFoundFix",
            status=NOT_FOUND,
        )


def _principals(tx: Transaction) -> Iterator[str]:
    """Everybody in the directory: the managed identities."""
    for _, each in tx.find(kinds.IDENTITY.token):
        yield each["principalId"]
    for kind in (kinds.SCALE_SET, kinds.VIRTUAL_MACHINE):
        for _, each in tx.find(kind.token):
            if at(each, "identity.principalId"):
                yield each["identity"]["principalId"]


def look_up_client(lookup: Lookup) -> dict[str, Any]:
    return {
        "clientId": lookup.config.get("clientId", CLIENT),
        "objectId": CLIENT,
        "subscriptionId": SUBSCRIPTION,
        "tenantId": TENANT,
    }


TYPES = (
    arm_type(kinds.IDENTITY, "managed identity", put_identity),
    arm_type(
        kinds.ROLE_ASSIGNMENT,
        "role assignment",
        put_assignment,
        check=check_assignment,
        forced=frozenset({"principalId"}),
    ),
)
FUNCTIONS = (
    Function("azure-native:authorization:getClientConfig", look_up_client),
    Function("azure-native:managedidentity:getUserAssignedIdentity", look_up_identity),
)
