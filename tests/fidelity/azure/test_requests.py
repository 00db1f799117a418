"""Every request of the matrix is one that the Azure SDK's models of the services describe, but for the differences that
are listed with their reason; and each is judged by the API version that the provider sends."""

from __future__ import annotations

import importlib
import re
import typing
from pathlib import Path

import pytest

from gpu_fabric.components.azure import limits
from gpu_fabric.nccl.bootstrap import AZURE_CUSTOM_DATA_LIMIT
from tests.components.recorder import Recording
from tests.fidelity.azure import matrix, sdk_models
from tests.fidelity.azure.differences import OTHER_VERSIONS, listed
from tests.fidelity.azure.to_arm import NOT_SENT, RESOURCES, Request, request_of

PAGE = Path(__file__).parents[3] / "docs" / "azure.md"


def _requests(recordings: list[Recording]) -> list[Request]:
    requests = [request_of(declared) for each in recordings for declared in each.custom]
    return [request for request in requests if request is not None]


@pytest.mark.parametrize("part", matrix.PARTS)
def test_every_request_is_one_that_the_services_models_describe(part: str) -> None:
    requests = _requests([matrix.recorded(case) for case in matrix.PARTS[part]()])
    found = {tuple(problem) for request in requests for problem in sdk_models.problems(request)}
    assert found == listed(part)
    assert [problem for request in requests for problem in sdk_models.lost_in_sending(request)] == []


def test_the_matrix_has_every_type_and_property_that_the_tables_translate() -> None:
    titles = {
        "fleet, network nat and bastion",
        "instances, network adopted",
        "instances, placement adopted",
        "fleet, placement created with intent, in a zone",
        "fleet, nodes find each other, as many as one set takes",
        *matrix.LINKS,
    }
    cases = [case for part in matrix.PARTS.values() for case in part() if case.title in titles]
    assert {case.title for case in cases} == titles
    declared = [one for case in cases for one in matrix.recorded(case).custom]
    assert {one.type for one in declared} == {*RESOURCES, *NOT_SENT}
    assert {(one.type, name) for one in declared if one.type in RESOURCES for name in one.inputs} == {
        (type_, name) for type_, resource in RESOURCES.items() for name in resource.properties
    }


def test_the_matrix_has_every_size_in_every_capacity_that_it_can_have() -> None:
    given = [case.settings for size in matrix.sizes() for case in matrix.size_cases(size)]
    asked = {(one["vm_size"], one["nodes_as"], one["capacity"]["kind"]) for one in given}
    assert asked == {
        (size, nodes_as, capacity)
        for size in (
            "Standard_ND96asr_v4",
            "Standard_ND96amsr_A100_v4",
            "Standard_ND96isr_H100_v5",
            "Standard_ND96isr_H200_v5",
        )
        for nodes_as, capacity in (("fleet", "onDemand"), ("fleet", "spot"), ("instances", "onDemand"))
    }


def _provider_version(type_: str) -> str:
    """The API version that the provider sends, as its SDK says."""
    _, module, name = type_.split(":")
    resource = getattr(importlib.import_module(f"pulumi_azure_native.{module}"), name)
    text = typing.get_overloads(resource.__init__)[0].__doc__ or ""
    found = re.search(r"Uses Azure REST API version (\d{4}-\d\d-\d\d)\.", text)
    assert found is not None, f"{type_} does not say its API version"
    return found[1]


@pytest.mark.parametrize("type_", RESOURCES)
def test_a_type_is_judged_by_the_api_version_that_the_provider_sends_and_the_page_names(type_: str) -> None:
    sent, judged = _provider_version(type_), sdk_models.api_version(type_)
    other = OTHER_VERSIONS.get(type_)
    assert (sent, judged) == ((other.provider, other.judged) if other else (sent, sent))
    service = {"managedidentity": "ManagedIdentity"}.get(
        type_.split(":")[1], type_.split(":")[1].capitalize()
    )
    assert f"Microsoft.{service} {sent}" in PAGE.read_text(encoding="utf-8")


def _demanded(model: str, attribute: str) -> list[tuple[str, ...]]:
    models = importlib.import_module("azure.mgmt.compute.v2024_11_01.models")
    return [numbers for _, numbers in sdk_models.demands(getattr(models, model), attribute)]


def test_our_checks_have_the_limits_that_the_models_documentation_gives() -> None:
    assert (str(limits.SCALE_SET_NODES),) in _demanded("VirtualMachineScaleSet", "single_placement_group")
    for model in ("OSProfile", "VirtualMachineScaleSetOSProfile"):
        assert _demanded(model, "custom_data") == [(str(AZURE_CUSTOM_DATA_LIMIT),)]
        (names,) = next(one for one in _demanded(model, "admin_username") if '"' in one[0])
        assert set(re.findall(r'"([^"]*)"', names)) == limits.RESERVED_USER_NAMES
