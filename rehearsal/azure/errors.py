"""How Azure says no, and how pulumi-azure-native passes it on.

The text is that of pulumi-azure-native provider/pkg/azure/client_azcore.go, PulumiAzcoreResponseError:
``Status=409 Code="SkuNotAvailable" Message="…"``.
"""

from __future__ import annotations

from ..core.errors import Refusal
from ..core.resource import ResourceType

BAD_REQUEST, NOT_FOUND, CONFLICT = 400, 404, 409


def refusal_text(type: ResourceType | None, operation: str, label: str, refusal: Refusal) -> str:
    """``Status=400 Code="InvalidParameter" Message="…"``"""
    return f'Status={refusal.status} Code="{refusal.code}" Message="{refusal.message}"'


def rule(message: str, source: str, *, code: str = "BadRequest", status: int = BAD_REQUEST) -> Refusal:
    """A refusal whose rule is published and whose code and sentence are not: the message names the rule's source.

    ``code`` is one of the general ones of Resource Manager: no code is made up here.
    """
    return Refusal(code, f"{message} [rule: {source}; the wording is the simulation's]", status=status)


def invalid(parameter: str) -> Refusal:
    """Compute's refusal of a value (error-messages.md, InvalidParameter)."""
    return Refusal("InvalidParameter", f"The value of parameter {parameter} is invalid.")


def missing(parameter: str) -> Refusal:
    """Compute's refusal of a body that lacks a value."""
    return Refusal("InvalidParameter", f"Required parameter '{parameter}' is missing (null).")


def not_allowed(value: object, parameter: str, allowed: tuple[str, ...]) -> Refusal:
    """Compute's refusal of a word that is not in an enumeration (azure-rest-api-specs#10212)."""
    return Refusal(
        "InvalidParameter",
        f"The value '{value}' of parameter '{parameter}' is not allowed. Allowed values are: {','.join(allowed)}.",
    )


_NETWORK = "Microsoft.Network 2024-05-01"


def network_missing(property: str) -> Refusal:
    """Network's refusal of a body that lacks a value; its sentences for that are not published."""
    return rule(f"{property} is missing.", _NETWORK)


def network_word(value: object, property: str, allowed: tuple[str, ...]) -> Refusal:
    """Network's refusal of a word that is not in an enumeration; its sentences for that are not published."""
    return rule(f"{property} '{value}' is none of {', '.join(allowed)}.", _NETWORK)


def unchangeable(parameter: str) -> Refusal:
    """Compute's refusal to change what is fixed once made (terraform-provider-azurerm, SSHKeysSchema)."""
    return Refusal(
        "PropertyChangeNotAllowed", f"Changing property '{parameter}' is not allowed.", status=CONFLICT
    )


def resource_group_not_found(name: str) -> Refusal:
    """Resource Manager's refusal of anything in a group that is not there."""
    return Refusal("ResourceGroupNotFound", f"Resource group '{name}' could not be found.", status=NOT_FOUND)


def parent_not_found(type: str, parent_id: str) -> Refusal:
    """Resource Manager's refusal of a child whose parent is not there."""
    return Refusal(
        "ParentResourceNotFound",
        f"Failed to perform 'write' on resource(s) of type '{type}', because the parent resource "
        f"'{parent_id}' could not be found.",
        status=NOT_FOUND,
    )


def reference_not_found(target: str, by: str) -> Refusal:
    """A service's refusal of an id in a body that names nothing, or something in another region."""
    return Refusal(
        "InvalidResourceReference",
        f"Resource {target} referenced by resource {by} was not found. Please make sure that the referenced "
        f"resource exists, and that both resources are in the same region.",
    )


def in_use(code: str, what: str, id: str, users: list[str], remedy: str) -> Refusal:
    """Network's refusal to delete what others use."""
    return Refusal(
        code,
        f"{what} {id} cannot be deleted because it is in use by the following resources: {', '.join(users)}. "
        f"{remedy}",
    )
