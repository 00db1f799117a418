"""The judge refuses what is wrong in a request of the private link."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.fidelity.azure import matrix, sdk_models
from tests.fidelity.azure.to_arm import Request, request_of

Edit = Callable[[dict[str, Any]], object]


def _request(kind: str, edit: Edit) -> Request:
    made = matrix.recorded(matrix.link_cases()[0])
    request = request_of(next(one for one in made.custom if one.type.endswith(f":{kind}")))
    assert request is not None
    body = copy.deepcopy(request.body)
    edit(body)
    return replace(request, body=body)


@pytest.mark.parametrize(
    ("kind", "edit", "where", "says"),
    [
        (
            "ExpressRouteCircuit",
            lambda body: body["sku"].update(tier="Basics"),
            "sku.tier",
            "'Basics' is not one of the 4 values of ExpressRouteCircuitSkuTier",
        ),
        (
            "ExpressRouteCircuit",
            lambda body: body["properties"]["serviceProviderProperties"].update(bandwidth=1),
            "properties.serviceProviderProperties.bandwidth",
            "is unknown",
        ),
        (
            "ExpressRouteCircuitPeering",
            lambda body: body["properties"].update(vlanId="300"),
            "properties.vlanId",
            "'300' is not of type int",
        ),
        (
            "VirtualNetworkGateway",
            lambda body: body["properties"]["sku"].update(name="ErGw9AZ"),
            "properties.sku.name",
            "'ErGw9AZ' is not one of the",
        ),
        (
            "VirtualNetworkGatewayConnection",
            lambda body: body["properties"].pop("virtualNetworkGateway1"),
            "properties.virtualNetworkGateway1",
            "is missing",
        ),
    ],
)
def test_a_wrong_place_type_or_value_is_refused(kind: str, edit: Edit, where: str, says: str) -> None:
    found = [(one.where, one.says) for one in sdk_models.problems(_request(kind, edit))]
    assert len(found) == 1
    assert found[0][0] == f"{kind} {where}"
    assert found[0][1].startswith(says)


def test_what_is_right_is_taken() -> None:
    made = matrix.recorded(matrix.link_cases()[0])
    kinds = {one.type.rpartition(":")[2] for one in made.custom}
    assert {"ExpressRouteCircuit", "ExpressRouteCircuitPeering", "VirtualNetworkGateway"} <= kinds
    assert sdk_models.problems(_request("ExpressRouteCircuitPeering", lambda body: None)) == []
