"""The judge refuses what is wrong: an unknown property, a wrong type, a value beyond its enumeration or limit."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.components.recorder import Declared, Recording, record_azure_cluster
from tests.fidelity.azure import matrix, sdk_models
from tests.fidelity.azure.to_arm import Request, request_of
from tests.fidelity.translation import UntranslatedError

Edit = Callable[[dict[str, Any]], object]
_SCALE_SET_PROFILE = "VirtualMachineScaleSet properties.virtualMachineProfile"


@functools.cache
def _recordings() -> tuple[Recording, ...]:
    """All types of resources, with a disk whose size the models' documentation does not call too large."""
    small = {"vm_size": matrix.PLAIN_SIZE, "nodes": 2, "root_volume": {"size_gib": 128}}
    return (
        record_azure_cluster(
            {
                **small,
                "network": {"bastion": True},
                "placement": {"group": "create"},
                "access": {"find_peers": True},
            }
        ),
        record_azure_cluster({**small, "nodes_as": "instances"}),
    )


def _request(kind: str, edit: Edit | None = None) -> Request:
    declared = [one for recording in _recordings() for one in recording.custom]
    request = request_of(next(one for one in declared if one.type.endswith(f":{kind}")))
    assert request is not None
    body = copy.deepcopy(request.body)
    if edit is not None:
        edit(body)
    return replace(request, body=body)


def _properties(**values: Any) -> Edit:
    return lambda body: body["properties"].update(values)


def _profile(name: str, **values: Any) -> Edit:
    return lambda body: body["properties"]["virtualMachineProfile"][name].update(values)


def _rule(**values: Any) -> Edit:
    return lambda body: body["properties"]["securityRules"][0]["properties"].update(values)


def _without(*path: str) -> Edit:
    def edit(body: Any) -> None:
        *outer, last = path
        for step in outer:
            body = body[step]
        del body[last]

    return edit


def _interface(body: dict[str, Any]) -> dict[str, Any]:
    profile = body["properties"]["virtualMachineProfile"]["networkProfile"]
    return profile["networkInterfaceConfigurations"][0]


@pytest.mark.parametrize(
    "kind",
    ["VirtualMachineScaleSet", "NetworkInterface", "NetworkSecurityGroup", "BastionHost", "RoleAssignment"],
)
def test_what_we_send_is_accepted(kind: str) -> None:
    request = _request(kind)
    assert sdk_models.problems(request) == []
    assert sdk_models.lost_in_sending(request) == []


@pytest.mark.parametrize(
    ("kind", "edit", "where", "says"),
    [
        # Unknown, also by its place or by a letter.
        (
            "VirtualMachineScaleSet",
            lambda body: body.update(singlePlacementGroup=True),
            "VirtualMachineScaleSet singlePlacementGroup",
            "is unknown",
        ),
        (
            "VirtualMachineScaleSet",
            lambda body: _interface(body).update(enableAcceleratedNetworking=True),
            f"{_SCALE_SET_PROFILE}.networkProfile.networkInterfaceConfigurations[].enableAcceleratedNetworking",
            "is unknown",
        ),
        (
            "NatGateway",
            lambda body: body["properties"].update(
                publicIPAddresses=body["properties"].pop("publicIpAddresses")
            ),
            "NatGateway properties.publicIPAddresses",
            "is unknown",
        ),
        # Required.
        ("VirtualMachine", _without("location"), "VirtualMachine location", "is missing"),
        (
            "VirtualMachineScaleSet",
            lambda body: _interface(body).pop("name"),
            f"{_SCALE_SET_PROFILE}.networkProfile.networkInterfaceConfigurations[].name",
            "is missing",
        ),
        (
            "RoleAssignment",
            _without("properties", "principalId"),
            "RoleAssignment properties.principalId",
            "is missing",
        ),
        # Read-only.
        (
            "VirtualMachineScaleSet",
            _properties(provisioningState="Succeeded"),
            "VirtualMachineScaleSet properties.provisioningState",
            "is read-only",
        ),
        ("AvailabilitySet", lambda body: body.update(id="/x"), "AvailabilitySet id", "is read-only"),
        # Types.
        (
            "VirtualMachineScaleSet",
            _properties(overprovision="false"),
            "VirtualMachineScaleSet properties.overprovision",
            "'false' is not of type bool",
        ),
        (
            "VirtualMachineScaleSet",
            lambda body: body["sku"].update(capacity="2"),
            "VirtualMachineScaleSet sku.capacity",
            "'2' is not of type int",
        ),
        (
            "VirtualMachineScaleSet",
            _properties(platformFaultDomainCount=True),
            "VirtualMachineScaleSet properties.platformFaultDomainCount",
            "True is not of type int",
        ),
        (
            "VirtualMachineScaleSet",
            lambda body: body.update(zones="1"),
            "VirtualMachineScaleSet zones",
            "'1' is not a list",
        ),
        (
            "VirtualMachineScaleSet",
            lambda body: body["identity"].update(userAssignedIdentities=["/x"]),
            "VirtualMachineScaleSet identity.userAssignedIdentities",
            "['/x'] is not an object",
        ),
        ("NatGateway", _properties(subnet="/x"), "NatGateway properties.subnet", "is unknown"),
        (
            "Subnet",
            _properties(natGateway="/x"),
            "Subnet properties.natGateway",
            "'/x' is not an object",
        ),
        (
            "PublicIPAddress",
            lambda body: body.update(tags={"n": 1}),
            "PublicIPAddress tags.*",
            "1 is not of type str",
        ),
        # Enumerations, to the letter.
        (
            "VirtualMachineScaleSet",
            _properties(orchestrationMode="uniform"),
            "VirtualMachineScaleSet properties.orchestrationMode",
            "'uniform' is not one of the 2 values of OrchestrationMode",
        ),
        (
            "VirtualMachineScaleSet",
            _properties(scaleInPolicy={"rules": ["NewestNode"]}),
            "VirtualMachineScaleSet properties.scaleInPolicy.rules[]",
            "'NewestNode' is not one of the 3 values of VirtualMachineScaleSetScaleInRules",
        ),
        (
            "NetworkSecurityGroup",
            _rule(protocol="TCP"),
            "NetworkSecurityGroup properties.securityRules[].properties.protocol",
            "'TCP' is not one of the 6 values of SecurityRuleProtocol",
        ),
        (
            "RoleAssignment",
            _properties(principalType="ManagedIdentity"),
            "RoleAssignment properties.principalType",
            "'ManagedIdentity' is not one of the 5 values of PrincipalType",
        ),
        # Limits.
        (
            "BastionHost",
            _properties(scaleUnits=51),
            "BastionHost properties.scaleUnits",
            "51 is more than 50",
        ),
        (
            "BastionHost",
            _properties(scaleUnits=1),
            "BastionHost properties.scaleUnits",
            "1 is less than 2",
        ),
        # Limits that stand in the documentation only.
        (
            "VirtualMachineScaleSet",
            _profile("osProfile", computerNamePrefix="a" * 16),
            f"{_SCALE_SET_PROFILE}.osProfile.computerNamePrefix",
            "16 characters, 1 to 15 (the property's documentation)",
        ),
        (
            "VirtualMachineScaleSet",
            _profile("osProfile", adminUsername="administrator"),
            f"{_SCALE_SET_PROFILE}.osProfile.adminUsername",
            "'administrator' is disallowed (the property's documentation)",
        ),
        (
            "VirtualMachineScaleSet",
            _profile("osProfile", customData="A" * 87_384),
            f"{_SCALE_SET_PROFILE}.osProfile.customData",
            "65538 bytes, at most 65535 (the property's documentation)",
        ),
        (
            "VirtualMachineScaleSet",
            _profile("osProfile", customData="#cloud-config"),
            f"{_SCALE_SET_PROFILE}.osProfile.customData",
            "is not base64 (the property's documentation)",
        ),
        (
            "VirtualMachine",
            lambda body: body["properties"]["osProfile"].update(computerName="n" * 65),
            "VirtualMachine properties.osProfile.computerName",
            "65 characters, at most 64 (the property's documentation)",
        ),
        (
            "VirtualMachineScaleSet",
            lambda body: body["sku"].update(capacity=101),
            "VirtualMachineScaleSet properties.singlePlacementGroup",
            "101 nodes, at most 100 (the property's documentation)",
        ),
        (
            "VirtualMachineScaleSet",
            lambda body: body["sku"].update(tier="Premium"),
            "VirtualMachineScaleSet sku.tier",
            "'Premium' is not one of Standard, Basic (the property's documentation)",
        ),
        (
            "AvailabilitySet",
            lambda body: body["sku"].update(name="aligned"),
            "AvailabilitySet sku",
            "'aligned' is not one of Classic, Aligned (the property's documentation)",
        ),
        (
            "NetworkSecurityGroup",
            _rule(priority=4097),
            "NetworkSecurityGroup properties.securityRules[].properties.priority",
            "4097 is not between 100 and 4096 (the property's documentation)",
        ),
        (
            "NetworkSecurityGroup",
            _rule(description="d" * 141),
            "NetworkSecurityGroup properties.securityRules[].properties.description",
            "141 characters, at most 140 (the property's documentation)",
        ),
        (
            "NetworkSecurityGroup",
            _rule(destinationPortRange="22-"),
            "NetworkSecurityGroup properties.securityRules[].properties.destinationPortRange",
            "'22-' is neither '*' nor a port or range between 0 and 65535 (the property's documentation)",
        ),
    ],
)
def test_the_model_refuses(kind: str, edit: Edit, where: str, says: str) -> None:
    request = _request(kind, edit)
    sizes = "VirtualMachine properties.hardwareProfile.vmSize"
    assert [one for one in sdk_models.problems(request) if one.where != sizes] == [(where, says)]


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("BastionHost", _properties(scaleUnits=50)),
        ("VirtualMachineScaleSet", _profile("osProfile", computerNamePrefix="a" * 15)),
        ("VirtualMachineScaleSet", _profile("osProfile", customData="A" * 87_380)),
        ("VirtualMachineScaleSet", lambda body: body["sku"].update(capacity=100)),
        (
            "VirtualMachineScaleSet",
            lambda body: body.update(
                sku={**body["sku"], "capacity": 101},
                properties={**body["properties"], "singlePlacementGroup": False},
            ),
        ),
        ("NetworkSecurityGroup", _rule(priority=4096, description="d" * 140, destinationPortRange="0-65535")),
    ],
)
def test_the_model_accepts_what_is_at_the_limit(kind: str, edit: Edit) -> None:
    assert sdk_models.problems(_request(kind, edit)) == []


@pytest.mark.parametrize(
    ("path", "where", "says"),
    [
        (
            {"resource_group_name": "g" * 91},
            "path resource_group_name",
            "91 characters, at most 90",
        ),
        ({"resource_group_name": ""}, "path resource_group_name", "0 characters, at least 1"),
        ({"resource_group_name": "a group"}, "path resource_group_name", "'a group' does not match "),
        (
            {"vm_name": "x"},
            "path",
            "You have passed in kwargs 'vm_name' that are not valid kwargs.",
        ),
    ],
)
def test_a_path_that_the_operation_does_not_have_is_refused(
    path: Mapping[str, str], where: str, says: str
) -> None:
    request = _request("ResourceGroup")
    found = sdk_models.problems(replace(request, path={**request.path, **path}))
    assert any(one.where.endswith(where) and one.says.startswith(says) for one in found)


def test_an_id_that_is_not_the_operations_path_is_refused() -> None:
    request = _request("Subnet")
    elsewhere = replace(request.source, id=request.source.id.replace("virtualNetworks", "networks"))
    assert sdk_models.problems(replace(request, source=elsewhere)) == [
        (
            "Subnet path",
            "'networks' stands in the resource's id where the service's path has 'virtualNetworks'",
        )
    ]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (
            _properties(enableIPForwarding2=True),
            ("NetworkInterface properties.enableIPForwarding2", "is missing"),
        ),
        (
            _properties(enableAcceleratedNetworking="yes"),
            (
                "NetworkInterface",
                "Unable to build a model: Unable to deserialize response data. Data: yes, bool",
            ),
        ),
        (
            lambda body: body["properties"].update(
                EnableAcceleratedNetworking=body["properties"].pop("enableAcceleratedNetworking")
            ),
            ("NetworkInterface properties.EnableAcceleratedNetworking", "is missing"),
        ),
        (
            _properties(macAddress="00-0D-3A-1B-C7-21"),
            ("NetworkInterface properties.macAddress", "is missing"),
        ),
    ],
)
def test_what_the_sdk_would_not_send_as_it_is_shows(edit: Edit, found: tuple[str, str]) -> None:
    assert sdk_models.lost_in_sending(_request("NetworkInterface", edit)) == [found]


@pytest.mark.parametrize(
    ("type_", "inputs", "says"),
    [
        ("azure-native:compute:Disk", {}, "azure-native:compute:Disk"),
        (
            "azure-native:compute:VirtualMachineScaleSet",
            {"priorityMixPolicy": {}},
            "azure-native:compute:VirtualMachineScaleSet.priorityMixPolicy",
        ),
        (
            "azure-native:compute:VirtualMachineScaleSet",
            {"virtualMachineProfile": {"osProfile": {"adminPassword": "x"}}},
            "azure-native:compute:VirtualMachineScaleSet.virtualMachineProfile.osProfile.adminPassword",
        ),
    ],
)
def test_a_type_or_property_without_a_translation_stops_the_test(
    type_: str, inputs: dict[str, Any], says: str
) -> None:
    declared = Declared(type_, "x", inputs, id="/subscriptions/s/x", physical_name="x", urn="", parent="")
    with pytest.raises(UntranslatedError) as refused:
        request_of(declared)
    assert str(refused.value) == says
