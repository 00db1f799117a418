"""How a person gets into a node, and who a node is to Azure.

Creates: an SSH key pair where none is given (its private half is a secret of the stack). `let_find_peers` creates the
role assignment with which the nodes of a fleet read their own scale set.
"""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_azure_native import authorization, compute

from gpu_fabric.components.azure.limits import READER
from gpu_fabric.components.azure.settings import Access
from gpu_fabric.components.component import child


class AzureNodeAccess(pulumi.ComponentResource):
    """An SSH public key, given or made; and the nodes' identity. There is never a password."""

    public_key: pulumi.Output[str]
    private_key: pulumi.Output[str] | None
    """In OpenSSH's format, a secret; None where the public key was given."""

    def __init__(self, name: str, access: Access, *, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-fabric:index:AzureNodeAccess", name, None, opts)
        self._name, self._access = name, access
        self.private_key = None
        if access.ssh_public_key is not None:
            self.public_key = pulumi.Output.from_input(access.ssh_public_key)
        else:
            import pulumi_tls

            pair = pulumi_tls.PrivateKey(
                f"{name}-ssh",
                # What every version of Azure's API takes.
                algorithm="RSA",
                rsa_bits=4096,
                opts=child(self),
            )
            self.public_key = pair.public_key_openssh.apply(str.strip)
            self.private_key = pulumi.Output.secret(pair.private_key_openssh)
        self.register_outputs({"public_key": self.public_key, "private_key": self.private_key})

    def scale_set_identity(self) -> compute.VirtualMachineScaleSetIdentityArgs:
        """The identity block of a scale set."""
        return compute.VirtualMachineScaleSetIdentityArgs(**self._identity())

    def machine_identity(self) -> compute.VirtualMachineIdentityArgs:
        """The identity block of a virtual machine."""
        return compute.VirtualMachineIdentityArgs(**self._identity())

    def _identity(self) -> dict[str, Any]:
        if self._access.identity_id is not None:
            return {
                "type": compute.ResourceIdentityType.USER_ASSIGNED,
                "user_assigned_identities": [self._access.identity_id],
            }
        return {"type": compute.ResourceIdentityType.SYSTEM_ASSIGNED}

    def let_find_peers(
        self, scale_set: compute.VirtualMachineScaleSet, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str | None] | None:
        """Let the scale set read itself; the id of its own identity, or None where the identity is the user's."""
        if self._access.identity_id is not None:
            return None
        principal = scale_set.identity.apply(lambda identity: identity.principal_id if identity else None)
        if self._access.find_peers:
            authorization.RoleAssignment(
                f"{self._name}-find-peers",
                scope=scale_set.id,
                principal_id=principal,
                # Without it the assignment fails until the new identity is known everywhere.
                principal_type=authorization.PrincipalType.SERVICE_PRINCIPAL,
                role_definition_id=scale_set.id.apply(_reader),
                opts=opts,
            )
        return principal


def _reader(resource_id: str) -> str:
    """The role definition's id in the subscription of a resource."""
    subscription = resource_id.split("/")[2]
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{READER}"
