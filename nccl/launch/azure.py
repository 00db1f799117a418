"""The live members of a scale set on Azure. Needs the SDK (`pip install gpu-fabric[live-azure]`)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from gpu_fabric.nccl.launch.aws import LiveError
from gpu_fabric.nccl.launch.nodes import LaunchNode


def _clients(subscription: str) -> tuple[Any, Any]:
    try:
        credential = import_module("azure.identity").DefaultAzureCredential()
        compute = import_module("azure.mgmt.compute").ComputeManagementClient
        network = import_module("azure.mgmt.network").NetworkManagementClient
    except ModuleNotFoundError:
        raise LiveError(
            "the Azure SDK is not installed: pip install 'gpu-fabric[live-azure]', or give a file of nodes"
        ) from None
    return compute(credential, subscription), network(credential, subscription)


def members(
    scale_set: str,
    resource_group: str,
    *,
    subscription: str,
    slots: int | None = None,
    compute: Any = None,
    network: Any = None,
) -> list[LaunchNode]:
    """Running instances of a Uniform scale set, with the primary address of their primary interface.

    Raises `LiveError` where the set is unknown, the login is missing, or nothing runs.
    """
    try:
        if compute is None or network is None:
            compute, network = _clients(subscription)
        addresses = _addresses(network, resource_group, scale_set)
        nodes = [*_running(compute, resource_group, scale_set, addresses, slots)]
    except Exception as error:
        if type(error).__module__.startswith(("azure.", "msrest")):
            raise LiveError(f"Azure: {(str(error) or type(error).__name__).splitlines()[0]}") from None
        raise
    if not nodes:
        raise LiveError(f"no instance of {scale_set} is running: start it, or look at its instances' status")
    return nodes


def _addresses(network: Any, group: str, scale_set: str) -> dict[str, str]:
    """Instance's resource id, lower case → primary private address."""
    found = {}
    for interface in network.network_interfaces.list_virtual_machine_scale_set_network_interfaces(
        group, scale_set
    ):
        if not interface.primary or interface.virtual_machine is None:
            continue
        for configuration in interface.ip_configurations:
            if configuration.primary and configuration.private_ip_address:
                found[interface.virtual_machine.id.lower()] = configuration.private_ip_address
    return found


def _running(
    compute: Any, group: str, scale_set: str, addresses: dict[str, str], slots: int | None
) -> Iterator[LaunchNode]:
    from gpu_fabric.nccl.hardware.plain import plain_sizes

    for machine in compute.virtual_machine_scale_set_vms.list(group, scale_set, expand="instanceView"):
        states = {status.code for status in (machine.instance_view.statuses if machine.instance_view else ())}
        address = addresses.get(machine.id.lower())
        if "PowerState/running" not in states or address is None:
            continue
        size = plain_sizes().get(machine.sku.name if machine.sku else "")
        yield LaunchNode(
            address,
            name=machine.os_profile.computer_name if machine.os_profile else "",
            cloud="azure",
            id=machine.id,
            slots=slots or (size.gpu.count if size else 8),
        )
