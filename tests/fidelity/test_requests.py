"""Every request of the matrix is accepted by the service's own model, by CloudFormation and by the instance type's
description, but for the differences that are listed with their reason."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tests.components.recorder import Recording
from tests.fidelity import cloudformation, instance_types, matrix, service_model
from tests.fidelity.differences import Judge, listed
from tests.fidelity.in_moto import account, read_back
from tests.fidelity.to_api import request_of_look_up, requests_of

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def _service_model(recordings: list[Recording]) -> set[tuple[str, str]]:
    requests = [
        *(request for each in recordings for declared in each.custom for request in requests_of(declared)),
        *(request_of_look_up(invoked) for each in recordings for invoked in each.invokes),
    ]
    return {
        (request.operation, problem) for request in requests for problem in service_model.problems(request)
    }


def _instance_types(recordings: list[Recording]) -> set[tuple[str, str]]:
    templates = [requests_of(each.one(LAUNCH_TEMPLATE))[0] for each in recordings]
    data = [template.parameters["LaunchTemplateData"] for template in templates]
    return {
        (f"{one['InstanceType']} {place}", problem)
        for one in data
        for place, problem in instance_types.problems(one)
    }


def _cloudformation(recordings: list[Recording]) -> set[tuple[str, str]]:
    resources = cloudformation.pooled(recordings)
    found = cloudformation.judge(resources, ignored=cloudformation.ABOUT_WHOLE_STACKS)
    return {(one.where, f"{one.rule} {one.says}") for one in found}


def _launch_templates_in_moto(recordings: list[Recording]) -> set[tuple[str, str]]:
    found = set()
    with account() as cloud:
        for template in (each.one(LAUNCH_TEMPLATE) for each in recordings):
            found |= {*cloud.create([template]), *read_back(cloud, template)}
            # All recordings have one name, and a name is taken until its template is gone.
            cloud.client("ec2").delete_launch_template(LaunchTemplateId=cloud.ids[template.id])
    return found


JUDGES: dict[Judge, Callable[[list[Recording]], set[tuple[str, str]]]] = {
    Judge.SERVICE_MODEL: _service_model,
    Judge.INSTANCE_TYPES: _instance_types,
    Judge.CLOUDFORMATION: _cloudformation,
    Judge.MOTO: _launch_templates_in_moto,
}


# One test for all judges: recording a part takes longer than judging it, and workers share no recordings.
@pytest.mark.parametrize("part", matrix.PARTS)
def test_every_request_is_accepted_by_each_third_partys_model(part: str) -> None:
    recordings = [matrix.recorded(case) for case in matrix.PARTS[part]()]
    found = {judge: find(recordings) for judge, find in JUDGES.items()}
    assert found == {judge: listed(judge, part) for judge in JUDGES}


@pytest.mark.parametrize("nodes_as", matrix.NODES_AS)
@pytest.mark.parametrize("network", ["nat", "endpoints"])
def test_a_whole_cluster_is_a_stack_that_cloudformation_accepts(nodes_as: str, network: str) -> None:
    (case,) = (
        case
        for case in matrix.surrounding_cases(nodes_as)
        if case.title == f"{nodes_as} onDemand, network {network}, placement created"
    )
    resources = cloudformation.template(matrix.recorded(case).custom)["Resources"]
    found = {(one.where, f"{one.rule} {one.says}") for one in cloudformation.judge(resources)}
    assert found == listed(Judge.CLOUDFORMATION, f"surroundings of {nodes_as}")


def test_the_matrix_has_every_size_and_layout_and_every_capacity_that_the_size_is_sold_as() -> None:
    given = [case.settings for name in matrix.sizes() for case in matrix.node_cases(name)]
    asked = [
        (one["instance_type"], one["interfaces"], one["nodes_as"], one["capacity"]["kind"]) for one in given
    ]
    assert len(asked) == len(set(asked))
    kinds = set(matrix.CAPACITIES)
    for size, layouts, capacities in (
        ("p4d.24xlarge", {"oneAddress", "allEfa"}, kinds),
        ("p5.48xlarge", {"oneAddress", "maximumIpBandwidth", "allEfa"}, kinds),
        ("p6-b300.48xlarge", {"oneAddress", "maximumIpBandwidth", "allEfa"}, kinds),
        ("g5.48xlarge", {"oneAddress", "allEfa"}, kinds - {"capacityBlock"}),
    ):
        fleets = {
            (layout, capacity) for name, layout, nodes, capacity in asked if (name, nodes) == (size, "fleet")
        }
        assert fleets == set(product(layouts, capacities))
        assert {layout for name, layout, nodes, _ in asked if (name, nodes) == (size, "instances")} == layouts
