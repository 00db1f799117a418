"""The private link's requests to Equinix Fabric, judged by Equinix's own SDK."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.components.recorder import Declared
from tests.components.test_interconnect import link
from tests.fidelity.equinix_models import BODIES, body_of, problems

ROUTER, CONNECTION, PROTOCOL = BODIES
CASES: Mapping[str, dict[str, Any]] = {
    "one of everything": {},
    "two of everything, a key of one's own": {"redundancy": "circuit", "bgpKeyFrom": "bgpKey"},
    "small, without failure detection": {"bandwidthMbps": 50, "bfd": False},
}


def declared(case: str) -> list[Declared]:
    return [one for one in link(CASES[case]).custom if one.type.startswith("equinix:")]


@pytest.mark.parametrize("case", CASES)
def test_every_request_is_one_that_equinix_describes(case: str) -> None:
    asked = declared(case)
    assert {one.type for one in asked} == set(BODIES)
    assert [(one.name, said) for one in asked for said in problems(one.type, body_of(one))] == []


def _changed(body: Mapping[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    changed = copy.deepcopy(dict(body))
    change(changed)
    return changed


@pytest.mark.parametrize(
    ("type_", "change", "says"),
    [
        (ROUTER, lambda body: body.update(type="XF_GATEWAY"), "XF_GATEWAY"),
        (ROUTER, lambda body: body["package"].update(code="LARGE"), "LARGE"),
        (ROUTER, lambda body: body.pop("location"), "location"),
        (CONNECTION, lambda body: body.update(bandwidth="10000"), "bandwidth"),
        (CONNECTION, lambda body: body.update(speed=1), "speed: is unknown"),
        (
            CONNECTION,
            lambda body: body["zSide"]["accessPoint"].update(sellerregion="us-east-1"),
            "zSide.accessPoint.sellerregion: is unknown",
        ),
        (CONNECTION, lambda body: body["aSide"]["accessPoint"].update(type="ROUTER"), "ROUTER"),
        (PROTOCOL, lambda body: body.update(type="STATIC"), "STATIC"),
    ],
)
def test_the_models_refuse_what_is_wrong(
    type_: str, change: Callable[[dict[str, Any]], object], says: str
) -> None:
    good = next(body_of(one) for one in declared("one of everything") if one.type == type_)
    assert problems(type_, good) == []
    assert says in " ".join(problems(type_, _changed(good, change)))
