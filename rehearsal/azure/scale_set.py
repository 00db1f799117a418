"""Scale sets: a model and as many machines of it as asked for.

A machine keeps the model it was made or upgraded with. With upgrade mode Manual a change of the model changes no
machine there is: each says ``latestModelApplied: false`` until somebody upgrades or reimages it
(compute docs virtual-machine-scale-sets-upgrade-policy.md). The machines are objects of the cloud and no resources of
the program; ``getVirtualMachineScaleSetVM`` reads one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import Refusal
from ..core.resource import Call, Function, Lookup
from . import kinds
from .addresses import free, hold
from .arm import Target, check_zones, find, find_group, guid, link, not_found, now, reference
from .errors import (
    CONFLICT,
    missing,
    not_allowed,
    refusal_text,
    resource_group_not_found,
    rule,
    unchangeable,
)
from .machine import (
    IDENTITY_UNKNOWNS,
    Machine,
    Size,
    allocated,
    check,
    check_offered,
    identity_outputs,
    proximity_group,
)
from .resource import arm_type, at, changed_from

MOST_IN_ONE_PLACEMENT_GROUP = 100
"""compute docs virtual-machines/setup-infiniband.md: 100 by default, up to 300 by a request to support: a switch
(``quota``, singlePlacementGroup)."""
MOST = 1000
"""compute docs virtual-machine-scale-sets-placement-groups.md: over several placement groups."""
FAULT_DOMAINS = (1, 2, 3, 5)
"""compute docs virtual-machine-scale-sets-manage-fault-domains.md: 2, 3 or 5 fixed ones, 1 for the most spread."""
_MODES = ("Uniform", "Flexible")
_UPGRADES = ("Automatic", "Manual", "Rolling")
_ORCHESTRATION = "compute docs virtual-machine-scale-sets-orchestration-modes.md"
_PLACEMENT = "compute docs virtual-machine-scale-sets-placement-groups.md"
_FIXED = (
    "orchestrationMode",
    "platformFaultDomainCount",
    "virtualMachineProfile.priority",
    "virtualMachineProfile.evictionPolicy",
    "virtualMachineProfile.osProfile.adminUsername",
    "virtualMachineProfile.osProfile.computerNamePrefix",
    "virtualMachineProfile.osProfile.linuxConfiguration.disablePasswordAuthentication",
    "virtualMachineProfile.storageProfile.osDisk.managedDisk.storageAccountType",
)
"""What no update changes (terraform-provider-azurerm linux_virtual_machine_scale_set_resource.go, ForceNew, with the
API's answers quoted there)."""
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def put(call: Call, target: Target) -> dict[str, Any]:
    inputs, tx = call.inputs, call.tx
    profile = inputs.get("virtualMachineProfile") or {}
    if call.old:
        _check_change(call)
    mode = inputs.get("orchestrationMode", "Uniform")
    if mode not in _MODES:
        raise not_allowed(mode, "orchestrationMode", _MODES)
    name, capacity = at(inputs, "sku.name"), at(inputs, "sku.capacity")
    if name is None:
        raise missing("sku.name")
    if capacity is None:
        raise missing("sku.capacity")
    single = inputs.get("singlePlacementGroup", mode == "Uniform")
    size = check(_machine(name, profile), target)
    _check_mode(inputs, mode, single, size)
    _check_capacity(call, target, capacity, single)
    check_zones(inputs.get("zones"), target.location, target.id)
    check_offered(call, size, target.location)
    group = proximity_group(tx, inputs.get("proximityPlacementGroup"), target, size, inputs.get("zones"))
    if at(profile, "capacityReservation.capacityReservationGroup") and (single or group):
        raise rule(
            "A capacity reservation group excludes singlePlacementGroup and a proximity placement group.",
            "compute docs virtual-machines/capacity-reservation-overview.md",
        )
    subnets, links = _network(call, target, profile, size)
    link(tx, target.id, [*links, *([(group["id"], "proximityPlacementGroup")] if group else [])])
    state = _scale(call, target, size, capacity, subnets, group is not None)
    identity = identity_outputs(call, target, at(call.old, "identity.principalId") or guid(tx, "principal"))
    return {
        "provisioningState": state,
        "orchestrationMode": mode,
        "singlePlacementGroup": single,
        "overprovision": inputs.get("overprovision", mode == "Uniform"),
        "sku": {"tier": "Standard", **inputs["sku"], "name": size.name},
        **({"identity": identity} if identity else {}),
    }


def _machine(size: str, profile: Mapping[str, Any]) -> Machine:
    return Machine(
        size=size,
        os=profile.get("osProfile") or {},
        storage=profile.get("storageProfile") or {},
        security=profile.get("securityProfile") or {},
        priority=profile.get("priority") or "Regular",
        eviction=profile.get("evictionPolicy"),
        user_data=profile.get("userData"),
        capacity_reservation=profile.get("capacityReservation"),
        max_price=at(profile, "billingProfile.maxPrice"),
        name_input="computerNamePrefix",
    )


def _check_change(call: Call) -> None:
    for path in changed_from(call, *_FIXED):
        raise unchangeable(path.removeprefix("virtualMachineProfile."))
    if call.inputs.get("singlePlacementGroup") and call.old.get("singlePlacementGroup") is False:
        raise rule(
            "singlePlacementGroup can be changed from true to false and not back.",
            _PLACEMENT,
            code="OperationNotAllowed",
            status=CONFLICT,
        )
    if list(call.inputs.get("zones") or []) != list(call.old.get("zones") or []):
        raise unchangeable("zones")
    old, new = (at(each, "proximityPlacementGroup.id", "") for each in (call.old, call.inputs))
    if old.casefold() != new.casefold() and call.tx.count(kinds.INSTANCE, parentId=call.id):
        raise rule(
            "The proximity placement group of a scale set can be changed only with its machines deallocated.",
            "compute docs virtual-machines/co-location.md",
            code="OperationNotAllowed",
            status=CONFLICT,
        )


def _check_mode(inputs: Mapping[str, Any], mode: str, single: bool, size: Size) -> None:
    domains = inputs.get("platformFaultDomainCount")
    if domains is not None and not FAULT_DOMAINS[0] <= domains <= FAULT_DOMAINS[-1]:
        raise Refusal(
            "InvalidParameter",
            f"The specified fault domain count {domains} must fall in the range {FAULT_DOMAINS[0]} to "
            f"{FAULT_DOMAINS[-1]}.",
        )
    if domains is not None and domains not in FAULT_DOMAINS:
        raise rule(
            f"platformFaultDomainCount {domains} is none of {', '.join(map(str, FAULT_DOMAINS))}.",
            "compute docs virtual-machine-scale-sets-manage-fault-domains.md",
        )
    upgrade = at(inputs, "upgradePolicy.mode")
    if upgrade is None and mode == "Uniform":
        raise missing("upgradePolicy")
    if upgrade is not None and upgrade not in _UPGRADES:
        raise not_allowed(upgrade, "upgradePolicy.mode", _UPGRADES)
    if mode == "Flexible":
        if single:
            raise rule("singlePlacementGroup true is not for orchestrationMode Flexible.", _ORCHESTRATION)
        if inputs.get("overprovision"):
            raise rule("overprovision is not for orchestrationMode Flexible.", _ORCHESTRATION)
        if domains is None:
            raise missing("platformFaultDomainCount")
    if size.vertical_connect and (single or inputs.get("placement") or inputs.get("proximityPlacementGroup")):
        raise rule(
            f"Size {size.name} is placed by Vertical Connect: singlePlacementGroup has to be false, and no other "
            f"placement can be given.",
            "Azure/AgentBaker, end-to-end test of GB300",
        )
    if single and len(inputs.get("zones") or []) > 1:
        raise rule(
            f"A scale set in one placement group can be in one zone, not in {', '.join(inputs['zones'])}.",
            _PLACEMENT,
        )


def _check_capacity(call: Call, target: Target, capacity: int, single: bool) -> None:
    granted = call.faults.limit("singlePlacementGroup", MOST_IN_ONE_PLACEMENT_GROUP)
    most = granted if single else MOST
    if capacity > most:
        # terraform-azurerm-nomad#6
        raise Refusal(
            "OperationNotAllowed",
            f"Unable to create or update VirtualMachineScaleSet '{target.name}' as it exceeds the total limit of "
            f"'{most}' Virtual Machine instances.",
            status=CONFLICT,
        )
    if capacity < 0:
        raise Refusal("InvalidParameter", "The value of parameter sku.capacity is invalid.")


def _network(
    call: Call, target: Target, profile: Mapping[str, Any], size: Size
) -> tuple[list[tuple[str, str, dict[str, Any]]], list[tuple[str, str]]]:
    """The (interface, ip configuration, subnet) of every address a machine takes, and what the set refers to."""
    interfaces = at(profile, "networkProfile.networkInterfaceConfigurations", [])
    if not interfaces:
        raise missing("networkProfile.networkInterfaceConfigurations")
    if len(interfaces) > size.interfaces:
        raise rule(
            f"Size {size.name} takes {size.interfaces} network interfaces, not {len(interfaces)}.",
            "compute docs virtual-machines/sizes",
        )
    primary = [each for each in interfaces if each.get("primary")]
    if len(primary) != 1 and len(interfaces) > 1:
        raise rule(
            f"One of the {len(interfaces)} network interfaces has to be the primary, not {len(primary)}.",
            "Microsoft.Compute 2024-11-01, VirtualMachineScaleSetNetworkConfigurationProperties.primary",
        )
    found: list[tuple[str, str, dict[str, Any]]] = []
    links: list[tuple[str, str]] = []
    for interface in interfaces:
        group = reference(call.tx, kinds.SECURITY_GROUP, interface.get("networkSecurityGroup"), target)
        if group:
            links.append((group["id"], "networkSecurityGroup"))
        for configuration in interface.get("ipConfigurations") or []:
            subnet = reference(call.tx, kinds.SUBNET, configuration.get("subnet"), target)
            if subnet is None:
                raise missing("ipConfigurations.subnet")
            vnet = call.tx.need(kinds.VIRTUAL_NETWORK.token, subnet["parentId"])
            reference(call.tx, kinds.VIRTUAL_NETWORK, {"id": vnet["id"]}, target)
            found.append((interface["name"], configuration["name"], subnet))
    if not found:
        raise missing("networkInterfaceConfigurations.ipConfigurations")
    return found, links


def _scale(
    call: Call,
    target: Target,
    size: Size,
    capacity: int,
    subnets: list[tuple[str, str, dict[str, Any]]],
    placed: bool,
) -> str:
    """Bring the machines to the wanted number and mark those behind the model; the provisioning state."""
    tx = call.tx
    instances = dict(tx.find(kinds.INSTANCE, parentId=target.id))
    model = {"profile": call.inputs.get("virtualMachineProfile"), "size": size.name}
    if call.old:
        before = {"profile": call.old.get("virtualMachineProfile"), "size": at(call.old, "sku.name")}
        if model != before:
            upgraded = at(call.inputs, "upgradePolicy.mode") in ("Automatic", "Rolling")
            for id, instance in instances.items():
                changed = {"size": size.name} if upgraded else {}
                tx.put(kinds.INSTANCE, id, {**instance, **changed, "latestModelApplied": upgraded})
    missing_ones = capacity - len(instances)
    if missing_ones < 0:
        # The newest go first (virtual-machine-scale-sets-scale-in-policy.md, Default: the highest instance id).
        newest = sorted(instances, key=lambda id: -int(instances[id]["instanceId"]))
        for id in newest[:-missing_ones]:
            tx.remove(kinds.INSTANCE, id)
            for held, _ in tx.find(kinds.IP_CONFIGURATION, parentId=target.id):
                if held.startswith(f"{id}/"):
                    tx.remove(kinds.IP_CONFIGURATION, held)
        return "Succeeded"
    granted, failure = allocated(call, size, target.location, missing_ones, placed)
    _start(call, target, size, granted, subnets)
    if failure is not None:
        call.reasons.append(refusal_text(None, "create", "", failure))
        return "Failed"
    return "Succeeded"


def _start(
    call: Call, target: Target, size: Size, count: int, subnets: list[tuple[str, str, dict[str, Any]]]
) -> None:
    if not count:
        return
    tx = call.tx
    last = tx.next(f"instance/{target.id}", count)
    prefix = at(call.inputs, "virtualMachineProfile.osProfile.computerNamePrefix")
    domains = call.inputs.get("platformFaultDomainCount") or 1
    zones = call.inputs.get("zones") or []
    taken = [free(tx, subnet, count * _times(subnets, subnet["id"])) for _, _, subnet in subnets]
    positions: dict[str, int] = {}
    for number in range(last - count, last):
        id = f"{target.id}/virtualMachines/{number}"
        addresses = []
        for (interface, configuration, subnet), pool in zip(subnets, taken, strict=True):
            position = positions.get(subnet["id"], 0)
            positions[subnet["id"]] = position + 1
            addresses.append(
                (
                    f"{id}/networkInterfaces/{interface}/ipConfigurations/{configuration}",
                    subnet["id"],
                    pool[position],
                )
            )
        hold(tx, target.id, addresses)
        tx.put(
            kinds.INSTANCE,
            id,
            {
                "id": id,
                "instanceId": str(number),
                "name": f"{target.name}_{number}",
                "parentId": target.id,
                "vmId": guid(tx, "vm"),
                "computerName": f"{prefix}{_base36(number)}",
                "size": size.name,
                "location": target.location,
                "zones": [zones[number % len(zones)]] if zones else [],
                "platformFaultDomain": number % domains,
                "latestModelApplied": True,
                "privateIPAddress": addresses[0][2],
                "timeCreated": now(),
            },
        )


def _times(subnets: Iterable[tuple[str, str, dict[str, Any]]], subnet_id: str) -> int:
    return sum(subnet["id"] == subnet_id for _, _, subnet in subnets)


def _base36(number: int) -> str:
    """A machine's suffix: six digits to the base 36 (virtual-machine-scale-sets-instance-ids.md)."""
    digits = ""
    for _ in range(6):
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits


def remove(call: Call, target: Target) -> None:
    call.tx.remove_all(kinds.INSTANCE, parentId=target.id)


def look_up_instance(lookup: Lookup) -> dict[str, Any]:
    args, tx, kind = lookup.args, lookup.tx, kinds.SCALE_SET
    group = find_group(tx, args["resourceGroupName"])
    if group is None:
        raise resource_group_not_found(args["resourceGroupName"])
    found = find(
        tx, kind, f"{group['id']}/providers/{kind.namespace}/{kind.path[0]}/{args['vmScaleSetName']}"
    )
    if found is None:
        raise not_found(kind, args["vmScaleSetName"], args["resourceGroupName"])
    instance = tx.get(kinds.INSTANCE, f"{found['id']}/virtualMachines/{args['instanceId']}")
    if instance is None:
        raise Refusal("NotFound", f"The VM {args['instanceId']} cannot be found.", status=404)
    interfaces = at(found, "virtualMachineProfile.networkProfile.networkInterfaceConfigurations")
    return {
        "azureApiVersion": kind.api,
        "id": instance["id"],
        "instanceId": instance["instanceId"],
        "name": instance["name"],
        "type": f"{kind.type}/virtualMachines",
        "location": instance["location"],
        "zones": instance["zones"],
        "vmId": instance["vmId"],
        "latestModelApplied": instance["latestModelApplied"],
        "modelDefinitionApplied": "VirtualMachineScaleSet",
        "provisioningState": "Succeeded",
        "timeCreated": instance["timeCreated"],
        "sku": {"name": instance["size"], "tier": "Standard"},
        "osProfile": {"computerName": instance["computerName"]},
        "networkProfileConfiguration": {"networkInterfaceConfigurations": interfaces},
        "networkProfile": {
            "networkInterfaces": [
                {"id": f"{instance['id']}/networkInterfaces/{each['name']}"} for each in interfaces
            ]
        },
    }


TYPES = (
    arm_type(
        kinds.SCALE_SET,
        "scale set",
        put,
        remove=remove,
        hidden=frozenset(
            {
                "virtualMachineProfile.osProfile.customData",
                "virtualMachineProfile.osProfile.adminPassword",
                "virtualMachineProfile.userData",
            }
        ),
        unknown_within={"identity": IDENTITY_UNKNOWNS},
    ),
)
FUNCTIONS = (Function("azure-native:compute:getVirtualMachineScaleSetVM", look_up_instance),)
