"""The real engine against the simulated Azure: order, previews, scaling, refresh, replacement, faults, an empty end."""

from __future__ import annotations

import json

import pytest

from tests.simulated import SimulatedStack

pytestmark = pytest.mark.engine

# A module as somebody would write it by hand: no location anywhere but in the stack file.
HAND_WRITTEN = """
import base64
import pulumi
import pulumi_azure_native as azure
import pulumi_tls as tls

fabric = pulumi.Config("gpu-fabric").require_object("fabric")
group = azure.resources.ResourceGroup("train")
names = {"resource_group_name": group.name}
key = tls.PrivateKey("ssh", algorithm="ED25519")
prefix = azure.network.PublicIPPrefix("out", prefix_length=31, sku={"name": "Standard"}, **names)
gateway = azure.network.NatGateway("out", sku={"name": "Standard"}, public_ip_prefixes=[{"id": prefix.id}], **names)
security = azure.network.NetworkSecurityGroup("nodes", **names)
network = azure.network.VirtualNetwork(
    "net", address_space={"address_prefixes": ["10.0.0.0/16"]}, tags={"note": fabric.get("note", "")}, **names
)
subnet = azure.network.Subnet(
    "gpu",
    virtual_network_name=network.name,
    address_prefix="10.0.0.0/24",
    default_outbound_access=False,
    nat_gateway={"id": gateway.id},
    network_security_group={"id": security.id},
    **names,
)
who = azure.managedidentity.UserAssignedIdentity("who", **names)
near = azure.compute.ProximityPlacementGroup("near", intent={"vm_sizes": [fabric["size"]]}, **names)
nodes = azure.compute.VirtualMachineScaleSet(
    "nodes",
    orchestration_mode="Uniform",
    single_placement_group=True,
    overprovision=False,
    platform_fault_domain_count=1,
    upgrade_policy={"mode": "Manual"},
    proximity_placement_group={"id": near.id},
    identity={"type": "UserAssigned", "user_assigned_identities": [who.id]},
    sku={"name": fabric["size"], "tier": "Standard", "capacity": fabric["nodes"]},
    virtual_machine_profile={
        "os_profile": {
            "computer_name_prefix": "node",
            "admin_username": "azureuser",
            "custom_data": base64.b64encode(fabric.get("script", "").encode()).decode(),
            "linux_configuration": {
                "disable_password_authentication": True,
                "ssh": {
                    "public_keys": [
                        {"path": "/home/azureuser/.ssh/authorized_keys", "key_data": key.public_key_openssh}
                    ]
                },
            },
        },
        "storage_profile": {
            "image_reference": {
                "publisher": "microsoft-dsvm",
                "offer": "ubuntu-hpc",
                "sku": "2204",
                "version": "22.04.2026070100",
            },
            "os_disk": {"create_option": "FromImage", "managed_disk": {"storage_account_type": "Premium_LRS"}},
        },
        "network_profile": {
            "network_interface_configurations": [
                {
                    "name": "eth0",
                    "primary": True,
                    "enable_accelerated_networking": True,
                    "ip_configurations": [{"name": "primary", "subnet": {"id": subnet.id}}],
                }
            ]
        },
    },
    **names,
)
azure.authorization.RoleAssignment(
    "reader",
    scope=group.id,
    principal_id=who.principal_id,
    principal_type="ServicePrincipal",
    role_definition_id="/subscriptions/00000000-0000-0000-0000-000000000000/providers/Microsoft.Authorization/"
    "roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7",
)
pulumi.export("nodes", nodes.id)
pulumi.export("key", key.private_key_openssh)
"""
H100 = {"size": "Standard_ND96isr_H100_v5"}


def configure(stack: SimulatedStack, nodes: int, **more: str) -> None:
    stack.configure({**H100, "nodes": nodes, **more}, **{"azure-native:location": "eastus"})


def machines(stack: SimulatedStack) -> list[int]:
    """The numbers of the scale set's machines."""
    kind = "virtualMachineScaleSets/virtualMachines"
    return [int(each["properties"]["instanceId"]) for each in stack.holdings() if each["kind"] == kind]


def made_new(stack: SimulatedStack) -> list[str]:
    """The names of what a preview would make, delete or replace."""
    done = stack.pulumi("preview", "--json", "--stack", stack.stack)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)["steps"]
    return [each["urn"] for each in steps if each["op"] not in ("same", "update", "read")]


def test_a_hand_written_module_lives_from_a_first_preview_to_an_empty_cloud(simulated: SimulatedStack):
    simulated.program(HAND_WRITTEN)
    configure(simulated, 4)
    simulated.ok("preview")
    simulated.ok("up")
    assert machines(simulated) == [0, 1, 2, 3]
    outputs = simulated.outputs()
    assert outputs["nodes"].startswith(
        "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/train"
    )
    assert outputs["key"] == "[secret]"
    simulated.ok("refresh")
    simulated.ok("preview", "--expect-no-changes")
    configure(simulated, 8)
    assert made_new(simulated) == []
    simulated.ok("up")
    assert machines(simulated) == list(range(8))
    # A new script and a tag on the network change neither machines nor the subnet beside the network.
    configure(simulated, 4, script="#cloud-config\n", note="renamed")
    assert made_new(simulated) == []
    simulated.ok("up")
    assert machines(simulated) == list(range(4))
    stale = [
        each["properties"]["latestModelApplied"]
        for each in simulated.holdings()
        if each["kind"] == "virtualMachineScaleSets/virtualMachines"
    ]
    assert stale == [False] * 4
    simulated.ok("preview", "--expect-no-changes")
    simulated.ok("destroy")
    assert simulated.holdings() == []


def test_a_set_without_capacity_is_kept_half_made_and_filled_by_the_next_up(simulated: SimulatedStack):
    simulated.program(HAND_WRITTEN)
    configure(simulated, 2)
    simulated.simulation.prepare(simulated.engine)
    simulated.simulation.faults.write_text(json.dumps({"capacity": [{"size": "Standard_ND*"}]}))
    failed = simulated.run("up")
    assert failed.returncode != 0
    assert 'Code="AllocationFailed"' in failed.stdout + failed.stderr
    simulated.simulation.faults.unlink()
    simulated.ok("up")
    assert machines(simulated) == [0, 1]
    simulated.ok("destroy")
    assert simulated.holdings() == []
