"""How a person gets into a node, and who a node is to Azure.

Creates: an SSH key pair where no public key is given (its private half is a secret of the stack) · where a node may do
something, a user-assigned identity, and role assignments: with `findPeers` a fleet's nodes read their own scale set,
with `stateTag` nodes tag their scale set's instances, or their machine. Otherwise a node has a system-assigned identity
of its own, which may do nothing until somebody gives it a role.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pulumi
from pulumi_azure_native import authorization, compute, managedidentity

from gpu_fabric.components.azure.limits import READER, TAG_CONTRIBUTOR
from gpu_fabric.components.azure.settings import Access
from gpu_fabric.components.azure.tags import tags
from gpu_fabric.components.component import child


class AzureNodeAccess(pulumi.ComponentResource):
    """An SSH public key, given or made; and the nodes' identity. There is never a password."""

    public_key: pulumi.Output[str]
    private_key: pulumi.Output[str] | None
    """In OpenSSH's format, a secret; None where the public key was given."""
    principal_id: pulumi.Output[str] | None
    """Of the identity that is made for `findPeers` and `stateTag`."""

    def __init__(
        self,
        name: str,
        access: Access,
        *,
        resource_group_name: pulumi.Input[str],
        location: str,
        tags_itself: bool = False,
        extra_tags: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`tags_itself`: whether a node may write its state to a tag of its own instance.

        An identity of the user's gets no role from us.
        """
        super().__init__("gpu-fabric:index:AzureNodeAccess", name, None, opts)
        self._name = name
        self._identity_id = access.identity_id
        self.private_key = self.principal_id = None
        if access.ssh_public_key is not None:
            self.public_key = pulumi.Output.from_input(access.ssh_public_key)
        else:
            self._make_key_pair()
        self._roles = {
            name: role
            for name, role, wanted in (
                ("find-peers", READER, access.find_peers),
                ("state-tag", TAG_CONTRIBUTOR, tags_itself),
            )
            if wanted and access.identity_id is None
        }
        if self._roles:
            # Not the scale set's own identity: its principal counts as unknown whenever the scale set changes, and
            # the role assignment would be replaced at every preview of a larger or smaller fleet.
            identity = managedidentity.UserAssignedIdentity(
                f"{name}-node",
                resource_group_name=resource_group_name,
                location=location,
                tags=tags(extra_tags or {}),
                opts=child(self),
            )
            self._identity_id, self.principal_id = identity.id, identity.principal_id
        self.register_outputs({"public_key": self.public_key, "private_key": self.private_key})

    def _make_key_pair(self) -> None:
        import pulumi_tls

        pair = pulumi_tls.PrivateKey(
            f"{self._name}-ssh",
            # What every version of Azure's API takes.
            algorithm="RSA",
            rsa_bits=4096,
            opts=child(self),
        )
        self.public_key = pair.public_key_openssh.apply(str.strip)
        self.private_key = pulumi.Output.secret(pair.private_key_openssh)

    def scale_set_identity(self) -> compute.VirtualMachineScaleSetIdentityArgs:
        """The identity block of a scale set."""
        return compute.VirtualMachineScaleSetIdentityArgs(**self._identity())

    def machine_identity(self) -> compute.VirtualMachineIdentityArgs:
        """The identity block of a virtual machine."""
        return compute.VirtualMachineIdentityArgs(**self._identity())

    def _identity(self) -> dict[str, Any]:
        if self._identity_id is not None:
            return {
                "type": compute.ResourceIdentityType.USER_ASSIGNED,
                "user_assigned_identities": [self._identity_id],
            }
        return {"type": compute.ResourceIdentityType.SYSTEM_ASSIGNED}

    def assign_roles(self, nodes: pulumi.CustomResource, name: str) -> None:
        """Let the nodes do what is asked for, with `nodes` alone: a scale set, or one machine. `name` is its name."""
        if self.principal_id is None:
            return
        for purpose, role in self._roles.items():
            authorization.RoleAssignment(
                f"{name}-{purpose}",
                scope=nodes.id,
                principal_id=self.principal_id,
                # Without it the assignment fails until the new identity is known everywhere.
                principal_type=authorization.PrincipalType.SERVICE_PRINCIPAL,
                role_definition_id=nodes.id.apply(partial(_definition, role)),
                opts=child(self),
            )


def _definition(role: str, resource_id: str) -> str:
    """The role definition's id in the subscription of a resource."""
    subscription = resource_id.split("/")[2]
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
